"""The race: what a CPU, the host and a GPU have done of one training step, from moment to moment."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import fluxlite as fl
from fluxlite.devices.receipts import duration
from simgpu.profile import Moment

from .. import crossing
from ..lesson07.pictures import digits_step
from ..scenes import Each, Knob, Scene
from ..scenes.lanes import Box, Lanes, Row, film, gaps, until_the_loser
from ..scenes.receipts import launches
from ..sine_wave import training_step

WAVES = tuple(4**n for n in range(9))
_TICK, _SPAN = 15e-6, 450e-6  # seconds from one moment to the next, and how long the moments are even

Spans = list[tuple[float, float]]  # where operations begin and end, in seconds


class Step(NamedTuple):
    """One training step: the operations, and when the CPU, the host with its orders, and the GPU are at each."""

    names: list[str]
    cpu: Spans
    host: Spans
    gpu: Spans

    @property
    def end(self) -> float:
        """When the loser is done."""
        return max(self.cpu[-1][1], self.gpu[-1][1])


def race(waves: Sequence[int] = WAVES) -> Scene:
    """One training step of the sine-wave network, on a recorded CPU and on a simulated NVIDIA T4, moment by moment.

    `waves` are the numbers of waves trained at once: powers of 4, up to a million.

    >>> race([1]).at(time="105 µs")
    'After 105 µs: the CPU has done all 25 operations. The host has given 6 of 25 orders, ...'
    """
    knob = Knob("waves trained at once", [f"{number:,}" for number in waves], slider=True)
    return _race([step(number) for number in waves], [knob])


def digits_race(digits: int = 1024) -> Scene:
    """The same for a training step of the network that reads digits, with so many of them: 1, 4, 16 … 4,096.

    >>> digits_race().sentences[-1]
    'After 15.2 ms: the CPU has done all ... operations. The host has given all ... orders, and the GPU has ...'
    """
    train, taken = digits_step(digits)
    orders = launches(fl.estimate(train, *taken, like="NVIDIA T4", shapes_only=True).receipt)
    seconds = crossing.recorded("digits step", name="xeon-digits", batch=digits)
    return _race([_step(orders, float(seconds))])


def _race(steps: Sequence[Step], knobs: Sequence[Knob] = ()) -> Scene:
    """The race of these steps, one for each option of the knob, if there's one."""
    times = until_the_loser([each.end for each in steps], _TICK, _SPAN)
    states = [(each, time.now[n]) for n, each in enumerate(steps) for time in times]
    rows = [
        Row("cpu", "CPU", Each(_count(each.cpu, now) for each, now in states), kind="recorded"),
        Row("host", "host", Each(_count(each.host, now) for each, now in states)),
        Row("gpu", "GPU", Each(_count(each.gpu, now) for each, now in states)),
    ]
    return film(
        "A race: one training step, on a CPU and on a GPU", Lanes(rows), [list(_boxes(each)) for each in steps], times,
        [_sentence(each, now) for each, now in states], knobs=knobs,
        telling=[*[len(steps) - 1 for _ in knobs], len(times) - 1],
        names=[duration(now) for _, now in states],
        about="CPU recorded (a server): dotted; GPU simulated (NVIDIA T4)",
    )  # fmt: skip


def _boxes(step: Step) -> Iterator[Box]:
    for n, (name, cpu, host, gpu) in enumerate(zip(*step), 1):
        yield Box("cpu", *cpu, "host", f"operation {n}, {name}, on the CPU: about {duration(cpu[1] - cpu[0])}")
        yield Box("host", *host, "host", f"order {n}, {name}: {duration(host[1] - host[0])} to give it")
        yield Box("gpu", *gpu, "compute", f"operation {n}, {name}, on the GPU: {duration(gpu[1] - gpu[0])}")
    for begin, end in gaps(step.gpu, 0.0, step.gpu[-1][1]):
        yield Box("gpu", begin, end, "waits", f"the GPU waits for an order: {duration(end - begin)}")


def _sentence(step: Step, seconds: float) -> str:
    done = [(_count_done(spans, seconds), len(spans)) for spans in step[1:]]
    cpu, host, gpu = (f"all {count}" if done == count else f"{done} of {count}" for done, count in done)
    after = f"After {duration(seconds)}: the CPU has done {cpu} operations."
    return f"{after} The host has given {host} orders, and the GPU has carried out {gpu}."


def _count_done(spans: Spans, seconds: float) -> int:
    return sum(end <= seconds + 1e-9 for _, end in spans)


def _count(spans: Spans, seconds: float) -> str:
    done = _count_done(spans, seconds)
    return f"all: {duration(spans[-1][1])}" if done == len(spans) else f"{done} of {len(spans)}"


def step(waves: int) -> Step:
    """What a training step takes. Nobody has timed the CPU's operations one by one: each gets the same share."""
    arrays = crossing.arrays(6, batch=waves)
    orders = launches(fl.estimate(training_step, *arrays, like="NVIDIA T4", shapes_only=True).receipt)
    seconds = crossing.recorded("training step", name="amd-epyc-waves", hidden=6, batch=waves)
    return _step(orders, float(seconds))


def _step(orders: Sequence[Moment], seconds: float) -> Step:
    share, begin = seconds / len(orders), float(orders[0].asked or 0)
    return Step(
        [order.name for order in orders],
        [(number * share, (number + 1) * share) for number in range(len(orders))],
        [(float(order.asked or 0) - begin, float(order.went_on or 0) - begin) for order in orders],
        [(float(order.start or 0) - begin, float(order.end or 0) - begin) for order in orders],
    )
