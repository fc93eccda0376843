"""How a model prints: as Flux's do, a line for each part with its parameters. As a tree that unfolds: `explain`."""

import functools
import inspect
import reprlib
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from ..annotations import Array, Tree
from ..arrays import device_of, identity
from ..autodiff.tracked import plain
from ..tree.contract import on_registration
from ..tree.rows import Row, root_row
from ..tree.ties import is_array

WIDTH = 80  # what's longer has a line for each part
MOST = 40  # lines for the parts of one thing
BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "dict": ("{", "}")}
SHORT = (str, bytes, int, float, complex, range, slice, type(None), list, tuple, dict)  # their values are shown


def print_as_tree(cls: type) -> None:
    """Objects of `cls`, which was just registered, print as trees, unless the class says how it prints."""
    own: Any = cls.__repr__
    if own is not object.__repr__ and not _is_of_a_dataclass(own):
        return

    def tree_or_own(x: Any) -> str:
        return text(x) or own(x)

    cls.__repr__ = tree_or_own  # type: ignore[method-assign, assignment]


def _is_of_a_dataclass(method: Any) -> bool:
    """Whether @dataclass has written it: such a ``__repr__`` shows all values."""
    code = getattr(inspect.unwrap(method), "__code__", None)
    return code is not None and code.co_filename == "<string>"


on_registration.append(print_as_tree)


def text(x: Tree) -> str | None:
    """A model with the number of parameters of each part, on one line, or on one for each part."""
    try:
        root = Part(root_row(x))
    except (ValueError, RuntimeError, AttributeError):  # a cycle, or an object that isn't finished
        return None
    if not root.is_object or not root.holds():
        return None
    with_places = len(root.count.places) > 1 and root.has_lines()
    lines = list(root.lines("", with_places))
    line, comment = lines.pop()
    if lines:
        comment = root.count.comment(" in all")
    if root.count.places != ["CPU"]:
        comment += root.count.where()
    lines.append((line.removesuffix(","), comment))
    width = max(len(line) for line, _ in lines) + 6
    return "\n".join(f"{line:<{width}}{comment}".rstrip() for line, comment in lines)


class Count:
    """How many numbers there are in some rows, a tied array's once, and on which devices."""

    def __init__(self) -> None:
        self.arrays: dict[int, Array] = {}  # by the number of the leaf
        self.trainable: set[int] = set()  # those of them that an optimizer may change
        self.places: list[str] = []  # the devices on which they are

    def add_array(self, row: Row, x: Array) -> None:
        leaf = row.leaf
        assert leaf is not None
        self.arrays[leaf] = x
        self.places.append(str(device_of(x)))
        if row.left_out_by is None and x.dtype.kind == "f":
            self.trainable.add(leaf)

    def add(self, other: "Count") -> None:
        self.arrays.update(other.arrays)
        self.trainable |= other.trainable
        self.places += [place for place in other.places if place not in self.places]

    def comment(self, how: str = "") -> str:
        """How many parameters there are, and how many other numbers, such as the running means of `BatchNorm`."""
        count = sum(self.arrays[leaf].size for leaf in self.trainable)
        others = sum(array.size for array in self.arrays.values()) - count
        if not self.arrays:
            return ""
        if not others:
            return f"# {_number(count)} parameters{how}"
        if not count:
            return f"# {_number(others)} not trained"
        return f"# {_number(count)} parameters{how}, plus {_number(others)} not trained"

    def where(self) -> str:
        if not self.arrays:
            return ""
        return f", on {' and '.join(self.places)}"

    def full_comment(self, with_places: bool) -> str:
        if with_places:
            return self.comment() + self.where()
        return self.comment()


