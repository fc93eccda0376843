"""Two boxes, host and device: which arrays are in them, and what was copied between them."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fluxlite import device_of, get_device, gpu_device
from fluxlite.messages import many
from fluxlite.receipts import Receipt
from simgpu.events import DEVICE_TO_HOST, HOST_TO_DEVICE

from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.boxes import arrow, box
from .pictures import BLUE, ORANGE

MOST_ARROWS = 6
# The boxes, and what's between them.
_HOST, _DEVICE, _TOP, _WIDE, _ROW = 6, 444, 34, 190, 54
_BETWEEN, _MIDDLE = (206, 434), 320


class Copies(NamedTuple):
    """One or more copies, as an arrow shows them."""

    to_device: bool
    copies: int
    bytes: int
    explicit: bool
    line: str


def boxes(receipt: Receipt, **arrays: Any) -> Scene:
    """A picture of `receipt`: an arrow for each copy between host and device, for the first six. Played, they fly.

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
        Copies(m.kind == HOST_TO_DEVICE, m.times, m.bytes, m.explicit, m.line.partition(": ")[2])
        for m in receipt.timeline()
        if m.kind in (HOST_TO_DEVICE, DEVICE_TO_HOST)
    ]
    inside: dict[bool, list[str]] = {True: [], False: []}
    for name, x in arrays.items():
        inside[_is_on_device(name, x)].append(_label(name, x))
    shown, more = found[:MOST_ARROWS], max(len(found) - MOST_ARROWS, 0)
    rows = max(2, len(shown) + bool(more), *(len(labels) for labels in inside.values()))
    states = len(shown) + 1 + bool(more) if found else 1
    picture = drawing(
        640, _TOP + rows * _ROW + 40, "Host and device, and the copies between them",
        _memory(_HOST, "host", "CPU and its memory", rows, inside[False]),
        _memory(_DEVICE, "device", getattr(gpu_device(), "name", "GPU"), rows, inside[True]),
        *(part for row, each in enumerate(shown) for part in _flying(each, row, states)),
        label(_MIDDLE, _y(rows / 2 - 0.5 if not found else MOST_ARROWS), _rest(found, more, states), "middle"),
    )  # fmt: skip
    steps = ["before", *map(str, range(1, len(shown) + 1)), *[f"all {len(found):,}"] * bool(more)][:states]
    sentences = ["Before the first copy.", *map(_one, shown)][: states - 1] + [_sentence(found, inside)]
    return Scene(picture, [Knob("copies", steps, slider=True, ms=800)], sentences, [states - 1])


def host_and_device() -> Scene:
    """A picture of the course's six basic words."""
    words = (
        ("copy", "an array, there or back", True, True), ("launch", 'an order: "add these two"', False, True),
        ("synchronize", "the host waits until all is done", True, False),
    )  # fmt: skip
    between: list[Part] = []
    for row, (word, meaning, back, there) in enumerate(words):
        y, (left, right) = _y(1.25 * row), _BETWEEN
        ends = [(left, y, right, y)] * there + [(right, y, left, y)] * back
        between += [arrow(*each, "wait" if word == "synchronize" else "host") for each in ends]
        between += [label(_MIDDLE, y - 8, word, "middle bold"), label(_MIDDLE, y + 20, meaning, "middle")]
    memories = ("host", "the CPU and its memory", ("runs your Python", "has NumPy's arrays")), (
        "device", "the GPU and its memory", ("computes on order", "has arrays you move"))  # fmt: skip
    picture = drawing(
        640, 340, "Host and device", *between,
        *(_memory(x, name, what, 5, does) for x, (name, what, does) in zip((_HOST, _DEVICE), memories)),
        label(_MIDDLE, _y(3.75) - 8, "receipt", "middle bold"),
        label(_MIDDLE, _y(3.75) + 14, "the list of all these", "middle"),
    )  # fmt: skip
    return Scene(picture, [], [
        "Host and device, each with its own memory. Between them: a copy brings an array across, a launch gives the "
        "device an order, to synchronize is to wait until all is done; a receipt lists all of these."
    ])  # fmt: skip


