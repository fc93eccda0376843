"""The microscope: a kernel of yours, line by line, with a warp's lanes, the memory they touch, and the barrier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fluxlite.cuda.jit import Kernel
from simgpu.jit.tracing import SECTOR, WARP

from ..scenes import Each, Knob, Part, Scene, drawing, label
from .steps import Look, Step, look, some_warps

_WIDTH, _LEFT, _CELL, _LINE = 720, 84, 19.75, 19
_MOST_LINES, _MOST_ROWS = 10, 8
_MAP, _ROW = 104, 13  # the memory's height, and that of a row if there are few
_BYTES, _WORD = 128, 4  # of a row of memory


def microscope(
    kernel: Kernel | Sequence[Kernel], grid: Any, block: Any, args: Sequence[Any],
    warps: Sequence[tuple[int, int]] = (), steps: int = 40, shared_mem: int = 0,
) -> Scene:  # fmt: skip
    """Look into a kernel while it runs: ``microscope(kernel, blocks, threads, (x, out))``.

    It shows a warp's line, its 32 lanes, where in memory they go (a row has 128 bytes: 4 sectors, or a word of each
    bank of shared memory), and the block's warps at the barrier. `warps` are pairs of a block and a warp, followed for
    so many `steps`. `shared_mem` is as in a launch. If the kernel races, the last step says what it comes to if the
    warps run in other orders. Several kernels, in a list, take the same arguments. The arrays stay as they are.

    Raises `TypeError` for what isn't a kernel, `ValueError` for a warp that isn't there, and what the launch raises.

    >>> from fluxlite.cuda import jit
    >>> @jit.rawkernel()
    ... def every_second(x, out):
    ...     i = int(jit.grid(1))
    ...     out[i] = x[2 * i]
    >>> with fl.simulate_gpu():
    ...     x = fl.gpu(np.ones(64, np.float32))
    ...     seen = microscope(every_second, 1, 32, (x, np.zeros_like(x[:32])))
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    >>> seen.at(step="2 of 3")
    'Line 4, out[i] = x[2 * i]: 32 lanes read x, in 8 sectors, 50% of their bytes used. Lane 0: x[0] = 1.'
    """
    kernels: list[Any] = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
    for each in kernels:
        if not isinstance(each, Kernel):
            name = getattr(each, "__name__", type(each).__name__)
            raise TypeError(f"microscope takes a kernel, got {name}: write @jit.rawkernel() above its def")
        if not isinstance(args, (tuple, list)):
            given = ", ".join(each.source.parameters)
            raise TypeError(f"write microscope({each.name}, blocks, threads, ({given},)), the arguments in parentheses")
    pairs = list(dict.fromkeys(warps or some_warps(kernels[0], grid, block)))
    looks = [look(each, grid, block, args, pairs, steps, shared_mem) for each in kernels]
    films = [list(_frames(one, pair, steps)) for one in looks for pair in pairs]
    longest = max(map(len, films))
    frames = [film[min(k, len(film) - 1)] for film in films for k in range(longest)]
    knobs = [
        Knob("kernel", [each.name for each in kernels]),
        Knob("warp", [f"{w} of block {b}" for b, w in pairs]),
        Knob("step", [f"{k + 1} of {longest}" for k in range(longest)], slider=True, ms=900),
    ]
    # A film that's shorter than the longest one has fewer steps to count.
    steps_shown = [f"{min(k + 1, len(film))} of {len(film)}" for film in films for k in range(longest)]
    title = f"Under the microscope: {' and '.join(each.name for each in kernels)}, one warp, step by step"
    return Scene(_drawing(title, looks, frames), knobs, [frame.sentence for frame in frames], shown=steps_shown)


class _Frame(NamedTuple):
    """A step of a warp, the latest step that touched memory, or the first one, and what's said at the end."""

    look: Look
    warp: int
    step: Step
    seen: Step | None
    end: str

    @property
    def row(self) -> int:
        """Its line's number in the kernel's text."""
        return self.step.line - self.look.source.first

    @property
    def sentence(self) -> str:
        step = self.step
        text = self.look.source.lines[self.row].strip().partition("  #")[0].rstrip(":")
        said = [f"Line {step.line}, {text}: {step.said}."]
        if step.touch:
            said = [step.touch.sentence, f"{step.said[0].upper()}{step.said[1:]}."]
        if step.waiting:
            said.append(f"Here: {sum(step.waiting)} of {len(step.waiting)} warps.")
        return " ".join([*said, self.end]).strip()


