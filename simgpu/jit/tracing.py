"""Looking at a launch: what a warp touches, what one thread does line by line, and what each line cost."""

import ast
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..words import as_table, many
from .figures import Figures, LineFigures
from .lanes import WARP
from .memory import BANKS, SECTOR, WORD
from .races import ATOMIC, READ, WRITE
from .source import Site, is_stored

COSTS = LineFigures._fields[3:]
WAYS = {READ: "read", WRITE: "write", ATOMIC: "change"}
MOST = 2_000  # accesses that are kept
MOST_TIMES = 8  # that a line is shown


class Touch(NamedTuple):
    """One access by one warp."""

    line: int
    text: str
    way: str  # "read", "write" or "change"
    array: str
    itemsize: int
    is_shared: bool
    addresses: dict[int, int]  # lane: byte

    @property
    def sectors(self) -> int:
        return len({address // SECTOR for address in self.addresses.values()})

    @property
    def used(self) -> int:
        """The bytes of these sectors that the lanes want."""
        return len(set(self.addresses.values())) * self.itemsize

    @property
    def turns(self) -> int:
        """How often shared memory has to answer: a bank gives one word at a time."""
        words = {address // WORD for address in self.addresses.values()}
        return max(Counter(word % BANKS for word in words).values(), default=0)

    @property
    def conflicts(self) -> int:
        """How many of these turns there are because lanes want different words of one bank.

        Without any, 32 items of 8 bytes take two turns, in half warps, since the banks give no more than 128 bytes.
        """
        each = max(1, self.itemsize // WORD)
        words: dict[int, set[int]] = defaultdict(set)  # by the half or the quarter of the warp
        for lane, address in self.addresses.items():
            words[lane * each // WARP].update(address // WORD + k for k in range(each))
        busiest = [max(Counter(word % BANKS for word in wanted).values()) for wanted in words.values()]
        return sum(turns - 1 for turns in busiest)

    @property
    def sentence(self) -> str:
        count = len(self.addresses)
        if self.is_shared and self.conflicts:
            same = ": they meet at the same banks"
        else:
            same = ""
        does = f"{many(count, 'lane')} {self.way}{'s' * (count == 1)} {self.array}"
        return f"Line {self.line}, {self.text}: {does}, in {self.cost}{same}."

    @property
    def cost(self) -> str:
        """The turns or the sectors, in words."""
        if self.is_shared:
            if self.turns == 1:
                return "one turn"
            return f"{self.turns} turns"
        return f"{many(self.sectors, 'sector')}, {self.used / (self.sectors * SECTOR):.0%} of their bytes used"


class Trace(list):
    """What one warp of a block touches during a launch, in order. Prints as a list of sentences."""

    def __init__(self, launch: Any, block: int, warp: int) -> None:
        super().__init__()
        self.block, self.warp = block, warp
        if not 0 <= block < launch.blocks or not 0 <= warp * WARP < launch.threads:
            blocks, warps = many(launch.blocks, "block"), many(-(-launch.threads // WARP), "warp")
            there = f"kernel {launch.source.name} has {blocks} of {warps}, from 0 on"
            raise ValueError(f"{there}; there is no warp {warp} in block {block}")

    def __repr__(self) -> str:
        nothing = f"Warp {self.warp} of block {self.block} touches no memory."
        return "\n".join(touch.sentence for touch in self) or nothing

    def note(self, lanes: Any, mask: Any, part: Any, at: Any, way: int, site: Site) -> None:
        here = slice(self.warp * WARP, (self.warp + 1) * WARP)
        on, places = (lanes.value_in_thread(x, self.block, here) for x in (mask.on, at))
        if on is None or not on.any() or len(self) >= MOST:
            return
        size = part.flat.itemsize
        addresses = {lane: int(places[lane]) * size for lane in on.nonzero()[0].tolist()}
        self.append(Touch(site.line, site.text, WAYS[way], part.name, size, part.is_shared, addresses))


class Watch:
    """Prints what one thread does, each line up to eight times."""

    def __init__(self, block: int, thread: int, say: Callable[[str], Any]) -> None:
        self.block, self.thread, self._say = block, thread, say
        # By source and line: the way, and an element: its name, where it is, and its value.
        self._touched: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
        self._times: Counter[ast.stmt] = Counter()

    def note(self, lanes: Any, mask: Any, part: Any, at: Any, way: int, site: Site) -> None:
        """The thread reads or writes an element."""
        if self.value_in_thread(lanes, mask.on):
            place = int(self.value_in_thread(lanes, at))
            if part.is_shared:
                flat = part.flat[self.block - int(lanes.number[0])]
            else:
                flat = part.flat
            touched = self._touched[site.source, site.node.lineno]
            touched.append((way, part.element_text(place), flat, place, flat[place]))

    def note_line(self, node: Any, source: Any, lanes: Any, mask: Any, variables: dict[str, Any]) -> None:
        """The thread has done this line, or begins another round of this loop."""
        if self.value_in_thread(lanes, mask.on):
            if isinstance(node, ast.Assign):
                target = node.targets[0]
            else:
                target = getattr(node, "target", node)
            found = {part.id: variables[part.id] for part in ast.walk(target) if is_stored(part)}
            numbers = [(name, variable.slot) for name, variable in found.items() if isinstance(variable.type, np.dtype)]
            given = [f"{name} = {self.value_in_thread(lanes, lanes.held[slot].value)}" for name, slot in numbers]
            self._print(source, node, given)

    def note_test(self, node: ast.If | ast.While, source: Any, lanes: Any, mask: Any, seen: Any) -> None:
        if self.value_in_thread(lanes, mask.on):
            self._print(source, node, ["yes" if self.value_in_thread(lanes, seen) else "no"])

    def _print(self, source: Any, node: Any, results: list[str]) -> None:
        """The first line of `node`, with what it read, and what it gave."""
        if isinstance(node, (ast.If, ast.For, ast.While)):
            last = node.body[0].lineno - 1
        else:
            last = node.end_lineno
        lines = range(node.lineno, max(last, node.lineno) + 1)
        own = [touch for line in lines for touch in self._touched.pop((source, line), ())]
        read = [f"{name} = {value}" for way, name, _, _, value in own if way == READ]
        # What's written is there by now. After an atomic, other threads may have changed it too.
        kept = [f"{name} = {flat[k]}" if way == WRITE else name for way, name, flat, k, _ in own if way != READ]
        shown = " → ".join(", ".join(dict.fromkeys(part)) for part in (read, kept + results) if part)
        self._times[node] += 1
        if self._times[node] <= MOST_TIMES + 1:
            shown = shown if self._times[node] <= MOST_TIMES else "…"
            text = f"line {source.line(node)}: {source.text(node)}"
            self._say(f"{text}    {shown}" if shown else text)

    def value_in_thread(self, lanes: Any, value: Any) -> Any:
        return lanes.value_in_thread(value, self.block, self.thread)


class Explained:
    """What `explain` shows of a kernel: its text, and beside each line the requests by warps, the sectors, the share of
    their bytes that was used, and bank conflicts. Below is the whole launch."""

    def __init__(self, source: Any, figures: Figures) -> None:
        self.source, self.figures = source, figures

    def __repr__(self) -> str:
        name, lines = self.source.name, self.figures.lines
        own = {line.line: line for line in lines if line.function == name}
        rows = [_row(own.get(k), f"{k:>4}  {text}") for k, text in enumerate(self.source.lines, self.source.first)]
        others = [line for line in lines if line.function != name]
        rows += [_row(line, f"{line.line:>4}  {line.function}: {line.text}") for line in others]
        return "\n".join([*as_table([(*COSTS, "line"), *rows]), "", repr(self.figures)])


def _row(line: LineFigures | None, text: str) -> tuple[str, ...]:
    if line is None:
        return ("",) * len(COSTS) + (text,)
    if line.sectors:
        sectors = (f"{line.sectors:,}", f"{line.share:.0%}")
    else:
        sectors = ("", "")
    return f"{line.requests:,}", *sectors, f"{line.conflicts:,}" if line.conflicts or not line.sectors else "", text
