"""What is where, in words: `explain` draws a model with its devices, `doctor` says what this computer can use."""

import functools
import os
import platform
import reprlib
import sys
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from .annotations import LibraryArray, Tree
from .arrays import device_of
from .autodiff.tracked import plain
from .devices import selection
from .devices.base import GPU, SETTINGS, current
from .devices.cupy.usable import INSTALL, OPTIONAL_PARTS
from .devices.named import functional
from .devices.selection import backends, choose, why_no_gpu
from .helping import AsWritten
from .tree.contract import attributes, is_leaf
from .tree.flat import Attribute, KeyPath
from .tree.rows import Row, root_row
from .tree.ties import is_array, is_trainable_array, lies_alike
from .tree.unreached import arrays_inside, shut_boxes
from .words import many

MOST = 100  # rows drawn within one row


def explain(model: Any) -> Any:
    """What is in `model`: each part with its path, what it is, its device, and whether it moves and trains.

    It also shows which paths share one array (ties), and what can't move: objects of unregistered classes (shut
    boxes), fields that a subset leaves out, and what a function works with. It copies nothing and waits for nothing.
    Of a kernel written by hand (`fluxlite.cuda.jit`), it shows the text, with what each line cost in the latest launch.
    """
    if hasattr(type(model), "explained"):
        return model.explained()
    return Explanation(model)


@dataclass(eq=False)
class DrawnRow:
    """A row as it's drawn: the path to a thing, what it is, its arrays' devices, remarks, and the rows inside it."""

    name: str
    what: str
    place: str = ""  # of an array
    remarks: list[str] = field(default_factory=list)
    shut: bool = False  # a box that can't be entered
    rows: "list[DrawnRow]" = field(default_factory=list)

    def all(self) -> "Iterator[DrawnRow]":
        yield self
        for row in self.rows:
            yield from row.all()

    @property
    def places(self) -> list[str]:
        return list(dict.fromkeys(row.place for row in self.all() if row.place))

    @property
    def letter(self) -> str:
        """C for the CPU, G for a GPU, C+G for both. You see it at a glance, next to the devices' names."""
        letters = {"C" if place == "CPU" else "G" for place in self.places}
        return "+".join(sorted(letters))

    def rows_to_draw(self) -> "list[DrawnRow]":
        """The rows inside it that are drawn, and one that stands for the others."""
        left_out = len(self.rows) - MOST
        if left_out <= 0:
            return self.rows
        return [*self.rows[:MOST], DrawnRow("…", f"{left_out:,} more")]


