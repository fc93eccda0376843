"""Gradients in buckets: a few large sums over all workers in place of many small ones.

The buckets are filled from the last parameter to the first, about as the way back finishes their gradients. A bucket's
sum begins as soon as it's full, and goes on while the other gradients are computed. All workers begin the sums in the
same order. PyTorch's DDP does the same.
"""

import platform
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from ..arrays import device_of, on_card_of
from ..devices.base import CPU
from ..messages import notice
from ..tree.walks import trainables
from ..updating import Leaf
from .world import Group

FIRST, SIZE = 2**20, 25 * 2**20  # bytes; the first is small, so that its sum begins early
Step = tuple[Leaf, Any, Any]  # an optimizer's state of a parameter, the parameter, its gradient


class Buckets:
    """What each worker has of the gradients of a model, added up for all of them."""

    def __init__(self, group: Group, state: Any, model: Any) -> None:
        self.group, self.state = group, state
        places = [(path.get(state), x) for path, x in trainables(model)]
        self.buckets = [Bucket(group, part) for part in _divided(places[::-1])]
        slots = [(bucket, i) for bucket in self.buckets for i in range(len(bucket.places))]
        self.by_leaf = {id(bucket.places[i][0]): (bucket, i) for bucket, i in slots}
        self.by_array = {id(bucket.places[i][1]): (bucket, i) for bucket, i in slots}
        self.started, self.weight = 0, 1 / group.size  # of this worker's gradients in the sum

    def arrive(self, x: Any, g: Any) -> None:
        """The way back has finished the gradient `g` of the parameter `x`."""
        bucket, i = self.by_array.get(id(x), (None, 0))
        if bucket is not None and bucket.has[i] is None:
            bucket.fill(i, g, self.weight)
            self._start_full_ones()

    def _start_full_ones(self) -> None:
        while self.started < len(self.buckets) and None not in self.buckets[self.started].has:
            bucket = self.buckets[self.started]
            bucket.sum = bucket.way.start(bucket.numbers)
            self.started += 1
        for bucket in self.buckets[: self.started]:
            bucket.way.go_on(bucket.sum)

    def start(self, steps: list[Step], *numbers: float) -> list[float]:
        """Begin all sums that haven't begun yet. Gives the sums of these few numbers at once."""
        self.own = {id(step[0]): step for step in steps}
        for key, (bucket, i) in self.by_leaf.items():
            if bucket.has[i] is None:
                bucket.fill(i, self.own[key][2] if key in self.own else None, self.weight)
        self._start_full_ones()
        sums = self.group.total(*numbers, *[bucket.has[i] for bucket, i in self.by_leaf.values()])
        self.counts = dict(zip(self.by_leaf, sums[len(numbers) :]))  # how many workers have a gradient of each
        return sums[: len(numbers)]

    def finish(self) -> Iterator[Step]:
        """This worker's steps with the gradients of all; each parameter takes one if any worker has its gradient."""
        self.started = 0
        for bucket in self.buckets:
            sums, bucket.has = bucket.way.finish(bucket.sum), [None] * len(bucket.has)
            for place, these in zip(bucket.places, bucket.slices):
                leaf, x, g = self.own.get(id(place[0])) or (*place, None)
                if self.counts[id(leaf)] and not leaf.frozen:
                    with on_card_of(sums):
                        g = np.empty_like(x) if g is None else g
                        g[...] = np.reshape(sums[these], x.shape)
                    yield leaf, x, g


class Bucket:
    """Numbers of several parameters in one array, and their sum over all workers."""

    def __init__(self, group: Group, places: list[tuple[Leaf, Any]]) -> None:
        like, sizes = places[0][1], [x.size for _, x in places]
        self.places, self.way, self.sum = places, transport(group, device_of(like)), None
        self.slices = [slice(end - size, end) for end, size in zip(np.cumsum(sizes).tolist(), sizes)]
        self.has: list[Any] = [None] * len(places)  # whether there's a gradient, when that's known
        with on_card_of(like):
            self.numbers = np.empty_like(like, shape=(sum(sizes),), dtype=wide(like))

    def fill(self, i: int, g: Any, weight: float) -> None:
        """Put ``weight * g`` into its place; zeros if there's no gradient."""
        self.has[i] = g is not None
        with on_card_of(self.numbers):
            if g is None:
                self.numbers[self.slices[i]] = 0
            else:
                place = np.reshape(self.numbers[self.slices[i]], g.shape)
                np.multiply(g.astype(place.dtype, copy=False), weight, out=place)


