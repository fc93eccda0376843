"""Sums over all workers: of an array, of a model's gradients, and how a model is made the same everywhere."""

import importlib
import platform
from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np

from ..annotations import Array, LibraryArray, T, Tree
from ..arrays import device_of, on_card_of
from ..data.observations import MappedObs, numobs, part
from ..devices.base import CPU
from ..devices.selection import cpu
from ..messages import notice
from ..optim.rules import OptimiserChain
from ..optim.update import Leaf, OptimiserRule, Step, take_step, takes_float16
from ..saving.checkpoint import Loading, state
from ..tree.flat import KeyPath
from ..tree.ties import is_array
from ..tree.walks import nodes, trainables
from ..words import explained
from .world import Group, everyone


@explained('an array or a number, and "sum", "mean", "min" or "max"')
def allreduce(x: Any, op: str = "sum") -> Any:
    """The sum, mean, minimum or maximum over all workers' `x` (Flux: ``allreduce!``; PyTorch: ``all_reduce``).

    An array, of the same shape and dtype on every worker, is changed in place. Every worker has to make this call.
    """
    group = everyone()
    if op not in ("sum", "mean", "min", "max"):
        raise ValueError(f"op={op!r} isn't among them")
    if not is_array(x) and op == "mean":
        return allreduce(np.array(x * 1.0), op).item()
    if not is_array(x):
        return allreduce(np.array(x + 0), op).item()
    if op == "mean" and x.dtype.kind not in "fc":
        raise TypeError(f"the mean isn't whole, and x is an array of {x.dtype}: x.astype(float)")
    group.check_alike({"x": _form(x)})
    with on_card_of(x):
        numbers = x
        if not x.flags.c_contiguous or x.dtype != sum_dtype(x):
            numbers = np.ravel(x).astype(sum_dtype(x))
        finish = begin_sum(group, numbers, op.replace("mean", "sum"))
        result = finish()
        if op == "mean":
            result /= group.size
        if result is not x:
            x[...] = np.reshape(result, x.shape)
    return x


@explained("an array or a number, and a worker")
def broadcast(x: T, root: int = 0) -> T:
    """What worker `root` has as `x`, for all; arrays change in place (Flux: ``bcast!``; PyTorch: ``broadcast``)."""
    if isinstance(x, (Number, np.generic)):
        return everyone().same(x, root)
    return synchronize(x, root)


@explained("a model, an optimizer's state or an array, and a worker")
def synchronize(x: T, root: int = 0) -> T:
    """Give all workers what worker `root` has in `x`, a model or an optimizer's state (Flux: ``synchronize!``).

    Arrays, generators and an optimizer's memory are changed in place, so ties stay. ``train(…, distributed=True)`` does
    this by itself. Raises `ValueError` on every worker if their models or rules differ, naming the place.
    """
    return take_from(everyone(), x, root)


def take_from(group: Group, x: T, root: int = 0) -> T:
    forms = {}
    for path, node in nodes(x):
        if isinstance(node, Leaf) or is_array(node):
            forms[str(path) or "x"] = _form(node)
    group.check_alike(forms)
    values = group.same(cpu(state(x)), root)
    if group.rank != root:
        loading = Loading(own=True)
        loading.add(KeyPath(), x, values)
        loading.finish()
    return x


def _form(x: Leaf | LibraryArray) -> str:
    if isinstance(x, Leaf):
        return f"{x.rule}, frozen={x.frozen}"
    return f"an array of {x.dtype}, shape {x.shape}"


