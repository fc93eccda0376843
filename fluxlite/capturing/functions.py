"""What a capture knows of NumPy's functions, a row each. Of a function that isn't here, it expects the worst.

That is: it may raise for some values, the shape of its result may depend on values, and it changes nothing in place.
"""

import inspect
import operator
from typing import Any, NamedTuple

import numpy as np

from .program import refusal


class Traits(NamedTuple):
    """What's known of a function."""

    shape_follows: bool = False  # the shape of the result follows from shapes: a replay needn't look
    never_raises: bool = False  # whatever the values are: a replay leaves it out if nobody reads the result
    assigns: bool = False  # it puts other arguments into its first one, in place
    by_value: bool = False  # the shape of the result, or the answer, depends on values: it's refused
    overwrites_if: tuple[str, Any, str] | None = None  # with this argument it changes its first one, too: it's refused


_UNKNOWN = Traits()
_OVERWRITE = ("overwrite_input", True, "Leave that out")
_TRAITS: dict[Any, Traits] = {
    np.ndarray.astype: Traits(shape_follows=True, never_raises=True),
    np.ndarray.copy: Traits(shape_follows=True, never_raises=True),
    np.ndarray.flatten: Traits(shape_follows=True, never_raises=True),
    np.argsort: Traits(shape_follows=True, never_raises=True),
    np.ravel: Traits(shape_follows=True, never_raises=True),
    np.reshape: Traits(shape_follows=True, never_raises=True),
    np.sort: Traits(shape_follows=True, never_raises=True),
    np.stack: Traits(shape_follows=True, never_raises=True),
    np.where: Traits(shape_follows=True, never_raises=True),  # with three arguments
    np.concatenate: Traits(never_raises=True),
    np.transpose: Traits(never_raises=True),
    operator.getitem: Traits(shape_follows=True),  # an index may be out of range
    np.take_along_axis: Traits(shape_follows=True),
    np.ndarray.fill: Traits(never_raises=True, assigns=True),
    np.copyto: Traits(never_raises=True, assigns=True),
    operator.setitem: Traits(assigns=True),
    np.fill_diagonal: Traits(assigns=True),
    np.place: Traits(assigns=True),
    np.put: Traits(assigns=True),
    np.put_along_axis: Traits(assigns=True),
    np.putmask: Traits(assigns=True),
    np.allclose: Traits(by_value=True),
    np.argwhere: Traits(by_value=True),
    np.array_equal: Traits(by_value=True),
    np.compress: Traits(by_value=True),
    np.extract: Traits(by_value=True),
    np.flatnonzero: Traits(by_value=True),
    np.nonzero: Traits(by_value=True),
    np.real_if_close: Traits(by_value=True),
    np.trim_zeros: Traits(by_value=True),
    np.unique: Traits(by_value=True),
    np.median: Traits(overwrites_if=_OVERWRITE),
    np.nan_to_num: Traits(overwrites_if=("copy", False, "x[...] = np.nan_to_num(x)")),
    np.nanmedian: Traits(overwrites_if=_OVERWRITE),
    np.nanpercentile: Traits(overwrites_if=_OVERWRITE),
    np.nanquantile: Traits(overwrites_if=_OVERWRITE),
    np.percentile: Traits(overwrites_if=_OVERWRITE),
    np.quantile: Traits(overwrites_if=_OVERWRITE),
}


def traits_of(function: Any) -> Traits:
    """What's known of `function`."""
    return _TRAITS.get(function, _UNKNOWN)


def check_function(function: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raise `CaptureError` if this call is one that a replay can't make."""
    traits = traits_of(function)
    if traits.by_value or (function is np.where and len(args) == 1):
        raise refusal(f"np.{function.__name__}, whose result's shape or answer depends on values,")
    if traits.overwrites_if is None:
        return
    name, value, fix = traits.overwrites_if
    arguments = inspect.signature(function).bind(*args, **kwargs).arguments  # it may be given by its position
    if name in arguments and bool(arguments[name]) is value:
        raise refusal(f"np.{function.__name__}(x, {name}={value})", fix)
