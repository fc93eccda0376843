"""The race: what a CPU, the host and a GPU have done of one training step, from moment to moment."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import fluxlite as fl
from fluxlite.receipts import duration
from simgpu import preset

from .. import crossing
from ..scenes import Each, Knob, Part, Scene, drawing, label, launches
from ..scenes.axes import Axis, across
from ..scenes.parts import rounded
from ..sine_wave import training_step

WAVES = (1, 64, 1_024, 65_536)
_TICK = 15e-6  # seconds from one moment to the next
_TOPS, _HIGH = (36, 122, 208), 40  # where the three lanes are, and their height

Spans = list[tuple[float, float]]  # where operations begin and end, in seconds


class Step(NamedTuple):
    """One training step: the CPU's operations, the host's orders, and the GPU's work on them."""

    cpu: Spans
    host: Spans
    gpu: Spans

    def done(self, seconds: float) -> tuple[int, int, int]:
        """How many of each are done after so many seconds."""
        cpu, host, gpu = (sum(end <= seconds + 1e-9 for _, end in spans) for spans in self)
        return cpu, host, gpu

    def said(self, seconds: float) -> str:
        """The same in words."""
        (cpu, host, gpu), count = self.done(seconds), len(self.gpu)
        part = f"all {count}" if cpu == count else f"{cpu} of {count}"
        orders = f"all {count}" if host == count else f"{host} of {count}"
        after = f"After {duration(seconds)}: the CPU has done {part} operations."
        return f"{after} The host has given {orders} orders, and the GPU has carried out {gpu}."


def race(waves: Sequence[int] = WAVES, card: str = "NVIDIA T4") -> Scene:
    """One training step of the sine-wave network, on a recorded CPU and on a simulated `card`, moment by moment.

    `waves` are the numbers of waves trained at once: powers of 4, up to a million. Raises `ValueError` for a number
    that wasn't recorded, and for an unknown card.

    >>> race([1]).at(time="105 µs")
    'After 105 µs: the CPU has done all 25 operations. The host has given 6 of 25 orders, ...'
    """
    steps, name = [step(number, card) for number in waves], preset(card).name
    length = max(each.gpu[-1][1] for each in steps)
    times = [number * _TICK for number in range(math.ceil(length / _TICK) + 2)]
    axis = Axis(0, times[-1] * 1e6, 10, 630)
    states = [(each, time) for each in steps for time in times]
    moving = [axis(time * 1e6) for _, time in states]
    cpu = crossing.record("amd-epyc-waves")["cpu"]
    names = (
        f"CPU: computing ({cpu}, a server, recorded)", "host: giving orders to the GPU",
        f"GPU: carrying them out ({name}, simulated)",
    )  # fmt: skip
    picture = drawing(
        640, 320, "A race: one training step, on a CPU and on a GPU",
        *(part for lane, words in enumerate(names) for part in _lane(lane, words, steps, states, axis)),
        Part("path", class_="cursor", d=Each("".join(f"M{x:g} {y - 5}v{_HIGH + 10}" for y in _TOPS) for x in moving)),
        *across(axis, 262, "µs since the start of the step"),
    )  # fmt: skip
    knobs = [
        Knob("waves trained at once", [f"{number:,}" for number in waves]),
        Knob("time", [f"{time * 1e6:.0f} µs" for time in times], slider=True, ms=300),
    ]
    return Scene(picture, knobs, [each.said(time) for each, time in states])


def step(waves: int, card: str) -> Step:
    """What a training step takes. Nobody has timed the CPU's operations one by one: each gets the same share."""
    arrays = crossing.arrays(6, batch=waves)
    orders = launches(fl.estimate(training_step, *arrays, like=card, shapes_only=True).receipt)
    seconds = crossing.times("training step", name="amd-epyc-waves", hidden=6, batch=waves).median
    share, begin = float(seconds) / len(orders), float(orders[0].asked or 0)
    return Step(
        [(number * share, (number + 1) * share) for number in range(len(orders))],
        [(float(order.asked or 0) - begin, float(order.went_on or 0) - begin) for order in orders],
        [(float(order.start or 0) - begin, float(order.end or 0) - begin) for order in orders],
    )


def _lane(lane: int, name: str, steps: list[Step], states: list[tuple[Step, float]], axis: Axis) -> Iterator[Part]:
    """All operations hollow, and over them, full, those that are done. Of the next step's, none is shown."""
    y, most = _TOPS[lane], max(len(each.gpu) for each in steps)
    groups = [[_block(span, y, axis) for span in each[lane]] for each in steps]
    outlines = ["".join(f"M{x:g} {y}h{w:g}v{_HIGH}h-{w:g}z" for x, w in group if w) for group in groups]
    full = [
        Part("rect", x=x, y=y, width=width, height=_HIGH, data_n=number * most + place)
        for number, group in enumerate(groups) for place, (x, width) in enumerate(group)
    ]  # fmt: skip
    done = [(steps.index(each), each.done(time)[lane]) for each, time in states]
    look = "gpu" if lane == 2 else "host"
    yield label(10, y - 12, name)
    yield label(
        630, y - 12, Each(_counted(steps[number][lane], count, axis) for number, count in done), f"{look} bold end"
    )
    yield Part("path", class_=f"{look} hollow", d=Each(outlines[number] for number, _ in done))
    yield Part("g", *full, class_=f"{look} apart", only=Each((n * most, n * most + count - 1) for n, count in done))


def _block(span: tuple[float, float], y: int, axis: Axis) -> tuple[float, float]:
    """Where an operation's box begins, and how wide it is. What comes later than the picture's end sticks to it."""
    start, end = (min(axis(time * 1e6), axis.end) for time in span)
    return start, rounded([max(end - start, 0)])[0]


def _counted(spans: Spans, done: int, axis: Axis) -> str:
    count, end = len(spans), spans[-1][1]
    later = f", all after {duration(end)}" if end * 1e6 > axis.high else ""
    return f"all {count}, after {duration(end)}" if done == count else f"{done} of {count}{later}"
