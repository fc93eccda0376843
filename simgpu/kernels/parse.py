"""C as a tree: tokens → nodes, by recursive descent, with a method for each rule of the grammar.

`preprocess.py` makes the tokens. `threads.py` has a method for each kind of node that a piece of C can have, and
`simgpu/jit/c/` for those of whole kernels. What isn't in this grammar raises `NotImplementedError` with its line.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..words import word_set
from .preprocess import LEVELS, CompileException, Preprocessor, Token, no_translation, unescaped

__all__ = ["CompileException", "Parser", "Node", "Function", "Struct", "no_translation"]


class Node(NamedTuple):
    kind: str  # such as "binary"
    line: Any
    parts: tuple[Any, ...]  # nodes, names, signs, types: what the method for this kind takes


TRUE, ONE = Node("number", "", (np.True_,)), Node("number", "", (np.int32(1),))


class Pointer(NamedTuple):
    """``T*``. An array in a function's parameters is one, too."""

    to: Any
    is_const: bool = False  # what it points to

    def __str__(self) -> str:
        return f"{'const ' * self.is_const}{c_name(self.to)}*"


class Sized(NamedTuple):
    """``T[4][8]``, of which a parameter ``T x[][4][8]`` is a pointer to the first."""

    of: Any
    lengths: list[Node | None]

    def __str__(self) -> str:
        return f"{c_name(self.of)}{'[…]' * len(self.lengths)}"


class Reference(NamedTuple):
    """``T&``: another name of the caller's variable."""

    to: Any
    is_const: bool = False


class Named(NamedTuple):
    """A struct, by its name and what its template is given; or, with a `member`, a type that it names."""

    name: str
    given: tuple[Any, ...] = ()
    member: str = ""

    def __str__(self) -> str:
        return self.name


class Deduced(NamedTuple):
    """``auto``: the type of its first value. Pointers keep what they are."""


class Declarator(NamedTuple):
    """A name that's declared: its type, the lengths of an array's axes, and the value it begins with."""

    kind: Any
    name: str
    lengths: list[Node | None]
    first: Any  # a node; a list of nodes, or of lists, in braces; or None


@dataclass
class Function:
    returns: Any
    name: str
    parameters: list[tuple[Any, str]]  # type and name
    body: Node
    letters: list[tuple[str, Any, Any]]  # of its template: the name; a number's type, or None; what it is by default
    words: frozenset[str]  # such as __global__
    line: Any
    given: tuple[Any, ...] = ()  # what a specialized one is for: template <> … name<float>(…)
    defaults: tuple[Node, ...] = ()  # of its last parameters

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many arguments."""
        return len(self.parameters) - len(self.defaults) <= count <= len(self.parameters)

    def takes_as_many(self, other: "Function") -> bool:
        """Whether both have so many parameters."""
        return len(self.parameters) == len(other.parameters)

    def could_be_given(self, given: tuple[Any, ...]) -> bool:
        """Whether its template has letters for these types and numbers."""
        if len(given) > len(self.letters):
            return False
        return all((kind is None) != isinstance(value, Node) for (_, kind, _), value in zip(self.letters, given))

    def filled(self, args: list[Node]) -> list[Node]:
        """The arguments, and the default values of those that are left out."""
        missing = len(self.parameters) - len(args)
        return [*args, *self.defaults[len(self.defaults) - missing :]]


@dataclass
class Struct:
    name: str
    fields: list[Declarator] = field(default_factory=list)
    constants: dict[str, tuple[Any, Node]] = field(default_factory=dict)  # static ones: type and value
    letters: list[tuple[str, Any, Any]] = field(default_factory=list)


_C_NAMES = {
    "b1": "bool", "i1": "signed char", "u1": "unsigned char", "i2": "short", "u2": "unsigned short", "i4": "int",
    "u4": "unsigned int", "i8": "long long", "u8": "unsigned long long", "f2": "__half", "f4": "float", "f8": "double",
    "c8": "complex<float>", "c16": "complex<double>",
}  # fmt: skip


def c_name(kind: Any) -> str:
    """What C calls a type."""
    if isinstance(kind, np.dtype):
        return _C_NAMES.get(f"{kind.kind}{kind.itemsize}", str(kind))
    if kind is None:
        return "void"
    return str(kind)


_SIZES = [f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)]
_TYPES = {
    **{name: name for name in (*_SIZES, "float16")}, **{f"{name}_t": name for name in _SIZES}, "size_t": "uint64",
    "ptrdiff_t": "int64", "float": "float32", "double": "float64", "bool": "bool", "uint": "uint32",
    "uintptr_t": "uint64", "intptr_t": "int64", "cuComplex": "complex64", "cuFloatComplex": "complex64",
    "cuDoubleComplex": "complex128", "__half": "float16",
}  # fmt: skip
_INTEGERS = word_set("unsigned signed char short int long __int64")
_QUALIFIERS = word_set("""
    const constexpr static inline volatile register extern mutable restrict __restrict__ __restrict __device__ __host__
    __forceinline__ __inline__ __noinline__ __inline __global__ __constant__ __shared__ __managed__ typename friend
