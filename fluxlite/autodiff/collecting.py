"""What a gradient looks like: like its argument, with arrays and numbers in the place of its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import explained
from ..arrays import astype, on_card_of, read_only_types
from ..tree.contract import functor
from ..tree.ties import is_array
from ..tree.walks import KeyPath
from .tracked import TrackedArray, plain


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


def record_of(values: dict[str, Any]) -> Gradient:
    made = object.__new__(Gradient)
    made.__dict__ = values
    return made


def collect(recipe: Any, totals: dict[TrackedArray, Any], given: set[int]) -> Any:
    """The gradient that `recipe` describes, of the `totals` that the way back brought.

    `given` holds whose memory was given away before: no two gradients share any.
    """
    if recipe is None:
        return None
    if type(recipe) is TrackedArray:
        return _gradient_of(recipe.value, totals.get(recipe), given)
    kind, names, parts = recipe
    found = [collect(part, totals, given) for part in parts]
    return kind(found) if names is None else kind(dict(zip(names, found)))


def _gradient_of(like: Any, g: Any, given: set[int]) -> Any:
    """`g` as the gradient of `like`, an array or a number."""
    if g is None:
        return None
    if type(g) is not TrackedArray:
        like = plain(like)  # perhaps tracked by an outer gradient, on which this one does not depend
    if type(like) is not np.ndarray and is_number(like):
        if type(g) is TrackedArray:
            return g
        check_real(g)
        return type(like)(g)
    return as_plain_gradient(g, like, given)


def is_number(x: Any) -> bool:
    return type(x) in (int, float) or isinstance(x, np.floating)


def check_real(g: Any) -> None:
    if getattr(g, "dtype", None) is not None and g.dtype.kind == "c":
        raise TypeError("complex numbers cannot be differentiated: compute with the real and the imaginary part")


def as_plain_gradient(g: Any, like: Any, given: set[int]) -> Any:
    """`g` as an array like `like`: its shape, dtype and memory order, writable, sharing memory with nothing."""
    if type(g) is TrackedArray:
        if g.dtype != like.dtype:
            check_real(g)
            g = astype(g, like.dtype)
        return g
    owner = g if getattr(g, "base", None) is None else g.base
    is_private = is_array(owner) and id(owner) not in given and (type(g) not in read_only_types or g.flags.writeable)
    if owner is not g:  # back through a transposition or a reshape: a view, but of all of an array made on the way
        is_private = is_private and owner.size == g.size and min(g.strides, default=0) >= 0
    if not (is_private and g.strides == like.strides and g.dtype == like.dtype):
        check_real(g)
        with on_card_of(like):
            owner = np.empty_like(plain(like))
            owner[...] = g
        g = owner
    given.add(id(owner))
    return g
