"""Kernels in pieces of C, as `cupy.ElementwiseKernel` and `cupy.ReductionKernel`, translated to NumPy.

Read `parse.py` (the C as a tree), `numbers.py` (C's numbers), `threads.py` (what each node does with all threads), then
`elementwise.py`, `reduction.py`, and `blocks.py` (how a card shares a reduction among its threads).
"""

from typing import Any, NoReturn

from ..words import in_words, word_set
from .elementwise import ElementwiseKernel
from .reduction import ReductionKernel
from .threads import CompileException

__all__ = ["ElementwiseKernel", "ReductionKernel", "RawKernel", "RawModule", "CompileException"]


class RawKernel:
    """A whole kernel in CUDA C. It's made without complaint, as in CuPy, and refused where it would be compiled.

    >>> kernel = RawKernel('extern "C" __global__ void f(float* x) { x[0] = 1; }', "f")
    >>> kernel((1,), (1,), ())
    Traceback (most recent call last):
    NotImplementedError: f is a RawKernel, in CUDA C, for which this computer has no compiler. Write the kernel in ...
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

    def __call__(self, grid: tuple, block: tuple, args: tuple, **keywords: Any) -> NoReturn:
        raise _no_compiler(f"{self.name} is a RawKernel")

    def compile(self, log_stream: Any = None) -> NoReturn:
        """CuPy compiles the kernel here, or at its first launch."""
        raise _no_compiler(f"{self.name} is a RawKernel")

    def __getattr__(self, name: str) -> Any:
        if name in _OF_A_COMPILED_KERNEL:
            raise _no_compiler(f"{self.name}.{name} is known once the RawKernel is compiled; it's")
        raise AttributeError(f"a RawKernel has no {name!r}")


_OF_A_COMPILED_KERNEL = word_set("""
    kernel attributes max_threads_per_block shared_size_bytes const_size_bytes local_size_bytes num_regs ptx_version
    binary_version cache_mode_ca max_dynamic_shared_size_bytes preferred_shared_memory_carveout
""")


class RawModule:
    """Several kernels in CUDA C. It's made without complaint, as in CuPy, and so are its kernels."""

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
        """The kernel of this name. CuPy compiles the module here; we don't know yet whether the kernel exists."""
        return RawKernel(self.code or "", name, self.options, self.backend)

    def get_global(self, name: str) -> NoReturn:
        """A pointer to the memory of a global variable in C."""
        raise _no_compiler(f"{name} is a variable of a RawModule")

    def compile(self, log_stream: Any = None) -> NoReturn:
        """CuPy compiles the module here."""
        raise _no_compiler("this is a RawModule")


def _no_compiler(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"{what}, in CUDA C, for which this computer has no compiler. Write the kernel in Python, with "
        "@simgpu.jit.rawkernel() (cupyx.jit on a GPU), or as ElementwiseKernel or ReductionKernel"
    )