""")
_TRAITS = word_set("is_floating_point is_integral is_signed is_unsigned is_arithmetic is_same")
_CHOSEN_TYPES = word_set("enable_if enable_if_t conditional conditional_t")
_CASTS = ("static_cast", "reinterpret_cast", "const_cast")
_SPACES = ("std", "thrust", "cuda", "cupy")


class Parser:
    """Reads from left to right. A type is a dtype, None for void, a name such as T, or one of the classes above."""

    word = property(lambda self: self.tokens[self.at].text)
    line = property(lambda self: self.tokens[self.at].line)

    def __init__(
        self, letters: Iterable[str], options: Sequence[str] = (), knows_headers: bool = False,
        vectors: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.types: dict[str, Any] = {"void": None, **{name: np.dtype(dtype) for name, dtype in _TYPES.items()}}
        self.types |= {"auto": Deduced()}
        self.types.update((letter, letter) for letter in letters)
        self.types.update((name, Named(name)) for name in vectors)
        self.functions: dict[str, list[Function]] = {}
        self.structs: dict[str, list[tuple[tuple[Any, ...], Struct]]] = {}  # by name: what its template is given
        self.templates: set[str] = set()  # functions and structs that have one
        self.announced: dict[str, tuple[Node, ...]] = {}  # default values of functions that are written further down
        self.enums: dict[str, bool] = {}  # whether its names are only known with its own in front, Way::UP
        self.enumerators: dict[str, str] = {}  # of the enum class that's being read: A is Way::A there
        self.words: set[str] = set()  # all that the text has
        self.is_c = False  # whether this is inside of extern "C"
        self.preprocessor = Preprocessor(options, knows_headers)
        self.tokens: list[Token] = []
        self.at = 0

    def program(self, text: Any, part: str) -> list[Node]:
        """The statements of this part of a kernel. Its functions go into `functions`."""
        self._begin(str(text), part)
        found = []
        while self.word:
            if self.word == "template" or part == "preamble":
                found += self.outermost()
            else:
                found.append(self.statement())
        return found

    def unit(self, text: str, part: str) -> list[Node]:
        """A whole file: the variables outside of functions. The rest goes into `functions` and `structs`."""
        self._begin(text, part)
        found = []
        while self.word:
            found += self.outermost()
        return found

    def given_in(self, text: str) -> tuple[Any, ...]:
        """What a template is given in this text, such as ``<float, 3>``."""
        self._begin(text, "name")
        return self._given()

    def _begin(self, text: str, part: str) -> None:
        self.tokens, self.at = self.preprocessor.tokens(text, part), 0
        if "cuda_fp16.h" in self.preprocessor.headers:
            self.types["half"] = np.dtype("float16")
        self.words.update(token.text for token in self.tokens)

    # -- tokens ----------------------------------------------------------------------------------

    def follows(self, *words: str) -> bool:
        """Whether the next token is one of these. If so, go past it."""
        found = self.word in words
        self.at += found
        return found

    def peek(self, ahead: int = 1) -> str:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)].text

    def expect(self, word: str) -> None:
        if word == ">" and self.word == ">>":  # two templates end here
            token = self.tokens[self.at]
            self.tokens[self.at : self.at + 1] = [Token(">", token.line), Token(">", token.line)]
        if not self.follows(word):
            raise no_translation(self.line, f"{self.word or 'the end'} where {word} should be")

    def take(self) -> str:
        """The next token, and go past it."""
        self.at += 1
        return self.tokens[self.at - 1].text

    def name(self) -> str:
        if not self.word.isidentifier():
            raise no_translation(self.line, f"{self.word or 'the end'} where a name should be")
        return self.take()

    def comma_list(self, rule: Callable[[], Any], end: str) -> list[Any]:
        """What the rule reads, again and again, with commas in between, up to `end`."""
        found = []
        while not self.follows(end):
            found.append(rule())
            if self.word == ">>" and end == ">":
                self.expect(">")
                return found
            if self.word != end:
                self.expect(",")
        return found

    # -- types -----------------------------------------------------------------------------------

    def spaces(self) -> None:
        """Go past ``std::`` and its like."""
        while self.word == "::" or (self.word in _SPACES and self.peek() == "::"):
            self.at += 1 + (self.word != "::")

    def qualifiers(self) -> set[str]:
        """Words such as ``const``, in front of a type or behind it."""
        found = set()
        while self.word in _QUALIFIERS:
            found.add(self.take())
        return found

    def is_type(self) -> bool:
        """Whether a type begins here."""
        at = self.at
        self.spaces()
        found = self.word in _QUALIFIERS or self.word in self.types or self.word in _INTEGERS or self.word == "struct"
        found = found or self.word == "complex" and self.peek() == "<" or self.word in self.structs
        is_value = (self.word in self.structs or self.word in self.enums) and self._has_a_member()
        self.at = at
        return found and not is_value

    def _has_a_member(self) -> bool:
        """Whether this is a struct's name in ``A::b`` or ``A<T>::b``."""
        ahead, depth = 1, 0
        if self.peek() == "<":
            while self.peek(ahead) not in (";", "{", ""):
                depth += {"<": 1, ">": -1, ">>": -2}.get(self.peek(ahead), 0)
                ahead += 1
                if depth <= 0:
                    break
        return self.peek(ahead) == "::"

    def base(self) -> tuple[Any, set[str]]:
        """A type without its stars, and the words around it."""
        words = self.qualifiers()
        self.follows("struct")
        self.spaces()
        if self.word in _INTEGERS:
            kind: Any = self._integer(words)
        elif self.word == "complex" and self.peek() == "<":
            self.at += 1
            self.expect("<")
            part = self.type()
            self.expect(">")
            kind = part if isinstance(part, str) else np.result_type(part, np.complex64)
            if isinstance(part, str):
                kind = Named("complex", (part,))
        elif self.word in _CHOSEN_TYPES and self.peek() == "<":
            kind = Named(self.take(), self._given())
        elif self.word in self.types:
            kind = self.types[self.take()]
        elif self.word in self.structs:
            kind = Named(self.take(), self._given() if self.word == "<" else ())
        else:
            raise no_translation(self.line, f"the type {self.word}")
        if self.word == "::" and isinstance(kind, (str, Named)):
            self.at += 1
            kind = Named(kind, (), self.name()) if isinstance(kind, str) else kind._replace(member=self.name())
        return kind, words | self.qualifiers()

    def _integer(self, words: set[str]) -> np.dtype:
        """A type such as ``unsigned long long``."""
        found = []
        while self.word in _INTEGERS or self.word in ("const", "volatile") or self.word == "double":
            if self.word in _QUALIFIERS:
                words.add(self.take())
                continue
            found.append(self.take())
        if "double" in found:
            return np.dtype("float64")
        if "char" in found:
            size = 8
        elif "short" in found:
            size = 16
        elif "long" in found or "__int64" in found:
            size = 64
        else:
            size = 32
        return np.dtype(f"{'u' if 'unsigned' in found else ''}int{size}")

    def stars(self, kind: Any, words: set[str]) -> Any:
        """The type, with the stars and the & that follow it."""
        is_const = "const" in words
        while True:
            if self.follows("*"):
                kind = Pointer(kind, is_const)
            elif self.follows("&"):
                kind = Reference(kind, is_const)
            else:
                return kind
            is_const = "const" in self.qualifiers()

    def type(self) -> Any:
        """A whole type, as in a cast."""
        kind, words = self.base()
        return self.stars(kind, words)

    def _given(self) -> tuple[Any, ...]:
        """What a template is given, ``<float, 3>``: types, and nodes."""
        self.expect("<")
        return tuple(self.comma_list(self._template_value, ">"))

    def _template_value(self) -> Any:
        if self.is_type():
            return self.type()
        return self.expression(LEVELS["<<"])

    # -- outside of functions --------------------------------------------------------------------

    def outermost(self) -> list[Node]:
        """What stands outside of functions: variables, as nodes. Functions, types and structs are noted."""
        if self.follows(";"):
            return []
        if self.word in ("extern", "namespace") and (self.peek().startswith('"') or self.word == "namespace"):
            return self._extern_or_namespace()
        before = dict(self.types)
        found = self._maybe_a_template()
        # Only what's text is compared: np.dtype("uint8") == "ubyte".
        for name in [name for name, kind in self.types.items() if isinstance(kind, str) and kind == name]:
            if name in before:  # a letter of a template means something only there
                self.types[name] = before[name]
            else:
                del self.types[name]
        return found

    def _maybe_a_template(self) -> list[Node]:
        letters: list[tuple[str, Any, Any]] = []
        if is_template := self.follows("template"):
            self.expect("<")
            letters = self.comma_list(self._letter, ">")
        if self.word == "struct" and self.peek(2) in ("{", "<"):
            self._struct(letters)
            return []
        if self.word == "struct" and self.peek(2) == "::" and self.peek(3) in _TRAITS:  # of float16: we know it
            while not self.follows(";"):
                self.at += 1
            return []
        if self.word in ("typedef", "using", "enum", "static_assert"):
            return [self.statement()]
        return self._function_or_variables(letters, is_template)

    def _extern_or_namespace(self) -> list[Node]:
        before, self.is_c = self.is_c, self.word == "extern" or self.is_c
        self.at += 1
        if self.word != "{":
            self.at += 1
        found = []
        if self.follows("{"):
            while not self.follows("}"):
                if not self.word:
                    self.expect("}")
                found += self.outermost()
        else:
            found = self.outermost()
        self.is_c = before
        return found

    def _letter(self) -> tuple[str, Any, Any]:
        if self.follows("typename", "class"):
            kind, name = None, self.name()
            self.types[name] = name
        else:
            kind, name = self.type(), self.name()
        default = self._template_value() if self.follows("=") else None
        return name, kind, default

    def _function_or_variables(self, letters: list[tuple[str, Any, Any]], is_template: bool) -> list[Node]:
        line, start = self.line, self.at
        words = self._launch_bounds(self.qualifiers())
        kind, more = self.base()
        words |= self._launch_bounds(more)
        kind = self.stars(kind, words)
        words |= self._launch_bounds(self.qualifiers())
        if self.is_c:
            words.add('extern "C"')
        name = self.name()
        given: tuple[Any, ...] = ()
        if self.word == "<" and is_template:
            given = self._given()
        if self.word != "(":
            self.at = start
            return [self.declaration(line)]
        self.at += 1
        if letters or given:
            self.templates.add(name)
        found = [one for one in self.comma_list(self._parameter, ")") if one is not None]
        parameters = [(kind, name) for kind, name, _ in found]
        defaults = tuple(default for *_, default in found if default is not None)
        if self.follows(";"):  # it's only announced
            self.announced[name] = defaults
            return []
        defaults = defaults or self.announced.get(name, ())
        if self.word != "{":
            raise no_translation(self.line, f"{self.word or 'the end'} where {{ should be")
        self.functions.setdefault(name, []).append(
            Function(kind, name, parameters, self.statement(), letters, frozenset(words), line, given, defaults)
        )
        return []

    def _launch_bounds(self, words: set[str]) -> set[str]:
        """Go past ``__launch_bounds__(256)``."""
        while self.follows("__launch_bounds__"):
            self.expect("(")
            self.comma_list(self.expression, ")")
            words |= self.qualifiers()
        return words

    def _parameter(self) -> tuple[Any, str, Node | None] | None:
        """A parameter's type, its name, and its default value."""
        kind, words = self.base()
        kind = self.stars(kind, words)
        if kind is None and self.word == ")":  # f(void)
            return None
        is_to_arrays = self.word == "(" and self.peek() == "*"  # T (*x)[4], which is T x[][4]
        if is_to_arrays:
            self.at += 2
        name = self.name() if self.word.isidentifier() else ""
        lengths: list[Node | None] = []
        if is_to_arrays:
            self.expect(")")
            lengths.append(None)
        while self.follows("["):
            lengths.append(self.up_to("]", is_optional=True))
        if lengths[1:]:
            kind = Sized(kind, lengths[1:])
        if lengths:
            kind = Pointer(kind, "const" in words)
        return kind, name, self.expression() if self.follows("=") else None

    def _struct(self, letters: list[tuple[str, Any, Any]]) -> None:
        self.expect("struct")
        while self.follows("__align__", "alignas"):
            self.expect("(")
            self.up_to(")")
        name = self.name()
        given = self._given() if self.word == "<" else ()
        found = Struct(name, letters=letters)
        if not given and any(not others for others, _ in self.structs.get(name, [])):
            raise no_translation(self.line, f"another struct {name}")
        self.structs.setdefault(name, []).append((given, found))
        if letters or given:
            self.templates.add(name)
        self.expect("{")
        while not self.follows("}"):
            line = self.line
            kind, words = self.base()
            for declared in self.declarators(kind, words):
                if "static" in words:
                    found.constants[declared.name] = declared.kind, declared.first
                elif declared.first is not None:
                    raise no_translation(line, "a field that begins with a value")
                else:
                    found.fields.append(declared)
        self.expect(";")

    # -- statements ------------------------------------------------------------------------------

    def statement(self) -> Node:
        line, word = self.line, self.word
        if self.follows(";"):
            return Node("block", line, ([],))
        if self.follows("{"):
            found, types = [], dict(self.types)
            while not self.follows("}"):
                if not self.word:
                    self.expect("}")
                found.append(self.statement())
            self.types = types  # what's named inside ends here
            return Node("block", line, (found,))
        if (method := getattr(self, f"_{word}_statement", None)) is not None:
            self.at += 1
            return method(line)
        if self.word == "struct" and self.peek(2) == "{":
            self._struct([])
            return Node("block", line, ([],))
        if self.is_type() and not self._is_conversion():
            return self.declaration(line)
        return self.up_to(";")

    def _is_conversion(self) -> bool:
        """Whether the type that begins here is one to convert to, as in ``float(x) * y;``."""
        return self.word in self.types and self.peek() in ("(", "{")

    def _typedef_statement(self, line: Any) -> Node:
        if self.word == "struct" and self.peek() == "{":
            raise no_translation(line, "a struct without a name")
        kind = self.type()
        self.types[self.name()] = kind
        self.expect(";")
        return Node("block", line, ([],))

    def _using_statement(self, line: Any) -> Node:
        if self.follows("namespace"):
            while not self.follows(";"):
                self.at += 1
            return Node("block", line, ([],))
        name = self.name()
        if self.follows("::"):  # using std::max
            while not self.follows(";"):
                self.at += 1
            return Node("block", line, ([],))
        self.expect("=")
        self.types[name] = self.type()
        self.expect(";")
        return Node("block", line, ([],))

    def _enum_statement(self, line: Any) -> Node:
        is_class = self.follows("class", "struct")
        owner = "" if self.word in (":", "{") else self.name()
        kind = self.type() if self.follows(":") else np.dtype("int32")
        if owner:
            self.types[owner], self.enums[owner] = kind, is_class
        self.expect("{")
        found, last = [], Node("unary", line, ("-", ONE))
        while not self.follows("}"):
            name = self.name()
            whole = f"{owner}::{name}" if is_class else name
            last = self.expression() if self.follows("=") else Node("binary", line, ("+", last, ONE))
            found.append(Node("declare", line, (kind, whole, last, frozenset(["const"]))))
            last = Node("name", line, (whole,))
            self.enumerators[name] = whole
            if self.word != "}":
                self.expect(",")
        self.enumerators = {}
        self.expect(";")
        return Node("together", line, (found,))

    def _static_assert_statement(self, line: Any) -> Node:
        self.expect("(")
        self.comma_list(self.expression, ")")
        self.expect(";")
        return Node("block", line, ([],))

    def _if_statement(self, line: Any) -> Node:
        self.follows("constexpr")
        self.expect("(")
        test, yes = self.up_to(")"), self.statement()
        return Node("if", line, (test, yes, self.statement() if self.follows("else") else None))

    def _while_statement(self, line: Any) -> Node:
        self.expect("(")
        return Node("while", line, (self.up_to(")"), self.statement(), None))

    def _do_statement(self, line: Any) -> Node:
        body = self.statement()
        self.expect("while")
        self.expect("(")
        test = self.up_to(")")
        self.expect(";")
        return Node("do", line, (test, body))

    def _for_statement(self, line: Any) -> Node:
        self.expect("(")
        begin, test, step = self.statement(), self.up_to(";", is_optional=True), self.up_to(")", is_optional=True)
        return Node("block", line, ([begin, Node("while", line, (test or TRUE, self.statement(), step))],))

    def _switch_statement(self, line: Any) -> Node:
        """Its cases, each with the value or None, and the statements up to the next one."""
        self.expect("(")
        value = self.up_to(")")
        self.expect("{")
        cases: list[tuple[Any, list[Node]]] = []
        while not self.follows("}"):
            if self.follows("case"):
                cases.append((self.expression(LEVELS["?"]), []))
                self.expect(":")
            elif self.follows("default"):
                self.expect(":")
                cases.append((None, []))
            elif cases:
                cases[-1][1].append(self.statement())
            else:
                raise no_translation(self.line, f"{self.word or 'the end'} where case should be")
        return Node("switch", line, (value, cases))

    def _return_statement(self, line: Any) -> Node:
        if self.word == "{":
            found = Node("braces", line, (self.braces(),))
            self.expect(";")
            return Node("return", line, (found,))
        return Node("return", line, (self.up_to(";", is_optional=True),))

    def _break_statement(self, line: Any) -> Node:
        self.expect(";")
        return Node("leave", line, ("break",))

    def _continue_statement(self, line: Any) -> Node:
        self.expect(";")
        return Node("leave", line, ("continue",))

    def _goto_statement(self, line: Any) -> Node:
        raise no_translation(line, "goto")

    def declaration(self, line: Any) -> Node:
        """One statement that declares names, all of one type."""
        kind, words = self.base()
        place = frozenset(words)
        found = []
        for one in self.declarators(kind, words):
            if one.lengths:
                found.append(Node("array", line, (one.kind, one.name, one.lengths, one.first, place)))
            else:
                found.append(Node("declare", line, (one.kind, one.name, one.first, place)))
        return Node("together", line, (found,))

    def declarators(self, kind: Any, words: set[str]) -> list[Declarator]:
        """What's declared up to the semicolon, all of one type."""
        return self.comma_list(lambda: self.declarator(self.stars(kind, words), words), ";")

    def declarator(self, kind: Any, words: set[str]) -> Declarator:
        words |= self.qualifiers()
        name = self.name()
        lengths: list[Node | None] = []
        while self.follows("["):
            lengths.append(self.up_to("]", is_optional=True))
        if self.word == "(" and isinstance(kind, (np.dtype, Named)):  # float x(0), dim3 b(1, 2)
            return Declarator(kind, name, lengths, Node("cast", self.line, (kind, self.braces())))
        if self.follows("=") or self.word == "{":
            if self.word == "{":
                return Declarator(kind, name, lengths, self.braces())
            return Declarator(kind, name, lengths, self.expression())
        return Declarator(kind, name, lengths, None)

    def up_to(self, end: str, is_optional: bool = False) -> Any:
        """An expression and the sign behind it. None if there's none."""
        if is_optional and self.word == end:
            found = None
        else:
            found = self.expression()
            while self.word == "," and end in (";", ")"):
                line = self.line
                self.at += 1
                found = Node("comma", line, (found, self.expression()))
        self.expect(end)
        return found

    def braces(self) -> list[Any]:
        """``{1, 2}``, or ``(1, 2)`` where C++ takes both. What's in braces inside of it is a list."""
        end = {"{": "}", "(": ")"}.get(self.take(), "{")
        return self.comma_list(lambda: self.braces() if self.word == "{" else self.expression(), end)

    # -- expressions -----------------------------------------------------------------------------

    def expression(self, loosest: int = 0) -> Node:
        """Operands, with signs in between that bind at least as tightly as those of this level."""
        left = self.unary()
        while (level := LEVELS.get(self.word, -1)) >= loosest:
            line, sign = self.line, self.take()
            if sign == "?":
                yes = self.expression()
                self.expect(":")
                left = Node("conditional", line, (left, yes, self.expression()))
            elif level == 0:  # from right to left, as in a = b = c
                right = Node("braces", line, (self.braces(),)) if self.word == "{" else self.expression()
                left = Node("assign", line, (sign[:-1], left, right))
            else:
                kind = "both" if sign in ("&&", "||") else "binary"
                left = Node(kind, line, (sign, left, self.expression(level + 1)))
        return left

    def unary(self) -> Node:
        line, sign = self.line, self.word
        if self.follows("&"):
            return Node("address", line, (self.unary(),))
        if self.follows("*"):
            return Node("deref", line, (self.unary(),))
        if self.follows("++", "--"):
            return Node("assign", line, (sign[0], self.unary(), ONE))
        if self.follows("-", "+", "!", "~"):
            return Node("unary", line, (sign, self.unary()))
        if self.follows("sizeof"):
            self.expect("(")
            found = self.type() if self.is_type() else self.expression()
            self.expect(")")
            return Node("sizeof", line, (found,))
        if sign == "(" and self._is_cast():
            self.at += 1
            kind = self.type()
            self.expect(")")
            return Node("cast", line, (kind, [self.unary()]))
        return self.postfix(self.primary())

    def _is_cast(self) -> bool:
        """Whether a type in parentheses begins here, and not ``(float(x) + 1)``."""
        self.at += 1
        found = self.is_type() and self.peek() not in ("(", "{")
        self.at -= 1
        return found

    def postfix(self, found: Node) -> Node:
        while True:
            line, sign = self.line, self.word
            if self.follows("["):
                found = Node("index", line, (found, self.up_to("]")))
            elif self.follows("."):
                found = Node("member", line, (found, self.name(), self.braces() if self.word == "(" else []))
            elif self.follows("->"):
                owner = Node("deref", line, (found,))
                found = Node("member", line, (owner, self.name(), self.braces() if self.word == "(" else []))
            elif self.follows("++", "--"):
                found = Node("assign", line, (sign[0], found, ONE, True))
            else:
                return found

    def primary(self) -> Node:
        self.spaces()
        line, word = self.line, self.word
        if self.follows("("):
            return self.up_to(")")
        if word[:1].isdigit() or word[:1] == "." and word[1:2].isdigit():
            return Node("number", line, (_number(self.take(), line),))
        if word[:1] == "'" and len(word) > 2:
            return Node("number", line, (_character(self.take(), line),))
        if word[:1] == '"':
            return Node("text", line, (self.take()[1:-1],))
        if self.follows(*_CASTS):
            self.expect("<")
            kind = self.type()
            self.expect(">")
            self.expect("(")
            return Node("cast", line, (kind, [self.up_to(")")]))
        if word in self.enums and self.peek() == "::":
            self.at += 2
            name = self.name()
            return Node("name", line, (f"{word}::{name}" if self.enums[word] else name,))
        if word.removesuffix("_v") in _TRAITS and self.peek() == "<":
            return self._trait(line)
        if self.is_type():
            return Node("cast", line, (self.type(), self.braces()))
        if word in self.structs and (self.peek() == "::" or self.peek() == "<"):
            return self._of_a_struct(line)
        name = self.name()
        if name in self.templates and self.word == "<":
            given = self._given()
            return Node("call", line, (name, self.braces(), given))
        while self.follows("::"):  # a name of a namespace
            name = self.name()
        if self.word == "(":
            return Node("call", line, (name, self.braces(), ()))
        return Node("name", line, (self.enumerators.get(name, name),))

    def _trait(self, line: Any) -> Node:
        """``is_signed<T>::value``, or ``is_signed_v<T>``."""
        name = self.take()
        given = self._given()
        if not name.endswith("_v"):
            self.expect("::")
            self.expect("value")
        return Node("trait", line, (name.removesuffix("_v"), given))

    def _of_a_struct(self, line: Any) -> Node:
        """``Constants<T>::third``."""
        name = self.name()
        given = self._given() if self.word == "<" else ()
        self.expect("::")
        return Node("constant", line, (Named(name, given), self.name()))


