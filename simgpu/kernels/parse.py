"""A kernel's C as a tree: text → tokens → nodes, by recursive descent, with a method for each rule of the grammar.

`threads.py` has a method for each kind of node. What isn't in this grammar raises `NotImplementedError` with its line.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np


class Token(NamedTuple):
    text: str
    line: str  # as errors show it


class Node(NamedTuple):
    kind: str  # such as "binary"
    line: str
    parts: tuple[Any, ...]  # nodes, names, signs, types: what the method for this kind in `threads.py` takes


TRUE, ONE = Node("number", "", (np.True_,)), Node("number", "", (np.int32(1),))


class Function(NamedTuple):
    returns: Any
    parameters: list[tuple[Any, str, bool]]  # type, name, and whether it's the caller's: a pointer or a reference
    body: Node
    letters: list[str]  # of its template


def no_translation(line: str, what: str) -> NotImplementedError:
    return NotImplementedError(f"{what} can't be translated to NumPy: {line}. simgpu.jit has kernels in Python")


_NUMBER = r"0[xX][\da-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*"
_NAME = r"complex<(?:float|double)>|[A-Za-z_]\w*"
_SIGN = r"<<=|>>=|&&|\|\||<<|>>|\+\+|--|[-+*/%&|^<>=!]=|[-+*/%&|^~!<>=?:;,.(){}\[\]]"
_TOKEN = re.compile(rf"{_NUMBER}|{_NAME}|{_SIGN}|\S")
_WHITE = [  # what we skip, also across lines
    (r"//[^\n]*|/\*.*?\*/", lambda comment: " " + "\n" * comment[0].count("\n")), (r"\\\n", lambda _: " "),
]  # fmt: skip


def _integer(found: re.Match) -> str:
    """NumPy's name for a type such as ``unsigned long long``."""
    words = found[0].split()
    if "char" in words:
        size = 8
    elif "short" in words:
        size = 16
    elif "long" in words:
        size = 64
    else:
        size = 32
    if "unsigned" in words:
        return f"uint{size} "
    return f"int{size} "


_SIMPLER: list[tuple[str, Any]] = [  # so that there are fewer ways to write the same
    (r"(\b(std|thrust))?::", ""), (r"\bstatic_cast\s*<([\w\s<>]+?)>\s*\(", r"(\1)("),
    (r"\b(and|or|not)\b", lambda word: {"and": "&&", "or": "||", "not": "!"}[word[0]]),
    (r"\b(const(expr)?|static|inline|volatile|__(device|host|forceinline|inline|restrict|constant)__)\b", ""),
    (r"\b((unsigned|signed|char|short|int|long)\b\s*)+", _integer),
]  # fmt: skip


def tokens(text: str, part: str) -> list[Token]:
    """The tokens of a kernel's `part`, and a semicolon."""
    found: list[Token] = []
    for pattern, other in _WHITE:
        text = re.sub(pattern, other, text, flags=re.DOTALL)
    for number, source in enumerate(text.split("\n"), 1):
        line = f"line {number} of the {part}, {source.strip()}"
        for pattern, other in _SIMPLER:
            source = re.sub(pattern, other, source)
        if not re.match(r"\s*#\s*(pragma|include)\b", source):
            found += [Token(word, line) for word in _TOKEN.findall(source)]
    return [*found, Token(";", line), Token("", line)]


_SIZES = [f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)]
_TYPES = {
    **{name: name for name in (*_SIZES, "float16")}, **{f"{name}_t": name for name in _SIZES}, "size_t": "uint64",
    "ptrdiff_t": "int64", "float": "float32", "double": "float64", "bool": "bool", "complex<float>": "complex64",
    "complex<double>": "complex128",
}  # fmt: skip
# The signs between operands, those that bind most loosely first.
_SIGNS = ("= += -= *= /= %= &= |= ^= <<= >>=", "?", "||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -",
          "* / %")  # fmt: skip
_LEVELS = {sign: level for level, signs in enumerate(_SIGNS) for sign in signs.split()}


