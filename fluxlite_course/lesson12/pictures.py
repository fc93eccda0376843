"""Two cards: when each of them works, and when it waits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fluxlite import Chain, Dense
from fluxlite.devices import devices
from fluxlite.devices.receipts import Receipt, duration, receipt, shapes_only
from fluxlite.words import many
from simgpu.events import DEVICE_TO_DEVICE

from ..scenes import Each, Knob, Part, Scene, drawing, label, launches
from ..scenes.axes import Axis, across, bars

MOMENTS = 30
_LEFT, _RIGHT, _LANE, _HIGH = 76, 520, 34, 26  # where time begins and ends; a lane, and the bars in it


def in_two(pieces: Sequence[int] = (1,), copies: bool = False) -> Scene:
    """A model on one card, and cut in two for two, its batch in so many pieces. With `copies`, one on each card."""
    device0, device1 = devices()
    rng = np.random.default_rng(0)
    model = Chain(*(Dense(1024, 1024, np.tanh, rng=rng) for _ in range(4)))
    whole, first, second = device0(model), device0(model[:2]), device1(model[2:])
    x = device0(rng.standard_normal((2048, 1024)).astype(np.float32))

    def through_both(count: int) -> Callable[[], Any]:  # layers make the card of their arrays the current one
        return lambda: [second(device1(first(piece))) for piece in np.split(x, count)]

    ways = {
        "one card": dict.fromkeys(pieces, _warm(lambda: whole(x))),
        "the model in two": {count: _warm(through_both(count)) for count in pieces},
    }
    if copies:
        halves = [(device(model), device(half)) for device, half in zip((device0, device1), np.split(x, 2))]
        ways["a copy on each card"] = dict.fromkeys(pieces, _warm(lambda: [copy(half) for copy, half in halves]))
    return busy(ways)


def _warm(run: Callable[[], Any]) -> Receipt:
    """The receipt of a second run, since in the first, each card loads its operations."""
    with shapes_only(devices()):  # how long it takes doesn't depend on the values
        run()
        for device in devices():
            device.synchronize()
        with receipt() as found:
            run()
    return found


class _Works(NamedTuple):
    """When each card works, in seconds since the first began; each copy between cards; and when all is done."""

    cards: dict[int, list[tuple[float, float]]]
    copies: list[tuple[int, int, float, float]]
    end: float


def busy(ways: Mapping[str, Mapping[int, Receipt]]) -> Scene:
    """When each card works and copies, a lane for each card. Each way has a receipt for each number of pieces."""
    works = {name: {n: _works(receipt) for n, receipt in way.items()} for name, way in ways.items()}
    counts, *_ = map(list, ways.values())
    card = next(iter(ways.values()))[counts[0]].seconds.card
    last = max(each.end for way in works.values() for each in way.values())
    at, top = Axis(0, last, _LEFT, _RIGHT), 0
    times = [last * (number / MOMENTS) for number in range(MOMENTS + 1)]
    states = [(n, time) for n in counts for time in times]
    parts: list[Part] = []
    for name, way in works.items():
        parts += _way(name, way, top + 20, at, states)
        top += 40 + _LANE * len(way[counts[0]].cards)
    axis = across(at, top - 10, f"ms, simulated ({card})", text=lambda seconds: f"{seconds * 1e3:g}")
    picture = drawing(640, top + 44, "When each card works: a lane for each card", *parts, *axis)
    said = [_sentence(many(n, "piece"), time, {name: way[n].end for name, way in works.items()}) for n, time in states]
    knobs = [Knob("time", [duration(time) for time in times], slider=True, ms=150)]
    if len(counts) > 1:
        knobs.insert(0, Knob("pieces of the batch", [str(n) for n in counts]))
    return Scene(picture, knobs, said, first=[*[0] * (len(knobs) - 1), MOMENTS])  # all of it is there to see


def _works(receipt: Receipt) -> _Works:
    found = launches(receipt)
    begin = min(moment.start or 0.0 for moment in found)

    def span(moment: Any) -> tuple[float, float]:
        return (moment.start or 0.0) - begin, (moment.end or 0.0) - begin

    numbers = sorted({moment.device.index for moment in found})
    cards = {number: [span(moment) for moment in found if moment.device.index == number] for number in numbers}
    between = [m for m in receipt.timeline() if m.kind == DEVICE_TO_DEVICE and m.name.startswith("copy from ")]
    copies = [(int(m.name.split(":")[1].split()[0]), m.device.index, *span(m)) for m in between]
    return _Works(cards, copies, max(end for spans in cards.values() for _, end in spans))


def _way(name: str, way: dict[int, _Works], y: int, at: Axis, states: list[tuple[int, float]]) -> Iterator[Part]:
    """A way's name, its lanes as far as they've happened, and at the end how long it took."""
    cards = list(way[states[0][0]].cards)
    tops = {card: 6 + row * _LANE for row, card in enumerate(cards)}
    groups = []
    for number, works in way.items():
        blocks = "".join(bars(spans, at, tops[card], _HIGH) for card, spans in works.cards.items())
        copies = [_copy(at(start), at(end), tops[source], tops[target]) for source, target, start, end in works.copies]
        groups.append(Part("g", Part("path", class_="gpu", d=blocks), *copies, data_n=number))
    drawn = Part("g", *groups, only=Each((n, n) for n, _ in states))
    seen = Each(at(min(time, way[n].end)) for n, time in states)
    # An SVG in an SVG lets nothing stick out: it's as wide as time has gone on.
    yield Part("svg", drawn, class_="glide", x=0, y=y, width=seen, height=_LANE * len(cards) + 6)
    yield Part("rect", class_="ink glide", x=seen, y=y + 2, width=1.5, height=_LANE * len(cards))
    yield label(4, y, name, "bold")
    for card in cards:
        yield label(4, y + tops[card] + 18, f"card {card}")
    done = Each(duration(way[n].end) if time >= way[n].end else "" for n, time in states)
    yield label(_RIGHT + 110, y + 24, done, "end bold")


def _copy(start: float, end: float, y: float, to_y: float) -> Part:
    """A copy from one lane to another, with an arrow that shows which way it goes if there's room."""
    low, middle, tip = min(y, to_y) + _HIGH / 2, (start + end) / 2, 4 if to_y > y else -4
    inside = f"M{middle:g} {low + 4:g}v{_LANE - 8}M{middle - 4:g} {to_y + _HIGH / 2 - 2 * tip:g}l4 {tip}l4 {-tip}"
    return Part(
        "g", Part("rect", class_="rest", x=start, y=low - 7, width=max(end - start - 1, 0.5), height=_LANE + 14),
        Part("path", stroke="#fff", stroke_width=2, fill="none", d=inside) if end - start > 8 else Part("g"),
    )  # fmt: skip


def _sentence(pieces: str, time: float, ends: dict[str, float]) -> str:
    """Which ways are done by then, and how long they took."""
    done = [f"{name} is done in {duration(end)}" if time >= end else f"{name} isn't done" for name, end in ends.items()]
    return f"After {duration(time)}, simulated, {pieces}: {'; '.join(done)}."
