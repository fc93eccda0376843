"""Derivatives of more than one number: `jacobian` and `hessian`."""

from collections.abc import Callable

import numpy as np

from ..annotations import Array, Tree
from ..tree.contract import is_leaf
from ..tree.walks import on_first_card_of
from ..words import explained
from .backward import pull_back
from .gradients import Marked, as_gradient, gradient, new_level, run_in_training
from .tracked import TrackedArray, plain


@explained()
def jacobian(f: Callable, *args: Array | float) -> tuple:
    """For each argument, an array: the gradient of every element of ``f(*args)`` (Zygote: ``jacobian``).

    The arguments are arrays or numbers; the shape is that of the result, then that of the argument. It takes a backward
    pass for each element of the result. None for arrays of integers. As in `gradient`, layers are in training.

    >>> jacobian(lambda x: x**2, np.array([1.0, 2.0]))
    (array([[2., 0.],
           [0., 4.]]),)
    """
    args = tuple(map(_int_as_float, args))
    level = new_level()
    try:
        tracked = [Marked(argument, level, number).stand_in for number, argument in enumerate(args)]
        with on_first_card_of(tracked):
            out = run_in_training(f, *tracked)
            for x in (*args, out):
                if not is_leaf(x) or x is None:
                    kind = type(x).__name__
                    raise TypeError(f"jacobian takes arrays, got a {kind}; destructure(model) makes a vector")
            value = plain(out)
            depends = type(out) is TrackedArray and out.level is level
            found: list[dict] = []
            for place in np.ndindex(np.shape(value)):
                if depends:
                    unit = np.zeros_like(value)
                    unit[place] = 1
                    found.append(pull_back(out, unit, keep=True))
                else:
                    found.append({})
            return tuple([_rows(found, np.shape(value), x) for x in tracked])
    finally:
        try:
            level.close()
        except BaseException:  # Ctrl-C came meanwhile: close the rest
            level.close()
            raise


def _int_as_float(x: Array | float) -> Array | float:
    if type(x) is int:
        return float(x)
    return x


def _rows(found: list[dict], shape: tuple, x: Tree) -> Array | None:
    """What `found` holds for one argument, as one array; 0 where nothing flowed."""
    if type(x) is not TrackedArray:
        return None
    zero = np.zeros_like(plain(x))
    rows = []
    for gradients in found:
        if x in gradients:
            rows.append(as_gradient(zero, gradients[x], set()))
        else:
            rows.append(zero)
    if rows:
        stacked = np.stack(rows)
    else:
        stacked = zero[None][:0]
    return np.reshape(stacked, shape + zero.shape)


@explained()
def hessian(f: Callable, x: Array | float) -> Array:
    """All second derivatives of the number ``f(x)``; shape: that of `x`, twice (Zygote: ``hessian``)."""

    def slope(x: Array) -> Array:
        g = gradient(f, x)[0]
        if g is None:
            return np.zeros_like(plain(x))
        return g

    return jacobian(slope, x)[0]
