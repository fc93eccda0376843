"""The C of a kernel as a tree: text → tokens → nodes, by recursive descent, with a method for each rule of the grammar.

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
    parts: tuple[Any, ...]  # nodes, names, signs, types: what the method of this kind in `threads.py` takes


class Function(NamedTuple):
    returns: Any
    parameters: list[tuple[Any, str, bool]]  # type, name, and whether it's the caller's own: a pointer, a reference
    body: Node
    letters: list[str]  # of its template


def not_translated(line: str, what: str) -> NotImplementedError:
    return NotImplementedError(f"{what} can't be translated to NumPy: {line}. simgpu.jit has kernels in Python")


_NUMBER = r"0[xX][\da-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*"
_NAME = r"complex<(?:float|double)>|[A-Za-z_]\w*"
_SIGN = r"<<=|>>=|&&|\|\||<<|>>|\+\+|--|[-+*/%&|^<>=!]=|[-+*/%&|^~!<>=?:;,.(){}\[\]]"
_TOKEN = re.compile(rf"({_NUMBER}|{_NAME}|{_SIGN})|\s+")
_OTHERWISE = [  # how the same is written in fewer ways
    (r"//[^\n]*|/\*.*?\*/", lambda comment: " " + "\n" * comment[0].count("\n")), (r"\\\n", lambda _: " "),
    (r"(\b(std|thrust))?::", lambda _: ""), (r"\bstatic_cast\s*<([\w\s<>]+?)>\s*\(", lambda cast: f"({cast[1]})("),
    (r"\b(and|or|not)\b", lambda word: {"and": "&&", "or": "||", "not": "!"}[word[0]]),
]  # fmt: skip


def tokens(text: str, part: str, macros: dict[str, list[Token]]) -> list[Token]:
    """The tokens of a kernel's `part`, and a semicolon. What ``#define`` lines name goes into `macros`."""
    found: list[Token] = []
    for pattern, other in _OTHERWISE:
        text = re.sub(pattern, other, text, flags=re.DOTALL)
    for number, source in enumerate(text.split("\n"), 1):
        line = f"line {number} of the {part}, {source.strip()}"
        if define := re.match(r"\s*#\s*define\s+(\w+)(?!\w|\()(.*)", source):
            macros[define[1]] = _tokens_of(define[2], line, macros)
        elif not source.strip().startswith("#"):
            found += _tokens_of(source, line, macros)
        elif not re.match(r"\s*#\s*(pragma|include)\b", source):
            raise not_translated(line, "this")
    return [*found, Token(";", line), Token("", line)]


