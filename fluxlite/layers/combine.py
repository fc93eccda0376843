"""Layers made of layers that don't simply follow each other, and small ones: `Scale`, `Embedding` and `flatten`."""

import math
from collections.abc import Callable, Iterable
from functools import reduce
from operator import index
from typing import Any

import numpy as np

from ..annotations import Array
from ..arrays import (
    astype,
    device_of,
    getitem,
    identity,
    is_half,
    narrow,
    on_card_of,
    on_device_of,
    refuse_tensor,
    wide,
)
from ..autodiff.tracked import plain
from ..messages import notice
from ..tree.flat import Attribute, KeyPath
from ..tree.ties import is_array
from ..words import InputError, LayerError, ShapeError, check_whole, devices_differ_error, explained, in_words
from .activations import softmax, softmax_of_open
from .basic import Chain, Container, Dense, multiply_rows
from .layer import (
    LAYERS,
    Generator,
    Layer,
    activated,
    generator,
    glorot_uniform,
    layer,
    run_layer,
    split_activation,
    start,
)
from .normalization import Dropout
from .printing import call_of, options_text, short_name


@layer
class SkipConnection(Container):
    """A layer, and a way past it: ``connection(layer(x), x)`` (Flux: ``SkipConnection``).

    With ``np.add`` it's a residual block; ``lambda y, x: np.concatenate([y, x], axis=-1)`` keeps both.
    """

    layers: Callable
    connection: Callable

    def __init__(self, layers: Callable, connection: Callable) -> None:
        self.layers = layers
        self.connection = connection

    def __call__(self, x: Any) -> Any:
        return self.connection(run_layer(self.layers, x, LAYERS), x)

    def _arguments_text(self) -> str:
        return f"{call_of(self.layers)}, {short_name(self.connection)}"


@layer
class Parallel(Container):
    """Layers side by side: ``connection(layers[0](x), layers[1](x), …)`` (Flux: ``Parallel``).

    All get the same `x`. Given several inputs, or a tuple of them, each layer gets its own. Layers can have names, as
    in `Chain`. The connection takes all results at once. ``np.add`` and its kin work for more than two layers, too.
    """

    connection: Callable
    layers: Any

    def __init__(self, connection: Callable, /, *layers: Callable, **named: Callable) -> None:
        self.connection = connection
        self._set_layers(layers, named)

    def __call__(self, *inputs: Any) -> Any:
        found = [run_layer(part, x, LAYERS, where) for (where, part), x in self._with_inputs(inputs)]
        if len(found) > 2 and isinstance(self.connection, np.ufunc):
            return reduce(self.connection, found)
        return self.connection(*found)

    __getitem__ = Chain.__getitem__

    def _with_inputs(self, inputs: tuple) -> Iterable[tuple[tuple[Any, Any], Any]]:
        """((name or number, layer), its input) of each."""
        count = len(self.layers)
        if len(inputs) == 1 and isinstance(inputs[0], tuple):
            inputs = inputs[0]
        elif len(inputs) == 1:
            inputs = inputs * count
        if len(inputs) != count:
            takes = f"takes one input, or {count}, got {len(inputs)}"
            raise ShapeError(KeyPath(), f"{self._name()} of {count} layers {takes}")
        return zip(self._items(), inputs)

    def _arguments_text(self) -> str:
        return f"{short_name(self.connection)}, {super()._arguments_text()}"


@layer
class PairwiseFusion(Parallel):
    """Layers in a row, which meet a new input before each (Flux: ``PairwiseFusion``).

    From ``(x, y)``, two layers make ``(a, b)``, with ``a = first(x)`` and ``b = second(connection(a, y))``, and so on.
    """

    def __call__(self, *inputs: Any) -> tuple:
        found: list = []
        for (where, part), x in self._with_inputs(inputs):
            if found:
                x = self.connection(found[-1], x)
            found.append(run_layer(part, x, LAYERS, where))
        return tuple(found)


