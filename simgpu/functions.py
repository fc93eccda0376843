"""CuPy's functions for arrays, under its names and keywords. NumPy computes them, on the path of `dispatch.call`.

The tables say what's CuPy's own: the functions that it has, what a parameter is called there, and what it does with a
list, which most functions refuse. `creation.py` has what makes arrays, `differing.py` what has another signature.
"""

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import creation, differing, polynomials
from .device import current
from .dispatch import call, plan_of
from .memory import Stored, check_dtype
from .rules import names, refusal, refused
from .ufuncs import ufunc
from .words import Missing

UFUNCS = names("""
    abs absolute acos acosh add arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh
    bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
    cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide divmod equal exp exp2 expm1 fabs float_power
    floor floor_divide fmax fmin fmod frexp gcd greater greater_equal heaviside hypot invert isfinite isinf isnan lcm
    ldexp left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or
    logical_xor maximum minimum mod modf multiply negative nextafter not_equal positive pow power rad2deg radians
    reciprocal remainder right_shift rint sign signbit sin sinh sqrt square subtract tan tanh true_divide trunc
""")
FUNCTIONS = names("""
    all allclose amax amin angle any append apply_along_axis apply_over_axes argpartition argsort argwhere around
    array_equal array_equiv array_split array2string array_repr array_str astype atleast_1d atleast_2d atleast_3d
    average broadcast_arrays broadcast_to choose clip column_stack compress concatenate convolve copy correlate
    count_nonzero cov cross cumprod cumsum cumulative_prod cumulative_sum delete diag diag_indices_from diagflat
    diagonal diff digitize dot dsplit dstack ediff1d expand_dims extract fill_diagonal fix flatnonzero flip
    fliplr flipud gradient histogram hsplit hstack i0 imag inner interp intersect1d isclose iscomplex iscomplexobj
    isfortran isin isneginf isposinf isreal isrealobj ix_ kron lexsort matmul matrix_transpose max mean median
    min moveaxis nan_to_num nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar ndim
    nonzero outer packbits pad partition place polyfit prod ptp put_along_axis
    putmask ravel real real_if_close repeat reshape resize roll rollaxis rot90 round
    save savetxt savez savez_compressed searchsorted setdiff1d setxor1d shape shares_memory may_share_memory sinc
    sort sort_complex split squeeze stack std sum swapaxes take take_along_axis tensordot tile trace transpose
    trapezoid tril tril_indices_from trim_zeros triu triu_indices_from union1d unique unique_all unique_counts
    unique_inverse unique_values unpackbits unravel_index unwrap vander var vdot vsplit vstack where
    linalg.cholesky linalg.cond linalg.cross linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv
    linalg.lstsq linalg.matmul linalg.matrix_power linalg.matrix_rank linalg.matrix_transpose linalg.norm linalg.pinv
    linalg.qr linalg.slogdet linalg.solve linalg.svd linalg.tensorinv linalg.tensorsolve
    fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.ihfft fft.irfft
    fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
""")
OWN = {
    creation: names("""
        array asanyarray asarray asarray_chkfinite ascontiguousarray asfarray asfortranarray asnumpy c_ copyto
        empty_like full full_like mask_indices mgrid ogrid ones_like r_ require zeros_like
    """),
    differing: names("""
        argmax argmin bincount broadcast byte_bounds can_cast common_type corrcoef einsum flatiter get_array_module
        histogram2d histogramdd in1d is_available issctype issubclass_ issubsctype load meshgrid min_scalar_type msort
        nanargmax nanargmin ndarray obj2sctype percentile piecewise put quantile ravel_multi_index result_type
        row_stack sctype2char select size ufunc vectorize who
    """),
    polynomials: names("poly poly1d polyadd polymul polysub polyval roots"),
}  # fmt: skip
# Names that NumPy 2 gave up, and others of the same function.
ALIASES = {
    "alltrue": "all", "sometrue": "any", "product": "prod", "cumproduct": "cumprod", "round_": "round",
    "trapz": "trapezoid", "concat": "concatenate", "permute_dims": "transpose",
}  # fmt: skip
# What a parameter is called in CuPy and in NumPy.
RENAMED = {
    "concatenate stack": "tup=arrays", "cov flip fliplr flipud rot90": "a=m", "delete": "indices=obj",
    "array_str": "arr=a", "ediff1d": "arr=ary", "extract take_along_axis": "a=arr", "histogram": "x=a",
    "intersect1d union1d": "arr1=ar1 arr2=ar2", "reshape": "newshape=shape", "unravel_index": "dims=shape",
    "linalg.matrix_power": "M=a", "linalg.matrix_rank": "M=A", "linalg.matrix_transpose": "a=x",
}  # fmt: skip
# -- What they do where no array is on a device. Other functions raise `TypeError`. --
# CuPy calls a method of what it's given: lists have none, and a host array has NumPy's, which computes on the host.
BY_METHOD = names("""
    amax amin max mean min prod std sum trace var argpartition argsort clip compress diagonal dot flip fliplr flipud
    partition ravel real_if_close repeat reshape rot90 sort_complex squeeze swapaxes take transpose array_equal
    array_equiv isfortran fill_diagonal put copyto linalg.matrix_transpose
""")
WITHOUT_LISTS = BY_METHOD | names("""
    apply_along_axis bincount choose convolve correlate cov diagflat digitize dsplit histogram hsplit inner interp
    intersect1d isin kron lexsort matrix_transpose meshgrid nancumprod nancumsum nanmean nanmedian nanstd nanvar outer
    packbits pad piecewise poly ptp put_along_axis ravel_multi_index roll roots setdiff1d setxor1d shares_memory split
    take_along_axis tensordot tril_indices_from trim_zeros triu_indices_from union1d unique unique_all unique_counts
    unique_inverse unique_values unpackbits vdot vsplit where linalg.cross linalg.det linalg.eig linalg.eigvals
    linalg.matrix_rank linalg.norm linalg.slogdet linalg.tensorsolve fft.hfft
""")
# These move so many of their arguments there first, or all arrays in a list.
MOVING = {
    **dict.fromkeys(names("angle around round average diff gradient imag isneginf isposinf iscomplex isreal nan_to_num "
                          "real resize tile tril triu unwrap vander diag linalg.cond"), 1),
    **dict.fromkeys(names("allclose append cross isclose"), 2),
    **dict.fromkeys(names("atleast_1d atleast_2d atleast_3d ix_"), 99),
}  # fmt: skip
OF_NUMBERS = {"diagflat": 1, "kron": 2}  # so many arguments, if they're numbers
MOVING_LISTS = names("concatenate dstack hstack vstack")
# The host knows the answer, whatever is asked about.
ABOUT = names("""
    array2string array_repr array_str iscomplexobj isrealobj ndim shape size broadcast_arrays may_share_memory
""")


