"""CuPy's formulas for whole functions, where they aren't NumPy's: `values.py` says which function has which.

Each function with a `function` is called in place of NumPy's, with NumPy's and its arguments. The others take numbers
or arrays, as ufuncs do.
"""

import contextlib
import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .arithmetic import cast, multiply_add, remainder
from .events import allowed
from .words import Unsupported


def check_arrays(name: str, a: Any, b: Any) -> None:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        raise Unsupported(
            f"{name} on a GPU takes two arrays there, got {type(a).__name__} and {type(b).__name__} (ndarray: an array)"
        )


# -- Writing: floats that become integers -----------------------------------------------------------------------------


def cast_floats(value: Any, dtype: Any) -> Any:
    """`value` as an array of `dtype` gets it from a kernel. Only floats that become integers need that."""
    if dtype is None or np.dtype(dtype).kind not in "iu":
        return value
    given = np.asarray(value)
    if given.dtype.kind in "fc":
        return cast(given, dtype)[()]
    return value


def assign(values: np.ndarray, where: Any, new: Any) -> None:
    """``values[where] = new``."""
    is_float = type(new) is np.ndarray and new.dtype.kind in "fc"
    if is_float and isinstance(values, np.ndarray):
        new = cast_floats(new, values.dtype)
    values[where] = new


def full(function: Callable, shape: Any, value: Any, dtype: Any = None, *rest: Any, **kwargs: Any) -> Any:
    return function(shape, cast_floats(value, dtype), dtype, *rest, **kwargs)


def full_like(function: Callable, a: Any, value: Any, dtype: Any = None, *rest: Any, **kwargs: Any) -> Any:
    stored_as = a.dtype if dtype is None else dtype
    return function(a, cast_floats(value, stored_as), dtype, *rest, **kwargs)


