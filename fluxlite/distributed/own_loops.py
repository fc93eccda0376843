"""What a loop of your own needs: arrays, numbers and models of all workers, a part of the data, and mean gradients."""

from numbers import Number
from typing import Any

import numpy as np

from ..checkpoint.loading import Loading
from ..checkpoint.states import state
from ..data.observations import MappedObs, numobs, part
from ..devices.selection import cpu
from ..messages import explained
from ..optimizers import Leaf, OptimiserChain, Rule
from ..tree.ties import is_array
from ..tree.walks import KeyPath, nodes
from .buckets import Buckets, add_up
from .world import Group, everyone


@explained('an array or a number, and "sum", "mean", "min" or "max"')
def allreduce(x: Any, op: str = "sum") -> Any:
    """The sum, mean, minimum or maximum over all workers' `x` (Flux: ``allreduce!``; PyTorch: ``all_reduce``).

    An array, of the same shape and dtype on every worker, is changed in place. Every worker has to make this call.

    >>> fl.distributed.allreduce(3.0)
    3.0
    """
    group = everyone()
    if op not in ("sum", "mean", "min", "max"):
        raise ValueError(f"op={op!r} is not among them")
    if not is_array(x):
        number = np.array(x * 1.0 if op == "mean" else x + 0)
        add_up(group, number, op)
        return number.item()
    if op == "mean" and x.dtype.kind not in "fc":
        raise TypeError(f"the mean isn't whole, and x is an array of {x.dtype}: x.astype(float)")
    group.check_alike({"x": _form(x)})
    add_up(group, x, op)
    return x


@explained("an array or a number, and a worker")
def broadcast(x: Any, root: int = 0) -> Any:
    """What worker `root` has as `x`, for all (Flux: ``bcast!``; PyTorch: ``broadcast``).

    An array, of the same shape and dtype on every worker, is changed in place. Every worker has to make this call.

    >>> fl.distributed.broadcast(3)
    3
    """
    return everyone().same(x, root) if isinstance(x, (Number, np.generic)) else synchronize(x, root)


@explained("a model, an optimizer's state or an array, and a worker")
def synchronize(x: Any, root: int = 0) -> Any:
    """Give all workers what worker `root` has in `x`, a model or an optimizer's state (Flux: ``synchronize!``).

    Arrays, generators and an optimizer's memory are changed in place, so ties stay. PyTorch's
    ``DistributedDataParallel`` and ``train(…, distributed=True)`` do this by themselves. Raises `ValueError` on every
    worker if their models or rules differ, naming the place.

    >>> model = {"w": np.ones(2)}
    >>> fl.distributed.synchronize(model) is model
    True
    """
    return take_from(everyone(), x, root)


def take_from(group: Group, x: Any, root: int = 0) -> Any:
    """`synchronize`, in this group."""
    group.check_alike(
        {str(path) or "x": _form(node) for path, node in nodes(x) if isinstance(node, Leaf) or is_array(node)}
    )
    values = group.same(cpu(state(x)), root)
    if group.rank != root:
        loading = Loading(own=True)
        loading.add(KeyPath(), x, values)
        loading.finish()
    return x


def _form(x: Any) -> str:
    return f"{x.rule}, frozen={x.frozen}" if isinstance(x, Leaf) else f"an array of {x.dtype}, shape {x.shape}"


class DistributedDataContainer(MappedObs):
    """The observations of `data` that are this worker's (Flux: ``DistributedDataContainer``).

    It's for a loop of your own, inside a `DataLoader`; `train` with ``distributed=True`` takes the whole data. Each
    of n workers has ``ceil(numobs(data) / n)`` neighbouring observations, the last perhaps fewer.

    >>> fl.getobs(fl.distributed.DistributedDataContainer(np.arange(4)), slice(2))
    array([0, 1])
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
    ``train(…, distributed=True)`` weighs them by itself, and takes plain rules.

    >>> model = {"w": np.ones(1)}
    >>> state = fl.setup(fl.distributed.DistributedOptimizer(fl.Descent(0.5)), model)
    >>> fl.update(state, model, {"w": np.ones(1)})[1]
    {'w': array([0.5])}
    """

    @explained("a rule such as Adam()")
    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self._buckets: Buckets | None = None

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        self.rules[0].apply(memory["0"], x, g)

    def gathered(self, state: Any, model: Any, steps: list) -> list:
        """The same steps with the means of all workers' gradients."""
        group = everyone()
        if group.size == 1:
            return steps
        if self._buckets is None or self._buckets.state is not state:
            self._buckets = Buckets(group, state, model)
        self._buckets.start(steps)
        return list(self._buckets.finish())

    def __repr__(self) -> str:
        return f"DistributedOptimizer({self.rules[0]})"
