"""What can be done with an array without knowing whose it is: where is it? And operations of our own.

NumPy's functions go to the library that owns their arguments (NEP 13 and 18). What NumPy lacks is here; what differs
between libraries is in their records (`array_kinds.py`). A function that's marked `primitive` can have a derivative,
like NumPy's own.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .annotations import Array, DType, Tree
from .array_kinds import array_kind, is_plain, several_cards
from .tree.flat import KeyPath, flatten
from .tree.ties import is_array, is_tracked, on_card_of
from .tree.unreached import arrays_inside, why_shut
from .tree.walks import check_open
from .words import DeviceError, Function, check_callable, note

# Activations that compute each element from its own. In a layer, a GPU can add the bias in the same launch.
by_element: set[Callable] = set()


def device_of(x: Tree) -> Any:
    """The device of `x`: an array, or everything in a model or container (CUDA.jl: ``device(x)``).

    None if it has no arrays. Raises `DeviceError` if they're on several, `TypeError` for arrays that no walk reaches.
    """
    kind = array_kind(x)
    if kind is not None:
        return kind.device_of(x)
    return _device_of_all_in(x)


def _device_of_all_in(x: Tree) -> Any:
    flat = flatten(x)
    found: dict[Any, int] = {}  # each device, and the first leaf there
    for number, leaf in enumerate(flat.leaves):
        value = leaf
        if is_tracked(leaf):
            check_open(flat, [number])
            while is_tracked(value):
                value = value.value
        if is_array(value):
            found.setdefault(device_of(value), number)
            continue
        for inside, _ in arrays_inside(leaf, KeyPath()):
            place = str(flat.paths()[number] + inside) or f"a {type(leaf).__name__}"
            raise TypeError(f"device_of can't see all of it: there is an array in {place}: {why_shut(leaf)}")
    if len(found) > 1:
        first, second = list(found)[:2]
        paths = flat.paths()
        raise DeviceError(paths[found[first]], f"is on {first}, {paths[found[second]]} is on {second}")
    return next(iter(found), None)


def on_card_of_argument(function: Function) -> Function:
    """Above a function of an array: it computes on the card that holds the array, and its errors say what it takes."""

    @functools.wraps(function)
    def computed(*args: Any, **kwargs: Any) -> Any:
        try:
            if several_cards and args:
                with on_card_of(args[0]):
                    return function(*args, **kwargs)
            return function(*args, **kwargs)
        except Exception as error:
            note(error, function, args, kwargs)
            raise

    return computed  # type: ignore[return-value]


def primitive(function: Function) -> Function:
    """Give a function of ours the dispatch that NumPy's functions have.

    An argument whose type has a method ``__primitive__`` (an array that's tracked for a gradient) gets the call:
    ``argument.__primitive__(function, args, kwargs)``. Otherwise the function just runs.

    >>> @primitive
    ... def twice(x):
    ...     return x + x
    >>> fl.rule(twice, lambda g, out, x: 2 * g)
    >>> fl.gradient(lambda x: np.sum(twice(x)), np.ones(2))
    (array([2., 2.]),)
    """
    check_callable("primitive(function): the function", function)
    computed = on_card_of_argument(function)

    @functools.wraps(function)
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        arguments = args
        if kwargs:
            arguments = (*args, *kwargs.values())
        for argument in arguments:
            if hasattr(type(argument), "__primitive__"):
                return argument.__primitive__(dispatch, args, kwargs)
        return computed(*args, **kwargs)

    return dispatch  # type: ignore[return-value]


def identity(x: Array) -> Array:
    """`x` itself: the activation of a layer that has none."""
    return x


@primitive
def getitem(x: Array, index: Any) -> Array:
    """``x[index]`` as a function, so that it can have a derivative rule."""
    return x[index]


@primitive
def scatter_add(like: Array, index: Any, values: Array) -> Array:
    """Zeros of the shape of `like`, with `values` added at `index`: what indexing does, backwards.

    Where an index occurs several times, all its values are added (CUDA.jl, NNlib: ``scatter(+, …)``).

    >>> scatter_add(np.zeros(3), np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]))
    array([4., 0., 2.])
    """
    dtype: Any = values.dtype
    if is_half(values):
        dtype = np.float32
    total = np.zeros_like(like, dtype=dtype)
    add_at(total, index, wide(values))
    return astype(total, values.dtype)


@primitive
def astype(x: Array, dtype: DType) -> Array:
    """`x` with another dtype; itself if it has that already."""
    return x.astype(dtype, copy=False)


# -- half precision ----------------------------------------------------------------------------------------------------
# A float16 is at most 65,504, at least 6e-8, and has 11 bits: adding 1 to 2,048 changes nothing. So what's added up,
# squared or subtracted inside a formula is float32, as on a card, and rounded once, at its end.


def is_half(x: object) -> bool:
    """Whether `x` is an array of float16, or such a number."""
    dtype = getattr(x, "dtype", None)
    return dtype is not None and dtype.char == "e"


def wide(x: Any) -> Any:
    """`x` as float32 if it's in half precision; anything else as it is."""
    if is_half(x):
        return astype(x, np.float32)
    return x


def narrow(x: Any) -> Any:
    """A result that `wide` operands made, rounded to float16. What isn't float32 stays."""
    dtype = getattr(x, "dtype", None)
    if dtype is not None and dtype.char == "f":
        return astype(x, np.float16)
    return x


