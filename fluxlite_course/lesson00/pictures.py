"""Where the race is at each moment: what the CPU, the host and the GPU have done by then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fluxlite.receipts import Seconds, duration
from simgpu.profile import Counts

from ..draw.alive import Alive, Each, Knob, Part, drawing
from ..draw.alive.scene import rounded
from ..draw.frames import Frames, frames
from ..draw.moments import Order, launches
from ..draw.pictures import GREY, Picture, look, plots, show

MOMENTS = 13


class Reached(NamedTuple):
    """How far both are after `seconds`: operations done on the CPU, and launches ordered and done on the GPU."""

    seconds: float
    operations: int
    on_cpu: int
    given: int
    done: int
    first: str

    @property
    def sentence(self) -> str:
        """The same in words."""
        after, operations, on_cpu, given, done, first = self
        if on_cpu == done == operations:
            return f"After {duration(after)}: both have done all {operations} operations, the {first} first."
        cpu = f"all {operations}" if on_cpu == operations else f"{on_cpu} of {operations}"
        return (
            f"After {duration(after)}: the CPU has done {cpu} operations. "
            f"The host has ordered {given} launches, and the GPU has done {done} of them."
        )


def reached(orders: list[Order], cpu: float, seconds: float) -> Reached:
    """How far the race of these orders is after `seconds`, if the CPU takes `cpu` seconds for all of it."""
    begin, end = orders[0].asked, max(order.end for order in orders)
    given = sum(order.went_on - begin <= seconds for order in orders)
    done = sum(order.end - begin <= seconds for order in orders)
    on_cpu = min(len(orders), int(len(orders) * seconds / cpu + 1e-9))
    return Reached(seconds, len(orders), on_cpu, given, done, "CPU" if cpu < end - begin else "GPU")


def instants(orders: list[Order], cpu: float, count: int) -> list[float]:
    """So many moments of the race, in seconds, from its start until both are done."""
    length = max(cpu, max(order.end for order in orders) - orders[0].asked)
    return [length * number / (count - 1) for number in range(count)]


# -- the race, moment by moment ------------------------------------------------------------------------------------


def race_at(receipt: Counts, cpu: Seconds, seconds: float) -> Picture:
    """The race after `seconds`: what the CPU and the GPU have done by then of one training step.

    `receipt` has the step's launches on a simulated GPU. `cpu` is how long the whole step takes on the CPU. Raises
    `ValueError` for a receipt without times, as on a real GPU.
    """
    orders = launches(receipt)
    begin, end = orders[0].asked, max(order.end for order in orders)
    on_cpu = reached(orders, float(cpu), seconds).on_cpu
    figure, axes = plots(height=2.7, width=10)
    colour = look("simulated")["color"]
    _lane(axes, 1, look(cpu.kind)["color"], len(orders), float(cpu), on_cpu)
    for order in orders:
        left, right = (order.start - begin) * 1e6, (order.end - begin) * 1e6
        full = order.end - begin <= seconds
        axes.barh(0, right - left, left=left, height=0.5, facecolor=colour if full else "white", edgecolor=colour)
    axes.axvline(seconds * 1e6, color="black", linewidth=1.5)
    card = receipt.seconds.card
    axes.set_yticks([0, 1], [f"GPU ({card}),\nsimulated", f"{cpu.card or 'this CPU'},\n{cpu.kind}"])
    axes.set(xlabel="µs since the start of the step", xlim=(0, max(end - begin, float(cpu)) * 1.03e6), ylim=(-0.5, 1.5))
    axes.tick_params(axis="y", length=0)
    return show(figure, reached(orders, float(cpu), seconds).sentence)


def _lane(axes: Any, row: int, colour: str, operations: int, seconds: float, done: int) -> None:
    """The CPU's lane. Nobody has timed its operations one by one, so each gets the same share of the step."""
    width = seconds * 1e6 / operations
    for number in range(operations):
        face = colour if number < done else "white"
        axes.barh(row, width, left=number * width, height=0.5, facecolor=face, edgecolor=GREY, linewidth=0.5)


def race(receipt: Counts, cpu: Seconds) -> Frames:
    """The race of `race_at` to leaf through, or to play.

    >>> r = fl.estimate(lambda x: np.tanh(x * 2) + 1, np.ones(4, np.float32)).receipt
    >>> film = race(r, fl.Seconds(6e-6, "measured"))
    >>> film.pictures[0]
    After 0 s: the CPU has done 0 of 3 operations. The host has ordered 0 launches, and the GPU has done 0 of them.
    """
    moments = instants(launches(receipt), float(cpu), MOMENTS)
    drawn = [race_at(receipt, cpu, moment) for moment in moments]
    film = frames(drawn, [f"{moment * 1e6:.0f} µs" for moment in moments], "time", ms=900)
    film.alive = lambda: alive_race(receipt, cpu, film.now)
    return film


