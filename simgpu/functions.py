"""CuPy's functions for arrays, under its names and keywords. NumPy computes them, by way of `dispatch.call`.

CuPy has nearly all of NumPy's functions for arrays; `LACKING` of `refusals.py` has the others. The tables here say
what's CuPy's own: what a parameter is called there, and what it does with a list, which most functions refuse. `ufunc`
is for those that work element by element. `creation.py` has what makes arrays, `signatures.py` what has a signature of
its own.
"""

import inspect
import operator
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import creation, fusion, leftovers, polynomials, signatures
from .arrays import SimulatedArray
from .device import current, on_device
from .dispatch import call, call_ufunc, plan_of
from .indexing import Flat, scatter, write
from .launches import ABOUT_ARRAYS
from .memory import LACKING_DTYPES, Stored, check_dtype
from .places import device_among
from .refusals import LACKING_UFUNCS, SCALARS, is_lacking, keyword_refusal, refusal
from .surface import attribute_error, getter
from .words import Unsupported, word_set

# Names that NumPy 2 gave up, and second names.
ALIASES = {
    "alltrue": "all", "sometrue": "any", "product": "prod", "cumproduct": "cumprod", "round_": "round",
    "trapz": "trapezoid", "concat": "concatenate", "permute_dims": "transpose",
}  # fmt: skip
# What a parameter is called in CuPy and in NumPy.
RENAMED = {
    "concatenate stack": "tup=arrays", "corrcoef": "a=x", "cov flip fliplr flipud rot90": "a=m",
    "delete": "indices=obj", "array_str": "arr=a", "ediff1d": "arr=ary", "extract take_along_axis": "a=arr",
    "histogram": "x=a",
    "intersect1d union1d": "arr1=ar1 arr2=ar2", "reshape": "newshape=shape", "unravel_index": "dims=shape",
    "linalg.matrix_power": "M=a", "linalg.matrix_rank": "M=A", "linalg.matrix_transpose": "a=x",
}  # fmt: skip
# -- What they do if no array is on a device. Other functions raise `TypeError`. -----------------------
# CuPy calls a method of its argument: a list has none, and a host array has NumPy's, which computes on the host.
BY_METHOD = word_set("""
    amax amin max mean min prod std sum trace var argpartition argsort clip compress diagonal dot flip fliplr flipud
    partition ravel real_if_close repeat reshape rot90 sort_complex squeeze swapaxes take transpose array_equal
    array_equiv isfortran fill_diagonal linalg.matrix_transpose unravel_index
""")
# These move their arguments there first: the first, the first two, or all; or the arrays in a list.
MOVING = {
    **dict.fromkeys(word_set("angle around round diff gradient imag isneginf isposinf iscomplex isreal nan_to_num real "
                             "resize tile tril triu unwrap vander diag linalg.cond fft.fftshift fft.ifftshift"), 1),
    **dict.fromkeys(word_set("allclose append cross isclose"), 2),
    **dict.fromkeys(word_set("atleast_1d atleast_2d atleast_3d ix_"), 99),
}  # fmt: skip
MOVING_LISTS = word_set("dstack hstack vstack")
OF_NUMBERS = word_set("diagflat kron")  # numbers alone are enough for these
# The host knows the answer, wherever the argument is.
ABOUT = ABOUT_ARRAYS - {"shares_memory"} | word_set("array2string array_repr array_str broadcast_arrays")


def of_arrays(name: str, computes: Callable) -> Callable:
    """CuPy's function of this name, for device arrays."""
    text = next((pairs for given, pairs in RENAMED.items() if name in given.split()), "")
    plan = plan_of(computes)
    renamed = dict(pair.split("=") for pair in text.split())
    # NumPy 2.0 still has reshape's newshape.
    renamed = {cupys: numpys for cupys, numpys in renamed.items() if cupys not in plan.parameters}
    lacking = (plan.refused_keywords | {"like"}) - renamed.keys()

    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if refusing := lacking & kwargs.keys():
                raise keyword_refusal(name, refusing)
            check_dtype(kwargs.get("dtype"))
            kwargs = {renamed.get(key, key): value for key, value in kwargs.items()}
        if args and isinstance(args[0], Stored):
            return call(computes, args, kwargs, args[0].device)
        device = device_among((*args, *kwargs.values()))
        args, kwargs = plan.in_one_form(args, kwargs)
        if args and (name in MOVING or name in MOVING_LISTS and isinstance(args[0], (list, tuple)) and args[0]):
            args, device = _move(name, args), device or current()
        if device is None:
            return _without_arrays(name, computes, args, kwargs)
        return call(computes, args, kwargs, device)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"`cupy.{name}`: NumPy's `{name}`, for arrays on a GPU."
    function.__signature__ = _signature(computes, renamed, lacking)  # type: ignore[attr-defined]
    return function


