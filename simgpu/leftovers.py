"""What's left of CuPy's names: kinds of numbers, checks on the way to the device, and what NumPy 2 gave up."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import records
from .creation import array, asarray, full
from .device import current
from .memory import Stored
from .presets import CUDAS_VERSION, CUPYS_VERSION

disable_experimental_feature_warning = False

# -- On the way to the device ----------------------------------------------------------------------------------------

_REQUIREMENTS = {
    "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F",
    "O": "O", "OWNDATA": "O",
}  # fmt: skip


def require(a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    """`a` on the device, of this type, with its own memory (``"O"``), row by row (``"C"``), or column by column.

    `ValueError` for other requirements. CuPy 14 raises it for ``"C"`` and ``"F"``, too, and so do we.
    """
    wanted = set()
    for word in requirements or ():
        if word.upper() not in _REQUIREMENTS:
            raise ValueError(f'Incorrect flag "{word}" in requirements')
        wanted.add(_REQUIREMENTS[word.upper()])
    for order in wanted & {"C", "F"}:
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}_CONTIGUOUS')")
    if not wanted:
        return asarray(a, dtype)
    return array(a, dtype, copy=True, order="A")


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`a` on the device. `ValueError` if there's an inf or a nan in it: the host waits to know that."""
    made = asarray(a, dtype, order)
    if not np.isfinite(made).all():
        raise ValueError("array must not contain Infs or NaNs")
    return made


def asfarray(a: Any, dtype: Any = np.float64) -> Any:
    """`a` on the device, with floating-point or complex numbers."""
    return asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def mask_indices(n: int, mask_func: Callable, k: Any = 0) -> Any:
    """Where ``mask_func(ones((n, n)), k)``, such as `triu`, isn't 0: the places along both axes."""
    return mask_func(full((n, n), 1, np.int8), k).nonzero()


def msort(a: Any) -> Any:
    """`a` sorted along its first axis."""
    return np.sort(a, axis=0)


def make_aligned_dtype(dtype: Any, *, alignment: int = -1, recurse: bool = True) -> np.dtype:
    """A structured type whose fields lie where kernels can reach them.

    >>> make_aligned_dtype(np.dtype([("a", "i1"), ("b", "f8")])).itemsize
    16
    """
    return records.align(dtype, alignment)


# -- Functions that remember their results ---------------------------------------------------------------------------

_memos: list[dict] = []


def memoize(for_each_device: bool = False) -> Callable:
    """``@memoize()``: a function that computes each result once, or once on each device.

    >>> @memoize()
    ... def tripled(x):
    ...     print("computing")
    ...     return 3 * x
    >>> tripled(2), tripled(2)
    computing
    (6, 6)
    """

    def decorator(function: Callable) -> Callable:
        memo: dict[Any, Any] = {}
        _memos.append(memo)

        @functools.wraps(function)
        def remember(*args: Any, **kwargs: Any) -> Any:
            key = (current().index if for_each_device else -1, args, frozenset(kwargs.items()))
            if key not in memo:
                memo[key] = function(*args, **kwargs)
            return memo[key]

        return remember

    return decorator


def clear_memo() -> None:
    """Forget the results of all functions that `memoize` made."""
    for memo in _memos:
        memo.clear()


# -- What NumPy 2 gave up --------------------------------------------------------------------------------------------


def issubclass_(arg1: Any, arg2: Any) -> bool:
    """`issubclass`, and False for what's no class."""
    try:
        return issubclass(arg1, arg2)
    except TypeError:
        return False


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """NumPy's type of number for a type, a dtype, a name or an array; `default` if there's none."""
    if isinstance(rep, type) and issubclass(rep, np.generic):
        return rep
    if isinstance(rep, (np.ndarray, Stored)):
        return rep.dtype.type  # type: ignore[union-attr]
    try:
        return np.dtype(rep).type
    except Exception:
        return default


def issubsctype(arg1: Any, arg2: Any) -> bool:
    return issubclass(obj2sctype(arg1), obj2sctype(arg2))


def sctype2char(sctype: Any) -> str:
    """The letter of a type of numbers. `ValueError` if it's none."""
    kind = obj2sctype(sctype)
    if kind is None:
        raise ValueError("unrecognized type")
    return np.dtype(kind).char


def issctype(rep: Any) -> bool:
    """Whether it's a type of numbers, or a dtype."""
    return isinstance(rep, (type, np.dtype)) and obj2sctype(rep) not in (None, np.object_)


def _removed_function(name: str, instead: str) -> Callable:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"This function has been removed in NumPy v2.\nUse {instead} instead.\n")

    function.__name__ = function.__qualname__ = name
    return function


find_common_type = _removed_function("find_common_type", "`promote_types` or `result_type`")
set_string_function = _removed_function("set_string_function", "`np.set_printoptions`")
get_array_wrap = _removed_function("get_array_wrap", "<no replacement>")
disp = _removed_function("disp", "your own print function")
safe_eval = _removed_function("safe_eval", "`ast.literal_eval`")


# -- What's there ----------------------------------------------------------------------------------------------------


def who(vardict: Any = None) -> None:
    """Print the names, shapes, bytes and types of the device arrays in a dictionary: by default, the caller's globals.

    >>> import simgpu as cp
    >>> who({"x": cp.zeros((2, 3)), "n": 1})
    Name            Shape            Bytes            Type
    ===========================================================
    <BLANKLINE>
    x               2 x 3            48               float64
    <BLANKLINE>
    Upper bound on total bytes  =       48
    """
    given = sys._getframe(1).f_globals if vardict is None else vardict
    rows = []
    first_names: dict[int, str] = {}
    total = 0
    for name in sorted(given):
        x = given[name]
        if not isinstance(x, Stored):
            continue
        nbytes = x.host_values.nbytes
        if id(x) in first_names:
            name = f"{name} ({first_names[id(x)]})"
        else:
            first_names[id(x)] = name
            total += nbytes
        rows.append((name, " x ".join(map(str, x.host_values.shape)), str(nbytes), x.host_values.dtype.name))
    if rows:
        widths = [max(10, *(len(row[i]) for row in rows)) for i in range(3)]
        title = "Name {} Shape {} Bytes {} Type".format(*(" " * width for width in widths))
        print(f"{title}\n{'=' * (len(title) + 5)}\n")
    for name, shape, nbytes_text, kind in rows:
        columns = zip((name, shape, nbytes_text), widths, (4, 5, 5))
        padded = " ".join([f"{text:{width + more + 1}}" for text, width, more in columns])
        print(f"{padded} {kind}")
    print(f"\nUpper bound on total bytes  =       {total}")


class RuntimeInfo:
    """What's said of libraries, drivers and cards. Here, of what's simulated."""

    def __init__(self) -> None:
        self.cupy_version, self.numpy_version = CUPYS_VERSION, np.__version__
        self.cuda_local_runtime_version = self.cuda_runtime_version = self.cuda_driver_version = CUDAS_VERSION
        self.device = current()

    def __str__(self) -> str:
        device = self.device
        rows = (
            ("CuPy Version", f"{self.cupy_version} (simulated by simgpu)"),
            ("NumPy Version", self.numpy_version),
            ("CUDA Driver Version", self.cuda_driver_version),
            (f"Device {device.index} Name", device.name),
            (f"Device {device.index} Compute Capability", device.compute_capability),
        )
        return "".join(f"{name:<28} : {value}\n" for name, value in rows)


def show_config(*, _full: bool = False) -> None:
    """Print what CuPy is running on: here, what's simulated."""
    print(RuntimeInfo(), end="")
