"""Lesson 01's slider: how long a copy to the GPU takes, from 4 bytes to a gigabyte."""

from fluxlite.devices.receipts import duration
from simgpu import preset

from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.axes import Axis, across, curve, upward
from ..scenes.parts import rounded

SIZES = tuple(4**n for n in range(1, 16))
_LEFT, _WIDE = 10, 620


def copy_times(card: str = "NVIDIA T4") -> Scene:
    """How long a copy to a simulated `card` takes, from asking for it until the array is there.

    The latency is what each copy costs, however small: asking for it, and getting there. The rest is the transfer.

    >>> copy_times().at(size="4 bytes")
    '4 bytes, simulated (NVIDIA T4): 28 µs, and 100 % of it is latency.'
    """
    costs = preset(card)
    latency, transfers = costs.launch + costs.latency, [size / costs.pageable for size in SIZES]
    names, times = [_in_words(size) for size in SIZES], [latency + each for each in transfers]
    shares = [latency / time for time in times]
    xs, ys = Axis(1, 2**31, 100, 620, log=True), Axis(10e-6, 1, 330, 190, log=True)
    places = [(xs(size), ys(time)) for size, time in zip(SIZES, times)]
    waits = rounded(_WIDE * share for share in shares)
    looks = ["wait glide" if share > 0.5 else "gpu glide" for share in shares]
    picture = drawing(
        640, 400, "The time of one copy: its latency, and its transfer",
        label(_LEFT, 24, Each(f"{size}: {duration(time)}" for size, time in zip(names, times)), "bold"),
        label(_LEFT + _WIDE, 24, f"simulated ({costs.name})", "end"),
        Part("rect", class_="gpu glide", x=_LEFT, y=40, width=_WIDE, height=50),
        Part("rect", class_="wait glide", x=_LEFT, y=40, width=Each(waits), height=50),
        label(_LEFT, 114, f"latency: {duration(latency)}", "wait bold"),
        label(_LEFT + _WIDE, 114, Each(f"transfer: {duration(each)}" for each in transfers), "gpu bold end"),
        *across(xs, 330, "size of the copy (log)", [SIZES[0], *SIZES[4::5]], _in_words),
        *upward(ys, 100, "time (log)", [1e-5, 1e-3, 1e-1], duration),
        curve([x for x, _ in places], [y for _, y in places], "gpu simulated"),
        Part("circle", class_=Each(looks), r=8, cx=Each(x for x, _ in places), cy=Each(y for _, y in places)),
    )  # fmt: skip
    parts = [f"{100 * share:.0f} % of it is latency" if share > 0.5 else f"{100 - 100 * share:.0f} % is the transfer"
             for share in shares]  # fmt: skip
    each = zip(names, map(duration, times), parts)
    said = [f"{size}, simulated ({costs.name}): {time}, and {part}." for size, time, part in each]
    return Scene(picture, [Knob("size", names, slider=True, ms=700)], said, along=[x for x, _ in places])


def _in_words(size: float) -> str:
    power = (int(size).bit_length() - 1) // 10
    return f"{size // 1024**power:g} {('bytes', 'kB', 'MB', 'GB')[power]}"