class Explanation:
    """What `explain` found. Prints as text; a notebook shows a tree that unfolds.

    `arrays` counts the arrays that can move, a tied one once. `parameters` counts the numbers that train. `bytes` has
    the arrays' bytes per device. `shut` lists the paths of the arrays that are out of reach.
    """

    def __init__(self, model: Tree) -> None:
        self._moving: dict[int, LibraryArray] = {}  # the arrays that move, by the number of the leaf: a tied one once
        self._out_of_reach: dict[str, LibraryArray] = {}
        root = root_row(model)
        self._flat = root.flat
        self._paths = root.flat.paths()
        self.root = self._draw(root)
        self.arrays = len(self._moving)
        self.bytes = _bytes(self._moving.values())
        self.shut = list(self._out_of_reach)
        self.parameters = sum(array.size for leaf, array in self._moving.items() if self._is_parameter(leaf, array))

    def sentences(self) -> list[str]:
        """The totals."""
        moving = self._moving.values()
        lines = [f"{_arrays(moving, 'can move')}."]
        if self.arrays:
            numbers = sum(array.size for array in moving)
            them = "it" if self.arrays == 1 else "them"
            lines.append(f"{self.parameters:,} of {numbers:,} numbers in {them} train (parameters).")
        if self.shut:
            lines.append(f"{_arrays(self._out_of_reach.values(), 'out of reach, no move goes there')}.")
        return lines

    def __repr__(self) -> str:
        return as_text(self.root, self.sentences())

    def _repr_html_(self) -> str:
        return as_html(self.root, self.sentences())

    def _draw(self, row: Row) -> DrawnRow:
        """How a row of the model is drawn, with the rows inside it."""
        array = plain(row.x)
        if is_array(array):
            drawn = self._draw_array(row, array)
            if row.x is not array:
                drawn.remarks.append("tracked for a gradient")
            return drawn
        drawn = DrawnRow(str(row.path), describe(row.x))
        if row.first_place != row.number:
            drawn.remarks.append(f"the same object as {self._paths[row.first_place] or 'the whole model'}")
            return drawn
        drawn.rows = [self._draw(part) for part in row.rows()]
        if row.leaf is not None:
            self._add_boxes(drawn, row.path, row.x)
        self._add_left_out(drawn, row)
        return drawn

    def _add_boxes(self, drawn: DrawnRow, path: KeyPath, x: Tree) -> None:
        """What no walk enters: `x` itself, which `drawn` then says, or what a function works with, a row each."""
        for _, place, value, why in shut_boxes(x, path):
            if place == path:
                self._shut(drawn, "a shut box", why, value, path)
                continue
            box = self._shut(DrawnRow(str(place), describe(value)), "out of reach", why, value, place)
            if box.shut:
                drawn.rows.append(box)

    def _add_left_out(self, drawn: DrawnRow, row: Row) -> None:
        """The fields of an object that aren't among its children."""
        x = row.x
        if row.branch is None or row.branch.names is None:
            return
        if isinstance(x, (dict, list, tuple, functools.partial, types.FunctionType, types.MethodType)):
            return
        for name, value in attributes(x).items():
            if name in row.branch.names:
                continue
            place = row.path + (Attribute(name),)
            why = f"not one of {type(x).__name__}'s children"
            left_out = self._shut(DrawnRow(str(place), describe(value)), "left out", why, value, place)
            if not left_out.remarks:
                left_out.remarks = [why]
            drawn.rows.append(left_out)

    def _draw_array(self, row: Row, array: LibraryArray) -> DrawnRow:
        if row.first_place != row.number:
            how = "" if lies_alike(array, plain(self._flat.at(row.first_place))) else ", transposed"
            tie = f"tied to {self._paths[row.first_place]}{how}: one array"
            return DrawnRow(str(row.path), describe(array), str(device_of(array)), [tie])
        self._moving[row.number] = array
        return _drawn_array(row.path, array, f"{_moves(array)}, {self._trains(row, array)}")

    def _is_parameter(self, leaf: int, array: LibraryArray) -> bool:
        return bool(self._flat.may_train[leaf]) and is_trainable_array(array)

    def _trains(self, row: Row, array: LibraryArray) -> str:
        """Whether it trains, in words, and why not."""
        if self._is_parameter(row.number, array):
            return "trains"
        if not is_trainable_array(array):
            return f"does not train: it holds {array.dtype}"
        if row.left_out_by is None:
            return "does not train"
        return f"does not train: {row.left_out_by.__name__} does not name it trainable"

    def _shut(self, drawn: DrawnRow, kind: str, why: str, x: Tree, path: KeyPath) -> DrawnRow:
        """`drawn` as a box with the arrays in `x`, which is at `path` and no move reaches; as it is without any."""
        for place, array in arrays_inside(x, path):
            self._out_of_reach[str(place)] = array
            inner = _drawn_array(place, array, "stays")
            if is_array(x):
                drawn.place = inner.place
                drawn.remarks = inner.remarks
            else:
                drawn.rows.append(inner)
            drawn.shut = True
        if drawn.shut:
            drawn.what = f"{drawn.what}, {kind}"
            drawn.remarks.append(why)
        return drawn


def _moves(array: Any) -> str:
    """Whether it moves to a GPU, in words, and why not."""
    try:
        GPU.check(array)
    except TypeError as error:
        return f"can't move: {error}"
    return "moves"


def _drawn_array(path: KeyPath, array: LibraryArray, remark: str) -> DrawnRow:
    return DrawnRow(str(path), describe(array), str(device_of(array)), [f"{array.nbytes:,} bytes", remark])


def _arrays(arrays: Collection, do: str) -> str:
    text = f"{many(len(arrays), 'array')} {do}"
    amounts = [f"{size:,} bytes on {device}" for device, size in _bytes(arrays).items()]
    if amounts:
        text += f": {', '.join(amounts)}"
    return text


def _bytes(arrays: Iterable) -> dict[str, int]:
    sums: Counter = Counter()
    for array in arrays:
        sums[str(device_of(array))] += array.nbytes
    return dict(sums)


