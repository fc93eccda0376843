"""Where CuPy 14 differs from NumPy, and so does a simulated GPU: what it lacks or refuses, and what it computes.

What's lacking comes from comparing the two libraries' signatures; ``test_surface.py`` compares again. Each refusal says
what it got, where that is, and what to write instead. What isn't in `DIFFERENT` has NumPy's values.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import formulas, values
from .lines import warn_at_call
from .memory import Stored
from .words import WRITE


def names(text: str) -> frozenset[str]:
    """The words of a text as a set. So a table reads like a list."""
    return frozenset(text.split())


LACKING = names("""
    block busday_count busday_offset datetime_as_string einsum_path geomspace histogram_bin_edges insert is_busday
    nanpercentile nanquantile polyder polydiv polyint unstack
    linalg.diagonal linalg.matrix_norm linalg.multi_dot linalg.outer linalg.svdvals linalg.tensordot linalg.trace
    linalg.vecdot linalg.vector_norm
""")
LACKING_MODULES = ("lib.recfunctions", "lib.scimath")
LACKING_UFUNCS = names("isnat matvec spacing vecdot vecmat")
UFUNC_KEYWORDS = names("out dtype casting")

# Functions: the keywords that they take in NumPy but not in CuPy.
_REFUSED = {
    "arange asanyarray asarray astype empty empty_like eye full full_like linspace ones ones_like zeros zeros_like":
        "device",
    "fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn "
    "fft.rfft fft.rfft2 fft.rfftn": "out",
    "amax amin max min nanmax nanmin nanprod nansum prod sum": "initial where",
    "nanstd nanvar std var": "correction mean where", "all any mean nanmean": "where",
    "percentile quantile": "weights", "count_nonzero": "keepdims", "corrcoef": "x",
    "sort argsort": "order stable", "partition argpartition": "kind order", "lexsort trim_zeros": "axis",
    "cov flip fliplr flipud rot90": "m", "intersect1d union1d": "ar1 ar2", "ediff1d": "ary", "unique": "sorted",
    "isin": "kind", "clip": "max min", "take": "mode", "extract take_along_axis": "arr", "delete": "obj",
    "array_str histogram linalg.matrix_power": "a", "array": "ndmax object", "stack": "arrays",
    "broadcast_arrays broadcast_to copy": "subok", "reshape unravel_index": "shape", "unpackbits": "count",
    "linalg.matrix_rank": "A hermitian rtol", "linalg.pinv": "hermitian rtol", "linalg.svd": "hermitian",
    "linalg.cholesky": "upper", "einsum": "casting order out",
}  # fmt: skip


@functools.cache
def name_of(function: Any) -> str:
    """``"sum"`` for `np.sum`, ``"linalg.norm"`` for `np.linalg.norm`."""
    module = function.__module__.replace("_scimath_impl", "scimath")  # NumPy 2.0's name for it
    return f"{module}.{function.__name__}".removeprefix("numpy.")


def is_lacking(function: Any) -> bool:
    return name_of(function) in LACKING or name_of(function).startswith(LACKING_MODULES)


def refused_keywords(function: Any) -> frozenset[str]:
    """The keywords of this NumPy function that CuPy's version doesn't take."""
    return names(next((keywords for given, keywords in _REFUSED.items() if name_of(function) in given.split()), ""))


def no_such_function(name: str) -> TypeError:
    return TypeError(
        f"np.{name} does not exist for arrays on a GPU (CuPy has none). Build it from other functions, or use "
        f"{WRITE['to the host']}(x)."
    )


def keyword_refusal(name: str, keywords: Any) -> TypeError:
    if "device" in keywords and name in ("eye", "full", "ones"):  # which NumPy asks for with like=
        return TypeError(
            f"np.{name}(…, like=x) makes no array on a GPU: NumPy adds device=, which CuPy's {name} doesn't take. "
            "These do: np.identity(n, like=x), np.ones_like(x, shape=…), np.full_like(x, value, shape=…)"
        )
    return TypeError(f"np.{name} takes no keyword {min(keywords)!r} for arrays on a GPU (CuPy's has none)")


# -- What a device array computes with: itself, other arrays on its device, and numbers ------------

SCALARS = (np.generic, int, float, complex)


COMPARISONS = frozenset((np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal))


def refusal(function: Any, x: Any, device: Any, alone: bool = False) -> TypeError:
    """The error that says why `function` can't take `x` together with an array on `device`, or `alone`."""
    if alone:
        what, how = f"type {type(x).__name__}", "np.array(values)"
        if isinstance(x, np.ndarray):
            what, how = f"host array of {x.dtype}, shape {x.shape}", "x"
        return TypeError(
            f"{function.__name__}: unsupported {what}; it takes arrays on {device}. Move it there first: "
            f"x = {device.move_code()}({how})."
        )
    if isinstance(x, np.ndarray):
        return TypeError(
            f"{function.__name__}: one array is on {device} and another, of shape {x.shape} and dtype {x.dtype}, is on "
            "CPU; a GPU computes only with what is in its own memory. Move it there first: x = "
            f"{device.move_code()}(x).{_make_it_there(x)}"
        )
    return TypeError(
        f"{function.__name__}: unsupported type {type(x).__name__} beside an array on {device}; it takes arrays of "
        f"that device and numbers. Make a list an array there first: {device.move_code()}(np.array(values))."
    )


