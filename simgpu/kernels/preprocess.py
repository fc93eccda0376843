"""C's text becomes tokens: comments go, ``#define`` is replaced, ``#if`` decides which lines there are.

Each token keeps its line, which errors show. One that a macro makes has the line where the macro is used.
"""

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..words import many


class CompileException(Exception):
    """CUDA's compiler would refuse this (`cupy.cuda.compiler.CompileException`)."""


class Line(NamedTuple):
    """A line of a kernel's C: its number in this part, and its text."""

    number: int
    part: str
    text: str

    def __str__(self) -> str:
        return f"line {self.number} of the {self.part}, {self.text}"


class Token(NamedTuple):
    text: str
    line: Line


class Macro(NamedTuple):
    """What ``#define`` says: the names of its arguments, or None, and its tokens."""

    parameters: list[str] | None
    body: list[Token]


def no_translation(line: Any, what: str) -> NotImplementedError:
    return NotImplementedError(f"{what} can't be translated to NumPy: {line}. simgpu.jit has kernels in Python")


_NUMBER = r"0[xX][\da-fA-F]+[uUlL]*|0[bB][01]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*"
_TEXT = r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\''
_SIGN = r"<<=|>>=|\.\.\.|->|::|##|&&|\|\||<<|>>|\+\+|--|[-+*/%&|^<>=!]=|[-+*/%&|^~!<>=?:;,.(){}\[\]#]"
_TOKEN = re.compile(rf"{_TEXT}|{_NUMBER}|[A-Za-z_]\w*|{_SIGN}|\S")
_COMMENT = re.compile(rf"{_TEXT}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORDS = {"and": "&&", "or": "||", "not": "!"}
# The signs between operands, those that bind most loosely first.
_SIGNS = ("= += -= *= /= %= &= |= ^= <<= >>=", "?", "||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -",
          "* / %")  # fmt: skip
LEVELS = {sign: level for level, signs in enumerate(_SIGNS) for sign in signs.split()}
_ESCAPE = re.compile(r"\\(x[\da-fA-F]+|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
# Headers whose names we know anyway.
_KNOWN_HEADERS = re.compile(
    r"(cupy/)?(complex|complex/.*|carray|atomics|hip_workaround|cuda_workaround|float16|math_constants)(\.cuh|\.h)?|c?(math|stdint|float|limits|"
    r"stdio|stdlib|stddef|assert|string)(\.h)?|cu(Complex|da_runtime|da|da_fp16|da_runtime_api)\.h|"
    r"device_launch_parameters\.h|cuda/std/(complex|limits|cstdint|cmath|type_traits)|type_traits|vector_types\.h|"
    r"thrust/complex\.h|cuda_device_runtime_api\.h|vector_functions\.h|sm_\w+\.h|device_functions\.h"
)


def _without_comment(found: re.Match) -> str:
    text = found[0]
    if text[0] != "/":
        return text
    return " " + "\n" * text.count("\n")


def unescaped(text: str) -> str:
    r"""What's between the quotes of a text or a character, with ``\n``, ``\x41`` and ``\101`` as what they mean."""
    return _ESCAPE.sub(_character_of, text)


def _character_of(found: re.Match) -> str:
    code = found[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16) & 255)
    if code[0] in "01234567":
        return chr(int(code, 8) & 255)
    return _ESCAPES.get(code, code)


def _words(text: str, line: Line) -> list[Token]:
    return [Token(_WORDS.get(word, word), line) for word in _TOKEN.findall(text)]


class _Test:
    """What stands after ``#if``: whole numbers, and signs that bind as in C. What can't be read is a `ValueError`.

    A number is None where 0 divides: that's an error only if it decides.
    """

    def __init__(self, words: list[str]) -> None:
        self.words, self.at = [*words, ""], 0

    def holds(self) -> bool:
        found = self.value(LEVELS["?"])
        if found is None or self.words[self.at]:
            raise ValueError
        return bool(found)

    def take(self) -> str:
        self.at += 1
        return self.words[self.at - 1]

    def expect(self, word: str) -> None:
        if self.take() != word:
            raise ValueError

    def value(self, loosest: int) -> int | None:
        left = self.operand()
        while (level := LEVELS.get(self.words[self.at], -1)) >= loosest:
            sign = self.take()
            if sign == "?":
                yes = self.value(level)
                self.expect(":")
                no = self.value(level)
                if left is not None:
                    left = yes if left else no
            else:
                left = _combined(sign, left, self.value(level + 1))
        return left

    def operand(self) -> int | None:
        word = self.take()
        if word == "(":
            found = self.value(LEVELS["?"])
            self.expect(")")
            return found
        if word in _UNARY:
            found = self.operand()
            return None if found is None else int(_UNARY[word](found))
        if word[:1] == "'":
            return ord(unescaped(word[1:-1]))
        if word.isidentifier():  # a name that's no macro is 0
            return int(word == "true")
        digits = word.rstrip("uUlL")
        return int(digits, 8 if re.fullmatch("0[0-7]+", digits) else 0)


_UNARY: dict[str, Callable] = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "!": operator.not_}
_BINARY: dict[str, Callable] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "|": operator.or_, "^": operator.xor, "&": operator.and_,
    "<<": operator.lshift, ">>": operator.rshift, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


