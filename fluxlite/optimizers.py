"""Optimizers: rules that change parameters by their gradients.

``state = setup(Adam(), model)`` makes what the rule needs to remember, a tree beside the model; then, for each step,
``update(state, model, grads)``. Flux: ``Flux.setup``, ``update!``; the rules are those of Optimisers.jl.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import device_of
from .autodiff.collecting import Gradient, Record
from .autodiff.levels import PARAMETERS
from .autodiff.tracked import TrackedArray
from .messages import warn
from .tree.contract import children, fields_of, functor, is_leaf, trainable
from .tree.parameters import is_trainable_array
from .tree.ties import is_array, parameter_key, same_view
from .tree.walks import KeyPath, Walk, fmap, steps
from .unreached import say_what_is_not_trained

# ---------------------------------------------------------------------------------------------
# The rules
# ---------------------------------------------------------------------------------------------


class Rule:
    """An optimizer's formula: what it remembers of a parameter, and how it changes it."""

    def init(self, x: Any) -> dict[str, Any]:
        """What is remembered about the parameter `x` before the first step."""
        return {}

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        """Change `x`, and `memory`, in place, for the gradient `g`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Descent(Rule):
    """``x -= eta * g`` (Flux: ``Descent``).

    >>> x = np.ones(2)
    >>> Descent(0.5).apply({}, x, np.array([1.0, 2.0]))
    >>> x
    array([0.5, 0. ])
    """

    eta: float = 0.1

    def __post_init__(self) -> None:
        _check("the learning rate eta", self.eta)

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        x -= self.eta * g


@dataclass(frozen=True)
class Momentum(Rule):
    """``v = rho * v + eta * g; x -= v`` (Flux: ``Momentum``)."""

    eta: float = 0.01
    rho: float = 0.9

    def __post_init__(self) -> None:
        _check("the learning rate eta", self.eta)
        _check("rho", self.rho, below=1)

    def init(self, x: Any) -> dict[str, Any]:
        return {"velocity": np.zeros_like(x)}

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        velocity = memory["velocity"]
        velocity *= self.rho
        velocity += self.eta * g
        x -= velocity


@dataclass(frozen=True)
class Adam(Rule):
    """Steps scaled by running means of the gradient and of its square (Flux: ``Adam``; Kingma and Ba, 2015)."""

    eta: float = 0.001
    beta: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _check("the learning rate eta", self.eta)
        _check("epsilon", self.epsilon)
        if not isinstance(self.beta, (tuple, list)) or len(self.beta) != 2:
            raise TypeError(f"beta is two numbers such as (0.9, 0.999), got {self.beta!r}")
        for share in self.beta:
            _check("beta", share, below=1)

    def init(self, x: Any) -> dict[str, Any]:
        return {"mean": np.zeros_like(x), "square": np.zeros_like(x), "steps": 0}

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        keep_mean, keep_square = self.beta
        mean, square = memory["mean"], memory["square"]
        memory["steps"] += 1
        mean *= keep_mean
        mean += (1 - keep_mean) * g
        square *= keep_square
        square += (1 - keep_square) * (g * g)
        # Both start at 0 and are too small at first: these factors make up for it.
        rate = self.eta / (1 - keep_mean ** memory["steps"])
        scale = np.sqrt(square / (1 - keep_square ** memory["steps"]))
        scale += self.epsilon if x.dtype.itemsize > 2 else max(self.epsilon, 6e-5)  # half precision takes 1e-8 for 0
        x -= rate * mean / scale


def _check(name: str, value: Any, below: float = math.inf) -> None:
    if not isinstance(value, (int, float, np.floating)) or isinstance(value, bool):
        raise TypeError(f"{name} is a number, got {value!r}")
    if not 0 <= value < below:
        limit = "finite" if below == math.inf else f"less than {below}"
        raise ValueError(f"{name} is at least 0 and {limit}, got {value}")


# ---------------------------------------------------------------------------------------------
# setup and update
# ---------------------------------------------------------------------------------------------


@functor(children=("memory",))
class Leaf:
    """Beside each parameter: the rule, and what it remembers (Optimisers.jl: ``Leaf``)."""

    def __init__(self, rule: Rule, memory: dict[str, Any]):
        self.rule, self.memory = rule, memory

    def __repr__(self) -> str:
        return f"Leaf({self.rule}, {self.memory})"


@functor
class State(Record):
    """The optimizer's memory for a registered object: the same attribute names, a `Leaf` for each parameter."""


