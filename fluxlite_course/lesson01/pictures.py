"""Lesson 01's slider: how long a copy to the GPU takes, from 4 bytes to a gigabyte."""

from collections.abc import Iterator
from typing import Any

from fluxlite.devices.receipts import duration
from simgpu import preset

from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.axes import Axis, across, curve, upward
from ..scenes.parts import rounded

SIZES = tuple(4**n for n in range(1, 16))
_LEFT, _WIDE = 10, 620


def copy_times(card: str = "NVIDIA T4") -> Scene:
    """How long a copy to a simulated `card` takes, from asking for it until the array is there.

    Each copy costs the host's order, and a latency before its first byte moves, however small it is. The rest is the
    transfer.

    >>> copy_times().at(size="4 bytes")
    '4 bytes: 28 µs simulated (NVIDIA T4): the order 15 µs, the latency 13 µs, the transfer 0.667 ns.'
    """
    costs = preset(card)
    transfers = [size / costs.pageable for size in SIZES]
    names, times = [_in_words(size) for size in SIZES], [costs.launch + costs.latency + each for each in transfers]
    xs, ys = Axis(1, 2**31, 100, 620, log=True), Axis(10e-6, 1, 330, 190, log=True)
    places = [(xs(size), ys(time)) for size, time in zip(SIZES, times)]
    picture = drawing(
        640, 400, "The time of one copy: the order, its latency, and its transfer",
        label(_LEFT, 24, Each(f"{size}: {duration(time)}" for size, time in zip(names, times)), "bold"),
        label(_LEFT + _WIDE, 24, f"simulated ({costs.name})", "end"),
        *_bar(costs, transfers, times),
        *across(xs, 330, "size of the copy (log)", [SIZES[0], *SIZES[4::5]], _in_words),
        *upward(ys, 100, "time (log)", [1e-5, 1e-3, 1e-1], duration),
        curve([x for x, _ in places], [y for _, y in places], "copy simulated"),
        Part("circle", class_="copy glide", r=8, cx=Each(x for x, _ in places), cy=Each(y for _, y in places)),
    )  # fmt: skip
    fixed = f"the order {duration(costs.launch)}, the latency {duration(costs.latency)}"
    said = [f"{size}: {duration(time)} simulated ({costs.name}): {fixed}, the transfer {duration(each)}."
            for size, time, each in zip(names, times, transfers)]  # fmt: skip
    return Scene(picture, [Knob("size", names, slider=True, ms=700)], said, along=[x for x, _ in places])


def _bar(costs: Any, transfers: list[float], times: list[float]) -> Iterator[Part]:
    """What the time goes into, as one bar: on top of the transfer the latency, and on top of that the order."""
    orders = rounded(_WIDE * costs.launch / time for time in times)
    before = rounded(_WIDE * (costs.launch + costs.latency) / time for time in times)
    for look, wide in (("copy", _WIDE), ("rest", Each(before)), ("host", Each(orders))):
        yield Part("rect", class_=f"{look} glide", x=_LEFT, y=40, width=wide, height=50)
    yield label(_LEFT, 114, f"order: {duration(costs.launch)}", "host bold")
    yield label(_LEFT + 120, 114, f"latency: {duration(costs.latency)}", "rest bold")
    yield label(_LEFT + _WIDE, 114, Each(f"transfer: {duration(each)}" for each in transfers), "copy bold end")


def _in_words(size: float) -> str:
    power = (int(size).bit_length() - 1) // 10
    return f"{size // 1024**power:g} {('bytes', 'kB', 'MB', 'GB')[power]}"
