"""A kernel on an NVIDIA GPU: we give the same function to `cupyx.jit`, which makes CUDA C of it."""

import functools
import types
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..outside import MISSING, Constants
from .errors import Refused, refused_as
from .names import Name
from .types import type_of

HOMES = ["simgpu.jit"]  # the modules that a program knows as jit


def launch(
    kernel: Any, grid: Sequence[int], block: Sequence[int], args: Sequence[Any], shared_mem: int = 0, stream: Any = None
) -> None:
    """Launch it on CuPy's arrays. Raises `Refused` for what cupyx.jit doesn't compile."""
    import cupy

    key = tuple([_compiled_for(x) for x in args])
    # If CuPy compiles it now, the names around it are those of now.
    constants, real = kernel.cupys_kernels.get(key) or (_constants(kernel), _kernel(kernel, {}))
    constants.have_changed()
    try:
        real(tuple(grid), tuple(block), tuple(args), shared_mem, stream)
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError):
        raise
    except Exception as error:
        raise _refusal(kernel, error) from error
    kernel.cupys_kernels[key] = constants, real


def _compiled_for(x: Any) -> tuple:
    """What an argument's type is to CuPy, which compiles a kernel once for each."""
    if hasattr(x, "flags") and not isinstance(x, np.generic):
        return x.dtype, x.ndim, bool(x.flags.c_contiguous), x.nbytes < 2**31
    return (type_of(x).char,)


def _constants(kernel: Any) -> Constants:
    """What the names from outside mean now, also those of the functions that it calls."""
    found = Constants(f"kernel {kernel.name}", kernel.name)
    kernels = [kernel]
    for callee in kernels:  # which grows
        for name in (*callee.function.__code__.co_names, *callee.function.__code__.co_freevars):
            was = callee.source.outside(name)
            if was is not MISSING:
                text = name if callee is kernel else f"{name} in {callee.name}"
                found.add(callee, text, functools.partial(callee.source.outside, name), was)
            if hasattr(was, "as_part_of") and was not in kernels:
                kernels.append(was)
    return found


def transpile(kernel: Any, args: Sequence[Any]) -> Any:
    """What cupyx.jit makes of a kernel, before NVIDIA's compiler sees it. Raises `Refused`."""
    from cupyx.jit import _compile, _cuda_typerules, _cuda_types

    def type_of(x: Any) -> Any:
        if hasattr(x, "shape") and not isinstance(x, np.generic):
            return _cuda_types.CArray(x.dtype, x.ndim, bool(x.flags.c_contiguous), x.nbytes < 2**31)
        return _cuda_typerules.get_ctype_from_scalar("cuda", x)

    function, types = _rebuild(kernel.function, {}), tuple(map(type_of, args))
    try:
        return _compile.transpile(function, ['extern "C"', "__global__"], "cuda", types, _cuda_types.void)
    except Exception as error:
        raise _refusal(kernel, error) from error


def _refusal(kernel: Any, error: Exception) -> Refused:
    made = refused_as(type(error))
    return made("cupyx.jit doesn't compile this", f"{type(error).__name__}: {error}", kernel.name)


def _kernel(kernel: Any, made: dict[int, Any]) -> Any:
    """cupyx.jit's kernel of the same function, with other names around it."""
    import cupyx.jit

    if id(kernel) not in made:
        made[id(kernel)] = None  # if it calls itself, cupyx.jit says so
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cupyx.jit says that it's experimental
            made[id(kernel)] = cupyx.jit.rawkernel(device=kernel.device)(_rebuild(kernel.function, made))
    return made[id(kernel)]


def _rebuild(function: Any, made: dict[int, Any]) -> Any:
    """The same code, where `jit` is cupyx.jit and `np` is CuPy."""
    names = set(function.__code__.co_names)
    outside = {name: _other(value, made) if name in names else value for name, value in function.__globals__.items()}
    cells = tuple(types.CellType(_other(cell.cell_contents, made)) for cell in function.__closure__ or ()) or None
    return types.FunctionType(function.__code__, outside, function.__name__, function.__defaults__, cells)


def _other(value: Any, made: dict[int, Any]) -> Any:
    """What CuPy has in place of `value`."""
    import cupy
    import cupyx.jit

    if isinstance(value, Name):
        return getattr(cupyx.jit, value.name)
    if hasattr(value, "as_part_of"):
        return _kernel(value, made)
    if isinstance(value, ModuleType):
        name = value.__name__
        for home in HOMES:
            if f"{home}.".startswith(f"{name}."):
                inside: Any = cupyx.jit
                for part in reversed(home[len(name) :].strip(".").split(".")):
                    if part:
                        inside = types.SimpleNamespace(**{part: inside})
                return inside
        if value is np:
            return cupy
        return value
    if isinstance(value, np.ufunc) or any(value is function for function in (np.sinc, np.i0, np.fix)):
        return getattr(cupy, value.__name__, value)
    return value
