"""How a model prints: as Flux's do, a line for each part with its parameters. As a tree that unfolds: `explain`."""

import functools
import inspect
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

from ..arrays import device_of, identity
from ..autodiff.tracked import plain
from ..tree.contract import children, on_registration, trainable
from ..tree.ties import is_array, parameter_key

WIDTH = 80  # what's longer has a line for each part
MOST = 40  # lines for the parts of one thing


def print_as_tree(cls: type) -> None:
    """Objects of `cls`, which was just registered, print as trees, unless the class says how it prints."""
    own: Any = cls.__repr__
    code = getattr(inspect.unwrap(own), "__code__", None)
    if own is object.__repr__ or code is not None and code.co_filename == "<string>":  # @dataclass shows all values
        cls.__repr__ = lambda x: text(x) or own(x)  # type: ignore[method-assign, assignment, misc]


on_registration.append(print_as_tree)


def text(x: Any) -> str | None:
    """A model with the number of parameters of each part, on one line, or on one for each part."""
    try:
        root = Part(x)
    except (ValueError, RuntimeError, AttributeError):  # a cycle, or an object that isn't finished
        return None
    if not root.is_object or not root.holds():
        return None
    lines = list(root.lines("", each=len(root.places) > 1 and root.has_lines()))
    line, comment = lines.pop()
    everywhere = "" if root.places == ["CPU"] else root.where()
    lines.append((line.removesuffix(","), (root.comment(" in all") if lines else comment) + everywhere))
    width = max(len(line) for line, _ in lines) + 6
    return "\n".join(f"{line:<{width}}{comment}".rstrip() for line, comment in lines)


class Part:
    """A part of a model: what stands before it, its own parts, and all arrays in it. It copies no values."""

    def __init__(self, x: Any, before: str = "", trains: Any = True) -> None:
        self.x = x = plain(x)  # a model may be kept after its gradient
        self.before = before
        self.is_layer, self.is_object = hasattr(type(x), "_in_lines"), False
        self.parts: list[Part] = []
        self.arrays: dict[tuple, Any] = {}  # by the keys that tied ones share
        self.trained: set[tuple] = set()  # the keys of those that an optimizer may change
        self.places: list[str] = []  # the devices on which they are
        if is_array(x):
            self.arrays, self.places = {parameter_key(x): x}, [str(device_of(x))]
            self.trained = set(self.arrays if trains and x.dtype.kind == "f" else ())
            return
        parts = children(x)[0]
        if not isinstance(parts, Mapping):
            self.hold([Part(part, "", trains) for part in parts])
        elif isinstance(x, dict):
            self.hold([Part(part, f"{key!r}: ", trains) for key, part in parts.items()])
        else:
            self.is_object = hasattr(x, "__dict__") and not (isinstance(x, functools.partial) or inspect.isroutine(x))
            named: Any = trainable(x)
            equals = "" if self.is_layer else "{}="
            self.hold([Part(part, equals.format(key), trains and key in named) for key, part in parts.items()])

    def hold(self, parts: "list[Part]") -> None:
        for part in parts:
            self.arrays.update(part.arrays)
            self.trained |= part.trained
            self.places += [place for place in part.places if place not in self.places]
            if self.is_layer and isinstance(part.x, (tuple, dict)):  # the layers of a Chain stand for themselves
                for name, layer in zip(part.x, part.parts):
                    layer.before = f"{name}=" if isinstance(part.x, dict) else ""
                self.parts += part.parts
            else:
                self.parts.append(part)

    def has_lines(self) -> bool:
        """Whether it has a line for each part, and not one as a whole."""
        if self.is_layer:
            when = type(self.x)._in_lines
            return bool(self.parts) and (when == "always" or when == "if long" and len(self.x._call()) > WIDTH)
        return self.is_object or isinstance(self.x, (list, tuple, dict)) and self.holds()

    def holds(self) -> bool:
        return bool(self.arrays) or self.is_layer or any(part.holds() for part in self.parts)

    def lines(self, indent: str, each: bool) -> Iterator[tuple[str, str]]:
        """Its lines, each with a comment, which also says where `each` part is."""
        if not self.has_lines():
            yield f"{indent}{self.before}{one_line(self.x)},", self.comment() + self.where() * each
            return
        kind = type(self.x).__name__
        opening, closing = {"list": ("[", "]"), "tuple": ("(", ")"), "dict": ("{", "}")}.get(kind, (f"{kind}(", ")"))
        yield f"{indent}{self.before}{opening}", ""
        for part in self.parts[:MOST]:
            yield from part.lines(indent + "  ", each)
        if len(self.parts) > MOST:
            others = Part(None)
            others.hold(self.parts[MOST:])
            yield f"{indent}  … {len(others.parts):,} more", others.comment() + others.where() * each
        yield f"{indent}{closing},", ""

    def comment(self, how: str = "") -> str:
        """How many parameters there are, and how many other numbers, such as the running means of `BatchNorm`."""
        count = sum(self.arrays[key].size for key in self.trained)
        others = sum(array.size for array in self.arrays.values()) - count
        plus = f"{_number(others)} not trained"
        if not self.arrays or others and not count:
            return f"# {plus}" if self.arrays else ""
        return f"# {_number(count)} parameters{how}{f', plus {plus}' if others else ''}"

    def where(self) -> str:
        return f", on {' and '.join(self.places)}" if self.arrays else ""


def _number(count: int) -> str:
    return f"{count:,}" if count >= 10_000 else str(count)


def one_line(x: Any) -> str:
    if is_array(x):
        return f"{x.dtype} {tuple(x.shape)}"
    if callable(x):
        return call_of(x)
    if isinstance(x, (list, tuple, dict)) and len(x) > 6:
        return f"{type(x).__name__} of {len(x)}"
    short = (str, bytes, int, float, complex, range, slice, type(None), list, tuple, dict)
    return reprlib.repr(x) if isinstance(x, short) else name_of(x)


def call_of(layer: Any) -> str:
    """How a layer, or any function, is written within another one."""
    return layer._call() if hasattr(type(layer), "_in_lines") else name_of(layer)


def name_of(function: Any) -> str:
    name = getattr(function, "__name__", None) or repr(function)
    return f"{type(function).__name__}(…)" if "\n" in name else name


def settings(activation: Any = identity, **switches: bool) -> str:
    """What stands last in a layer's brackets: its activation, if it has one, and what is switched off."""
    off = [f"{name}=False" for name, is_on in switches.items() if not is_on]
    return "".join(f", {text}" for text in [name_of(activation)] * (activation is not identity) + off)
