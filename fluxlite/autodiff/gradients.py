"""`gradient`: the arguments are tracked, the function runs, and the way back gives each argument its gradient.

It is the style to use. Flux's two older ones, `param` with `back` and ``gradient(f, params(model))``, are in
`older_styles.py`. All stand on one function, `pull_back` of `way_back.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import astype, read_only_types
from ..tree.contract import functor, is_leaf
from ..tree.parameters import is_trainable_array
from ..tree.ties import is_array
from ..tree.walks import KeyPath, Walk, fmap, fmap_with_path
from .levels import Level, numbers, set_writeable
from .rules import RULES
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
    (CuPy's arrays cannot be made read-only, and a view made earlier can still be written through.)

    Raises `TypeError` if the loss is not one number, or on a function that has no derivative rule.

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
    if len(args) == 1 and hasattr(type(args[0]), "withgradient"):  # the implicit style: params(model)
        return args[0].withgradient(f)
    level = new_level()
    try:
        marked = [track(argument, level) for argument in args]
        value = f(*[tracked for tracked, _ in marked])
        plain_value = untracked(value, level)
        collect = _Collector(gradients_of(value, level))
        return plain_value, tuple([collect(argument, places) for argument, (_, places) in zip(args, marked)])
    finally:
        level.close()


def new_level() -> Level:
    """A level for one call. From the first one on, the table of derivatives is full."""
    if np.add not in RULES:
        from . import derivatives  # noqa: F401  (only a program that differentiates needs to load it)

    return Level(next(numbers))


def gradients_of(value: Any, level: Level) -> dict[TrackedArray, Any]:
    """For each thing tracked on `level`, the gradient of the loss that `f` returned."""
    loss = value[0] if isinstance(value, tuple) and value else value
    shape = getattr(loss, "shape", None)
    if shape != () and type(loss) not in (int, float) or type(loss) is np.bool_:
        got = f"shape {shape}" if shape else f"a {type(loss).__name__}"
        raise TypeError(f"the loss must be one number, of shape (), got {got}. Take its sum or mean")
    if type(loss) is not TrackedArray or loss.level is not level:
        return {}  # it does not depend on the arguments
    return pull_back(loss, _one(loss.value))


def _check_real(g: Any) -> None:
    if getattr(g, "dtype", None) is not None and g.dtype.kind == "c":
        raise TypeError("complex numbers cannot be differentiated: compute with the real and the imaginary part")


def _one(value: Any) -> Any:
    """1, of the type of the loss and on its device."""
    value = plain(value)
    return type(value)(1) if isinstance(value, (np.generic, float)) else np.ones_like(value)


def track(argument: Any, level: Level) -> tuple[Any, Any]:
    """`argument` with a tracked array in the place of each of its parameters; and these arrays, by their paths."""
    if is_trainable_array(argument):
        tracked = track_array(argument, level)
        return tracked, tracked
    places: dict[KeyPath, TrackedArray] = {}

    def mark(path: KeyPath, leaf: Any) -> Any:
        if is_trainable_array(leaf):
            places[path] = track_array(leaf, level)
        elif type(leaf) is TrackedArray or _is_number(leaf) and _only_containers(argument, path):
            places[path] = TrackedArray(float(leaf) if type(leaf) is int else leaf, level)
        return places.get(path, leaf)

    if is_leaf(argument):
        tracked = mark(KeyPath(), argument)
        return tracked, places.get(KeyPath())
    return fmap_with_path(mark, argument), places


def track_array(array: Any, level: Level) -> TrackedArray:
    if type(array) in read_only_types:
        level.freeze(array)
    return TrackedArray(array, level)


def _is_number(x: Any) -> bool:
    return type(x) in (int, float) or isinstance(x, np.floating)


def _only_containers(argument: Any, path: KeyPath) -> bool:
    """Numbers in tuples, lists and dicts are differentiated; those in a model are constants."""
    return all(isinstance(KeyPath(path[:i]).get(argument), (tuple, list, dict)) for i in range(len(path)))


def untracked(value: Any, level: Level) -> Any:
    """What `f` returned, as plain values that share no memory with its arguments."""
    if type(value) in (tuple, list):
        return type(value)([untracked(part, level) for part in value])
    if isinstance(value, (float, int, str, np.generic)) or value is None:
        return value
    if type(value) is TrackedArray:
        return _own_value(value, level)
    return fmap(lambda leaf: _own_value(leaf, level), value)


def _own_value(x: Any, level: Level) -> Any:
    """The value of `x`: itself if it was made by its call, a copy if it is, or views, an argument of it."""
    if type(x) is not TrackedArray:  # read-only: it was computed with, and may be the `data` of something tracked
        return x.copy() if type(x) in read_only_types and not x.flags.writeable else x
    value = x.value
    if x.level is not level:
        return x  # of an outer gradient
    if isinstance(value, (np.generic, float)) or not is_array(value):
        return value
    if x.call is None or value.base is not None or any(value is argument for argument in x.call[1]):
        return value.copy()
    if type(value) in read_only_types:
        set_writeable(value, True)
    return value


# ---------------------------------------------------------------------------------------------
# What a gradient looks like
# ---------------------------------------------------------------------------------------------


class Record:
    """A tree beside a registered object: the same attribute names, other values; a `Chain`'s also by index."""

    def __init__(self, /, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getitem__(self, index: Any) -> Any:
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


class _Collector:
    """Makes the gradient of an argument from those of the arrays in it."""

    def __init__(self, leaves: dict[TrackedArray, Any]):
        self.leaves = leaves
        self.given: set[int] = set()  # no two gradients are one array

    def __call__(self, argument: Any, places: Any) -> Any:
        """`places` is what `track` found: the first place of each tie. A later one gets None."""
        if type(places) is not dict:
            return self.leaf(argument, places)

        def leaf(path: KeyPath, like: Any) -> Any:
            return self.leaf(like, places.get(path))

        walk = Walk(leaf, lambda path, node: is_leaf(node), self.combine, prune=None)
        return walk.visit(KeyPath(), argument)

    def leaf(self, like: Any, tracked: TrackedArray | None) -> Any:
        g = None if tracked is None else self.leaves.get(tracked)
        if g is None or type(g) is TrackedArray and _is_number(like):
            return g
        if type(like) is not np.ndarray and _is_number(like):
            _check_real(g)
            return float(g) if type(like) is int else type(like)(g)
        return ordinary(g, like, self.given)

    def combine(self, x: Any, parts: Any, rebuild: Callable) -> Any:
        if isinstance(x, (tuple, list, dict)):
            return rebuild(parts)
        return Gradient(**parts) if isinstance(parts, dict) else parts  # a rule of one's own may have a list of parts


def ordinary(g: Any, like: Any, given: set[int]) -> Any:
    """`g` as an array like `like`: its shape, dtype and memory order, writable, sharing memory with nothing.

    `given` holds whose memory was given away before, in this gradient.
    """
    if type(g) is TrackedArray:
        if g.dtype != like.dtype:
            _check_real(g)
            g = astype(g, like.dtype)
        return g
    owner = g if getattr(g, "base", None) is None else g.base
    is_private = is_array(owner) and id(owner) not in given and (type(g) not in read_only_types or g.flags.writeable)
    if owner is not g:  # back through a transposition or a reshape: a view, but of all of an array made on the way
        is_private = is_private and owner.size == g.size and min(g.strides, default=0) >= 0
    if not (is_private and g.strides == like.strides and g.dtype == like.dtype):
        _check_real(g)
        owner = np.empty_like(plain(like))
        owner[...] = g
        g = owner
    given.add(id(owner))
    return g