def _signature(computes: Callable, renamed: dict[str, str], lacking: Iterable[str]) -> inspect.Signature | None:
    """NumPy's parameters under CuPy's names, without those that CuPy lacks: libraries look at them."""
    try:
        found = inspect.signature(computes).parameters.values()
    except ValueError:  # before NumPy 2.4, functions written in C don't tell
        return None
    cupys = {numpys: name for name, numpys in renamed.items()}
    parameters = []
    for parameter in found:
        if parameter.name in lacking and parameter.name not in cupys:
            continue
        kind, default = parameter.kind, parameter.default
        if kind is parameter.POSITIONAL_ONLY:
            kind = parameter.POSITIONAL_OR_KEYWORD
        if default is np._NoValue:
            default = False if parameter.name == "keepdims" else None
        name = cupys.get(parameter.name, parameter.name)
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


def _move(name: str, args: tuple) -> tuple:
    """The arguments, with those on the device that CuPy moves there."""
    count = MOVING.get(name)
    given = args[0] if count is None else args[:count]
    there = [x if isinstance(x, Stored) else creation.asarray(x) for x in given]
    if count is None:
        return (there, *args[1:])
    return (*there, *args[count:])


def _without_arrays(name: str, computes: Callable, args: tuple, kwargs: dict) -> Any:
    """What CuPy does if no argument is on a device."""
    given = (*args, *kwargs.values())
    first = next((x for x in given if isinstance(x, (np.ndarray, list, tuple))), given[0] if given else None)
    if name in OF_NUMBERS and all(isinstance(x, SCALARS) for x in given):
        return creation.asarray(computes(*args, **kwargs))
    if not given or name in ABOUT or name in BY_METHOD and isinstance(first, np.ndarray):
        return computes(*args, **kwargs)
    raise Unsupported(str(refusal(computes, first, current(), alone=True)))


# -- Functions that work element by element: NumPy's, with CuPy's rules for what they take ---------------


def _method(name: str) -> Callable:
    def method(self: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._numpys, name)(on_device(self._numpys, array), *args, **kwargs)

    return method


class ufunc:  # noqa: N801  (CuPy's name)
    """A function that works element by element, on arrays of a GPU and numbers. It takes no lists and no host arrays.

    >>> import simgpu as cp
    >>> cp.add(cp.arange(3), 1)
    array([1, 2, 3])  # Simulated:0
    >>> cp.sin([0.0, 1.0])
    Traceback (most recent call last):
    TypeError: sin: unsupported type list; it takes arrays on Simulated:0. Move it there first: ...
    """

    def __init__(self, numpys: np.ufunc) -> None:
        self._numpys = numpys
        self.name = self.__name__ = numpys.__name__
        self.nin, self.nout, self.nargs = numpys.nin, numpys.nout, numpys.nargs
        self.types = [kinds for kinds in numpys.types if LACKING_DTYPES.isdisjoint(kinds)]
        self.__doc__ = f"`cupy.{self.name}`: NumPy's `{self.name}`, for arrays on a GPU and numbers."

    def __repr__(self) -> str:
        return f"<ufunc 'simgpu.{self.name}'>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) == self.nin:
            return call_ufunc(self._numpys, self._with_an_array(args))
        out = kwargs.pop("out", ()) if len(args) <= self.nin else args[self.nin :]
        if self.nout > 1 and not isinstance(out, tuple) and out is not None:
            raise ValueError(f"{self.name} writes to {self.nout} arrays: out= takes a tuple of them")
        places = out if isinstance(out, tuple) else (out,)
        outs = tuple(x for x in places if x is not None)
        args = self._with_an_array(args[: self.nin], outs)
        if self.nout == 1:
            return self._numpys(*args, **kwargs, **({"out": outs} if outs else {}))
        made = self._numpys(*args, **kwargs)
        return tuple([self._into(x, result) for x, result in zip((*places, *(None,) * self.nout), made)])

    def _into(self, place: Any, result: Any) -> Any:
        """A result, written to where it was asked for."""
        if place is None:
            return result
        write(place.device, place.host_values, ..., result.host_values)
        return place

    def _with_an_array(self, args: tuple, outs: tuple = ()) -> tuple:
        """If all are numbers, one becomes an array. By NumPy's rules, it matters for the result's type which one."""
        if any([isinstance(x, polynomials.poly1d) for x in args]):  # its coefficients stand for it
            args = tuple([x.coeffs if isinstance(x, polynomials.poly1d) else x for x in args])
        if any([isinstance(x, Stored) for x in args + outs]):
            return args
        device = current()
        if wrong := [x for x in args if not isinstance(x, SCALARS)]:
            raise refusal(self._numpys, wrong[0], device, alone=True)
        i = next((i for i, x in enumerate(args) if isinstance(x, np.generic)), 0)
        return tuple(device.new(np.asarray(x)) if at == i else x for at, x in enumerate(args))

    def at(self, a: Any, indices: Any, *b: Any) -> None:
        """``a[indices] = function(a[indices], b)``. A place that's in `indices` several times counts each time."""
        scatter(self._numpys, a, indices, *b)

    # NumPy brings these to `dispatch.array_ufunc`.
    reduce, accumulate, reduceat = map(_method, ("reduce", "accumulate", "reduceat"))
    outer = property(lambda self: self._numpys.outer)