def _tokens_of(text: str, line: str, macros: dict[str, list[Token]]) -> list[Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise not_translated(line, text[at])
        at = match.end()
        if match[1]:
            found += [Token(token.text, line) for token in macros.get(match[0], [Token(match[0], line)])]
    return found


_QUALIFIERS = names("""
    const constexpr static inline volatile __device__ __host__ __forceinline__ __inline__ __restrict__ __constant__
""")
_WORDS = names("unsigned signed char short int long float double bool void auto")
_TYPES = {"size_t": "uint64", "ptrdiff_t": "int64", "float16": "float16", "complex<float>": "complex64",
          "complex<double>": "complex128", **{f"{name}_t": name for name in (
              "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")}}  # fmt: skip
_ASSIGNING = names("= += -= *= /= %= &= |= ^= <<= >>=")
_LEVELS = [level.split() for level in ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")]
# What comes after a statement's first word: other words, rules of the grammar, and with ? rules that may be missing.
_STATEMENTS = {
    "if": "( expression ) statement ?else", "for": "( statement ?expression ; ?expression ) statement",
    "while": "( expression ) statement", "do": "statement while ( expression ) ;",
    "return": "?expression ;", "break": ";", "continue": ";",
}  # fmt: skip


def _in_words(words: list[str]) -> Any:
    """The type in C's own words, such as ``unsigned long long``. None for void."""
    kinds = {"void": None, "auto": "auto", "float": np.dtype("f"), "double": np.dtype("d"), "bool": np.dtype("?")}
    if found := set(words) & set(kinds):
        return kinds[found.pop()]
    size = "8" if "char" in words else "16" if "short" in words else "64" if "long" in words else "32"
    return np.dtype(("uint" if "unsigned" in words else "int") + size)


class Parser:
    """Reads from the left to the right. A type is a dtype, or a name such as T, to which a call gives a meaning."""

    word = property(lambda self: self.tokens[self.at].text)
    line = property(lambda self: self.tokens[self.at].line)

    def __init__(self, letters: Iterable[str]) -> None:
        self.types: dict[str, Any] = {name: np.dtype(dtype) for name, dtype in _TYPES.items()}
        self.types.update((letter, letter) for letter in letters)
        self.functions: dict[str, Function] = {}
        self.macros: dict[str, list[Token]] = {}
        self.words: set[str] = set()  # all that occur

    def program(self, text: Any, part: str) -> list[Node]:
        """The statements in this part of a kernel. Its functions go into `functions`."""
        self.tokens, self.at, found = tokens(str(text), part, self.macros), 0, []
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
        """Whether the next token is one of these. If it is, go past it."""
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

    def listed(self, rule: Callable[[], Any], end: str) -> list[Any]:
        """What the rule reads, again and again, with commas between, up to `end`."""
        found = []
        while not self.follows(end):
            found.append(rule())
            if self.word != end:
                self.expect(",")
        return found

    # -- types and functions

    def begins_type(self) -> bool:
        return self.word in _QUALIFIERS or self.word in _WORDS or self.word in self.types

    def type(self) -> Any:
        words: list[str] = []
        while self.word in _QUALIFIERS | _WORDS or not words and self.word in self.types:
            words += [self.word] if self.word not in _QUALIFIERS else []
            self.at += 1
        if not words:
            raise not_translated(self.line, f"the type {self.word}")
        return self.types[words[0]] if words[0] in self.types else _in_words(words)

    def function(self) -> None:
        letters = []
        if self.follows("template"):
            self.expect("<")
            letters = self.listed(lambda: (self.follows("typename", "class"), self.name())[1], ">")
            self.types.update((letter, letter) for letter in letters)
        returns, name = self.type(), self.name()
        self.expect("(")
        self.functions[name] = Function(returns, self.listed(self.parameter, ")"), self.statement(), letters)

    def parameter(self) -> tuple[Any, str, bool]:
        node = self.declaration(self.type())
        kind, name, is_other, _ = node.parts
        return kind, name, bool(is_other) or node.kind == "array"

    # -- statements

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
            return Node(word, line, tuple(self.parts_of(_STATEMENTS[word])))
        if not self.begins_type():
            node = self.expression()
            self.expect(";")
            return node
        kind = self.type()
        found = [self.declaration(kind)]
        while not self.follows(";"):
            self.expect(",")
            found.append(self.declaration(kind))
        return Node("together", line, (found,))

    def parts_of(self, rules: str) -> Iterator[Any]:
        """The nodes that stand here by rules of `_STATEMENTS`, and None for what's missing."""
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
        self.follows("const", "__restrict__")
        name, length = self.name(), None
        first: Any = None
        if is_array := self.follows("["):
            length = None if self.word == "]" else self.expression()
            self.expect("]")
        if self.follows("=") and self.word != "{":
            first = self.expression()
        elif self.word in ("{", "("):
            first = self.braces() if is_array else Node("cast", line, (kind, self.braces()))
        return Node("array" if is_array else "declare", line, (kind, name, length if is_array else is_other, first))

    def braces(self) -> list[Node]:
        """``{1, 2}``, or ``(1, 2)`` where C++ has both."""
        end = {"{": "}", "(": ")"}.get(self.word, "{")
        self.at += 1
        return self.listed(self.expression, end)

    # -- expressions, from what binds least

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
            if self.begins_type():
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
        if self.begins_type():
            return Node("cast", line, (self.type(), self.braces()))
        name, kinds = self.name(), []
        if name in self.functions and self.follows("<"):
            kinds = self.listed(self.type, ">")
        return Node("call", line, (name, self.braces(), kinds)) if self.word == "(" else Node("name", line, (name,))


def _number(text: str) -> Any:
    """A number as C reads it: its type follows from its size and its last letters."""
    text, is_hex = text.lower(), text[:2] in ("0x", "0X")
    digits = text.rstrip("ul" if is_hex else "ulf")
    ending = text[len(digits) :]
    if not is_hex and (set(digits) & set(".e") or "f" in ending):
        return np.float32(digits) if "f" in ending else np.float64(digits)
    value = int(digits, 16 if is_hex else 8 if digits[0] == "0" else 10)
    for name in ("int32", "uint32", "int64", "uint64"):
        fits = value <= np.iinfo(name).max and ("l" not in ending or name[-2:] == "64")
        # A decimal number is unsigned only if it's written so, or if nothing else is large enough.
        if fits and (name[0] == "u" or "u" not in ending) and (name != "uint32" or is_hex or "u" in ending):
            return np.dtype(name).type(value)
    raise OverflowError(f"{text} is too large for a number in C")
