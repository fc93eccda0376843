"""Which of CuPy's functions have other values than NumPy's, and the formula that computes them.

What isn't listed here has NumPy's values. The formulas are in `formulas.py`; `arithmetic.py` has what a card makes of
single numbers.
"""

from collections.abc import Callable

import numpy as np

from . import arithmetic, formulas
from .words import word_set

# Ufuncs, of numbers or arrays.
FORMULAS: dict[np.ufunc, Callable] = {
    # _core/_routines_math.pyx:1087, :1099, core.pyx:2704, with _core/include/cupy/carray.cuh:671
    np.floor_divide: arithmetic.floor_divide, np.remainder: arithmetic.remainder, np.divmod: arithmetic.divmod,
    np.fmod: formulas.fmod, np.reciprocal: formulas.reciprocal,  # _math/arithmetic.py:127, :12
    np.logical_not: formulas.logical_not, np.logical_xor: formulas.logical_xor,  # _logic/ops.py:24, :36
    np.sign: formulas.sign,  # _math/misc.py:243
    np.left_shift: formulas.left_shift, np.right_shift: formulas.right_shift,  # _core/_routines_binary.pyx:10
    # _math/floating.py:29, _core/include/cupy/float16.cuh:158
    np.ldexp: formulas.ldexp, np.nextafter: formulas.nextafter,
    # Of complex numbers: _core/include/cupy/complex.cuh:42
    np.expm1: formulas.expm1, np.log1p: formulas.log1p, np.log2: formulas.log2,
}  # fmt: skip

