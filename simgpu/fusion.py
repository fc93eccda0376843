"""CuPy's `fuse`: several calls that work element by element as one launch."""

import copy
import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .memory import Pool, Stored
from .outside import Compiled
from .places import estimating, one_device
from .refusals import SCALARS
from .words import word_set

# What one launch may have besides ufuncs: other functions that work element by element, and reductions.
_OTHERS = word_set("""
    where clip copy copyto astype setitem angle around round fix imag sinc i0 nan_to_num isclose
    sum prod max min amax amin all any nansum nanprod
""")


ELEMENT_BY_ELEMENT: set[str] = set()  # ufuncs that aren't NumPy's: `cupyx.scipy.special` enters its own


def fuse(function: Any = None, kernel_name: str | None = None) -> Any:
    """One launch for all that a function does element by element, and for a reduction (`cupy.fuse`), as a decorator.

    The function takes numbers and arrays of one device. It gives an array, a tuple of them, or nothing if it writes
    into its arguments. Without arrays it's called as it is. `TypeError` for what can't be in one launch, such as a
    product of matrices, or a value that the host reads; then the arguments stay as they were. As CuPy compiles it once
    for each combination of argument types, a name from outside keeps what it meant then; a warning says so.

    >>> import simgpu as cp
    >>> @cp.fuse
    ... def squared_difference(x, y):
    ...     return (x - y) ** 2
    >>> with cp.receipt() as r:
    ...     z = squared_difference(cp.asarray([5.0, 7.0]), 4)
    >>> z, dict(r.launched)
    (array([1., 9.])  # Simulated:0, {'squared_difference': 1})
    """
    if not callable(function):
        return functools.partial(fuse, kernel_name=kernel_name or function)
    memo: dict[tuple, Compiled] = {}

    @functools.wraps(function)
    def fused(*args: Any) -> Any:
        arrays: dict[int, Any] = {}
        kinds: list[Any] = []  # of the arguments, as CuPy tells them apart
        for x in args:
            if isinstance(x, Stored):
                arrays[id(x)] = x
                kinds.append((x.host_values.dtype, x.host_values.ndim))
            else:
                kinds.append(type(x))
        device: Any = functools.reduce(one_device, arrays.values(), None)
        if device is None or isinstance(device.pool, _Scratch):  # without arrays, or inside another fused function
            return function(*args)
        name = kernel_name or function.__name__
        if wrong := [x for x in args if not isinstance(x, (Stored, *SCALARS, type(None)))]:
            raise TypeError(f"Invalid argument type for {name!r}: {type(wrong[0])}")
        known = memo.get(key := tuple(kinds))
        if known is not None:
            return _in_one_launch(known.current(), name, args, arrays, device.begin())
        known = Compiled(function, f"fuse, {name}", function.__name__)
        result = _in_one_launch(function, name, args, arrays, device.begin())
        memo[key] = known
        return result

    return fused


class _Scratch(Pool):
    """What's computed in between takes no memory: each thread keeps it to itself."""


def _in_one_launch(function: Callable, name: str, args: tuple, arrays: dict[int, Any], device: Any) -> Any:
    """The function runs on a card of its own, which shares the arguments' memory and launches nothing."""
    work = []

    def note(called: str, nbytes: float = 0, operations: float = 0.0, *rest: Any) -> None:
        if called not in _OTHERS | ELEMENT_BY_ELEMENT and (
            called == "matmul" or not isinstance(getattr(np, called, None), np.ufunc)
        ):
            raise TypeError(f"fuse, {name}: {called} can't be part of one launch, which computes element by element")
        work.append(operations)

    def refuse(*given: Any, **more: Any) -> None:
        raise TypeError(f"Cannot convert to Python scalar in fuse, {name}: the host knows nothing in between")

    card = copy.copy(device)
    card.cards, card.index, card.pool = (), f"{device.index}, in {name}", _Scratch(sys.maxsize, name)
    card.launch, card.memset, card.copy_on_card = note, lambda *given: None, lambda nbytes: None
    card.wait = card.synchronize = card.upload = refuse
    given = {key: card.new(x.host_values) for key, x in arrays.items()}
    if device.instead is None:
        before = [(x.host_values, x.host_values.copy()) for x in arrays.values()]
    else:
        before = []
    token = estimating.set(card)
    try:
        result = function(*(given.get(id(x), x) for x in args))
        if isinstance(result, tuple):
            found = result
        elif result is None:
            found = ()
        else:
            found = (result,)
        wrong = [x for x in found if not isinstance(x, Stored) or x.device is not card]
        # What's computed of numbers alone has all elements, too.
        if wrong and any(isinstance(x, SCALARS) for x in args):
            shape = np.broadcast_shapes(*[x.shape for x in given.values()])
            found = tuple([card.new(card.compute(np.full, shape, x)) if isinstance(x, SCALARS) else x for x in found])
            wrong = [x for x in found if not isinstance(x, Stored) or x.device is not card]
        if wrong:
            raise TypeError(f"fuse, {name}: the result is {type(wrong[0]).__name__}, not an array computed there")
        made = [device.new(device.compute(np.array, x.host_values, order="K")) for x in found]
    except BaseException as error:
        for values, earlier in before:
            values[...] = earlier
        if "truth value" in str(error):  # of several elements
            refuse()
        if "two devices" in str(error):
            error.add_note(f"fuse, {name}: an array from outside must be one of its arguments")
        raise
    finally:
        estimating.reset(token)
    nbytes = sum(x.host_values.nbytes for x in (*arrays.values(), *made))
    nbytes += sum(values.nbytes for values, earlier in before if values.tobytes() != earlier.tobytes())  # written
    device.launch(name, nbytes, math.fsum(work), (made or list(arrays.values()))[0].host_values.dtype.char)
    if isinstance(result, tuple):
        return tuple(made)
    if made:
        return made[0]
    return None
