"""The host and its GPUs as boxes: what's in each memory, and what was copied between them."""

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

from fluxlite import device_of, leaves
from fluxlite.devices import devices
from fluxlite.messages import many
from fluxlite.receipts import Receipt, duration
from simgpu.events import DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE

from ..draw.frames import Frames, frames, launches
from ..draw.pictures import BLUE, GREY, ORANGE, Picture, as_written, plots, show
from ..draw.shapes import box, sheet
from ..draw.two_boxes import copied

# The layout in inches: the host's box, the cards' boxes, and the arcs between cards to their right.
_HOST_WIDTH = 2.2
_CARD, _CARD_WIDTH = 4.9, 3.3
_WIDTH = 10.4
_ROW, _GAP = 0.36, 0.5


class Route(NamedTuple):
    """Copies along the same route, together. None is the host."""

    source: int | None
    target: int | None
    copies: int
    bytes: int
    explicit: bool

    @property
    def words(self) -> str:
        return f"{many(self.copies, 'copy')}, {self.bytes:,} bytes{'' if self.explicit else ', implicit'}"


def cards(receipt: Receipt, **things: Any) -> Picture:
    """A picture of the host and all its GPUs, with an arrow for each route of copies in `receipt`.

    Solid arrows are copies that the program asked for; dashed ones are side effects. `things` are arrays or models,
    each in one memory, where they're shown under your names for them. Raises `DeviceError` for a model that's in
    several memories, and `ValueError` without a GPU.

    >>> with fl.simulate_gpu(2):
    ...     device0, device1 = fl.cuda.devices()
    ...     with fl.receipt() as r:
    ...         x = device1(device0(np.ones(5, np.float32)))
    ...     cards(r, x=x)
    [ Info: Simulated:0 to Simulated:1, simulated NVIDIA T4, stand in for GPUs.
    1 copy, 20 bytes, from the host to card 0; 1 copy, 20 bytes, from card 0 to card 1. On card 1: x.
    """
    found = devices()
    if not found:
        raise ValueError("cards draws GPUs, and there is none; simulate_gpu(2) puts two in their place")
    routes = _routes(receipt)
    inside = _inside(things, found)
    rows = {i: max(2, len(inside[i]), sum(_is_left(route, i) for route in routes)) for i in range(len(found))}
    tops = _tops(rows)
    height = max(tops[-1], len(inside[None]) * _ROW + 0.1)
    figure, axes = sheet(_WIDTH, height + 0.4, (-0.05, _WIDTH - 0.05), (height, -0.35))
    _box(axes, 0, _HOST_WIDTH, 0, height - 0.05, "host", inside[None])
    for i, device in enumerate(found):
        _box(axes, _CARD, _CARD_WIDTH, tops[i], rows[i] * _ROW + 0.1, f"card {i}: {device!r}", inside[i])
        for row, route in enumerate(route for route in routes if _is_left(route, i)):
            y, left, right = tops[i] + (row + 0.55) * _ROW, _HOST_WIDTH + 0.08, _CARD - 0.08
            style = "->" if route.source is None else "<-"
            axes.annotate("", (right, y), (left, y), arrowprops=copied(style, route.explicit))
            axes.text((left + right) / 2, y - 0.04, route.words, ha="center", va="bottom", fontsize=10)
    _arcs(axes, [route for route in routes if None not in (route.source, route.target)], tops, rows)
    return show(figure, _sentence(routes, inside))


def _routes(receipt: Receipt) -> list[Route]:
    found: dict[tuple[int | None, int | None, bool], tuple[int, int]] = {}
    for moment in receipt.timeline():
        here = moment.device.index
        ways: dict[str, tuple[int | None, int | None]] = {HOST_TO_DEVICE: (None, here), DEVICE_TO_HOST: (here, None)}
        if moment.kind == DEVICE_TO_DEVICE and moment.name.startswith("copy from "):
            ways[DEVICE_TO_DEVICE] = int(moment.name.split(":")[1].split()[0]), here
        if moment.kind in ways:  # otherwise nothing was copied, or it stayed in one memory
            route = (*ways[moment.kind], moment.explicit)
            copies, nbytes = found.get(route, (0, 0))
            found[route] = copies + moment.times, nbytes + moment.bytes
    return [Route(source, target, *total, explicit) for (source, target, explicit), total in found.items()]


def _is_left(route: Route, card: int) -> bool:
    """Whether it's a copy between this card and the host, whose box is on the left."""
    return (route.source, route.target) in ((None, card), (card, None))


def _inside(things: dict[str, Any], found: list[Any]) -> dict[int | None, list[str]]:
    inside: dict[int | None, list[str]] = {None: [], **{i: [] for i in range(len(found))}}
    for name, x in things.items():
        device = device_of(x)
        nbytes = sum(getattr(leaf, "nbytes", 0) for leaf in leaves(x))
        what = f"{x.dtype} {x.shape}" if hasattr(x, "dtype") else f"{type(x).__name__}, {nbytes:,} bytes"
        inside[found.index(device) if device in found else None].append(f"{name}: {what}")
    return inside


def _tops(rows: dict[int, int]) -> list[float]:
    """Where each card's box begins, and finally where the picture ends."""
    *tops, end = itertools.accumulate((count * _ROW + 0.1 + _GAP for count in rows.values()), initial=0.0)
    return [*tops, end + 0.05 - _GAP]


