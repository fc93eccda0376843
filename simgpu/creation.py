"""New arrays on the device in use: from values of the host, by a rule, or from other arrays' shapes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import SimulatedArray
from .device import current
from .dispatch import call, plan_of
from .memory import Stored, check_dtype, constructors
from .rules import names, refused, values_on

# -- From values -----------------------------------------------------------------------------------


def array(
    obj: Any, dtype: Any = None, copy: bool | None = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    *, blocking: bool = False,
) -> SimulatedArray:  # fmt: skip
    """An array on the device in use, with a copy of `obj`: numbers, lists of them, or an array of the host or a device.

    A list of device arrays is joined on the device. `ValueError` if ``copy=False`` and this takes a copy.

    >>> import simgpu as cp
    >>> x = cp.array([1.0, 2.0])
    >>> cp.array([x.sum(), x.max()])
    array([3., 2.])  # Simulated:0
    """
    check_dtype(dtype)
    keywords = {"dtype": dtype, "copy": copy, "order": order, "subok": subok, "ndmin": ndmin}
    return call(np.array, (obj,), keywords, current())


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False
) -> SimulatedArray:  # fmt: skip
    """`a` on the device in use: a host array, numbers or lists of them; an array there is the same (`cupy.asarray`)."""
    check_dtype(dtype)
    return call(np.asarray, (a, dtype, order), {"copy": copy}, current())


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None) -> SimulatedArray:
    """`a` on the device in use, in memory row by row, with at least one axis."""
    return call(np.ascontiguousarray, (a, dtype), {}, current())


def asfortranarray(a: Any, dtype: Any = None) -> SimulatedArray:
    """`a` on the device in use, in memory column by column."""
    return call(np.asfortranarray, (a, dtype), {}, current())


def asfarray(a: Any, dtype: Any = np.float64) -> SimulatedArray:
    """`a` on the device in use, in a floating-point type: float64 if `dtype` isn't one."""
    return asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> SimulatedArray:
    """As `asarray`. Waits for the answer whether all are finite, and raises `ValueError` if not."""
    a = asarray(a, dtype, order)
    if not np.isfinite(a).all():
        raise ValueError("the array has infs or NaNs")
    return a


def require(a: Any, dtype: Any = None, requirements: Any = None) -> SimulatedArray:
    """`a` on the device in use, as required: ``"C"`` or ``"F"`` for its order, ``"O"`` for its own memory."""
    try:
        dtype = None if dtype is None else np.dtype(dtype)
    except TypeError as error:
        raise ValueError(f"require: {error}") from None
    given = [requirements] if isinstance(requirements, str) else requirements or ()
    wanted = {str(name).upper()[0] for name in given}
    if unknown := wanted - set("CFO"):
        raise ValueError(f"require takes C, F and O, got {min(unknown)}")
    if {"C", "F"} <= wanted:
        raise ValueError("an array can't be required to have both C and F order")
    made = asarray(a, dtype, order="F" if "F" in wanted else "C" if "C" in wanted else "A")
    return made.copy() if "O" in wanted and made.base is not None else made


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> np.ndarray:
    """`a` on the host (`cupy.asnumpy`): a copy in this order, or written to `out`. Of host values, NumPy's."""
    if isinstance(a, Stored):
        return a.get(stream, order, out, blocking)  # type: ignore[attr-defined]
    values = np.asarray(a, order=order)  # type: ignore[call-overload]
    if out is None:
        return values
    out[...] = values
    return out


def _like(name: str) -> Callable:
    numpys = getattr(np, name)
    has_value = name == "full_like"

    def made(a, *given, **keywords):
        if keywords.pop("subok", None) is not None:
            raise TypeError(f"{name}: subok is not supported on a GPU (CuPy does not support it yet)")
        if refusing := plan_of(numpys).refused_keywords & keywords.keys():
            raise refused(name, refusing)
        if keywords.get("shape", 1) == ():  # CuPy takes no axes for no shape
            del keywords["shape"]
        if has_value and given and isinstance(given[0], np.ndarray) and given[0].size == 1:
            given = (given[0].item(), *given[1:])
        check_dtype(keywords.get("dtype", given[has_value] if len(given) > has_value else None))
        if isinstance(a, np.ndarray):  # only its shape and type count
            return _like_of_the_host(numpys, a, given, keywords)
        if not isinstance(a, Stored):
            raise AttributeError(f"{name} takes an array, got {type(a).__name__}: cp.asarray(values) makes one")
        return call(numpys, (a, *given), keywords, a.device)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"`cupy.{name}`: an array with the shape and type of `a`, and in its memory order."
    return made


def _like_of_the_host(numpys: Callable, a: np.ndarray, given: tuple, keywords: dict) -> SimulatedArray:
    device = current()
    model = device.new(np.empty_like(a))
    return call(numpys, (model, *given), keywords, device)


zeros_like, ones_like, full_like, empty_like = map(_like, ("zeros_like", "ones_like", "full_like", "empty_like"))

# -- By a rule ------------------------------------------------------------------------------------------

# What NumPy makes from numbers, or reads from a file. CuPy takes neither device= nor like=.
RULES = names("""
    arange bartlett blackman diag_indices empty eye full hamming hanning identity indices kaiser linspace logspace
    ones tri tril_indices triu_indices zeros fft.fftfreq fft.rfftfreq
    frombuffer fromfile fromfunction fromiter fromstring genfromtxt loadtxt
""")
_READING = names("fromfile genfromtxt fromfunction")