# -- Names that are NumPy's own, and others ------------------------------------------------------------

OF_NUMPY = word_set("""
    e euler_gamma index_exp inf nan newaxis pi s_ bool bool_ byte cdouble complex128 complex64 complexfloating csingle
    double dtype finfo float16 float32 float64 floating generic half iinfo inexact int16 int32 int64 int8 int_ intc
    integer intp long longlong ndindex number short signedinteger single ubyte uint uint16 uint32 uint64 uint8 uintc
    uintp ulong ulonglong unsignedinteger ushort broadcast_shapes get_printoptions isdtype issubdtype iterable
    mintypecode printoptions promote_types set_printoptions typename base_repr binary_repr isscalar
    format_float_positional format_float_scientific exceptions linalg.LinAlgError
    AxisError ComplexWarning ModuleDeprecationWarning RankWarning TooHardError VisibleDeprecationWarning
""")
OTHERS = {
    **dict.fromkeys(("Inf", "Infinity", "PINF", "infty"), np.inf), "NINF": -np.inf, "NAN": np.nan, "NaN": np.nan,
    "PZERO": 0.0, "NZERO": -0.0, "float_": np.float64, "singlecomplex": np.complex64, "cfloat": np.complex128,
    "complex_": np.complex128, "ndarray": SimulatedArray, "flatiter": Flat, "ufunc": ufunc,
    "DataSource": np.lib.npyio.DataSource, "format_parser": np.rec.format_parser,
    "disable_experimental_feature_warning": leftovers.disable_experimental_feature_warning,
}  # fmt: skip
_TYPE = type(np.sum)  # of the functions that NumPy passes on to an array's own type
_ufuncs: dict[np.ufunc, ufunc] = {}


def get(name: str) -> Any:
    """What CuPy calls `name`. Raises `AttributeError` if CuPy has no such name, and `Missing` if we lack it."""
    name = ALIASES.get(name, name)
    if name in OTHERS:
        return OTHERS[name]
    if name == "row_stack":
        return row_stack
    if name == "vectorize":  # it brings what translates a function, which few programs need
        from .jit.vectorized import vectorize

        return vectorize
    for module in (creation, signatures, polynomials, fusion, leftovers):
        found = vars(module).get(name)
        if name[0] != "_" and getattr(found, "__module__", None) == module.__name__:  # it isn't imported there
            return found
    try:
        numpys = operator.attrgetter(name)(np)
    except AttributeError:
        numpys = getattr(np.exceptions, name, None)
    if name in OF_NUMPY:
        return numpys
    if name in creation.RULES:
        return creation.creator(name, numpys)
    if isinstance(numpys, np.ufunc) and name not in LACKING_UFUNCS and numpys is not np.matmul:
        return _ufuncs.setdefault(numpys, ufunc(numpys))
    if numpys in (np.matmul, np.isfortran) or isinstance(numpys, _TYPE) and not is_lacking(numpys):
        return of_arrays(name, numpys)
    parent, _, last = name.rpartition(".")
    raise attribute_error(f"simgpu.{parent}".rstrip("."), last)


def row_stack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """`vstack`, by its old name, which NumPy and CuPy are about to give up."""
    warnings.warn("row_stack is deprecated: use vstack", DeprecationWarning, stacklevel=2)
    return get("vstack")(tup, dtype=dtype, casting=casting)


def within(module: str) -> Callable[[str], Any]:
    """How one of CuPy's modules, such as `linalg`, finds its names: its ``__getattr__``."""

    def find(name: str) -> Any:
        value = get(f"{module.rpartition('.')[2]}.{name}")
        setattr(sys.modules[module], name, value)
        return value

    return getter(module, find)