class DistributedDataContainer(MappedObs):
    """The observations of `data` that are this worker's: one n-th, in one piece (Flux: ``DistributedDataContainer``).

    It's for a loop of your own, inside a `DataLoader`. The last worker may have fewer.
    """

    @explained("data")
    def __init__(self, data: Tree) -> None:
        count = numobs(data)
        group = everyone()
        size = -(-count // group.size)
        start = group.rank * size
        if start >= count:
            raise ValueError(f"{count} observations leave none for worker {group.rank} of {group.size}")
        super().__init__(lambda x: x, part(data, slice(start, min(start + size, count))))


class DistributedOptimizer(OptimiserChain):
    """`rule`, with the gradients of all workers averaged before each step (Flux: ``DistributedOptimizer``).

    ``state = setup(DistributedOptimizer(Adam()), synchronize(model))``, then `update` as usual, which every worker has
    to call. All workers count equally: for the mean over all observations, give each the same number of them.
    """

    @explained("a rule such as Adam()")
    def __init__(self, rule: OptimiserRule) -> None:
        super().__init__(rule)

    @takes_float16
    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        memory["0"] = take_step(self.rules[0], memory["0"], x, g)

    def gathered(self, state: Tree, model: Tree, steps: list[Step]) -> list[Step]:
        """The same steps with the means of all workers' gradients."""
        group = everyone()
        return sum_over_workers(group, in_buckets(state, model), steps, 1 / group.size)[0]

    def __repr__(self) -> str:
        return f"DistributedOptimizer({self.rules[0]})"


SIZE = 25 * 2**20  # bytes


def in_buckets(state: Tree, model: Tree) -> list[list[tuple[Leaf, Array]]]:
    """The parameters, each with its leaf of the state: each list is added up together."""
    buckets: dict[tuple, list[tuple[Leaf, Array]]] = {}
    size = 0
    for path, x in trainables(model):
        buckets.setdefault((size // SIZE, sum_dtype(x), device_of(x)), []).append((path.get(state), x))
        size += x.size * sum_dtype(x).itemsize
    return list(buckets.values())


def sum_over_workers(
    group: Group, buckets: list, steps: list[Step], weight: float, *numbers: float
) -> tuple[list, list]:
    """The steps with the sums of ``weight * gradient`` over all workers; and those of a few numbers.

    A parameter takes a step if any worker has its gradient.
    """
    own = {id(leaf): g for leaf, _, g in steps}
    begun = []
    for bucket in buckets:
        _, first = bucket[0]
        with on_card_of(first):
            content = np.concatenate([_flat_gradient(own, leaf, x) for leaf, x in bucket])
            content = content.astype(sum_dtype(first), copy=False)
            content *= weight
            begun.append(begin_sum(group, content))
    has_gradient = [id(leaf) in own for bucket in buckets for leaf, _ in bucket]
    totals = group.total(*numbers, *has_gradient)
    sums = totals[: len(numbers)]
    counts = totals[len(numbers) :]
    found: list[Step] = []
    for bucket, finish in zip(buckets, begun):
        found += _cut(bucket, finish())
    return [step for step, count in zip(found, counts) if count and not step[0].frozen], sums


def _flat_gradient(own: dict[int, Array], leaf: Leaf, x: Array) -> Array:
    if id(leaf) in own:
        return np.ravel(own[id(leaf)])
    return np.ravel(np.zeros_like(x))


def _cut(bucket: list, content: Any) -> list[Step]:
    """The parameters of a bucket, each with its part of the sums."""
    found: list[Step] = []
    start = 0
    for leaf, x in bucket:
        end = start + x.size
        with on_card_of(x):
            g = np.reshape(content[start:end], x.shape)
            found.append((leaf, x, g.astype(x.dtype, copy=False)))
        start = end
    return found


def sum_dtype(x: Array) -> np.dtype:
    """The type that's added up: MPI knows no half precision, and many small numbers would lose digits in it."""
    if x.dtype.kind in "biuc":
        return x.dtype
    return np.promote_types(x.dtype, np.float32)


def begin_sum(group: Group, x: Any, op: str = "sum") -> Callable[[], Any]:
    """Begin to add up all workers' `x`, which is contiguous. Returns a function that waits for the sums.

    NCCL adds up what's on NVIDIA cards, MPI what's in the host's memory. What's on other GPUs is copied there and back.
    """
    device = device_of(x)
    if device not in group.links:
        group.links[device] = _link(group, device)
    link = group.links[device]
    if link is None:
        here = CPU.receive(x)
        request = group.start(here, op)

        def finish() -> Any:
            group.wait(request)
            return device.receive(here)

        return finish
    import cupy
    from cupy.cuda import nccl

    kind = getattr(nccl, f"NCCL_{x.dtype.name.upper()}")
    how = getattr(nccl, f"NCCL_{op.upper()}")
    with device:  # on its stream, so after what computes `x`, and before what needs the sum
        link.allReduce(x.data.ptr, x.data.ptr, x.size, kind, how, cupy.cuda.get_current_stream().ptr)
    return lambda: x


def _link(group: Group, device: Any) -> Any:
    """NCCL's fastest link between all workers' cards; None unless each has an NVIDIA card of its own."""
    if device == CPU or group.size == 1:
        return None
    nccl: Any = None
    if device.backend == "CUDA":
        nccl = importlib.import_module("cupy.cuda.nccl")
    cards = group.all((platform.node(), device.index, nccl is not None and nccl.available))
    if len(set(cards)) < group.size or not all(has_nccl for _, _, has_nccl in cards):
        if group.rank == 0:
            notice("by the host", f"gradients on {device} go to the other workers through the host's memory.")
        return None
    mine = None
    if group.rank == 0:
        mine = nccl.get_unique_id()
    first = group.same(mine)
    with device:
        return nccl.NcclCommunicator(group.size, first, group.rank)