class Parser:
    """Reads from left to right. A type is a dtype, or a name such as T, which a call gives a meaning."""

    word = property(lambda self: self.tokens[self.at].text)
    line = property(lambda self: self.tokens[self.at].line)

    def __init__(self, letters: Iterable[str]) -> None:
        self.types: dict[str, Any] = {"void": None, **{name: np.dtype(dtype) for name, dtype in _TYPES.items()}}
        self.types.update((letter, letter) for letter in letters)
        self.functions: dict[str, Function] = {}
        self.words: set[str] = set()  # all that the text has

    def program(self, text: Any, part: str) -> list[Node]:
        """The statements of this part of a kernel. Its functions go into `functions`."""
        self.tokens, self.at, found = tokens(str(text), part), 0, []
        self.words.update(token.text for token in self.tokens)
        while self.word:
            # In a function, a parenthesis comes before the first = or ;
            first = next(token.text for token in self.tokens[self.at :] if token.text in ("(", "=", ";"))
            if self.word == "template" or part == "preamble" and first == "(":
                self.function()
            else:
                found.append(self.statement())
        return found

    def follows(self, *words: str) -> bool:
        """Whether the next token is one of these. If so, go past it."""
        found = self.word in words
        self.at += found
        return found

    def expect(self, word: str) -> None:
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
            if self.word != end:
                self.expect(",")
        return found

    def type(self) -> Any:
        if self.word not in self.types:
            raise no_translation(self.line, f"the type {self.word}")
        return self.types[self.take()]

    def function(self) -> None:
        letters = []
        if self.follows("template"):
            self.expect("<")
            letters = self.comma_list(lambda: (self.follows("typename", "class"), self.name())[1], ">")
            self.types.update((letter, letter) for letter in letters)
        returns, name = self.type(), self.name()
        self.expect("(")
        self.functions[name] = Function(returns, self.comma_list(self.parameter, ")"), self.statement(), letters)

    def parameter(self) -> tuple[Any, str, bool]:
        kind, is_other, name = self.type(), self.follows("*", "&"), self.name()
        if is_array := self.follows("["):
            self.up_to("]", is_optional=True)
        return kind, name, is_other or is_array

    def statement(self) -> Node:
        line, word = self.line, self.word
        if self.follows(";"):
            return Node("block", line, ([],))
        if self.follows("{"):
            found = []
            while not self.follows("}"):
                found.append(self.statement())
            return Node("block", line, (found,))
        if self.follows("typedef"):
            kind = self.type()
            self.types[self.name()] = kind
            return self.statement()
        if self.follows("if"):
            self.expect("(")
            test, yes = self.up_to(")"), self.statement()
            return Node("if", line, (test, yes, self.statement() if self.follows("else") else None))
        if self.follows("while"):
            self.expect("(")
            return Node("while", line, (self.up_to(")"), self.statement(), None))
        if self.follows("for"):
            self.expect("(")
            begin, test, step = self.statement(), self.up_to(";", is_optional=True), self.up_to(")", is_optional=True)
            return Node("block", line, ([begin, Node("while", line, (test or TRUE, self.statement(), step))],))
        if self.follows("return"):
            return Node("return", line, (self.up_to(";", is_optional=True),))
        if self.follows("break", "continue"):
            self.expect(";")
            return Node("leave", line, (word,))
        if self.word in self.types:
            kind = self.type()
            return Node("together", line, (self.comma_list(lambda: self.declaration(kind), ";"),))
        return self.up_to(";")

    def up_to(self, end: str, is_optional: bool = False) -> Any:
        """An expression and the sign behind it. None if there's none."""
        found = None if is_optional and self.word == end else self.expression()
        self.expect(end)
        return found

    def declaration(self, kind: Any) -> Node:
        line, is_other, name = self.line, self.follows("*", "&"), self.name()
        if self.follows("["):
            length = self.up_to("]", is_optional=True)
            first = self.braces() if self.follows("=") and self.word == "{" else []
            return Node("array", line, (kind, name, length, first))
        first = [self.expression()] if self.follows("=") else []
        # int x = 1.5 is int x = int(1.5), but a pointer or a reference is a place
        return Node("declare", line, (name, first[0] if is_other and first else Node("cast", line, (kind, first))))

    def braces(self) -> list[Node]:
        """``{1, 2}``, or ``(1, 2)`` where C++ takes both."""
        end = {"{": "}", "(": ")"}.get(self.take(), "{")
        return self.comma_list(self.expression, end)

    def expression(self, loosest: int = 0) -> Node:
        """Operands, with signs in between that bind at least as tightly as those of this level."""
        left = self.unary()
        while (level := _LEVELS.get(self.word, -1)) >= loosest:
            line, sign = self.line, self.take()
            if sign == "?":
                left = Node("conditional", line, (left, self.up_to(":"), self.expression()))
            elif level == 0:  # from right to left, as in a = b = c
                left = Node("assign", line, (sign[:-1], left, self.expression()))
            else:
                kind = "both" if sign in ("&&", "||") else "binary"
                left = Node(kind, line, (sign, left, self.expression(level + 1)))
        return left

    def unary(self) -> Node:
        line, sign = self.line, self.word
        if self.follows("&", "*"):  # what a pointer means here is the place itself
            return self.unary()
        if self.follows("++", "--"):
            return Node("assign", line, (sign[0], self.unary(), ONE))
        if self.follows("-", "+", "!", "~"):
            return Node("unary", line, (sign, self.unary()))
        if sign == "(" and self.tokens[self.at + 1].text in self.types:
            self.at += 1
            kind = self.type()
            self.expect(")")
            return Node("cast", line, (kind, [self.unary()]))
        return self.postfix()

    def postfix(self) -> Node:
        found = self.primary()
        while True:
            line, sign = self.line, self.word
            if self.follows("["):
                found = Node("index", line, (found, self.up_to("]")))
            elif self.follows("."):
                found = Node("member", line, (found, self.name(), self.braces() if self.word == "(" else []))
            elif self.follows("++", "--"):
                found = Node("assign", line, (sign[0], found, ONE, True))
            else:
                return found

    def primary(self) -> Node:
        line, word = self.line, self.word
        if self.follows("("):
            return self.up_to(")")
        if word[:1] == "." or word[:1].isdigit():
            return Node("number", line, (_number(self.take()),))
        if self.word in self.types:
            return Node("cast", line, (self.type(), self.braces()))
        name = self.name()
        if self.word == "(":
            return Node("call", line, (name, self.braces()))
        return Node("name", line, (name,))


def _number(text: str) -> Any:
    """A number as C reads it: its size and its last letters decide its type."""
    text, is_hex = text.lower(), text[:2] in ("0x", "0X")
    digits = text.rstrip("ul" if is_hex else "ulf")
    ending = text[len(digits) :]
    if not is_hex and (set(digits) & set(".e") or "f" in ending):
        if "f" in ending:
            return np.float32(digits)
        return np.float64(digits)
    value = int(digits, 16 if is_hex else 8 if digits[0] == "0" else 10)
    for name in ("int32", "uint32", "int64", "uint64"):
        fits = value <= np.iinfo(name).max and ("l" not in ending or name[-2:] == "64")
        # A decimal number is unsigned only if it says so, or if no other type is large enough.
        if fits and (name[0] == "u" or "u" not in ending) and (name != "uint32" or is_hex or "u" in ending):
            return np.dtype(name).type(value)
    raise OverflowError(f"{text} is too large for a number in C")
