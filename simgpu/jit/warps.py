"""Barriers of a part of a warp, ``jit.syncwarp(mask=15)``: who must come, and which threads they put in order.

A barrier of the whole warp is a count for each warp (`Lanes.step`). A part puts only its own lanes in order, so once
there's one, each lane has a count of its own, and we keep which lanes met at each count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import KernelError, StuckBarrier, in_parentheses

WARP = 32
WHOLE = np.uint32(0xFFFFFFFF)


class Meetings:
    """Which lanes of each warp have met at its barriers, since the latest barrier of the block."""

    def __init__(self, lanes: Any) -> None:
        self.steps = np.repeat(lanes.step, WARP, 1)  # of each lane: its latest meeting, or the count before
        self.met: dict[tuple[int, int], list[tuple[int, int]]] = {}  # by block and warp: the count, and the mask

    def whole(self, lanes: Any, mask: Any) -> None:
        """A barrier of whole warps, which `lanes.step` has counted already."""
        warps = np.broadcast_to(mask.warps, lanes.step.shape)
        for block, warp in np.argwhere(warps):
            self._meet(lanes, int(block), int(warp), int(WHOLE))

    def part(self, lanes: Any, bits: np.ndarray, here: np.ndarray) -> None:
        """A barrier of these lanes, each with its mask. Both have an axis for blocks, one for warps, one for lanes."""
        for block, warp in np.argwhere(here.any(2)):
            for mask in np.unique(bits[block, warp][here[block, warp]]):
                lanes.step[block, warp] += 1
                self._meet(lanes, int(block), int(warp), int(mask))

    def _meet(self, lanes: Any, block: int, warp: int, mask: int) -> None:
        count = int(lanes.step[block, warp])
        self.met.setdefault((block, warp), []).append((count, mask))
        own = self.steps[block, warp * WARP : (warp + 1) * WARP]
        own[_lanes_of(mask)] = count

    def forget(self, here: np.ndarray) -> None:
        """A barrier of these blocks: what was before is in order."""
        self.steps[here] = 0
        for block, warp in list(self.met):
            if here[block]:
                del self.met[block, warp]

    def are_ordered(self, block: int, warp: int, early: tuple[int, int], late: tuple[int, int]) -> bool:
        """Whether two lanes of a warp have met between an early access and a late one, each a lane and its count."""
        both = 1 << early[0] | 1 << late[0]
        met = self.met.get((block, warp), [])
        return any(early[1] < count <= late[1] and mask & both == both for count, mask in met)


def check_part(lanes: Any, mask: Any, bits: Any, site: Any) -> tuple[np.ndarray, np.ndarray]:
    """The masks and who's here, for each block, warp and lane.

    Raises `KernelError` if a lane isn't in its own mask, and `StuckBarrier` if one that's named doesn't come with the
    same mask.
    """
    shape = (lanes.blocks, lanes.width // WARP, WARP)
    # Where all blocks do the same, one stands for all of them.
    bits, here, going = (
        np.broadcast_to(x, lanes.shape).reshape(shape)
        for x in (np.asarray(bits).astype(np.uint32), mask.on, lanes.going)
    )
    lane = np.arange(WARP, dtype=np.uint32)
    named = (bits[..., None] >> lane & 1).astype(bool)  # by the lane before it
    forgotten = here & ~np.diagonal(named, axis1=2, axis2=3)
    if forgotten.any():
        what = (
            f"this thread isn't in the mask that it gives, {_some(bits, forgotten):#x}: what it does then is undefined."
        )
        raise site.wrong(KernelError, what, "A mask has a bit for each lane that comes.", _first(lanes, forgotten))
    same = bits[..., :, None] == bits[..., None, :]
    waits = here[..., None] & named & going[..., None, :] & ~(here[..., None, :] & same)
    if waits.any():
        block, warp, waiting, missing = np.argwhere(waits)[0]
        other = lanes.place(int(lanes.number[block]), int(warp * WARP + missing))
        what = (
            f"the mask {bits[block, warp, waiting]:#x} names thread {in_parentheses(other.thread)}, which doesn't come "
            "here with the same mask: this one would wait forever."
        )
        this = lanes.place(int(lanes.number[block]), int(warp * WARP + waiting))
        raise site.wrong(StuckBarrier, what, "Name the lanes that come here, and no others.", this)
    return bits, here


def _lanes_of(mask: int) -> np.ndarray:
    return (mask >> np.arange(WARP) & 1).astype(bool)


def _some(values: np.ndarray, on: np.ndarray) -> int:
    return int(values[on][0])


def _first(lanes: Any, on: np.ndarray) -> Any:
    block, warp, lane = np.argwhere(on)[0]
    return lanes.place(int(lanes.number[block]), int(warp * WARP + lane))