def _divided(places: list[tuple[Leaf, Any]]) -> Iterator[list[tuple[Leaf, Any]]]:
    """Parts of about `SIZE` bytes, each of arrays of one type on one device; the first is smaller."""
    starts = np.cumsum([0, *(x.size * wide(x).itemsize for _, x in places)]).tolist()
    keys = [((start + SIZE - FIRST) // SIZE, wide(x), device_of(x)) for start, (_, x) in zip(starts, places)]
    for _, part in groupby(zip(keys, places), key=lambda pair: pair[0]):
        yield [place for _, place in part]


def wide(x: Any) -> np.dtype:
    """The type that's added up: MPI knows no half precision, and many small numbers would lose digits in it."""
    return x.dtype if x.dtype.kind in "biuc" else np.promote_types(x.dtype, np.float32)


def add_up(group: Group, x: Any, op: str = "sum") -> None:
    """Give all workers the sum, mean, minimum or maximum of their `x`, in place."""
    if group.size == 1:
        return
    with on_card_of(x):
        way = transport(group, device_of(x))
        as_it_is = x.flags.c_contiguous and x.dtype == wide(x)
        start = x if as_it_is else np.ravel(x).astype(wide(x))
        result = way.finish(way.start(start, "sum" if op == "mean" else op))
        if op == "mean":
            result /= group.size
        if result is not x:
            x[...] = np.reshape(result, x.shape)


def transport(group: Group, device: Any) -> "ByMPI":
    """How arrays of `device` get from worker to worker: by NCCL, if each has an NVIDIA card of its own, or by MPI."""
    if device not in group.ways:
        mine = (platform.node(), device.backend, device.index, device.backend == "CUDA" and _nccl() is not None)
        cards = group.all(mine) if device != CPU and group.size > 1 else []
        by_nccl = len(set(cards)) == group.size and all(card[1] == "CUDA" and card[3] for card in cards)
        if cards and not by_nccl and group.rank == 0:
            notice("by the host", f"gradients on {device} go to the other workers through the host's memory.")
        group.ways[device] = (ByNCCL if by_nccl else ByMPI)(group, device)
    return group.ways[device]


class ByMPI:
    """MPI adds up arrays in the host's memory. Those of a GPU are copied there and back."""

    def __init__(self, group: Group, device: Any) -> None:
        self.group, self.device = group, device

    def start(self, x: Any, op: str = "sum") -> Any:
        """Begin to add up the contiguous `x`; what comes out is for `finish`, which gives the sums."""
        here = CPU.receive(x)
        return self.group.start(here, op), here

    def go_on(self, begun: Any) -> None:
        begun[0].Test()  # MPI only works when it's called

    def finish(self, begun: Any) -> Any:
        request, here = begun
        self.group.wait(request)
        return self.device.receive(here)


def _nccl() -> Any:
    """NVIDIA's NCCL, if CuPy has it."""
    from cupy.cuda import nccl

    return nccl if nccl.available else None


class ByNCCL(ByMPI):
    """NVIDIA's library adds up the arrays of several cards, over the fastest link between them."""

    def __init__(self, group: Group, device: Any) -> None:
        super().__init__(group, device)
        import cupy

        self.cupy, self.nccl = cupy, _nccl()
        first = group.same(self.nccl.get_unique_id() if group.rank == 0 else None)
        with device:
            self.communicator = self.nccl.NcclCommunicator(group.size, first, group.rank)
            self.stream = cupy.cuda.Stream(non_blocking=True)

    def start(self, x: Any, op: str = "sum") -> Any:
        kinds = {"float32": self.nccl.NCCL_FLOAT32, "float64": self.nccl.NCCL_FLOAT64}
        with self.device:
            self.stream.wait_event(self.cupy.cuda.get_current_stream().record())  # what computes `x` comes first
            address, how = x.data.ptr, getattr(self.nccl, f"NCCL_{op.upper()}")
            self.communicator.allReduce(address, address, x.size, kinds[x.dtype.name], how, self.stream.ptr)
        return x

    def go_on(self, begun: Any) -> None:
        pass

    def finish(self, begun: Any) -> Any:
        with self.device:
            self.cupy.cuda.get_current_stream().wait_event(self.stream.record())
        return begun
