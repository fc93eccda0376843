"""The microscope: a kernel of yours, line by line, with a warp's lanes, the memory they touch, and the barrier."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from simgpu.jit import Kernel
from simgpu.jit.errors import DataRace, many
from simgpu.jit.tracing import Touch

from ..scenes import Each, Knob, Part, Scene, drawing, label
from .steps import DONE, LATER, WAITS, WARP, Look, Step, look

_LEFT, _CELL, _LINE = 84, 17.25, 19
_MOST_LINES, _MOST_ROWS = 16, 8
_MAP, _ROW = 132, 16  # the memory's height, and that of a row if there are few
_BYTES, _SECTOR, _WORD = 128, 32, 4  # of a row of memory


def microscope(
    kernel: Kernel | Sequence[Kernel], grid: Any, block: Any, args: Sequence[Any],
    warps: Sequence[tuple[int, int]] = (), steps: int = 40,
) -> Scene:  # fmt: skip
    """Look into a kernel while it runs: ``microscope(kernel, blocks, threads, (x, out))``.

    It shows the line that a warp is at, its 32 lanes and who sits out, where in memory they go (a row is 128 bytes: 4
    sectors of the card's memory, or a word of each of the 32 banks of shared memory), and the block's other warps at
    the barrier. `warps` are pairs of a block and a warp; unless you choose, the first two and the last. Each is followed
    for as many `steps`. Of a kernel that races it shows another order of the warps, too, if that ends with other
    numbers. Several kernels that take the same arguments are shown one beside the other. The arrays stay as they are.

    Raises `TypeError` for what isn't a kernel, and `ValueError` for a warp that isn't there.

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
    kernels = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
    for each in kernels:
        _check(each, args)
    pairs = list(dict.fromkeys(warps or _some_warps(grid, block)))
    looks = [look(each, grid, block, args, pairs, steps) for each in kernels]
    orders = max(len(each.orders) for each in looks)
    frames = [
        frame
        for one, pair, order in itertools.product(looks, pairs, range(orders))
        for frame in _frames(one, pair, min(order, len(one.orders) - 1))
    ]
    longest = max(len(list(group)) for _, group in itertools.groupby(frames, lambda frame: frame.run))
    states = [
        frame
        for _, group in itertools.groupby(frames, lambda frame: frame.run)
        for frame in itertools.islice(_then_the_last(group), longest)
    ]
    knobs = [
        Knob("kernel", [each.name for each in kernels]),
        Knob("warp", [f"{w} of block {b}" for b, w in pairs]),
        Knob("order of the warps", ["one after the other", "another"][:orders]),
        Knob("step", [str(k + 1) for k in range(longest)], slider=True, ms=900),
    ]
    title = f"Under the microscope: {' and '.join(each.name for each in kernels)}, one warp, step by step"
    return Scene(_drawing(title, states), knobs, [state.sentence for state in states])


class _Frame(NamedTuple):
    """A step of a warp, in one order, and what's said beside it."""

    run: tuple[int, tuple[int, int], int]  # which look, which warp, which order
    look: Look
    step: Step
    is_last: bool
    is_cut: bool
    seen: Step | None  # the latest access: its memory stays in view

    @property
    def end(self) -> str:
        """How the launch ends, where that's known."""
        error, outcomes = self.look.error, self.look.outcomes
        if outcomes:
            name, _, value = outcomes[0].partition(" is ")
            numbers = [text.removesuffix(".0") for text in (value or outcomes[0], outcomes[1])]
            this, other = numbers if self.run[2] == 0 else numbers[::-1]
            return f"a race: at the end {name} is {this}, in the other order {other}"
        return f"the launch ends with {type(error).__name__}, in line {error.line}" if error and error.line else ""

    @property
    def cost(self) -> str:
        touch = self.step.touch
        return "" if touch is None else touch.cost.replace(" of their bytes", "")

    @property
    def is_costly(self) -> bool:
        touch = self.step.touch
        return touch is not None and (touch.turns > 1 if touch.is_shared else 2 * touch.used <= 32 * touch.sectors)

    @property
    def does(self) -> str:
        touch = self.step.touch
        return f"{touch.way}s {touch.array}" if touch else self.step.said

    @property
    def sentence(self) -> str:
        step, line = self.step, self.step.place[1]
        come = step.warps.count(WAITS)
        said = [f"Line {line}, {step.text.rstrip(':')}: {step.said}."]
        if step.touch:
            said = [step.touch.sentence, f"{step.said[0].upper()}{step.said[1:]}."]
        if step.waits:
            said.append(f"Here: {come} of {many(len(step.warps) - step.warps.count(DONE), 'warp')}.")
        if self.is_last and self.is_cut:
            said.append("The warp goes on, but we stop here.")
        if self.is_last and self.end:
            said.append(f"{self.end[0].upper()}{self.end[1:]}.")
        return " ".join(said)


def _check(kernel: Any, args: Any) -> None:
    """Raises `TypeError` with what to write."""
    if not isinstance(kernel, Kernel):
        name = getattr(kernel, "__name__", type(kernel).__name__)
        raise TypeError(f"microscope takes a kernel, got {name}: write @jit.rawkernel() above its def")
    if kernel.device:
        raise TypeError(f"{kernel.name} is a function of the device: put the kernel that calls it under the microscope")
    if not isinstance(args, (tuple, list)):
        given = ", ".join(kernel.source.parameters)
        raise TypeError(f"write microscope({kernel.name}, blocks, threads, ({given},)), the arguments in parentheses")
    if any(type(x).__module__.partition(".")[0] == "cupy" for x in args):
        raise TypeError(f"microscope sees a simulated GPU alone: call fl.simulate_gpu(), then make {kernel.name}'s arrays")


def _some_warps(grid: Any, block: Any) -> Iterator[tuple[int, int]]:
    """The first two, and the very last, where guards are."""
    blocks, threads = (_product(size) for size in (grid, block))
    last = (threads - 1) // WARP
    yield 0, 0
    yield (0, 1) if last else (min(1, blocks - 1), 0)
    yield blocks - 1, last


def _product(size: Any) -> int:
    found = 1
    for n in size if isinstance(size, (tuple, list)) else (size,):
        found *= int(n)
    return found


def _frames(one: Look, pair: tuple[int, int], order: int) -> Iterator[_Frame]:
    seen = one.orders[order]
    steps = seen.steps[pair]
    latest = next((step for step in steps if step.touch), None)
    for number, step in enumerate(steps):
        latest = step if step.touch else latest
        yield _Frame((id(one), pair, order), one, step, number == len(steps) - 1, pair in seen.cut, latest)


def _then_the_last(frames: Iterator[_Frame]) -> Iterator[_Frame]:
    """A warp with fewer steps stays at its last one."""
    for frame in frames:
        yield frame
    while True:
        yield frame


# -- the picture ------------------------------------------------------------------------------------------------------


def _drawing(title: str, frames: list[_Frame]) -> Part:
    code, bottom = _code(frames)
    parts = [*code, *_told(frames, bottom), *_lanes(frames, bottom + 38), *_memory(frames, bottom + 104)]
    bottom += 104 + _MAP + 30
    if any(WAITS in frame.step.warps or frame.run[2] for frame in frames):
        parts += _queue(frames, bottom)
        bottom += 60
    if any(frame.end for frame in frames):
        parts.append(label(4, bottom + 14, Each(frame.end for frame in frames), "bold wait"))
        bottom += 24
    return drawing(640, bottom, title, Part("g", *parts, class_="lens"))


def _code(frames: list[_Frame]) -> tuple[list[Part], int]:
    """The text of each kernel, with the current line marked."""
    looks = list({id(frame.look): frame.look for frame in frames}.values())
    rows = {id(one): _lines(one, frames) for one in looks}
    height = min(_MOST_LINES, max(map(len, rows.values()))) * _LINE
    return [_text(one, rows[id(one)], frames, height) for one in looks], height


def _lines(one: Look, frames: list[_Frame]) -> dict[tuple[Any, int], str]:
    """The lines of a kernel, and of functions that it calls, by source and number."""
    sources = dict.fromkeys(frame.step.place[0] for frame in frames if frame.look is one)
    return {(source, source.first + k): text for source in sources for k, text in enumerate(source.lines)}


def _text(one: Look, rows: dict[tuple[Any, int], str], frames: list[_Frame], height: int) -> Part:
    at = [list(rows).index(frame.step.place) if frame.look is one else 0 for frame in frames]
    shown, error = height // _LINE, one.error
    top = [max(0, min(row - shown // 2, len(rows) - shown)) * _LINE for row in at]
    parts = [Part("rect", class_="now", width=640, height=_LINE, y=Each(row * _LINE for row in at))]
    parts += [Part("path", class_="ink", d="M5 4.5l8 5-8 5z", transform=Each(f"translate(0 {row * _LINE})" for row in at))]
    for row, ((source, line), text) in enumerate(rows.items()):
        parts.append(label(20, row * _LINE + 14, text.replace(" ", "\u00a0"), "code"))
        if error and (error.kernel, error.line) == (source.name, line):
            name = "race" if isinstance(error, DataRace) else "error"
            parts.append(label(634, row * _LINE + 14, name, "end bold wait"))
    moved = Part("g", *parts, transform=Each(f"translate(0 {-y})" for y in top))
    there = Each(None if frame.look is one else "none" for frame in frames)
    return Part("g", Part("svg", moved, width=640, height=height), display=there)


def _told(frames: list[_Frame], y: float) -> Iterator[Part]:
    """What the step does, and what it costs."""
    looks = Each("bold wait" if frame.step.waits else "bold" for frame in frames)
    yield label(4, y + 24, Each(frame.does for frame in frames), looks)
    values = Each(frame.step.said if frame.step.touch else None for frame in frames)
    yield label(140, y + 24, values, "code")
    cost = Each("end bold wait" if frame.is_costly else "end bold gpu" for frame in frames)
    yield label(636, y + 24, Each(frame.cost for frame in frames), cost)


def _lanes(frames: list[_Frame], y: float) -> Iterator[Part]:
    yield label(_LEFT - 10, y + 15, "lanes", "end")
    for lane in range(WARP):
        looks = Each(
            "lane out" if lane not in frame.step.on else "lane waits" if frame.step.waits else "lane" for frame in frames
        )
        box = Part("rect", x=-8, width=16, height=22, rx=3)
        at = f"translate({_LEFT + _CELL * (lane + 0.5):g} {y:g})"
        yield Part("g", box, label(0, 15.5, lane, "middle"), class_=looks, transform=at)


def _memory(frames: list[_Frame], y: float) -> Iterator[Part]:
    """Rows of 128 bytes: what there is, what comes along, what's wanted, what has to wait for its turn, and ways."""
    views = [_View(frame.seen, frame.seen is frame.step, y) for frame in frames]
    for look, name in (("there", "there"), ("gpu along", "along"), ("gpu", "wanted"), ("wait", "late")):
        yield Part("path", class_=look, d=Each(getattr(view, name) for view in views))
    yield Part("path", class_="cuts", d="".join(f"M{_LEFT + _CELL * k:g} {y}v{_MAP}" for k in range(1, WARP)))
    between = "".join(f"M{_LEFT + _CELL * k:g} {y}v{_MAP}" for k in (8, 16, 24))
    yield Part("path", class_="cuts thick", d=between, display=Each("none" if v.is_shared else None for v in views))
    yield Part("path", class_="ways", d=Each(view.ways for view in views))
    for row in range(_MOST_ROWS):
        heights = Each(view.label_y(row) for view in views)
        yield label(_LEFT - 6, heights, Each(view.label(row) for view in views), "code end")
    yield label(_LEFT, y + _MAP + 16, Each(view.about for view in views))


class _View:
    """What of a piece of memory is drawn at a step."""

    def __init__(self, step: Step | None, is_now: bool, y: float) -> None:
        self.there = self.along = self.wanted = self.late = self.ways = self.about = ""
        self.is_shared, self.y, self.rows, self.height, self.part = False, y, list[int](), float(_ROW), None
        if step is None or step.touch is None:
            return
        touch, self.part = step.touch, step.part
        self.is_shared, self.size = touch.is_shared, touch.itemsize
        total = self.part.flat.shape[-1] * touch.itemsize
        self.rows = _rows({at // _BYTES for at in touch.addresses.values()}, -(-total // _BYTES))
        self.height = min(_ROW, _MAP / max(1, len(self.rows)))
        words = -(-total // _WORD)
        self.there = self._boxes({row * WARP + k for row in self.rows for k in range(WARP) if row * WARP + k < words})
        what = "shared memory, a column is a bank" if touch.is_shared else "memory, a row is 4 sectors of 32 bytes"
        self.about = f"{touch.array}: {what}"
        if is_now:
            self._light(touch)

    def _light(self, touch: Touch) -> None:
        each = max(1, touch.itemsize // _WORD)
        lanes = {lane: [at // _WORD + k for k in range(each)] for lane, at in touch.addresses.items()}
        late = set[int]()
        if touch.is_shared:
            half = {lane: lane * each // WARP for lane in lanes}  # 8 bytes each: half of the lanes at a time
            turns: dict[tuple[int, int], list[int]] = {}
            for lane, words in lanes.items():
                for word in words:
                    queue = turns.setdefault((half[lane], word % WARP), [])
                    queue += [word] if word not in queue else []
            late = {word for queue in turns.values() for word in queue[1:]}
        else:
            near = {word * _WORD // _SECTOR for words in lanes.values() for word in words}
            self.along = self._boxes({sector * 8 + k for sector in near for k in range(8)})
        wanted = {word for words in lanes.values() for word in words}
        self.wanted, self.late = self._boxes(wanted - late), self._boxes(late)
        self.ways = "".join(self._way(lane, words[0]) for lane, words in lanes.items())

    def _way(self, lane: int, word: int) -> str:
        if word // WARP not in self.rows:
            return ""
        x, y = _LEFT + _CELL * (lane + 0.5), self.y - 42
        row = self.rows.index(word // WARP)
        return f"M{x:g} {y:g}L{_LEFT + _CELL * (word % WARP + 0.5):g} {self.y + self.height * (row + 0.5):.4g}"

    def _boxes(self, words: set[int]) -> str:
        """A path around these words, runs of neighbours in one."""
        found = []
        for row, line in enumerate(self.rows):
            on = [k for k in range(WARP) if line * WARP + k in words]
            for _, run in itertools.groupby(enumerate(on), lambda pair: pair[1] - pair[0]):
                ks = [k for _, k in run]
                height = self.height - (1 if self.height > 8 else 0.4)
                place = f"{_LEFT + _CELL * ks[0]:g} {self.y + self.height * row:.4g}"
                found.append(f"M{place}h{_CELL * len(ks):g}v{height:.3g}h{-_CELL * len(ks):g}z")
        return "".join(found)

    def label(self, row: int) -> str:
        """The index of a row's first element; of many rows, only the first and the last have one."""
        if row < len(self.rows) <= _MOST_ROWS or row < 2 <= len(self.rows):
            line = self.rows[row] if len(self.rows) <= _MOST_ROWS else self.rows[-row]
            at: Any = max(line * _BYTES // self.size, self.part.offset)
            return self.part.named(at).removeprefix(self.part.name)
        return ""

    def label_y(self, row: int) -> float:
        place = row if len(self.rows) <= _MOST_ROWS else row * (len(self.rows) - 1)
        return round(self.y + self.height * (place + 0.5) + 4.5, 1) if row < 2 or place < _MOST_ROWS else 0


def _rows(touched: set[int], total: int) -> list[int]:
    """Which rows of 128 bytes to draw: all, or those around what's touched; if that's too many, those touched."""
    low, high = min(touched), max(touched)
    if total <= _MOST_ROWS or total <= WARP and high - low >= _MOST_ROWS:
        return list(range(total))
    if high - low < _MOST_ROWS:
        first = max(0, min(low, total - _MOST_ROWS))
        return list(range(first, first + _MOST_ROWS))
    return list(range(low, high + 1)) if high - low < WARP else sorted(touched)


def _queue(frames: list[_Frame], y: float) -> Iterator[Part]:
    """The block's warps: above the line those on their way, on it those that wait."""
    yield label(_LEFT - 10, y + 15, "warps", "end")
    if any(WAITS in frame.step.warps for frame in frames):
        yield label(_LEFT - 10, y + 50, "barrier", "end wait")
        yield Part("path", class_="wait line bar-line", d=f"M{_LEFT} {y + 48}H636")
    for warp in range(max(len(frame.step.warps) for frame in frames)):
        at = [frame.step.warps[warp] if warp < len(frame.step.warps) else "" for frame in frames]
        own = [warp == frame.run[1][1] for frame in frames]
        looks = Each(
            "lane waits" if state == WAITS else "lane out" if state in (LATER, DONE) else "lane" if mine else "lane ready"
            for state, mine in zip(at, own)
        )
        x = _LEFT + _CELL * (warp + 0.5)
        places = Each(f"translate({x:g} {y + (24 if state == WAITS else 0):g})" for state in at)
        there = Each(None if state else "none" for state in at)
        box = Part("rect", x=-8, width=16, height=22, rx=3)
        done = label(0, 15.5, Each("✓" if state == DONE else warp for state in at), "middle")
        yield Part("g", box, done, class_=looks, transform=places, display=there)
