"""New arrays on the device in use: from values of the host, by a rule, or from other arrays' shapes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import records
from .arrays import ON_THE_HOST, SimulatedArray
from .device import current
from .dispatch import call, plan_of
from .memory import Stored, check_dtype
from .parameters import plain
from .places import device_among
from .refusals import keyword_refusal, order_of
from .values import DIFFERENT
from .words import in_words, word_set

# -- From values -----------------------------------------------------------------------------------


def array(
    obj: Any, dtype: Any = None, copy: bool | None = True, order: Any = "K", subok: bool = False, ndmin: int = 0,
    *, blocking: bool = False,
) -> SimulatedArray:  # fmt: skip
    """An array on the device in use, with a copy of `obj`: numbers, lists of them, or an array of the host or a device.

    A list of device arrays is joined on the device. `ValueError` if ``copy=False`` and a copy is needed.

    >>> import simgpu as cp
    >>> x = cp.array([1.0, 2.0])
    >>> cp.array([x.sum(), x.max()])
    array([3., 2.])  # Simulated:0
    """
    keywords = {"dtype": dtype, "copy": copy, "order": order, "subok": subok, "ndmin": ndmin}
    return call(np.array, (obj,), keywords, current())


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False
) -> SimulatedArray:
    """`a` on the device in use: a host array, numbers or lists of them. An array that's there is returned as it is."""
    return call(np.asarray, (a, dtype, order), {"copy": copy}, current())


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None) -> SimulatedArray:
    """`a` on the device in use, in memory row by row, with at least one axis."""
    return call(np.ascontiguousarray, (a, dtype), {}, current())


def asfortranarray(a: Any, dtype: Any = None) -> SimulatedArray:
    """`a` on the device in use, in memory column by column."""
    return call(np.asfortranarray, (a, dtype), {}, current())


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> np.ndarray:
    """`a` on the host (`cupy.asnumpy`): a copy in this order, or in `out`. Host values become a NumPy array."""
    if isinstance(a, Stored):
        return a.get(stream, order, out, blocking)  # type: ignore[attr-defined]
    if out is None:
        return np.asarray(a, order=order)  # type: ignore[call-overload]
    out[...] = a
    return out


def from_dlpack(array: Any, *, device: Any = None, copy: bool | None = None) -> SimulatedArray:
    """An array of a simulated GPU, as it is, or a copy of it. Raises `TypeError` for one of the host, as CuPy does."""
    if device is not None:
        raise NotImplementedError("from_dlpack() does not support device yet.")
    if isinstance(array, SimulatedArray):
        if copy:
            return array.copy()
        return array.in_same_memory(array.host_values)
    if not hasattr(array, "__dlpack_device__"):
        raise TypeError(f"from_dlpack takes an array of another library, got {in_words(array)}")
    kind, _ = array.__dlpack_device__()
    if kind == ON_THE_HOST:
        raise TypeError(
            "CPU arrays cannot be directly imported to CuPy. Use `cupy.array(numpy.from_dlpack(input))` instead."
        )
    raise TypeError(f"from_dlpack takes arrays of simulated GPUs; this one is on a device of DLPack's kind {kind}")


def _like(name: str) -> Callable:
    numpys = getattr(np, name)
    has_value = name == "full_like"

    def function(a, *given, **keywords):
        if "subok" in keywords:
            raise keyword_refusal(name, {"subok"})
        if has_value and given:
            given = (plain(name, "fill_value", given[0]), *given[1:])
        if isinstance(a, np.ndarray):  # only its shape and type count
            a = current().new(np.empty_like(a))
        if not isinstance(a, Stored):
            raise AttributeError(f"{name} takes an array, got {type(a).__name__}: cp.asarray(values) makes one")
        return numpys(a, *given, **keywords)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`cupy.{name}`: an array with the shape, type and memory order of `a`."
    return function


zeros_like, ones_like, full_like, empty_like = map(_like, ("zeros_like", "ones_like", "full_like", "empty_like"))

# -- By a rule ------------------------------------------------------------------------------------------

# What NumPy makes from numbers, or reads from a file.
RULES = word_set("""
    arange bartlett blackman diag_indices empty eye full hamming hanning identity indices kaiser linspace logspace
    ones tri tril_indices triu_indices zeros fft.fftfreq fft.rfftfreq
    frombuffer fromfile fromfunction fromiter fromstring genfromtxt loadtxt
""")


