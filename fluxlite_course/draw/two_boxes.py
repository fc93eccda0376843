"""Two boxes, host and device: which arrays are in them, and what was copied between them."""

from typing import Any, NamedTuple

from fluxlite import device_of, get_device, gpu_device
from fluxlite.messages import many
from fluxlite.receipts import Receipt
from simgpu.events import DEVICE_TO_HOST, HOST_TO_DEVICE

from .pictures import BLUE, ORANGE, Picture, as_written, show
from .shapes import Drawing, box, sheet

MOST_ARROWS = 6
# The layout, in arbitrary units: the boxes, and the arrows between them.
_HOST, _DEVICE, _BOX = 0.0, 7.2, 2.8
_BETWEEN = (_HOST + _BOX + 0.15, _DEVICE - 0.15)
_MIDDLE = sum(_BETWEEN) / 2
_ROW = 0.66


class Arrow(NamedTuple):
    """One or more copies, as the picture shows them."""

    to_device: bool
    copies: int
    bytes: int
    explicit: bool
    line: str


def boxes(receipt: Receipt, **arrays: Any) -> Picture:
    """A picture of `receipt`: an arrow for each copy between host and device, for the first six.

    Solid arrows are copies that the program asked for; dashed ones are side effects. `arrays` are drawn in the box of
    the memory that they're in now, under your names for them. Raises `TypeError` for anything that's neither an array
    nor a number.

    >>> with fl.simulate_gpu():
    ...     with fl.receipt() as r:
    ...         x = fl.gpu(np.ones(5, np.float32))
    ...     boxes(r, x=x)
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    1 copy to the device, 20 bytes; none back. On the host: nothing that was named. On the device: x.
    """
    found = [
        Arrow(m.kind == HOST_TO_DEVICE, m.times, m.bytes, m.explicit, m.line.partition(": ")[2])
        for m in receipt.timeline()
        if m.kind in (HOST_TO_DEVICE, DEVICE_TO_HOST)
    ]
    inside: dict[bool, list[str]] = {True: [], False: []}
    for name, x in arrays.items():
        inside[_is_on_device(name, x)].append(_label(name, x))
    shown = found[:MOST_ARROWS]
    rows = max(2, len(shown) + (len(found) > len(shown)), *(len(labels) for labels in inside.values()))
    height = rows * _ROW + 0.15
    figure, axes = sheet(10, height + 0.5, (-0.05, _DEVICE + _BOX + 0.05), (height + 0.05, -0.5))
    _box(axes, _HOST, "host: CPU and its memory", rows, inside[False])
    _box(axes, _DEVICE, f"device: {getattr(gpu_device(), 'name', 'GPU')}", rows, inside[True])
    for row, arrow in enumerate(shown, 1):
        _draw(axes, arrow, row)
    if len(found) > len(shown):
        _write(axes, f"… and {len(found) - len(shown):,} more", len(shown) + 1)
    if not found:
        _write(axes, "no copies", rows / 2 + 0.5)
    return show(figure, _sentence(found, inside))


def host_and_device() -> Drawing:
    """A picture of the course's six basic words."""
    return Drawing(__package__, "host_and_device.svg")


def _is_on_device(name: str, x: Any) -> bool:
    if isinstance(x, (int, float, complex)):
        return False
    if not hasattr(x, "dtype"):
        raise TypeError(f"boxes draws arrays and numbers; {name} is a {type(x).__name__}")
    return device_of(x) not in (None, get_device("CPU"))


def _label(name: str, x: Any) -> str:
    return f"{name}  {x.dtype} {x.shape}" if getattr(x, "shape", ()) else f"{name}  {getattr(x, 'dtype', 'a number')}"


def _sentence(found: list[Arrow], inside: dict[bool, list[str]]) -> str:
    there = _total([arrow for arrow in found if arrow.to_device], "to the device")
    back = _total([arrow for arrow in found if not arrow.to_device], "back")
    text = f"{there}; {back}." if found else "no copies."
    names = {place: ", ".join(label.split()[0] for label in labels) for place, labels in inside.items()}
    if any(names.values()):
        nothing = "nothing that was named"
        text += f" On the host: {names[False] or nothing}. On the device: {names[True] or nothing}."
    return text[0].upper() + text[1:]


def _total(arrows: list[Arrow], way: str) -> str:
    copies = sum(arrow.copies for arrow in arrows)
    return f"{many(copies, 'copy')} {way}, {sum(a.bytes for a in arrows):,} bytes" if copies else f"none {way}"


def _box(axes: Any, left: float, title: str, rows: int, labels: list[str]) -> None:
    box(axes, left, 0, _BOX, rows * _ROW + 0.1, title, above=0.13)
    for row, label in enumerate(labels, 1):
        axes.text(left + 0.15, _y(row), as_written(label), va="center", fontsize=12)


def _draw(axes: Any, arrow: Arrow, row: int) -> None:
    """An arrow, above it what it carries, and below it the line of the program behind it."""
    style = "->" if arrow.to_device else "<-"
    axes.annotate("", (_BETWEEN[1], _y(row)), (_BETWEEN[0], _y(row)), arrowprops=copied(style, arrow.explicit))
    times = f"{arrow.copies:,} copies, " if arrow.copies > 1 else ""
    above = f"{times}{many(arrow.bytes, 'byte')}{'' if arrow.explicit else ', implicit'}"
    below = arrow.line if len(arrow.line) <= 46 else arrow.line[:45] + "…"
    axes.text(_MIDDLE, _y(row) - 0.05, as_written(above), ha="center", va="bottom", fontsize=12)
    axes.text(_MIDDLE, _y(row) + 0.06, as_written(below), ha="center", va="top", fontsize=10, color="#404040")


def _write(axes: Any, text: str, row: float) -> None:
    axes.text(_MIDDLE, _y(row), text, ha="center", va="center", fontsize=12)


def _y(row: float) -> float:
    return (row - 0.42) * _ROW


def copied(style: str, explicit: bool) -> dict[str, Any]:
    """How an arrow for copies looks: solid if the program asked for them, dashed if they're side effects."""
    color, line = (BLUE, "-") if explicit else (ORANGE, "--")
    return {"arrowstyle": style, "lw": 2, "color": color, "linestyle": line, "shrinkA": 0, "shrinkB": 0}
