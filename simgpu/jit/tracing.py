"""Looking at a launch: what a warp touches, what one thread does line by line, and what each line cost."""

import ast
import html
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .errors import many
from .figures import COSTS, Figures, LineFigures
from .lanes import WARP
from .memory import BANKS, SECTOR, WORD
from .races import ATOMIC, READ, WRITE
from .source import Site, is_stored

WAYS = {READ: "read", WRITE: "write", ATOMIC: "change"}
MOST = 2_000  # accesses that are kept
MOST_ROUNDS = 8  # of a loop that are shown

# -- What a warp touches: where each of its lanes goes --------------------------------------------


class Touch(NamedTuple):
    """One access by one warp. `elements` says which element of `array` each lane means, in the order of its rows."""

    line: int
    text: str
    way: str  # "read", "write" or "change"
    array: str
    shape: tuple[int, ...]
    itemsize: int
    is_shared: bool
    elements: dict[int, int]  # lane: element
    addresses: dict[int, int]  # lane: byte

    @property
    def sectors(self) -> int:
        return len({address // SECTOR for address in self.addresses.values()})

    @property
    def used(self) -> int:
        """How many of the sectors' bytes the lanes want."""
        return len(set(self.addresses.values())) * self.itemsize

    @property
    def turns(self) -> int:
        """How often shared memory has to answer: a bank gives one word at a time."""
        words = {address // WORD for address in self.addresses.values()}
        return int(np.bincount([word % BANKS for word in words]).max(initial=0)) if words else 0

    @property
    def sentence(self) -> str:
        count = len(self.elements)
        same = ": they meet at the same banks" if self.is_shared and self.turns > 1 else ""
        does = f"{many(count, 'lane')} {self.way}{'s' * (count == 1)} {self.array}"
        return f"Line {self.line}, {self.text}: {does}, in {self.cost}{same}."

    @property
    def cost(self) -> str:
        """The sectors or the turns, in words."""
        if self.is_shared:
            return "one turn" if self.turns == 1 else f"{self.turns} turns"
        return f"{many(self.sectors, 'sector')}, {self.used / (self.sectors * SECTOR):.0%} of their bytes used"


class Trace(list):
    """What one warp of a block touches during a launch, in order. Prints as a list of sentences."""

    def __init__(self, launch: Any, block: int, warp: int) -> None:
        super().__init__()
        self.name, self.grid, self.block = launch.source.name, launch.grid, launch.block
        self.chosen, self.warp = block, warp
        if not 0 <= block < launch.blocks or not 0 <= warp * WARP < launch.threads:
            blocks, warps = many(launch.blocks, "block"), many(-(-launch.threads // WARP), "warp")
            there = f"kernel {self.name} has {blocks} of {warps}, from 0 on"
            raise ValueError(f"{there}; there is no warp {warp} in block {block}")

    def __repr__(self) -> str:
        nothing = f"Warp {self.warp} of block {self.chosen} touches no memory."
        return "\n".join(touch.sentence for touch in self) or nothing

    def note(self, lanes: Any, mask: Any, part: Any, at: Any, way: int, site: Site) -> None:
        row, size, shape = self.chosen - int(lanes.number[0]), part.flat.itemsize, part.shape
        if not 0 <= row < lanes.blocks or len(self) >= MOST:
            return
        here = slice(self.warp * WARP, (self.warp + 1) * WARP)
        on = np.broadcast_to(mask.on, lanes.shape)[row, here]
        places = {int(lane): int(np.broadcast_to(at, lanes.shape)[row, here][lane]) for lane in on.nonzero()[0]}
        if places:
            index = {lane: part.indices_of(place) for lane, place in places.items()}
            elements = {lane: int(np.ravel_multi_index(index[lane], shape)) if shape else 0 for lane in index}
            addresses = {lane: place * size for lane, place in places.items()}
            what = part.name, shape, size, part.is_shared
            self.append(Touch(site.line, site.text, WAYS[way], *what, elements, addresses))


# -- What one thread does: reads and writes, which way it goes, and what each name gets -----------


class Watch:
    """Prints what one lane does."""

    def __init__(self, row: int, thread: int, say: Callable[[str], Any]) -> None:
        self.row, self.thread, self._say = row, thread, say
        self._touched: list[tuple[Site, bool, str]] = []  # where, whether it's a write, and what
        self._rounds: list[int] = []  # of each loop that it's in

    def touched(self, mask: Any, part: Any, to: Any, value: Any, site: Site, writes: bool) -> None:
        """It has read or written an element. After an atomic `value` is none: others may have been there by then."""
        if not self._is_quiet and self.of(mask.on):
            element = part.named(int(self.of(to.at)))
            self._touched.append((site, writes, element if value is None else f"{element} = {self.of(value)}"))

    def after(self, statement: ast.stmt, source: Any, lanes: Any, mask: Any, variables: dict[str, Any]) -> None:
        if isinstance(statement, (ast.If, ast.For, ast.While)) or not self.of(mask.on):
            return
        targets = getattr(statement, "targets", [getattr(statement, "target", statement)])
        found = [node.id for node in ast.walk(targets[0]) if is_stored(node)]
        kept = [(name, variables[name]) for name in found if name in variables]
        numbers = [(name, one) for name, one in kept if isinstance(one.type, np.dtype)]
        self._print(source, statement, [f"{name} = {self.of(lanes.held[one.slot].value)}" for name, one in numbers])

    def tested(self, node: ast.If, source: Any, mask: Any, seen: Any) -> None:
        if self.of(mask.on):
            self._print(source, node, ["yes" if self.of(seen) else "no"])

    def enters(self) -> None:
        self._rounds.append(0)

    def round(self, node: Any, source: Any, lanes: Any, mask: Any, variables: dict[str, Any]) -> None:
        if self.of(mask.on):
            self._rounds[-1] += 1
            name = getattr(node.target, "id", "") if isinstance(node, ast.For) else ""
            says = f"{name} = {self.of(lanes.held[variables[name].slot].value)}" if name else "yes"
            self._print(source, node, [says])

    def leaves(self, node: Any, source: Any, mask: Any) -> None:
        """The loop is over, and the lanes of `mask` had come to it."""
        rounds = self._rounds.pop()
        if rounds > MOST_ROUNDS and not self._is_quiet:
            self._say(f"line {source.line(node)}: … {many(rounds - MOST_ROUNDS, 'more round')}")
        elif not rounds and self.of(mask.on):
            self._print(source, node, ["no round"])

    @property
    def _is_quiet(self) -> bool:
        return any(rounds > MOST_ROUNDS for rounds in self._rounds)

    def _print(self, source: Any, node: Any, results: Sequence[str]) -> None:
        """The first line of `node`, with what was read, then with what came of it."""
        if self._is_quiet:
            self._touched.clear()
            return
        last = node.body[0].lineno - 1 if isinstance(node, (ast.If, ast.For, ast.While)) else node.end_lineno
        lines = range(node.lineno, max(last, node.lineno) + 1)
        own = [touch for touch in self._touched if touch[0].source is source and touch[0].node.lineno in lines]
        self._touched = [touch for touch in self._touched if touch not in own]
        read, written = ([text for _, writes, text in own if writes is way] for way in (False, True))
        shown = " → ".join(", ".join(dict.fromkeys(part)) for part in (read, [*written, *results]) if part)
        text = f"line {source.line(node)}: {source.text(node)}"
        self._say(f"{text}    {shown}" if shown else text)

    def of(self, value: Any) -> Any:
        """What this thread has of a value of all threads."""
        if not isinstance(value, np.ndarray) or value.ndim < 2:
            return value
        return value[self.row if value.shape[0] > 1 else 0, self.thread if value.shape[1] > 1 else 0]


# -- What each line cost --------------------------------------------------------------------------


class Explained:
    """What `explain` shows of a kernel: its text, and beside each line the requests by warps, the sectors, the share of
    their bytes that was used, and bank conflicts. Then the whole launch."""

    def __init__(self, source: Any, figures: Figures) -> None:
        self.figures = figures
        own = {line.line: line for line in figures.lines if line.function == source.name}
        others = [line for line in figures.lines if line.function != source.name]
        self.rows = [(_cells(own.get(number)), number, text) for number, text in enumerate(source.lines, source.first)]
        self.rows += [(_cells(line), line.line, f"{line.function}: {line.text}") for line in others]

    def __repr__(self) -> str:
        widths = [max(len(head), *(len(cells[k]) for cells, _, _ in self.rows)) for k, head in enumerate(COSTS)]
        rows = [(*COSTS, "line"), *((*cells, f"{number:>4}  {text}") for cells, number, text in self.rows)]
        lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, [*widths, 0])).rstrip() for row in rows]
        return "\n".join([*lines, "", repr(self.figures)])

    def _repr_html_(self) -> str:
        cell = 'style="text-align:right;padding:0 0.6em"'
        head = "".join(f"<th scope='col' {cell}>{name}</th>" for name in (*COSTS, "line"))
        rows = "".join(
            f"<tr>{''.join(f'<td {cell}>{html.escape(part)}</td>' for part in cells)}<td {cell}>{number}</td>"
            f'<td style="text-align:left"><pre style="margin:0">{html.escape(text)}</pre></td></tr>'
            for cells, number, text in self.rows
        )
        return (
            f"<table><tr>{head}<th style='text-align:left'>{html.escape(self.figures.name)}</th></tr>{rows}</table>"
            f'<pre style="word-break:normal">{html.escape(repr(self.figures))}</pre>'
        )


def _cells(line: LineFigures | None) -> tuple[str, str, str, str]:
    if line is None:
        return "", "", "", ""
    sectors = (f"{line.sectors:,}", f"{line.share:.0%}") if line.sectors else ("", "")
    return f"{line.requests:,}", *sectors, f"{line.conflicts:,}" if line.is_shared else ""
