"""The host and its GPUs as boxes: what's in each memory, and what was copied between them."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fluxlite import device_of, leaves
from fluxlite.devices import devices
from fluxlite.messages import many
from fluxlite.receipts import Receipt, duration
from simgpu.events import DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE

from ..scenes import Each, Knob, Part, Scene, drawing, label, launches, rounded
from ..scenes.axes import Axis, across, bars
from ..scenes.boxes import arrow, box

# The host's box, the cards' boxes, and the arcs between cards at their right.
_HOST, _CARD, _ARCS, _WIDE = 6, 300, 480, 164
_LINE, _ARROW, _GAP = 42, 48, 46  # a thing in a box, an arrow with its words, and from a box to the next


class Route(NamedTuple):
    """Copies along the same route, together. None is the host."""

    source: int | None
    target: int | None
    copies: int
    bytes: int
    explicit: bool

    @property
    def carried(self) -> str:
        return f"{self.bytes:,} bytes{'' if self.explicit else ', implicit'}"

    @property
    def words(self) -> str:
        return f"{many(self.copies, 'copy')}, {self.carried}"

    @property
    def looks(self) -> tuple[str, bool]:
        """Its colour, and whether it's dashed: what the program didn't ask for is."""
        return ("host", False) if self.explicit else ("wait", True)


def cards(receipt: Receipt, **things: Any) -> Scene:
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
    routes, inside = _routes(receipt), _inside(things, found)
    with_host = [[route for route in routes if _is_with_host(route, i)] for i in range(len(found))]
    heights = [14 + max(60, _LINE * len(inside[i]), _ARROW * len(with_host[i])) for i in range(len(found))]
    *tops, end = itertools.accumulate((height + _GAP for height in heights), initial=34)
    parts = [_memory(_HOST, 34, end - _GAP - 34, "host", inside[None])]
    for i, top in enumerate(tops):
        parts.append(_memory(_CARD, top, heights[i], f"card {i}", inside[i]))
        parts += [part for row, route in enumerate(with_host[i]) for part in _straight(route, top + 30 + _ARROW * row)]
    middles = [top + height / 2 for top, height in zip(tops, heights)]
    between = [route for route in routes if None not in (route.source, route.target)]
    parts += _arcs(between, middles)
    picture = drawing(640, end - _GAP + 12, "The host and its cards, and what was copied from where to where", *parts)
    return Scene(picture, [], [_sentence(routes, inside)])


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


def _is_with_host(route: Route, card: int) -> bool:
    """Whether it's a copy between this card and the host."""
    return (route.source, route.target) in ((None, card), (card, None))


def _inside(things: dict[str, Any], found: list[Any]) -> dict[int | None, list[str]]:
    inside: dict[int | None, list[str]] = {None: [], **{i: [] for i in range(len(found))}}
    for name, x in things.items():
        device = device_of(x)
        nbytes = sum(getattr(leaf, "nbytes", 0) for leaf in leaves(x))
        what = f"{x.dtype} {x.shape}" if hasattr(x, "dtype") else f"{type(x).__name__}, {nbytes:,} bytes"
        inside[found.index(device) if device in found else None].append(f"{name}: {what}")
    return inside


def _sentence(routes: list[Route], inside: dict[int | None, list[str]]) -> str:
    ways = [f"{route.words}, from {_place(route.source)} to {_place(route.target)}" for route in routes]
    names = {place: ", ".join(text.partition(":")[0] for text in texts) for place, texts in inside.items()}
    there = [f"On {_place(place)}: {text}." for place, text in names.items() if text]
    return " ".join([f"{'; '.join(ways) or 'Nothing was copied'}.", *there])


def _place(card: int | None) -> str:
    return "the host" if card is None else f"card {card}"


