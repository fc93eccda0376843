"""Two boxes, host and device, and what goes between them."""

from ..scenes import Part, Scene, drawing, label
from ..scenes.boxes import arrow, box

# The boxes, and what's between them.
_TOP, _WIDE, _ROW = 34, 190, 54
_BETWEEN, _MIDDLE = (206, 434), 320


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
    picture = drawing(
        640, 340, "Host and device", *between,
        _memory(6, "host", "the CPU and its memory", "host hollow", "runs your Python", "has NumPy's arrays"),
        _memory(444, "device", "the GPU and its memory", "gpu hollow", "computes on order", "has arrays you move"),
        label(_MIDDLE, _y(3.75) - 8, "receipt", "middle bold"),
        label(_MIDDLE, _y(3.75) + 14, "the list of all these", "middle"),
    )  # fmt: skip
    return Scene(picture, [], [
        "Host and device, each with its own memory. Between them: a copy brings an array across, a launch gives the "
        "device an order, to synchronize is to wait until all is done; a receipt lists all of these."
    ])  # fmt: skip


def _memory(x: float, name: str, what: str, look: str, *does: str) -> Part:
    height = 5 * _ROW + 30
    lines = [label(12, 30 + 26 * row, text) for row, text in enumerate(does)]
    return box(x, _TOP, _WIDE, height, name, *lines, label(_WIDE / 2, height - 12, what, "small middle"), look=look)


def _y(row: float) -> float:
    return _TOP + 34 + row * _ROW