def setup(rule: Rule, model: Any) -> Any:
    """The state for training `model` by `rule`: a tree like the model, a `Leaf` for each parameter (Flux: ``setup``).

    A tied parameter has one leaf. What an optimizer needs to remember is made where the parameter is, so move
    the model first. Raises `TypeError` for arguments in the wrong order, `ValueError` for a parameter that cannot be
    changed in place.

    >>> model = {"w": np.ones(2), "name": "w"}
    >>> setup(Descent(0.1), model)
    {'w': Leaf(Descent(eta=0.1), {}), 'name': None}
    """
    if not isinstance(rule, Rule):
        raise TypeError(f"setup(rule, model) takes an optimizer such as Adam() first, got {type(rule).__name__}")
    walk = _Setup(rule)
    state = walk.run(model)
    say_what_is_not_trained(model)
    if not walk.leaves:
        warn("no parameters", f"setup found nothing to train in this {type(model).__name__}")
    return state


class _Setup(Walk):
    """Makes a `Leaf` beside each parameter."""

    def __init__(self, rule: Rule):
        super().__init__()
        self.rule = rule
        self.leaves: dict[tuple, Leaf] = {}

    def leaf(self, path: KeyPath, x: Any, *others: Any) -> Leaf | None:
        if type(x) is not TrackedArray and not is_trainable_array(x):
            return None
        _check_writable(path, x)
        key = parameter_key(x)
        if key not in self.leaves:
            self.leaves[key] = Leaf(self.rule, self.rule.init(x))
        return self.leaves[key]

    def parts(self, x: Any) -> tuple[Any, Any]:
        return trainable(x), None

    def combine(self, x: Any, results: Any, rebuild: Any) -> Any:
        return results if isinstance(x, dict) or not isinstance(results, dict) else State(**results)


def _check_writable(path: KeyPath, x: Any) -> None:
    tracked = type(x) is TrackedArray
    if tracked and x.level is PARAMETERS:
        raise ValueError(
            f"{path or 'this array'} is a param, which is changed by w.data -= rate * w.grad after back; "
            "setup and update take models of plain arrays"
        )
    if tracked:
        x.check_open(str(path))
    flags = getattr(x, "flags", None)
    axes = zip(getattr(x, "strides", ()), x.shape) if x.size else ()  # without elements all strides may be 0
    stretched = any(stride == 0 and length > 1 for stride, length in axes)
    if tracked or stretched or not getattr(flags, "writeable", True):
        raise ValueError(
            f"{path or 'this array'} cannot be changed in place, as nothing can inside a gradient call; "
            "outside of one, give the model a copy of it: x.copy()"
        )


def update(state: Any, model: Any, grads: Any) -> tuple[Any, Any]:
    """Change the parameters of `model`, and `state`, in place for one step; returns both (Flux: ``update!``).

    `grads` is what ``gradient(f, model)[0]`` gives; None in it means no step there. The gradients at all places of a
    tied parameter are added up, and it takes one step. Everything is checked before anything is changed.

    Raises `TypeError` for arguments in the wrong order and a gradient that is no array or elsewhere, `ValueError` for
    one of another shape, and where `state` is not that of `model`.

    >>> model = {"w": np.ones(2)}
    >>> state = setup(Descent(0.5), model)
    >>> state, model = update(state, model, {"w": np.array([1.0, 2.0])})
    >>> model
    {'w': array([0.5, 0. ])}
    """
    for leaf, x, g in _steps(state, model, grads):
        leaf.rule.apply(leaf.memory, x, g)
    return state, model


