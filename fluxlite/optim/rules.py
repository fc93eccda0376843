"""The optimizers' formulas: by how much a parameter changes. The rules are those of Optimisers.jl, under its names.

``update.py`` says how a step is taken.
"""

import copy
import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..annotations import Array, Model, Tree
from ..array_kinds import launcher_of
from ..arrays import astype, device_of, is_half, move, on_card_of, wide
from ..coming_from import KEYWORDS, sentence
from ..tree.walks import fmap, leaves, nodes
from ..words import check_bool, check_number, check_whole, explained, in_words
from .update import Leaf, OptimiserRule, StateTree, change_by, hyperparameters, in_full, takes_float16

# A number has one name in all rules. It's at least 0, and below this.
_BELOW = {
    "eta": math.inf, "epsilon": math.inf, "decay": math.inf, "delta": math.inf, "omega": math.inf, "ell": math.inf,
    "gamma": math.inf, "rho": 1, "beta": 1,
}  # fmt: skip
_PAIRS = ("beta", "ell", "gamma")
_COUNTS = ("steps", "count")  # what's remembered as a number, not as an array
_IN_WORDS = {"eta": "the learning rate eta"}


class Formula(OptimiserRule):
    """A rule of the library: a frozen dataclass of numbers, which are checked. What it `remembers` begins at 0."""

    remembers = ""

    def __new__(cls, *args: Any, **fields: Any) -> "Formula":
        own = getattr(cls, "__dataclass_fields__", {})
        for name in fields:
            if name in KEYWORDS and name not in own:
                raise TypeError(f"{cls.__name__} has no {name!r}. {sentence(KEYWORDS[name])}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, value in hyperparameters(self).items():
            place = f"{type(self).__name__}: {_IN_WORDS.get(name, name)}"
            if name in _PAIRS:
                _check_pair(place, value, _BELOW[name])
            elif name in _BELOW:
                check_number(place, value, _BELOW[name])
            elif name in ("centred", "couple"):
                check_bool(place, value)

    def init(self, x: Array) -> dict[str, Any]:
        memory: dict[str, Any] = {}
        for name in self.remembers.split():
            if name in _COUNTS:
                memory[name] = 0
            else:
                memory[name] = np.zeros_like(x)
        return memory


def _check_pair(place: str, value: object, below: float) -> None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{place} is two numbers such as (0.9, 0.999), got {in_words(value)}")
    for number in value:
        check_number(place, number, below)


# -- one rate for all numbers ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Descent(Formula):
    """``x -= eta * g`` (Flux: ``Descent``)."""

    eta: float = 0.1

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array:
        return self.eta * g


@dataclass(frozen=True)
class Momentum(Formula):
    """``v = rho * v + eta * g; x -= v`` (Flux: ``Momentum``)."""

    eta: float = 0.01
    rho: float = 0.9
    remembers = "velocity"

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array:
        velocity = memory["velocity"]
        velocity *= self.rho
        velocity += self.eta * g
        return velocity


@dataclass(frozen=True)
class Nesterov(Momentum):
    """`Momentum` that looks a step ahead: ``v = rho * v + eta * g; x -= rho * v + eta * g`` (Flux: ``Nesterov``)."""

    eta: float = 0.001

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array:
        return self.rho * super().change(memory, x, g) + self.eta * g


@dataclass(frozen=True)
class Lion(Formula):
    """Steps of one size: the sign of a running mean, as in the paper (Chen and others, 2023; Flux: ``Lion``)."""

    eta: float = 0.001
    beta: tuple[float, float] = (0.9, 0.99)  # Optimisers.jl 0.4 swaps their roles, which leaves little memory
    remembers = "mean"

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array:
        now, later = self.beta
        mean = memory["mean"]
        step = self.eta * np.sign(now * mean + (1 - now) * g)
        keep(mean, later, g)
        return step


@dataclass(frozen=True)
class Rprop(Formula):
    """A rate for each number, which grows while its slope keeps its sign (Riedmiller, Braun, 1993; Flux: ``Rprop``)."""

    eta: float = 0.001
    ell: tuple[float, float] = (0.5, 1.2)  # by what a rate shrinks and grows
    gamma: tuple[float, float] = (1e-6, 50.0)  # between these it stays

    def init(self, x: Array) -> dict[str, Any]:
        return {"slope": np.zeros_like(x), "rate": np.full_like(x, self.eta)}

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array:
        slope = memory["slope"]
        rate = memory["rate"]
        turned = slope * g
        shrunk = np.maximum(rate * self.ell[0], self.gamma[0])
        grown = np.minimum(rate * self.ell[1], self.gamma[1])
        if_not_grown = np.where(turned < 0, shrunk, rate)
        rate[...] = np.where(turned > 0, grown, if_not_grown)
        slope[...] = np.where(turned < 0, 0, g)
        return rate * np.sign(slope)


# -- a rate for each number: Adam and its kin --------------------------------------------------------------------------


class Fusible(Formula):
    """A rule that works on each element by itself: on a GPU, a parameter's step is one launch."""

    def formula(self, x: Any, g: Any, *remembered_and_numbers: Any) -> Any:
        """What to subtract from `x`, whose gradient is `g`. Changes what's remembered in place, and nothing else.

        What's remembered comes in the order of `init`, then the numbers that `begin_step` has given.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a formula(x, g, …)")

    def begin_step(self, memory: dict[str, Any]) -> tuple:
        """Count the step in `memory`. Gives what the host computes once for it, such as ``1 - beta**steps``."""
        return ()

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array | None:
        if launcher_of(x) is not None:
            return self._launch_formula(memory, x, g, False)
        return self.formula(x, g, *memory.values(), *self.begin_step(memory))

    @takes_float16
    def apply(self, memory: dict[str, Any], x: Array, g: Array) -> tuple[dict[str, Any], Array | None] | None:
        if launcher_of(x) is None or type(self).change is not Fusible.change:  # one of your own may do anything
            return super().apply(memory, x, g)
        if is_half(x):
            memory = in_full(memory)
        self._launch_formula(memory, x, g, True)
        return None

    def _launch_formula(self, memory: dict[str, Any], x: Array, g: Array, takes_step: bool) -> Array | None:
        """What to subtract from `x`, in one launch; if it `takes_step`, it's subtracted in that launch, and None."""
        tuple_lengths: list[tuple[str, int]] = []
        numbers: list[float] = []
        constants: list[tuple[str, Any]] = []
        for name, value in hyperparameters(self).items():
            if isinstance(value, (tuple, list)) and all(isinstance(number, tuple(NUMBER_TYPES)) for number in value):
                tuple_lengths.append((name, len(value)))
                numbers.extend(value)
            elif name in _BELOW or isinstance(value, (np.floating, *NUMBER_TYPES[1:])):
                tuple_lengths.append((name, _NO_TUPLE))
                numbers.append(value)
            else:
                constants.append((name, value))
        kind: Any = type(self)
        function = _function_to_launch(kind, tuple(tuple_lengths), tuple(constants), takes_step)
        launch: Any = launcher_of(x)
        return launch(function, (x, g, *numbers, *memory.values(), *self.begin_step(memory)))


NUMBER_TYPES: list[type] = [int, float]  # of a rule's numbers; `captured` adds those that each replay reads
_NO_TUPLE = -1  # the length of what's one number


@functools.cache
def _function_to_launch(
    kind: type, tuple_lengths: tuple[tuple[str, int], ...], constants: tuple, takes_step: bool
) -> Callable:
    """The formula of a rule of this `kind`; if it `takes_step`, it also changes the parameter.

    The rule's own numbers are arguments too: as constants in a kernel, each new rate would make a new one. Those in a
    tuple are an argument each, and `tuple_lengths` says how many to put together.
    """

    def change(x: Array, g: Array, *given: Any) -> Array:
        rule: Any = object.__new__(kind)
        for name, value in constants:
            object.__setattr__(rule, name, value)
        rest = iter(given)
        for name, length in tuple_lengths:
            if length == _NO_TUPLE:
                value = next(rest)
            else:
                value = tuple(next(rest) for _ in range(length))
            object.__setattr__(rule, name, value)
        return rule.formula(x, g, *rest)

    def step(x: Array, g: Array, *given: Any) -> None:
        if is_half(x):  # still one launch, which computes in float32
            x[...] = astype(wide(x) - change(wide(x), wide(g), *given), x.dtype)
        else:
            x -= change(x, g, *given)

    chosen = step if takes_step else change
    chosen.__name__ = kind.__name__.lower()  # the launch gets this name, too
    return chosen


def keep(mean, share, new):
    """A running mean: it keeps `share` of itself, and the rest comes from `new`."""
    mean *= share
    mean += (1 - share) * new


@dataclass(frozen=True)
class AdaGrad(Fusible):
    """``eta * g / sqrt(sum of all g**2 so far)`` (Duchi and others, 2011; Flux: ``AdaGrad``)."""

    eta: float = 0.1
    epsilon: float = 1e-8

    def init(self, x: Array) -> dict[str, Any]:
        return {"square": np.full_like(x, self.epsilon)}

    def formula(self, x, g, square):
        square += g * g
        return self.eta * g / (np.sqrt(square) + self.epsilon)


@dataclass(frozen=True)
class AdaDelta(Fusible):
    """Steps as large as those before them were, so without a rate (Zeiler, 2012; Flux: ``AdaDelta``).

    PyTorch has a rate, which is 1, and another `epsilon`: ``AdaDelta(epsilon=1e-6)`` takes the same steps.
    """

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
    """``eta * g / sqrt(running mean of g**2)``; if `centred`, of their variance (Hinton, 2012; Flux: ``RMSProp``)."""

    eta: float = 0.001
    rho: float = 0.9
    epsilon: float = 1e-8
    centred: bool = field(default=False, kw_only=True)

    def init(self, x: Array) -> dict[str, Any]:
        memory = {"square": np.zeros_like(x)}
        if self.centred:
            memory["mean"] = np.zeros_like(x)
        return memory

    def formula(self, x, g, square, mean=None):
        keep(square, self.rho, g * g)
        if mean is not None:
            keep(mean, self.rho, g)
            square = np.maximum(square - mean**2, 0)  # of steady gradients, rounding would leave less than 0
        return self.eta * g / (np.sqrt(square) + self.epsilon)


@dataclass(frozen=True)
class Adam(Fusible):
    """Steps scaled by running means of the gradient and of its square (Flux: ``Adam``; Kingma and Ba, 2015).

    `eta` is the learning rate (PyTorch: ``lr``). `beta` says what share of itself each mean keeps in a step
    (``betas``). `epsilon` is added to the root of the second one, which may be 0 (``eps``). PyTorch has these defaults.
    """

    eta: float = 0.001
    beta: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    remembers = "mean square steps"

    def begin_step(self, memory: dict[str, Any]) -> tuple:
        memory["steps"] += 1
        steps = memory["steps"]
        of_mean, of_square = self.beta
        # At first the means are too small: they start at 0.
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

    The share is ``eta * decay`` if `couple`, as in PyTorch, or `decay` (Flux: ``lambda``) alone, as in the paper.
    PyTorch calls it ``weight_decay``, with 0.01 as the default.
    """

    epsilon: float = field(default=1e-8, kw_only=True)  # in PyTorch it's where `decay` is here
    decay: float = 0.0
    couple: bool = field(default=True, kw_only=True)

    def begin_step(self, memory: dict[str, Any]) -> tuple:
        share = self.decay
        if self.couple:
            share = self.eta * self.decay
        return share, *super().begin_step(memory)

    def formula(self, x, g, mean, square, steps, share, *numbers):
        return super().formula(x, g, mean, square, steps, *numbers) + share * x


@dataclass(frozen=True)
class NAdam(Adam):
    """`Adam` with the look ahead of `Nesterov` (Dozat, 2016; Flux: ``NAdam``).

    The first `beta` stays the same, as in Flux. PyTorch's begins at half of it and grows, so its steps differ.
    """

    def begin_step(self, memory: dict[str, Any]) -> tuple:
        _, start = super().begin_step(memory)
        of_mean, of_square = self.beta
        steps = memory["steps"]
        kept = of_mean / (1 - of_mean ** (steps + 1))
        ahead = (1 - of_mean) / (1 - of_mean**steps)
        return kept, ahead, of_square / start

    def formula(self, x, g, mean, square, steps, kept, ahead, scale):
        keep(mean, self.beta[0], g)
        keep(square, self.beta[1], g * g)
        looked_ahead = mean * kept + ahead * g
        return self.eta * looked_ahead / (np.sqrt(square * scale) + self.epsilon)


@dataclass(frozen=True)
class RAdam(Adam):
    """`Adam` that makes plain steps until its scale can be trusted (Liu and others, 2020; Flux: ``RAdam``).

    As in the paper, that's when `known` passes 4. PyTorch waits for 5, which is one more plain step.
    """

    def begin_step(self, memory: dict[str, Any]) -> tuple:
        rate, start = super().begin_step(memory)
        most = 2 / (1 - self.beta[1]) - 1
        known = most - 2 * memory["steps"] * (1 - start) / start
        trust = None
        if known > 4:
            trust = math.sqrt((known - 4) * (known - 2) * most / ((most - 4) * (most - 2) * known))
        return rate, start, trust

    def formula(self, x, g, mean, square, steps, rate, start, trust):
        keep(mean, self.beta[0], g)
        keep(square, self.beta[1], g * g)
        step = rate * mean
        if trust is None:
            return step
        return trust * step / (np.sqrt(square / start) + self.epsilon)


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
    """`Adam` whose scale never shrinks (Reddi and others, 2018; Flux: ``AMSGrad``).

    As in Flux, nothing makes up for means that start near 0. PyTorch does, so its first steps are shorter.
    """

    def init(self, x: Array) -> dict[str, Any]:
        return {name: np.full_like(x, self.epsilon) for name in ("mean", "square", "largest")}

    def begin_step(self, memory: dict[str, Any]) -> tuple:
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


# -- before another rule -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OptimiserChain(OptimiserRule):
    """Rules one after the other: what one gives is the gradient for the next (Flux: ``OptimiserChain``).

    ``OptimiserChain(ClipGrad(1.0), WeightDecay(0.1), Descent(0.5))``: the last one takes the step.
    """

    rules: tuple[OptimiserRule, ...]

    def __init__(self, *rules: OptimiserRule):
        if not rules or not all(isinstance(rule, OptimiserRule) for rule in rules):
            raise TypeError(f"OptimiserChain(*rules) takes rules such as Adam(), at least one; got {in_words(rules)}")
        object.__setattr__(self, "rules", rules)

    def init(self, x: Array) -> dict[str, Any]:
        return {f"{i}": rule.init(x) for i, rule in enumerate(self.rules)}

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array | None:
        change: Array | None = g
        for i, rule in enumerate(self.rules):
            if change is None:
                break
            memory[f"{i}"], change = change_by(rule, memory[f"{i}"], x, change)
        return change

    def __repr__(self) -> str:
        return f"OptimiserChain({', '.join(map(repr, self.rules))})"


@dataclass(frozen=True)
class WeightDecay(Formula):
    """``g + decay * x``, the slope of ``decay / 2 * x**2``; with `Adam` it isn't `AdamW` (Flux: ``WeightDecay``)."""

    decay: float = 5e-4

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array:
        return g + self.decay * x


@dataclass(frozen=True)
class SignDecay(Formula):
    """``g + decay * sign(x)``, the slope of an L1 penalty ``decay * |x|`` (Flux: ``SignDecay``)."""

    decay: float = 1e-3

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array:
        return g + self.decay * np.sign(x)


@dataclass(frozen=True)
class ClipGrad(Formula):
    """Each number of the gradient cut off at ``±delta`` (Flux: ``ClipGrad``)."""

    delta: float = 10.0

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array:
        return np.clip(g, -self.delta, self.delta)


@dataclass(frozen=True)
class ClipNorm(Formula):
    """A gradient whose norm is above `omega` made shorter, in its direction (Flux: ``ClipNorm``).

    It's each parameter's own norm (`clip_grad_norm` takes all); `p` is 2, 1 or infinity. `FloatingPointError` if
    the norm isn't finite; on a GPU, where the program would have to wait for that, the parameter becomes NaN.
    """

    omega: float = 10.0
    p: float = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.shape(self.p) or self.p not in (1, 2, math.inf):
            raise ValueError(f"ClipNorm: p is 1, 2 or math.inf, got {in_words(self.p)}")
        if self.p < math.inf:
            object.__setattr__(self, "p", int(self.p))  # a choice, and not one of the numbers that a schedule changes

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array:
        if self.p == 2:
            norm = np.sqrt(np.sum(g * g))
        elif self.p == 1 or not g.size:  # nothing has no maximum
            norm = np.sum(np.abs(g))
        else:
            norm = np.max(np.abs(g))
        if isinstance(norm, (float, np.floating)) and not np.isfinite(norm):
            raise FloatingPointError(f"the gradient of a parameter of shape {x.shape} has the {self.p}-norm {norm}")
        return g * np.minimum(self.omega / np.maximum(norm, 1e-30), 1)


@dataclass(frozen=True)
class AccumGrad(Formula):
    """The mean of `n` gradients, then a step, none in between (Flux: ``AccumGrad``): a large batch in small parts."""

    n: int
    remembers = "mean count"

    def __post_init__(self) -> None:
        check_whole("AccumGrad(n), the number of gradients,", self.n, least=1)

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array | None:
        mean = memory["mean"]
        if memory["count"] >= self.n:  # more, if `adjust` has made `n` smaller
            mean[...] = 0
            memory["count"] = 0
        mean += g / self.n
        memory["count"] += 1
        if memory["count"] < self.n:
            return None
        return mean


@explained("what gradient(f, model)[0] gives, and a number")
def clip_grad_norm(grads: Model, max_norm: float) -> tuple[Model, Array | float]:
    """Gradients of a whole model made shorter if their norm, of all numbers together, is above `max_norm`.

    Returns new ones and the old norm, on its device (PyTorch: ``clip_grad_norm_``). If it isn't finite, skip the step.
    """
    check_number("clip_grad_norm(grads, max_norm): max_norm", max_norm)
    arrays = [g for g in leaves(grads) if g is not None]
    if not arrays:
        return grads, 0.0
    squares = []
    for g in arrays:
        with on_card_of(g):
            numbers = g
            if g.dtype.itemsize <= 2:  # the square of a half is too large
                numbers = wide(g)
            numbers = np.ravel(numbers)
            squares.append(move(np.sum(numbers * numbers, keepdims=True), device_of(arrays[0])))
    with on_card_of(arrays[0]):
        norm = np.sqrt(sum(squares))
        scale = np.minimum(max_norm / (norm + 1e-6), 1)
        size = norm[0]

    def shorter(g: Array | None) -> Array | None:
        if g is None:
            return None
        with on_card_of(g):
            its = wide(g)  # in float16, a small scale would lose digits
            its_scale = astype(move(scale, device_of(g)), its.dtype)
            return astype(its * its_scale[0], g.dtype)

    return fmap(shorter, grads), size


# -- in the middle of a training ---------------------------------------------------------------------------------------


@explained()
def adjust(state: StateTree, eta: float | None = None, **fields: Any) -> StateTree:
    """Change the learning rate, or other numbers of the rules, in `state` or a part of it (Flux: ``adjust!``).

    What the rules remember stays. Returns `state`. Raises `TypeError` for what isn't a state or holds no rule with
    such a number. PyTorch's parameter groups are a loop over `trainables`, here for biases that shouldn't decay:

    >>> model = fl.Dense(3, 2)
    >>> state = fl.setup(fl.AdamW(decay=0.1), model)
    >>> biases = [adjust(state[path], decay=0.0) for path, x in fl.trainables(model) if x.ndim < 2]
    >>> state.weight.rule.decay, state.bias.rule.decay
    (0.1, 0.0)
    """
    if eta is not None:
        fields["eta"] = eta
    if not fields:
        raise TypeError("adjust(state, eta) takes the new learning rate, or others by name: adjust(state, rho=0.8)")
    found = _leaves(state)
    known: set[str] = set()
    for leaf in found:
        for rule in _single_rules(leaf.rule):
            known.update(hyperparameters(rule))
    for name in fields:
        if name not in known:
            raise TypeError(f"no rule in this state has {name!r}; there are {', '.join(sorted(known)) or 'none'}")
    _adjust_all(found, fields)
    if "eta" in fields:
        for leaf in found:
            leaf.own_rate = None
    return state


def set_rates(state: Tree, eta: float) -> None:
    """Set the rates by a schedule: `eta` for the largest of them, and the others keep their ratio to it."""
    check_number("the learning rate eta", eta)
    groups: dict[float, list[Leaf]] = {}
    for leaf, share in rate_shares(state):
        groups.setdefault(share, []).append(leaf)
    for share, found in groups.items():
        _adjust_all(found, {"eta": eta * share})


def rate_shares(state: Tree) -> list[tuple[Leaf, float]]:
    """(leaf, its own rate as a share of the largest that isn't frozen), of all leaves that have a rate."""
    rates: list[tuple[Leaf, float]] = []
    for leaf in _leaves(state):
        numbers = [hyperparameters(rule) for rule in _single_rules(leaf.rule)]
        found = [its["eta"] for its in numbers if "eta" in its]
        if not found:
            continue
        if leaf.own_rate is None:
            leaf.own_rate = max(found)
        rates.append((leaf, leaf.own_rate))
    largest = max((rate for leaf, rate in rates if not leaf.frozen), default=0.0)
    if not largest:
        return [(leaf, 1.0) for leaf, _ in rates]
    return [(leaf, rate / largest) for leaf, rate in rates]


@explained()
def freeze(state: StateTree) -> StateTree:
    """Make `update` leave out the parameters of this state, or part of one, until `thaw` (Flux: ``freeze!``).

    A part is ``state.layers[0]``, or ``state[path]`` with a path of `trainables`, as in the example at `adjust`. `load`
    brings back what the rules remember, not this, nor their numbers: freeze again before you go on. Returns `state`.
    """
    for leaf in _leaves(state):
        leaf.frozen = True
    return state


@explained()
def thaw(state: StateTree) -> StateTree:
    """End what `freeze` began, for this state or part of one (Flux: ``thaw!``)."""
    for leaf in _leaves(state):
        leaf.frozen = False
    return state


def _leaves(state: Tree) -> list[Leaf]:
    found = [node for _, node in nodes(state) if isinstance(node, Leaf)]
    if not found:
        raise TypeError("what's adjusted is the state that setup(rule, model) gives, or a part such as state.layers[0]")
    return found


def _adjust_all(leaves: list[Leaf], fields: dict[str, Any]) -> None:
    """Give the leaves new rules with these `fields`. Those that share a rule still do."""
    adjusted: dict[int, tuple[OptimiserRule, OptimiserRule]] = {}  # by id: the old one, which lives on, and the new
    for leaf in leaves:
        if id(leaf.rule) not in adjusted:
            adjusted[id(leaf.rule)] = (leaf.rule, _adjust_rule(leaf.rule, fields))
    for leaf in leaves:
        _, leaf.rule = adjusted[id(leaf.rule)]


def _single_rules(rule: OptimiserRule) -> list[OptimiserRule]:
    """The rule and those inside it, but no chain."""
    if rule.rules:
        parts = list(rule.rules)
        found = []
    else:
        parts = list(_inner_rules(rule).values())
        found = [rule]
    for part in parts:
        found += _single_rules(part)
    return found


def _inner_rules(rule: OptimiserRule) -> dict[str, OptimiserRule]:
    """A rule of yours may hold another one."""
    return {name: value for name, value in hyperparameters(rule).items() if isinstance(value, OptimiserRule)}


def _adjust_rule(rule: OptimiserRule, fields: dict[str, Any]) -> OptimiserRule:
    if rule.rules:
        chain = copy.copy(rule)
        object.__setattr__(chain, "rules", tuple(_adjust_rule(part, fields) for part in rule.rules))
        return chain
    known = hyperparameters(rule)
    own = {name: value for name, value in fields.items() if name in known}
    for name, inner in _inner_rules(rule).items():
        own[name] = _adjust_rule(inner, fields)
    if dataclasses.is_dataclass(rule):
        return dataclasses.replace(rule, **own)  # type: ignore[return-value]
    adjusted = copy.copy(rule)
    vars(adjusted).update(own)
    return adjusted
