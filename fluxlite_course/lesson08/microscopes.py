"""The microscope: a kernel of yours, line by line, with a warp's lanes, the memory they touch, and the barrier."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fluxlite.cuda.jit import Kernel
from simgpu.jit.tracing import SECTOR, WARP

from ..scenes import Each, Knob, Part, Scene, drawing, label
from .steps import DONE, LATER, WAITS, Look, Step, look, some_warps

_WIDTH, _LEFT, _CELL, _LINE = 720, 84, 19.75, 19
_MOST_LINES, _MOST_ROWS = 10, 8
_MAP, _ROW = 104, 13  # the memory's height, and that of a row if there are few
_BYTES, _WORD = 128, 4  # of a row of memory


def microscope(
    kernel: Kernel | Sequence[Kernel], grid: Any, block: Any, args: Sequence[Any],
    warps: Sequence[tuple[int, int]] = (), steps: int = 40,
) -> Scene:  # fmt: skip
    """Look into a kernel while it runs: ``microscope(kernel, blocks, threads, (x, out))``.

    It shows a warp's line, its 32 lanes, where in memory they go (a row has 128 bytes: 4 sectors, or a word of each
    bank of shared memory), and the block's warps at the barrier. `warps` are pairs of a block and a warp, followed for
    so many `steps`. If the kernel races, there's another order of the warps. Several kernels, in a list, take the same
    arguments. The arrays stay as they are.

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
    >>> seen.at(step="2")
    'Line 4, out[i] = x[2 * i]: 32 lanes read x, in 8 sectors, 50% of their bytes used. Lane 0: x[0] = 1.'
    """
    kernels: list[Any] = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
    for each in kernels:
        _check(each, args)
    pairs = list(dict.fromkeys(warps or some_warps(kernels[0], grid, block)))
    looks = [look(each, grid, block, args, pairs, steps) for each in kernels]
    orders = range(max(len(each.orders) for each in looks))
    films = [list(_frames(*chosen)) for chosen in itertools.product(looks, pairs, orders)]
    longest = max(map(len, films))
    frames = [film[min(k, len(film) - 1)] for film in films for k in range(longest)]
    knobs = [
        Knob("kernel", [each.name for each in kernels]),
        Knob("warp", [f"{w} of block {b}" for b, w in pairs]),
        Knob("order of the warps", ["one after the other", "another"][: len(orders)]),
        Knob("step", [str(k + 1) for k in range(longest)], slider=True, ms=900),
    ]
    title = f"Under the microscope: {' and '.join(each.name for each in kernels)}, one warp, step by step"
    return Scene(_drawing(title, frames), knobs, [frame.sentence for frame in frames])


def _check(kernel: Any, args: Any) -> None:
    """Raises `TypeError` with what to write."""
    if not isinstance(kernel, Kernel):
        name = getattr(kernel, "__name__", type(kernel).__name__)
        raise TypeError(f"microscope takes a kernel, got {name}: write @jit.rawkernel() above its def")
    if not isinstance(args, (tuple, list)):
        given = ", ".join(kernel.source.parameters)
        raise TypeError(f"write microscope({kernel.name}, blocks, threads, ({given},)), the arguments in parentheses")


class _Frame(NamedTuple):
    """A step of a warp in one order, the latest step that touched memory, and how the warp and the launch end."""

    look: Look
    warp: int
    step: Step
    seen: Step | None
    end: str
    last: str  # said at the end

    @property
    def sentence(self) -> str:
        step, touch = self.step, self.step.touch
        text = self.look.source.lines[step.line - self.look.source.first].strip().partition("  #")[0].rstrip(":")
        said = [f"Line {step.line}, {text}: {step.said}."]
        if touch:
            said = [touch.sentence, f"{step.said[0].upper()}{step.said[1:]}."]
        if step.waits:
            said.append(f"Here: {step.warps.count(WAITS)} of {len(step.warps) - step.warps.count(DONE)} warps.")
        return " ".join([*said, self.last]).strip()


def _frames(one: Look, pair: tuple[int, int], order: int) -> Iterator[_Frame]:
    order = min(order, len(one.orders) - 1)
    steps, end = one.orders[order].steps[pair], ""
    if one.ends:
        others = ", ".join(one.ends[:order] + one.ends[order + 1 :])
        end = f"A race: {one.element} ends as {one.ends[order]}. In other orders: {others}."
    last = f"{'The warp goes on, but we stop here. ' * steps[-1].is_cut}{end}"
    latest = next((step for step in steps if step.touch), None)
    for step in steps:
        latest = step if step.touch else latest
        ended = (end, last) if step is steps[-1] else ("", "")  # before, it would be no surprise
        yield _Frame(one, pair[1], step, latest, *ended)


# -- the picture ------------------------------------------------------------------------------------------------------


def _drawing(title: str, frames: list[_Frame]) -> Part:
    looks = list({id(frame.look): frame.look for frame in frames}.values())
    y = min(_MOST_LINES, max(len(one.source.lines) for one in looks)) * _LINE
    parts = [_code(one, frames, y) for one in looks]
    parts += [*_told(frames, y + 24), *_lanes(frames, y + 34), *_memory(frames, y + 94)]
    y += 118 + _MAP
    if any(WAITS in frame.step.warps for frame in frames):
        parts += _queue(frames, y)
        y += 60
    for row, face in enumerate(("bold wait", "wait")):
        ends = [(*frame.end.split(". "), "")[row] for frame in frames]
        parts += [label(4, y + 14, Each(ends), face)] * any(ends)
        y += 24 * any(ends)
    return drawing(_WIDTH, y, title, Part("g", *parts, class_="lens"))


def _code(one: Look, frames: list[_Frame], height: int) -> Part:
    """The text, with the current line marked."""
    lines, race, shown = one.source.lines, one.race, height // _LINE
    at = [frame.step.line - one.source.first if frame.look is one else 0 for frame in frames]
    mark = Part("path", class_="ink", d="M5 4.5l8 5-8 5z")
    now = Part("g", Part("rect", class_="now", width=_WIDTH, height=_LINE), mark,
               transform=Each(f"translate(0 {row * _LINE})" for row in at))  # fmt: skip
    words = [label(20, row * _LINE + 14, text.replace(" ", "\u00a0"), "code") for row, text in enumerate(lines)]
    if race and race.kernel == one.source.name:
        words.append(label(_WIDTH - 6, (race.line - one.source.first) * _LINE + 14, "race", "end bold wait"))
    top = [max(0, min(row - shown // 2, len(lines) - shown)) * _LINE for row in at]
    moved = Part("g", now, *words, transform=Each(f"translate(0 {-y})" for y in top))
    there = Each(None if frame.look is one else "none" for frame in frames)
    return Part("g", Part("svg", moved, width=_WIDTH, height=height), display=there)


def _told(frames: list[_Frame], y: float) -> Iterator[Part]:
    """What the step does, and what it costs: a waste stands out."""
    steps = [frame.step for frame in frames]
    does = Each(f"{step.touch.way}s {step.touch.array}" if step.touch else step.said for step in steps)
    yield label(4, y, does, Each("bold wait" if step.waits else "bold" for step in steps))
    yield label(140, y, Each(step.said if step.touch else None for step in steps), "code")
    costs = Each(step.touch.cost.replace(" of their bytes", "") if step.touch else None for step in steps)
    wastes = [touch and (touch.turns > 1 if touch.is_shared else 2 * touch.used <= SECTOR * touch.sectors)
              for touch in (step.touch for step in steps)]  # fmt: skip
    yield label(_WIDTH - 4, y, costs, Each("end bold wait" if wasted else "end bold" for wasted in wastes))


def _box(number: Any, looks: Each, at: Any) -> Part:
    """A lane, or a warp."""
    frame = Part("rect", x=-8, width=16, height=22, rx=3)
    return Part("g", frame, label(0, 15.5, number, "middle"), class_=looks, transform=at)


def _lanes(frames: list[_Frame], y: float) -> Iterator[Part]:
    yield label(_LEFT - 10, y + 15, "lanes", "end")
    for lane in range(WARP):
        looks = Each("lane out" if lane not in frame.step.on else "lane waits" if frame.step.waits else "lane"
                     for frame in frames)  # fmt: skip
        number = None if lane % 4 else lane
        yield _box(number, looks, f"translate({_LEFT + _CELL * (lane + 0.5):g} {y:g})")


def _queue(frames: list[_Frame], y: float) -> Iterator[Part]:
    """The block's warps: on the line those that wait, above it the others."""
    yield label(_LEFT - 10, y + 15, "warps", "end")
    yield label(_LEFT - 10, y + 50, "barrier", "end wait")
    yield Part("path", class_="wait line", stroke_dasharray="6 4", d=f"M{_LEFT} {y + 48}H{_WIDTH - 4}")
    looks = {WAITS: "lane waits", LATER: "lane out", DONE: "lane out"}
    for warp in range(max(len(frame.step.warps) for frame in frames)):
        at = [(*frame.step.warps, *[DONE] * WARP)[warp] for frame in frames]
        own = [looks.get(a, "lane" if warp == frame.warp else "lane ready") + " glide" for a, frame in zip(at, frames)]
        x = _LEFT + _CELL * (warp + 0.5)
        places = Each(f"translate({x:g} {y + 24 * (state == WAITS):g})" for state in at)
        yield _box(Each("✓" if state == DONE else warp for state in at), Each(own), places)


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
    """What of a piece of memory is drawn at a step, as paths."""

    def __init__(self, step: Step | None, is_now: bool, y: float) -> None:
        self.there = self.along = self.wanted = self.late = self.ways = self.about = ""
        self.is_shared, self.y, self.labels = False, y, [(0.0, "")] * _MOST_ROWS
        if step is None or step.touch is None:
            return
        touch, part = step.touch, step.part
        total, self.is_shared = part.flat.shape[-1] * touch.itemsize, touch.is_shared
        self.rows = rows = _rows({at // _BYTES for at in touch.addresses.values()}, -(-total // _BYTES))
        self.height = min(_ROW, _MAP / len(rows))
        self.there = self._boxes({row * WARP + k for row in rows for k in range(WARP)} & {*range(-(-total // _WORD))})
        for k, row in enumerate(rows if len(rows) <= _MOST_ROWS else (rows[0], rows[-1])):
            first = max(row * _BYTES // touch.itemsize, part.offset)
            index = part.named(first).removeprefix(part.name).strip("[]")
            self.labels[k] = self._middle(row), index if len(index) < 11 else f"…{index[-9:]}"
        what = "shared memory, a column is a bank" if touch.is_shared else "memory, a row is 4 sectors of 32 bytes"
        self.about = f"{touch.array}: {what}"
        if is_now:
            self._light(touch)

    def _light(self, touch: Any) -> None:
        words = {lane: at // _WORD for lane, at in touch.addresses.items()}
        wanted = set(words.values())
        if touch.is_shared:
            turns: dict[int, list[int]] = {}  # the words of a bank, one after the other
            for word in dict.fromkeys(words.values()):
                turns.setdefault(word % WARP, []).append(word)
            late = {word for queue in turns.values() for word in queue[1:]}
            self.wanted, self.late = self._boxes(wanted - late), self._boxes(late)
        else:
            self.along = self._boxes({word // 8 * 8 + k for word in wanted for k in range(8)})  # a sector has 8 words
            self.wanted = self._boxes(wanted)
        self.ways = "".join(
            f"M{_x(lane + 0.5)} {self.y - 42:g}L{_x(word % WARP + 0.5)} {self._middle(word // WARP) - 4.5:.4g}"
            for lane, word in words.items() if word // WARP in self.rows
        )  # fmt: skip

    def _middle(self, row: int) -> float:
        """Where a label of this row stands."""
        return round(self.y + self.height * (self.rows.index(row) + 0.5) + 4.5, 1)

    def _boxes(self, words: set[int]) -> str:
        """A path around these words, runs of neighbours in one."""
        found, height = "", self.height - (1 if self.height > 8 else 0.4)
        for row, line in enumerate(self.rows):
            y, on = self.y + self.height * row, [k for k in range(WARP) if line * WARP + k in words]
            for _, run in itertools.groupby(enumerate(on), lambda pair: pair[1] - pair[0]):
                (_, first), *more = run
                width = f"{_CELL * (1 + len(more)):g}"
                found += f"M{_x(first)} {y:.4g}h{width}v{height:.3g}h-{width}z"
        return found


def _x(column: float) -> str:
    return f"{_LEFT + _CELL * column:g}"


def _rows(touched: set[int], total: int) -> list[int]:
    """Which rows of 128 bytes to draw: those around what's touched; if that's too many, those touched."""
    low, high = min(touched), max(touched)
    if high - low >= WARP:
        return sorted(touched)
    first = max(0, min(low, total - _MOST_ROWS))
    return list(range(first, min(total, max(high + 1, first + _MOST_ROWS))))
