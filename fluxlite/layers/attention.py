"""`MultiHeadAttention`: each step of a sequence looks at the others, several times side by side."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..activations import softmax
from ..autodiff.tracked import plain
from ..messages import InputError, ShapeError, check_whole, explained, in_words
from ..tree.walks import Attribute, KeyPath
from .basic import Dense
from .layer import Layer, called, glorot_uniform, layer_call, layer_class
from .normalization import Dropout


@explained("an array of shape (…, T, features)")
def make_causal_mask(x: Any) -> Any:
    """The mask with which no step of `x` ``(…, T, features)`` sees later ones (NNlib: ``make_causal_mask``)."""
    return np.tril(np.ones_like(plain(x), shape=(x.shape[-2],) * 2, dtype=bool))


@layer_class()
class MultiHeadAttention(Layer):
    """Each step of a sequence asks all others, and takes up what answers it (Flux: ``MultiHeadAttention``).

    ``layer(q, k, v)`` returns ``(y, weights)``. `q` has shape ``(N, T, features)``, `k` and `v` ``(N, S, features)``,
    `y` the shape of `q`, and `weights` ``(N, nheads, T, S)``: how much each step took of each other one. ``layer(x)``
    is ``layer(x, x, x)``, and ``layer(q, kv)`` is ``layer(q, kv, kv)``. Without the axis N it works, too.

    Where `mask`, booleans that broadcast to the shape of the weights, is False, nothing is taken; `make_causal_mask`
    makes one. A row of it that is all False gives NaN. `bias` is added to the scores.

    `dims` is a number of features, or ``(inputs, inside, outputs)``, where `inputs` may be three numbers, for `q`, `k`
    and `v`, and `inside` two, for `q` with `k`, and for `v`. They're divided among the `nheads`. ``bias=True`` gives
    the four Dense layers within a bias. In training, `dropout_prob` of the weights become 0.
    """

    q_proj: Any
    k_proj: Any
    v_proj: Any
    attn_drop: Any
    out_proj: Any

    @explained("dims, a number of features or (inputs, inside, outputs)")
    def __init__(
        self, dims: Any, *, nheads: int = 8, bias: bool = False, init: Callable = glorot_uniform,
        dropout_prob: float = 0.0, rng: np.random.Generator | None = None,
    ):  # fmt: skip
        check_whole("MultiHeadAttention(nheads=…)", nheads, 1)
        inputs, inside, outputs = dims if isinstance(dims, tuple) else (dims,) * 3
        q, k, v = inputs if isinstance(inputs, tuple) else (inputs,) * 3
        asked, answered = inside if isinstance(inside, tuple) else (inside,) * 2
        if asked % nheads or answered % nheads:
            raise ValueError(f"MultiHeadAttention: {inside} features cannot be divided among {nheads} heads")
        sizes = (q, asked), (k, asked), (v, answered), (answered, outputs)
        projections = [Dense(*pair, bias=bias, init=init, rng=rng) for pair in sizes]
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = projections
        self.attn_drop = Dropout(dropout_prob)
        self.nheads = int(nheads)

    @layer_call
    def __call__(self, q: Any, k: Any = None, v: Any = None, bias: Any = None, *, mask: Any = None) -> tuple[Any, Any]:
        k = q if k is None else k
        v = k if v is None else v
        queries, keys, values = (
            self._heads(called(getattr(self, name), x, Attribute(name)))
            for name, x in (("q_proj", q), ("k_proj", k), ("v_proj", v))
        )
        scores = (queries * (1 / math.sqrt(queries.shape[-1]))) @ np.swapaxes(keys, -1, -2)
        if bias is not None:
            scores = scores + _checked("bias", bias, "f", scores.shape)
        if mask is not None:
            # Added like a bias, -inf has the same effect as a choice, and needs no time on the way back.
            closed = np.where(_checked("mask", mask, "b", scores.shape), 0.0, -math.inf)
            scores = scores + closed.astype(scores.dtype)
        weights = softmax(scores)
        answers = np.swapaxes(self.attn_drop(weights) @ values, -2, -3)
        joined = np.reshape(answers, (*answers.shape[:-2], answers.shape[-2] * answers.shape[-1]))
        return called(self.out_proj, joined, Attribute("out_proj")), weights

    def _heads(self, x: Any) -> Any:
        """``(N, T, nheads * size)`` as ``(N, nheads, T, size)``."""
        return np.swapaxes(np.reshape(x, (*x.shape[:-1], self.nheads, x.shape[-1] // self.nheads)), -2, -3)

    def _sizes(self) -> str:
        inputs = tuple([layer.weight.shape[1] for layer in (self.q_proj, self.k_proj, self.v_proj)])
        inside = self.q_proj.weight.shape[0], self.v_proj.weight.shape[0]
        sizes = [each[0] if len(set(each)) == 1 else each for each in (inputs, inside)]
        dims = *sizes, self.out_proj.weight.shape[0]
        return str(dims[0] if len(set(dims)) == 1 else dims)

    def _options(self) -> str:
        return f", nheads={self.nheads}"


def _checked(name: str, x: Any, kind: str, wanted: tuple) -> Any:
    """`x`, which is added to the scores. NumPy would also add booleans as a bias, or make the scores larger."""
    if x.dtype.kind != kind:
        numbers = "booleans, True where one may look" if kind == "b" else "floating-point numbers"
        raise InputError(KeyPath(), f"MultiHeadAttention({name}=…) takes {numbers}, got {in_words(x)}")
    if np.broadcast_shapes(x.shape, wanted) != wanted:
        raise ShapeError(KeyPath(), f"MultiHeadAttention({name}=…) broadcasts to {wanted}, got {x.shape}")
    return x
