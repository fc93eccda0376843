"""The race: what the CPU, the host and the GPU have done of one training step, from moment to moment."""

from collections.abc import Iterator
from typing import NamedTuple

from fluxlite.receipts import Seconds, duration
from simgpu.profile import Receipt

from ..draw.frames import Frames, Order, frames, launches
from ..draw.pictures import GREY, Picture, look, plots, show
from ..scenes import Each, Knob, Part, Scene, drawing
from ..scenes.parts import rounded

MOMENTS = 13
FINER = 3  # the living picture's steps for each of the film's

Spans = list[tuple[float, float]]  # where operations begin and end, in seconds


class Reached(NamedTuple):
    """How many operations are done on the CPU, and on the GPU, and the same in words."""

    on_cpu: int
    on_gpu: int
    sentence: str


def reached(orders: list[Order], cpu: float, seconds: float) -> Reached:
    """How far the race of these orders is after `seconds`, if the CPU takes `cpu` seconds for all of it."""
    begin, end, count = orders[0].asked, max(order.end for order in orders), len(orders)
    given = sum(order.went_on - begin <= seconds for order in orders)
    done = sum(order.end - begin <= seconds for order in orders)
    on_cpu = min(count, int(count * seconds / cpu + 1e-9))
    after = f"After {duration(seconds)}:"
    if on_cpu == done == count:
        first = "CPU" if cpu < end - begin else "GPU"
        return Reached(on_cpu, done, f"{after} both have done all {count} operations, the {first} first.")
    part = f"all {count}" if on_cpu == count else f"{on_cpu} of {count}"
    gpu = f"The host has ordered {given} launches, and the GPU has done {done} of them."
    return Reached(on_cpu, done, f"{after} the CPU has done {part} operations. {gpu}")


def instants(orders: list[Order], cpu: float, count: int) -> list[float]:
    """So many moments of the race, in seconds, from its start until both are done."""
    length = max(cpu, max(order.end for order in orders) - orders[0].asked)
    return [length * number / (count - 1) for number in range(count)]


def _spans(orders: list[Order], cpu: float) -> tuple[Spans, Spans]:
    """Each operation on the CPU, and on the GPU. Nobody has timed the CPU's one by one: each gets the same share."""
    begin, share = orders[0].asked, cpu / len(orders)
    on_cpu = [(number * share, (number + 1) * share) for number in range(len(orders))]
    return on_cpu, [(order.start - begin, order.end - begin) for order in orders]


def _names(receipt: Receipt, cpu: Seconds) -> tuple[str, str]:
    return cpu.card or "this CPU", f"GPU ({receipt.seconds.card})"


# -- the race, moment by moment ------------------------------------------------------------------------------------


def race_at(receipt: Receipt, cpu: Seconds, seconds: float) -> Picture:
    """The race after `seconds`: what the CPU and the GPU have done by then of one training step.

    `receipt` has the step's launches on a simulated GPU. `cpu` is how long the whole step takes on the CPU. Raises
    `ValueError` for a receipt without times, as on a real GPU.
    """
    orders = launches(receipt)
    on_cpu, on_gpu, sentence = reached(orders, float(cpu), seconds)
    figure, axes = plots(height=2.7, width=10)
    orange = look("simulated")["color"]
    lanes = (1, look(cpu.kind)["color"], GREY, 0.5, on_cpu), (0, orange, orange, None, on_gpu)
    for (row, colour, edge, line, done), spans in zip(lanes, _spans(orders, float(cpu))):
        for number, (start, end) in enumerate(spans):
            axes.barh(row, (end - start) * 1e6, left=start * 1e6, height=0.5, edgecolor=edge, linewidth=line,
                      facecolor=colour if number < done else "white")  # fmt: skip
    axes.axvline(seconds * 1e6, color="black", linewidth=1.5)
    name, card = _names(receipt, cpu)
    axes.set_yticks([0, 1], [f"{card},\nsimulated", f"{name},\n{cpu.kind}"])
    last = instants(orders, float(cpu), 2)[-1]
    axes.set(xlabel="µs since the start of the step", xlim=(0, last * 1.03e6), ylim=(-0.5, 1.5))
    axes.tick_params(axis="y", length=0)
    return show(figure, sentence)


