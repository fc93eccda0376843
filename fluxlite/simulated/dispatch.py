"""The path that every call with simulated arrays takes: unwrap, compute with NumPy, count, wrap.

NumPy passes its functions on through two protocols: ufuncs, which work element by element (`np.add`, `np.tanh`),
through ``__array_ufunc__`` (NEP 13); all others (`np.sum`, `np.concatenate`) through ``__array_function__`` (NEP 18).
"""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..devices.refusals import SCALARS, refusal
from . import costs, kernels, surface
from .costs import TEN_EACH
from .emptied import empty
from .indexing import index_arrays, wrapped
from .memory import Stored, root_of
from .rules import device_among, host_operand, is_foreign, one_device, values_on


class _Quiet(threading.local):
    """Runs a ufunc without NumPy's warnings, since a GPU makes inf and NaN silently.

    `np.errstate` would do too, but entering a prepared context takes a tenth of the time.
    """

    def __init__(self) -> None:
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


_quiet = _Quiet()

# ---------------------------------------------------------------------------------------------
# Ufuncs: element by element
# ---------------------------------------------------------------------------------------------


def binary(ufunc: np.ufunc, x: Any, y: Any) -> Any:
    """The operator of `ufunc` between `x`, one of our arrays, and anything."""
    if isinstance(y, (Stored, *SCALARS)):
        return call_ufunc(ufunc, (x, y))
    if getattr(y, "__array_ufunc__", "none") is None:
        return NotImplemented
    return ufunc(x, y)  # NumPy asks both operands


def reflected(ufunc: np.ufunc, x: Any, y: Any) -> Any:
    """The operator of `ufunc` between anything and `x`, one of our arrays, on the right."""
    return call_ufunc(ufunc, (y, x)) if isinstance(y, SCALARS) else ufunc(y, x)


def in_place(ufunc: np.ufunc, x: Any, y: Any) -> Any:
    """``x += y``: write the result to `x`. The other operand's type gets no say."""
    device = x.device
    if isinstance(y, Stored):
        y = values_on(device, y)
    elif not isinstance(y, SCALARS):
        return call_ufunc(ufunc, (x, y), {"out": (x,)})  # this raises the right error
    if device.live:
        device.host.catch_up()
    values = x._values
    (device.instead or _quiet.run)(ufunc, values, y, out=(values,))
    name, size = ufunc.__name__, values.size
    nbytes = 2 * values.nbytes + getattr(y, "nbytes", 0)
    device.launch(name, nbytes, size * 10 if name in TEN_EACH else size, values.dtype.char)
    return x


def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """Implements ``__array_ufunc__``. NotImplemented passes the call to another operand's type."""
    for x in inputs + kwargs["out"] if "out" in kwargs else inputs:
        if not isinstance(x, Stored) and is_foreign(x):
            return NotImplemented
    if ufunc.__name__ in surface.LACKING_UFUNCS:
        raise surface.lacking(ufunc.__name__)
    if method == "__call__" and not kwargs:
        return call_ufunc(ufunc, inputs)
    refused = kwargs.keys() - surface.UFUNC_KEYWORDS if method == "__call__" else kwargs.keys() & {"initial", "where"}
    if refused:
        raise surface.refused(ufunc.__name__, refused)
    if method == "at":
        return _add_at(ufunc, *inputs)
    if ufunc.__name__ not in _METHODS.get(method, (ufunc.__name__,)):
        raise NotImplementedError(f"{ufunc.__name__}.{method} does not exist on a GPU; of these there are only "
                                  f"{' and '.join(_METHODS[method])}")  # fmt: skip
    return call_ufunc(ufunc, inputs, kwargs, method)


_METHODS = {"reduce": ("add", "multiply"), "accumulate": ("add", "multiply"), "reduceat": ("add",)}


