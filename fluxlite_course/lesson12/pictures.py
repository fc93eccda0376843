"""Two cards: when each of them works, and when it waits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fluxlite import Chain, Dense
from fluxlite.devices import devices
from fluxlite.devices.receipts import Receipt, duration, receipt, shapes_only
from fluxlite.words import many
from simgpu.events import DEVICE_TO_DEVICE

from ..scenes import Each, Knob, Scene
from ..scenes.lanes import Box, Lanes, Row, Time, film, gaps
from ..scenes.receipts import launches, size

MOMENTS = 30


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
    """A way's boxes, in lanes named after the cards, and when all is done."""

    boxes: list[Box]
    cards: list[int]
    copies: bool
    end: float


def busy(ways: Mapping[str, Mapping[int, Receipt]]) -> Scene:
    """When each card works and copies, a lane for each card. Each way has a receipt for each number of pieces."""
    works = {name: {n: _works(receipt, f"{k} ") for n, receipt in way.items()}
             for k, (name, way) in enumerate(ways.items())}  # fmt: skip
    counts, *_ = map(list, ways.values())
    card = next(iter(ways.values()))[counts[0]].seconds.card
    last = max(each.end for way in works.values() for each in way.values())
    times = [last * (number / MOMENTS) for number in range(MOMENTS + 1)]
    moments = [Time(duration(time), [time] * len(counts), [last] * len(counts)) for time in times]
    states = [(n, time) for n in counts for time in times]
    rows: list[Row] = []
    for k, (name, way) in enumerate(works.items()):
        lanes = ["copies"] * way[counts[0]].copies + [f"card {number}" for number in way[counts[0]].cards]
        notes = Each(f"done in {duration(way[n].end)}" if time >= way[n].end else "" for n, time in states)
        rows += [Row(f"{k} {lane}", lane, heading=name, note=notes) if place == 0 else Row(f"{k} {lane}", lane)
                 for place, lane in enumerate(lanes)]  # fmt: skip
    said = [_sentence(many(n, "piece"), time, {name: way[n].end for name, way in works.items()}) for n, time in states]
    knobs = [Knob("pieces of the batch", [str(n) for n in counts])] if len(counts) > 1 else []
    boxes = [[box for way in works.values() for box in way[n].boxes] for n in counts]
    return film(
        "When each card works: a lane for each card", Lanes(rows), boxes, moments, said, about=f"simulated ({card})",
        knobs=knobs, ms=150, first=[*[0] * len(knobs), MOMENTS],  # all of it is there to see
    )  # fmt: skip


def _works(receipt: Receipt, prefix: str) -> _Works:
    found = launches(receipt)
    begin = min(moment.start or 0.0 for moment in found)

    def span(moment: Any) -> tuple[float, float]:
        return (moment.start or 0.0) - begin, (moment.end or 0.0) - begin

    cards = sorted({moment.device.index for moment in found})
    end = max(span(moment)[1] for moment in found)
    boxes = []
    for moment in found:
        start, stop = span(moment)
        says = f"card {moment.device.index} computes {moment.name}: {duration(stop - start)}"
        boxes.append(Box(f"{prefix}card {moment.device.index}", start, stop, "compute", says))
    for card in cards:
        for start, stop in gaps([span(moment) for moment in found if moment.device.index == card], 0.0, end):
            says = f"card {card} waits: {duration(stop - start)}"
            boxes.append(Box(f"{prefix}card {card}", start, stop, "waits", says))
    between = [m for m in receipt.timeline() if m.kind == DEVICE_TO_DEVICE and m.name.startswith("copy from ")]
    for moment in between:
        start, stop = span(moment)
        source = moment.name.split(":")[1].split()[0]
        says = (
            f"copy of {size(moment.bytes)} from card {source} to card {moment.device.index}: {duration(stop - start)}"
        )
        boxes.append(Box(f"{prefix}copies", start, stop, "copy", says))
    return _Works(boxes, cards, bool(between), end)


def _sentence(pieces: str, time: float, ends: dict[str, float]) -> str:
    """Which ways are done by then, and how long they took."""
    done = [f"{name} is done in {duration(end)}" if time >= end else f"{name} isn't done" for name, end in ends.items()]
    return f"After {duration(time)}, simulated, {pieces}: {'; '.join(done)}."