def _steps(state: Any, model: Any, grads: Any) -> list[tuple[Leaf, Any, Any]]:
    """(state, parameter, gradient) of each step to take, checked. Raises as `update` does, naming the place."""
    try:
        steps: list[tuple[Leaf, Any, Any]] = []
        _pair(model, state, grads, steps)
        owners = {id(x if x.base is None else x.base) for _, x, _ in steps}
        if len(owners) == len(steps):
            return steps
    except _Unusual:
        pass
    return list(_named_steps(state, model, grads))


class _Unusual(Exception):
    """Left to the walk that knows ties, other kinds of arrays and of classes, and the names of places."""


def _pair(x: Any, state: Any, g: Any, steps: list) -> None:
    """Collect the steps of a model of plain NumPy arrays, in which nothing is tied and nothing is wrong."""
    if g is None:
        return
    cls = x.__class__
    if cls is np.ndarray:
        if not _fit_together(x, state, g):
            raise _Unusual
        steps.append((state, x, g))
    elif (cls is list or cls is tuple) and type(state) is type(g) is cls and len(x) == len(state) == len(g):
        for parts in zip(x, state, g):
            _pair(*parts, steps)
    elif fields_of(cls) is not None and type(state) is State and type(g) is Gradient:
        held, states, gradients = x.__dict__, state.__dict__, g.__dict__
        if not held.keys() >= gradients.keys():
            raise _Unusual
        for name, part in gradients.items():
            if part is not None:
                _pair(held[name], states.get(name), part, steps)
    else:
        raise _Unusual


def _fit_together(x: np.ndarray, leaf: Any, g: Any) -> bool:
    """What `_check_step` and `_check_state` look for, in the usual case."""
    owner = x if x.base is None else x.base
    return (
        type(leaf) is Leaf
        and type(g) is np.ndarray
        and x.shape == g.shape
        and x.dtype.kind == g.dtype.kind == "f"
        and x.flags.writeable
        and (owner is x or type(owner) is np.ndarray and owner.base is None and 0 not in x.strides)
        and (not leaf.memory or all(_fits(y, x) for y in leaf.memory.values()))
    )


def _fits(remembered: Any, x: np.ndarray) -> bool:
    return type(remembered) in (int, float) or type(remembered) is np.ndarray and remembered.shape == x.shape


def _named_steps(state: Any, model: Any, grads: Any) -> Iterator[tuple[Leaf, Any, Any]]:
    _check_order(state, model, grads)
    found: dict[tuple, tuple[KeyPath, Any, Leaf, list]] = {}
    for path, x, leaf, g in _beside(KeyPath(), model, state, grads):
        _check_step(path, x, leaf, g)
        _, first, _, so_far = found.setdefault(parameter_key(x), (path, x, leaf, []))
        so_far.append(same_view(first, x, g))
    for path, x, leaf, _ in found.values():
        _check_state(path, x, leaf)
    for _, x, leaf, several in found.values():
        yield leaf, x, sum(several[1:], several[0])


def updated(state: Any, model: Any, grads: Any) -> tuple[Any, Any]:
    """Like `update`, but leaves `state` and `model` as they are and returns new ones (Flux: ``update``)."""
    state, model = fmap(_copy, state), fmap(_copy, model)
    return update(state, model, grads)


def _copy(leaf: Any) -> Any:
    return leaf.copy() if is_array(leaf) else leaf