def _sentence(routes: list[Route], inside: dict[int | None, list[str]]) -> str:
    ways = [f"{route.words}, from {_place(route.source)} to {_place(route.target)}" for route in routes]
    names = {place: ", ".join(text.partition(":")[0] for text in texts) for place, texts in inside.items()}
    there = [f"On {_place(place)}: {text}." for place, text in names.items() if text]
    return " ".join([f"{'; '.join(ways) or 'Nothing was copied'}.", *there])


def _place(card: int | None) -> str:
    return "the host" if card is None else f"card {card}"


def _box(axes: Any, left: float, width: float, top: float, height: float, title: str, labels: list[str]) -> None:
    box(axes, left, top, width, height, title, above=0.07)
    for row, label in enumerate(labels):
        axes.text(left + 0.12, top + (row + 0.55) * _ROW + 0.05, as_written(label), va="center", fontsize=11)


def _arcs(axes: Any, routes: list[Route], tops: list[float], rows: dict[int, int]) -> None:
    right = _CARD + _CARD_WIDTH + 0.08
    texts, widest, middle = [], 0.0, 0.0
    for number, route in enumerate(routes):
        ends = (route.source or 0, route.target or 0)
        start, end = (tops[i] + (rows[i] * _ROW + 0.1) / 2 + 0.12 * number for i in ends)
        bend = 0.35 * (number + 1)  # each arc outside the one before
        look = {"connectionstyle": f"arc3,rad={-bend if end > start else bend}", **copied("->", route.explicit)}
        axes.annotate("", (right, end), (right, start), arrowprops=look)
        widest = max(widest, bend * abs(end - start) / 2)
        middle += (start + end) / 2 / len(routes)
        copies = route.words.replace(", ", "\n", 1)
        texts.append(copies if len(routes) == 1 else f"{route.source} → {route.target}: {copies}")
    for number, text in enumerate(texts):
        y = middle + 0.55 * (number - (len(texts) - 1) / 2)
        axes.text(right + widest + 0.15, y, text, va="center", fontsize=10)


# -- when each of two cards works, and when it waits ---------------------------------------------------------------


MOMENTS = 9
_LOOKS: tuple[dict[str, Any], ...] = ({"edgecolor": BLUE}, {"edgecolor": ORANGE, "hatch": "///"})


class _Works(NamedTuple):
    """What a receipt's cards do: each launch from when to when, in seconds since the first of all began."""

    cards: dict[str, list[tuple[float, float]]]
    end: float


def busy_at(receipts: Mapping[str, Receipt], seconds: float) -> Picture:
    """When the cards work, up to `seconds` after the first work began: for each named receipt a lane for each card.

    Raises `ValueError` for a receipt without times, as on a real GPU.
    """
    return _drawn({name: _works(receipt) for name, receipt in receipts.items()}, receipts, seconds)


def busy(receipts: Mapping[str, Receipt]) -> Frames:
    """`busy_at` from the first work to the last, to leaf through or to play. It opens on the last moment."""
    ways = {name: _works(receipt) for name, receipt in receipts.items()}
    last = max(works.end for works in ways.values())
    moments = [last * number / MOMENTS for number in range(1, MOMENTS)] + [last]
    return frames([_drawn(ways, receipts, m) for m in moments], [duration(m) for m in moments], "time", first=-1)


def _works(receipt: Receipt) -> _Works:
    found = launches(receipt)
    begin = min(order.start for order in found)
    cards = {name: [(order.start - begin, order.end - begin) for order in found if order.device == name]
             for name in sorted({order.device for order in found})}  # fmt: skip
    return _Works(cards, max(order.end for order in found) - begin)


def _drawn(ways: dict[str, _Works], receipts: Mapping[str, Receipt], seconds: float) -> Picture:
    card = next(iter(receipts.values())).seconds.card
    figure, grid = plots(len(ways), height=1.5 * len(ways) + 0.5, width=10, sharex=True, squeeze=False)
    for axes, (name, works) in zip(grid[:, 0], ways.items()):
        _lanes(axes, works, seconds)
        axes.set_title(as_written(name), loc="left", fontsize=13, weight="bold")
    last = max(works.end for works in ways.values())
    grid[-1, 0].set(xlabel=f"time, ms, simulated ({as_written(card)})", xlim=(0, last * 1.1e3))
    told = "; ".join(f"{name}: {_said(works, seconds)}" for name, works in ways.items())
    return show(figure, f"After {duration(seconds)}, simulated ({card}). {told}.")


def _lanes(axes: Any, works: _Works, seconds: float) -> None:
    for row, spans in enumerate(works.cards.values()):
        for start, end in spans:
            if start < seconds:
                look = {"height": 0.6, "facecolor": "white", "linewidth": 1.5, **_LOOKS[row % 2]}
                axes.barh(row, (min(end, seconds) - start) * 1e3, left=start * 1e3, **look)
    count, done = len(works.cards), min(works.end, seconds)
    axes.axvline(done * 1e3, color=GREY, linewidth=1)
    if works.end <= seconds:
        axes.text(done * 1e3, (count - 1) / 2, f" done: {duration(done)}", ha="left", va="center")
    axes.set_yticks(range(count), works.cards)
    axes.set_ylim(count - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _said(works: _Works, seconds: float) -> str:
    """The share of the time in which each card has worked, up to `seconds` or until all is done."""
    until = min(seconds, works.end)
    shares = {card: sum(max(0.0, min(end, until) - start) for start, end in spans) / until
              for card, spans in works.cards.items()}  # fmt: skip
    words = " and ".join(f"{card} {100 * share:.0f} %" for card, share in shares.items())
    return f"{'done in' if works.end <= seconds else 'in'} {duration(until)}; at work: {words}"