def call_ufunc(ufunc: np.ufunc, inputs: tuple, kwargs: dict | None = None, method: str = "__call__") -> Any:
    """The result of ``ufunc(*inputs)``, or of one of its methods, where at least one array is ours."""
    device: Any = None
    values = []
    nbytes = 0
    for x in inputs:
        if isinstance(x, Stored):
            device = x.device if device is None or device is x.device else one_device(device, x)
            nbytes += x._values.nbytes
            values.append(x._values)
        else:
            # A method's other inputs, such as reduceat's indices, are parameters.
            values.append(host_operand(ufunc, x, inputs, kwargs) if method == "__call__" else x)
    if kwargs:
        return _call_with_keywords(ufunc, inputs, values, kwargs, method, device)
    if device.live:
        device.host.catch_up()
    result = (device.instead or _quiet.run)(ufunc if method == "__call__" else getattr(ufunc, method), *values)
    if type(result) is tuple or method != "__call__":
        return _many(device, ufunc, values, result)
    if ufunc is np.matmul:
        device.launch_product(*values, result)
    else:
        name = ufunc.__name__
        size = result.size
        device.launch(name, nbytes + result.nbytes, size * 10 if name in TEN_EACH else size, result.dtype.char)
    return device.new(result)


def _many(device: Any, ufunc: np.ufunc, values: list, result: Any) -> Any:
    """The rarer ufuncs: two results, or methods such as ``np.add.reduce`` that read more than they write."""
    results = result if type(result) is tuple else (result,)
    arrays = [x for x in values if isinstance(x, np.ndarray)]
    device.launch_function(ufunc.__name__, arrays, list(results), (), {}, 1)
    made = tuple(map(device.new, results))
    return made if type(result) is tuple else made[0]


def _call_with_keywords(ufunc: np.ufunc, inputs: tuple, values: list, kwargs: dict, method: str, device: Any) -> Any:
    given = kwargs.get("out") or ()
    if len(given) > 1:
        raise ValueError("a GPU's ufuncs write to one array: out= takes exactly one")
    for x in given + tuple(filter(lambda x: isinstance(x, (np.ndarray, Stored)), (kwargs.get("where"),))):
        if not isinstance(x, Stored):
            raise refusal(ufunc, x, device_among(given + inputs))
        device = one_device(device, x)
    plain = {name: x._values if isinstance(x, Stored) else x for name, x in kwargs.items() if name != "out"}
    if given:
        plain["out"] = (given[0]._values,)
    device.catch_up()
    result = (device.instead or _quiet.run)(getattr(ufunc, method), *values, **plain)
    if not given:
        return _many(device, ufunc, values, result)
    if ufunc is np.matmul:
        device.launch_product(*values, result)
    else:
        arrays = [x for x in (*values, plain.get("where")) if isinstance(x, np.ndarray)]
        device.launch_function(ufunc.__name__, arrays, [result], (), {}, 1)
    return given[0]


# The types with atomic operations.
_ATOMIC = {
    "add": "i4 i8 u4 u8 f2 f4 f8",
    "subtract": "i4 u4",
    "maximum": "i4 i8 u4 u8 f4 f8",
    "minimum": "i4 i8 u4 u8 f4 f8",
    "bitwise_and": "i4 i8 u4 u8",
    "bitwise_or": "i4 i8 u4 u8",
    "bitwise_xor": "i4 i8 u4 u8",
}


def _add_at(ufunc: np.ufunc, x: Any, index: Any, *given: Any) -> Any:
    """``np.add.at(x, index, y)`` and the like, which a GPU does with atomic operations."""
    if not isinstance(index, (Stored, np.ndarray, *SCALARS)) or not isinstance(x, Stored):
        raise TypeError(
            f"{ufunc.__name__}.at on a GPU takes an array there and as index a number or an array, got "
            f"{type(x).__name__} and {type(index).__name__}; fluxlite's scatter_add takes any index"
        )
    if ufunc.__name__ not in _ATOMIC:
        raise NotImplementedError(f"{ufunc.__name__}.at does not exist on a GPU")
    if x._values.dtype.str[1:] not in _ATOMIC[ufunc.__name__].split():
        raise TypeError(f"{ufunc.__name__}.at does not exist on a GPU for dtype {x._values.dtype}")
    device = x.device
    values = [value if isinstance(value, Stored) else device.copy_in(np.asarray(value), False) for value in given]
    place, arrays = index_arrays(device, index, x._values.shape)
    added = [values_on(device, value) for value in values]
    device.catch_up()
    (device.instead or _quiet.run)(ufunc.at, x._values, place, *added)
    moved = 2 * x._values[:0].itemsize * max(map(np.size, arrays), default=1) + sum(y.nbytes for y in added + arrays)
    device.launch(f"{ufunc.__name__}.at", moved, count=kernels.launches_of_index(arrays) if arrays else 1)
    return None