class Part:
    """A row of a model as it prints: what stands before it, its own parts, and a count of all in it."""

    def __init__(self, row: Row, before: str = "") -> None:
        self.x = plain(row.x)  # a model may be kept after its gradient
        self.before = before
        self.is_layer = hasattr(type(self.x), "_in_lines")
        self.has_names = row.branch is not None and row.branch.names is not None
        self.is_object = self.has_names and _is_object(self.x)
        self.parts: list[Part] = []
        self.count = Count()
        if is_array(self.x):
            self.count.add_array(row, self.x)
        for inner in row.rows():
            part = Part(inner, self._label(inner.path[-1]))
            self.count.add(part.count)
            if self.is_layer and isinstance(part.x, (tuple, dict)):
                self.parts += part.layers_inside()
            else:
                self.parts.append(part)

    def _label(self, step: Hashable) -> str:
        """What stands before the part at this step of the path."""
        if isinstance(self.x, dict):
            return f"{step!r}: "
        if self.is_layer or not self.has_names:
            return ""
        return f"{step}="

    def layers_inside(self) -> "list[Part]":
        """The layers of a Chain, which stand in it without the tuple or the dict that holds them."""
        for layer, name in zip(self.parts, self.x):
            layer.before = ""
            if isinstance(self.x, dict):
                layer.before = f"{name}="
        return self.parts

    def has_lines(self) -> bool:
        """Whether it has a line for each part, and not one as a whole."""
        if not self.is_layer:
            is_container = isinstance(self.x, (list, tuple, dict))
            return self.is_object or (is_container and self.holds())
        if not self.parts:
            return False
        when = type(self.x)._in_lines
        if when == "if long":
            return len(self.x._call_text()) > WIDTH
        return when == "always"

    def holds(self) -> bool:
        """Whether there's an array in it, or a layer."""
        return bool(self.count.arrays) or self.is_layer or any(part.holds() for part in self.parts)

    def lines(self, indent: str, with_places: bool) -> Iterator[tuple[str, str]]:
        """Its lines, each with a comment, which may also say on which devices its arrays are."""
        if not self.has_lines():
            yield f"{indent}{self.before}{one_line(self.x)},", self.count.full_comment(with_places)
            return
        kind = type(self.x).__name__
        opening, closing = BRACKETS.get(kind, (f"{kind}(", ")"))
        yield f"{indent}{self.before}{opening}", ""
        for part in self.parts[:MOST]:
            yield from part.lines(indent + "  ", with_places)
        others = self.parts[MOST:]
        if others:
            count = Count()
            for part in others:
                count.add(part.count)
            yield f"{indent}  … {len(others):,} more", count.full_comment(with_places)
        yield f"{indent}{closing},", ""


def _is_object(x: Tree) -> bool:
    return hasattr(x, "__dict__") and not isinstance(x, (dict, functools.partial)) and not inspect.isroutine(x)


def _number(count: int) -> str:
    if count < 10_000:
        return str(count)
    return f"{count:,}"


def one_line(x: Any) -> str:
    if is_array(x):
        return f"{x.dtype} {tuple(x.shape)}"
    if callable(x):
        return call_of(x)
    if isinstance(x, (list, tuple, dict)) and len(x) > 6:
        return f"{type(x).__name__} of {len(x)}"
    if isinstance(x, SHORT):
        return reprlib.repr(x)
    return short_name(x)


def call_of(layer: Any) -> str:
    """How a layer, or any function, is written within another one."""
    if hasattr(type(layer), "_in_lines"):
        return layer._call_text()
    return short_name(layer)


def short_name(function: Callable) -> str:
    name = getattr(function, "__name__", None) or repr(function)
    if "\n" in name:  # it prints as a tree
        return f"{type(function).__name__}(…)"
    return name


def options_text(activation: Callable = identity, **switches: bool) -> str:
    """What stands last in a layer's brackets: its activation, if it has one, and what is switched off."""
    texts = []
    if activation is not identity:
        texts.append(f", {short_name(activation)}")
    for name, is_on in switches.items():
        if not is_on:
            texts.append(f", {name}=False")
    return "".join(texts)