def _combined(sign: str, x: int | None, y: int | None) -> int | None:
    if sign in ("&&", "||"):
        return _both_or_either(sign, x, y)
    if x is None or y is None:
        return None
    if sign in ("/", "%"):
        if y == 0:
            return None
        quotient = abs(x) // abs(y)  # C cuts off what's after the point
        if (x < 0) != (y < 0):
            quotient = -quotient
        if sign == "/":
            return quotient
        return x - quotient * y
    if sign not in _BINARY or (sign in ("<<", ">>") and not 0 <= y < 64):  # C's numbers have 64 bits here
        raise ValueError
    return int(_BINARY[sign](x, y))


def _both_or_either(sign: str, x: int | None, y: int | None) -> int | None:
    decides = sign == "||"  # what the left side has to be for the right one not to matter
    if x is None:
        return None
    if bool(x) == decides:
        return int(decides)
    if y is None:
        return None
    return int(bool(y))


class Preprocessor:
    """Makes tokens of the parts of one kernel. What one part defines, later ones know."""

    def __init__(self, options: Sequence[str] = (), knows_headers: bool = False) -> None:
        self.macros: dict[str, Macro] = {}
        self.folders: list[str] = []
        self.headers: set[str] = set()
        self.knows_headers = knows_headers  # or else it goes past every header
        for option in options:
            if option.startswith("-D"):
                name, _, value = option[2:].strip().partition("=")
                self.define(name, value or "1")
            elif option.startswith("-I"):
                self.folders.append(option[2:].strip())

    def define(self, name: str, value: str) -> None:
        self.macros[name] = Macro(None, _words(value, Line(0, "options", f"-D{name}={value}")))

    def tokens(self, text: str, part: str) -> list[Token]:
        """The tokens of this part of a kernel, and a semicolon."""
        found = self._read(text, part)
        last = Line(text.count("\n") + 1, part, text.split("\n")[-1].strip())
        return [*found, Token(";", last), Token("", last)]

    def _read(self, text: str, part: str) -> list[Token]:
        found: list[Token] = []
        waiting: list[Token] = []  # for their macros: a call may go over several lines
        taken: list[bool | None] = []  # for each #if around: whether its lines count; None: one before did
        for line, source in _logical_lines(text, part):
            directive = re.match(r"\s*#\s*(\w*)(.*)", source, re.DOTALL)
            if directive:
                found += self.expand(waiting)
                waiting = []
                if not self._decide(taken, line, *directive.groups()) and all(taken):
                    found += self._obey(line, *directive.groups())
            elif all(taken):
                waiting += _words(source, line)
        if taken:
            raise CompileException(f"an #if has no #endif: {line}")
        return found + self.expand(waiting)

    def _decide(self, taken: list[bool | None], line: Line, word: str, rest: str) -> bool:
        """Whether this is about which lines count. If so, note it."""
        if word in ("if", "ifdef", "ifndef"):
            taken.append(all(taken) and self._holds(word, rest, line))
        elif word in ("elif", "else", "endif"):
            if not taken:
                raise CompileException(f"#{word} without #if: {line}")
            before = taken.pop()
            if word == "endif":
                return True
            if before is not False:
                taken.append(None)
            else:
                taken.append(all(taken) and (word == "else" or self._holds("if", rest, line)))
        else:
            return False
        return True

    def _holds(self, word: str, rest: str, line: Line) -> bool:
        if word != "if":
            return (rest.strip() in self.macros) == (word == "ifdef")
        rest = re.sub(r"\bdefined\s*(\(\s*)?(\w+)(?(1)\s*\))", lambda name: str(int(name[2] in self.macros)), rest)
        try:
            return _Test([token.text for token in self.expand(_words(rest, line))]).holds()
        except ValueError:
            raise no_translation(line, "this test") from None

    def _obey(self, line: Line, word: str, rest: str) -> list[Token]:
        if word == "define":
            name, parameters, body = re.fullmatch(r"\s*(\w+)(\([^)]*\))?(.*)", rest, re.DOTALL).groups()  # type: ignore
            names = None
            if parameters is not None:
                names = [name.strip() for name in parameters[1:-1].split(",") if name.strip()]
            self.macros[name] = Macro(names, _words(body, line))
        elif word == "undef":
            self.macros.pop(rest.strip(), None)
        elif word == "error":
            raise CompileException(f"#error{rest}: {line}")
        elif word == "include":
            self.headers.add(rest.strip()[1:-1])
            if self.knows_headers:
                return self._include(line, rest.strip()[1:-1])
        return []

    def _include(self, line: Line, name: str) -> list[Token]:
        for folder in self.folders:
            path = Path(folder, name)
            if path.is_file():
                return self._read(path.read_text(encoding="utf8"), f"file {name}")
        if not _KNOWN_HEADERS.fullmatch(name):
            raise no_translation(line, f"the header {name}, which isn't here,")
        return []

    def expand(self, tokens: list[Token], hidden: frozenset[str] = frozenset()) -> list[Token]:
        """These tokens, with macros replaced. One in `hidden` isn't: it's being replaced already."""
        found: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            macro = self.macros.get(token.text)
            at += 1
            if macro is None or token.text in hidden:
                found.append(token)
                continue
            body = [Token(part.text, token.line) for part in macro.body]
            if macro.parameters is not None:
                if at == len(tokens) or tokens[at].text != "(":
                    found.append(token)
                    continue
                given, at = _arguments(tokens, at + 1)
                body = self._replaced(macro.parameters, body, given, hidden)
            found += self.expand(_joined(body), hidden | {token.text})
        return found

    def _replaced(
        self, names: list[str], body: list[Token], given: list[list[Token]], hidden: frozenset[str]
    ) -> list[Token]:
        """A macro's tokens, with what's given in place of its arguments."""
        if len(names) == 1 and not given:
            given = [[]]
        if names and names[-1] == "...":
            rest = given[len(names) - 1 :]
            joined: list[Token] = []
            for k, part in enumerate(rest):
                if k:
                    joined.append(Token(",", body[0].line))
                joined += part
            names, given = [*names[:-1], "__VA_ARGS__"], [*given[: len(names) - 1], joined]
        if len(names) != len(given):
            raise CompileException(f"a macro takes {many(len(names), 'argument')}, got {len(given)}: {body[0].line}")
        own = dict(zip(names, given))
        found: list[Token] = []
        for k, token in enumerate(body):
            is_joined = "##" in [near.text for near in (*body[max(k - 1, 0) : k], *body[k + 1 : k + 2])]
            if token.text in own and k and body[k - 1].text == "#":
                found[-1] = Token('"' + " ".join(part.text for part in own[token.text]) + '"', token.line)
            elif token.text in own and is_joined:
                found += own[token.text]
            elif token.text in own:
                found += self.expand(own[token.text], hidden)
            else:
                found.append(token)
        return found


