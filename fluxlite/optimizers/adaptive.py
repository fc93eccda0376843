"""Rules that give each number a rate of its own, by how large its gradients have been: Adam and its kin."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .base import Fusible


@dataclass(frozen=True)
class AdaGrad(Fusible):
    """``eta * g / sqrt(sum of all g**2 so far)`` (Duchi and others, 2011; Flux: ``AdaGrad``).

    PyTorch's `eta` is 0.01, and its `epsilon` 1e-10.

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(AdaGrad(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.9, 1.1])
    """

    eta: float = 0.1
    epsilon: float = 1e-8

    def init(self, x: Any) -> dict[str, Any]:
        return {"square": np.full_like(x, epsilon_of(self, x))}

    def numbers(self, memory: dict[str, Any], x: Any) -> tuple:
        return self.eta, epsilon_of(self, x)

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        eta, epsilon = numbers
        square = memory["square"]
        square += g * g
        return eta * g / (np.sqrt(square) + epsilon)


@dataclass(frozen=True)
class AdaDelta(Fusible):
    """Steps as large as those before them were, so without a rate (Zeiler, 2012; Flux: ``AdaDelta``).

    PyTorch's `epsilon` is 1e-6, with which the first steps are larger.

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(AdaDelta(), w), w, np.array([1.0, -10.0]))[1]
    array([0.9997, 1.0003])
    """

    rho: float = 0.9
    epsilon: float = 1e-8

    def init(self, x: Any) -> dict[str, Any]:
        return {"square": np.zeros_like(x), "step": np.zeros_like(x)}

    def numbers(self, memory: dict[str, Any], x: Any) -> tuple:
        return self.rho, epsilon_of(self, x)

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        rho, epsilon = numbers
        keep(memory["square"], rho, g * g)
        change = g * np.sqrt(memory["step"] + epsilon) / np.sqrt(memory["square"] + epsilon)
        keep(memory["step"], rho, change * change)
        return change


@dataclass(frozen=True)
class RMSProp(Fusible):
    """``eta * g / sqrt(running mean of g**2)`` (Hinton, 2012; Flux: ``RMSProp``).

    With `centred`, the square of the mean is taken off, which leaves the variance. PyTorch's `eta` is 0.01, its `rho`
    0.99.

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(RMSProp(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.684, 1.316])
    """

    eta: float = 0.001
    rho: float = 0.9
    epsilon: float = 1e-8
    centred: bool = field(default=False, kw_only=True)

    def init(self, x: Any) -> dict[str, Any]:
        return {"square": np.zeros_like(x)} | ({"mean": np.zeros_like(x)} if self.centred else {})

    def numbers(self, memory: dict[str, Any], x: Any) -> tuple:
        return self.eta, self.rho, epsilon_of(self, x)

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        eta, rho, epsilon = numbers
        keep(memory["square"], rho, g * g)
        square = memory["square"]
        if "mean" in memory:
            keep(memory["mean"], rho, g)
            square = square - memory["mean"] ** 2
        return eta * g / (np.sqrt(square) + epsilon)


@dataclass(frozen=True)
class Adam(Fusible):
    """Steps scaled by running means of the gradient and of its square (Flux: ``Adam``; Kingma and Ba, 2015).

    In float16 the squares of small gradients are 0, and such steps are too large: train float32 parameters.

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(Adam(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.9, 1.1])
    """

    eta: float = 0.001
    beta: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def init(self, x: Any) -> dict[str, Any]:
        return {"mean": np.zeros_like(x), "square": np.zeros_like(x), "steps": 0}

    def numbers(self, memory: dict[str, Any], x: Any) -> tuple:
        of_mean, of_square = self.beta
        memory["steps"] = steps = memory["steps"] + 1  # at first the means are too small: they start at 0
        return of_mean, of_square, self.eta / (1 - of_mean**steps), 1 - of_square**steps, epsilon_of(self, x)

    def starts(self, memory: dict[str, Any]) -> tuple[float, float]:
        """Count a step, and say by which factors the two running means are too small at first."""
        memory["steps"] = steps = memory["steps"] + 1
        return 1 - self.beta[0] ** steps, 1 - self.beta[1] ** steps

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        of_mean, of_square, rate, start_square, epsilon = numbers
        mean, square = memory["mean"], memory["square"]
        keep(mean, of_mean, g)
        keep(square, of_square, g * g)
        scale = np.sqrt(square / start_square)
        scale += epsilon
        return rate * mean / scale


@dataclass(frozen=True)
class AdamW(Adam):
    """`Adam` that also shrinks the parameters, by a share of their size (Loshchilov and Hutter, 2019; Flux: ``AdamW``).

    `decay` is Flux's ``lambda`` and PyTorch's ``weight_decay``. It's 0 unless you give it, as in Flux, and then this is
    `Adam`; PyTorch's is 0.01, and stands behind `epsilon`. The share is ``eta * decay`` if `couple`, as in PyTorch, or
    `decay` alone, as in the paper.

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(AdamW(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.9, 1.1])
    """

    decay: float = 0.0
    couple: bool = field(default=True, kw_only=True)

    @classmethod
    def check_order(cls, *args: Any) -> None:
        super().check_order(*args)
        if len(args) == 4 and all(isinstance(x, float) for x in args[2:]) and 0 < args[2] < args[3]:
            raise TypeError(
                f"AdamW(eta, beta, decay, epsilon), Flux's order, got a decay of {args[2]} and a larger epsilon of "
                f"{args[3]}. PyTorch has them the other way round; if you mean it, name them: decay=…, epsilon=…"
            )

    def __init__(
        self, eta: float = 0.001, beta: Any = (0.9, 0.999), decay: float = 0.0, epsilon: float = 1e-8, *,
        couple: bool = True,
    ) -> None:  # fmt: skip
        vars(self).update(eta=eta, beta=beta, epsilon=epsilon, decay=decay, couple=couple)
        self.__post_init__()

    def numbers(self, memory: dict[str, Any], x: Any) -> tuple:
        return self.eta * self.decay if self.couple else self.decay, *super().numbers(memory, x)

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        decay, *rest = numbers
        return Adam.formula(memory, x, g, *rest) + decay * x


@dataclass(frozen=True)
class NAdam(Adam):
    """`Adam` with the look ahead of `Nesterov` (Dozat, 2016; Flux: ``NAdam``).

    PyTorch's has a momentum that grows with the steps, so its numbers differ.

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(NAdam(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.853, 1.147])
    """

    def numbers(self, memory: dict[str, Any], x: Any) -> tuple:
        start_mean, start_square = self.starts(memory)
        later = 1 - self.beta[0] * (1 - start_mean)
        ahead = self.beta[0] / later, (1 - self.beta[0]) / start_mean
        return *self.beta, self.eta, *ahead, self.beta[1] / start_square, epsilon_of(self, x)

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        of_mean, of_square, eta, kept, ahead, scale, epsilon = numbers
        mean, square = looked(memory, g, of_mean, of_square)
        return eta * (mean * kept + ahead * g) / (np.sqrt(square * scale) + epsilon)


@dataclass(frozen=True)
class RAdam(Adam):
    """`Adam` that takes plain steps until its scale can be trusted (Liu and others, 2020; Flux: ``RAdam``).

    It trusts above 4, as in the paper; PyTorch's above 5, which is a plain step more.

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(RAdam(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.9, 2. ])
    """

    def numbers(self, memory: dict[str, Any], x: Any) -> tuple:
        start_mean, start_square = self.starts(memory)
        most = 2 / (1 - self.beta[1]) - 1
        known = most - 2 * memory["steps"] * (1 - start_square) / start_square
        trust = None
        if known > 4:
            trust = math.sqrt((known - 4) * (known - 2) * most / ((most - 4) * (most - 2) * known))
        return *self.beta, self.eta / start_mean, trust, start_square, epsilon_of(self, x)

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        of_mean, of_square, rate, trust, start_square, epsilon = numbers
        mean, square = looked(memory, g, of_mean, of_square)
        mean = rate * mean
        return mean if trust is None else trust * mean / (np.sqrt(square / start_square) + epsilon)


@dataclass(frozen=True)
class AdaMax(Adam):
    """`Adam` with the largest gradient in place of the mean of squares (Kingma and Ba, 2015; Flux: ``AdaMax``).

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(AdaMax(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.9, 1.1])
    """

    def init(self, x: Any) -> dict[str, Any]:
        return {"mean": np.zeros_like(x), "largest": np.zeros_like(x), "steps": 0}

    def numbers(self, memory: dict[str, Any], x: Any) -> tuple:
        start_mean, _ = self.starts(memory)
        return *self.beta, self.eta / start_mean, epsilon_of(self, x)

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        of_mean, of_largest, rate, epsilon = numbers
        keep(memory["mean"], of_mean, g)
        largest = memory["largest"]
        largest *= of_largest
        largest[...] = np.maximum(largest, np.abs(g))
        return rate * memory["mean"] / (largest + epsilon)


@dataclass(frozen=True)
class OAdam(Adam):
    """`Adam` that takes each step twice and the one before it back, for GANs (Daskalakis, 2018; Flux: ``OAdam``).

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(OAdam(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.8, 1.2])
    """

    beta: tuple[float, float] = (0.5, 0.9)

    def init(self, x: Any) -> dict[str, Any]:
        return super().init(x) | {"before": np.zeros_like(x)}

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        step = Adam.formula(memory, x, g, *numbers)
        change = 2 * step - memory["before"]
        memory["before"][...] = step
        return change


@dataclass(frozen=True)
class AMSGrad(Adam):
    """`Adam` whose scale never shrinks (Reddi and others, 2018; Flux: ``AMSGrad``).

    As in Flux, the running means start at `epsilon` and aren't corrected; PyTorch corrects them.

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(AMSGrad(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.684, 1.316])
    """

    def init(self, x: Any) -> dict[str, Any]:
        return {name: np.full_like(x, epsilon_of(self, x)) for name in ("mean", "square", "largest")}

    def numbers(self, memory: dict[str, Any], x: Any) -> tuple:
        return *self.beta, self.eta, epsilon_of(self, x)

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        of_mean, of_square, eta, epsilon = numbers
        mean, square = looked(memory, g, of_mean, of_square)
        memory["largest"][...] = np.maximum(memory["largest"], square)
        return eta * mean / (np.sqrt(memory["largest"]) + epsilon)


@dataclass(frozen=True)
class AdaBelief(Adam):
    """`Adam` scaled by how far the gradient is from its mean (Zhuang and others, 2020; Flux: ``AdaBelief``).

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(AdaBelief(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.889, 1.111])
    """

    epsilon: float = 1e-16

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        of_mean, of_square, rate, start_square, epsilon = numbers
        mean, square = memory["mean"], memory["square"]
        keep(mean, of_mean, g)
        keep(square, of_square, (g - mean) ** 2)
        square += epsilon
        return rate * mean / (np.sqrt(square / start_square) + epsilon)


def looked(memory: Any, g: Any, of_mean: Any, of_square: Any) -> tuple[Any, Any]:
    """The running means of the gradient and of its square, after a look at `g`."""
    keep(memory["mean"], of_mean, g)
    keep(memory["square"], of_square, g * g)
    return memory["mean"], memory["square"]


def keep(mean: Any, share: Any, new: Any) -> None:
    """A running mean: it keeps `share` of itself and takes the rest from `new`."""
    mean *= share
    mean += (1 - share) * new


def epsilon_of(rule: Any, x: Any) -> float:
    """What keeps a division from 0, for parameters of this type: half precision takes 1e-8 for 0."""
    return rule.epsilon if x.dtype.itemsize > 2 else max(rule.epsilon, 6e-5)