def describe(x: Tree) -> str:
    if is_array(x):
        return f"{x.dtype} {tuple(x.shape)}"
    for kinds, words in _WORDS:
        if isinstance(x, kinds):
            return words(x)
    if is_leaf(x):
        return f"{type(x).__name__} object"
    return type(x).__name__


def _tuple_in_words(x: tuple) -> str:
    if hasattr(x, "_fields"):  # a named tuple
        return type(x).__name__
    return f"{type(x).__name__} of {len(x)}"


_WORDS: list[tuple[Any, Callable[[Any], str]]] = [
    ((int, float, complex, np.generic), lambda x: f"number {x!r}"),
    ((str, bytes), lambda x: f"text {reprlib.repr(x)}"),
    (type(None), repr),
    ((types.FunctionType, types.BuiltinFunctionType, np.ufunc), lambda x: f"function {x.__name__}"),
    (types.MethodType, lambda x: f"method {x.__name__} of a {type(x.__self__).__name__}"),
    (tuple, _tuple_in_words),
    ((list, dict, set, frozenset), lambda x: f"{type(x).__name__} of {len(x)}"),
]

# -- as text with branches, or as HTML that unfolds: neither needs colours or JavaScript -------------------------------


def as_text(root: DrawnRow, below: list[str]) -> str:
    lines = list(_lines(root, "", ""))
    width = max(len(name) for name, _, _ in lines)
    width_of_place = max(len(place) for _, place, _ in lines)
    texts = [f"{name:<{width}}  {place:<{width_of_place}}  {text}".rstrip() for name, place, text in lines]
    return "\n".join([*texts, "", *below])


def _lines(row: DrawnRow, branch: str, indent: str) -> Iterator[tuple[str, str, str]]:
    """(name, place, text) of `row` and of the rows in it, each below the one that it's in."""
    text = "; ".join(row.remarks)
    if row.name and row.what and text:
        text = f"{row.what}: {text}"
    elif row.name and row.what:
        text = row.what
    yield f"{branch}{row.name or row.what}", f"{row.letter} {', '.join(row.places)}".strip(), text
    rows = row.rows_to_draw()
    for inner in rows[:-1]:
        yield from _lines(inner, f"{indent}├ ", f"{indent}│ ")
    for inner in rows[-1:]:
        yield from _lines(inner, f"{indent}└ ", f"{indent}  ")


# The page's own text colours can be read on light and dark. Without any styles, as on GitHub, nested lists remain.
COLOURS = {"C": "#2577b5", "G": "#0b8163", "C+G": "#6b4a9e"}  # white text is readable on each of these
_LIST = "list-style:none;margin:0 0 0 .45em;padding-left:1em;border-left:1px solid #8888"
_BESIDE_A_TRIANGLE = ' style="padding-left:1.15em"'  # what doesn't unfold starts where the others' names do
_BADGE = "color:#fff;border-radius:.25em;padding:0 .35em;font-size:.85em;background:"
_BOX = ' style="border:2px dashed #c77700;border-radius:.3em;padding:.1em .5em;margin:.2em 0;width:fit-content"'


def as_html(root: DrawnRow, below: list[str]) -> str:
    sentences = "<br>".join(map(escape, below))
    is_short = len(list(root.all())) <= 60
    tree = _element(root, levels_open=1000 if is_short else 2)
    return f'<div style="line-height:1.6;max-width:80em">{tree}<p style="margin:.5em 0 0">{sentences}</p></div>'


def _element(row: DrawnRow, levels_open: int) -> str:
    if not row.rows:
        style = _BOX if row.shut else _BESIDE_A_TRIANGLE
        return f"<div{style}>{_line(row)}</div>"
    attributes = ""
    if levels_open > 0 or any(inner.shut for inner in row.all()):
        attributes += " open"
    if row.shut:
        attributes += _BOX
    items = "".join(f'<li style="margin:0">{_element(inner, levels_open - 1)}</li>' for inner in row.rows_to_draw())
    summary = f'<summary style="cursor:pointer">{_line(row)}</summary>'
    return f'<details{attributes}>{summary}<ul style="{_LIST}">{items}</ul></details>'