def _is_on_device(name: str, x: Any) -> bool:
    if isinstance(x, (int, float, complex)):
        return False
    if not hasattr(x, "dtype"):
        raise TypeError(f"boxes draws arrays and numbers; {name} is a {type(x).__name__}")
    return device_of(x) not in (None, get_device("CPU"))


def _label(name: str, x: Any) -> str:
    return f"{name}  {x.dtype} {x.shape}" if getattr(x, "shape", ()) else f"{name}  {getattr(x, 'dtype', 'a number')}"


def _sentence(found: list[Copies], inside: dict[bool, list[str]]) -> str:
    there = _total([each for each in found if each.to_device], "to the device")
    back = _total([each for each in found if not each.to_device], "back")
    text = f"{there}; {back}." if found else "no copies."
    names = {place: ", ".join(label.split()[0] for label in labels) for place, labels in inside.items()}
    if any(names.values()):
        nothing = "nothing that was named"
        text += f" On the host: {names[False] or nothing}. On the device: {names[True] or nothing}."
    return text[0].upper() + text[1:]


def _total(found: list[Copies], way: str) -> str:
    copies = sum(each.copies for each in found)
    return f"{many(copies, 'copy')} {way}, {sum(each.bytes for each in found):,} bytes" if copies else f"none {way}"


def _memory(x: float, name: str, what: str, rows: int, inside: Iterable[str]) -> Part:
    height, look = rows * _ROW + 30, "gpu" if name == "device" else "host"
    lines = [label(12, 30 + 26 * row, text) for row, text in enumerate(inside)]
    lines.append(label(_WIDE / 2, height - 12, what, "small middle"))
    return box(x, _TOP, _WIDE, height, name, *lines, look=f"{look} hollow")


def _flying(copies: Copies, row: int, states: int) -> Iterator[Part]:
    """An arrow that grows when its turn comes, above it what it carries, and below it the program's line."""
    y, (start, end) = _y(row), _BETWEEN if copies.to_device else _BETWEEN[::-1]
    on = [state > row for state in range(states)]
    shaft = Each(f"M{start} {y}H{end + (-6 if copies.to_device else 6) if there else start}" for there in on)
    line = "glide line" if copies.explicit else "glide line dashed"
    head = Part(
        "path", class_="glide", d="M0 0l-12 -6v12z" if copies.to_device else "M0 0l12 -6v12z", stroke="none",
        transform=Each(f"translate({end if there else start} {y})" for there in on),
    )  # fmt: skip
    below = copies.line if len(copies.line) <= 31 else copies.line[:30] + "…"
    words = label(_MIDDLE, y - 8, _carried(copies), "middle"), label(_MIDDLE, y + 18, below, "small code middle wide")
    # What isn't displayed can't glide, so it's transparent.
    shown = Each(int(there) for there in on)
    colour = "host" if copies.explicit else "wait"
    yield Part("g", Part("path", class_=line, d=shaft), head, class_=colour, opacity=shown)
    yield Part("g", *words, opacity=shown)


def _carried(copies: Copies) -> str:
    times = f"{copies.copies:,} copies, " if copies.copies > 1 else ""
    return f"{times}{many(copies.bytes, 'byte')}{'' if copies.explicit else ', implicit'}"


def _one(copies: Copies) -> str:
    """What one arrow says, in words."""
    return f"{_carried(copies)}, {'to the device' if copies.to_device else 'back'}. The line: {copies.line}"


def _rest(found: list[Copies], more: int, states: int) -> Any:
    if not found:
        return "no copies"
    return Each("" if state < states - 1 or not more else f"… and {more:,} more" for state in range(states))


def _y(row: float) -> float:
    return _TOP + 34 + row * _ROW


def copied(style: str, explicit: bool) -> dict[str, Any]:
    """How an arrow for copies looks: solid if the program asked for them, dashed if they're side effects."""
    color, line = (BLUE, "-") if explicit else (ORANGE, "--")
    return {"arrowstyle": style, "lw": 2, "color": color, "linestyle": line, "shrinkA": 0, "shrinkB": 0}