# By NumPy's name: what is called in place of NumPy's function. Each comment says where CuPy decides it.
DIFFERENT: dict[str, Callable] = {
    **{ufunc.__name__: formulas.by_formula(formula) for ufunc, formula in FORMULAS.items()},
    "power": formulas.power,  # _core/_routines_math.pyx:1000
    **dict.fromkeys(  # _core/_routines_logic.pyx:95
        word_set("less less_equal greater greater_equal equal not_equal"), formulas.compare
    ),
    # A float that becomes an integer: a kernel's ``out0 = in0``, _core/_ufuncs.py:9
    "full": formulas.full, "full_like": formulas.full_like,  # _creation/basic.py:343, :390
    "copyto": formulas.copyto, "astype": formulas.astype,  # _manipulation/basic.py:100, :122
    # _core/_routines_indexing.pyx:632, _indexing/insert.py:33
    "put": formulas.put, "place": formulas.place_where,
    "put_along_axis": formulas.put_along_axis, "fill_diagonal": formulas.fill_diagonal,
    # _core/_routines_manipulation.pyx:662
    **dict.fromkeys(word_set("concatenate stack hstack vstack column_stack"), formulas.join),
    "delete": formulas.delete, "pad": formulas.pad,  # _manipulation/add_remove.py:51, _padding/pad.py:240, :330
    # Ranges: _creation/ranges.py:62, :108, :250; windows: _math/window.py
    "arange": formulas.arange, "linspace": formulas.linspace, "logspace": formulas.logspace,
    **dict.fromkeys(word_set("bartlett blackman hamming hanning kaiser"), formulas.window),
    # Element by element
    "angle": formulas.angle, "sinc": formulas.sinc,  # _core/_routines_math.pyx:895, _math/special.py:17
    "i0": formulas.i0, "clip": formulas.clip,  # _math/special.py:8, _core/_routines_math.pyx:1151
    **dict.fromkeys(word_set("round around"), formulas.round),  # _core/core.pyx:2753, :2812
    "unwrap": formulas.unwrap,  # _math/trigonometric.py:138
    "where": formulas.where,  # _sorting/search.py:165
    # _math/sumprod.py:457, :611, _manipulation/add_remove.py:166, :205
    "gradient": formulas.gradient, "ediff1d": formulas.ediff1d,
    "trim_zeros": formulas.trim_zeros, "unique": formulas.unique,
    # Sorting and searching: _core/_routines_sorting.pyx:71, :176, :273, _core/_routines_statistics.pyx:327
    "argsort": formulas.argsort, "partition": formulas.partition, "argpartition": formulas.argpartition,
    **dict.fromkeys(word_set("argmax argmin"), formulas.arg_extreme),
    **dict.fromkeys(word_set("nanargmax nanargmin"), formulas.nan_arg_extreme),
    "searchsorted": formulas.searchsorted, "digitize": formulas.digitize,  # _sorting/search.py:219
    "intersect1d": formulas.intersect1d,  # _logic/truth.py:181
    # _sorting/sort.py:78, _indexing/indexing.py:203, _functional/piecewise.py:48
    "lexsort": formulas.lexsort, "select": formulas.select, "piecewise": formulas.piecewise,
    # Sums: _core/_routines_math.pyx:789, _core/_routines_statistics.pyx:667, :712
    **dict.fromkeys(word_set("sum prod nansum nanprod"), formulas.sums),
    **dict.fromkeys(word_set("cumsum cumprod nancumsum nancumprod"), formulas.cumulate),  # _core/_routines_math.pyx:688
    **dict.fromkeys(word_set("cumulative_sum cumulative_prod"), formulas.cast_and_sum),
    **dict.fromkeys(word_set("trace trapezoid"), formulas.sum_halves),
    "average": formulas.average, "median": formulas.median,  # _core/_routines_statistics.pyx:400
    "mean": formulas.mean,  # _core/_routines_statistics.pyx:136
    # _core/_routines_statistics.pyx:584: the mean by :644, in float32
    **dict.fromkeys(word_set("var std"), formulas.var),
    **dict.fromkeys(word_set("nanmean nanvar nanstd"), formulas.nan_statistics),  # _core/_routines_statistics.pyx:727
    "nanmedian": formulas.nanmedian,  # _core/_routines_statistics.pyx:459
    **dict.fromkeys(word_set("quantile percentile"), formulas.quantile),  # _statistics/order.py:186
    **dict.fromkeys(word_set("packbits unpackbits"), formulas.bits),  # _binary/packing.py:54
    # _logic/comparison.py:141, _logic/truth.py:226, _core/_routines_linalg.pyx:132
    **dict.fromkeys(word_set("array_equal setdiff1d setxor1d union1d dot vdot inner outer"), formulas.of_two_arrays),
    "array_equiv": formulas.array_equiv,  # _logic/comparison.py:135
    "sort": formulas.sort, "repeat": formulas.repeat,  # _sorting/sort.py:11, _core/_routines_manipulation.pyx:509
    "choose": formulas.choose, "isin": formulas.isin,  # _core/_routines_indexing.pyx:167, _logic/truth.py:191
    "bincount": formulas.bincount,  # _statistics/histogram.py:517
    "cov": formulas.cov, "histogram": formulas.histogram,  # _statistics/correlation.py:207, _statistics/histogram.py:41
    **dict.fromkeys(word_set("convolve correlate"), formulas.convolve),  # _math/misc.py:33
    "interp": formulas.interp,  # _math/misc.py:605
    # Linear algebra
    "einsum": formulas.einsum,  # linalg/_einsum.py:623
    "linalg.lstsq": formulas.lstsq,  # linalg/_solve.py:186
    "linalg.norm": formulas.norm,  # linalg/_norms.py:18
    **dict.fromkeys(word_set("linalg.eigh linalg.eigvalsh"), formulas.eigenvalues),  # linalg/_eigenvalue.py:29
    # linalg/_util.py:110, with 'ignore' in cupyx/_ufunc_config.py:50
    **dict.fromkeys(word_set("linalg.inv linalg.solve linalg.matrix_power"), formulas.solve),
    "linalg.cholesky": formulas.cholesky,
    **dict.fromkeys(word_set("linalg.svd linalg.pinv linalg.matrix_rank"), formulas.nan_if_singular),
    "linalg.cond": formulas.cond,  # linalg/_norms.py:230
    "min_scalar_type": formulas.min_scalar_type,  # _core/core.pyx:3363
}  # fmt: skip
