"""`gradient`: the arguments are tracked, the function runs, and the way back gives each argument its gradient.

It is the style to use. Flux's two older ones, `param` with `back` and ``gradient(f, params(model))``, are in
`older_styles.py`. All stand on one function, `pull_back` of `way_back.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import on_card_of, read_only_types
from ..tree.cards import copy_of, on_first_card_of
from ..tree.modes import this_thread
from ..tree.ties import is_array
from ..tree.walks import fmap
from .assigned import keep_state
from .collecting import collect
from .levels import Level, numbers, set_writeable
from .marking import mark
from .tracked import TrackedArray, plain
from .way_back import pull_back

# ---------------------------------------------------------------------------------------------
# gradient
# ---------------------------------------------------------------------------------------------


def gradient(f: Callable, *args: Any) -> Any:
    """The gradients of the number ``f(*args)``: a tuple, one for each argument (Flux, Zygote: ``gradient``).

    An argument is an array, a Python number, a model, or a tuple, list or dict of such. Its gradient has its
    structure: an array's is a new array of the same shape, dtype and memory order; a model's a `Gradient` with
    the same attribute names; None stands where nothing flows, for integer and boolean arrays, and for numbers inside
    a model. A parameter that a model holds at several places gets its whole gradient at the first.

    `f` may return ``(loss, extra, …)``; see `withgradient`. While it runs, the NumPy and simulated arrays that it
    computes with are read-only, so that changing one, which would make the gradient wrong, raises at that line.
    (CuPy's arrays cannot be made read-only, a view made earlier can still be written through, and ``np.add.at`` and its
    like write all the same.) And layers such as `Dropout` and `BatchNorm` are in training, in every model that `f`
    calls, not only in its arguments. Where you don't want that, there's ``with testmode(model):``.

    Raises `TypeError` if there is nothing to differentiate by, if the loss is not one number, or on a function that has
    no derivative rule.

    >>> gradient(lambda x, y: x**2 * y, 3.0, 2.0)
    (12.0, 9.0)
    >>> gradient(lambda w: np.sum(np.tanh(w)), np.zeros(2))
    (array([1., 1.]),)
    """
    return withgradient(f, *args)[1]


def withgradient(f: Callable, *args: Any) -> tuple[Any, Any]:
    """``(value, gradients)``: what `f` returned, as plain values, and the gradients (Flux: ``withgradient``).

    When `f` returns a tuple ``(loss, extra, …)``, the first is differentiated, and all come out.

    >>> withgradient(lambda x: (x**2, "also returned"), 3.0)
    ((np.float64(9.0), 'also returned'), (6.0,))
    """
    if not callable(f):
        raise TypeError(f"what is differentiated is a function: gradient(lambda w: …, w), got: {type(f).__name__}")
    if not args:
        raise TypeError(
            "gradient(f, *args) differentiates by the arguments of f, and got none: write gradient(lambda w: …, w), "
            "or, for a function that reaches the model by itself, gradient(f, params(model))"
        )
    if len(args) == 1 and hasattr(type(args[0]), "withgradient"):  # the implicit style: params(model)
        return args[0].withgradient(f)
    return differentiated(f, args)


def differentiated(f: Callable, args: tuple, arrive: Callable | None = None) -> tuple[Any, Any]:
    """`withgradient`, which calls ``arrive(x, g)`` as soon as the gradient `g` of a parameter `x` is complete."""
    level = new_level()
    try:
        marked = [mark(argument, level) for argument in args]
        with on_first_card_of(args):  # so what `f` itself computes with NumPy is on the card of its model, too
            value = called(f, *[one.stand_in for one in marked])
            plain_value = untracked(value, level)
            totals = gradients_of(value, level, arrive)
            given: set[int] = set()
            gradients = tuple([collect(one.recipe, totals, given) for one in marked])
    finally:
        level.close()
    keep_state(args, marked)
    return plain_value, gradients


def stop_gradient(x: Any) -> Any:
    """`x`, an array or a model, as a constant: no gradient flows through it (JAX: ``stop_gradient``).

    Zygote: ``ignore_derivatives``. Also ends what outer gradients would track.

    >>> gradient(lambda x: x * stop_gradient(x), 3.0)
    (3.0,)
    """
    return plain(x) if is_array(x) or type(x) is TrackedArray else fmap(plain, x)


def called(f: Callable, *args: Any) -> Any:
    """``f(*args)``, with the layers in training. Where it changes a read-only array, NumPy does not know why it is."""
    this_thread.gradients += 1
    try:
        return f(*args)
    except ValueError as error:
        if "read-only" in str(error) and _INSTEAD not in str(error):
            error.args = (f"{error}: {_INSTEAD}",)
        raise
    finally:
        this_thread.gradients -= 1


_INSTEAD = (
    "an array that a gradient was computed with stays as it is until gradient is done, or the gradient would be wrong. "
    "State is assigned instead: self.c = self.c + 1, or c = c + 1; parameters are changed by update, after gradient"
)


_table_is_full = False


def new_level() -> Level:
    """A level for one call. From the first one on, the table of derivatives is full."""
    global _table_is_full
    if not _table_is_full:  # only a program that differentiates needs to load it
        from . import derivatives  # noqa: F401

        _table_is_full = True  # also if an interrupt came the first time: then it's filled now
    return Level(next(numbers))


def gradients_of(value: Any, level: Level, arrive: Callable | None = None) -> dict[TrackedArray, Any]:
    """For each thing tracked on `level`, the gradient of the loss that `f` returned."""
    loss = value[0] if isinstance(value, tuple) and value else value
    shape = getattr(loss, "shape", None)
    if shape != () and type(loss) not in (int, float) or type(loss) is np.bool_:
        got = f"shape {shape}" if shape else f"a {type(loss).__name__}"
        raise TypeError(f"the loss must be one number, of shape (), got {got}. Take its sum or mean")
    if type(loss) is not TrackedArray or loss.level is not level:
        return {}  # it does not depend on the arguments
    return pull_back(loss, _one(loss.value), arrive=arrive)


def _one(value: Any) -> Any:
    """1, of the type of the loss and on its device."""
    kind = type(value)
    if kind is np.float32 or kind is np.float64:  # what a NumPy loss is, as a rule
        return kind(1)
    value = plain(value)
    with on_card_of(value):
        return type(value)(1) if isinstance(value, (np.generic, float)) else np.ones_like(value)


def untracked(value: Any, level: Level) -> Any:
    """What `f` returned, as plain values that share no memory with its arguments."""
    kind = type(value)
    if kind is TrackedArray:
        return _own_value(value, level)
    if kind is tuple or kind is list:
        return kind([untracked(part, level) for part in value])
    if value is None or isinstance(value, (float, int, str, np.generic)):
        return value
    return fmap(lambda leaf: _own_value(leaf, level), value)


def _own_value(x: Any, level: Level) -> Any:
    """The value of `x`: itself if it was made by its call, a copy if it is, or views, an argument of it."""
    if type(x) is not TrackedArray:  # read-only: it was computed with, and may be the `data` of something tracked
        return copy_of(x) if type(x) in read_only_types and not x.flags.writeable else x
    value = x.value
    if x.level is not level:
        return x  # of an outer gradient
    if isinstance(value, (np.generic, float)) or not is_array(value):
        return value
    if x.call is None or value.base is not None or any(value is argument for argument in x.call[1]):
        return copy_of(value)
    if type(value) in read_only_types:
        set_writeable(value, True)
    return value