def race(receipt: Receipt, cpu: Seconds) -> Frames:
    """The race of `race_at` to leaf through, or to play.

    >>> r = fl.estimate(lambda x: np.tanh(x * 2) + 1, np.ones(4, np.float32)).receipt
    >>> film = race(r, fl.Seconds(6e-6, "measured"))
    >>> film.pictures[0]
    After 0 s: the CPU has done 0 of 3 operations. The host has ordered 0 launches, and the GPU has done 0 of them.
    """
    moments = instants(launches(receipt), float(cpu), MOMENTS)
    drawn = [race_at(receipt, cpu, moment) for moment in moments]
    film = frames(drawn, [f"{moment * 1e6:.0f} µs" for moment in moments], "time", ms=900)
    film.scene = lambda: race_scene(receipt, cpu, film.now)
    return film


# -- the race, scene -----------------------------------------------------------------------------------------------


_LEFT, _WIDTH, _BOTTOM = 10, 620, 200
_LANES = {"host": 30, "gpu": 128}  # how far down each begins


def race_scene(receipt: Receipt, cpu: Seconds, moment: int = 0) -> Scene:
    """`race`, with a slider over time and a play button.

    `receipt` has the step's launches on a simulated GPU, `cpu` is how long the step takes on the CPU. It
    begins at this `moment` of the film, a number. Raises `ValueError` for a receipt without times, as on a real GPU.

    >>> r = fl.estimate(lambda x: np.tanh(x * 2) + 1, np.ones(4, np.float32)).receipt
    >>> race_scene(r, fl.Seconds(6e-6, "measured")).sentences[-1]
    'After 48 µs: both have done all 3 operations, the CPU first.'
    """
    orders, (name, card) = launches(receipt), _names(receipt, cpu)
    times = instants(orders, float(cpu), FINER * (MOMENTS - 1) + 1)
    seen = [reached(orders, float(cpu), time) for time in times]
    scale = _WIDTH / (times[-1] * 1.01)
    slider = Knob("time", [f"{time * 1e6:.0f} µs" for time in times], slider=True, ms=300)
    x = Each(f"M{_LEFT + time * scale:.1f} 26V{_BOTTOM}" for time in times)
    on_cpu, on_gpu = _spans(orders, float(cpu))
    picture = drawing(
        640, _BOTTOM + 60, f"A race: one training step of {len(orders)} operations, on a CPU and on a GPU",
        Part("text", text=f"{name}, {cpu.kind}", x=_LEFT, y=20),
        Part("text", text=f"{card}, simulated", x=_LEFT, y=_LANES["gpu"] - 10),
        *_lane_scene("host", scale, on_cpu, Each((0, each.on_cpu - 1) for each in seen)),
        *_lane_scene("gpu", scale, on_gpu, Each((0, each.on_gpu - 1) for each in seen)),
        Part("path", class_="cursor", d=x), *_axis(times[-1], scale),
    )  # fmt: skip
    return Scene(picture, [slider], [each.sentence for each in seen], [FINER * moment])


def _lane_scene(name: str, scale: float, spans: Spans, done: Each) -> Iterator[Part]:
    """All operations hollow, and over them, full, those that are done. They're done in order."""
    xs = [rounded((_LEFT + start * scale, max((end - start) * scale, 1))) for start, end in spans]
    bars = [{"x": x, "y": _LANES[name], "width": width, "height": 56} for x, width in xs]
    yield Part("g", *(Part("rect", class_="hollow", **bar) for bar in bars), class_=name)
    full = [Part("rect", **bar, data_n=number) for number, bar in enumerate(bars)]
    yield Part("g", *full, class_=name, only=done)


def _axis(length: float, scale: float) -> Iterator[Part]:
    yield Part("path", class_="axis", d=f"M{_LEFT} {_BOTTOM}h{_WIDTH}")
    micro = length * 1e6
    step = next((step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500) if micro / step <= 8), 10**9)
    for number in range(int(micro / step) + 1):
        x = rounded([_LEFT + number * step * 1e-6 * scale])[0]
        yield Part("path", class_="axis", d=f"M{x} {_BOTTOM}v6")
        look = "middle wide" if number % 2 else "middle" if number else None
        yield Part("text", text=number * step, class_=look, x=x, y=_BOTTOM + 26)
    yield Part("text", text="µs since the start of the step", class_="middle", x=320, y=_BOTTOM + 54)
