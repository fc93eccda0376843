"""Lesson 08's pictures: what's inside a GPU, how a block adds up, and times compared."""

from collections.abc import Iterator

from fluxlite.messages import many
from fluxlite.receipts import Seconds, duration

from ..draw.pictures import Picture, look, plots, show
from ..scenes import Each, Knob, Part, Scene, drawing, label

# Turing architecture white paper, 2018, and the T4's datasheet, 2019: notebooks/SOURCES.md has the addresses.
MULTIPROCESSORS, LANES, WARP = 40, 64, 32
# GB/s: PCI Express 3 with 16 lanes, one way; the datasheet; Jia et al., 2019 (arXiv 1903.07486), measured.
LINK, MEMORY, LEVEL_2 = 16, 320, 1270
# Cycles until a number is there: Jia et al., 2019.
TO_SHARED, TO_LEVEL_1, TO_LEVEL_2, TO_MEMORY = 19, 32, 188, 296


def chip() -> Scene:
    """A T4's inside: a multiprocessor with its lanes, the caches, the memory. Pipes are as wide as their bandwidth.

    Choose a part, or click it: it says how large it is, and how far away from a lane.

    >>> chip().at(part="shared memory")
    'shared memory: 64 KB, shared by the threads of a block, 19 cycles away'
    """
    names, boxes = list(_PARTS), []
    for k, (name, (x, y, width, height, _)) in enumerate(_PARTS.items()):
        look = "part host-line" if name == "host" else "part gpu-line"
        words = [] if name == "lanes" else [label(x + width / 2, y + height / 2 + 5, name, "middle")]
        looks = Each(f"{look} picked" if name == chosen else look for chosen in names)
        frame = Part("rect", x=x, y=y, width=width, height=height, rx=4)
        boxes.append(Part("g", frame, *words, class_=looks, data_pick=f"0:{k}"))
    for k in range(LANES):
        boxes.append(
            Part("rect", class_="gpu", x=20 + 16.5 * (k % 16), y=46 + 17 * (k // 16), width=12, height=12, rx=2)
        )
    for k in range(MULTIPROCESSORS - 1):
        x, y = 8 + 22 * (k % 13), 244 + 18 * (k // 13)
        boxes.append(Part("rect", class_="box gpu-line", x=x, y=y, width=17, height=13, rx=2))
    said = [f"{name}: {facts}" for name, (*_, facts) in _PARTS.items()]
    both = zip(*(fact.rpartition(", ")[::2] for fact in said))  # how large it is, and how far away
    told = [label(4, 330 + 24 * row, Each(texts), "bold") for row, texts in enumerate(both)]
    one = label(152, 20, f"1 of {MULTIPROCESSORS} multiprocessors", "middle bold")
    others = label(302, 292, f"{MULTIPROCESSORS - 1} more", "gpu")
    title = f"Inside an NVIDIA T4: {MULTIPROCESSORS} multiprocessors with {LANES} lanes each, two caches, the memory"
    frame = Part("rect", class_="box gpu-line", x=8, y=30, width=290, height=206, rx=6)
    return Scene(drawing(640, 366, title, one, frame, *_pipes(), *boxes, others, *told), [Knob("part", names)], said)


# The parts to choose: x, y, width, height, and what's said.
_PARTS: dict[str, tuple[int, int, int, int, str]] = {
    "lanes": (14, 38, 278, 78,
              f"{LANES} in each multiprocessor, {MULTIPROCESSORS * LANES:,} in all, a warp is {WARP} threads in step"),
    "registers": (14, 124, 278, 48, "256 KB, each thread's own, there at once"),
    "shared memory": (14, 180, 136, 48, f"64 KB, shared by the threads of a block, {TO_SHARED} cycles away"),
    "L1 cache": (156, 180, 136, 48, f"32 KB, what was fetched last, {TO_LEVEL_1} cycles away"),
    "L2 cache": (346, 62, 74, 142, f"4 MB, {LEVEL_2:,} GB/s to the multiprocessors, {TO_LEVEL_2} cycles away"),
    "memory": (458, 62, 72, 142, f"16 GB, {MEMORY} GB/s to the L2 cache, {TO_MEMORY} cycles away"),
    "host": (572, 62, 64, 142, f"the CPU and its memory, {LINK} GB/s to the card's memory"),
}  # fmt: skip


def _pipes() -> Iterator[Part]:
    """As wide as their bandwidth."""
    for x, end, rate, whose in ((298, 346, LEVEL_2, "gpu"), (420, 458, MEMORY, "gpu"), (530, 572, LINK, "host")):
        height = max(1.5, 120 * rate / LEVEL_2)
        yield Part("rect", class_=whose, x=x, y=133 - height / 2, width=end - x, height=height)
        yield label((x + end) / 2, 40, f"{rate:,}", f"middle {whose}")
        yield label((x + end) / 2, 56, "GB/s", f"middle small {whose}")


def halving(numbers: tuple[int, ...] = (3, 1, 4, 1, 5, 9, 2, 6)) -> Scene:
    """How threads add up `numbers`, as many as a power of 2: each round, half of the threads add the other half.

    >>> halving().at(step="round 1")
    'Round 1: threads 0 to 3 add what lies 4 places on. In part: 8, 10, 6, 7, 5, 9, 2, 6.'
    """
    rows, steps = [list(numbers)], ["the numbers"]
    said = [f"{len(numbers)} numbers, one for each thread: {', '.join(map(str, numbers))}."]
    for n in range(1, len(numbers).bit_length()):
        if n > 1:
            steps.append(f"barrier {n - 1}")
            said.append("All threads wait at the barrier: nobody reads before all have written.")
        before, half = rows[-1], len(numbers) >> n
        rows.append([int(a + b) for a, b in zip(before[:half], before[half:])] + before[half:])
        steps.append(f"round {n}")
        who = f"threads 0 to {half - 1} add" if half > 1 else "thread 0 adds"
        in_part = ", ".join(map(str, rows[-1]))
        said.append(f"Round {n}: {who} what lies {many(half, 'place')} on. In part: {in_part}.")
    row_of = [(k + 1) // 2 for k in range(len(steps))]
    parts = [part for row in range(len(rows)) for part in _round(rows, row, row_of, steps)]
    title = f"{len(numbers)} numbers are added up in {len(rows) - 1} rounds, with a barrier between two rounds"
    knob = Knob("step", steps, slider=True, ms=1200)
    return Scene(drawing(640, 84 * len(rows) - 20, title, *parts), [knob], said)


def _round(rows: list[list[int]], row: int, row_of: list[int], steps: list[str]) -> Iterator[Part]:
    """The numbers after a round, the ways they came, and the barrier below."""
    count, y = len(rows[0]), 26 + 84 * row
    across, half = 560 / count, len(rows[0]) >> row
    there = Each(None if row <= now else "none" for now in row_of)
    for t, number in enumerate(rows[row]):
        x = round(30 + across * (t + 0.5), 1)
        new = not row or t < half
        if row and new:
            ways = "".join(f"M{30 + across * (k + 0.5):.4g} {y - 66}L{x:g} {y - 18}" for k in (t, t + half))
            yield Part("path", class_="ways", d=ways, display=there)
        box = Part("rect", class_="gpu" if new else "box", x=x - 20, y=y - 17, width=40, height=34, rx=5)
        yield Part("g", box, label(x, y + 6, number, "middle inside" if new else "middle"), display=there)
    if 0 < row < len(rows) - 1:
        now = Each("wait line" if step == f"barrier {row}" else "wait line faint" for step in steps)
        yield Part("path", class_=now, stroke_dasharray="8 5", d=f"M20 {y + 34}H560", display=there)
        yield label(566, y + 39, "barrier", "wait", display=there)


def compared(times: dict[str, tuple[Seconds, tuple[float, float] | None]]) -> Picture:
    """Times on one line each, on a scale of powers of ten; a time may have a range, its least and its most seconds.

    >>> compared({"one launch": (fl.Seconds(3e-3, "simulated", "NVIDIA T4"), (2e-3, 6e-3))})
    one launch: 3 ms simulated (NVIDIA T4), 2 ms to 6 ms.
    """
    figure, axes = plots(height=0.9 + 0.8 * len(times))
    axes.set_xscale("log")
    said = []
    for row, (name, (seconds, span)) in enumerate(times.items()):
        axes.plot([float(seconds)], [row], **{**look(seconds.kind), "linestyle": "none", "markersize": 11})
        if span:
            axes.plot(span, [row, row], color=look(seconds.kind)["color"], linestyle="--", zorder=1)
        low, high = span or (float(seconds), float(seconds))
        axes.text(high * 1.5, row, f"{duration(seconds)} {seconds.kind}", va="center")
        said.append(f"{name}: {seconds}" + (f", {duration(low)} to {duration(high)}" if span else ""))
    ends = [end for seconds, span in times.values() for end in (*(span or ()), float(seconds))]
    axes.set(xlim=(min(ends) / 3, max(ends) * 60), ylim=(len(times) - 0.4, -0.6), xlabel="time (log)")
    axes.set_xticks([10.0**k for k in range(-6, 4) if min(ends) / 3 <= 10.0**k <= max(ends) * 60])
    axes.xaxis.set_major_formatter(lambda seconds, _: duration(seconds))
    axes.minorticks_off()
    axes.set_yticks(range(len(times)), list(times))
    return show(figure, "; ".join(said) + ".")
