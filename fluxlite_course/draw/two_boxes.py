"""Two boxes, host and device: which arrays are in them, and what was copied between them."""

from __future__ import annotations

from typing import Any, NamedTuple

from fluxlite import device_of, get_device, gpu_device
from fluxlite.messages import many
from fluxlite.receipts import Receipt
from simgpu.events import DEVICE_TO_HOST, HOST_TO_DEVICE
from simgpu.profile import Moment

from .pictures import BLUE, GREY, ORANGE, Picture, as_written, plots, show

MOST_ARROWS = 6
# The layout, in arbitrary units: the boxes, and the arrows between them.
_HOST, _DEVICE, _BOX = 0.0, 7.2, 2.8
_BETWEEN = (_HOST + _BOX + 0.15, _DEVICE - 0.15)
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
    found = _arrows(receipt)
    inside = {True: _labels(arrays, True), False: _labels(arrays, False)}
    shown = found[:MOST_ARROWS]
    rows = max(2, len(shown) + (len(found) > len(shown)), *(len(labels) for labels in inside.values()))
    figure, axes = _canvas(rows * _ROW + 0.15)
    _box(axes, _HOST, "host: CPU and its memory", rows, inside[False])
    _box(axes, _DEVICE, f"device: {getattr(gpu_device(), 'name', 'GPU')}", rows, inside[True])
    for row, arrow in enumerate(shown):
        _draw(axes, arrow, row + 1)
    if len(found) > len(shown):
        _write(axes, f"… and {len(found) - len(shown):,} more", len(shown) + 1)
    if not found:
        _write(axes, "no copies", rows / 2 + 0.5)
    return show(figure, _sentence(found, inside))


def host_and_device() -> Picture:
    """A picture of the course's six basic words."""
    figure, axes = _canvas(4 * _ROW + 0.15)
    _box(axes, _HOST, "host", 4, ["the CPU and its memory", "runs your Python", "holds NumPy's arrays"])
    _box(axes, _DEVICE, "device", 4, ["the GPU and its memory", "computes when told to", "holds arrays you moved"])
    for row, (word, meaning, arrow) in enumerate(_WORDS, 1):
        if arrow:
            _arrow(axes, row, {"arrowstyle": arrow, "lw": 2, "color": BLUE})
        _words(axes, row, word, meaning, weight="bold")
    return show(
        figure,
        "Host and device, each with its own memory. Between them: a copy brings an array across, a launch gives the "
        "device an order, to synchronize is to wait until all is done; a receipt lists all of these.",
    )


_WORDS = (
    ("copy", "an array, there or back", "<->"),
    ("launch", 'an order: "add these two"', "->"),
    ("synchronize", "the host waits until all is done", "<-"),
    ("receipt", "the list of all these", ""),
)


# -- what to draw ---------------------------------------------------------------------------------------------------


def _arrows(receipt: Receipt) -> list[Arrow]:
    return [_arrow_of(moment) for moment in receipt.timeline() if moment.kind in (HOST_TO_DEVICE, DEVICE_TO_HOST)]


def _arrow_of(moment: Moment) -> Arrow:
    line = moment.line.partition(": ")[2]
    return Arrow(moment.kind == HOST_TO_DEVICE, moment.times, moment.bytes, moment.explicit, line)


def _labels(arrays: dict[str, Any], on_device: bool) -> list[str]:
    return [_label(name, x) for name, x in arrays.items() if _is_on_device(name, x) == on_device]


def _is_on_device(name: str, x: Any) -> bool:
    if isinstance(x, (int, float, complex)):
        return False
    if not hasattr(x, "dtype"):
        raise TypeError(f"boxes draws arrays and numbers; {name} is a {type(x).__name__}")
    where = device_of(x)
    return where is not None and where != get_device("CPU")


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
    if not copies:
        return f"none {way}"
    return f"{many(copies, 'copy')} {way}, {sum(arrow.bytes for arrow in arrows):,} bytes"


# -- drawing ----------------------------------------------------------------------------------------------------------


def _canvas(height: float) -> tuple[Any, Any]:
    figure, axes = plots(height=height + 0.5, width=10)
    axes.set(xlim=(-0.05, _DEVICE + _BOX + 0.05), ylim=(height + 0.05, -0.5))
    axes.axis("off")
    return figure, axes


def _box(axes: Any, left: float, title: str, rows: int, labels: list[str]) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.08"
    corner, height = (left, 0), rows * _ROW + 0.1
    axes.add_patch(FancyBboxPatch(corner, _BOX, height, style, facecolor="#f4f6f8", edgecolor=GREY, linewidth=2))
    axes.text(left + _BOX / 2, -0.13, as_written(title), ha="center", va="bottom", weight="bold", fontsize=12)
    for row, label in enumerate(labels, 1):
        axes.text(left + 0.15, (row - 0.42) * _ROW, as_written(label), va="center", fontsize=12)


def _draw(axes: Any, arrow: Arrow, row: int) -> None:
    color, style = (BLUE, "-") if arrow.explicit else (ORANGE, "--")
    look = {"arrowstyle": "->" if arrow.to_device else "<-", "lw": 2, "color": color, "linestyle": style}
    times = f"{arrow.copies:,} copies, " if arrow.copies > 1 else ""
    word = f"{times}{many(arrow.bytes, 'byte')}{'' if arrow.explicit else ', implicit'}"
    _arrow(axes, row, look)
    _words(axes, row, word, arrow.line)


def _arrow(axes: Any, row: int, look: dict[str, Any]) -> None:
    y = (row - 0.42) * _ROW
    axes.annotate("", (_BETWEEN[1], y), (_BETWEEN[0], y), arrowprops={"shrinkA": 0, "shrinkB": 0, **look})


def _words(axes: Any, row: int, above: str, below: str, **font: Any) -> None:
    """What an arrow carries, and the line of the program behind it."""
    x, y = sum(_BETWEEN) / 2, (row - 0.42) * _ROW
    axes.text(x, y - 0.05, as_written(above), ha="center", va="bottom", fontsize=12, **font)
    axes.text(x, y + 0.06, as_written(_short(below)), ha="center", va="top", fontsize=10, color="#404040")


def _write(axes: Any, text: str, row: float) -> None:
    axes.text(sum(_BETWEEN) / 2, (row - 0.42) * _ROW, text, ha="center", va="center", fontsize=12)


def _short(line: str, most: int = 46) -> str:
    return line if len(line) <= most else line[: most - 1] + "…"