def _frames(one: Look, pair: tuple[int, int], most: int) -> Iterator[_Frame]:
    steps = one.steps[pair]
    seen = next((step for step in steps[:most] if step.touch), None)  # it's there before anyone touches it
    goes_on = "The warp goes on, but we stop here. " * (len(steps) > most)
    for step in steps[:most]:
        seen = step if step.touch else seen
        is_last = step is steps[:most][-1]
        yield _Frame(one, pair[1], step, seen, f"{goes_on}{one.ends}" if is_last else "")


def _drawing(title: str, looks: list[Look], frames: list[_Frame]) -> Part:
    y = min(_MOST_LINES, max(len(one.source.lines) for one in looks)) * _LINE
    parts = [_code(one, frames, y) for one in looks]
    parts += [*_action(frames, y + 24), *_lanes(frames, y + 34), *_memory(frames, y + 94)]
    y += 118 + _MAP
    if any(frame.step.waiting for frame in frames):
        parts += _queue(frames, y)
        y += 60
    if any(one.ends for one in looks):
        ends = [(*(frame.end and frame.look.ends).split(". "), "")[:2] for frame in frames]
        parts += [label(4, y + 14, Each(end for end, _ in ends), "bold"),
                  label(4, y + 38, Each(others for _, others in ends))]  # fmt: skip
        y += 48
    return drawing(_WIDTH, y, title, Part("g", *parts, class_="lens"))


