"""Lesson 08's first picture: what's inside a GPU."""

from collections.abc import Iterator

from ..scenes import Each, Knob, Part, Scene, drawing, label

# Turing architecture white paper, 2018, and the T4's datasheet, 2019: notebooks/SOURCES.md has the addresses.
MULTIPROCESSORS, LANES, WARP = 40, 64, 32
# GB/s: PCI Express 3 with 16 lanes, one way; the datasheet; Jia et al., 2019 (arXiv 1903.07486), measured.
LINK, MEMORY, LEVEL_2 = 16, 320, 1270
# Cycles until a number is there: Jia et al., 2019.
TO_SHARED, TO_LEVEL_1, TO_LEVEL_2, TO_MEMORY = 19, 32, 188, 296


def chip() -> Scene:
    """A T4's inside: a multiprocessor with its lanes, the caches, the memory. Pipes are as wide as their bandwidth.

    Choose a part, or click it, and read how large it is, and how far from a lane.

    >>> chip().at(part="shared memory")
    'shared memory: 64 KB, shared by the threads of a block, 19 cycles away'
    """
    names, boxes = list(_PARTS), []
    for k, (name, (x, y, width, height, _)) in enumerate(_PARTS.items()):
        look = "part host-line" if name == "host" else "part gpu-line"
        # On a narrow page, letters are large for their boxes.
        rows = [] if name == "lanes" else name.split() if width < 80 else [name]
        middle = y + height / 2 + 15 - 10 * len(rows)
        words = [label(x + width / 2, middle + 20 * row, text, "middle") for row, text in enumerate(rows)]
        looks = Each(f"{look} picked" if name == chosen else look for chosen in names)
        frame = Part("rect", x=x, y=y, width=width, height=height, rx=4)
        boxes.append(Part("g", frame, *words, class_=looks, data_pick=f"0:{k}"))
    lanes = [(20 + 16.5 * (k % 16), 46 + 17 * (k // 16)) for k in range(LANES)]
    boxes += [Part("rect", class_="gpu", x=x, y=y, width=12, height=12, rx=2) for x, y in lanes]
    more = [(8 + 22 * (k % 13), 244 + 18 * (k // 13)) for k in range(MULTIPROCESSORS - 1)]
    boxes += [Part("rect", class_="box gpu-line", x=x, y=y, width=17, height=13, rx=2) for x, y in more]
    said = [f"{name}: {facts}" for name, (*_, facts) in _PARTS.items()]
    one = label(8, 20, f"1 of {MULTIPROCESSORS} multiprocessors", "gpu")
    others = label(302, 292, f"{MULTIPROCESSORS - 1} more", "gpu")
    title = f"Inside an NVIDIA T4: {MULTIPROCESSORS} multiprocessors with {LANES} lanes each, two caches, the memory"
    frame = Part("rect", class_="box gpu-line", x=8, y=30, width=290, height=206, rx=6)
    return Scene(drawing(640, 304, title, one, frame, *_pipes(), *boxes, others), [Knob("part", names)], said)


# The parts to choose: x, y, width, height, and what's said.
_PARTS: dict[str, tuple[int, int, int, int, str]] = {
    "lanes": (14, 38, 278, 78,
              f"{LANES} in each multiprocessor, {MULTIPROCESSORS * LANES:,} in all, a warp is {WARP} threads in step"),
    "registers": (14, 124, 278, 48, "256 KB, each thread's own, there at once"),
    "shared memory": (14, 180, 176, 48, f"64 KB, shared by the threads of a block, {TO_SHARED} cycles away"),
    "L1 cache": (194, 180, 98, 48, f"32 KB, what was fetched last, {TO_LEVEL_1} cycles away"),
    "L2 cache": (346, 62, 66, 142, f"4 MB, {LEVEL_2:,} GB/s to the multiprocessors, {TO_LEVEL_2} cycles away"),
    "memory": (450, 62, 92, 142, f"16 GB, {MEMORY} GB/s to the L2 cache, {TO_MEMORY} cycles away"),
    "host": (584, 62, 52, 142, f"the CPU and its memory, {LINK} GB/s to the card's memory"),
}  # fmt: skip


def _pipes() -> Iterator[Part]:
    for x, end, rate, whose in ((298, 346, LEVEL_2, "gpu"), (412, 450, MEMORY, "gpu"), (542, 584, LINK, "host")):
        height = max(1.5, 120 * rate / LEVEL_2)
        yield Part("rect", class_=whose, x=x, y=133 - height / 2, width=end - x, height=height)
        yield label((x + end) / 2, 22, f"{rate:,}", f"middle {whose}")
        yield label((x + end) / 2, 44, "GB/s", f"middle small {whose}")
