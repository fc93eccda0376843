"""Lesson 06, CPU against GPU: checks."""

from fluxlite.devices.receipts import duration
from simgpu import preset

from ..crossing import BATCHES, SIZES, crossover
from ..kit.exercises import exercise
from ..kit.vocabulary import number, refuse

LAUNCHES, COPIES, BYTES = 28 * 4_000, 24, 432


def _near(value, wanted, by=0.05):
    return abs(value - wanted) <= by * wanted


def _reads_as(value, ratio):
    """Whether a whole number, or more of its digits, is this ratio in the table."""
    return f"{value:.0f}" == f"{ratio:.0f}"


@exercise("06.1", "from a receipt to seconds", look_at="the four bars: which is the longest, and what runs meanwhile?")
def seconds_by_hand(seconds):
    given, t4 = number(seconds, "seconds"), preset("NVIDIA T4")
    launches, work = LAUNCHES * t4.launch, LAUNCHES * t4.floor
    copies = COPIES * t4.latency + BYTES / t4.pageable
    right = launches + copies
    refuse({
        "host and GPU work at the same time, so their times don't add up": _near(given, launches + work, 0.01),
        "that's a single step; there are 4,000 of them": _near(given, 28 * t4.launch),
        "that's 26 launches a step: the tidier program's bill": _near(given, 26 * 4_000 * t4.launch, 0.01),
        "24 copies are all there are, not 24 in each step": _near(given, launches + 4_000 * copies, 0.01),
        "that's how long the GPU works; but the host takes longer to order it": _near(given, work),
        "the digits are right, the unit isn't: give seconds": any(_near(given, right * by) for by in (1e-3, 1e3, 1e6)),
        "that's not what the launches and the prices give": not _near(given, right, 0.02),  # 1.7 is near enough
    }, f"{given:.4g} s", "what the host needs for its orders, and for the copies")  # fmt: skip
    what = f"{LAUNCHES:,} launches of {duration(t4.launch)}; the copies are {duration(right - launches)} of it"
    return f"{duration(right)}: {what}"


@exercise("06.2", "read off the crossing", "crossover(1024, …): which copies and which wait does the program have?")
def read_off(size, times):
    size, times, right = number(size, "size"), number(times, "times"), crossover(1024)
    last = SIZES[-1]
    most = right.faster[last]
    elsewhere = None if _reads_as(times, most) else _size_of(times, right)
    no_copies = crossover(1024, copies=False).faster[last]
    only_ordered = crossover(1024, copies=False, wait=False).faster[last]
    other_batches = _of_other_batches(size, times)
    refuse({
        "size and times have changed places": times == right.smallest and _reads_as(size, most),
        other_batches: other_batches,
        f"at {size:g} the CPU is still faster": right.faster.get(size, 2) <= 1,
        f"{size:g} isn't a size in the table": size not in SIZES,
        "the GPU starts to win at a different size in the table": size != right.smallest,
        "the size is right; the ratio is upside down": times and _near(1 / times, most),
        "the size is right; the ratio is that of a program without copies. This one copies at each step":
            _reads_as(times, no_copies),
        "the size is right; the ratio is that of ordering: without copies and without a wait, nobody saw the work":
            _near(times, only_ordered),
        f"the size is right; the ratio is that at {elsewhere}": elsewhere,
        "the size is right, the ratio isn't": not _reads_as(times, most),
    }, f"{size:g}, {times:g} times", "the first size in the table at which the GPU wins, and keeps winning; "
       f"the CPU's time over the GPU's, at {last}")  # fmt: skip
    return f"from {right.smallest} on; {most:.0f} times as fast at {last}, in a comparison with a model"


def _size_of(times, table):
    """The hidden size at which the table has this ratio. None if it hasn't."""
    return next((size for size, ratio in table.faster.items() if f"{ratio:.1f}" == f"{times:.1f}"), None)


def _of_other_batches(size, times):
    """What a batch other than 1,024 has to do with these figures, in words: with both, or with the size alone."""
    others = {batch: crossover(batch) for batch in BATCHES if batch != 1024}
    found = [batch for batch, table in others.items() if size == table.smallest]
    both = [batch for batch in found if _near(times, others[batch].faster[SIZES[-1]])]
    if both:
        return f"{size:g} and {times:g} times are the figures for a batch of {_either(both)}"
    return f"{size:g} is the size for a batch of {_either(found)}" if found else ""


def _either(numbers):
    *first, last = map(str, numbers)
    return f"{', '.join(first)} or {last}" if first else last