# ---------------------------------------------------------------------------------------------
# All other functions
# ---------------------------------------------------------------------------------------------


def array_function(function: Callable, types: Sequence[type], args: tuple, kwargs: dict, device: Any) -> Any:
    """Implements ``__array_function__``. NotImplemented passes the call to another operand's type, or raises."""
    for kind in types:
        if not issubclass(kind, (Stored, np.ndarray)):
            return NotImplemented
    plan = plan_of(function)
    if plan.is_lacking:
        raise surface.lacking(plan.name)
    if kwargs and plan.refused_keywords & kwargs.keys():
        raise surface.refused(plan.name, plan.refused_keywords & kwargs.keys())
    return call(function, args, kwargs, device)


_PLAIN = frozenset((int, float, bool, str, type, type(None)))
# These call a function of the user's, and a context can't be entered twice.
_CALLING_BACK = surface.names("apply_along_axis apply_over_axes piecewise fromfunction")


class Plan(NamedTuple):
    """What we know about one of NumPy's functions, looked up once."""

    name: str
    way: Callable | None  # its special path, called with the function, its arguments and the device
    calls_back: bool
    is_about_arrays: bool
    is_simple: bool  # its kernels read the arguments once and write the result, nothing else
    is_lacking: bool  # CuPy lacks it
    refused_keywords: frozenset[str]  # CuPy's version doesn't take them


@functools.cache
def plan_of(function: Callable) -> Plan:
    name = surface.name_of(function)
    way = _OWN.get(name) or (_on_host if name in kernels.ON_HOST else None)
    way = _from_host if name in kernels.FROM_HOST else way
    is_simple = not (name in kernels.MEMSETS or name in kernels.SYNCHRONIZING or costs.is_special(name))
    return Plan(
        name, way, name in _CALLING_BACK, name in kernels.ABOUT_ARRAYS, is_simple,
        surface.is_lacking(function), surface.refused_keywords(function),
    )  # fmt: skip


