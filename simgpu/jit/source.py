"""A kernel's text: its lines, its tree, and what its names mean outside it."""

import ast
import builtins
import inspect
import linecache
import textwrap
from collections.abc import Callable
from typing import Any, TypeGuard

from ..outside import MISSING
from ..words import many, word_set
from . import advice as advice_of
from .errors import KernelError, Place, Refused, refused_as

# A kernel becomes C++, where these words mean something else.
CPP_WORDS = word_set("""
    alignas alignof asm auto bool break case catch char char16_t char32_t char8_t class concept const const_cast
    constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern false float for
    friend goto if inline int long mutable namespace new noexcept nullptr operator private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    NAN INFINITY NULL assert
""")
# CUDA's own functions and types: a kernel can't have these names.
CUDAS_NAMES = word_set("""
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim
    floor fma fmax fmin fmod frexp hypot isfinite isinf isnan j0 j1 jn labs ldexp lgamma log log10 log1p log2 logb max
    min modf nearbyint nextafter norm pow remainder remquo rint round rsqrt scalbn signbit sin sincos sinh sqrt tan
    tanh tgamma trunc y0 y1 yn malloc free printf main half dim3 warpSize std complex CArray Dim
""")


class Source:
    """The text of one function, and errors that name a line of it."""

    def __init__(self, function: Callable) -> None:
        self.function, self.name = function, getattr(function, "__name__", type(function).__name__)
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError) as error:
            what = "we read a kernel's text, and can't find it. Write it into a file or a notebook's cell."
            raise Refused(what, kernel=self.name) from error
        tree: ast.stmt
        if self.name == "<lambda>":
            tree = self._lambda(first, len(lines))
        else:
            self.lines, self.first = textwrap.dedent("".join(lines)).splitlines(), max(first, 1)
            tree = ast.parse("\n".join(self.lines)).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise Refused("a kernel is made from a function that begins with def", kernel=self.name)
        self.tree = tree
        self.compared = _compared(tree)
        self.parameters = [argument.arg for argument in tree.args.args]
        self.takes = f"takes {many(len(self.parameters), 'argument')}"
        self._cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        self.programs: dict[Any, Any] = {}  # what it's translated to, by the types of the arguments
        given = tree.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
            what = "a kernel takes plain arguments: no *, no **, no /, no default values"
            raise self.refusal(self.tree, what, NotImplementedError)
        own: list[tuple[Any, str]] = [(self.tree, name) for name in (tree.name, *self.parameters)]
        own += [(node, node.id) for node in ast.walk(self.tree) if is_stored(node)]
        for node, name in own:
            if name in CPP_WORDS or (name == tree.name and name in CUDAS_NAMES):
                raise self.refusal(node, f"{name} is a word of CUDA C++, which the kernel becomes: choose another name")
            if not name.isascii():
                raise self.refusal(node, f"{name} has letters that C++ doesn't take: use a to z")

    def _lambda(self, first: int, count: int) -> ast.FunctionDef:
        """The lambda that begins in one of these lines, as a function. Raises `Refused` if there are several."""
        self.lines, self.first = linecache.getlines(inspect.getsourcefile(self.function) or ""), 1
        text = "".join(self.lines)
        found = [
            node for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Lambda) and first <= node.lineno < first + count
        ]  # fmt: skip
        if len(found) != 1:
            several = "Multiple callables are found near the definition of this lambda, line"
            raise refused_as(ValueError)(
                f"{several} {first}: give it a name with def, so that we know which", kernel=self.name
            )
        node = found[0]
        body = ast.copy_location(ast.Return(node.body), node.body)
        made = ast.FunctionDef(name="_lambda_kernel", args=node.args, body=[body], decorator_list=[])
        return ast.copy_location(made, node)

    def outside(self, name: str) -> Any:
        """What a name from outside the kernel means, or `MISSING`."""
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:
                return MISSING
        return self.function.__globals__.get(name, getattr(builtins, name, MISSING))

    def reader(self, node: Any) -> Callable[[], Any]:
        """What finds out what this means by now: a name, or a part of what it holds, or `MISSING`."""
        if isinstance(node, ast.Name):
            name = node.id
            return lambda: self.outside(name)
        code = compile(ast.Expression(node), self.name, "eval")
        used = [name for name in code.co_names if name in self._cells]

        def read() -> Any:
            try:
                return eval(code, self.function.__globals__, {name: self.outside(name) for name in used})
            except Exception:  # it's gone
                return MISSING

        return read

    def line(self, node: Any) -> int:
        """The number of its line, in the file or the cell."""
        return node.lineno + self.first - 1

    def text(self, node: Any) -> str:
        return self.lines[node.lineno - 1].strip()

    def refusal(self, node: Any, text: str, kind: type[Exception] = TypeError) -> KernelError:
        return Site(self, node).wrong(refused_as(kind), f"cupyx.jit wouldn't compile this: {text}")


class Site:
    """A place in the text where something can go wrong, and how its language calls what helps."""

    words = {
        "barrier": "jit.syncthreads()", "warp barrier": "jit.syncwarp()", "add": "jit.atomic_add",
        "limit": "kernel.most_rounds", "array": "np.zeros_like", "unsigned": advice_of.UNSIGNED,
    }  # fmt: skip

    def __init__(self, source: Source, node: Any) -> None:
        self.source, self.node, self.line, self.text = source, node, source.line(node), source.text(node)
        # A read that an atomic comparison corrects: it may meet atomic operations.
        self.is_guess = isinstance(node, ast.Subscript) and array_name(node) in source.compared

    def wrong(self, kind: type[KernelError], what: str, advice: str = "", place: Place | None = None) -> KernelError:
        return kind(what, advice, self.source.name, self.line, self.text, place)

    def guard(self, place: int, axes: int, index: int, part: Any) -> str:
        """The test that keeps index `place` of this access inside. The array has this many `axes`."""
        return advice_of.guard(self.node, place, axes, index, part)

    def addition(self) -> str:
        """The atomic that does the same as this line, if it adds to an element."""
        return advice_of.addition(self.node, self.source.tree)

    def zero(self, part: Any) -> str:
        """What writes a 0 into shared memory."""
        return f"`else: {part.name}[…] = {'0.0' if part.flat.dtype.kind == 'f' else '0'}`"


def array_name(node: ast.AST) -> str:
    """The array's name in ``x[i][j]``. Empty if there's none."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id
    return ""


def _compared(tree: ast.AST) -> set[str]:
    """The arrays that go to `jit.atomic_cas`: where the kernel reads them itself, it guesses, and this corrects it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).endswith("atomic_cas"):
            found.add(array_name(node.args[0]))
    return found - {""}


def is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
