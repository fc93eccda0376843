"""A kernel's C as a tree: text → tokens → nodes, by recursive descent, with a method for each rule of the grammar.

`threads.py` has a method for each kind of node. What isn't in this grammar raises `NotImplementedError` with its line.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..rules import names


class Token(NamedTuple):
    text: str
    line: str  # as errors show it


class Node(NamedTuple):
    kind: str  # such as "binary"
    line: str
    parts: tuple[Any, ...]  # nodes, names, signs, types: what the method for this kind in `threads.py` takes


class Function(NamedTuple):
    returns: Any
    parameters: list[tuple[Any, str, bool]]  # type, name, and whether it's the caller's: a pointer or a reference
    body: Node
    letters: list[str]  # of its template


def not_translated(line: str, what: str) -> NotImplementedError:
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
    size = 8 if "char" in words else 16 if "short" in words else 64 if "long" in words else 32
    return f"{'u' * ('unsigned' in words)}int{size} "


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
_ASSIGNING = names("= += -= *= /= %= &= |= ^= <<= >>=")
_LEVELS = [level.split() for level in ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")]
# What comes after a statement's first word: other words, and rules of the grammar. Those with ? are optional.
_STATEMENTS = {
    "if": "( expression ) statement ?else", "for": "( statement ?expression ; ?expression ) statement",
    "while": "( expression ) statement", "return": "?expression ;", "break": ";", "continue": ";",
}  # fmt: skip


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
            raise not_translated(self.line, f"{self.word or 'the end'} where {word} should be")

    def name(self) -> str:
        if not self.word.isidentifier():
            raise not_translated(self.line, f"{self.word or 'the end'} where a name should be")
        self.at += 1
        return self.tokens[self.at - 1].text

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
            raise not_translated(self.line, f"the type {self.word}")
        self.at += 1
        return self.types[self.tokens[self.at - 1].text]

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
        node = self.declaration(self.type())
        kind, name, is_other, _ = node.parts
        return kind, name, bool(is_other) or node.kind == "array"

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
        if self.follows(*_STATEMENTS):
            parts = tuple(self.parts_of(_STATEMENTS[word]))
            if word != "for":
                return Node(word, line, parts)
            begin, test, step, body = parts
            return Node("block", line, ([begin, Node("while", line, (test, body, step))],))
        if self.word not in self.types:
            node = self.expression()
            self.expect(";")
            return node
        kind = self.type()
        return Node("together", line, (self.comma_list(lambda: self.declaration(kind), ";"),))

    def parts_of(self, rules: str) -> Iterator[Any]:
        """The nodes that these rules of `_STATEMENTS` read, and None for what's missing."""
        for rule in rules.split():
            if rule in ("expression", "statement"):
                yield getattr(self, rule)()
            elif rule == "?expression":
                yield None if self.word in (";", ")") else self.expression()
            elif rule == "?else":
                yield self.statement() if self.follows("else") else None
            else:
                self.expect(rule)

    def declaration(self, kind: Any) -> Node:
        line, is_other = self.line, self.follows("*", "&")
        name, length = self.name(), None
        first: Any = None
        if is_array := self.follows("["):
            length = None if self.word == "]" else self.expression()
            self.expect("]")
        if self.follows("="):
            first = self.braces() if self.word == "{" else self.expression()
        return Node("array" if is_array else "declare", line, (kind, name, length if is_array else is_other, first))

    def braces(self) -> list[Node]:
        """``{1, 2}``, or ``(1, 2)`` where C++ takes both."""
        end = {"{": "}", "(": ")"}.get(self.word, "{")
        self.at += 1
        return self.comma_list(self.expression, end)

    def expression(self) -> Node:
        left, line, sign = self.conditional(), self.line, self.word
        return Node("assign", line, (sign[:-1], left, self.expression())) if self.follows(*_ASSIGNING) else left

    def conditional(self) -> Node:
        test, line = self.binary(0), self.line
        if not self.follows("?"):
            return test
        yes = self.expression()
        self.expect(":")
        return Node("conditional", line, (test, yes, self.expression()))

    def binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while (sign := self.word) in _LEVELS[level]:
            line = self.line
            self.at += 1
            left = Node("both" if sign in ("&&", "||") else "binary", line, (sign, left, self.binary(level + 1)))
        return left

    def unary(self) -> Node:
        line, sign = self.line, self.word
        if self.follows("++", "--"):
            return Node("step", line, (sign[0], self.unary(), True))
        if self.follows("-", "+", "!", "~", "&", "*"):
            return Node("unary", line, (sign, self.unary()))
        if self.follows("("):
            if self.word in self.types:
                kind = self.type()
                self.expect(")")
                return Node("cast", line, (kind, [self.unary()]))
            self.at -= 1
        return self.postfix()

    def postfix(self) -> Node:
        found = self.primary()
        while True:
            line, sign = self.line, self.word
            if self.follows("["):
                found = Node("index", line, (found, self.expression()))
                self.expect("]")
            elif self.follows("."):
                found = Node("member", line, (found, self.name(), self.braces() if self.word == "(" else []))
            elif self.follows("++", "--"):
                found = Node("step", line, (sign[0], found, False))
            else:
                return found

    def primary(self) -> Node:
        line, word = self.line, self.word
        if self.follows("("):
            found = self.expression()
            self.expect(")")
            return found
        if word[:1] == "." or word[:1].isdigit():
            self.at += 1
            return Node("number", line, (_number(word),))
        if self.word in self.types:
            return Node("cast", line, (self.type(), self.braces()))
        name = self.name()
        return Node("call", line, (name, self.braces())) if self.word == "(" else Node("name", line, (name,))


def _number(text: str) -> Any:
    """A number as C reads it: its size and its last letters decide its type."""
    text, is_hex = text.lower(), text[:2] in ("0x", "0X")
    digits = text.rstrip("ul" if is_hex else "ulf")
    ending = text[len(digits) :]
    if not is_hex and (set(digits) & set(".e") or "f" in ending):
        return np.float32(digits) if "f" in ending else np.float64(digits)
    value = int(digits, 16 if is_hex else 8 if digits[0] == "0" else 10)
    for name in ("int32", "uint32", "int64", "uint64"):
        fits = value <= np.iinfo(name).max and ("l" not in ending or name[-2:] == "64")
        # A decimal number is unsigned only if it says so, or if no other type is large enough.
        if fits and (name[0] == "u" or "u" not in ending) and (name != "uint32" or is_hex or "u" in ending):
            return np.dtype(name).type(value)
    raise OverflowError(f"{text} is too large for a number in C")