def _memory(x: float, y: float, height: float, name: str, inside: list[str]) -> Part:
    wide, look = (_WIDE, "host") if name == "host" else (_ARCS - _CARD, "gpu")
    lines = [label(12, 24 + _LINE * row, text.partition(": ")[0], "bold") for row, text in enumerate(inside)]
    lines += [label(12, 42 + _LINE * row, text.partition(": ")[2], "small") for row, text in enumerate(inside)]
    return box(x, y, wide, height, name, *lines, look=f"{look} hollow")


def _straight(route: Route, y: float) -> Iterator[Part]:
    """Between the host and a card: above the arrow how many copies, below it how many bytes."""
    ends = (_HOST + _WIDE + 8, _CARD - 8)
    start, end = ends if route.source is None else ends[::-1]
    yield arrow(start, y, end, y, *route.looks)
    yield label(sum(ends) / 2, y - 8, many(route.copies, "copy"), "middle")
    yield label(sum(ends) / 2, y + 17, route.carried, "middle small")


def _arcs(routes: list[Route], middles: list[float]) -> Iterator[Part]:
    """From card to card, each arc outside the one before, and beside them what went where."""
    words, widest, height = [], 0.0, 0.0
    for number, route in enumerate(routes):
        start, end = (middles[card or 0] + 14 * number for card in (route.source, route.target))
        look, dashed = route.looks
        bend = 44 + 30 * number
        curved = f"M{_ARCS + 6} {start:g}C{_ARCS + bend} {start:g} {_ARCS + bend} {end:g} {_ARCS + 12} {end:g}"
        yield Part("path", class_=f"{look} line dashed" if dashed else f"{look} line", d=curved)
        yield Part("path", class_=look, d=f"M{_ARCS + 4} {end:g}l12 -6v12z", stroke="none")
        widest, height = _ARCS + 0.75 * bend + 12, height + (start + end) / 2 / len(routes)
        words += [
            (f"{route.source} → {route.target}", "bold"),
            (many(route.copies, "copy"), ""),
            (route.carried, "small"),
        ]
    for row, (text, look) in enumerate(words):
        yield label(widest, rounded([height + 18 * (row - len(words) / 2) + 14])[0], text, look)


# -- when each of two cards works, and when it waits ---------------------------------------------------------------


MOMENTS = 40
_LEFT, _RIGHT, _LANE, _HIGH = 76, 520, 34, 26  # where time begins and ends; a lane, and the bars in it
_ANOTHER = 14  # between two ways


class _Works(NamedTuple):
    """What a receipt's cards do: each launch from when to when, in seconds since the first of all began.

    Then the copies between cards: from which one to which one, and from when to when.
    """

    cards: dict[int, list[tuple[float, float]]]
    copies: list[tuple[int, int, float, float]]
    end: float

    def share(self, card: int, until: float) -> float:
        """The share of the time up to `until` in which this card works."""
        return sum(max(0.0, min(end, until) - start) for start, end in self.cards[card]) / until


def busy(receipts: Mapping[str, Receipt]) -> Scene:
    """When the cards work, and when they copy, from the first work to the last. A lane for each card of a receipt.

    Raises `ValueError` for a receipt without times, as on a real GPU.
    """
    ways = {name: _works(receipt) for name, receipt in receipts.items()}
    card = next(iter(receipts.values())).seconds.card
    last = max(works.end for works in ways.values())
    at = Axis(0, last, _LEFT, _RIGHT)
    moments = [last * number / MOMENTS for number in range(MOMENTS + 1)]
    parts: list[Part] = []
    top = 0
    for name, works in ways.items():
        parts += _way(name, works, top + 20, at, moments)
        top += 26 + _LANE * len(works.cards) + _ANOTHER
    picture = drawing(
        640, top + 52, "When each card works: a lane for each, with the same time for all ways to share the work",
        *parts, *across(at, top, f"ms, simulated ({card})", text=lambda seconds: f"{seconds * 1e3:g}"),
    )  # fmt: skip
    said = ["; ".join(f"{name}: {_said(works, moment)}" for name, works in ways.items()) for moment in moments]
    sentences = [f"After {duration(m)}, simulated ({card}). {words}." for m, words in zip(moments, said)]
    return Scene(picture, [Knob("time", [duration(m) for m in moments], slider=True, ms=150)], sentences)