@layer
class Maxout(Container):
    """The largest of what several layers give, number by number (Flux: ``Maxout``).

    ``Maxout(layer, other, …)``, or ``Maxout(lambda: Dense(5, 7), 3)`` for three of a kind. Equal ones share a gradient.
    """

    layers: tuple

    def __init__(self, *layers: Any) -> None:
        if len(layers) == 2 and isinstance(layers[1], (int, np.integer)):
            make, count = layers
            layers = tuple(make() for _ in range(count))
        self._set_layers(layers, {})

    def __call__(self, x: Any) -> Any:
        found = [run_layer(part, x, LAYERS, where) for where, part in self._items()]
        return reduce(np.maximum, found)


@explained("an array of shape (…, T, features)")
def make_causal_mask(x: Array) -> Array:
    """The mask with which no step of `x` ``(…, T, features)`` sees later ones (NNlib: ``make_causal_mask``)."""
    steps = x.shape[-2]
    return np.tril(np.ones_like(plain(x), shape=(steps, steps), dtype=bool))


@layer
class MultiHeadAttention(Layer):
    """Each step of a sequence asks all others, and takes up what answers it (Flux: ``MultiHeadAttention``).

    ``layer(q, k, v)`` returns ``(y, weights)``. `q` and `y` have shape ``(N, T, features)``, `k` and `v` ``(N, S,
    features)``, and `weights` ``(N, nheads, T, S)``: how much each step took of each other one. ``layer(x)`` is
    ``layer(x, x, x)``, ``layer(q, kv)`` is ``layer(q, kv, kv)``. Where `mask`, booleans that broadcast to the shape of
    the weights, is False, nothing is taken, as with `make_causal_mask`. `bias` is added to the scores, and -inf closes.
    A step that may look at nothing, such as padding on the left, takes nothing: all its weights are 0.

    `dims` is a number of features, or ``(inputs, inside, outputs)``, where `inputs` may be three numbers, for `q`, `k`
    and `v`, and `inside` two, for `q` with `k`, and for `v`. In training, `dropout_prob` of the weights become 0.
    """

    q_proj: Dense
    k_proj: Dense
    v_proj: Dense
    attn_drop: Dropout
    out_proj: Dense

    @explained("dims, a number of features or (inputs, inside, outputs)")
    def __init__(
        self, dims: int | tuple, *, nheads: int = 8, bias: bool = False, init: Callable = glorot_uniform,
        dropout_prob: float = 0.0, rng: Generator = None,
    ):  # fmt: skip
        check_whole("MultiHeadAttention(nheads=…)", nheads, 1)
        inputs, inside, outputs = _each(dims, 3)
        q, k, v = _each(inputs, 3)
        asked, answered = _each(inside, 2)
        if asked % nheads or answered % nheads:
            raise ValueError(f"MultiHeadAttention: {inside} features can't be divided among {nheads} heads")
        self.q_proj = Dense(q, asked, bias=bias, init=init, rng=rng)
        self.k_proj = Dense(k, asked, bias=bias, init=init, rng=rng)
        self.v_proj = Dense(v, answered, bias=bias, init=init, rng=rng)
        self.out_proj = Dense(answered, outputs, bias=bias, init=init, rng=rng)
        self.attn_drop = Dropout(dropout_prob)
        self.nheads = int(nheads)

    def __call__(
        self, q: Array, k: Array | None = None, v: Array | None = None, bias: Array | None = None, *,
        mask: Array | None = None,
    ) -> tuple[Array, Array]:  # fmt: skip
        if k is None:
            k = q
        if v is None:
            v = k
        q = run_layer(self.q_proj, q, Attribute("q_proj"))
        k = run_layer(self.k_proj, k, Attribute("k_proj"))
        v = run_layer(self.v_proj, v, Attribute("v_proj"))
        queries, keys, values = self._by_head(q, k, v)
        scores = self._scores(queries, keys, bias, mask)
        if mask is None and bias is None:
            weights = softmax(scores)
        else:
            weights = softmax_of_open(scores)
        answers = np.swapaxes(self.attn_drop(weights) @ values, -2, -3)
        joined = np.reshape(answers, (*answers.shape[:-2], answers.shape[-2] * answers.shape[-1]))
        if is_half(q):
            joined = narrow(joined)
            weights = narrow(weights)
        return run_layer(self.out_proj, joined, Attribute("out_proj")), weights

    def _by_head(self, *projected: Array) -> list[Array]:
        """Each cut among the heads, ``(N, nheads, T, size)``: a score may be too large for float16."""
        parts = [np.reshape(x, (*x.shape[:-1], self.nheads, x.shape[-1] // self.nheads)) for x in projected]
        return [np.swapaxes(wide(x), -2, -3) for x in parts]

    def _scores(self, queries: Array, keys: Array, bias: Array | None, mask: Array | None) -> Array:
        scores = (queries * (1 / math.sqrt(queries.shape[-1]))) @ np.swapaxes(keys, -1, -2)
        if bias is not None:
            scores = scores + _checked("bias", bias, "f", scores.shape)
        if mask is not None:
            # Added like a bias, -inf has the same effect as a choice, and needs no time in the backward pass.
            zero = scores.dtype.type(0)
            never = scores.dtype.type(-math.inf)
            closed = np.where(_checked("mask", mask, "b", scores.shape), zero, never)
            scores = scores + closed.astype(scores.dtype, copy=False)
        return scores

    def _arguments_text(self) -> str:
        q = self.q_proj.weight.shape
        k = self.k_proj.weight.shape
        v = self.v_proj.weight.shape
        inputs = _one_if_equal((q[1], k[1], v[1]))
        inside = _one_if_equal((q[0], v[0]))
        outputs = self.out_proj.weight.shape[0]
        return str(_one_if_equal((inputs, inside, outputs)))

    def _options_text(self) -> str:
        return f", nheads={self.nheads}"


def _each(sizes: int | tuple, count: int) -> tuple:
    """One for each, as given, or the same for all."""
    if isinstance(sizes, tuple):
        return sizes
    return (sizes,) * count


def _one_if_equal(sizes: tuple) -> int | tuple:
    if len(set(sizes)) == 1:
        return sizes[0]
    return sizes


def _checked(name: str, x: Array, kind: str, wanted: tuple) -> Array:
    """`x`, which is added to the scores. NumPy would also add booleans as a bias, or make the scores larger."""
    if x.dtype.kind != kind:
        numbers = "floating-point numbers"
        if kind == "b":
            numbers = "booleans, True where one may look"
        raise InputError(KeyPath(), f"MultiHeadAttention({name}=…) takes {numbers}, got {in_words(x)}")
    if np.broadcast_shapes(x.shape, wanted) != wanted:
        raise ShapeError(KeyPath(), f"MultiHeadAttention({name}=…) broadcasts to {wanted}, got {x.shape}")
    return x


@layer
class Scale(Layer):
    """A weight and a bias for each feature: ``activation(x * scale + bias)`` (Flux: ``Scale``).

    ``Scale(3)`` takes inputs of shape ``(…, 3)``, ``Scale(3, 4)`` of ``(…, 3, 4)``. The activation comes last.
    """

    scale: Array
    bias: Array | None
    activation: Callable

    def __init__(self, *size: Any, bias: bool = True) -> None:
        size, activation = split_activation(size)
        self.scale = np.ones(size, np.float32)
        self.bias = np.zeros(size, np.float32) if bias else None
        self.activation = activation

    @classmethod
    def of(cls, scale: Array, bias: Array | None = None, activation: Callable = identity) -> "Scale":
        """A layer made of these arrays, of one shape; `bias` may be None."""
        new = object.__new__(cls)
        new.scale = new._check_array("scale", scale, *getattr(scale, "shape", ("…",)))
        new.bias = new._check_bias(bias, scale, *scale.shape)
        new.activation = new._check_activation(activation)
        return new

    def __call__(self, x: Array) -> Array:
        x = self._converted(x, self.scale)
        size = self.scale.shape
        if x.shape[len(x.shape) - len(size) :] != size:  # NumPy would broadcast some of them
            wanted = ", ".join(map(str, ("…", *size)))
            raise ShapeError(KeyPath(), f"{self._name()} takes an input of shape ({wanted}), got {x.shape}")
        return activated(self.activation, x * self.scale, self.bias)

    def _arguments_text(self) -> str:
        return ", ".join(map(str, self.scale.shape))

    def _options_text(self) -> str:
        return options_text(self.activation, bias=self.bias is not None)


def normal(*shape: int, rng: Generator = None) -> np.ndarray:
    return generator(rng).standard_normal(shape, dtype=np.float32)


@layer
class Embedding(Layer):
    """For each number of a vocabulary, a row of features that are learned: ``weight[x]`` (Flux: ``Embedding``).

    `weight` has shape ``(vocabulary, features)`` and starts with normal numbers. `x` holds whole numbers from 0 to
    ``vocabulary - 1``, in any shape; the result has that shape, then the features. Floating-point numbers and
    booleans are one-hot rows, ``(…, vocabulary)``. On a GPU, a number that isn't in the vocabulary wraps around.
    """

    weight: Array

    def __init__(self, vocabulary: int, features: int, *, init: Callable = normal, rng: Generator = None):
        self.weight = start(init, index(vocabulary), index(features), rng, layer="Embedding")

    @classmethod
    def of(cls, weight: Array) -> "Embedding":
        """A layer made of this array, of shape ``(vocabulary, features)``."""
        new = object.__new__(cls)
        new.weight = new._check_array("weight", weight, "vocabulary", "features")
        return new

    def __call__(self, x: Any) -> Array:
        with on_card_of(self.weight):  # where a list goes, too
            numbers = plain(x)
            weight = plain(self.weight)
            if isinstance(numbers, (list, tuple)):
                numbers = np.asarray(numbers)
                if numbers.size == 0:
                    numbers = numbers.astype(np.int64)
                x = numbers = on_device_of(weight, numbers)
            elif is_array(numbers) and device_of(numbers) != device_of(weight):  # CuPy would copy a host's index
                raise devices_differ_error(KeyPath((Attribute("weight"),)), device_of(weight), device_of(numbers))
            if type(numbers) is not int and numbers.dtype.kind in "fb":  # one-hot rows
                self._check_rows(numbers)
                return multiply_rows(astype(x, self.weight.dtype), self.weight)
            self._check_numbers(numbers)
            return getitem(self.weight, numbers)

    def _check_numbers(self, numbers: Any) -> None:
        """NumPy takes a negative number for one from the end. What's on a GPU isn't looked at: that would wait."""
        if not isinstance(numbers, (np.ndarray, np.integer, int)) or np.size(numbers) == 0:
            return
        most = self.weight.shape[0] - 1
        for number in np.min(numbers), np.max(numbers):
            if not 0 <= number <= most:
                raise UnknownError(KeyPath(), f"{self._name()} knows the numbers 0 to {most}, got {number}")

    def _check_rows(self, rows: Array) -> None:
        """Class numbers often come as floating-point ones, for example from a table."""
        count = self.weight.shape[0]
        numbers = "for the numbers of a vocabulary, which are whole numbers, write x.astype(int)"
        if rows.shape[-1:] != (count,):
            takes = f"takes whole numbers, or one-hot rows of shape (…, {count})"
            raise ShapeError(KeyPath(), f"{self._name()} {takes}, got {in_words(rows)}; {numbers}")
        is_one = type(rows) is np.ndarray and rows.dtype.kind == "f" and rows.shape == (count,)
        if is_one and np.max(rows, initial=0) > 1:
            these = f"these {count} {rows.dtype.name} numbers"
            what = f"{self._name()} takes {these} for one row: how much there is of each"
            notice(("numbers for an embedding", count), f"{what}; {numbers}.")

    def _arguments_text(self) -> str:
        vocabulary, features = self.weight.shape
        return f"{vocabulary} => {features}"


class UnknownError(LayerError, IndexError):
    """A number isn't in the vocabulary."""


@explained("an array of shape (N, …)")
def flatten(x: Array) -> Array:
    """Each observation as one row: ``(N, H, W, C)`` becomes ``(N, H * W * C)`` (Flux: ``flatten``)."""
    refuse_tensor("flatten", x)  # NumPy would take it without a word
    with on_card_of(x):
        return np.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