def _found(table: dict[str, str], name: str) -> dict[str, str]:
    text = next((pairs for given, pairs in table.items() if name in given.split()), "")
    return dict(pair.split("=") for pair in text.split())


def numpys(name: str) -> Any:
    """NumPy's function of this name, such as ``"linalg.norm"``."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"numpy.{module}") if module else np, last)


def _device_among(values: Iterable) -> Any:
    for x in values:
        if isinstance(x, Stored):
            return x.device
        if isinstance(x, (list, tuple)) and (device := _device_among(x)) is not None:
            return device
    return None


def of_arrays(name: str) -> Callable:
    """CuPy's function of this name, for device arrays."""
    computes = numpys(name)
    renamed, lacking = _found(RENAMED, name), plan_of(computes).refused_keywords | {"like"}

    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if refusing := (lacking & kwargs.keys()) - renamed.keys():
                raise refused(name, refusing)
            check_dtype(kwargs.get("dtype"))
            kwargs = {renamed.get(key, key): value for key, value in kwargs.items()}
        if args and isinstance(args[0], Stored):
            return call(computes, args, kwargs, args[0].device)
        device = _device_among((*args, *kwargs.values()))
        if device is None:
            return _without_arrays(name, computes, args, kwargs)
        if name in MOVING or name in MOVING_LISTS:
            args, kwargs = plan_of(computes).in_one_form(args, kwargs)
            args = _moved(name, args)
        return call(computes, args, kwargs, device)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"`cupy.{name}`: NumPy's `{name}`, for arrays on a GPU."
    return function


