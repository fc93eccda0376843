"""Lesson 01's slider: how long a copy to the GPU takes, from 4 bytes to a gigabyte."""

from fluxlite.receipts import duration
from simgpu import preset

from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.axes import Axis, across, curve, upward
from ..scenes.parts import rounded

SIZES = tuple(4**n for n in range(1, 16))
_UNITS = (" GB", 2**30), (" MB", 2**20), (" kB", 2**10), (" bytes", 1)
_LEFT, _WIDE = 10, 620


def copy_times(card: str = "NVIDIA T4") -> Scene:
    """How long a copy to a simulated `card` takes, from asking for it until the array is there.

    The latency is what each copy costs, however small: asking for it, and the way. The rest is the transfer.

    >>> copy_times().at(size="4 bytes")
    '4 bytes, simulated (NVIDIA T4): 28 µs, and 100 % of it is latency.'
    """
    costs = preset(card)
    latency, transfers = costs.launch + costs.latency, [size / costs.pageable for size in SIZES]
    times, name = [latency + each for each in transfers], costs.name
    shares = [latency / time for time in times]
    names = [_named(size) for size in SIZES]
    xs = Axis(1, 2**31, 100, 620, log=True)
    ys = Axis(10e-6, 1, 330, 190, log=True)
    places = [(xs(size), ys(time)) for size, time in zip(SIZES, times)]
    width = rounded(_WIDE * share for share in shares)
    turn = [share > 0.5 for share in shares]
    picture = drawing(
        640, 400, "The time of one copy: its latency, and its transfer",
        label(_LEFT, 24, Each(f"{size}: {duration(time)}" for size, time in zip(names, times)), "bold"),
        label(_LEFT + _WIDE, 24, f"simulated ({name})", "end"),
        Part("rect", class_="gpu glide", x=_LEFT, y=40, width=_WIDE, height=50),
        Part("rect", class_="wait glide", x=_LEFT, y=40, width=Each(width), height=50),
        label(_LEFT, 114, f"latency: {duration(latency)}", "wait bold"),
        label(_LEFT + _WIDE, 114, Each(f"transfer: {duration(each)}" for each in transfers), "gpu bold end"),
        *across(xs, 330, "size of the copy (log)", [SIZES[0], *SIZES[4::5]], _named),
        *upward(ys, 100, "time (log)", [1e-5, 1e-3, 1e-1], duration),
        curve([x for x, _ in places], [y for _, y in places], "gpu simulated"),
        Part("circle", class_=Each("wait glide" if before else "gpu glide" for before in turn), r=8,
             cx=Each(x for x, _ in places), cy=Each(y for _, y in places)),
    )  # fmt: skip
    said = map(_said, times, shares)
    sentences = [f"{size}, simulated ({name}): {rest}" for size, rest in zip(names, said)]
    return Scene(picture, [Knob("size", names, slider=True, ms=700)], sentences)


def _named(size: float) -> str:
    return next(f"{size // one:g}{unit}" for unit, one in _UNITS if size >= one)


def _said(time: float, share: float) -> str:
    if share > 0.5:
        return f"{duration(time)}, and {100 * share:.0f} % of it is latency."
    return f"{duration(time)}, and {100 - 100 * share:.0f} % of it is the transfer: now the link's bandwidth counts."