def _make_it_there(x: np.ndarray) -> str:
    """How to make the array there in the first place, if it looks like a first state or a mask."""
    if x.dtype.kind not in "biufc" or x.size == 0:
        return ""
    if not x.any():
        call = "np.zeros_like(a, shape=…)"
    elif x.size > 1 and x.ndim == 2 and np.array_equal(x, np.diag(np.diag(x))):
        call = "np.identity(n, like=a)"
    else:
        call = "np.arange(n, like=a)" if x.size > 1 and np.array_equal(x.ravel(), np.arange(x.size)) else ""
    return call and f" Or make it where the array a is: {call}."


def order_of(order: Any) -> str:
    """``"C"``, ``"F"``, ``"A"`` or ``"K"``. CuPy looks at the first letter: ``"FORTRAN"`` will do, and "" is C."""
    letter = order[:1].upper() or "C"
    if letter not in "CFAK":
        raise ValueError(f"order not understood: it's 'C', 'F', 'A' or 'K', got {order!r}")
    return letter


def one_number(value: Any, device: Any) -> Any:
    """`value`, which isn't a device array, as one number to be written to part of an array on `device`."""
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, (np.ndarray, list, tuple)):
        value = np.asarray(value)
        if value.shape != ():
            raise ValueError(
                f"a host array of shape {value.shape} cannot be written to a part of a device array; "
                f"move it first: x[2:4] = {device.move_code()}(values)"
            )
        return value.item()
    return float(value)  # an array that's tracked for a gradient refuses this, and says why


def device_among(values: Iterable) -> Any:
    """The device of the first device array here, or in a list here. None if there's none."""
    for x in values:
        if isinstance(x, Stored):
            return x.device
        if isinstance(x, (list, tuple)) and (device := device_among(x)) is not None:
            return device
    return None


class PerformanceWarning(RuntimeWarning):
    """One card reads the memory of another, which is slow (CuPy: ``PerformanceWarning``)."""


def current_card(device: Any) -> Any:
    """Where CuPy makes new arrays, whichever card the old ones are on: the current one."""
    return device.current_card() if device.cards else device


def computing_card(device: Any) -> Any:
    """The card that computes with an array of `device`: the current one. Raises `ValueError` if that can't reach it.

    CuPy looks at each array before it launches a kernel: `_check_peer_access` in _core/_kernel.pyx:128, called for
    elementwise kernels (:880), ufuncs (:1307), reductions (_reduction.pyx:607, :824) and joined arrays
    (_routines_manipulation.pyx:662). It doesn't look before it calls cuBLAS, CUB, cuFFT or cuSOLVER, or sorts. Then the
    card meets an address that it can't reach, and CUDA's error leaves the program without a GPU. So we raise as well.
    """
    here = current_card(device)
    if here is device:
        return device
    where = f"the array is on {device}, and the current device is {_full_name(here, device)}"
    habit = f"Make the array's device the current one for this line: {device.switch_code()}"
    if device.settings[0].peers:
        warn_at_call(f"{where}, which now reads it from there: slowly. {habit}", PerformanceWarning)
        return here
    raise ValueError(f"{where}. A GPU computes only with what is in its own memory. {habit}")


# What only makes or moves an array may find it on any card. What writes to one is refused before it begins.
MAKING = names("zeros_like ones_like full_like empty_like reshape ravel")
WRITING = names("copyto put putmask place put_along_axis fill_diagonal")


