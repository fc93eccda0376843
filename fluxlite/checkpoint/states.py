"""What to keep of a model, an optimizer's memory or a generator: nested plain containers."""

import copy
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.loader import DataLoader, MovedLoader
from ..devices.base import Device, gpu_generators
from ..messages import explained
from ..optimizers import Leaf
from ..tensors import refuse_tensor
from ..tree.contract import children, is_leaf
from ..tree.flat import Attribute, KeyPath, flatten, steps
from ..tree.ties import is_array, is_tracked
from ..tree.walks import type_of_parts
from ..unreached import arrays_inside, say_what_is_not_saved, why_shut

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


@explained()
def state(x: Any) -> Any:
    """Everything in `x`, as dicts, lists and tuples. Its arrays are the same objects (Flux: ``state``).

    Registered objects become dicts of all their fields, even those that no optimizer changes. Numbers, text and None
    stay; a function becomes ``()``. A generator, or a device or a loader that has one, becomes its state. An
    optimizer's `Leaf` becomes a dict with its rule and its memory. `loadmodel` puts all this back into a model.

    Raises `TypeError` for arrays in an unregistered object, and for tracked arrays.

    >>> state(fl.Dense.of(np.ones((1, 2)), None, np.tanh))
    {'weight': array([[1., 1.]]), 'bias': None, 'activation': ()}
    """
    return state_at(KeyPath(), x)


def state_at(path: KeyPath, x: Any) -> Any:
    """The `state` of `x`, which stands at `path`. Names of fields are of the type `Attribute`, as in a path."""
    flat = flatten(x, _is_end, ties=False)
    states = [kept(path + place, leaf) for place, leaf in zip(flat.paths(), flat.leaves)]
    return flat.beside(states, _as_container)


def _is_end(path: KeyPath, x: Any) -> bool:
    return is_leaf(x) or isinstance(x, Leaf) or generator_of(x) is not None


def _as_container(x: Any, kind: Any, names: Any, parts: list, make: Any) -> Any:
    if names is None:
        return type_of_parts(x)(parts)
    return {step: part for (step, _), part in zip(steps(x, children(x)[0]), parts)}


def kept(path: KeyPath, x: Any) -> Any:
    """What to keep of a leaf, or of something with a state of its own."""
    if isinstance(x, Leaf):
        memory = state_at(path + (Attribute("memory"),), x.memory)
        return {"rule": type(x.rule).__name__, "settings": repr(x.rule), "memory": memory}
    if (generator := generator_of(x)) is not None:
        return _owner(generator).state
    if is_tracked(x):
        x.check_open(str(path))
        raise TypeError(f"{path or 'this array'} is tracked for a gradient; its value is in {path or 'x'}.data")
    if is_array(x) or isinstance(x, PLAIN):
        return x
    refuse_tensor(f"a state{f', at {path},' if path else ''}", x)
    if isinstance(x, types.FunctionType):
        say_what_is_not_saved(x, path)
    for place, _ in arrays_inside(x, path):
        raise TypeError(f"there is an array in {place or f'this {type(x).__name__}'}: {why_shut(x)}")
    return ()


# -- random number generators --------------------------------------------------------------------------------------


def generator_of(x: Any) -> Any:
    """The random number generator that is `x`'s state, or None."""
    if isinstance(x, MovedLoader):
        x = x.loader
    if isinstance(x, (Device, DataLoader)):
        x = x.rng
    return x if isinstance(x, (np.random.Generator, *gpu_generators)) else None


def _owner(generator: Any) -> Any:
    """What has the attribute `state`. A GPU's generator has it itself: its seed, and how often it was asked."""
    return getattr(generator, "bit_generator", generator)


def resuming(path: KeyPath, x: Any, state: Any) -> Callable[[], None]:
    """A function that makes `x`'s generator continue from `state`. Raises `ValueError` now if that can't work."""
    owner = _owner(generator_of(x))
    try:
        if isinstance(owner, np.random.BitGenerator) and not _is_like(state, owner.state):
            raise ValueError("this isn't one of its states")
        copy.copy(owner).state = state
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        kind = type(owner).__name__
        raise ValueError(f"{path or 'this'} is a generator of kind {kind}, the source has another: {error}") from error
    return functools.partial(setattr, owner, "state", state)


# The largest number under these names in the states of NumPy's generators: places in a buffer. NumPy believes them, and
# would read memory that isn't the generator's.
_LARGEST = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "uinteger": 2**32 - 1}


def _is_like(state: Any, example: Any, name: str = "") -> bool:
    """Whether `state` has the form of `example`, and numbers that can be."""
    if type(state) is not type(example):
        return False
    if isinstance(example, dict):
        return state.keys() == example.keys() and all(_is_like(state[key], example[key], key) for key in example)
    if isinstance(example, np.ndarray):
        return (state.shape, state.dtype) == (example.shape, example.dtype)
    return 0 <= state <= _LARGEST.get(name, 2**128 - 1) if isinstance(example, int) else state == example
