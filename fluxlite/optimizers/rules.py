"""The optimizers' formulas. First those with one rate for all numbers, then Adam and its kin, with a rate for each."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .base import Formula, Fusible


@dataclass(frozen=True)
class Descent(Formula):
    """``x -= eta * g`` (Flux: ``Descent``)."""

    eta: float = 0.1

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        return self.eta * g


@dataclass(frozen=True)
class Momentum(Formula):
    """``v = rho * v + eta * g; x -= v`` (Flux: ``Momentum``)."""

    eta: float = 0.01
    rho: float = 0.9
    remembers = "velocity"

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        velocity = memory["velocity"]
        velocity *= self.rho
        velocity += self.eta * g
        return velocity


@dataclass(frozen=True)
class Nesterov(Momentum):
    """`Momentum` that looks a step ahead: ``v = rho * v + eta * g; x -= rho * v + eta * g`` (Flux: ``Nesterov``)."""

    eta: float = 0.001

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        return self.rho * super().change(memory, x, g) + self.eta * g


@dataclass(frozen=True)
class Lion(Formula):
    """Steps of one size: the sign of a running mean (Chen and others, 2023; Flux: ``Lion``).

    The formula is the paper's, and so is `beta`. Optimisers.jl 0.4 swaps the shares of the old mean and of the
    gradient, which leaves next to no memory.
    """

    eta: float = 0.001
    beta: tuple[float, float] = (0.9, 0.99)
    remembers = "mean"

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        (now, later), mean = self.beta, memory["mean"]
        step = self.eta * np.sign(now * mean + (1 - now) * g)
        keep(mean, later, g)
        return step


@dataclass(frozen=True)
class Rprop(Formula):
    """A rate for each number, which grows while its slope keeps its sign (Riedmiller and Braun, 1993; Flux: ``Rprop``).

    `ell` says by what a rate shrinks and grows, `gamma` between which sizes it stays. Made for gradients of all data
    at once.
    """

    eta: float = 0.001
    ell: tuple[float, float] = (0.5, 1.2)
    gamma: tuple[float, float] = (1e-6, 50.0)

    def init(self, x: Any) -> dict[str, Any]:
        return {"slope": np.zeros_like(x), "rate": np.full_like(x, self.eta)}

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        slope, rate = memory["slope"], memory["rate"]
        turned = slope * g
        shrunk = np.maximum(rate * self.ell[0], self.gamma[0])
        grown = np.minimum(rate * self.ell[1], self.gamma[1])
        rate[...] = np.where(turned > 0, grown, np.where(turned < 0, shrunk, rate))
        slope[...] = np.where(turned < 0, 0, g)
        return rate * np.sign(slope)


@dataclass(frozen=True)
class AdaGrad(Fusible):
    """``eta * g / sqrt(sum of all g**2 so far)`` (Duchi and others, 2011; Flux: ``AdaGrad``)."""

    eta: float = 0.1
    epsilon: float = 1e-8

    def init(self, x: Any) -> dict[str, Any]:
        return {"square": np.full_like(x, self.for_type_of(x).epsilon)}

    def formula(self, x, g, square):
        square += g * g
        return self.eta * g / (np.sqrt(square) + self.epsilon)


@dataclass(frozen=True)
class AdaDelta(Fusible):
    """Steps as large as those before them were, so without a rate (Zeiler, 2012; Flux: ``AdaDelta``)."""

    rho: float = 0.9
    epsilon: float = 1e-8
    remembers = "square step"

    def formula(self, x, g, square, step):
        keep(square, self.rho, g * g)
        change = g * np.sqrt(step + self.epsilon) / np.sqrt(square + self.epsilon)
        keep(step, self.rho, change * change)
        return change


@dataclass(frozen=True)
class RMSProp(Fusible):
    """``eta * g / sqrt(running mean of g**2)`` (Hinton, 2012; Flux: ``RMSProp``).

    With `centred`, the square of the mean is taken off, which leaves the variance.
    """

    eta: float = 0.001
    rho: float = 0.9
    epsilon: float = 1e-8
    centred: bool = field(default=False, kw_only=True)

    def init(self, x: Any) -> dict[str, Any]:
        return {name: np.zeros_like(x) for name in ("square", "mean")[: 1 + self.centred]}

    def formula(self, x, g, square, mean=None):
        keep(square, self.rho, g * g)
        if mean is not None:
            keep(mean, self.rho, g)
            square = square - mean**2
        return self.eta * g / (np.sqrt(square) + self.epsilon)


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
    remembers = "mean square steps"

    def numbers(self, memory: dict[str, Any]) -> tuple:
        memory["steps"] = steps = memory["steps"] + 1  # at first the means are too small: they start at 0
        of_mean, of_square = self.beta
        return self.eta / (1 - of_mean**steps), 1 - of_square**steps

    def formula(self, x, g, mean, square, steps, rate, start):
        keep(mean, self.beta[0], g)
        keep(square, self.beta[1], g * g)
        scale = np.sqrt(square / start)
        scale += self.epsilon
        return rate * mean / scale


@dataclass(frozen=True)
class AdamW(Adam):
    """`Adam` that also shrinks the parameters, by a share of their size (Loshchilov and Hutter, 2019; Flux: ``AdamW``).

    `decay` is Flux's ``lambda`` and PyTorch's ``weight_decay``. It's 0 unless you give it, as in Flux, and then this is
    `Adam`. The share is ``eta * decay`` if `couple`, as in PyTorch, or `decay` alone, as in the paper.
    """

    epsilon: float = field(default=1e-8, kw_only=True)  # in PyTorch it's where `decay` is here
    decay: float = 0.0
    couple: bool = field(default=True, kw_only=True)

    def numbers(self, memory: dict[str, Any]) -> tuple:
        return self.eta * self.decay if self.couple else self.decay, *super().numbers(memory)

    def formula(self, x, g, mean, square, steps, share, *numbers):
        return super().formula(x, g, mean, square, steps, *numbers) + share * x


@dataclass(frozen=True)
class NAdam(Adam):
    """`Adam` with the look ahead of `Nesterov` (Dozat, 2016; Flux: ``NAdam``)."""

    def numbers(self, memory: dict[str, Any]) -> tuple:
        _, start = super().numbers(memory)
        (of_mean, of_square), steps = self.beta, memory["steps"]
        return of_mean / (1 - of_mean ** (steps + 1)), (1 - of_mean) / (1 - of_mean**steps), of_square / start

    def formula(self, x, g, mean, square, steps, kept, ahead, scale):
        keep(mean, self.beta[0], g)
        keep(square, self.beta[1], g * g)
        return self.eta * (mean * kept + ahead * g) / (np.sqrt(square * scale) + self.epsilon)


@dataclass(frozen=True)
class RAdam(Adam):
    """`Adam` that makes plain steps until its scale can be trusted (Liu and others, 2020; Flux: ``RAdam``).

    It trusts above 4, as in the paper; PyTorch's above 5, which is a plain step more.
    """

    def numbers(self, memory: dict[str, Any]) -> tuple:
        rate, start = super().numbers(memory)
        most = 2 / (1 - self.beta[1]) - 1
        known, trust = most - 2 * memory["steps"] * (1 - start) / start, None
        if known > 4:
            trust = math.sqrt((known - 4) * (known - 2) * most / ((most - 4) * (most - 2) * known))
        return rate, start, trust

    def formula(self, x, g, mean, square, steps, rate, start, trust):
        keep(mean, self.beta[0], g)
        keep(square, self.beta[1], g * g)
        step = rate * mean
        return step if trust is None else trust * step / (np.sqrt(square / start) + self.epsilon)


@dataclass(frozen=True)
class AdaMax(Adam):
    """`Adam` with the largest gradient in place of the mean of squares (Kingma and Ba, 2015; Flux: ``AdaMax``)."""

    remembers = "mean largest steps"

    def formula(self, x, g, mean, largest, steps, rate, start):
        keep(mean, self.beta[0], g)
        largest *= self.beta[1]
        largest[...] = np.maximum(largest, np.abs(g))
        return rate * mean / (largest + self.epsilon)


@dataclass(frozen=True)
class OAdam(Adam):
    """`Adam` that takes each step twice and the one before it back, for GANs (Daskalakis, 2018; Flux: ``OAdam``)."""

    beta: tuple[float, float] = (0.5, 0.9)
    remembers = "mean square steps before"

    def formula(self, x, g, mean, square, steps, before, *numbers):
        step = super().formula(x, g, mean, square, steps, *numbers)
        change = 2 * step - before
        before[...] = step
        return change


@dataclass(frozen=True)
class AMSGrad(Adam):
    """`Adam` whose scale never shrinks; uncorrected, as in Flux (Reddi and others, 2018; Flux: ``AMSGrad``)."""

    def init(self, x: Any) -> dict[str, Any]:
        return {name: np.full_like(x, self.for_type_of(x).epsilon) for name in ("mean", "square", "largest")}

    def numbers(self, memory: dict[str, Any]) -> tuple:
        return ()

    def formula(self, x, g, mean, square, largest):
        keep(mean, self.beta[0], g)
        keep(square, self.beta[1], g * g)
        largest[...] = np.maximum(largest, square)
        return self.eta * mean / (np.sqrt(largest) + self.epsilon)


@dataclass(frozen=True)
class AdaBelief(Adam):
    """`Adam` scaled by how far the gradient is from its mean (Zhuang and others, 2020; Flux: ``AdaBelief``)."""

    epsilon: float = 1e-16

    def formula(self, x, g, mean, square, steps, rate, start):
        keep(mean, self.beta[0], g)
        keep(square, self.beta[1], (g - mean) ** 2)
        square += self.epsilon
        return rate * mean / (np.sqrt(square / start) + self.epsilon)


def keep(mean, share, new):
    """A running mean: it keeps `share` of itself, and the rest comes from `new`."""
    mean *= share
    mean += (1 - share) * new