def _logical_lines(text: str, part: str) -> Iterable[tuple[Line, str]]:
    """The lines without comments. One that ends with a backslash goes on in the next."""
    shown = _COMMENT.sub(_without_comment, text).split("\n")
    number, rest = 1, ""
    for at, source in enumerate(shown, 1):
        if not rest:
            number = at
        if source.rstrip().endswith("\\"):
            rest += source.rstrip()[:-1] + " "
            continue
        yield Line(number, part, shown[number - 1].strip()), rest + source
        rest = ""
    if rest:
        yield Line(number, part, shown[number - 1].strip()), rest


def _arguments(tokens: list[Token], at: int) -> tuple[list[list[Token]], int]:
    """A macro's arguments, of which this is the first token, and where the text goes on."""
    given: list[list[Token]] = [[]]
    depth = 0
    for place in range(at, len(tokens)):
        token = tokens[place]
        if token.text == ")" and not depth:
            if given == [[]]:
                return [], place + 1
            return given, place + 1
        if token.text == "," and not depth:
            given.append([])
            continue
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        given[-1].append(token)
    raise CompileException(f"a macro's arguments have no end: {tokens[at - 1].line}")


def _joined(body: list[Token]) -> list[Token]:
    """Two tokens with ## between them are one."""
    found: list[Token] = []
    is_joined = False
    for token in body:
        if token.text == "##":
            is_joined = True
        elif is_joined and found:
            found[-1] = Token(found[-1].text + token.text, token.line)
            is_joined = False
        else:
            found.append(token)
            is_joined = False
    return found
