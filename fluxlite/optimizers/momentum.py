"""Rules that follow the gradient, or a running mean of it, with one rate for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Formula


@dataclass(frozen=True)
class Descent(Formula):
    """``x -= eta * g`` (Flux: ``Descent``).

    >>> x = np.ones(2)
    >>> Descent(0.5).apply({}, x, np.array([1.0, 2.0]))
    >>> x
    array([0.5, 0. ])
    """

    eta: float = 0.1

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        return self.eta * g


@dataclass(frozen=True)
class Momentum(Formula):
    """``v = rho * v + eta * g; x -= v`` (Flux: ``Momentum``).

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(Momentum(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.9, 2. ])
    """

    eta: float = 0.01
    rho: float = 0.9

    def init(self, x: Any) -> dict[str, Any]:
        return {"velocity": np.zeros_like(x)}

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        velocity = memory["velocity"]
        velocity *= self.rho
        velocity += self.eta * g
        return velocity


@dataclass(frozen=True)
class Nesterov(Momentum):
    """`Momentum` that looks a step ahead: ``v = rho * v + eta * g; x -= rho * v + eta * g`` (Flux: ``Nesterov``).

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(Nesterov(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.81, 2.9 ])
    """

    eta: float = 0.001

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        return self.rho * super().change(memory, x, g) + self.eta * g


@dataclass(frozen=True)
class Lion(Formula):
    """Steps of one size: the sign of a running mean (Chen and others, 2023; Flux: ``Lion``).

    The formula is the paper's, and so is `beta`. Optimisers.jl 0.4 swaps the shares of the old mean and of the
    gradient, which leaves next to no memory.

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(Lion(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.9, 1.1])
    """

    eta: float = 0.001
    beta: tuple[float, float] = (0.9, 0.99)

    def init(self, x: Any) -> dict[str, Any]:
        return {"mean": np.zeros_like(x)}

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        (now, later), mean = self.beta, memory["mean"]
        step = self.eta * np.sign(now * mean + (1 - now) * g)
        mean *= later
        mean += (1 - later) * g
        return step


@dataclass(frozen=True)
class Rprop(Formula):
    """A rate for each number, which grows while its slope keeps its sign (Riedmiller and Braun, 1993; Flux: ``Rprop``).

    `ell` says by what a rate shrinks and grows, `gamma` between which sizes it stays. Made for gradients of all data
    at once.

    >>> w = np.ones(2)
    >>> fl.update(fl.setup(Rprop(0.1), w), w, np.array([1.0, -10.0]))[1]
    array([0.9, 1.1])
    """

    eta: float = 0.001
    ell: tuple[float, float] = (0.5, 1.2)
    gamma: tuple[float, float] = (1e-6, 50.0)

    def init(self, x: Any) -> dict[str, Any]:
        return {"slope": np.zeros_like(x), "rate": np.full_like(x, self.eta)}

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        rate, turned = memory["rate"], memory["slope"] * g
        shrunk = np.maximum(rate * self.ell[0], self.gamma[0])
        grown = np.minimum(rate * self.ell[1], self.gamma[1])
        rate[...] = np.where(turned > 0, grown, np.where(turned < 0, shrunk, rate))
        memory["slope"][...] = np.where(turned < 0, 0, g)
        return rate * np.sign(memory["slope"])
