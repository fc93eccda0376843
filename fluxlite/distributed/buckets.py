"""Gradients in buckets: a few large sums over all workers in place of many small ones.

The buckets are filled from the last parameter to the first, which is about the order in which the way back finishes
their gradients. A bucket's sum begins as soon as it's full, and goes on while the other gradients are computed. All
workers begin the sums in the same order, whatever the order of their own gradients. PyTorch's DDP does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..arrays import device_of, on_card_of
from ..optimizers import Leaf
from ..tree.walks import trainables
from .group import Group
from .transports import Direct, transport

FIRST, SIZE = 2**20, 25 * 2**20  # bytes; the first is small, so that its sum begins early
Step = tuple[Leaf, Any, Any]  # an optimizer's state of a parameter, the parameter, its gradient


class Slot:
    """A parameter's place in a bucket."""

    def __init__(self, leaf: Any, x: Any, start: int) -> None:
        self.leaf, self.x, self.start, self.stop = leaf, x, start, start + x.size
        self.is_turned = x.flags.f_contiguous and not x.flags.c_contiguous
        self.is_filled = self.has_gradient = False

    def of(self, numbers: Any) -> Any:
        """A view of the bucket's numbers that are this parameter's, in its shape and memory order."""
        own = numbers[self.start : self.stop]
        return np.reshape(own, self.x.shape[::-1]).T if self.is_turned else np.reshape(own, self.x.shape)


class Bucket:
    """Numbers of several parameters in one array, and their sum over all workers."""

    def __init__(self, arrays: list[tuple[Any, Any]], way: Direct) -> None:
        self.slots: list[Slot] = []
        for leaf, x in arrays:
            self.slots.append(Slot(leaf, x, self.slots[-1].stop if self.slots else 0))
        like = arrays[0][1]
        self.way, self.request, self.missing = way, None, len(arrays)
        with on_card_of(like):
            self.numbers = np.empty_like(like, shape=(self.slots[-1].stop,), dtype=_wide(like))

    def fill(self, slot: Slot, g: Any, weight: float) -> None:
        """Put ``weight * g`` into its place; zeros if there's no gradient."""
        place = slot.of(self.numbers)
        with on_card_of(self.numbers):
            if g is None:
                place[...] = 0
            else:
                np.multiply(g if g.dtype == place.dtype else g.astype(place.dtype), weight, out=place)
        slot.is_filled, slot.has_gradient = True, g is not None
        self.missing -= 1

    def start(self) -> None:
        self.request, self.coming = self.way.start(self.numbers)

    def sums(self) -> Any:
        """The sums of all workers. Then the bucket is empty again."""
        self.way.group.wait(self.request)
        self.missing = len(self.slots)
        for slot in self.slots:
            slot.is_filled = False
        return self.way.finished(self.coming)


class Buckets:
    """What each worker has of the gradients of a model, added up for all of them."""

    def __init__(self, group: Group, state: Any, model: Any) -> None:
        self.group, self.state = group, state
        ways: dict[Any, Direct] = {}
        self.buckets: list[Bucket] = []
        places = [(path.get(state), x) for path, x in trainables(model)]
        for arrays in divided(reversed(places)):
            device = device_of(arrays[0][1])
            ways[device] = ways.get(device) or transport(group, arrays[0][1])
            self.buckets.append(Bucket(arrays, ways[device]))
        pairs = [(bucket, slot) for bucket in self.buckets for slot in bucket.slots]
        self.by_leaf = {id(slot.leaf): (bucket, slot) for bucket, slot in pairs}
        self.by_array = {id(x): self.by_leaf[id(leaf)] for leaf, x in places}
        self.started = 0
        self.weight = 1.0  # of this worker's gradients in the sum

    def arrive(self, x: Any, g: Any) -> None:
        """The way back has finished the gradient `g` of the parameter `x`."""
        bucket, slot = self.by_array.get(id(x), (None, None))
        if bucket is not None and slot is not None and not slot.is_filled:
            bucket.fill(slot, g, self.weight)
            self._start_full_ones()

    def _start_full_ones(self) -> None:
        while self.started < len(self.buckets) and not self.buckets[self.started].missing:
            self.buckets[self.started].start()
            self.started += 1
        for bucket in self.buckets[: self.started]:
            bucket.request.Test()  # type: ignore[attr-defined]  # a CPU's MPI only goes on when it's called

    def start(self, steps: Iterable[Step]) -> None:
        """Begin all sums that haven't begun yet: from now on, this worker may add up other things with the others."""
        own = {id(leaf): g for leaf, _, g in steps}
        for key, (bucket, slot) in self.by_leaf.items():
            if not slot.is_filled:
                bucket.fill(slot, own.get(key), self.weight)
        self._start_full_ones()

    def exchange(self, *numbers: float) -> list[float]:
        """The sums of these numbers, of any kind; and with them, in one message, who has which gradients."""
        has = [slot.has_gradient for _, slot in self.by_leaf.values()]
        sums = self.group.total(*numbers, *has)
        self.counts = dict(zip(self.by_leaf, sums[len(numbers) :]))
        return sums[: len(numbers)]

    def finish(self, steps: Iterable[Step]) -> list[Step]:
        """This worker's steps with the gradients of all, after `exchange`.

        A parameter without a gradient here may have one elsewhere; it takes a step if any worker has one.
        """
        own = {id(leaf): (leaf, x, g) for leaf, x, g in steps}
        self.started = 0
        return [step for bucket in self.buckets for step in _steps(bucket, own, self.counts)]


def _steps(bucket: Bucket, own: dict[int, Step], counts: dict[int, float]) -> Iterator[Step]:
    sums = bucket.sums()
    for slot in bucket.slots:
        if not counts[id(slot.leaf)] or slot.leaf.frozen:
            continue
        leaf, x, g = own.get(id(slot.leaf)) or (slot.leaf, slot.x, None)
        with on_card_of(sums):
            if g is None:
                g = np.empty_like(x)
            g[...] = slot.of(sums)
        yield leaf, x, g


def divided(places: Iterable[tuple[Any, Any]]) -> Iterator[list[tuple[Any, Any]]]:
    """Parts of about `SIZE` bytes, each of arrays of one type on one device; the first is smaller."""
    part: list[tuple[Any, Any]] = []
    size, limit = 0, FIRST
    for leaf, x in places:
        bytes_of_x = x.size * _wide(x).itemsize
        is_other = bool(part) and (_wide(x), device_of(x)) != (_wide(part[0][1]), device_of(part[0][1]))
        if part and (is_other or size + bytes_of_x > limit):
            yield part
            part, size, limit = [], 0, SIZE
        part.append((leaf, x))
        size += bytes_of_x
    if part:
        yield part


def _wide(x: Any) -> np.dtype:
    """The type that's added up: MPI knows no half precision, and many small numbers would lose digits in it."""
    return np.promote_types(x.dtype, np.float32)