def _code(one: Look, frames: list[_Frame], height: int) -> Part:
    """The text, with the current line marked."""
    lines, shown = one.source.lines, height // _LINE
    at = [frame.row if frame.look is one else 0 for frame in frames]
    mark = Part("path", class_="ink", d="M5 4.5l8 5-8 5z")
    now = Part("g", Part("rect", class_="now", width=_WIDTH, height=_LINE), mark,
               transform=Each(f"translate(0 {row * _LINE})" for row in at))  # fmt: skip
    words = [label(20, row * _LINE + 14, text.replace(" ", "\u00a0"), "code") for row, text in enumerate(lines)]
    top = [max(0, min(row - shown // 2, len(lines) - shown)) * _LINE for row in at]
    moved = Part("g", now, *words, transform=Each(f"translate(0 {-y})" for y in top))
    there = Each(None if frame.look is one else "none" for frame in frames)
    return Part("g", Part("svg", moved, width=_WIDTH, height=height), display=there)


def _action(frames: list[_Frame], y: float) -> Iterator[Part]:
    """What the step does, and what it costs: a waste stands out."""
    steps = [frame.step for frame in frames]
    does = Each(f"{step.touch.way}s {step.touch.array}" if step.touch else step.said for step in steps)
    yield label(4, y, does, Each("bold wait" if step.waiting else "bold" for step in steps))
    yield label(140, y, Each(step.said if step.touch else None for step in steps), "code")
    costs = Each(step.touch.cost.replace(" of their bytes", "") if step.touch else None for step in steps)
    yield label(_WIDTH - 4, y, costs, Each(f"end bold {_waste(step)}".strip() for step in steps))


def _waste(step: Step) -> str:
    """How a step's cost looks: turns that have to wait, and fetched bytes that nobody uses, stand out."""
    if step.touch is None:
        return ""
    if step.touch.is_shared:
        return "wait" if step.touch.conflicts else ""
    return "waste" if 2 * step.touch.used < SECTOR * step.touch.sectors else ""


def _box(number: Any, looks: Each, at: Any) -> Part:
    """A lane, or a warp."""
    frame = Part("rect", x=-8, width=16, height=22, rx=3)
    return Part("g", frame, label(0, 15.5, number, "middle"), class_=looks, transform=at)


def _lanes(frames: list[_Frame], y: float) -> Iterator[Part]:
    yield label(_LEFT - 10, y + 15, "lanes", "end")
    for lane in range(WARP):
        looks = Each("lane out" if lane not in frame.step.on else "lane waits" if frame.step.waiting else "lane"
                     for frame in frames)  # fmt: skip
        yield _box(None if lane % 4 else lane, looks, f"translate({_middle(lane):g} {y:g})")


def _queue(frames: list[_Frame], y: float) -> Iterator[Part]:
    """The block's warps: those that wait are on the line, the others above it."""
    yield label(_LEFT - 10, y + 15, "warps", "end")
    yield label(_LEFT - 10, y + 50, "barrier", "end wait")
    yield Part("path", class_="wait line", stroke_dasharray="6 4", d=f"M{_LEFT} {y + 48}H{_WIDTH - 4}")
    most = max(len(frame.step.waiting) for frame in frames)
    for warp in range(most):
        waits = [(*frame.step.waiting, *[False] * most)[warp] for frame in frames]
        looks = Each(f"lane {'waits' if now else 'ready' * (warp != frame.warp)} glide"
                     for now, frame in zip(waits, frames))  # fmt: skip
        yield _box(warp, looks, Each(f"translate({_middle(warp):g} {y + 24 * now:g})" for now in waits))


def _memory(frames: list[_Frame], y: float) -> Iterator[Part]:
    """Rows of 128 bytes: what there is, what comes along, what's wanted, what has to wait for its turn, and ways."""
    views = [_View(frame.seen, frame.seen is frame.step, y) for frame in frames]
    for name, looks in (("there", "there"), ("along", "gpu along"), ("wanted", "gpu"), ("late", "wait")):
        yield Part("path", class_=looks, d=Each(getattr(view, name) for view in views))
    cuts, thick = ("".join(f"M{_LEFT + _CELL * k:g} {y}v{_MAP}" for k in range(n, WARP, n)) for n in (1, 8))
    yield Part("path", class_="cuts", d=cuts)
    yield Part("path", class_="cuts thick", d=thick, display=Each("none" if view.is_shared else None for view in views))
    yield Part("path", class_="ways", d=Each(view.ways for view in views))
    for row in range(_MOST_ROWS):
        heights, texts = zip(*(view.labels[row] for view in views))
        yield label(_LEFT - 6, Each(heights), Each(texts), "code end")
    yield label(_LEFT, y + _MAP + 16, Each(view.about for view in views))


class _View:
    """What we draw of a piece of memory at a step, as paths."""

    def __init__(self, step: Step | None, is_now: bool, y: float) -> None:
        self.there = self.along = self.wanted = self.late = self.ways = self.about = ""
        self.is_shared, self.y, self.labels = False, y, [(0.0, "")] * _MOST_ROWS
        if step is None or step.touch is None:
            return
        touch, part = step.touch, step.part
        self.is_shared = touch.is_shared
        self.rows = rows = _rows({at // _BYTES for at in touch.addresses.values()},
                                 -(-part.flat.shape[-1] * touch.itemsize // _BYTES))  # fmt: skip
        self.height = min(_ROW, _MAP / len(rows))
        self.there = self._boxes((row * WARP for row in rows), WARP)
        for k, row in enumerate(rows if len(rows) <= _MOST_ROWS else (rows[0], rows[-1])):
            index = (
                part.element_text(max(row * _BYTES // touch.itemsize, part.offset)).removeprefix(part.name).strip("[]")
            )
            self.labels[k] = round(self._top(row) + self.height / 2 + 4.5, 1), index[-10:]
        what = "shared memory, a column is a bank" if touch.is_shared else "memory, a row is 4 sectors of 32 bytes"
        self.about = f"{touch.array}: {what}"
        if is_now:
            self._light({lane: at // _WORD for lane, at in touch.addresses.items()})

    def _light(self, words: dict[int, int]) -> None:
        """`words` says where each lane goes."""
        wanted = list(dict.fromkeys(words.values()))
        if self.is_shared:
            firsts = {word % WARP: word for word in reversed(wanted)}.values()  # each bank's first one has its turn now
            self.late = self._boxes(word for word in wanted if word not in firsts)
            wanted = list(firsts)
        else:
            self.along = self._boxes(sorted({word // 8 * 8 for word in wanted}), 8)  # a sector has 8 words
        self.wanted = self._boxes(wanted)
        self.ways = "".join(
            f"M{_middle(lane):g} {self.y - 42:g}"
            f"L{_middle(word % WARP):g} {self._top(word // WARP) + self.height / 2:.4g}"
            for lane, word in words.items() if word // WARP in self.rows
        )  # fmt: skip

    def _top(self, row: int) -> float:
        return self.y + self.height * self.rows.index(row)

    def _boxes(self, words: Any, width: int = 1) -> str:
        """A path around these words, each of them `width` places wide."""
        wide, high = f"{_CELL * width:g}", f"{self.height - (1 if self.height > 8 else 0.4):.3g}"
        return "".join(f"M{_LEFT + _CELL * (word % WARP):g} {self._top(word // WARP):.4g}h{wide}v{high}h-{wide}z"
                       for word in words)  # fmt: skip


def _middle(place: int) -> float:
    """Where a lane stands, or a word in its row."""
    return _LEFT + _CELL * (place + 0.5)


def _rows(touched: set[int], total: int) -> list[int]:
    """Which rows of 128 bytes to draw: those around what's touched; if that's too many, those touched."""
    low, high = min(touched), max(touched)
    if high - low >= WARP:
        return sorted(touched)
    first = max(0, min(low, total - _MOST_ROWS))
    return list(range(first, min(total, max(high + 1, first + _MOST_ROWS))))
