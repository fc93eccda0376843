"""Lesson 06, CPU against GPU: checks."""

from fluxlite.receipts import duration
from simgpu import preset

from ..crossing import SIZES, crossover
from ..kit.exercises import exercise
from ..kit.vocabulary import number, refuse

LAUNCHES, COPIES, BYTES = 28 * 4_000, 24, 432


def _near(value, wanted, by=0.05):
    return abs(value - wanted) <= by * wanted


@exercise("06.1", "from a receipt to seconds", look_at="the four bars: which is the longest, and what runs meanwhile?")
def seconds_by_hand(seconds):
    given, t4 = number(seconds, "seconds"), preset("NVIDIA T4")
    launches, work = LAUNCHES * t4.launch, LAUNCHES * t4.floor
    right = launches + COPIES * t4.latency + BYTES / t4.pageable
    refuse({
        "host and GPU work at the same time, so their times don't add up": _near(given, launches + work, 0.01),
        "that's a single step; there are 4,000 of them": _near(given, 28 * t4.launch),
        "that's how long the GPU works; but the host takes longer to order it": _near(given, work),
        "the digits are right, the unit isn't: give seconds": any(_near(given, right * by) for by in (1e3, 1e6)),
        "that's not what the launches and the prices give": not _near(given, right),
    }, f"{given:.4g} s", "what the host needs for its orders, and for the copies")  # fmt: skip
    what = f"{LAUNCHES:,} launches of {duration(t4.launch)}; the copies are {duration(right - launches)} of it"
    return f"{duration(right)}: {what}"


@exercise("06.2", "read off the crossing", "crossover(1024, …): which copies and which wait does the program have?")
def read_off(size, times):
    size, times, right = number(size, "size"), number(times, "times"), crossover(1024)
    most = right.faster[SIZES[-1]]
    others = [str(batch) for batch in (1, 64) if size == crossover(batch).smallest]
    refuse({
        f"that's with a batch of {' or '.join(others)}": others,
        f"at {size:g} the CPU is still faster": right.faster.get(size, 2) <= 1,
        "the GPU starts to win at a different size in the table": size != right.smallest,
        "the size is right; the ratio is upside down": times and _near(1 / times, most),
        "the size is right, the ratio isn't": not _near(times, most),
    }, f"{size:g}, {times:g} times", "the first size in the table at which the GPU wins, and keeps winning; "
       f"the CPU's time over the GPU's, at {SIZES[-1]}")  # fmt: skip
    return f"from {right.smallest} on; {most:.0f} times as fast at {SIZES[-1]}, in a comparison with a model"
