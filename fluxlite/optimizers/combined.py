"""Rules before rules: what happens to a gradient before another rule makes a step of it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import astype, device_of, move, on_card_of
from ..messages import check_number, check_whole, in_words
from ..tree.ties import is_trainable_array
from ..tree.walks import fmap, leaves
from .base import Formula, Rule


@dataclass(frozen=True, init=False, repr=False)
class OptimiserChain(Rule):
    """Rules one after the other: what one gives is the gradient for the next (Flux: ``OptimiserChain``).

    >>> rule = OptimiserChain(ClipGrad(1.0), WeightDecay(0.1), fl.Descent(0.5))
    >>> x = np.ones(2)
    >>> rule.apply(rule.init(x), x, np.array([0.5, 100.0]))
    >>> x
    array([0.7 , 0.45])
    """

    rules: tuple[Rule, ...]

    def __init__(self, *rules: Rule):
        if not rules or not all(isinstance(rule, Rule) for rule in rules):
            raise TypeError(f"OptimiserChain(*rules) takes rules such as Adam(), at least one; got {in_words(rules)}")
        vars(self)["rules"] = rules

    def init(self, x: Any) -> dict[str, Any]:
        return {f"{i}": rule.init(x) for i, rule in enumerate(self.rules)}

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        for i, rule in enumerate(self.rules):
            g = None if g is None else rule.change(memory[f"{i}"], x, g)
        return g

    def __repr__(self) -> str:
        return f"OptimiserChain({', '.join(map(repr, self.rules))})"


@dataclass(frozen=True)
class WeightDecay(Formula):
    """``g + decay * x``, the slope of an L2 penalty ``decay / 2 * x**2`` (Flux: ``WeightDecay``).

    It comes before another rule, in `OptimiserChain`. With `Adam` it isn't what `AdamW` does.
    """

    decay: float = 5e-4

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        return g + self.decay * x


@dataclass(frozen=True)
class SignDecay(Formula):
    """``g + decay * sign(x)``, the slope of an L1 penalty ``decay * |x|`` (Flux: ``SignDecay``)."""

    decay: float = 1e-3

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        return g + self.decay * np.sign(x)


@dataclass(frozen=True)
class ClipGrad(Formula):
    """Each number of the gradient cut off at ``±delta`` (Flux: ``ClipGrad``)."""

    delta: float = 10.0

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        return np.clip(g, -self.delta, self.delta)


@dataclass(frozen=True)
class ClipNorm(Formula):
    """A gradient whose norm is above `omega` made shorter, in its direction (Flux: ``ClipNorm``).

    The norm is that of each parameter by itself (`clip_grad_norm` takes all): the root of the sum of squares for
    ``p=2``, the sum for 1, the largest for infinity. Raises `FloatingPointError` if it's not finite and the gradient is
    on the host; on a GPU the program would have to wait, and the parameter becomes NaN.
    """

    omega: float = 10.0
    p: float = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.shape(self.p) or self.p not in (1, 2, math.inf):
            raise ValueError(f"ClipNorm: p is 1, 2 or math.inf, got {in_words(self.p)}")

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        if self.p == 2:
            norm = np.sqrt(np.sum(g * g))
        else:
            norm = (np.sum if self.p == 1 or not g.size else np.max)(np.abs(g))
        if isinstance(norm, (float, np.floating)) and not np.isfinite(norm):
            raise FloatingPointError(f"the gradient of a parameter of shape {x.shape} has the {self.p}-norm {norm}")
        return g * np.minimum(self.omega / np.maximum(norm, 1e-30), 1)


@dataclass(frozen=True)
class AccumGrad(Formula):
    """The mean of `n` gradients, then a step; in between none (Flux: ``AccumGrad``): a large batch in small parts."""

    n: int
    remembers = "mean count"

    def __post_init__(self) -> None:
        check_whole("AccumGrad(n), the number of gradients,", self.n, least=1)

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        mean = memory["mean"]
        if memory["count"] == self.n:
            mean[...] = memory["count"] = 0
        mean += g / self.n
        memory["count"] += 1
        return mean if memory["count"] == self.n else None


def clip_grad_norm(grads: Any, max_norm: float) -> tuple[Any, Any]:
    """Gradients of a whole model made shorter if their norm, of all numbers together, is above `max_norm`.

    Returns new ones, and the norm that they had (PyTorch: ``clip_grad_norm_``, whose formula this is; in Flux and in
    `ClipNorm`, each parameter has a norm of its own). On a GPU the norm stays there, and nothing waits for it. If it's
    infinite or no number, so is what comes out: then leave out the step.

    >>> grads = {"w": np.array([3.0, 0.0]), "b": np.array([4.0])}
    >>> grads, norm = clip_grad_norm(grads, 1.0)
    >>> norm, grads["w"].round(3), grads["b"].round(3)
    (np.float64(5.0), array([0.6, 0. ]), array([0.8]))
    """
    check_number("clip_grad_norm(grads, max_norm): max_norm", max_norm)
    arrays = [g for g in leaves(grads) if g is not None]
    if not arrays:
        return grads, 0.0
    squares = []
    for g in arrays:
        if not is_trainable_array(g):
            raise TypeError(f"clip_grad_norm takes what gradient(f, model)[0] gives, and grads has {in_words(g)} in it")
        with on_card_of(g):
            wide = np.ravel(g if g.dtype.itemsize > 2 else astype(g, np.float32))  # the square of a half is too large
            squares.append(move(np.sum(wide * wide, keepdims=True), device_of(arrays[0])))
    with on_card_of(arrays[0]):
        norm = np.sqrt(sum(squares))
        scale = np.minimum(max_norm / (norm + 1e-6), 1)
        size = norm[0]

    def shorter(g: Any) -> Any:
        if g is None:
            return None
        with on_card_of(g):
            return g * astype(move(scale, device_of(g)), g.dtype)[0]

    return fmap(shorter, grads), size