def are_half(*operands: Any) -> bool:
    """Whether a formula of these computes in half precision: its arrays of floats are all float16."""
    found = [x.dtype.char for x in operands if getattr(x, "dtype", None) is not None and x.dtype.kind == "f"]
    return "e" in found and found.count("e") == len(found)


def floats(x: Any) -> Any:
    """`x`, whole numbers and booleans as floating-point ones, of the type that a quotient has; anything else as it is.

    In a formula, a pixel of 200 plus one of 200 would be 144, and a pixel of 1 minus one of 2 would be 255.
    """
    dtype = getattr(x, "dtype", None)
    if dtype is not None and dtype.kind in "iub":
        return x / 1
    return x


def in_float32(function: Function) -> Function:
    """Above a formula: arrays of float16 come in as float32, and its result is rounded to float16, once.

    The first operand may also be of whole numbers.
    """

    @functools.wraps(function)
    def computed(*args: Any, **kwargs: Any) -> Any:
        if are_half(*args):
            return narrow(function(*map(wide, args), **kwargs))
        return function(*map(floats, args[:1]), *args[1:], **kwargs)

    return computed  # type: ignore[return-value]


def of_type(x: Any, dtype: Any) -> Any:
    """What ``dtype=`` asks for: `x` with another dtype, of numbers that have derivatives."""
    if dtype is None or not hasattr(x, "dtype"):
        return x
    if np.dtype(dtype).kind != "f":
        raise TypeError(f"dtype={np.dtype(dtype)} would lose the gradient, which only floating-point numbers have")
    return astype(x, dtype)


@primitive
def move(x: Any, device: Any, dtype: Any = None) -> Any:
    """The array `x` on `device` (with another dtype if one is given); its gradient comes back to where `x` is."""
    if dtype is not None:
        x = astype(x, dtype)
    return device.receive(array_of(x))


def array_of(x: Any) -> Any:
    """An array as it is; a NumPy scalar, as ``np.sum(x)`` is one on the host, as an array of shape ()."""
    if isinstance(x, np.generic):
        return np.asarray(x)
    return x


def add_at(total: Array, index: Any, values: Array) -> None:
    """``total[index] += values`` in place, where an index that occurs several times counts each time."""
    if is_basic_index(index):
        total[index] += values
    elif is_half(total):
        sums = np.zeros_like(total, dtype=np.float32)
        _add_at_positions(sums, index, wide(values))
        total += sums
    else:
        _add_at_positions(total, index, values)


def _add_at_positions(total: Array, index: Any, values: Array) -> None:
    kind: Any = array_kind(total)
    kind.add_at(total, index, values)


def is_basic_index(index: Any) -> bool:
    """Whether `index` names each element at most once: integers, slices, None and Ellipsis, or a boolean mask."""
    if type(index) is tuple:  # a tuple within is a list of positions, as in x[(0, 0), :], and may name one twice
        return all(type(part) is not tuple and is_basic_index(part) for part in index)
    if index is None or index is ... or type(index) in (int, slice):
        return True
    return str(getattr(index, "dtype", "")) == "bool"


def add_at_on_the_host(total: np.ndarray, index: Any, values: np.ndarray) -> None:
    """`add_at` for NumPy's arrays, with positions as index."""
    is_rows = is_plain(index) and index.dtype.kind in "iu" and total.flags.c_contiguous
    if is_rows and values.shape == index.shape + total.shape[1:]:
        # Whole rows: NumPy is many times quicker with one index for each number.
        size = total[:1].size
        starts = index.astype(np.int64)[..., None] * size
        values = np.reshape(values, (*index.shape, size))
        index = starts + np.arange(size)
        total = np.reshape(total, -1)
    np.add.at(total, index, values)


def on_device_of(like: Tree, x: Array) -> Array:
    """The host array `x` on the device of `like`: how constants and generated numbers come to where the data is."""
    if is_array(like):
        return device_of(like).receive(x)
    return x


def drawn_like(like: Any, shape: tuple[int, ...], rng: Any = None) -> Any:
    """Float32 numbers from 0 to 1, where `like` is: drawn by its device, or by `rng`, on the CPU."""
    kind = array_kind(like)
    if kind is not None and kind.draw is not None:
        return kind.draw(like, shape, rng)
    if rng is None:
        rng = device_of(like).rng
    return on_device_of(like, rng.random(shape, dtype=np.float32))


# -- tensors of PyTorch, JAX and others: they would often pass through NumPy, and nothing would be trained -------------
_AS_AN_ARRAY = {
    "torch": "np.from_dlpack(x.detach().cpu())", "jax": "np.asarray(x)", "jaxlib": "np.asarray(x)",
    "tensorflow": "x.numpy()", "mlx": "np.array(x)", "paddle": "x.numpy()",
}  # fmt: skip


@functools.lru_cache(maxsize=256)
def library_of(kind: type) -> str:
    """The library whose tensors are of this type; '' if it isn't one of those."""
    root = kind.__module__.partition(".")[0]
    if root in _AS_AN_ARRAY and hasattr(kind, "shape") and hasattr(kind, "dtype"):
        return root
    return ""


def tensor_in_words(x: Any) -> str:
    """What `x` is, a tensor of another library, and what to write: to stand after "got"."""
    library = library_of(x.__class__)
    return f"a {library}.{type(x).__name__}; {_AS_AN_ARRAY[library]} makes an array"


def refuse_tensor(what: str, x: Any) -> None:
    """Raises `TypeError`, saying that `what` takes arrays, if `x` is a tensor of another library."""
    if library_of(x.__class__):
        raise TypeError(f"{what} takes arrays, got {tensor_in_words(x)}")