# -- the race, alive -----------------------------------------------------------------------------------------------


FINER = 3
STEPS = FINER * (MOMENTS - 1) + 1  # three times as fine as the film; its moments are among these
_LEFT, _WIDTH, _BAR = 10, 620, 56
_ROWS = {"of-cpu": 30, "of-gpu": 128}
_BOTTOM = 200


def alive_race(receipt: Counts, cpu: Seconds, moment: int = 0) -> Alive:
    """`race`, with a slider over time and a play button.

    `receipt` has the step's launches on a simulated GPU, `cpu` is how long the step takes on the CPU. It
    begins at this `moment` of the film, a number. Raises `ValueError` for a receipt without times, as on a real GPU.

    >>> r = fl.estimate(lambda x: np.tanh(x * 2) + 1, np.ones(4, np.float32)).receipt
    >>> alive_race(r, fl.Seconds(6e-6, "measured")).sentences[-1]
    'After 48 µs: both have done all 3 operations, the CPU first.'
    """
    orders = launches(receipt)
    times = instants(orders, float(cpu), STEPS)
    seen = [reached(orders, float(cpu), time) for time in times]
    scale = _WIDTH / (times[-1] * 1.01)
    slider = Knob("time", [f"{time * 1e6:.0f} µs" for time in times], slider=True, ms=300)
    x = Each(f"M{_LEFT + time * scale:.1f} 26V{_BOTTOM}" for time in times)
    share = float(cpu) / len(orders)
    picture = drawing(
        640, _BOTTOM + 60, f"A race: one training step of {len(orders)} operations, on a CPU and on a GPU",
        Part("text", text=f"{cpu.card or 'this CPU'}, {cpu.kind}", x=_LEFT, y=20),
        Part("text", text=f"GPU ({receipt.seconds.card}), simulated", x=_LEFT, y=_ROWS["of-gpu"] - 10),
        *_alive_lane("of-cpu", scale, [(i * share, (i + 1) * share) for i in range(len(orders))],
               Each((0, each.on_cpu - 1) for each in seen)),
        *_alive_lane("of-gpu", scale, [(order.start, order.end) for order in _from_start(orders)],
               Each((0, each.done - 1) for each in seen)),
        Part("path", class_="cursor", d=x), *_axis(times[-1], scale),
    )  # fmt: skip
    return Alive(picture, [slider], [each.sentence for each in seen], [FINER * moment])


def _from_start(orders: list[Order]) -> list[Order]:
    begin = orders[0].asked
    return [order._replace(start=order.start - begin, end=order.end - begin) for order in orders]


def _alive_lane(name: str, scale: float, spans: list[tuple[float, float]], done: Each) -> Iterator[Part]:
    """All operations hollow, and over them, full, those that are done. They're done in order."""
    bars = []
    for number, (start, end) in enumerate(spans):
        x, width = rounded((_LEFT + start * scale, max((end - start) * scale, 1)))
        bars.append(Part("rect", x=x, y=_ROWS[name], width=width, height=_BAR, data_n=number))
    hollow = [Part("rect", class_="todo", **{k: v for k, v in bar.attributes.items() if k != "data-n"}) for bar in bars]
    yield Part("g", *hollow, class_=name)
    for bar in bars:
        bar.attributes["class"] = "done"
    yield Part("g", *bars, class_=name, only=done)


def _axis(length: float, scale: float) -> Iterator[Part]:
    yield Part("path", class_="axis", d=f"M{_LEFT} {_BOTTOM}h{_WIDTH}")
    micro = length * 1e6
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if micro / step <= 8 or step == 10**9)
    for number in range(int(micro / step) + 1):
        x = rounded([_LEFT + number * step * 1e-6 * scale])[0]
        yield Part("path", class_="axis", d=f"M{x} {_BOTTOM}v6")
        place = "middle" if number else ""
        yield Part("text", text=number * step, class_=f"{place} wide".strip() if number % 2 else place or None,
                   x=x, y=_BOTTOM + 26)  # fmt: skip
    yield Part("text", text="µs since the start of the step", class_="middle", x=320, y=_BOTTOM + 54)
