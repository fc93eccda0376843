"""`allreduce`, `broadcast`, `synchronize`: one array or number of all workers, or one worker's for all."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..arguments import check_whole, in_words
from ..arrays import device_of, on_card_of
from ..autodiff.tracked import TrackedArray
from ..checkpoint.states import generator_of
from ..devices.base import CPU, Device
from ..optimizers import Leaf
from ..tree.contract import children
from ..tree.ties import is_array
from ..tree.walks import KeyPath, nodes, put
from .group import Group
from .transports import transport
from .world import everyone

_OPS = ("sum", "mean", "min", "max")


def allreduce(x: Any, op: str = "sum") -> Any:
    """The sum, mean, minimum or maximum over all workers' `x` (Flux: ``allreduce!``; PyTorch: ``all_reduce``).

    `x` is a number, or an array of the same shape and dtype on every worker. An array is changed in place, and given
    back. Every worker has to make this call.

    Raises `TypeError` for what's neither, and for a mean of whole numbers in place, `ValueError` for another `op`, for
    an array that's read-only, and if the workers' arrays differ in shape or dtype.

    >>> fl.distributed.allreduce(3.0)
    3.0
    """
    if op not in _OPS:
        raise ValueError(f'allreduce(x, op): op is "sum", "mean", "min" or "max", got {in_words(op)}')
    group = everyone()
    if not is_array(x):
        return _reduced_number(group, x, op)
    _check_array("allreduce", x)
    if op == "mean" and x.dtype.kind not in "fc":
        raise TypeError(f"allreduce(x, op): the mean isn't whole, and x is an array of {x.dtype}: x.astype(float)")
    group.check_alike({"x": _form(x)})
    if group.size > 1 and x.size:
        _reduce(group, x, op)
    return x


def broadcast(x: Any, root: int = 0) -> Any:
    """What worker `root` has as `x`, for all (Flux: ``bcast!``; PyTorch: ``broadcast``).

    `x` is a number, or an array of the same shape and dtype on every worker, which is changed in place and given back.
    Every worker has to make this call. Raises as `allreduce` does, and `ValueError` for a `root` that's no worker.

    >>> fl.distributed.broadcast(3)
    3
    """
    group = everyone()
    root = _checked(root, group)
    if not is_array(x):
        _check_number("broadcast", x)
        return group.same(x, root)
    _check_array("broadcast", x)
    group.check_alike({"x": _form(x)})
    if group.size > 1 and x.size:
        _send(group, x, root)
    return x


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
    root = _checked(root, group)
    if not is_array(x) and isinstance(x, (bool, int, float, complex, np.generic)):
        return group.same(x, root)
    return take_from(group, x, root)


def take_from(group: Group, x: Any, root: int = 0) -> Any:
    """`synchronize`, in this group."""
    if group.size == 1:
        return x
    found = list(nodes(x))
    arrays = {str(path): node for path, node in found if is_array(node)}
    for name, array in arrays.items():
        _check_array("synchronize", array, name)
    group.check_alike({name: _form(array) for name, array in arrays.items()}, root)
    for array in arrays.values():
        if array.size:
            _send(group, array, root)
    values = group.same([value for path, node in found if (value := _small(node)) is not None], root)
    for path, node in found:
        if _small(node) is not None:
            _set_small(x, path, node, values.pop(0))
    return x


def _small(node: Any) -> Any:
    """What's sent of a node that's no array: a number, a generator's state, an optimizer's settings."""
    if isinstance(node, Leaf):
        return node.rule, node.frozen
    if isinstance(node, (bool, int, float, complex, np.generic)):
        return (node,)
    generator = None if isinstance(node, Device) else generator_of(node)
    return None if generator is None else (getattr(generator, "bit_generator", generator).state,)


def _set_small(x: Any, path: KeyPath, node: Any, value: tuple) -> None:
    if isinstance(node, Leaf):
        node.rule, node.frozen = value
    elif generator_of(node) is not None:
        generator = generator_of(node)
        getattr(generator, "bit_generator", generator).state = value[0]
    elif path and value[0] != node:
        owner = KeyPath(path[:-1]).get(x)
        if isinstance(owner, tuple):
            raise ValueError(f"{path} is {node!r} here and {value[0]!r} there, in a tuple, which can't be changed")
        put(owner if not isinstance(owner, Leaf) else children(owner)[0], path[-1], value[0])


# -- one array ----------------------------------------------------------------------------------------------------


def _reduce(group: Group, x: Any, op: str) -> None:
    wide = np.promote_types(x.dtype, np.float32) if x.dtype.kind not in "biuc" else x.dtype
    with on_card_of(x):
        y = x if x.flags.c_contiguous and x.dtype == wide else np.ascontiguousarray(x.astype(wide))
        way = transport(group, y)
        request, sums = way.start(y, "sum" if op == "mean" else op)
        group.wait(request)
        sums = way.finished(sums)
        if op == "mean":
            sums /= group.size
        if sums is not x:
            x[...] = sums


def _send(group: Group, x: Any, root: int) -> None:
    here = CPU.receive(x)
    bare = np.ascontiguousarray(here).reshape(-1).view(np.uint8)  # any dtype, also those that MPI doesn't know
    if not np.shares_memory(bare, here):
        bare = bare.copy()
    group.wait(group.send(bare, root))
    if group.rank != root and not (x is here and np.shares_memory(bare, x)):
        values = bare.view(x.dtype).reshape(x.shape)
        with on_card_of(x):
            x[...] = device_of(x).receive(values)


def _reduced_number(group: Group, x: Any, op: str) -> Any:
    _check_number("allreduce", x)
    if isinstance(x, complex) and op in ("min", "max"):
        raise TypeError(f"allreduce(x, op): complex numbers have no {op}imum")
    numbers = group.all(x)
    if op in ("min", "max"):
        return min(numbers) if op == "min" else max(numbers)
    total = sum(numbers[1:], numbers[0])
    return total / group.size if op == "mean" else total


def _form(x: Any) -> str:
    return f"an array of {x.dtype}, shape {x.shape}"


def _check_number(name: str, x: Any) -> None:
    if not isinstance(x, (bool, int, float, complex, np.generic)):
        hint = "; synchronize(model) is for whole models" if children(x)[0] else ""
        raise TypeError(f"{name}(x) takes an array or a number, got {in_words(x)}{hint}")


def _check_array(name: str, x: Any, path: str = "") -> None:
    what = path or "x"
    if type(x) is TrackedArray or not getattr(getattr(x, "flags", None), "writeable", True):
        raise ValueError(f"{name} changes arrays in place, and {what} is read-only: give it a copy")
    if x.dtype.kind not in "biufc" and x.dtype.name != "bfloat16":
        raise TypeError(f"{name} takes arrays of numbers, {what} is one of {x.dtype}")


def _checked(root: Any, group: Group) -> int:
    check_whole("root", root)
    if root >= group.size:
        raise ValueError(f"root is a worker, 0 to {group.size - 1}, got {root}")
    return operator.index(root)
