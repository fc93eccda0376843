"""`gradient`: the arguments are tracked, the function runs, and the way back gives each argument its gradient.

It is the style to use. Flux's two older ones, `param` with `back` and ``gradient(f, params(model))``, are in
`older_styles.py`. All stand on one function, `pull_back` of `way_back.py`.
"""

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import astype, on_card_of, read_only_types
from ..messages import explained
from ..tensors import refuse_tensor
from ..tree.contract import functor, is_leaf, this_thread
from ..tree.flat import ALSO_NUMBERS, ARRAYS, Flat, KeyPath, flatten
from ..tree.ties import copy_of, is_array, is_trainable_array
from ..tree.walks import check_open, fmap, on_first_card_of, type_of_parts
from ..unreached import is_new, say_what_is_not_trained
from .levels import Level, can_be_frozen, numbers, set_writeable
from .state import held_at_first, keep_state
from .tracked import TrackedArray, as_base_class, plain
from .way_back import pull_back


def gradient(f: Callable, *args: Any) -> Any:
    """The gradients of the number ``f(*args)``: a tuple, one for each argument (Flux, Zygote: ``gradient``).

    An argument is an array, a Python number, a model, or a tuple, list or dict of such. Its gradient has its
    structure: an array's is a new array of the same shape, dtype and memory order; a model's a `Gradient` with
    the same attribute names; None stands where nothing flows, for integer and boolean arrays, for functions, and for
    numbers inside a model. A parameter that a model holds at several places gets its whole gradient at the first.

    `f` may return ``(loss, extra, …)``; see `withgradient`. While it runs, the NumPy and simulated arrays that it
    computes with are read-only, so that changing one, which would make the gradient wrong, raises at that line.
    (Not CuPy's; and a view made earlier, or ``np.add.at``, can still write.) Layers such as `Dropout` are in training,
    in every model that `f` calls. Where you don't want that, there's ``with testmode(model):``.

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
        kind = type(f).__name__
        raise TypeError(
            f"gradient(f, …) and withgradient(f, …) take a function, as in gradient(lambda w: …, w), got: {kind}"
        )
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
        marked = [Marked(argument, level) for argument in args]
        with on_first_card_of(args):  # so what `f` itself computes with NumPy is on the card of its model, too
            value = called(f, *[one.stand_in for one in marked])
            plain_value = untracked(value, level)
            totals = gradients_of(value, level, arrive)
            given: set[int] = set()
            gradients = tuple([one.gradient(totals, given) for one in marked])
    finally:
        level.close()
    keep_state(marked)
    return plain_value, gradients


def stop_gradient(x: Any) -> Any:
    """`x`, an array or a model, as a constant: no gradient flows through it (JAX: ``stop_gradient``).

    Zygote: ``ignore_derivatives``. Also ends what outer gradients would track.

    >>> gradient(lambda x: x * stop_gradient(x), 3.0)
    (3.0,)
    """
    return plain(x) if is_array(x) or type(x) is TrackedArray else fmap(plain, x)


# -- there: what f gets --------------------------------------------------------------------------------------------


class Marked:
    """An argument on its way into `f`: its `stand_in`, with tracked arrays for the parameters, and what they are."""

    __slots__ = ("stand_in", "flat", "tracked", "held")

    def __init__(self, argument: Any, level: Level):
        self.held: list = []
        if type(argument) is np.ndarray and argument.dtype.kind == "f":  # which needs no walk
            self.flat, self.stand_in = None, track(argument, level, ARRAYS)
            return
        flat = self.flat = flatten(argument)
        try:
            self.tracked = [
                track(x, level, trains) if x.__class__ not in _CONSTANTS else x
                for x, trains in zip(flat.leaves, flat.trains)
            ]
        except (TypeError, RuntimeError):
            _name_the_place(flat)
            raise
        made = flat.results(self.tracked)
        self.stand_in = made[flat.root]
        self.held = held_at_first(flat, made)
        if any([trains and x.__class__ not in _KNOWN and is_new(x) for x, trains in zip(flat.leaves, flat.trains)]):
            say_what_is_not_trained(argument, "gets no gradient", again=False)

    def gradient(self, totals: dict[TrackedArray, Any], given: set[int]) -> Any:
        """What the way back brought, in the structure of the argument.

        `given` holds whose memory was given away before: no two gradients share any.
        """
        if self.flat is None:
            return gradient_of(self.stand_in.value, totals.get(self.stand_in), given)
        found = [
            None if tracked is x else gradient_of(tracked.value, totals.get(tracked), given)
            for x, tracked in zip(self.flat.leaves, self.tracked)
        ]
        return self.flat.beside(found, _combine)


_KNOWN = {type(None), str, bool, bytes, type, np.ufunc, np.dtype, type(len), np.ndarray, int, float}  # they hide none
_CONSTANTS = _KNOWN - {np.ndarray, int, float} | {types.FunctionType}


def track(x: Any, level: Level, trains: int) -> Any:
    """A leaf as it stands in what `f` gets: tracked, if it has a gradient."""
    kind = type(x)
    if kind is np.ndarray:
        if not trains or x.dtype.kind != "f":
            return x
        level.freeze(x)
        return TrackedArray(x, level)
    if kind is int or kind is float or isinstance(x, np.floating):
        return TrackedArray(float(x) if kind is int else x, level) if trains == ALSO_NUMBERS else x
    if kind is TrackedArray:
        x.check_open()
    elif not is_trainable_array(x):
        refuse_tensor("gradient", x)
        return x
    return track_array(x, level) if trains and x.dtype.kind == "f" else x


def track_array(array: Any, level: Level) -> TrackedArray:
    if can_be_frozen(array):
        level.freeze(array)
    return TrackedArray(as_base_class(array), level)


def _name_the_place(flat: Flat) -> None:
    """Raise what names the place that cannot be tracked."""
    for number, (path, x) in enumerate(zip(flat.paths(), flat.leaves)):
        check_open(flat, [number])
        refuse_tensor(f"gradient{f', at {path},' if path else ''}", x)
        if is_trainable_array(x):
            as_base_class(x, str(path))


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


def new_level() -> Level:
    """A level for one call. From the first one on, the table of derivatives is full."""
    _fill_table()
    return Level(next(numbers))


@functools.cache
def _fill_table() -> None:
    from . import derivatives  # noqa: F401  (only a program that differentiates needs to load it)


# -- and back: what comes out --------------------------------------------------------------------------------------


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
    if kind is tuple or kind is list:
        return kind([untracked(part, level) for part in value])
    if kind is TrackedArray or is_leaf(value):
        return _own_value(value, level)
    return fmap(lambda leaf: _own_value(leaf, level), value)


def _own_value(x: Any, level: Level) -> Any:
    """The value of `x`: itself if it was made by its call, a copy if it is, or views, an argument of it."""
    if type(x) is not TrackedArray:  # read-only: it was computed with, and may be the `data` of something tracked
        return copy_of(x) if type(x) in read_only_types and not x.flags.writeable else x
    value = x.value
    if x.level is not level:
        return x  # of an outer gradient
    if not is_array(value):
        return value
    if x.call is None or value.base is not None or any(value is argument for argument in x.call[1]):
        return copy_of(value)
    if type(value) in read_only_types:
        set_writeable(value, True)
    return value


class Record:
    """A tree beside a registered object: the same attribute names, other values; a `Chain`'s also by index.

    A path, such as ``("layers", 0, "weight")`` or one of `trainables`, leads to what's there.
    """

    def __init__(self, /, **fields: Any) -> None:
        self.__dict__.update(fields)

    @explained("the place of a layer, a slice or a path")
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            return KeyPath(index).get(self)
        if "layers" not in self.__dict__:
            raise TypeError(f"this {type(self).__name__} has no layers to index; it has {', '.join(self.__dict__)}")
        return self.__dict__["layers"][index]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


@functor
class Gradient(Record):
    """The gradient of a registered object: the same attribute names, None where nothing flowed.

    For a `Chain`, ``grads[0]`` is the gradient of its first layer.

    >>> Gradient(weight=np.ones(2), bias=None)
    Gradient(weight=array([1., 1.]), bias=None)
    """


def _combine(x: Any, kind: Any, names: Any, parts: list, make: Any) -> Any:
    """The gradient of `x`, of those of its parts."""
    if kind.is_box:
        return make(x, names, parts)
    if names is None:
        return type_of_parts(x)(parts)
    made = object.__new__(Gradient)
    made.__dict__ = dict(zip(names, parts))
    return made


def gradient_of(like: Any, g: Any, given: set[int]) -> Any:
    """`g` as the gradient of `like`, an array or a number."""
    if g is None:
        return None
    if type(g) is not TrackedArray:
        like = plain(like)  # perhaps tracked by an outer gradient, on which this one does not depend
    if type(like) is np.ndarray or not is_number(like):
        return as_plain_gradient(g, like, given)
    return g if type(g) is TrackedArray else type(like)(_real(g))


def is_number(x: Any) -> bool:
    return type(x) in (int, float) or isinstance(x, np.floating)


def _real(g: Any) -> Any:
    if getattr(g, "dtype", None) is not None and g.dtype.kind == "c":
        raise TypeError("complex numbers cannot be differentiated: compute with the real and the imaginary part")
    return g


def as_plain_gradient(g: Any, like: Any, given: set[int]) -> Any:
    """`g` as an array like `like`: its shape, dtype and memory order, writable, sharing memory with nothing."""
    if type(g) is TrackedArray:
        return g if g.dtype == like.dtype else astype(_real(g), like.dtype)
    owner = g if getattr(g, "base", None) is None else g.base
    is_private = is_array(owner) and id(owner) not in given and (type(g) not in read_only_types or g.flags.writeable)
    if owner is not g:  # back through a transposition or a reshape: a view, but of all of an array made on the way
        is_private = is_private and owner.size == g.size and min(g.strides, default=0) >= 0
    if not (is_private and g.strides == like.strides and g.dtype == like.dtype):
        with on_card_of(like):
            owner = np.empty_like(plain(like))
            owner[...] = _real(g)
        g = owner
    given.add(id(owner))
    return g
