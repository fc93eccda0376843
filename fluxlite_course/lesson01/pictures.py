"""Lesson 01's slider: how long a copy to the GPU takes, from 4 bytes to a gigabyte."""

from fluxlite.receipts import duration
from simgpu import preset

from ..draw.frames import Frames, frames
from ..draw.pictures import BLUE, ORANGE, Picture, look, plots, show

SIZES = tuple(4**n for n in range(1, 16))


def copy_time(nbytes: int, card: str = "NVIDIA T4") -> Picture:
    """How long a copy of `nbytes` to a simulated `card` takes, from asking for it until the array is there.

    The latency is what each copy costs, however small: asking for it, and the way. The rest is the transfer.

    >>> copy_time(4)
    4 bytes, simulated (NVIDIA T4): 28 µs, and 100 % of it is latency.
    """
    latency, transfer = _parts(nbytes, card)
    figure, (left, right) = plots(1, 2, height=3.2, width=10)
    times = [sum(_parts(size, card)) * 1e6 for size in SIZES]
    left.loglog(SIZES, times, **{**look("simulated"), "marker": ""})
    left.plot([nbytes], [(latency + transfer) * 1e6], "s", color=ORANGE, markersize=10)
    left.set(xlabel="size (log)", ylabel=f"µs, simulated ({card}), log")
    left.set_xticks([4, 2**10, 2**20, 2**30], ["4 bytes", "1 kB", "1 MB", "1 GB"])
    left.set_yticks([10, 1_000, 100_000], ["10", "1,000", "100,000"])
    left.minorticks_off()
    left.set_xlim(1, 2**33)  # so that "1 GB" keeps its distance from the other half
    bars = (("transfer", transfer, BLUE, ""), ("latency", latency, ORANGE, "///"))
    for row, (name, part, colour, hatch) in enumerate(bars):
        share = part / (latency + transfer)
        right.barh(row, 100 * share, height=0.6, facecolor="white", edgecolor=colour, hatch=hatch, linewidth=2)
        # In a long bar, its words stand inside.
        right.text(100 * share + 2 if share < 0.5 else 3, row, f"{name}: {duration(part)}", va="center")
    right.set(xlabel="% of the copy's time", xlim=(0, 105), yticks=[])
    time = latency + transfer
    much = f"{100 * latency / time:.0f} % of it is latency"
    if latency < transfer:
        much = f"{100 * transfer / time:.0f} % of it is the transfer: now the link's bandwidth counts"
    return show(figure, f"{nbytes:,} bytes, simulated ({card}): {duration(time)}, and {much}.")


def _parts(nbytes: int, card: str) -> tuple[float, float]:
    costs = preset(card)
    return costs.launch + costs.latency, nbytes / costs.pageable


def copy_times(card: str = "NVIDIA T4") -> Frames:
    """`copy_time` with a slider, from 4 bytes to 1 GB."""
    scale = (" GB", 2**30), (" MB", 2**20), (" kB", 2**10), (" bytes", 1)
    labels = [next(f"{size // one}{unit}" for unit, one in scale if size >= one) for size in SIZES]
    return frames([copy_time(size, card) for size in SIZES], labels, "bytes")
