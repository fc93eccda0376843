"""The race of lesson 00, alive: one training step on the CPU and on the simulated GPU."""

from __future__ import annotations

from collections.abc import Iterator

from simgpu.profile.counts import Counts

from ...jupyter.alive import Alive, Each, Knob, Part, drawing
from ...jupyter.alive.scene import rounded
from ...receipts import Seconds
from ..films.moments import Order, launches
from ..films.racing import MOMENTS, instants, reached

FINER = 3
STEPS = FINER * (MOMENTS - 1) + 1  # three times as fine as the film; its moments are among these
_LEFT, _WIDTH, _BAR = 10, 620, 56
_ROWS = {"of-cpu": 30, "of-gpu": 128}
_BOTTOM = 200


def alive_race(receipt: Counts, cpu: Seconds, moment: int = 0) -> Alive:
    """The race of `course.films.race`, with a slider over time and a play button.

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
        *_lane("of-cpu", scale, [(i * share, (i + 1) * share) for i in range(len(orders))],
               Each((0, each.on_cpu - 1) for each in seen)),
        *_lane("of-gpu", scale, [(order.start, order.end) for order in _from_start(orders)],
               Each((0, each.done - 1) for each in seen)),
        Part("path", class_="cursor", d=x), *_axis(times[-1], scale),
    )  # fmt: skip
    return Alive(picture, [slider], [each.sentence for each in seen], [FINER * moment])


def _from_start(orders: list[Order]) -> list[Order]:
    begin = orders[0].asked
    return [order._replace(start=order.start - begin, end=order.end - begin) for order in orders]


def _lane(name: str, scale: float, spans: list[tuple[float, float]], done: Each) -> Iterator[Part]:
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