def one_device(device: Any, x: Stored) -> Any:
    """`device`, or `x`'s device if we had none yet. Raises `ValueError` if they differ and have no peer access."""
    if device is None or x.device is device or x.device == device:  # equal: the same card, simulated once more
        return device or x.device
    if x.device in device.cards and device.settings[0].peers:
        computing_card(x.device)
        return device
    raise ValueError(
        f"arrays of two devices: one is on {_full_name(device, x.device)}, another, of shape {x.host_values.shape}, on "
        f"{_full_name(x.device, device)}. A GPU computes only with what is in its own memory; move one of them: "
        f"{device.move_code(exact=True)}(x)."
    )


def values_on(device: Any, x: Stored) -> np.ndarray:
    """The values of `x`, which must be on this `device`. Raises `ValueError` if it's on another."""
    one_device(device, x)
    return x.host_values


def _full_name(device: Any, other: Any) -> str:
    """The device's name, and the card's, too, if the numbers of the two devices are the same."""
    return f"{device} ({device.name})" if str(device) == str(other) else str(device)


# -- Values that aren't NumPy's: `formulas.py` computes them --------------------------------------------------------

LOOKED_AT = names("linalg.inv linalg.solve linalg.cholesky linalg.matrix_power")

# Ufuncs, of numbers or arrays.
FORMULAS: dict[np.ufunc, Callable] = {
    # _core/_routines_math.pyx:1087, :1099, core.pyx:2704, with _core/include/cupy/carray.cuh:671
    np.floor_divide: values.floor_divide, np.remainder: values.remainder, np.divmod: values.divmod,
    np.fmod: formulas.fmod, np.reciprocal: formulas.reciprocal,  # _math/arithmetic.py:127, :12
    np.logical_not: formulas.logical_not, np.logical_xor: formulas.logical_xor,  # _logic/ops.py:24, :36
    np.sign: formulas.sign,  # _math/misc.py:243
    np.left_shift: formulas.left_shift, np.right_shift: formulas.right_shift,  # _core/_routines_binary.pyx:10
    # _math/floating.py:29, _core/include/cupy/float16.cuh:158
    np.ldexp: formulas.ldexp, np.nextafter: formulas.nextafter,
    # Of complex numbers: _core/include/cupy/complex.cuh:42
    np.expm1: formulas.expm1, np.log1p: formulas.log1p, np.log2: formulas.log2,
}  # fmt: skip