def by_rule(name: str, numpys: Callable) -> Callable:
    """CuPy's function that makes an array on the device in use, by kernels and memsets."""

    def made(*args: Any, **keywords: Any) -> Any:
        if refusing := (plan_of(numpys).refused_keywords | {"like", "sparse"}) & keywords.keys():
            raise refused(name, refusing)
        device = next((x.device for x in args if isinstance(x, Stored)), None) or current()
        check_dtype(keywords.get("dtype"))
        if name in ("tril_indices", "triu_indices") and args and isinstance(args[0], Stored):
            raise TypeError(f"{name} takes a number of rows, got an array: {name}_from takes that")
        if name in _READING:
            return device.copy_in(np.asarray(numpys(*args, **keywords)))
        result = call(numpys, args, keywords, device)
        if type(result) is tuple and name in ("linspace", "logspace") and result[1].ndim == 0:
            return result[0], float(result[1]._values)  # the host knows the step
        return result

    made.__name__ = made.__qualname__ = name
    return made


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> SimulatedArray:
    """An array of this shape on the device in use, filled with a number or with the values of a device array."""
    if not isinstance(fill_value, Stored):
        fill_value = fill_value[()] if isinstance(fill_value, np.ndarray) else fill_value
        return _full(shape, fill_value, dtype, order)
    made = by_rule("empty", np.empty)(shape, fill_value._values.dtype if dtype is None else dtype, order)
    made[...] = fill_value
    return made


_full = by_rule("full", np.full)


def _constructed(shape: Any, dtype: Any, memptr: Any, strides: Any, order: Any) -> SimulatedArray:
    """``cupy.ndarray(shape, dtype, …)``: new memory that nothing has been written to."""
    if memptr is not None:
        raise NotImplementedError("simgpu has no addresses: memptr isn't there")
    if shape is None:
        raise TypeError("ndarray takes a shape, got None")
    if strides is None:
        return call(np.empty, (shape, dtype, order or "C"), {}, current())
    try:
        return current().new(np.ndarray(shape, dtype, strides=strides, order=order))
    except ValueError as error:
        raise ValueError(f"ndarray() with strides must stay in an array's memory of this shape: {error}") from None


constructors.append(_constructed)


class Grid:
    """``mgrid`` and ``ogrid``: coordinates by slices, made on the device in use."""

    def __init__(self, numpys: Any) -> None:
        self._numpys = numpys

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        known = tuple(slice(*map(_known, (part.start, part.stop, part.step))) for part in parts)
        device, made = current(), self._numpys[known if isinstance(key, tuple) else known[0]]
        for axis in made if isinstance(made, (list, tuple)) else (made,):
            device.launch("grid", axis.nbytes)
        return list(map(device.new, made)) if isinstance(made, (list, tuple)) else device.new(made)


def _known(end: Any) -> Any:
    return end._values if isinstance(end, Stored) else end


mgrid, ogrid = Grid(np.mgrid), Grid(np.ogrid)


class _Joined:
    """``r_`` and ``c_``: numbers and device arrays, joined along an axis."""

    def __init__(self, axis: int) -> None:
        self._axis = axis

    def __getitem__(self, key: Any) -> SimulatedArray:
        key = key if isinstance(key, tuple) else (key,)
        if any(isinstance(part, (str, slice)) for part in key):
            raise NotImplementedError("r_ and c_ take neither slices nor words on a GPU (nor do CuPy's)")
        parts = [self._part(part) for part in key]
        kind = np.result_type(*(y if np.isscalar(y) else x._values for x, y in zip(parts, key)))
        parts = [x.astype(kind, copy=False) if np.isscalar(y) else x for x, y in zip(parts, key)]
        if self._axis < 0:
            parts = [x.reshape(-1, 1) if x.ndim < 2 else x for x in parts]
        made = call(np.concatenate, (parts, self._axis), {}, parts[0].device)
        return made

    def __len__(self) -> int:
        return 0

    def _part(self, part: Any) -> SimulatedArray:
        made = part if isinstance(part, SimulatedArray) else asarray(part)
        return made.reshape(1) if made.ndim == 0 else made


r_, c_ = _Joined(0), _Joined(-1)


def mask_indices(n: int, mask_func: Callable, k: Any = 0) -> tuple:
    """Where ``mask_func(x, k)`` of an n x n array isn't 0. Waits for the device."""
    return mask_func(by_rule("ones", np.ones)((n, n), np.int8), k).nonzero()


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = None) -> None:
    """Write `src`, an array there or a number, into `dst`, everywhere or `where` a mask says. NumPy's casting rules."""
    if not isinstance(dst, Stored):
        raise AttributeError(f"copyto writes to an array on a GPU, got {type(dst).__name__}")
    if (
        isinstance(src, (np.ndarray, np.generic))
        and src.size == 1
        and np.can_cast(src.dtype, dst._values.dtype, casting)
    ):
        src, casting = src.item(), "unsafe"  # as a number, whose type was looked at
    if isinstance(src, Stored):
        values_on(dst.device, src)
    call(np.copyto, (dst, src), {"casting": casting} | ({} if where is None else {"where": where}), dst.device)
