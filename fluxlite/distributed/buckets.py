"""Gradients in buckets: a few large sums over all workers in place of many small ones."""

import platform
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import numpy as np

from ..arrays import device_of, on_card_of
from ..devices.base import CPU
from ..messages import notice
from ..tree.walks import trainables
from ..updating import Step
from .world import Group

SIZE = 25 * 2**20  # bytes


class Buckets:
    """What each worker has of the gradients of a model, added up for all of them."""

    def __init__(self, group: Group, state: Any, model: Any) -> None:
        self.group, self.state = group, state
        places = [(path.get(state), x) for path, x in trainables(model)]
        starts = np.cumsum([0, *(x.size * wide(x).itemsize for _, x in places)]).tolist()
        keys = [(start // SIZE, wide(x), device_of(x)) for start, (_, x) in zip(starts, places)]
        parts = [list(part) for _, part in groupby(zip(keys, places), key=lambda pair: pair[0])]
        self.buckets = [Bucket(group, [place for _, place in part]) for part in parts]

    def start(self, steps: list[Step], weight: float, *numbers: float) -> list[float]:
        """Begin to add up ``weight * gradient`` of all workers. Gives the sums of these few numbers at once."""
        own = {id(leaf): g for leaf, _, g in steps}
        for bucket in self.buckets:
            bucket.start(own, weight)
        leaves = [id(leaf) for bucket in self.buckets for leaf, _ in bucket.places]
        sums = self.group.total(*numbers, *[leaf in own for leaf in leaves])
        self.counts = dict(zip(leaves, sums[len(numbers) :]))  # how many workers have a gradient of each
        return sums[: len(numbers)]

    def finish(self) -> list[Step]:
        """The steps with the gradients of all; a parameter takes one if any worker has its gradient."""
        found = [step for bucket in self.buckets for step in bucket.finish()]
        return [step for step in found if self.counts[id(step[0])] and not step[0].frozen]


class Bucket:
    """Gradients of several parameters, of one type on one device, in one array."""

    def __init__(self, group: Group, places: list[tuple[Any, Any]]) -> None:
        like, sizes = places[0][1], [x.size for _, x in places]
        self.places, self.way, self.sum = places, transport(group, device_of(like)), None
        self.slices = [slice(end - size, end) for end, size in zip(np.cumsum(sizes).tolist(), sizes)]
        with on_card_of(like):
            self.numbers = np.empty_like(like, shape=(sum(sizes),), dtype=wide(like))

    def start(self, grads: dict[int, Any], weight: float) -> None:
        with on_card_of(self.numbers):
            for (leaf, _), part in zip(self.places, self.slices):
                g = grads.get(id(leaf))
                self.numbers[part] = 0 if g is None else np.ravel(g).astype(self.numbers.dtype, copy=False) * weight
        self.sum = self.way.start(self.numbers)

    def finish(self) -> Iterator[Step]:
        sums = self.way.finish(self.sum)
        for (leaf, x), part in zip(self.places, self.slices):
            with on_card_of(x):
                yield leaf, x, np.reshape(sums[part], x.shape).astype(x.dtype, copy=False)


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
        mine = (platform.node(), device.backend, device.index, device.backend == "CUDA" and _nccl().available)
        cards = group.all(mine) if device != CPU and group.size > 1 else []
        by_nccl = len(set(cards)) == group.size and all(card[1] == "CUDA" and card[3] for card in cards)
        if cards and not by_nccl and group.rank == 0:
            notice("by the host", f"gradients on {device} go to the other workers through the host's memory.")
        group.ways[device] = (ByNCCL if by_nccl else ByMPI)(group, device)
    return group.ways[device]


def _nccl() -> Any:
    from cupy.cuda import nccl

    return nccl


class ByMPI:
    """MPI adds up arrays in the host's memory. Those of a GPU are copied there and back."""

    def __init__(self, group: Group, device: Any) -> None:
        self.group, self.device = group, device

    def start(self, x: Any, op: str = "sum") -> Any:
        """Begin to add up the contiguous `x`; what comes out is for `finish`, which gives the sums."""
        here = CPU.receive(x)
        return self.group.start(here, op), here

    def finish(self, begun: Any) -> Any:
        self.group.wait(begun[0])
        return self.device.receive(begun[1])


class ByNCCL(ByMPI):
    """NVIDIA's library adds up the arrays of several cards, over the fastest link between them."""

    def __init__(self, group: Group, device: Any) -> None:
        super().__init__(group, device)
        self.nccl = _nccl()
        first = group.same(self.nccl.get_unique_id() if group.rank == 0 else None)
        with device:
            self.communicator = self.nccl.NcclCommunicator(group.size, first, group.rank)

    def start(self, x: Any, op: str = "sum") -> Any:
        import cupy

        kinds = {"float32": self.nccl.NCCL_FLOAT32, "float64": self.nccl.NCCL_FLOAT64}
        with self.device:  # on its stream, so after what computes `x`, and before what needs the sum
            address, stream = x.data.ptr, cupy.cuda.get_current_stream().ptr
            how = getattr(self.nccl, f"NCCL_{op.upper()}")
            self.communicator.allReduce(address, address, x.size, kinds[x.dtype.name], how, stream)
        return x

    def finish(self, begun: Any) -> Any:
        return begun
