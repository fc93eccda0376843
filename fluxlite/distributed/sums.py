"""Sums over all workers: of an array, of a model's gradients, and how a model is made the same everywhere."""

import platform
from itertools import groupby
from numbers import Number
from typing import Any

import numpy as np

from ..arrays import device_of, on_card_of
from ..checkpoint import Loading, state
from ..data.observations import MappedObs, numobs, part
from ..devices.base import CPU
from ..devices.selection import cpu
from ..messages import explained, notice
from ..optimizers import OptimiserChain
from ..tree.flat import KeyPath
from ..tree.ties import is_array
from ..tree.walks import nodes, trainables
from ..updating import Leaf, Rule, Step
from .world import Group, everyone


@explained('an array or a number, and "sum", "mean", "min" or "max"')
def allreduce(x: Any, op: str = "sum") -> Any:
    """The sum, mean, minimum or maximum over all workers' `x` (Flux: ``allreduce!``; PyTorch: ``all_reduce``).

    An array, of the same shape and dtype on every worker, is changed in place. Every worker has to make this call.
    """
    group = everyone()
    if op not in ("sum", "mean", "min", "max"):
        raise ValueError(f"op={op!r} is not among them")
    if not is_array(x):
        return allreduce(np.array(x * 1.0 if op == "mean" else x + 0), op).item()
    if op == "mean" and x.dtype.kind not in "fc":
        raise TypeError(f"the mean isn't whole, and x is an array of {x.dtype}: x.astype(float)")
    group.check_alike({"x": _form(x)})
    with on_card_of(x):
        way = transport(group, device_of(x))
        as_it_is = x.flags.c_contiguous and x.dtype == wide(x)
        result = way.finish(way.start(x if as_it_is else np.ravel(x).astype(wide(x)), op.replace("mean", "sum")))
        if op == "mean":
            result /= group.size
        if result is not x:
            x[...] = np.reshape(result, x.shape)
    return x


@explained("an array or a number, and a worker")
def broadcast(x: Any, root: int = 0) -> Any:
    """What worker `root` has as `x`, for all; arrays change in place (Flux: ``bcast!``; PyTorch: ``broadcast``)."""
    return everyone().same(x, root) if isinstance(x, (Number, np.generic)) else synchronize(x, root)


@explained("a model, an optimizer's state or an array, and a worker")
def synchronize(x: Any, root: int = 0) -> Any:
    """Give all workers what worker `root` has in `x`, a model or an optimizer's state (Flux: ``synchronize!``).

    Arrays, generators and an optimizer's memory are changed in place, so ties stay. ``train(…, distributed=True)`` does
    this by itself. Raises `ValueError` on every worker if their models or rules differ, naming the place.
    """
    return take_from(everyone(), x, root)


def take_from(group: Group, x: Any, root: int = 0) -> Any:
    found = [(str(path) or "x", node) for path, node in nodes(x) if isinstance(node, Leaf) or is_array(node)]
    group.check_alike({place: _form(node) for place, node in found})
    values = group.same(cpu(state(x)), root)
    if group.rank != root:
        loading = Loading(own=True)
        loading.add(KeyPath(), x, values)
        loading.finish()
    return x


def _form(x: Any) -> str:
    return f"{x.rule}, frozen={x.frozen}" if isinstance(x, Leaf) else f"an array of {x.dtype}, shape {x.shape}"