def copyto(function: Callable, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if isinstance(src, (list, tuple)):
        raise AttributeError(f"copyto on a GPU takes an array there or a number, got {src!r}")
    if casting == "unsafe":
        src = cast_floats(src, dst.dtype)
    function(dst, src, casting, where)


def astype(function: Callable, x: Any, dtype: Any, **kwargs: Any) -> Any:
    return function(cast_floats(x, dtype), dtype, **kwargs)


def put(function: Callable, a: Any, places: Any, values: Any, *rest: Any, **kwargs: Any) -> None:
    function(a, places, cast_floats(values, a.dtype), *rest, **kwargs)


def place_where(function: Callable, a: Any, mask: Any, values: Any) -> None:
    """`np.place`, with values of any type."""
    function(a, mask, cast(values, a.dtype))


def put_along_axis(function: Callable, a: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    """An index out of range wraps around, since a kernel can't raise."""
    if axis is not None and indices.ndim != a.ndim:
        function(a, indices, 0, axis)  # this raises
    length = a.size if axis is None else a.shape[axis]
    if length:
        indices = np.remainder(indices, length, dtype=np.intp, casting="unsafe")
    function(a, indices, _from_host(values, a.dtype), axis)


def fill_diagonal(function: Callable, a: Any, value: Any, *rest: Any, **kwargs: Any) -> None:
    function(a, _from_host(value, a.dtype), *rest, **kwargs)


def _from_host(value: Any, dtype: np.dtype) -> Any:
    """A number gets its type on the host, where NumPy may refuse it. An array's elements get it on the card."""
    if isinstance(value, np.ndarray):
        return cast_floats(value, dtype)
    return np.asarray(value, dtype)


def join(function: Callable, arrays: Any, *rest: Any, out: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """`np.concatenate` and its kin, where a type is asked for."""
    if isinstance(arrays, (list, tuple)) and not all(isinstance(x, np.ndarray) for x in arrays):
        raise TypeError(f"{function.__name__} on a GPU takes arrays that are there")
    if kwargs.get("casting") == "unsafe":
        arrays = [cast_floats(x, dtype if out is None else out.dtype) for x in arrays]
    if out is not None:
        kwargs["out"] = out
    if dtype is not None:
        kwargs["dtype"] = dtype
    return function(arrays, *rest, **kwargs)


def pad(function: Callable, a: Any, widths: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """A ramp is rounded down and then cast. What's wrapped around more than once is what has been padded so far."""
    if mode == "median":
        raise ValueError("pad: CuPy has no mode 'median'")
    is_ramp = mode == "linear_ramp" and a.dtype.kind in "iu"
    if not is_ramp and mode != "wrap" or not a.size or isinstance(widths, dict):
        return function(a, widths, mode, **kwargs)
    if is_ramp:
        ends = np.broadcast_to(np.asarray(kwargs.get("end_values", 0)), (a.ndim, 2))
    else:
        ends = None
    for axis, (before, after) in enumerate(np.broadcast_to(np.asarray(widths, int), (a.ndim, 2)).tolist()):
        now = [(0, 0)] * a.ndim
        if ends is not None:
            now[axis] = (before, after)
            made = function(a.astype(np.float64), now, mode, end_values=[tuple(ends[axis])] * a.ndim)
            a = cast(np.floor(made), a.dtype)
            continue
        while before or after:
            front, back = min(before, a.shape[axis]), min(after, a.shape[axis])
            now[axis] = (front, back)
            a = function(a, now, "wrap")
            before, after = before - front, after - back
    return a


def delete(function: Callable, a: Any, places: Any, axis: Any = None) -> Any:
    """In an array or a list of places, one out of range wraps around."""
    if isinstance(places, (np.ndarray, list, tuple)):
        given = np.asarray(places)
    else:
        given = None
    length = a.size if axis is None else a.shape[axis]
    if given is not None and given.dtype.kind in "iu" and given.size and length:
        places = np.remainder(given, length, dtype=np.intp, casting="unsafe")
    return function(a, places, axis)


def with_casts(function, *inputs, out=None, dtype=None, casting="same_kind"):
    """A ufunc's call: what it takes is cast to `dtype` in any case, and only what it writes as `casting` says."""
    ufunc = function.__self__
    given = list(inputs)
    if dtype is not None:
        kinds = [getattr(x, "dtype", type(x)) for x in inputs]
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
        found = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), signature=signature, casting="unsafe")
        given = [cast(x, kind) for x, kind in zip(inputs, found)]
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        return function(*given)
    made = function(*given)
    if casting == "unsafe":
        made = cast(made, target.dtype)
    np.copyto(target, made, casting)
    return target


# -- Sums of float16 -------------------------------------------------------------------------------------------------


class _Halves(np.ndarray):
    """float16 numbers. Wherever one of NumPy's functions adds or multiplies them up, it does so in float32."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, _Halves) else x for x in inputs]
        is_rounded = method in ("reduce", "accumulate") and (kwargs.get("dtype") or plain[0].dtype) == np.float16
        if is_rounded:
            result = np.asarray(getattr(ufunc, method)(*plain, **{**kwargs, "dtype": np.float32}), np.float16)
        else:
            target = None if out is None else np.asarray(out[0])
            result = np.asarray(getattr(ufunc, method)(*plain, out=target, **kwargs))
        if out is None:
            return result.view(_Halves)
        out[0][...] = result
        return out[0]


def _is_half(x: Any) -> bool:
    return getattr(x, "dtype", x) == np.float16


def sum_halves(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Sums of float16 are added up in float32, and then rounded once.

    Some of a card's sums stay in float16: CUB's, running totals, the squares of `var`. It adds them in a tree, which
    comes close to this. We don't follow the tree, but a sum too large for float16 is inf here, too.
    """
    if not any([isinstance(x, np.ndarray) and x.dtype.char == "e" for x in args]):
        return function(*args, **kwargs)
    result = function(*(x.view(_Halves) if isinstance(x, np.ndarray) else x for x in args), **kwargs)
    if result is kwargs.get("out"):
        return result
    if isinstance(result, tuple):
        return tuple(map(np.array, result))
    return np.array(result)


def in_float32(function: Callable, *args: Any, **kwargs: Any) -> Any:
    if not any(map(_is_half, args)):
        return function(*args, **kwargs)
    made = function(*(x.astype(np.float32) if _is_half(x) else x for x in args), **kwargs)
    if isinstance(made, tuple):
        return type(made)(*(part.astype(np.float16) for part in made))
    return np.asarray(made, np.float16)


# -- Ranges and windows -----------------------------------------------------------------------------------------------


def arange(function: Callable, *given: Any, dtype: Any = None, **named: Any) -> np.ndarray:
    """``start + i * step``, with both as numbers of the result's type."""
    if dtype is None and not named and all(type(x) is int for x in given):
        return function(*given)
    given, last = given[:3], given[3:]
    if last:
        dtype = last[0]
    if any(isinstance(x, np.ndarray) for x in (*given, *named.values())):
        return function(*given, dtype=dtype, **named)
    if len(given) == 1 and named.get("stop") is None:
        given = (0, *given)
    named = {**dict(zip(("start", "stop", "step"), given)), **named}
    start, stop, step = (named.get(key) for key in ("start", "stop", "step"))
    if step is None:
        step = 1
    if stop is None:
        start, stop = 0, start
    if start is None:
        start = 0
    if dtype is None:
        if any(np.dtype(type(x)).kind == "f" for x in (start, stop, step)):
            dtype = float
        else:
            dtype = int
    dtype = np.dtype(dtype)
    if dtype.kind not in "iufc" or dtype.kind == "c" or any(isinstance(x, complex) for x in (start, stop, step)):
        return function(start, stop, step, dtype=dtype)
    count = max(0, math.ceil((stop - start) / step))
    wide: Any = {"f": np.promote_types(dtype, np.float32), "i": np.int64, "u": np.uint64}[dtype.kind]
    first, each = np.asarray(dtype.type(start)).astype(wide), np.asarray(dtype.type(step)).astype(wide)
    places = np.arange(count).astype(wide)
    if dtype.kind == "f":
        return multiply_add(places, each, first).astype(dtype)
    return np.asarray(first + places * each).astype(dtype)


def linspace(
    function: Callable, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    """As integers, the numbers are rounded down and then cast."""
    if any(isinstance(x, complex) for x in (start, stop)):
        raise TypeError("linspace on a GPU takes real numbers, or arrays (as CuPy's)")
    if dtype is None or np.dtype(dtype).kind not in "iu":
        return function(start, stop, num, endpoint, retstep, dtype, axis)
    made, step = function(start, stop, num, endpoint, True, None, axis)
    made = cast(np.floor(made), dtype)
    if retstep:
        return (made, step)
    return made


def logspace(
    function: Callable, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    made = function(start, stop, num, endpoint, base, None, axis)
    if dtype is None:
        return made
    return cast(made, dtype)


def _cosines(count: int, turns: int = 1) -> np.ndarray:
    """The cosines of a window, all in float32: alpha is a kernel's ``float32 alpha``."""
    alpha = np.float32(2 * np.pi / (count - 1))
    return np.cos(np.float32(turns) * alpha * np.arange(count, dtype=np.float32)).astype(np.float64)


def _ramp(count: int) -> np.ndarray:
    half = np.float32((count - 1) / 2)
    ramp = np.arange(count, dtype=np.float32) / half
    return np.where(np.arange(count) < half, ramp, 2.0 - ramp.astype(np.float64))


def _kaiser(count: int, beta: float) -> np.ndarray:
    alpha, beta32 = np.float32((count - 1) / 2), np.float32(beta)
    x = (np.arange(count, dtype=np.float32) - alpha) / alpha
    made = np.i0((beta32 * np.sqrt(1 - x * x)).astype(np.float64)).astype(np.float32)
    return made.astype(np.float64) / np.float32(np.i0(float(beta32)))


_WINDOWS: dict[str, Callable] = {
    "bartlett": _ramp,
    "blackman": lambda count: 0.42 - 0.5 * _cosines(count) + 0.08 * _cosines(count, 2),
    "hamming": lambda count: 0.54 - 0.46 * _cosines(count),
    "hanning": lambda count: 0.5 - 0.5 * _cosines(count),
    "kaiser": _kaiser,
}


def window(function: Callable, count: int, *rest: Any) -> np.ndarray:
    """A kernel computes these in float32, and stores float64."""
    if count > 1:
        return _WINDOWS[function.__name__](count, *rest)
    return function(count, *rest)


# -- Element by element -----------------------------------------------------------------------------------------------


def by_formula(formula: Callable) -> Callable:
    """A ufunc's call with keywords, where its values are those of `formula`."""

    def computes(function, *given, out=None, dtype=None, casting="same_kind"):
        operands = given if dtype is None else [cast(x, dtype) for x in given]
        result = formula(*operands)
        target = out[0] if isinstance(out, tuple) else out
        if target is None:
            return result
        if casting == "unsafe":
            result = cast(result, target.dtype)
        np.copyto(target, result, casting)
        return target

    return computes


def fmod(x: Any, y: Any) -> Any:
    """Integers are divided as numbers of float64, which hold 53 bits of them."""
    kind = np.result_type(x, y)
    if kind.kind not in "iu" or kind.itemsize < 8:
        return np.fmod(x, y)
    rest = np.fmod(np.asarray(x).astype(np.float64), np.asarray(y).astype(np.float64))
    return cast(np.where(np.equal(y, 0), 0.0, rest), kind)


def reciprocal(x: Any) -> Any:
    """Of the integer 0, it's 0."""
    if np.asarray(x).dtype.kind not in "biu":
        return np.reciprocal(x)
    return np.reciprocal(np.where(np.equal(x, 0), np.asarray(x).dtype.type(2), x)) * np.not_equal(x, 0)


def logical_not(x: Any) -> Any:
    _check_no_complex("logical_not", x)
    return np.logical_not(x)


def logical_xor(x: Any, y: Any) -> Any:
    _check_no_complex("logical_xor", x, y)
    return np.logical_xor(x, y)


def _check_no_complex(name: str, *given: Any) -> None:
    if any(np.asarray(x).dtype.kind == "c" for x in given):
        raise TypeError(f"{name} on a GPU takes no complex numbers (nor does CuPy's): compare with 0, as in x == 0")


def sign(x: Any) -> Any:
    """Of booleans, it's an int8."""
    if np.asarray(x).dtype == bool:
        x = x.astype(np.int8)
    return np.sign(x)


def ldexp(x: Any, exponent: Any) -> Any:
    """The exponent is an ``int`` of C, of 32 bits."""
    given = np.asarray(exponent)
    if given.dtype == np.int64:
        exponent = given.astype(np.int32)
    return np.ldexp(x, exponent)


def left_shift(x: Any, y: Any) -> Any:
    """PTX's ``shl.b64`` takes 32 bits of `y`."""
    return np.left_shift(x, _shift(x, y))


def right_shift(x: Any, y: Any) -> Any:
    return np.right_shift(x, _shift(x, y))


def _shift(x: Any, y: Any) -> Any:
    kind = np.result_type(x, y)
    if kind.kind not in "iu" or kind.itemsize < 8:
        return y
    return np.asarray(y).astype(kind) & kind.type(2**32 - 1)


def expm1(x: Any) -> Any:
    """Of complex numbers, it's ``exp(x) - 1``, also near 0 and at the infinities."""
    if np.asarray(x).dtype.kind != "c":
        return np.expm1(x)
    return np.exp(x) - 1


def log1p(x: Any) -> Any:
    """Of complex numbers, it's ``log(x + 1)``, also near 0."""
    if np.asarray(x).dtype.kind != "c":
        return np.log1p(x)
    return np.log(x + 1)


def log2(x: Any) -> Any:
    """Of complex numbers, it's ``log(x) / log(2)``."""
    made = np.asarray(x)
    if made.dtype.kind != "c":
        return np.log2(x)
    return np.log(x) / np.log(made.real.dtype.type(2))


def nextafter(x: Any, y: Any) -> Any:
    """In float16, after an infinity comes NaN."""
    made = np.nextafter(x, y)
    if made.dtype == np.float16:
        return np.where(np.isinf(x), made.dtype.type(np.nan), made)
    return made


def power(function: Callable, x: Any, y: Any, **kwargs: Any) -> Any:
    """Integers can have a negative power: 1 / x without its fraction."""
    if np.result_type(x, y).kind != "i" or not np.any(np.less(y, 0)):
        return function(x, y, **kwargs)
    is_whole = (y >= 0) | (abs(x) == 1)
    result = function(x, abs(y), **kwargs)
    result *= is_whole
    return result


def compare(function: Callable, x: Any, y: Any, **kwargs: Any) -> Any:
    """A boolean can be compared with a number that's too large for its type. Records are equal if their fields are."""
    ufunc = getattr(function, "__self__", function)
    if getattr(getattr(x, "dtype", None), "names", None) and ufunc in (np.equal, np.not_equal):
        if ufunc is np.equal:
            return x == y
        return x != y
    wide = [v.astype(np.int64) if isinstance(v, np.ndarray) and v.dtype == bool else v for v in (x, y)]
    return function(*wide, **kwargs)


def angle(function: Callable, z: Any, deg: bool = False) -> Any:
    """Of a real number that isn't at least 0, it's π: NaN's, too. That of -0.0 is 0."""
    made = function(z, deg)
    if np.asarray(z).dtype.kind == "c":
        return made
    half_turn = 180.0 if deg else np.pi
    return np.where(np.greater_equal(z, 0), 0.0, half_turn).astype(np.asarray(made).dtype)


def sinc(function: Callable, x: Any) -> Any:
    """It's exactly 0 at whole numbers, and 1 at NaN, which isn't farther than 1e-9 from 0."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return function(x)
    if x.dtype.kind == "f":
        kind = x.dtype
    else:
        kind = np.result_type(x.dtype, np.float16)
    y = np.abs(x.astype(np.float64))
    turn = np.fmod(y, 2.0)
    folded = np.where(turn <= 0.5, turn, np.where(turn <= 1.5, 1 - turn, turn - 2))
    is_far = y > 1e-9
    divisor = np.pi * np.where(is_far, y, 1.0)
    return np.where(is_far, np.sin(np.pi * folded) / divisor, 1.0).astype(kind)


def i0(function: Callable, x: Any) -> Any:
    """Of small integers, in the type that a ufunc gives them."""
    made = function(x)
    if x.dtype.kind in "biu":
        return made.astype(np.result_type(x.dtype, np.float16))
    return made


def clip(function: Callable, a: Any, *bounds: Any, **kwargs: Any) -> Any:
    """A bound that's NaN is none."""
    if len(bounds) != 2:
        raise TypeError("clip on a GPU takes two bounds, a_min and a_max. Either can be None")
    given = [bound for bound in bounds if bound is not None]
    kind = np.result_type(a, *given)
    if kind.kind == "c" or a.dtype.kind == "b" and len(given) < 2:
        raise TypeError(f"clip on a GPU takes no {kind if kind.kind == 'c' else 'bound None with booleans'}")
    check_integers("clip", given, kind)
    return function(a, _without_nan(bounds[0], -np.inf), _without_nan(bounds[1], np.inf), **kwargs)


def check_integer(name: str, x: int) -> None:
    """Raises `OverflowError` if no integer of 64 bits can be `x`, even where it would become a float."""
    if not -(2**63) <= x < 2**64:
        raise OverflowError(f"{name}: {x} doesn't fit into 64 bits, in which numbers get to a GPU: write float({x})")


def check_integers(name: str, values: Any, kind: np.dtype) -> None:
    """Raises `OverflowError` if a Python integer among these doesn't fit into `kind`, their common type."""
    for value in values:
        if type(value) is int:
            check_integer(name, value)
            if kind.kind in "iu":
                kind.type(value)


def where(function: Callable, condition: Any, *choices: Any) -> Any:
    """A Python integer has to fit into the other choice's type."""
    if not isinstance(condition, (np.ndarray, np.generic)):
        raise AttributeError(f"where on a GPU takes a condition that's an array there, got {condition!r}")
    if len(choices) == 2 and (type(choices[0]) is int or type(choices[1]) is int):
        check_integers("where", choices, np.result_type(*choices))
    return function(condition, *choices)


def _without_nan(bound: Any, instead: float) -> Any:
    if isinstance(bound, float):  # a Python number has no type of its own
        if math.isnan(bound):
            return instead
        return bound
    given = np.asarray(bound)
    if bound is None or given.dtype.kind != "f":
        return bound
    return np.where(np.isnan(given), given.dtype.type(instead), given)


def round(function: Callable, a: Any, decimals: int = 0, out: Any = None) -> Any:
    """To decimals, floats are rounded in float64; integers to tens as integers, half to even."""
    if not isinstance(decimals, (int, np.integer)):
        raise TypeError(f"round: decimals is an integer, got {decimals!r}")
    a = np.asarray(a)
    if decimals == 0 or a.dtype.kind == "b" or (a.dtype.kind in "iu" and not -19 < decimals < 0):
        return function(a, decimals, out)
    if a.dtype.kind == "c":
        made = np.empty_like(a)
        made.real, made.imag = round(function, a.real, decimals), round(function, a.imag, decimals)
    elif a.dtype.kind == "f":
        scale = np.power(10.0, abs(decimals))
        wide = a.astype(np.float64)
        if decimals < 0:
            made = np.rint(wide / scale) * scale
        else:
            made = np.rint(wide * scale) / scale
        made = made.astype(a.dtype)
    else:
        made = _round_integers(a, 10 ** (-decimals - 1))
    if out is None:
        return made
    np.copyto(out, made, casting="same_kind")
    return out


def _round_integers(a: np.ndarray, unit: int) -> np.ndarray:
    """To tens of this `unit`: the last two digits are rounded by a float32, the others are kept."""
    is_unsigned = a.dtype.kind == "u"
    whole: Any = np.uint64 if is_unsigned else np.int64
    wide = a.astype(whole)
    size = np.abs(wide)
    kept = size // whole(unit) // whole(100)
    rest = (size - kept * whole(unit) * whole(100)).astype(np.float32)
    tens = np.rint(rest / np.float32(unit * 10)).astype(whole)
    made = (kept * whole(100) + tens * whole(10)) * whole(unit)
    if not is_unsigned:
        made = np.sign(wide) * made
    return made.astype(a.dtype)


def unwrap(function: Callable, p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """With a card's remainder."""
    steps = np.diff(p, axis=axis)
    dtype = np.result_type(steps.dtype, period)
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        is_ambiguous = rest == 0
    else:
        high, is_ambiguous = period / 2, True
    low = -high
    folded = remainder(steps - low, period) + low
    if is_ambiguous:
        folded[(folded == low) & (steps > 0)] = high
    correction = folded - steps
    if discont is None:
        discont = period / 2
    correction[np.abs(steps) < discont] = 0
    made = np.array(p, dtype=dtype)
    later = [slice(None)] * p.ndim
    later[axis] = slice(1, None)
    made[tuple(later)] = p[tuple(later)] + np.cumsum(correction, axis=axis)
    return made


# -- Sorting and searching --------------------------------------------------------------------------------------------


def argsort(function: Callable, a: Any, axis: Any = -1, kind: Any = None) -> Any:
    """There's one way to sort, which is stable."""
    return function(a, axis, kind="stable")


def partition(function: Callable, a: Any, kth: Any, axis: Any = -1) -> Any:
    """Short rows are sorted, and so are all when much is asked for. We always sort: more than `kth` asks for."""
    function(a, kth, axis)  # raises what's to be raised
    return np.sort(a, axis, kind="stable")


def argpartition(function: Callable, a: Any, kth: Any, axis: Any = -1) -> Any:
    function(a, kth, axis)
    return np.argsort(a, axis, kind="stable")


def _over_axes(compute: Callable) -> Callable:
    """Along several axes, a place is counted as if they were one. NumPy's functions take one."""

    @functools.wraps(compute)
    def over_axes(
        function: Callable, a: Any, axis: Any = None, *rest: Any, keepdims: Any = False, **kwargs: Any
    ) -> Any:
        if not isinstance(axis, tuple):
            return compute(function, a, axis, *rest, keepdims=keepdims, **kwargs)
        axes = np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
        kept = [i for i in range(a.ndim) if i not in axes]
        rows = a.transpose(*kept, *axes).reshape([a.shape[i] for i in kept] + [-1])
        places = compute(function, rows, -1, *rest, **kwargs)
        if keepdims is True:
            return np.expand_dims(places, axes)
        return places

    return over_axes


@_over_axes
def arg_extreme(function: Callable, a: Any, axis: Any = None, *rest: Any, **kwargs: Any) -> Any:
    """`np.argmax` and `np.argmin`."""
    return function(a, axis, *rest, **kwargs)


@_over_axes
def nan_arg_extreme(function: Callable, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """`np.nanargmax` and `np.nanargmin`: of nothing but NaN, -1. An infinity counts, also next to NaN."""
    keepdims = keepdims is True
    if a.dtype.kind not in "fc":
        return getattr(np, function.__name__[3:])(a, axis, out, keepdims=keepdims)
    is_nan = np.isnan(a)
    is_largest = function is np.nanargmax
    filled = np.where(is_nan, -np.inf if is_largest else np.inf, a)
    if is_largest:
        best = np.max(filled, axis, keepdims=True)
    else:
        best = np.min(filled, axis, keepdims=True)
    places = np.argmax((filled == best) & ~is_nan, axis, keepdims=keepdims)
    places = np.where(is_nan.all(axis, keepdims=keepdims), -1, places)
    if out is None:
        return places
    out[...] = places
    return out


def _search(bins: np.ndarray, x: np.ndarray, is_right: bool, is_rising: bool = True) -> np.ndarray:
    """Where each `x` belongs by a search in halves, also among `bins` that aren't in order."""
    last = bins[-1]
    if is_rising:
        beyond = x >= last if is_right else x > last
    else:
        beyond = last > x if is_right else x <= last
    left, right = np.zeros(x.shape, np.int64), np.full(x.shape, bins.size - 1)
    while (open_ := left < right).any():
        middle = left + (right - left) // 2
        if is_rising:
            goes_on = bins[middle] <= x if is_right else bins[middle] < x
        else:
            goes_on = bins[middle] > x if is_right else bins[middle] >= x
        left = np.where(open_ & goes_on, middle + 1, left)
        right = np.where(open_ & ~goes_on, middle, right)
    return np.where(beyond, bins.size, right)


def _in_order(bins: np.ndarray) -> bool:
    return bool((bins[:-1] <= bins[1:]).all()) or np.isnan(bins).any()


def searchsorted(function: Callable, a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Nobody checks that `a` is in order; if it isn't, the search ends where it ends."""
    if not isinstance(v, (np.ndarray, int, float, complex)):
        raise NotImplementedError(f"searchsorted on a GPU takes an array there or a Python number, got {v!r}")
    if a.ndim != 1 or a.size == 0 or a.dtype.kind not in "biuf" or np.asarray(v).dtype.kind not in "biuf":
        return function(a, v, side, sorter)
    if sorter is not None and sorter.dtype.kind not in "iu":
        raise TypeError(f"searchsorted takes a sorter of integers, got {sorter.dtype}")
    ordered = a if sorter is None else a[sorter]
    if _in_order(ordered) or np.isnan(v).any():
        return function(a, v, side, sorter)
    return _search(ordered, np.asarray(v), side == "right")


def digitize(function: Callable, x: Any, bins: Any, right: bool = False) -> Any:
    """The same. Bins that fall from the first to the last are taken for falling ones."""
    check_arrays("digitize", x, bins)
    is_plain = bins.ndim != 1 or bins.size < 2 or np.isnan(bins).any() or np.isnan(x).any()
    if is_plain or _in_order(bins) or _in_order(bins[::-1]):
        return function(x, bins, right)
    return _search(bins, np.asarray(x), not right, bool(bins[0] <= bins[-1]))


def intersect1d(function: Callable, a: Any, b: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """With `assume_unique`, `b` is searched as it is, and what's found keeps the order of `a`."""
    check_arrays("intersect1d", a, b)
    if not assume_unique or not b.size:
        return function(a, b, assume_unique, return_indices)
    a, b = a.ravel(), b.ravel()
    places = _search(b, a, is_right=False)
    is_there = (places < b.size) & (b[np.minimum(places, b.size - 1)] == a)
    found = a[is_there].astype(np.result_type(a, b))
    if return_indices:
        return (found, np.flatnonzero(is_there), places[is_there])
    return found


def sort(function: Callable, a: Any, axis: Any = -1, kind: Any = None) -> Any:
    if kind not in (None, "stable"):
        raise ValueError(f"sort: kind={kind!r}, but a GPU sorts in one way, which is stable. Leave kind out")
    return function(a, axis, kind)


def repeat(function: Callable, a: Any, repeats: Any, *rest: Any, **kwargs: Any) -> Any:
    if isinstance(repeats, (float, np.floating)):
        raise ValueError(f"repeat takes an integer or several, got {repeats!r}")
    return function(a, repeats, *rest, **kwargs)


def lexsort(function: Callable, keys: Any, *rest: Any) -> Any:
    if not isinstance(keys, np.ndarray):
        raise AttributeError("lexsort on a GPU takes its keys as the rows of an array (as CuPy's): np.stack(keys)")
    if getattr(keys, "ndim", 1) > 2:
        raise NotImplementedError("lexsort on a GPU takes keys with one or two axes (as CuPy's)")
    return function(keys, *rest)


def choose(function: Callable, a: Any, choices: Any, *rest: Any, **kwargs: Any) -> Any:
    if not isinstance(choices, np.ndarray):
        raise AttributeError("choose on a GPU takes its choices as the rows of an array: np.stack(choices)")
    return function(a, choices, *rest, **kwargs)


def of_two_arrays(function: Callable, a: Any, b: Any, *rest: Any, **kwargs: Any) -> Any:
    check_arrays(function.__name__, a, b)
    return function(a, b, *rest, **kwargs)


def array_equiv(function: Callable, a: Any, b: Any) -> Any:
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        raise AttributeError("array_equiv on a GPU takes arrays there, and numbers: a list equals none")
    return function(a, b)


def isin(function: Callable, element: Any, test_elements: Any, *rest: Any, **kwargs: Any) -> Any:
    if not isinstance(test_elements, np.ndarray):
        raise AttributeError(f"isin on a GPU takes what's looked for as an array there, got {test_elements!r}")
    return function(element, test_elements, *rest, **kwargs)


def select(function: Callable, conditions: Any, choices: Any, default: Any = 0) -> Any:
    """The default has no say in the type: it's written into an array of the choices' type."""
    if not all(isinstance(x, np.ndarray) for x in choices):
        raise TypeError("select on a GPU takes choices that are arrays there")
    if any(isinstance(x, np.ndarray) and x.dtype.kind != "b" for x in conditions):
        raise ValueError("select on a GPU takes conditions that are arrays of booleans")
    written = np.empty((), np.result_type(*choices))
    np.copyto(written, default)  # raises TypeError if it can't be of that type
    return function(conditions, choices, written)


def piecewise(function: Callable, x: Any, conditions: Any, values: Any) -> Any:
    if any(map(callable, values)):
        raise NotImplementedError("piecewise on a GPU takes numbers, not functions (as CuPy's does): use where")
    return function(x, conditions, values)


def gradient(function: Callable, f: Any, *spacing: Any, **kwargs: Any) -> Any:
    """Along several axes, they're in a list."""
    made = function(f, *spacing, **kwargs)
    if isinstance(made, tuple):
        return list(made)
    return made


def trim_zeros(function: Callable, filt: Any, *rest: Any) -> Any:
    if filt.ndim > 1:
        raise NotImplementedError(f"trim_zeros on a GPU takes an array with one axis, got shape {filt.shape}")
    return function(filt, *rest)


def ediff1d(function: Callable, a: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    for name, part in (("to_end", to_end), ("to_begin", to_begin)):
        if part is not None and not isinstance(part, np.ndarray):
            raise TypeError(f"ediff1d on a GPU takes {name} as an array there, got {part!r}")
    return function(a, to_end, to_begin)


def unique(function: Callable, a: Any, *rest: Any, axis: Any = None, **kwargs: Any) -> Any:
    """Rows are compared by their difference, which booleans don't have."""
    if len(rest) > 3:
        axis = rest[3]
    if axis is not None and a.dtype == bool and a.shape[axis] > 1:
        raise TypeError("unique on a GPU compares no rows of booleans (nor does CuPy's): x.astype(np.int8) has them")
    if axis is None or len(rest) > 3:
        return function(a, *rest, **kwargs)
    return function(a, *rest, axis=axis, **kwargs)


def bits(function: Callable, a: Any, *rest: Any, **kwargs: Any) -> Any:
    axis = rest[0] if rest else kwargs.get("axis")
    if axis is not None:
        raise NotImplementedError(f"{function.__name__} on a GPU takes no axis (nor does CuPy's): use it row by row")
    return function(a, *rest, **kwargs)


def bincount(function: Callable, x: Any, weights: Any = None, minlength: Any = None) -> Any:
    if minlength is None:
        minlength = 0
    return function(x, weights, minlength)


# -- Statistics -------------------------------------------------------------------------------------------------------


def call_silently(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """NumPy's value without its warning: to see that there's something to warn of, the host would have to wait."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*args, **kwargs)


def axes_of(x: np.ndarray, axis: Any) -> tuple[int, ...]:
    """The axes that are reduced, in order. Raises NumPy's `AxisError`."""
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)))


_INSTEAD_OF_NAN = {np.nansum: 0, np.nanprod: 1, np.nancumsum: 0, np.nancumprod: 1}


def sums(function: Callable, x: Any, axis: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Sums and products. What's added up as an integer is cast first, after NaN has been replaced."""
    instead = _INSTEAD_OF_NAN.get(function)
    if x.dtype.kind == "c" and dtype is not None and np.dtype(dtype).kind in "biu":
        raise TypeError(f"{function.__name__}: complex numbers don't become {np.dtype(dtype)} on a GPU: take x.real")
    if instead is not None and x.dtype.kind == "c":
        x = _parts_without_nan(x, instead)
    elif instead is not None and x.dtype.kind == "f" and dtype is not None:
        x = np.where(np.isnan(x), x.dtype.type(instead), x)
    return sum_halves(function, cast_floats(x, dtype), axis, dtype, **kwargs)


def cumulate(function: Callable, x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums and products. With `out`, they're of its type, and what's added up is cast to that first."""
    if axis is not None:
        np.lib.array_utils.normalize_axis_index(axis, x.ndim)  # a number has no axes, not even 0
    instead = _INSTEAD_OF_NAN.get(function)
    if instead is not None and x.dtype.kind in "fc":
        x = np.where(np.isnan(x), x.dtype.type(instead), x)
    if out is None:
        return sum_halves(function, cast_floats(x, dtype), axis, dtype)
    if axis is None and out.ndim == 1:
        x = x.ravel()
    x = cast(np.broadcast_to(x, out.shape), out.dtype)
    out[...] = np.asarray(sum_halves(function, x, axis, out.dtype)).reshape(out.shape)
    return out


def cast_and_sum(function: Callable, x: Any, *rest: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """The same, where `dtype` is a keyword: `np.cumulative_sum`, ``np.add.reduce``."""
    return sum_halves(function, cast_floats(x, dtype), *rest, dtype=dtype, **kwargs)


def _parts_without_nan(x: np.ndarray, value: float) -> np.ndarray:
    """NaN in the real part of a complex number leaves its imaginary part as it is."""
    x = x.copy()
    x.real[np.isnan(x.real)] = value
    x.imag[np.isnan(x.imag)] = value
    return x


def mean(function: Callable, x: Any, axis: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """As an integer, it's the mean of the floats, cast. Of nothing, it's NaN without a warning."""
    if dtype is not None and np.dtype(dtype).kind in "biu" and kwargs.get("out") is None:
        return cast(call_silently(function, x, axis, np.float64, **kwargs), dtype)
    if x.size == 0:
        return call_silently(function, x, axis, dtype, **kwargs)
    return function(x, axis, dtype, **kwargs)


def var(
    function: Callable, x: Any, axis: Any = None, dtype: Any = None, *rest: Any, ddof: Any = 0, **kwargs: Any
) -> Any:  # fmt: skip
    """`var` and `std`: of at most `ddof` elements, NaN. NumPy divides by 0, which can give inf."""
    if dtype is not None and kwargs.get("out") is None:
        return _var_as(function, x, axis, np.dtype(dtype), ddof, kwargs.get("keepdims") is True)
    if dtype is None and kwargs.get("out") is not None and function.__name__ == "var":
        place = kwargs.pop("out")
        made = var(function, x, axis, ddof=ddof, **kwargs)
        return _write_out(place, np.asarray(made)).astype(made.dtype, copy=False)
    rest = (dtype, *rest)
    if math.prod(x.shape[i] for i in axes_of(x, axis)) <= ddof:
        made = np.asarray(call_silently(function, x, axis, *rest, **kwargs))
        made[...] = np.nan
        return made
    if _is_half(x):
        kwargs["mean"] = np.mean(x, axis=axis, keepdims=True)
    return sum_halves(function, x, axis, *rest, ddof=ddof, **kwargs)


def _var_as(function: Callable, x: np.ndarray, axis: Any, dtype: np.dtype, ddof: Any, keepdims: bool) -> np.ndarray:
    """`var` and `std` as a type: the mean that's taken off is of the elements' own, so integers lose its fraction.

    What's added up is float64, unless float16 or float32 is asked for.
    """
    is_root = function.__name__ == "std"
    if is_root and dtype.kind in "biu":
        raise TypeError(f"std: a root is no integer, got dtype={dtype}")
    count = math.prod(x.shape[i] for i in axes_of(x, axis)) - ddof
    middle = mean(np.mean, x, axis, x.dtype, keepdims=True)
    if x.dtype.kind in "biu":
        wide = np.dtype(np.int64)
    else:
        wide = np.promote_types(x.dtype, np.float32)
    away = x.astype(wide) - middle.astype(wide)
    squares = away.real**2 + away.imag**2
    kind = dtype if dtype.char in "ef" else np.dtype(np.float64)
    total = squares.sum(axis, dtype=np.promote_types(kind, np.float32), keepdims=keepdims)
    made = np.asarray(total * (1 / count if count > 0 else np.nan)).astype(kind)
    if is_root:
        return np.sqrt(made, dtype=dtype)
    return made


def average(function: Callable, x: Any, *rest: Any, **kwargs: Any) -> Any:
    weights = rest[1] if len(rest) > 1 else kwargs.get("weights")
    if weights is not None and weights.ndim != 1 and weights.shape != x.shape:
        raise TypeError(f"average takes weights with one axis, or of shape {x.shape}, got shape {weights.shape}")
    if x.size == 0:
        return call_silently(function, x, *rest, **kwargs)
    return sum_halves(function, x, *rest, **kwargs)


def median(function: Callable, a: Any, axis: Any = None, **kwargs: Any) -> Any:
    """Of no elements there's none: a card looks for two elements in the middle, and doesn't find them."""
    if a.ndim and math.prod(a.shape[i] for i in axes_of(a, axis)) == 0:
        raise ValueError(f"median: there are no elements along axis {axis} of shape {a.shape}")
    return function(a, axis, **kwargs)


def nan_statistics(function: Callable, x: Any, axis: Any = None, *rest: Any, **kwargs: Any) -> Any:
    """`nanmean`, `nanvar` and `nanstd`."""
    made = call_silently(sum_halves, function, x, axis, *rest, **kwargs)
    has_dtype = bool(rest) or kwargs.get("dtype") is not None
    if function is np.nanvar and has_dtype and kwargs.get("out") is None and x.dtype.kind in "fc":
        made = made.astype(x.real.dtype)  # whatever type it's computed in
    if function is np.nanmean or x.dtype.kind not in "fc" or kwargs.get("out") is not None:
        return made
    return _spread_of_few(x, axis, kwargs.get("ddof", 0), kwargs.get("keepdims") is True, made)


def _spread_of_few(x: Any, axis: Any, ddof: float, keepdims: bool, made: Any) -> Any:
    """`made`, but where at most `ddof` elements aren't NaN, each square is divided by 0 before they're added."""
    is_nan = np.isnan(x)
    is_few = (~is_nan).sum(axis=axis, keepdims=keepdims) <= ddof
    if not is_few.any():
        return made
    is_mean = x == call_silently(np.nanmean, x, axis=axis, keepdims=True)
    value = np.where((is_nan | is_mean).any(axis=axis, keepdims=keepdims), np.nan, np.inf)
    return np.where(is_few, value, made).astype(np.asarray(made).dtype)


def nanmedian(function: Callable, a: Any, axis: Any = None, *, out: Any = None, keepdims: Any = False, **_: Any) -> Any:
    """NaN becomes the type's largest number, which an infinity comes after: the median of NaN, 1 and inf isn't inf."""
    keepdims = keepdims is True
    if a.dtype.kind not in "fc" or a.size == 0:
        return call_silently(np.median, a, axis, out=out, keepdims=keepdims)
    axes = axes_of(a, axis)
    kept = [i for i in range(a.ndim) if i not in axes]
    rows = a.transpose(*kept, *axes).reshape(*[a.shape[i] for i in kept], -1)
    counts = (~np.isnan(rows)).sum(-1, keepdims=True)
    rows = np.sort(np.where(np.isnan(rows), np.finfo(a.dtype).max, rows).astype(a.dtype), -1)
    low = np.take_along_axis(rows, np.maximum(counts - 1, 0) // 2, -1)
    high = np.take_along_axis(rows, np.minimum(counts // 2, rows.shape[-1] - 1), -1)
    wide = np.promote_types(a.dtype, np.float32)
    middle = np.where(counts % 2 == 1, low, ((low.astype(wide) + high) / 2).astype(a.dtype))
    made = np.where(counts > 0, middle, np.nan).astype(a.dtype)[..., 0]
    if keepdims:
        made = made.reshape([1 if i in axes else n for i, n in enumerate(a.shape)])
    if out is None:
        return made
    return _write_out(out, made)


def _write_out(out: np.ndarray, made: np.ndarray) -> np.ndarray:
    assign(out, ..., made)
    return out


_NOT_YET = ("averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf")
_ALPHA_BETA = {"hazen": 1 / 2, "weibull": 0.0, "median_unbiased": 1 / 3, "normal_unbiased": 3 / 8}


def quantile(
    function, a, q, axis=None, *, out=None, overwrite_input=False, method="linear", keepdims=False, interpolation=None
):  # fmt: skip
    """`np.quantile` and `np.percentile`. NaN is sorted to the end, and only results that touch it are NaN.

    Between two elements, the difference is multiplied by a weight, even by 0: so next to an infinity there's NaN. The
    last element of a row is compared with the first of the next row.
    """
    if interpolation is not None:
        method = interpolation
    share = q / 100 if function is np.percentile else q
    if method in _NOT_YET:
        raise ValueError(f"{function.__name__}: CuPy has no method {method!r} yet")
    if np.ndim(q) > 1:
        raise ValueError(f"{function.__name__} on a GPU takes q with at most one axis, got shape {np.shape(q)}")
    if a.size == 0 or a.dtype.kind == "c" or not ((np.asarray(share) >= 0) & (share <= 1)).all():
        return call_silently(function, a, q, axis, out=out, method=method, keepdims=keepdims)
    dtype = np.result_type(a, share)
    axes = axes_of(a, axis)
    kept = [i for i in range(a.ndim) if i not in axes]
    shape = tuple(a.shape[i] for i in kept)
    rows = a.transpose(*kept, *axes).reshape(math.prod(shape), -1)
    if overwrite_input:
        rows.sort(-1)
    else:
        rows = np.sort(rows, -1)
    places = _places(np.atleast_1d(np.asarray(share, np.float64)), rows.shape[-1], method)
    if places.dtype.kind == "i":
        made = rows[:, places]
    else:
        made = _between(rows, places, dtype)
    made = np.moveaxis(made.reshape(*shape, -1), -1, 0)
    if keepdims:
        made = made.reshape(len(places), *[1 if i in axes else n for i, n in enumerate(a.shape)])
    made = np.ascontiguousarray(made) if np.ndim(q) else made[0].copy()
    if out is None:
        return made
    return _write_out(out, made)


def _places(share: np.ndarray, count: int, method: str) -> np.ndarray:
    """Where among `count` sorted elements these shares are: whole numbers for an element, others between two."""
    at = share * (count - 1.0)
    if method in _ALPHA_BETA:
        alpha = _ALPHA_BETA[method]
        return np.clip(share * (count - 2 * alpha + 1) + alpha - 1, 0, count - 1)
    whole: dict[str, Callable] = {
        "lower": lambda: np.floor(at), "higher": lambda: np.ceil(at), "nearest": lambda: np.rint(at),
        "inverted_cdf": lambda: np.clip(np.ceil(share * count) - 1, 0, count - 1),
    }  # fmt: skip
    if method in whole:
        return whole[method]().astype(np.int32)
    if method == "midpoint":
        return 0.5 * (np.floor(at) + np.ceil(at))
    if method != "linear":
        raise ValueError(f"unexpected interpolation method {method!r}")
    return at


def _between(rows: np.ndarray, places: np.ndarray, dtype: np.dtype) -> np.ndarray:
    whole = np.floor(places).astype(np.int64)
    weight = (places - whole).astype(dtype)
    bottom = np.arange(len(rows))[:, None] * rows.shape[-1] + whole
    flat = rows.ravel()
    below, above = flat[bottom], flat[np.minimum(bottom + 1, flat.size - 1)]
    low, high = below.astype(dtype), above.astype(dtype)
    # The difference is rounded to the elements' own type first.
    if rows.dtype.char in "fd":
        step = (above - below).astype(dtype)
    else:
        step = high - low
    if dtype.kind != "f" or dtype == np.float16:
        return np.where(weight < 0.5, low + step * weight, high - step * (1 - weight)).astype(dtype)
    return np.where(weight < 0.5, multiply_add(step, weight, low), multiply_add(-step, 1 - weight, high))


def cov(
    function: Callable, m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """With weights, too, what's taken off is the mean without them."""
    made = function(m, y, rowvar, bias, ddof, fweights, aweights, dtype=dtype)
    if fweights is None and aweights is None:
        return made
    given = [m] if y is None else [m, y]
    x = np.array(m, ndmin=2, dtype=np.result_type(*given, np.float64))
    if not rowvar and np.ndim(m) != 1:
        x = x.T
    if y is not None:
        second = np.array(y, ndmin=2, dtype=x.dtype)
        if not rowvar and second.shape[0] != 1:
            second = second.T
        x = np.concatenate([x, second])
    weights = np.ones(x.shape[1])
    for factors in (fweights, aweights):
        if factors is not None:
            weights = weights * factors
    if ddof is None:
        ddof = 0 if bias else 1
    total = weights.sum()
    count = total
    if ddof != 0 and aweights is None:
        count = total - ddof
    elif ddof != 0:
        count = total - ddof * (weights * aweights).sum() / total
    x = x - x.mean(axis=1)[:, None]
    products = np.dot(x, (x * weights).T.conj())
    return np.asarray(products / max(count, 0.0)).squeeze().astype(made.dtype)


def histogram(
    function: Callable, a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """With weights, the counts are of int64, float64 or complex128, and NaN is in the first bin.

    Without them, CUB counts: the last bin of integers ends 1 after its edge, so [0, 1.5] has a place for a 2.
    """
    if a.dtype.kind == "c" or isinstance(bins, str):
        raise NotImplementedError("histogram on a GPU takes real numbers, and bins as a number or as edges (as CuPy's)")
    if weights is None:
        counts, edges = function(a, bins, range)
        if a.dtype.kind in "biu" and counts.size:
            counts[-1] += ((a > edges[-1]) & (a < edges[-1] + 1)).sum()
    else:
        kind: Any = {"c": np.complex128, "f": np.float64}.get(weights.dtype.kind, np.int64)
        weights = weights.astype(kind)
        counts, edges = function(a, bins, range, None, weights)
        counts = counts.astype(kind)
        if a.dtype.kind == "f" and counts.size:
            counts[0] += weights[np.isnan(a)].sum()
    if density:
        return (counts / np.diff(edges).astype(np.float64) / counts.sum(), edges)
    return (counts, edges)


def convolve(function: Callable, a: Any, v: Any, *rest: Any, **kwargs: Any) -> Any:
    """`np.convolve` and `np.correlate` of floats are products of Fourier transforms: one NaN or inf makes all NaN."""
    check_arrays(function.__name__, a, v)
    kind = np.result_type(a, v)
    if kind == np.float16:
        made = np.asarray(function(a.astype(np.float32), v.astype(np.float32), *rest, **kwargs), kind)
    else:
        made = function(a, v, *rest, **kwargs)
    if a.dtype.kind in "fc" and v.dtype.kind in "fc" and not (np.isfinite(a).all() and np.isfinite(v).all()):
        made[...] = np.nan
    return made


def interp(
    function: Callable, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """`left` and `right` become numbers of `fp`'s type. With a period, a card's remainder puts `x` into it."""
    if not x.flags.c_contiguous:
        raise NotImplementedError("interp on a GPU takes an x that lies in memory row by row: x.copy() does")
    if period is None:
        if left is not None:
            left = np.array(left, fp.dtype)[()]
        if right is not None:
            right = np.array(right, fp.dtype)[()]
        return function(x, xp, fp, left, right)
    if period == 0:
        return function(x, xp, fp, period=period)  # this raises
    period = abs(period)
    x, xp = remainder(x.astype(np.float64), period), remainder(xp.astype(np.float64), period)
    order = np.argsort(xp, kind="stable")
    xp, fp = xp[order], fp[order]
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return function(x, xp, np.concatenate([fp[-1:], fp, fp[:1]]))


# -- Linear algebra ---------------------------------------------------------------------------------------------------


# A matrix that can't be inverted or decomposed raises nothing on a card: the host would have to wait to see it. The
# result is inf, nan, or half done. Here it's nan. Other matrices in a stack are right.


def _ignore_singular() -> Any:
    if allowed.singular:
        return contextlib.suppress(np.linalg.LinAlgError)
    return contextlib.nullcontext()


def solve(function: Callable, x: Any, *rest: Any) -> Any:
    if function is np.linalg.solve and x.ndim > 1 and rest[0].ndim > 1 and x.shape[:-1] != rest[0].shape[:-1]:
        raise ValueError(
            f"solve on a GPU takes a of shape (…, M, M) and b of (…, M, K), got {x.shape}, {rest[0].shape}"
        )
    with _ignore_singular():
        return function(x, *rest)
    is_singular = np.linalg.slogdet(x)[0] == 0  # raises again if it isn't square
    return function(np.where(is_singular[..., None, None], np.nan, x), *rest)


def cholesky(function: Callable, x: Any) -> Any:
    with _ignore_singular():
        return function(x)
    if x.ndim > 2:
        return np.stack([cholesky(function, part) for part in x])
    if x.ndim == 2:
        return function(np.eye(*x.shape, dtype=x.dtype)) * np.nan
    return function(x)


def nan_if_singular(function: Callable, x: Any, *rest: Any, **kwargs: Any) -> Any:
    """Singular values and eigenvalues. Of a matrix with NaN or inf, NumPy raises that it finds none."""
    if x.ndim < 2:
        return function(x, *rest, **kwargs)
    with _ignore_singular():
        return function(x, *rest, **kwargs)
    is_bad = ~np.isfinite(x).all(axis=(-2, -1))
    made = function(np.where(is_bad[..., None, None], 0, x).astype(x.dtype), *rest, **kwargs)  # raises again if it's x
    parts = [np.array(part) for part in (made if isinstance(made, tuple) else (made,))]
    for part in parts:
        if part.dtype.kind in "fc":
            part[is_bad] = np.nan
    if not isinstance(made, tuple):
        return parts[0]
    if hasattr(made, "_fields"):
        return type(made)(*parts)
    return tuple(parts)


def cond(function: Callable, x: Any, *rest: Any) -> Any:
    """It's NaN only if there's NaN in the matrix."""
    made = np.asarray(nan_if_singular(function, x, *rest))
    return np.where(np.isnan(made) & ~np.isnan(x).any(axis=(-2, -1)), made.dtype.type(np.inf), made)


def eigenvalues(function: Callable, x: Any, *rest: Any, **kwargs: Any) -> Any:
    return in_float32(functools.partial(nan_if_singular, function), x, *rest, **kwargs)


def norm(function: Callable, x: Any, *rest: Any, **kwargs: Any) -> Any:
    order = rest[0] if rest else kwargs.get("ord")
    if x.size == 0 and x.ndim == 1 and order in (np.inf, -np.inf):
        raise ValueError("linalg.norm: of no elements, there's no largest and no smallest")
    if _is_half(x):
        return sum_halves(function, x, *rest, **kwargs)
    if x.ndim == 2:
        return nan_if_singular(function, x, *rest, **kwargs)
    return function(x, *rest, **kwargs)


def einsum(function: Callable, *operands: Any, **kwargs: Any) -> Any:
    """All operands become one type before anything is multiplied: NumPy multiplies booleans as booleans first."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    if kwargs.get("dtype") is not None:
        if len(arrays) == 1 and (view := function(*operands)).base is not None:
            return view  # whose type stays as it is
        operands = tuple(cast(x, kwargs["dtype"]) if isinstance(x, np.ndarray) else x for x in operands)
    kinds = {x.dtype for x in operands if isinstance(x, np.ndarray)}
    if len(kinds) > 1:
        common = np.result_type(*kinds)
        operands = tuple(x.astype(common, copy=False) if isinstance(x, np.ndarray) else x for x in operands)
    result = function(*operands, **kwargs)
    if not _is_half(result) or result.base is not None:  # a view has no sums
        return result
    wide = [x.astype(np.float32) if isinstance(x, np.ndarray) else x for x in operands]
    return np.asarray(function(*wide, **{**kwargs, "dtype": None}), np.float16)


def lstsq(function: Callable, a: Any, b: Any, rcond: Any = None) -> Any:
    """By a singular value decomposition in the type of `a`, and with its epsilon."""
    if a.ndim != 2 or b.ndim > 2 or b.ndim < 1 or len(a) != len(b):
        return function(a, b, rcond)  # this raises
    rows, columns = a.shape
    u, s, vh = nan_if_singular(np.linalg.svd, a, full_matrices=False)
    if rcond is None:
        rcond = np.finfo(s.dtype).eps * max(rows, columns)
    elif rcond <= 0 or rcond >= 1:
        rcond = np.finfo(s.dtype).eps
    is_large = ~(s <= rcond * s.max(initial=0))
    rank = np.int32(is_large.sum())
    inverse = np.where(is_large, 1 / s, 0).astype(s.dtype)
    x = np.dot(vh.T.conj(), (np.dot(b.T, u.conj()) * inverse).T)
    if rows <= columns or rank != columns:
        return x, np.empty(0, s.dtype), rank, s
    rest = np.asarray(b - np.dot(a, x)).T
    return x, np.atleast_1d((np.abs(rest) ** 2).sum(-1)), rank, s


def min_scalar_type(function: Callable, a: Any) -> Any:
    """An array's type, also if it has one element."""
    if isinstance(a, np.ndarray):
        return a.dtype
    found: list[Any] = []

    def look(x: Any) -> None:
        if isinstance(x, np.ndarray):
            found.append(x.dtype)
        elif isinstance(x, (list, tuple)):
            for part in x:
                look(part)

    look(a)
    if found:
        return np.result_type(*found)
    return function(a)