def creator(name: str, numpys: Callable) -> Callable:
    """CuPy's function that makes an array on the device in use, by kernels and memsets."""

    def function(*args: Any, **keywords: Any) -> Any:
        if refusing := (plan_of(numpys).refused_keywords | {"like", "sparse"}) & keywords.keys():
            raise keyword_refusal(name, refusing)
        device = device_among(args) or current()
        dtype = keywords.get("dtype")
        if keywords.get("order") is not None:
            keywords["order"] = order_of(keywords["order"])
        if name in ("empty", "ones", "zeros"):
            if len(args) > 1:
                dtype = args[1]
            if len(args) > 2 and args[2] is not None:
                args = (*args[:2], order_of(args[2]), *args[3:])
        check_dtype(dtype)
        if name == "ones":
            records.check_fill(dtype, 1)
        if args and name in ("empty", "ones", "zeros"):
            device.check_room(args[0], dtype)
        if name in ("tril_indices", "triu_indices") and args and isinstance(args[0], Stored):
            raise TypeError(f"{name} takes a number of rows, got an array: {name}_from takes that")
        result = call(numpys, args, keywords, device)
        if type(result) is tuple and name in ("linspace", "logspace") and result[1].ndim == 0:
            return result[0], float(result[1].host_values)  # the host knows the step
        return result

    function.__name__ = function.__qualname__ = name
    return function


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> SimulatedArray:
    """An array of this shape on the device in use, filled with a number or a device array's values."""
    check_dtype(dtype)
    order = order_of(order or "C")
    fill_value = plain("full", "fill_value", fill_value)
    records.check_fill(dtype, fill_value)
    current().check_room(shape, dtype)
    if not isinstance(fill_value, Stored):
        return call(np.full, (shape, fill_value, dtype, order), {}, current())
    if dtype is None:
        dtype = fill_value.host_values.dtype
    made = call(np.empty, (shape, dtype, order), {}, current())
    made[...] = fill_value
    return made


def _known_slice(part: slice) -> slice:
    """`part` as NumPy takes it. It may have arrays on a device as its ends."""
    ends = (part.start, part.stop, part.step)
    return slice(*[x.host_values if isinstance(x, Stored) else x for x in ends])


class _Grid:
    """``mgrid`` and ``ogrid``: coordinates from slices, made on the device in use."""

    def __init__(self, numpys: Any) -> None:
        self._numpys = numpys

    def __getitem__(self, key: Any) -> Any:
        device = current()
        if not isinstance(key, slice):  # a tuple, or a list
            made = self._numpys[tuple(map(_known_slice, key))]
        else:
            known = _known_slice(key)
            if isinstance(known.step, complex):
                made = self._numpys[known]
            else:
                made = DIFFERENT["arange"](np.arange, known.start or 0, known.stop, known.step)
        axes = made if isinstance(made, (list, tuple)) else (made,)
        for axis in axes:
            device.launch("grid", axis.nbytes)
        axes = [device.new(device.compute(np.array, axis)) for axis in axes]
        if not isinstance(made, (list, tuple)):
            return axes[0]
        return axes


mgrid, ogrid = _Grid(np.mgrid), _Grid(np.ogrid)


class _Joined:
    """``r_`` and ``c_``: numbers and device arrays, joined along an axis."""

    def __init__(self, axis: int) -> None:
        self._axis = axis

    def __getitem__(self, key: Any) -> SimulatedArray:
        if not isinstance(key, tuple):
            key = (key,)
        if any(isinstance(part, (str, slice)) for part in key):
            raise NotImplementedError("r_ and c_ take neither slices nor words on a GPU (nor do CuPy's)")
        values: list[Any] = [part if np.isscalar(part) else asarray(part).host_values for part in key]
        kind = np.result_type(*values)
        parts = []
        for part in key:
            x = asarray(part, kind) if np.isscalar(part) else asarray(part)
            if self._axis < 0 and x.ndim < 2:
                x = x.reshape(-1, 1)
            elif x.ndim == 0:
                x = x.reshape(1)
            parts.append(x)
        return call(np.concatenate, (parts, self._axis), {}, parts[0].device)

    def __len__(self) -> int:
        return 0


r_, c_ = _Joined(0), _Joined(-1)


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = None) -> None:
    """Write `src`, a device array or a number, into `dst`, everywhere or `where` a mask is true, by NumPy's casting."""
    if not isinstance(dst, Stored):
        raise AttributeError(f"copyto writes to an array on a GPU, got {type(dst).__name__}")
    is_number = isinstance(src, (np.ndarray, np.generic)) and src.size == 1
    if is_number and np.can_cast(src.dtype, dst.host_values.dtype, casting):
        src, casting = src.item(), "unsafe"  # a number, whose type has been checked
    keywords = {"casting": casting}
    if where is not None:
        keywords["where"] = where
    call(np.copyto, (dst, src), keywords, dst.device)
