"""What one warp touches, access by access: where each of its lanes goes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .figures import many
from .lanes import WARP
from .memory import BANKS, SECTOR, WORD
from .races import ATOMIC, READ, WRITE

WAYS = {READ: "read", WRITE: "write", ATOMIC: "change"}
MOST = 2_000  # accesses that are kept


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
        """How many sectors of 32 bytes these are."""
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
        one = len(self.elements) == 1
        who = "1 lane" if one else f"{len(self.elements)} lanes"
        same = ": they meet at the same banks" if self.is_shared and self.turns > 1 else ""
        does = f"{self.way}s" if one else self.way
        return f"Line {self.line}, {self.text}: {who} {does} {self.array}, in {self.cost}{same}."

    @property
    def cost(self) -> str:
        """The sectors or the turns, in words."""
        if self.is_shared:
            return "one turn" if self.turns == 1 else f"{self.turns} turns"
        share = self.used / (self.sectors * SECTOR)
        return f"{self.sectors} {'sector' if self.sectors == 1 else 'sectors'}, {share:.0%} of their bytes used"


class Trace(list):
    """The accesses of one warp, in order. Prints as a list of sentences."""

    def __init__(self, name: str, grid: tuple[int, ...], block: tuple[int, ...], chosen: int, warp: int) -> None:
        super().__init__()
        self.name, self.grid, self.block, self.chosen, self.warp = name, grid, block, chosen, warp

    def __repr__(self) -> str:
        nothing = f"Warp {self.warp} of block {self.chosen} touches no memory."
        return "\n".join(touch.sentence for touch in self) or nothing


class Tracer:
    """Notes what one warp of one block touches during a launch."""

    def __init__(self, launch: Any, block: int, warp: int) -> None:
        if not 0 <= block < launch.blocks or not 0 <= warp * WARP < launch.threads:
            warps = -(-launch.threads // WARP)
            raise ValueError(
                f"kernel {launch.source.name} has {many(launch.blocks, 'block')} of {many(warps, 'warp')}, from 0 on; "
                f"there is no warp {warp} in block {block}"
            )
        self.block, self.warp = block, warp
        self.trace = Trace(launch.source.name, launch.grid, launch.block, block, warp)

    def note(self, lanes: Any, mask: Any, part: Any, at: Any, way: int, site: Any) -> None:
        """An access of all lanes of the mask."""
        row = self.block - int(lanes.number[0])
        if not 0 <= row < lanes.blocks or len(self.trace) >= MOST:
            return
        here = slice(self.warp * WARP, (self.warp + 1) * WARP)
        on = np.broadcast_to(mask.on, lanes.shape)[row, here]
        at = np.broadcast_to(at, lanes.shape)[row, here]
        if on.any():
            found = {int(lane): int(at[lane]) for lane in on.nonzero()[0]}
            self.trace.append(
                Touch(
                    site.line, site.source.text(site.node), WAYS[way],
                    part.name, part.shape, part.flat.itemsize, part.is_shared,
                    {lane: _element(part.indices_of(place), part.shape) for lane, place in found.items()},
                    {lane: place * part.flat.itemsize for lane, place in found.items()},
                )
            )  # fmt: skip


def _element(indices: list[int], shape: tuple[int, ...]) -> int:
    """The number of an element in the order of the rows."""
    return int(np.ravel_multi_index(indices, shape)) if shape else 0
