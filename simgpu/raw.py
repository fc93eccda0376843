"""Whole kernels in CUDA C, `cupy.RawKernel` and `cupy.RawModule`: `simgpu/jit/c/` translates them at their launch."""

from __future__ import annotations

import contextlib
import functools
import threading
from pathlib import Path
from typing import Any, NoReturn

from .device import current
from .jit.c.kernel import CKernel
from .jit.c.source import Module
from .jit.errors import without_our_lines
from .jit.names import SHARED_LIMIT
from .words import in_words

MOST_SHARED = 96 * 1024  # bytes that a kernel may ask for, with `max_dynamic_shared_size_bytes`
_lock = threading.Lock()


class CUDADriverError(RuntimeError):
    """CUDA can't do what was asked (`cupy.cuda.driver.CUDADriverError`)."""


@functools.lru_cache(maxsize=64)
def _module(code: str, options: tuple, capability: str) -> Module:
    return Module(code, options, capability)


def _module_of(code: str, options: tuple) -> Module:
    """The file, parsed once for each card's generation."""
    with _lock:
        return _module(code, options, current().compute_capability)


class RawKernel:
    """A whole kernel in CUDA C (`cupy.RawKernel`). Launch it as ``kernel((blocks,), (threads,), (x, out, n))``.

    It's made without complaint, and translated at its first launch. Then all its threads run, with the checks that a
    kernel in Python has (`simgpu.jit`): what is outside an array, a data race, a barrier that not all threads reach,
    and what nobody wrote raise, with block, thread, and the line in C. `figures` says what the latest launch did, and
    `most_rounds`, a million unless you set it, limits the rounds of a loop.

    What the compiler would refuse raises `CompileException`, what we can't translate `NotImplementedError`, both with
    the line. CuPy passes a Python int as an int64 and a float as a float64: a parameter ``float`` takes np.float32(x).

    >>> import numpy as np
    >>> import simgpu
    >>> code = '''extern "C" __global__ void doubled(const float* x, float* out, int n) {
    ...     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...     if (i < n) out[i] = 2 * x[i];
    ... }'''
    >>> kernel = simgpu.RawKernel(code, "doubled")
    >>> x = simgpu.asarray(np.arange(3, dtype=np.float32))
    >>> out = simgpu.zeros_like(x)
    >>> kernel((1,), (32,), (x, out, 3))
    >>> out
    array([0., 2., 4.], dtype=float32)  # Simulated:0
    """

    def __init__(
        self, code: str, name: str, options: tuple = (), backend: str = "nvrtc", *, translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False, jitify: Any = None,
    ) -> None:  # fmt: skip
        if not isinstance(code, str) or not isinstance(name, str):
            raise TypeError(f"RawKernel takes its code and its name as text, got {in_words(code)}, {in_words(name)}")
        self.code, self.name, self.__name__ = code, name, name
        self.options, self.backend = options, backend
        self.translate_cucomplex = translate_cucomplex
        self.enable_cooperative_groups = enable_cooperative_groups
        self.jitify = jitify
        self.file_path: str | None = None
        self.name_expressions: tuple[str, ...] | None = None
        self._kernels: dict[Module, CKernel] = {}
        self._shared_limit = SHARED_LIMIT
        self.most_rounds = 1_000_000  # of a loop
        self._carveout = -1

    @without_our_lines
    def __call__(self, grid: tuple, block: tuple, args: tuple, *, shared_mem: int = 0, stream: Any = None) -> None:
        """Launch it: `grid` blocks of `block` threads, each a tuple of up to three numbers."""
        for name, dim in (("grid", grid), ("block", block)):
            if not isinstance(dim, tuple):
                raise TypeError(f"Argument '{name}' has incorrect type (expected tuple, got {type(dim).__name__})")
        kernel = self.kernel
        kernel.shared_limit, kernel.most_rounds = self._shared_limit, self.most_rounds
        grid, block = (tuple([max(1, int(n)) for n in (*dim, 1, 1)[:3]]) for dim in (grid, block))
        if stream is None:
            kernel.simulate(grid, block, args, shared_mem)
            return
        with stream:
            kernel.simulate(grid, block, args, shared_mem)

    @property
    def kernel(self) -> CKernel:
        """The kernel, found in its file. Raises `CUDADriverError` if it isn't there."""
        module = _module_of(self.code, tuple(self.options))
        if module not in self._kernels:
            self._kernels[module] = self._find(module)
        return self._kernels[module]

    def _find(self, module: Module) -> CKernel:
        is_named = self.name in (self.name_expressions or ())
        found = module.kernel(self.name)
        if found is None:
            there = [name for name, several in module.parser.functions.items() if "__global__" in several[0].words]
            raise CUDADriverError(
                f"CUDA_ERROR_NOT_FOUND: named symbol not found: there is no kernel {self.name}, only "
                f"{', '.join(there) or 'none'}"
            )
        function, given = found
        if not is_named and 'extern "C"' not in function.words:
            raise CUDADriverError(
                f'CUDA_ERROR_NOT_FOUND: named symbol not found: {self.name} is a name of C++. Write extern "C" before '
                "__global__, or make a RawModule with name_expressions"
            )
        return CKernel(module, self.name, function, given)

    def __getstate__(self) -> dict[str, Any]:
        """It's translated again where it's unpickled."""
        return {**vars(self), "_kernels": {}}

    def compile(self, log_stream: Any = None) -> None:
        """Translate it now, instead of at its first launch."""
        self.kernel.program  # noqa: B018

    @property
    def figures(self) -> Any:
        """What the latest launch did: as of a kernel in Python. Raises `RuntimeError` if none has ended."""
        return self.kernel.figures

    @property
    def attributes(self) -> dict[str, int]:
        """What CUDA says of a compiled kernel. Registers are a guess, since nothing is compiled here."""
        return {name: getattr(self, name) for name in _ATTRIBUTES}

    @property
    def max_threads_per_block(self) -> int:
        self.compile()
        return 1024

    @property
    def shared_size_bytes(self) -> int:
        """The bytes of shared memory that the text declares."""
        return self.kernel.program.shared_bytes

    @property
    def const_size_bytes(self) -> int:
        return self.kernel.program.constant_bytes

    @property
    def local_size_bytes(self) -> int:
        self.compile()
        return 0

    @property
    def num_regs(self) -> int:
        """A guess: the variables in the text, and 16 for addresses."""
        return min(255, 16 + self.kernel.program.slots)

    @property
    def ptx_version(self) -> int:
        self.compile()
        return int(current().compute_capability)

    binary_version = ptx_version

    @property
    def cache_mode_ca(self) -> int:
        self.compile()
        return 0

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """The most that a launch may ask for as `shared_mem`. Set it, up to 96 KB."""
        return self._shared_limit

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        if not 0 <= size <= MOST_SHARED:
            raise CUDADriverError(f"CUDA_ERROR_INVALID_VALUE: {size:,} bytes of shared memory; at most {MOST_SHARED:,}")
        self._shared_limit = size

    @property
    def preferred_shared_memory_carveout(self) -> int:
        return self._carveout

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, fraction: int) -> None:
        self._carveout = fraction