def _beside(path: KeyPath, x: Any, state: Any, grads: Any) -> Iterator[tuple[KeyPath, Any, Any, Any]]:
    """(path, parameter, state, gradient) wherever there is a gradient."""
    if grads is None:  # a missing branch: no step
        return
    if type(x) is TrackedArray:
        _check_writable(path, x)
    if is_trainable_array(x):
        yield path, x, state, grads
        return
    if is_leaf(grads) and isinstance(x, (float, int, np.floating)) and not isinstance(x, bool):
        raise TypeError(
            f"{path or 'the model'} is the number {x!r}, which update cannot change in place: make it an array, "
            f"np.array({float(x)!r})"
        )
    parts, parts_of_grads = trainable(x), children(grads)[0]
    if len(parts) == 0 or isinstance(grads, tuple) and len(grads) == 0:
        return
    if is_leaf(grads) or isinstance(parts, Mapping) != isinstance(parts_of_grads, Mapping):
        name = path or "the model"
        raise TypeError(f"{name} is a {type(x).__name__}, its gradient a {type(grads).__name__}. {_USAGE}")
    _check_places(path, x, parts_of_grads)
    parts_of_state = children(state)[0]
    for step, part in steps(x, parts):
        yield from _beside(path + (step,), part, _part(parts_of_state, step), _part(parts_of_grads, step))


def _check_places(path: KeyPath, x: Any, parts_of_grads: Any) -> None:
    """Gradients may be missing; one for what is not there is a mistake."""
    parts = children(x)[0]
    known = set(parts) if isinstance(parts, Mapping) else set(range(len(parts)))
    given = parts_of_grads if isinstance(parts_of_grads, Mapping) else range(len(parts_of_grads))
    for step in given:
        if step not in known:
            raise ValueError(f"{path or 'the model'}, a {type(x).__name__}, has no {step!r}, its gradient has one")


def _part(parts: Any, step: Any) -> Any:
    if isinstance(parts, Mapping):
        return parts.get(step)
    return parts[step] if isinstance(step, int) and step < len(parts) else None


def _check_step(path: KeyPath, x: Any, leaf: Any, g: Any) -> None:
    name = path or "the parameter"
    if not isinstance(leaf, Leaf):
        raise ValueError(f"the state has nothing for {name}, it is not that of this model: state = setup(rule, model)")
    if not is_array(g) or g.dtype.kind not in "fiu":
        got = f"an array of {g.dtype}" if is_array(g) else f"a {type(g).__name__}"
        raise TypeError(f"the gradient of {name} is {got}, not an array of real numbers. {_USAGE}")
    if g.shape != x.shape:
        raise ValueError(f"{name} has shape {x.shape}, its gradient shape {g.shape}")
    if not _share_device(g, x):
        raise TypeError(f"{name} is on {device_of(x)}, its gradient on {device_of(g)}: move one of them")


def _check_state(path: KeyPath, x: Any, leaf: Leaf) -> None:
    name = path or "the parameter"
    _check_writable(path, x)
    for y in filter(is_array, leaf.memory.values()):
        if y.shape != x.shape:
            raise ValueError(f"{name} has shape {x.shape}, its state {y.shape}: call state = setup(rule, model) again")
        if not _share_device(y, x):
            raise TypeError(
                f"{name} is on {device_of(x)}, its state on {device_of(y)}: move the model first, then setup"
            )


def _share_device(x: Any, y: Any) -> bool:
    return type(x) is type(y) is np.ndarray or device_of(x) == device_of(y)


_USAGE = "Write update(state, model, grads), with state = setup(rule, model) and grads = gradient(f, model)[0]"


def _check_order(state: Any, model: Any, grads: Any) -> None:
    if isinstance(state, Rule):
        raise TypeError(f"got the rule {state} in place of its state. {_USAGE}")
    if isinstance(state, Gradient):
        raise TypeError(f"got a {type(state).__name__} in place of the state. {_USAGE}")
    if isinstance(model, (Gradient, State, Leaf)):
        raise TypeError(f"got a {type(model).__name__} in place of the model. {_USAGE}")
    if isinstance(grads, tuple) and not isinstance(model, tuple):
        raise TypeError(f"gradient gives a tuple, one for each argument: take grads[0]. {_USAGE}")
    if isinstance(model, TrackedArray):
        raise TypeError(f"a tracked array is not a model. {_USAGE}")
    registered = not isinstance(grads, (Gradient, tuple, list, dict)) and not is_array(grads)
    if isinstance(grads, (State, Leaf)) or registered and type(grads) is type(model):
        raise TypeError(f"got a {type(grads).__name__} in place of the gradient. {_USAGE}")
