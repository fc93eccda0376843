"""A file of CUDA C: its functions, and the lines that errors show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernels.parse import Function, Node, Parser
from ...kernels.preprocess import Line
from ..errors import KernelError, Place

CUDAS = {
    "__CUDACC__": "1", "__CUDACC_RTC__": "1", "__NVCC__": "1", "__CUDACC_VER_MAJOR__": "12", "__cplusplus": "201703L",
}  # fmt: skip
_VECTORS = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
    "long": "int64", "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64", "float": "float32",
    "double": "float64",
}  # fmt: skip
VECTORS = {f"{name}{count}": (dtype, count) for name, dtype in _VECTORS.items() for count in (1, 2, 3, 4)}
VECTORS["dim3"] = ("uint32", 3)


class Module:
    """A file of C, parsed once. Raises `CompileException` and `NotImplementedError`, with the line."""

    def __init__(self, code: str, options: Sequence[str], capability: str = "75") -> None:
        defined = [f"-D{name}={value}" for name, value in CUDAS.items()] + [f"-D__CUDA_ARCH__={capability}0"]
        self.parser = Parser((), (*defined, *options), knows_headers=True, vectors=VECTORS)
        self.globals: list[Node] = self.parser.unit(code, "code")
        self.memory: dict[str, Any] = {}  # variables outside of functions, kept from launch to launch

    def kernel(self, name: str) -> tuple[Function, tuple[Any, ...]] | None:
        """The kernel of this name, and what its template is given: ``scale<float>``. None if there's none."""
        parser = self.parser
        plain, _, given = name.replace("::", " ").split("<")[0].split()[-1], *name.partition("<")[1:]
        values: tuple[Any, ...] = ()
        if given:
            values = parser.given_in(f"<{given}")
        found = [f for f in parser.functions.get(plain, []) if "__global__" in f.words]
        for function in found:
            if values and _without_lines(function.given) == _without_lines(values):
                return function, ()
        for function in found:
            if bool(function.letters) == bool(values) and not function.given:
                return function, values
        return None


def _without_lines(given: Any) -> Any:
    """What a template is given, without the lines where it's written."""
    if isinstance(given, Node):
        return given.kind, _without_lines(given.parts)
    if type(given) is tuple:
        return tuple([_without_lines(part) for part in given])
    return given


class CSource:
    """One function of a file, as launches and errors know it."""

    def __init__(self, module: Module, function: Function, name: str) -> None:
        self.module, self.function, self.name = module, function, name
        self.parameters = [parameter for _, parameter in function.parameters]
        self.programs: dict[Any, Any] = {}


class CSite:
    """A place in the text where something can go wrong."""

    words = {
        "barrier": "__syncthreads()", "warp barrier": "__syncwarp()", "add": "atomicAdd", "array": "cupy.zeros",
        "limit": "kernel.most_rounds", "unsigned": ". Write (int)threadIdx.x to go below 0",
    }  # fmt: skip
    node = None

    adds = False  # whether the line adds to an element

    def __init__(self, source: CSource, line: Line, is_guess: bool = False) -> None:
        self.source, self.line, self.text = source, line.number, line.text
        self.is_guess = is_guess

    def wrong(self, kind: type[KernelError], what: str, advice: str = "", place: Place | None = None) -> KernelError:
        return kind(what, advice, self.source.name, self.line, self.text, place)

    def guard(self, place: int, axes: int, index: int, part: Any) -> str:
        return " Guard the line with an `if`."

    def addition(self) -> str:
        if self.adds:
            return "write atomicAdd(&…, …)"
        return ""

    def zero(self, part: Any) -> str:
        return f"`else {part.name}[…] = 0;`"