# By NumPy's name. Each comment says where CuPy decides it.
DIFFERENT: dict[str, Callable] = {
    **{ufunc.__name__: formulas.by_formula(formula) for ufunc, formula in FORMULAS.items()},
    "power": formulas.power,  # _core/_routines_math.pyx:1000
    **dict.fromkeys(  # _core/_routines_logic.pyx:95
        names("less less_equal greater greater_equal equal not_equal"), formulas.compare
    ),
    # A float that becomes an integer: a kernel's ``out0 = in0``, _core/_ufuncs.py:9
    "full": formulas.full, "full_like": formulas.full_like,  # _creation/basic.py:343, :390
    "copyto": formulas.copyto, "astype": formulas.astype,  # _manipulation/basic.py:100, :122
    # _core/_routines_indexing.pyx:632, _indexing/insert.py:33
    "put": formulas.put, "place": formulas.place_where,
    "put_along_axis": formulas.put_along_axis, "fill_diagonal": formulas.fill_diagonal,
    # _core/_routines_manipulation.pyx:662
    **dict.fromkeys(names("concatenate stack hstack vstack column_stack"), formulas.join),
    "delete": formulas.delete, "pad": formulas.pad,  # _manipulation/add_remove.py:51, _padding/pad.py:240, :330
    # Ranges: _creation/ranges.py:62, :108, :250; windows: _math/window.py
    "arange": formulas.arange, "linspace": formulas.linspace, "logspace": formulas.logspace,
    **dict.fromkeys(names("bartlett blackman hamming hanning kaiser"), formulas.window),
    # Element by element
    "angle": formulas.angle, "sinc": formulas.sinc,  # _core/_routines_math.pyx:895, _math/special.py:17
    "i0": formulas.i0, "clip": formulas.clip,  # _math/special.py:8, _core/_routines_math.pyx:1151
    **dict.fromkeys(names("round around"), formulas.round),  # _core/core.pyx:2753, :2812
    "unwrap": formulas.unwrap,  # _math/trigonometric.py:138
    "where": formulas.where,  # _sorting/search.py:165
    # _math/sumprod.py:457, :611, _manipulation/add_remove.py:166, :205
    "gradient": formulas.gradient, "ediff1d": formulas.ediff1d,
    "trim_zeros": formulas.trim_zeros, "unique": formulas.unique,
    # Sorting and searching: _core/_routines_sorting.pyx:71, :176, :273, _core/_routines_statistics.pyx:327
    "argsort": formulas.argsort, "partition": formulas.partition, "argpartition": formulas.argpartition,
    **dict.fromkeys(names("argmax argmin"), formulas.place_of),
    **dict.fromkeys(names("nanargmax nanargmin"), formulas.nan_place),
    "searchsorted": formulas.searchsorted, "digitize": formulas.digitize,  # _sorting/search.py:219
    "intersect1d": formulas.intersect1d,  # _logic/truth.py:181
    # _sorting/sort.py:78, _indexing/indexing.py:203, _functional/piecewise.py:48
    "lexsort": formulas.lexsort, "select": formulas.select, "piecewise": formulas.piecewise,
    # Sums: _core/_routines_math.pyx:789, _core/_routines_statistics.pyx:667, :712
    **dict.fromkeys(names("sum prod nansum nanprod"), formulas.sums),
    **dict.fromkeys(names("cumsum cumprod nancumsum nancumprod"), formulas.running),  # _core/_routines_math.pyx:688
    **dict.fromkeys(names("cumulative_sum cumulative_prod"), formulas.cast_and_summed),
    **dict.fromkeys(names("trace trapezoid"), formulas.sum_halves),
    "average": formulas.average, "median": formulas.median,  # _core/_routines_statistics.pyx:400
    "mean": formulas.mean,  # _core/_routines_statistics.pyx:136
    **dict.fromkeys(names("var std"), formulas.var),  # _core/_routines_statistics.pyx:584: the mean by :644, in float32
    **dict.fromkeys(names("nanmean nanvar nanstd"), formulas.of_some),  # _core/_routines_statistics.pyx:727
    "nanmedian": formulas.nanmedian,  # _core/_routines_statistics.pyx:459
    **dict.fromkeys(names("quantile percentile"), formulas.quantile),  # _statistics/order.py:186
    **dict.fromkeys(names("packbits unpackbits"), formulas.bits),  # _binary/packing.py:54
    # _logic/comparison.py:141, _logic/truth.py:226, _core/_routines_linalg.pyx:132
    **dict.fromkeys(
        names("array_equal array_equiv setdiff1d setxor1d union1d dot vdot inner outer"), formulas.of_two_arrays
    ),
    "sort": formulas.sort, "repeat": formulas.repeat,  # _sorting/sort.py:11, _core/_routines_manipulation.pyx:509
    "choose": formulas.choose, "isin": formulas.isin,  # _core/_routines_indexing.pyx:167, _logic/truth.py:191
    "bincount": formulas.bincount,  # _statistics/histogram.py:517
    "cov": formulas.cov, "histogram": formulas.histogram,  # _statistics/correlation.py:207, _statistics/histogram.py:41
    **dict.fromkeys(names("convolve correlate"), formulas.convolve),  # _math/misc.py:33
    "interp": formulas.interp,  # _math/misc.py:605
    # Linear algebra
    "einsum": formulas.einsum,  # linalg/_einsum.py:623
    "linalg.lstsq": formulas.lstsq,  # linalg/_solve.py:186
    "linalg.norm": formulas.norm,  # linalg/_norms.py:18
    **dict.fromkeys(names("linalg.eigh linalg.eigvalsh"), formulas.eigen),  # linalg/_eigenvalue.py:29
    # linalg/_util.py:110, with 'ignore' in cupyx/_ufunc_config.py:50
    **dict.fromkeys(names("linalg.inv linalg.solve linalg.matrix_power"), formulas.solve),
    "linalg.cholesky": formulas.cholesky,
    **dict.fromkeys(names("linalg.svd linalg.pinv linalg.matrix_rank"), formulas.or_nan),
    "linalg.cond": formulas.cond,  # linalg/_norms.py:230
    "min_scalar_type": formulas.min_scalar_type,  # _core/core.pyx:3363
}  # fmt: skip
