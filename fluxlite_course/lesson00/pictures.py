"""The race: what a CPU, the host and a GPU have done of one training step, from moment to moment."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import fluxlite as fl
from fluxlite.devices.receipts import duration

from .. import crossing
from ..scenes import Each, Knob, Part, Scene, drawing, label, launches
from ..scenes.axes import Axis, across, bars
from ..sine_wave import training_step

WAVES = tuple(4**n for n in range(9))
_TICK = 15e-6  # seconds from one moment to the next
_LANES = "CPU: computing (a server, recorded)", "host: giving orders", "GPU: carrying them out (NVIDIA T4, simulated)"
_TOPS, _HIGH = (36, 122, 208), 40  # where the three lanes are, and their height

Spans = list[tuple[float, float]]  # where operations begin and end, in seconds


class Step(NamedTuple):
    """One training step: the CPU's operations, the host's orders, and the GPU's work on them."""

    cpu: Spans
    host: Spans
    gpu: Spans


def race(waves: Sequence[int] = WAVES) -> Scene:
    """One training step of the sine-wave network, on a recorded CPU and on a simulated NVIDIA T4, moment by moment.

    `waves` are the numbers of waves trained at once: powers of 4, up to a million.

    >>> race([1]).at(time="105 µs")
    'After 105 µs: the CPU has done all 25 operations. The host has given 6 of 25 orders, ...'
    """
    steps = [step(number) for number in waves]
    times = [number * _TICK for number in range(math.ceil(max(each.gpu[-1][1] for each in steps) / _TICK) + 2)]
    axis = Axis(0, times[-1], 10, 630)
    states = [(each, time) for each in steps for time in times]
    picture = drawing(
        640, 320, "A race: one training step, on a CPU and on a GPU",
        *(part for lane, words in enumerate(_LANES) for part in _lane(lane, words, steps, states, axis)),
        Part("path", class_="cursor", d=Each(
            "".join(f"M{axis(time):g} {y - 5}v{_HIGH + 10}" for y in _TOPS) for _, time in states)),
        *across(axis, 262, "µs since the start of the step", text=lambda time: f"{time * 1e6:.0f}"),
    )  # fmt: skip
    knobs = [
        Knob("waves trained at once", [f"{number:,}" for number in waves], slider=True),
        Knob("time", [f"{time * 1e6:.0f} µs" for time in times], slider=True, ms=300),
    ]
    return Scene(picture, knobs, [_sentence(each, time) for each, time in states])


def _sentence(step: Step, seconds: float) -> str:
    done = [(_count_done(spans, seconds), len(spans)) for spans in step]
    cpu, host, gpu = (f"all {count}" if done == count else f"{done} of {count}" for done, count in done)
    after = f"After {duration(seconds)}: the CPU has done {cpu} operations."
    return f"{after} The host has given {host} orders, and the GPU has carried out {gpu}."


def _count_done(spans: Spans, seconds: float) -> int:
    return sum(end <= seconds + 1e-9 for _, end in spans)


def step(waves: int) -> Step:
    """What a training step takes. Nobody has timed the CPU's operations one by one: each gets the same share."""
    arrays = crossing.arrays(6, batch=waves)
    orders = launches(fl.estimate(training_step, *arrays, like="NVIDIA T4", shapes_only=True).receipt)
    seconds = crossing.recorded("training step", name="amd-epyc-waves", hidden=6, batch=waves)
    share, begin = float(seconds) / len(orders), float(orders[0].asked or 0)
    return Step(
        [(number * share, (number + 1) * share) for number in range(len(orders))],
        [(float(order.asked or 0) - begin, float(order.went_on or 0) - begin) for order in orders],
        [(float(order.start or 0) - begin, float(order.end or 0) - begin) for order in orders],
    )


def _lane(lane: int, name: str, steps: list[Step], states: list[tuple[Step, float]], axis: Axis) -> Iterator[Part]:
    """All operations hollow, and over them, full, those that are done. What's beyond the picture's end is cut off."""
    y, most, look = _TOPS[lane], max(len(each.gpu) for each in steps), "gpu" if lane == 2 else "host"
    boxes = [
        [bars([(min(begin, axis.high), min(end, axis.high))], axis, y, _HIGH, gap=0) for begin, end in each[lane]]
        for each in steps
    ]
    full = [Part("path", d=d, data_n=n * most + k) for n, group in enumerate(boxes) for k, d in enumerate(group)]
    done = [(steps.index(each), _count_done(each[lane], time)) for each, time in states]
    yield label(10, y - 12, name)
    words = Each(_counts(steps[number][lane], count, axis) for number, count in done)
    yield label(630, y - 12, words, f"{look} bold end")
    yield Part("path", class_=f"{look} hollow", d=Each("".join(boxes[number]) for number, _ in done))
    yield Part("g", *full, class_=f"{look} apart", only=Each((n * most, n * most + count - 1) for n, count in done))


def _counts(spans: Spans, done: int, axis: Axis) -> str:
    count, end = len(spans), spans[-1][1]
    later = f", all after {duration(end)}" if end > axis.high else ""
    return f"all {count}, after {duration(end)}" if done == count else f"{done} of {count}{later}"