def _character(text: str, line: Any) -> Any:
    inner = unescaped(text[1:-1])
    if len(inner) != 1 or ord(inner) > 255:
        raise no_translation(line, f"{text} as one character")
    return np.uint8(ord(inner)).astype(np.int8)


def _number(text: str, line: Any) -> Any:
    """A number as C reads it: its size and its last letters decide its type. Raises `CompileException`."""
    text, is_hex = text.lower(), text[:2] in ("0x", "0X")
    is_binary = text[:2] in ("0b", "0B")
    digits = text.rstrip("ul" if is_hex else "ulf")
    ending = text[len(digits) :]
    if not is_hex and (set(digits) & set(".e") or "f" in ending):
        if "f" in ending:
            return np.float32(digits)
        return np.float64(digits)
    if is_hex:
        base = 16
    elif is_binary:
        base = 2
    elif digits[0] == "0":
        base = 8
    else:
        base = 10
    try:
        value = int(digits, base)
    except ValueError:
        if base == 8:
            raise CompileException(f"{text} has digits that no octal number has: {line}") from None
        raise CompileException(f"{text} isn't a number of C: {line}") from None
    for name in ("int32", "uint32", "int64", "uint64"):
        fits = value <= np.iinfo(name).max and ("l" not in ending or name[-2:] == "64")
        # A decimal number is unsigned only if it says so, or if no other type is large enough.
        if fits and (name[0] == "u" or "u" not in ending) and (name != "uint32" or is_hex or "u" in ending):
            return np.dtype(name).type(value)
    raise CompileException(f"{text} is too large for a number of C: {line}")
