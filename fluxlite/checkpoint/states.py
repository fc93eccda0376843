"""What to keep of a model, an optimizer's memory or a generator: nested plain containers."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..autodiff.tracked import TrackedArray
from ..data import DataLoader
from ..data.moved import MovedLoader
from ..devices.base import Device, gpu_generators
from ..optimizers import Leaf
from ..tensors import refuse_tensor
from ..tree.contract import children, is_leaf
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath, nodes, steps
from ..unreached import arrays_inside, why_shut


def state(x: Any) -> Any:
    """Everything in `x`, as dicts, lists and tuples. Its arrays are the same objects (Flux: ``state``).

    Registered objects become dicts of all their fields, even those that no optimizer changes. Numbers, text and None
    stay; a function becomes ``()``. A generator, or a device or a loader that has one, becomes its state. An
    optimizer's `Leaf` becomes a dict with its rule and its memory. `loadmodel` puts all this back into a model.

    Raises `TypeError` for arrays in an unregistered object, and for tracked arrays.

    >>> state(fl.Dense.of(np.ones((1, 2)), None, np.tanh))
    {'weight': array([[1., 1.]]), 'bias': None, 'activation': ()}
    """
    return walk_of_state(x, KeyPath(), kept, lambda parts: parts)


def walk_of_state(x: Any, path: KeyPath, leaf: Callable, container: Callable) -> Any:
    """The walk behind `state`: ``leaf(path, x)`` for leaves, ``container(parts)`` for containers.

    An array at two paths is visited at both.
    """
    nodes(x)  # raises if `x` contains itself
    return _walked(path, x, leaf, container)


def _walked(path: KeyPath, x: Any, leaf: Callable, container: Callable) -> Any:
    if is_leaf(x) or isinstance(x, Leaf) or generator_of(x) is not None:
        return leaf(path, x)
    parts = children(x)[0]
    walked = [_walked(path + (step,), part, leaf, container) for step, part in steps(x, parts)]
    if isinstance(parts, Mapping):
        return container(dict(zip(parts, walked)))
    return container(walked if isinstance(parts, list) else tuple(walked))


def kept(path: KeyPath, x: Any) -> Any:
    """What to keep of a leaf, or of something with a state of its own."""
    return _kept(x, path)


@functools.singledispatch
def _kept(x: Any, path: KeyPath) -> Any:
    generator = generator_of(x)
    if generator is not None:
        return generator.state if _counts(generator) else generator.bit_generator.state
    if is_array(x):
        return x
    refuse_tensor(f"a state{f', at {path},' if path else ''}", x)
    for place, _ in arrays_inside(x, path):
        raise TypeError(f"there is an array in {place or f'this {type(x).__name__}'}: {why_shut(x)}")
    return ()


def _itself(x: Any, path: KeyPath) -> Any:
    return x


for _kind in (bool, int, float, complex, str, bytes, type(None), np.generic):
    _kept.register(_kind, _itself)


@_kept.register
def _(x: Leaf, path: KeyPath) -> Any:
    memory = walk_of_state(x.memory, path + (Attribute("memory"),), kept, lambda parts: parts)
    return {"rule": type(x.rule).__name__, "settings": repr(x.rule), "memory": memory}


@_kept.register
def _(x: TrackedArray, path: KeyPath) -> Any:
    x.check_open(str(path))
    name = path or "x"
    raise TypeError(f"{path or 'this array'} is tracked for a gradient; its value is in {name}.data")


# ---------------------------------------------------------------------------------------------
# Random number generators
# ---------------------------------------------------------------------------------------------


@functools.singledispatch
def generator_of(x: Any) -> Any:
    """The random number generator that is `x`'s state, or None. One method for each type that has one."""
    return x if _counts(x) else None


def _counts(x: Any) -> bool:
    """Whether it's a GPU's generator: its state is its seed, and how often it was asked."""
    return isinstance(x, tuple(gpu_generators))


@generator_of.register(np.random.Generator)
def _(x: Any) -> Any:
    return x


@generator_of.register(Device)
@generator_of.register(DataLoader)
def _(x: Any) -> Any:
    return x.rng


@generator_of.register
def _(x: MovedLoader) -> Any:
    return generator_of(x.loader)


def resuming(path: KeyPath, x: Any, state: Any) -> Callable[[], None]:
    """A function that makes `x`'s generator continue from `state`. Raises `ValueError` now if that can't work."""
    generator = generator_of(x)
    counted = _counts(generator)
    owner = generator if counted else generator.bit_generator
    trial = copy.copy(owner) if counted else type(owner)()
    try:
        if not counted:
            _check_like(state, trial.state)
        trial.state = state
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        kind = "a GPU's generator" if counted else f"a generator of kind {type(owner).__name__}"
        why = f": {error}" if isinstance(error, _Impossible) else ""
        raise ValueError(f"{path or 'this'} is {kind}, the source has {_named(state)}{why}") from None
    return functools.partial(setattr, owner, "state", state)


class _Impossible(ValueError):
    """What no state of a generator of this kind has."""


# The largest number under these names, in the states of NumPy's generators: places in a buffer. NumPy believes them,
# and would read memory that isn't the generator's.
_LARGEST = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "uinteger": 2**32 - 1}


def _check_like(state: Any, example: Any, name: str = "") -> None:
    """Raises `_Impossible` unless `state` has the form of `example`, and numbers that can be."""
    if type(state) is not type(example) or isinstance(example, dict) and state.keys() != example.keys():
        raise KeyError(name)
    if isinstance(example, dict):
        for key in example:
            _check_like(state[key], example[key], key)
    elif isinstance(example, np.ndarray):
        if (state.shape, state.dtype) != (example.shape, example.dtype):
            form = f"{example.dtype} of shape {example.shape}"
            raise _Impossible(f"its {name} is {state.dtype} of shape {state.shape}, it should be {form}")
    elif isinstance(example, int) and not 0 <= state <= _LARGEST.get(name, 2**128 - 1):
        raise _Impossible(f"its {name} is {state}, expected 0 to {_LARGEST.get(name, '2**128 - 1')}")
    elif isinstance(example, str) and state != example:
        raise KeyError(name)


def _named(state: Any) -> str:
    if not isinstance(state, dict):
        return f"a {type(state).__name__}"
    return "the state of a GPU's" if "draws" in state else f"one of kind {state.get('bit_generator', 'unknown')}"
