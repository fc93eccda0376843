"""What a captured step is called with, and what it gives back: arrays, and a form that has to stay the same.

Arrays and NumPy's numbers are inputs of a replay. All else is the signature: another number of Python's, another text,
another structure, shape, type or memory order is another call, which is captured by itself.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tree.contract import is_leaf
from ..tree.flat import flatten
from .program import CaptureError, Program, users_line
from .recorded import CapturedArray, CapturedNumber, wrap

_TEXTS_AND_NUMBERS = (bool, int, float, complex, str, bytes, type(None))


def signature(x: Any, arrays: list, others: list) -> Any:
    """What has to be as it was. Arrays go into `arrays`, in order, and objects such as a model into `others`."""
    kind = type(x)
    if kind is np.ndarray:
        arrays.append(x)
        return x.shape, x.dtype, x.strides
    if kind is tuple or kind is list:
        return kind, *[signature(part, arrays, others) for part in x]
    if kind is dict:
        return kind, *x, *[signature(part, arrays, others) for part in x.values()]
    if isinstance(x, np.generic):
        arrays.append(x)
        return kind
    if isinstance(x, _TEXTS_AND_NUMBERS):
        return kind, x
    others.append(x)
    return kind, id(x)


def stand_ins(x: Any, program: Program, given: list) -> Any:
    """The argument `x` as the step gets it: a `CapturedArray` over a copy of each array."""
    kind = type(x)
    if kind is np.ndarray or isinstance(x, np.generic):
        given.append(x)
        copy = np.array(x) if kind is not np.ndarray else _copy_in_order(x)
        program.inputs.append(program.new(copy))
        return wrap(program, copy, isinstance(x, np.generic))
    if kind is tuple or kind is list:
        return kind([stand_ins(part, program, given) for part in x])
    if kind is dict:
        return {key: stand_ins(part, program, given) for key, part in x.items()}
    return x


def _copy_in_order(x: np.ndarray) -> np.ndarray:
    """A copy with the strides of `x`, so that NumPy adds up in the same order."""
    copy = np.empty_like(x)
    if copy.strides != x.strides and x.size:
        low, high = np.lib.array_utils.byte_bounds(x)
        memory = np.empty(high - low, np.uint8)
        offset = x.__array_interface__["data"][0] - low
        copy = np.ndarray(x.shape, x.dtype, memory, offset, x.strides)
    copy[...] = x
    return copy


Builder = Callable[[list], Any]


def builder(result: Any, outputs: list[CapturedArray]) -> Builder:
    """What gives the arrays of a result its form again; the arrays that it takes are added to `outputs`."""
    if hasattr(type(result), "__primitive__"):
        result = result.data
    if isinstance(result, CapturedArray):
        place = len(outputs)
        outputs.append(result)
        return lambda values: values[place]
    if type(result) is CapturedNumber:
        raise CaptureError(f"{users_line()}: a captured step can't return a number that an optimizer computes")
    if type(result) in (tuple, list):
        kind = type(result)
        parts = [builder(part, outputs) for part in result]
        return lambda values: kind([part(values) for part in parts])
    if type(result) is dict:
        named = {name: builder(part, outputs) for name, part in result.items()}
        return lambda values: {name: part(values) for name, part in named.items()}
    if not is_leaf(result):
        return _builder_of_an_object(result, outputs)
    return lambda values: result


def _builder_of_an_object(x: Any, outputs: list[CapturedArray]) -> Builder:
    """An object that the step makes, such as a gradient, has new arrays each time; one that it found is given as it is."""
    flat = flatten(x)
    if not any(isinstance(leaf, CapturedArray) for leaf in flat.leaves):
        return lambda values: x
    parts = [builder(leaf, outputs) for leaf in flat.leaves]

    def build(values: list) -> Any:
        return flat.results([part(values) for part in parts])[flat.root]

    return build