def _line(row: DrawnRow) -> str:
    parts = []
    if row.name:
        parts.append(f"<code>{escape(row.name)}</code>")
    if row.letter:
        parts.append(f'<b style="{_BADGE}{COLOURS[row.letter]}">{row.letter}</b> {", ".join(row.places)}')
    text = escape(row.what)
    if row.shut or not row.name:
        text = f"<b>{text}</b>"
    if row.remarks:
        text += f": {escape('; '.join(row.remarks))}"
    if text:
        parts.append(text)
    return " &nbsp;".join(parts)


# -- what this computer can use: `doctor` ------------------------------------------------------------------------------

# What each kind of GPU takes: its library's module and name, and how to get it.
_CUDA = 'an NVIDIA GPU with its driver (nvidia.com/drivers), and pip install "cupy-cuda12x[ctk]" or "cupy-cuda13x[ctk]"'
_LIBRARIES = {
    "CUDA": ("cupy", "CuPy", _CUDA),
    "AMDGPU": ("cupy", "CuPy", "an AMD GPU with ROCm 7 (rocm.docs.amd.com), and pip install cupy-rocm-7-0"),
    "Metal": ("mlx.core", "MLX", "a Mac with Apple's own processor, and pip install mlx"),
}


class Report(AsWritten):
    """Text that prints as it is when it's the value of a notebook cell or after ``>>>``."""


def doctor() -> Report:
    """A report on this computer's GPUs, as text: which one `gpu` uses and why, and what the others lack.

    You can also run ``python -m fluxlite doctor``. Flux has no such function; CUDA.jl's is ``CUDA.versioninfo()``.
    """
    rows = list(_rows())
    width = 2 + max(len(name) for name, _ in rows)
    indent = " " * width
    return Report("\n".join(name.ljust(width) + text.replace("\n", f"\n{indent}") for name, text in rows))


def _rows() -> Iterator[tuple[str, str]]:
    from . import __version__

    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield "fluxlite", f"{__version__}, NumPy {np.__version__}, {system}"
    choice = choose()
    device = None
    if choice.backend != "CPU":
        device = current(backends()[choice.backend].devices())
    if device is None:
        yield "gpu uses", f"the CPU: {choice.why}"
    else:
        yield "gpu uses", f"{device!r}, {device.name}: {choice.why}"
    if choice.warning:
        yield "warning", choice.warning
    if device is None:
        yield "because", why_no_gpu()
    for name in backends():
        yield name, "\n".join(_state_of(name))
    for name in (selection.VARIABLE, selection.FOLDER_VARIABLE, "CUDA_VISIBLE_DEVICES"):
        yield name, os.environ.get(name, "not set")
    for name in ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        if name in os.environ:
            yield name, os.environ[name]
    yield selection.FILE, _preference()


def _state_of(name: str) -> Iterator[str]:
    """Whether the library is installed, its version, and whether it works; if not, why, and how to get it."""
    answer = functional(name)
    module, library, how = _LIBRARIES.get(name, ("", "", ""))
    version = getattr(sys.modules.get(module), "__version__", "")  # it was imported when `functional` tried
    which = ""
    if version and answer.installed and not SETTINGS.pretended:
        which = f" ({library} {version})"
    if answer:
        yield f"functional{which}"
    elif version in answer.reason:
        yield f"not functional: {answer.reason}"
    else:
        yield f"not functional: {answer.reason}{which}"
    if name != "CPU":
        yield from (f"{device!r}  {device.name}" for device in backends()[name].devices())
    if answer and name in INSTALL and not SETTINGS.pretended:  # it computes here, but not with all its libraries
        parts = {part: functional(name, part) for part in backends()[name].parts if part not in OPTIONAL_PARTS}
        missing = [f"without {part}: {answer.reason}" for part, answer in parts.items() if not answer]
        yield from missing
        if missing:
            yield f"they come with {INSTALL[name]}"
    elif not answer and how:
        yield f"it takes {how}"


def _preference() -> str:
    path = selection.preference_file()
    stored = selection.stored_backend()
    if SETTINGS.pretended:
        return f"pretended: {stored}"
    if not os.path.exists(path):
        return f"none; gpu_backend(name) would write {path}"
    if stored:
        return f"{path}\n[fluxlite] gpu_backend = {stored}"
    return f"{path}\n[fluxlite] has no gpu_backend"
