"""What a loop of your own needs: arrays, numbers and models of all workers, a part of the data, and mean gradients."""

import numbers
from typing import Any

import numpy as np

from ..arguments import check_whole, explained
from ..arrays import device_of, on_card_of
from ..checkpoint.states import generator_of
from ..data.observations import MappedObs, numobs, part, summary
from ..devices.base import CPU, Device
from ..optimizers import Leaf, OptimiserChain, Rule
from ..tree.contract import children
from ..tree.ties import is_array
from ..tree.walks import KeyPath, nodes, put
from .buckets import Buckets, add_up
from .world import Group, everyone


@explained('an array or a number, and "sum", "mean", "min" or "max"')
def allreduce(x: Any, op: str = "sum") -> Any:
    """The sum, mean, minimum or maximum over all workers' `x` (Flux: ``allreduce!``; PyTorch: ``all_reduce``).

    `x` is a number, or an array of the same shape and dtype on every worker. An array is changed in place, and given
    back. Every worker has to make this call. Raises `TypeError` for a mean of whole numbers in place, and `ValueError`
    if the workers' arrays differ in shape or dtype.

    >>> fl.distributed.allreduce(3.0)
    3.0
    """
    group = everyone()
    if op not in ("sum", "mean", "min", "max"):
        raise ValueError(f"op={op!r} is not among them")
    if not is_array(x):
        _check_number(x)
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

    `x` is a number, or an array of the same shape and dtype on every worker, which is changed in place and given back.
    Every worker has to make this call.

    >>> fl.distributed.broadcast(3)
    3
    """
    if not is_array(x):
        _check_number(x)
    return synchronize(x, root)


@explained("a model, an optimizer's state or an array, and a worker")
def synchronize(x: Any, root: int = 0) -> Any:
    """Give all workers what worker `root` has in `x`, a model or an optimizer's state (Flux: ``synchronize!``).

    Arrays are changed in place, so ties stay; numbers, generators and an optimizer's settings are replaced. Returns
    `x`. ``train(…, distributed=True)`` does this by itself, and PyTorch's ``DistributedDataParallel`` too.

    Raises `ValueError` on every worker if their models differ in structure, naming the place.

    >>> model = {"w": np.ones(2)}
    >>> fl.distributed.synchronize(model) is model
    True
    """
    group = everyone()
    check_whole("root", root)
    if root >= group.size:
        raise ValueError(f"root is a worker, 0 to {group.size - 1}, got {root}")
    if isinstance(x, (numbers.Number, np.generic)):
        return group.same(x, root)
    return take_from(group, x, root)


def take_from(group: Group, x: Any, root: int = 0) -> Any:
    """`synchronize`, in this group."""
    if group.size == 1:
        return x
    found = list(nodes(x))
    arrays = {str(path) or "x": node for path, node in found if is_array(node)}
    group.check_alike({name: _form(array) for name, array in arrays.items()}, root)
    for array in arrays.values():
        _send(group, array, root)
    values = group.same([_small(node) for _, node in found], root)
    for (path, node), value in zip(found, values):
        if value is not None:
            _set_small(x, path, node, value)
    return x


def _small(node: Any) -> Any:
    """What's sent of a node that's no array: a number, a generator's state, an optimizer's settings."""
    if isinstance(node, Leaf):
        return node.rule, node.frozen
    if isinstance(node, (numbers.Number, np.generic)):
        return node
    generator = None if isinstance(node, Device) else generator_of(node)
    return None if generator is None else getattr(generator, "bit_generator", generator).state


def _set_small(x: Any, path: KeyPath, node: Any, value: Any) -> None:
    if isinstance(node, Leaf):
        node.rule, node.frozen = value
    elif generator_of(node) is not None:
        generator = generator_of(node)
        getattr(generator, "bit_generator", generator).state = value
    elif path and value != node:
        owner = KeyPath(path[:-1]).get(x)
        put(children(owner)[0] if isinstance(owner, Leaf) else owner, path[-1], value)


def _send(group: Group, x: Any, root: int) -> None:
    here = np.ascontiguousarray(CPU.receive(x))
    group.send(here.reshape(-1).view(np.uint8), root)  # any dtype, also those that MPI doesn't know
    if group.rank != root:
        with on_card_of(x):
            x[...] = device_of(x).receive(here.reshape(x.shape))


def _form(x: Any) -> str:
    return f"an array of {x.dtype}, shape {x.shape}"


def _check_number(x: Any) -> None:
    if not isinstance(x, (numbers.Number, np.generic)):
        raise TypeError(f"a {type(x).__name__} is neither; synchronize(model) is for whole models")


class DistributedDataContainer(MappedObs):
    """The observations of `data` that are this worker's (Flux: ``DistributedDataContainer``).

    It's for a loop of your own, inside a `DataLoader`; `train` with ``distributed=True`` takes the whole data. Each
    of n workers has ``ceil(numobs(data) / n)`` neighbouring observations, the last perhaps fewer. Nothing is copied.
    Raises `ValueError` if a worker has none.

    >>> fl.getobs(fl.distributed.DistributedDataContainer(np.arange(4)), slice(2))
    array([0, 1])
    """

    @explained("data")
    def __init__(self, data: Any) -> None:
        count, group = numobs(data), everyone()
        size = -(-count // group.size)
        start, stop = group.rank * size, min((group.rank + 1) * size, count)
        if start >= stop:
            raise ValueError(f"{count} observations leave none for worker {group.rank} of {group.size}")
        super().__init__(lambda x: x, part(data, slice(start, stop)))

    def __repr__(self) -> str:
        group = everyone()
        return f"DistributedDataContainer({summary(self.data)})      # worker {group.rank} of {group.size}"


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
            self._buckets.weight = 1 / group.size
        counts = group.total(*self._buckets.start(steps))
        return list(self._buckets.finish(steps, counts))

    def __repr__(self) -> str:
        return f"DistributedOptimizer({self.rules[0]})"