def _works(receipt: Receipt) -> _Works:
    """From a receipt of a simulated GPU."""
    found = launches(receipt)
    begin = min(moment.start or 0.0 for moment in found)
    cards: dict[int, list[tuple[float, float]]] = {moment.device.index: [] for moment in found}
    for moment in found:
        cards[moment.device.index].append(((moment.start or 0.0) - begin, (moment.end or 0.0) - begin))
    copies = [
        (int(m.name.split(":")[1].split()[0]), m.device.index, (m.start or 0.0) - begin, (m.end or 0.0) - begin)
        for m in receipt.timeline()
        if m.kind == DEVICE_TO_DEVICE and m.name.startswith("copy from ")
    ]
    return _Works(dict(sorted(cards.items())), copies, max(moment.end or 0.0 for moment in found) - begin)


def _way(name: str, works: _Works, y: int, at: Axis, moments: list[float]) -> Iterator[Part]:
    """A way's name and lanes, seen as far as they have happened, and how busy each card was up to now."""
    yield label(4, y, name, "bold")
    tops = {card: 6 + row * _LANE for row, card in enumerate(works.cards)}
    blocks = "".join(bars(spans, at, tops[card], _HIGH) for card, spans in works.cards.items())
    copies = [_copy(at(start), at(end), tops[source] + _HIGH / 2, tops[target] + _HIGH / 2)
              for source, target, start, end in works.copies if {source, target} <= set(tops)]  # fmt: skip
    now = [min(moment, works.end) for moment in moments]
    height = _LANE * len(tops)
    seen = Each(at(moment) for moment in now)
    # An SVG in an SVG lets nothing stick out: it's as wide as time has gone on.
    yield Part("svg", Part("path", class_="gpu", d=blocks), *copies,
               class_="glide", x=0, y=y, width=seen, height=height + 6)  # fmt: skip
    yield Part("rect", class_="ink glide", x=seen, y=y + 2, width=1.5, height=height)
    for card, top in tops.items():
        shares = Each(f"{100 * works.share(card, moment):.0f} % busy" if moment else "" for moment in now)
        yield label(4, y + top + 18, f"card {card}")
        yield label(_RIGHT + 110, y + top + 18, shares, "end")
    done = Each(f"done: {duration(works.end)}" if moment >= works.end else "" for moment in moments)
    yield label(_RIGHT + 110, y, done, "end bold")


def _copy(start: float, end: float, y: float, to_y: float) -> Part:
    """A copy from one lane to another, with an arrow that shows which way it goes, and its name if there's room."""
    low, high, tip = min(y, to_y), max(y, to_y), 4 if to_y > y else -4
    words = "copy" if end - start > 56 else ""
    middle = start + 12 if words else (start + end) / 2
    arrow = f"M{middle:g} {low + 4:g}V{high - 4:g}M{middle - 4:g} {to_y - 2 * tip:g}l4 {tip}l4 {-tip}"
    return Part(
        "g", Part("rect", class_="rest", x=start, y=low - 7, width=max(end - start - 1, 0.5), height=high - low + 14),
        Part("path", stroke="#fff", stroke_width=2, fill="none", d=arrow),
        label(middle + 8, (y + to_y) / 2 + 5, words, "inside"),
    )  # fmt: skip


def _said(works: _Works, seconds: float) -> str:
    """The share of the time in which each card has worked, up to `seconds` or until all is done."""
    if not seconds:
        return "not begun"
    until = min(seconds, works.end)
    words = " and ".join(f"card {card} {100 * works.share(card, until):.0f} %" for card in works.cards)
    return f"{'done in' if works.end <= seconds else 'in'} {duration(until)}; at work: {words}"
