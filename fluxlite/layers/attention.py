"""`MultiHeadAttention`: each step of a sequence looks at the others, several times side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..activations import softmax
from ..arguments import explained
from ..autodiff.tracked import plain
from ..errors import InputError, ShapeError, mixed_devices
from ..tree.contract import functor
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath
from .dense import Dense
from .dropout import Dropout, check_share
from .initializers import glorot_uniform
from .layer import Layer, called, on_its_card
from .printing import brief


@explained("an array of shape (…, T, features)")
def make_causal_mask(x: Any) -> Any:
    """For `x` of shape ``(…, T, features)``, the mask with which no step sees later ones (NNlib: ``make_causal_mask``).

    Booleans of shape ``(T, T)``, on the device of `x`: True where step ``[i, j]``, `i` looking at `j`, is allowed.

    Raises `ValueError` for fewer than two axes.

    >>> make_causal_mask(np.zeros((3, 8)))
    array([[ True, False, False],
           [ True,  True, False],
           [ True,  True,  True]])
    """
    if len(getattr(x, "shape", ())) < 2:
        raise ValueError(f"make_causal_mask takes x of shape (…, T, features), got {brief(x)}")
    return np.tril(np.ones_like(plain(x), shape=(x.shape[-2],) * 2, dtype=bool))


@functor
@dataclass(eq=False, repr=False, init=False)
class MultiHeadAttention(Layer):
    """Each step of a sequence asks all others, and takes up what answers it (Flux: ``MultiHeadAttention``).

    ``layer(q, k, v)`` returns ``(y, weights)``. `q` has shape ``(N, T, features)``, `k` and `v` ``(N, S, features)``,
    `y` the shape of `q`, and `weights` ``(N, nheads, T, S)``: how much each step took of each other one. ``layer(x)``
    is ``layer(x, x, x)``, and ``layer(q, kv)`` is ``layer(q, kv, kv)``. Without the axis N it works, too.

    Where `mask`, booleans that broadcast to the shape of the weights, is False, nothing is taken; `make_causal_mask`
    makes one. A row of it that is all False gives NaN. `bias` is added to the scores.

    ``MultiHeadAttention(64)`` has 64 features everywhere. More generally `dims` is ``(inputs, inside, outputs)``, where
    `inputs` may be three numbers, for `q`, `k` and `v`, and `inside` two, for `q` with `k`, and for `v`. They're
    divided among the `nheads`. ``bias=True`` gives the four Dense layers within a bias. In training, `dropout_prob` of
    the weights become 0.

    Raises `ValueError` for sizes that don't fit, `TypeError` for arrays on two devices, or of integers.

    >>> layer = MultiHeadAttention(8, nheads=2)
    >>> x = np.ones((5, 3, 8), np.float32)
    >>> y, weights = layer(x, mask=make_causal_mask(x))
    >>> y.shape, weights[0, 0].round(2).tolist()[:2]
    ((5, 3, 8), [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    """

    q_proj: Any
    k_proj: Any
    v_proj: Any
    attn_drop: Any
    out_proj: Any

    def __init__(
        self,
        dims: Any,
        *,
        nheads: int = 8,
        bias: bool = False,
        init: Callable = glorot_uniform,
        dropout_prob: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        inputs, inside, outputs = _sizes(dims)
        if isinstance(nheads, bool) or not isinstance(nheads, (int, np.integer)) or nheads < 1:
            raise TypeError(f"MultiHeadAttention(nheads=…) is a number, 1 or more, got {nheads!r}")
        for size in inside:
            if size % nheads:
                raise ValueError(f"MultiHeadAttention: {size} features cannot be divided among {nheads} heads")
        self.q_proj, self.k_proj, self.v_proj = (
            Dense(size, within, bias=bias, init=init, rng=rng)
            for size, within in zip(inputs, (inside[0], inside[0], inside[1]))
        )
        check_share("MultiHeadAttention(dropout_prob=…)", dropout_prob)
        self.attn_drop = Dropout(dropout_prob)
        self.out_proj = Dense(inside[1], outputs, bias=bias, init=init, rng=rng)
        self.nheads = int(nheads)

    @on_its_card
    def __call__(self, q: Any, k: Any = None, v: Any = None, bias: Any = None, *, mask: Any = None) -> tuple[Any, Any]:
        k = q if k is None else k
        v = k if v is None else v
        for name, x in (("q", q), ("k", k), ("v", v)):
            if len(getattr(x, "shape", ())) < 2:
                what = f"MultiHeadAttention takes {name} of shape (N, T, features), got {brief(x)}"
                raise ShapeError(KeyPath(), what)
        if k.shape[:-1] != v.shape[:-1] or q.shape[:-2] != k.shape[:-2]:
            what = "MultiHeadAttention takes q of shape (N, T, features), k and v of shape (N, S, features)"
            raise ShapeError(KeyPath(), f"{what}, got {q.shape}, {k.shape}, {v.shape}")
        queries, keys, values = (
            self._heads(called(getattr(self, name), x, Attribute(name)))
            for name, x in (("q_proj", q), ("k_proj", k), ("v_proj", v))
        )
        weights = self._weights(queries, keys, bias, mask)
        answers = np.swapaxes(self.attn_drop(weights) @ values, -2, -3)
        joined = np.reshape(answers, (*answers.shape[:-2], answers.shape[-2] * answers.shape[-1]))
        return called(self.out_proj, joined, Attribute("out_proj")), weights

    def _heads(self, x: Any) -> Any:
        """``(N, T, nheads * size)`` as ``(N, nheads, T, size)``."""
        return np.swapaxes(np.reshape(x, (*x.shape[:-1], self.nheads, x.shape[-1] // self.nheads)), -2, -3)

    def _weights(self, queries: Any, keys: Any, bias: Any, mask: Any) -> Any:
        scores = (queries * (1 / math.sqrt(queries.shape[-1]))) @ np.swapaxes(keys, -1, -2)
        for name, added in (("bias", bias), ("mask", mask)):
            if added is not None:
                self._check_added(name, added, scores)
                # Added like a bias, -inf has the same effect as a choice, and needs no time on the way back.
                scores = scores + (_closed(added, scores.dtype) if name == "mask" else added)
        return softmax(scores)

    def _check_added(self, name: str, added: Any, scores: Any) -> None:
        what, values = f"MultiHeadAttention({name}=…)", plain(added)
        kind = "b" if name == "mask" else "f"
        if not is_array(values) or values.dtype.kind != kind:
            wanted = "booleans, True where one may look" if name == "mask" else "an array of floating-point numbers"
            got = f"an array of {values.dtype}" if is_array(values) else brief(values)
            raise InputError(KeyPath(), f"{what} takes {wanted}, got {got}")
        why = mixed_devices("MultiHeadAttention", scores=scores, **{name: added})
        if why is not None:
            raise why
        if not _broadcasts_to(values.shape, scores.shape):
            raise ShapeError(KeyPath(), f"{what} broadcasts to {scores.shape}, (N, nheads, T, S), got {values.shape}")

    def _call(self) -> str:
        inputs = tuple(layer.weight.shape[1] for layer in (self.q_proj, self.k_proj, self.v_proj))
        inside = (self.q_proj.weight.shape[0], self.v_proj.weight.shape[0])
        outputs = self.out_proj.weight.shape[0]
        sizes = {*inputs, *inside, outputs}
        dims = sizes.pop() if len(sizes) == 1 else (_brief(inputs), _brief(inside), outputs)
        return f"MultiHeadAttention({dims}, nheads={self.nheads})"


def _closed(mask: Any, dtype: Any) -> Any:
    """0 where one may look, -inf elsewhere."""
    return np.where(mask, 0.0, -math.inf).astype(dtype)


def _broadcasts_to(shape: tuple, wanted: tuple) -> bool:
    tail = wanted[len(wanted) - len(shape) :]
    return len(shape) <= len(wanted) and all(n in (1, m) for n, m in zip(shape, tail, strict=True))


def _brief(sizes: tuple) -> Any:
    return sizes[0] if len(set(sizes)) == 1 else sizes


def _sizes(dims: Any) -> tuple[tuple, tuple, int]:
    """``(q, k, v), (q and k inside, v inside), outputs`` of what was given, which may be shorter."""
    inputs, inside, outputs = dims if isinstance(dims, tuple) and len(dims) == 3 else (dims, dims, dims)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,) * 3
    inside = inside if isinstance(inside, tuple) else (inside,) * 2
    numbers = (*inputs, *inside, outputs)
    if len(numbers) != 6 or not all(isinstance(n, (int, np.integer)) and n > 0 for n in numbers):
        raise TypeError(f"MultiHeadAttention(dims) is a number of features, or (inputs, inside, outputs), got {dims!r}")
    return inputs, inside, outputs