_ATTRIBUTES = (
    "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes", "num_regs", "ptx_version",
    "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout",
)  # fmt: skip


class RawModule:
    """Several kernels in one file of CUDA C (`cupy.RawModule`).

    `name_expressions` names what templates are to be made, such as ``["scale<float>"]``. A `path` may be one of a file
    of C; what NVIDIA's compiler made of it, a cubin or PTX, can't be translated.

    >>> import simgpu
    >>> code = "template<typename T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }"
    >>> module = simgpu.RawModule(code=code, name_expressions=["fill<int>"])
    >>> x = simgpu.zeros(3, "int32")
    >>> module.get_function("fill<int>")((1,), (3,), (x, 7))
    >>> x
    array([7, 7, 7], dtype=int32)  # Simulated:0
    """

    def __init__(
        self, *, code: str | None = None, path: str | None = None, options: tuple = (), backend: str = "nvrtc",
        translate_cucomplex: bool = False, enable_cooperative_groups: bool = False, name_expressions: Any = None,
        jitify: Any = None,
    ) -> None:  # fmt: skip
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if name_expressions is not None and code is None:
            raise ValueError("need CUDA C++ code for the requested kernels")
        if name_expressions is not None and backend != "nvrtc":
            raise ValueError("only nvrtc supports retrieving the mangled names for the given name expressions")
        self.code, self.file_path = code, path
        self.options, self.backend = options, backend
        self.translate_cucomplex = translate_cucomplex
        self.enable_cooperative_groups = enable_cooperative_groups
        if name_expressions is None:
            self.name_expressions = None
        else:
            self.name_expressions = tuple(name_expressions)
        self.jitify = jitify

    def get_function(self, name: str) -> RawKernel:
        """The kernel of this name, which is translated at its first launch.

        Raises `CUDADriverError` if there's none, and `CompileException` if the file isn't CUDA C.
        """
        found = RawKernel(self._text(), name, self.options, self.backend)
        found.file_path, found.name_expressions = self.file_path, self.name_expressions
        with contextlib.suppress(NotImplementedError):  # its launch says so
            found.kernel  # noqa: B018
        return found

    def _text(self) -> str:
        if self.code is not None:
            return self.code
        path = Path(str(self.file_path))
        if path.suffix not in (".cu", ".cuh", ".c", ".cpp", ".h"):
            raise NotImplementedError(f"{path.name} is what NVIDIA's compiler made: give the kernel's C as code=…")
        return path.read_text(encoding="utf8")

    def get_global(self, name: str) -> NoReturn:
        """A pointer to the memory of a variable outside of functions."""
        raise NotImplementedError(
            f"{name}: a program can't write to a variable of a RawModule here. Give the kernel an array as an argument"
        )

    def compile(self, log_stream: Any = None) -> None:
        """Parse the file now. Raises `CompileException` if it isn't CUDA C."""
        _module_of(self._text(), tuple(self.options))