class DistributedDataContainer(MappedObs):
    """The observations of `data` that are this worker's: an n-th, in one piece (Flux: ``DistributedDataContainer``).

    It's for a loop of your own, inside a `DataLoader`. The last worker may have fewer.
    """

    @explained("data")
    def __init__(self, data: Any) -> None:
        count, group = numobs(data), everyone()
        size = -(-count // group.size)
        start = group.rank * size
        if start >= count:
            raise ValueError(f"{count} observations leave none for worker {group.rank} of {group.size}")
        super().__init__(lambda x: x, part(data, slice(start, min(start + size, count))))


class DistributedOptimizer(OptimiserChain):
    """`rule`, with the gradients of all workers averaged before each step (Flux: ``DistributedOptimizer``).

    ``state = setup(DistributedOptimizer(Adam()), synchronize(model))``, then `update` as ever, which every worker has
    to call. All workers count the same: for the mean over all observations, give each the same number of them.
    """

    @explained("a rule such as Adam()")
    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        self.rules[0].apply(memory["0"], x, g)

    def gathered(self, state: Any, model: Any, steps: list[Step]) -> list[Step]:
        """The same steps with the means of all workers' gradients."""
        buckets = Buckets(everyone(), state, model)
        buckets.start(steps, 1 / buckets.group.size)
        return buckets.finish()

    def __repr__(self) -> str:
        return f"DistributedOptimizer({self.rules[0]})"


SIZE = 25 * 2**20  # bytes


class Buckets:
    """The gradients of a model in a few large arrays, which are added up over all workers."""

    def __init__(self, group: Group, state: Any, model: Any) -> None:
        self.group, self.state = group, state
        places = [(path.get(state), x) for path, x in trainables(model)]
        starts = np.cumsum([0, *(x.size * wide(x).itemsize for _, x in places)]).tolist()
        keys = [(start // SIZE, wide(x), device_of(x)) for start, (_, x) in zip(starts, places)]
        parts = groupby(zip(keys, places), key=lambda pair: pair[0])
        self.buckets = [[place for _, place in part] for _, part in parts]
        self.leaves = [id(leaf) for leaf, _ in places]

    def start(self, steps: list[Step], weight: float, *numbers: float) -> list[float]:
        """Begin to add up ``weight * gradient`` of all workers. Gives the sums of these few numbers at once."""
        own, self.sums = {id(leaf): g for leaf, _, g in steps}, []
        for places in self.buckets:
            first = places[0][1]
            with on_card_of(first):
                parts = [np.ravel(own[id(leaf)] if id(leaf) in own else np.zeros_like(x)) for leaf, x in places]
                content = np.concatenate(parts).astype(wide(first), copy=False)
                content *= weight
                way = transport(self.group, device_of(first))
                self.sums.append((way, way.start(content)))
        sums = self.group.total(*numbers, *[leaf in own for leaf in self.leaves])
        self.counts = dict(zip(self.leaves, sums[len(numbers) :]))  # how many workers have a gradient of each
        return sums[: len(numbers)]

    def finish(self) -> list[Step]:
        """The steps with the gradients of all; a parameter takes one if any worker has its gradient."""
        found = []
        for places, (way, begun) in zip(self.buckets, self.sums):
            sums, ends = way.finish(begun), np.cumsum([x.size for _, x in places]).tolist()
            for (leaf, x), end in zip(places, ends):
                with on_card_of(x):
                    found.append((leaf, x, np.reshape(sums[end - x.size : end], x.shape).astype(x.dtype, copy=False)))
        return [step for step in found if self.counts[id(step[0])] and not step[0].frozen]


def wide(x: Any) -> np.dtype:
    """The type that's added up: MPI knows no half precision, and many small numbers would lose digits in it."""
    return x.dtype if x.dtype.kind in "biuc" else np.promote_types(x.dtype, np.float32)


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
        first = group.same(_nccl().get_unique_id() if group.rank == 0 else None)
        with device:
            self.communicator = _nccl().NcclCommunicator(group.size, first, group.rank)

    def start(self, x: Any, op: str = "sum") -> Any:
        import cupy

        kind, how = [getattr(_nccl(), f"NCCL_{name.upper()}") for name in (x.dtype.name, op)]
        with self.device:  # on its stream, so after what computes `x`, and before what needs the sum
            stream = cupy.cuda.get_current_stream().ptr
            self.communicator.allReduce(x.data.ptr, x.data.ptr, x.size, kind, how, stream)
        return x

    def finish(self, begun: Any) -> Any:
        return begun