def _moved(name: str, args: tuple) -> tuple:
    """The arguments, with what CuPy moves to the device on it."""

    def there(x: Any) -> Any:
        return x if isinstance(x, Stored) else creation.asarray(x)

    if name in MOVING_LISTS:
        return (list(map(there, args[0])), *args[1:])
    count = MOVING[name]
    return (*map(there, args[:count]), *args[count:])


def _without_arrays(name: str, computes: Callable, args: tuple, kwargs: dict) -> Any:
    """What CuPy does if no argument is on a device."""
    args, kwargs = plan_of(computes).in_one_form(args, kwargs)
    given = (*args, *kwargs.values())
    if not given or name in ABOUT:
        return computes(*args, **kwargs)
    if args and name in MOVING or name in MOVING_LISTS and isinstance(args[0], (list, tuple)) and args[0]:
        args = _moved(name, args)
        return call(computes, args, kwargs, current())
    if (count := OF_NUMBERS.get(name, 0)) and all(map(np.isscalar, args[:count])):
        return call(computes, (*map(creation.asarray, args[:count]), *args[count:]), kwargs, current())
    first = next((x for x in given if isinstance(x, (np.ndarray, list, tuple))), given[0])
    if name in BY_METHOD and isinstance(first, np.ndarray):
        return computes(*args, **kwargs)
    error = refusal(computes, first, current())
    if name in WITHOUT_LISTS and not isinstance(first, np.ndarray):
        raise AttributeError(str(error))
    raise error


# -- Names that are NumPy's own, and what else there is ----------------------------------------------

OF_NUMPY = names("""
    e euler_gamma index_exp inf nan newaxis pi s_ bool bool_ byte cdouble complex128 complex64 complexfloating csingle
    double dtype finfo float16 float32 float64 floating generic half iinfo inexact int16 int32 int64 int8 int_ intc
    integer intp long longlong ndindex number short signedinteger single ubyte uint uint16 uint32 uint64 uint8 uintc
    uintp ulong ulonglong unsignedinteger ushort broadcast_shapes get_printoptions isdtype issubdtype iterable
    mintypecode printoptions promote_types set_printoptions typename base_repr binary_repr isscalar
    format_float_positional format_float_scientific exceptions
""")
OTHERS = {
    **dict.fromkeys(("Inf", "Infinity", "PINF", "infty"), np.inf), "NINF": -np.inf, "NAN": np.nan, "NaN": np.nan,
    "PZERO": 0.0, "NZERO": -0.0, "float_": np.float64, "singlecomplex": np.complex64, "cfloat": np.complex128,
    "complex_": np.complex128,
}  # fmt: skip
EXCEPTIONS = names("""
    AxisError ComplexWarning ModuleDeprecationWarning RankWarning TooHardError VisibleDeprecationWarning
""")
# CuPy raises, too, since NumPy 2 has none of these.
GONE = {
    "find_common_type": "promote_types or result_type", "set_string_function": "set_printoptions",
    "get_array_wrap": "nothing", "disp": "print", "safe_eval": "ast.literal_eval",
}  # fmt: skip
# CuPy has them and we don't.
MISSING = names("""
    DataSource annotations clear_memo disable_experimental_feature_warning format_parser fromDlpack from_dlpack fuse
    make_aligned_dtype memoize polynomial show_config typing
""")


def _gone(name: str) -> Callable:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"NumPy 2 has no {name}. Use {GONE[name]} instead.")

    return function


def get(name: str) -> Any:
    """What CuPy calls `name`. Raises `AttributeError` if CuPy has no such name, `NotImplementedError` if we don't."""
    name = ALIASES.get(name, name)
    for module, own in OWN.items():
        if name in own:
            return getattr(module, name)
    if name in UFUNCS:
        return _ufuncs.setdefault(numpys(name), ufunc(numpys(name)))
    if name in FUNCTIONS:
        return of_arrays(name)
    if name in creation.RULES:
        return creation.by_rule(name, numpys(name))
    if name in OF_NUMPY:
        return getattr(np, name)
    if name in EXCEPTIONS:
        return getattr(np.exceptions, name)
    if name in OTHERS:
        return OTHERS[name]
    if name in GONE:
        return _gone(name)
    if name in MISSING:
        raise Missing(f"simgpu has no {name}, which CuPy has")
    raise AttributeError(f"module 'simgpu' has no attribute {name!r}, and nor has CuPy")


_ufuncs: dict[np.ufunc, ufunc] = {}