def call(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    """The result of ``function(*args, **kwargs)``, where some arguments are our arrays."""
    plan = plan_of(function)
    if plan.way is not None:
        return plan.way(function, args, kwargs, device)
    found: dict[int, Stored] = {}
    plain_args = [x if type(x) in _PLAIN else _unwrap(function, x, device, found) for x in args]
    plain_kwargs = kwargs and {key: _unwrap(function, x, device, found) for key, x in kwargs.items()}
    device.catch_up()
    if plan.calls_back:
        with np.errstate(all="ignore"):
            result = function(*plain_args, **plain_kwargs)
    else:
        result = (device.instead or _quiet.run)(function, *plain_args, **plain_kwargs)
    if plan.is_about_arrays:
        return result
    made: list[Any] = []  # new memory, not views of an argument
    wrapped_result = _wrap(result, device, found, made)
    if made or result is None or kwargs.get("out") is not None:
        _launch(plan, device, [x._values for x in found.values()], made, plain_args, plain_kwargs)
    return wrapped_result


def _launch(plan: Plan, device: Any, arrays: list, made: list, args: list, kwargs: dict) -> None:
    """Record the kernels of a call with these array arguments and new results, and its other effects."""
    count = kernels.launches_of(plan.name, args, kwargs)
    if count and plan.is_simple:
        nbytes = most = 0
        for x in (*arrays, *made):
            nbytes += x.nbytes
            most = max(most, x.size)
        device.launch(plan.name, nbytes, most, (made or arrays)[0].dtype.char, count)
    elif count:
        device.launch_function(plan.name, arrays, made, args, kwargs, count)
    if plan.name in kernels.MEMSETS:
        device.memset(plan.name, made[0].nbytes)
    if plan.name in kernels.SYNCHRONIZING:
        device.wait(plan.name, 8)


def quietly(device: Any, function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a NumPy function on NumPy's arrays without warnings."""
    return (device.instead or _quiet.run)(function, *args, **kwargs)


def reduction(x: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """``x.sum(axis, …)`` and the like: calls the array method `name`."""
    device, values = x.device, x._values
    device.catch_up()
    result = (device.instead or _quiet.run)(getattr(np.ndarray, name), values, *args, **kwargs)
    count = kernels.launches_of(name, (), {})
    work = values.size * 10 if name in TEN_EACH else values.size
    device.launch(name, values.nbytes + result.nbytes, work, values.dtype.char, count)
    return device.new(result)


def _unwrap(function: Callable, x: Any, device: Any, found: dict[int, Stored]) -> Any:
    """`x` with NumPy arrays in place of ours, which go into `found`."""
    if isinstance(x, Stored):
        one_device(device, x)
        found[id(x._values)] = x
        return x._values
    if isinstance(x, (list, tuple)):
        return type(x)([_unwrap(function, part, device, found) for part in x])
    if isinstance(x, np.ndarray):
        return _host_argument(function, x, device, found)
    return x


def _host_argument(function: Callable, x: np.ndarray, device: Any, found: dict[int, Stored]) -> np.ndarray:
    name = surface.name_of(function)
    if name in kernels.HOST_INDICES:
        device.copy_in(x, explicit=False)
    elif name not in kernels.HOST_PARAMETERS:
        raise refusal(function, x, device)
    return x


def _wrap(result: Any, device: Any, found: dict[int, Stored], made: list[Any]) -> Any:
    """`result` with our arrays in place of NumPy's. New memory, not a view of an argument, goes into `made`."""
    if isinstance(result, (list, tuple)):
        parts = [_wrap(part, device, found, made) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if id(result) in found:
        return found[id(result)]
    if not isinstance(result, (np.ndarray, *SCALARS)):
        return result
    if getattr(result, "base", 0) is None:
        made.append(result)
        return device.new(result)
    values = np.asarray(result)
    root = root_of(values)
    for x in found.values():
        if x._buffer.root is root:
            return x._view(values)  # type: ignore[attr-defined]
    made.append(values)
    return device.new(values)


# ---------------------------------------------------------------------------------------------
# Functions with a path of their own
# ---------------------------------------------------------------------------------------------


def _take(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    return take(*args, **kwargs)


def take(x: Any, indices: Any, axis: int | None = None, out: Any = None) -> Any:
    """`np.take`, where an index out of range wraps around, since a kernel can't raise."""
    if isinstance(indices, (Stored, int, np.integer)):
        places = indices._values if isinstance(indices, Stored) else indices
    else:
        places = x.device.copy_in(np.asarray(indices), explicit=False)._values
    x.device.catch_up()
    target = None if out is None else out._values
    result = (x.device.instead or _quiet.run)(np.take, x._values, places, axis, target, mode="wrap")
    x.device.launch("take", 2 * result.nbytes + getattr(places, "nbytes", 0))
    return x.device.new(result) if out is None else out


def _take_along_axis(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    return take_along_axis(*args, **kwargs)


def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
    if isinstance(indices, np.ndarray):
        indices = x.device.copy_in(indices, explicit=False)
    one_device(x.device, indices)
    length = x._values.size if axis is None else x._values.shape[axis]
    x.device.catch_up()
    result = np.take_along_axis(x._values, wrapped(indices._values, length), axis)
    count = kernels.launches_of("take_along_axis", (x._values, indices), {})
    x.device.launch("take_along_axis", 2 * result.nbytes + indices.nbytes, count=count)
    return x.device.new(result)


def _copy(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    return _ordered_copy(*args, **kwargs)


def _ordered_copy(a: Any, order: str = "K") -> Any:
    return a.copy(order)


def _on_host(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    """Functions that print or store values, so all values must come to the host."""
    name = surface.name_of(function)
    there = [x.device.copy_out(x, name, explicit=False) if isinstance(x, Stored) else x for x in args]
    return function(*there, **kwargs)


def _from_host(function: Callable, args: tuple, kwargs: dict, device: Any) -> Any:
    """``np.asarray(values, like=x)`` makes a device array from host values."""
    if isinstance(args[0], Stored):
        return call(np.copy, args[:1], {}, device) if function is np.array else args[0]
    return device.copy_in(np.asarray(function(*args, **kwargs)))


_OWN = {"take": _take, "take_along_axis": _take_along_axis, "copy": _copy, "empty": empty, "empty_like": empty}
