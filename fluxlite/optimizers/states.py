"""The optimizer's state: beside each parameter its rule, and what the rule remembers of it."""

import dataclasses
from typing import Any

from ..arrays import on_card_of
from ..autodiff.gradients import Record
from ..autodiff.tracked import PARAMETERS, TrackedArray, is_stretched
from ..messages import check_number, explained, warn
from ..tree.contract import functor
from ..tree.flat import KeyPath, flatten
from ..tree.ties import is_array, is_trainable_array
from ..tree.walks import nodes, type_of_parts
from ..unreached import say_what_is_not_trained
from .base import Rule
from .combined import OptimiserChain


@functor(children=("memory",))
class Leaf:
    """Beside each parameter: the rule, and what it remembers (Optimisers.jl: ``Leaf``)."""

    own_rate: float | None = None  # the one that `setup` or `adjust` gave it, once a schedule has set others

    def __init__(self, rule: Rule, memory: dict[str, Any]):
        self.rule, self.memory, self.frozen = rule, memory, False

    def __repr__(self) -> str:
        return f"Leaf({self.rule}, {_brief(self.memory)}{', frozen=True' if self.frozen else ''})"


def _brief(memory: Any) -> str:
    """What a rule remembers, without the arrays' values."""
    if isinstance(memory, dict):
        return "{" + ", ".join(f"{name!r}: {_brief(value)}" for name, value in memory.items()) + "}"
    return f"{memory.dtype} {tuple(memory.shape)}" if is_array(memory) else repr(memory)


@functor
class State(Record):
    """The optimizer's memory for a registered object: the same attribute names, a `Leaf` for each parameter.

    It prints a line for each parameter, below the parameters' rule.

    >>> setup(fl.Momentum(0.1), fl.Chain(fl.Dense(2, 3), fl.Dense(3, 1, bias=False)))
    State(
      Momentum(eta=0.1, rho=0.9):
        layers[0].weight  {'velocity': float32 (3, 2)}
        layers[0].bias    {'velocity': float32 (3,)}
        layers[1].weight  {'velocity': float32 (1, 3)}
    )
    """

    def __repr__(self) -> str:
        found = [(str(path), leaf) for path, leaf in nodes(self) if isinstance(leaf, Leaf)]
        shown, more = found[:40], len(found) - 40
        width = max((len(path) for path, _ in shown), default=0)
        below: dict[str, list[str]] = {}
        for path, leaf in shown:
            rule = f"  {leaf.rule}{', frozen' if leaf.frozen else ''}:"
            below.setdefault(rule, []).append(f"    {path:<{width}}  {_brief(leaf.memory)}")
        lines = [line for rule, places in below.items() for line in (rule, *places)]
        lines += [f"  … {more:,} more parameters"] if more > 0 else []
        return "\n".join(["State(", *lines, ")"])


@explained()
def setup(rule: Rule, model: Any) -> Any:
    """The state for training `model` by `rule`: a tree like the model, a `Leaf` for each parameter (Flux: ``setup``).

    A parameter is an array: a number in a model, even ``np.float32(0.25)``, is a constant. A tied parameter has one
    leaf. What an optimizer needs to remember is made where the parameter is, so move the model first. Raises
    `TypeError` for arguments in the wrong order, `ValueError` for a parameter that cannot be changed in place.

    >>> model = {"w": np.ones(2), "name": "w"}
    >>> setup(fl.Descent(0.1), model)
    {'w': Leaf(Descent(eta=0.1), {}), 'name': None}
    """
    if not isinstance(rule, Rule):
        raise TypeError(f"setup(rule, model) takes an optimizer such as Adam() first, got {type(rule).__name__}")
    flat = flatten(model)
    paths = flat.paths()
    leaves: list[Leaf | None] = [None] * len(flat.leaves)
    for place, leaf in flat.trained():
        x = flat.at(place)
        if type(x) is TrackedArray or is_trainable_array(x):
            check_writable(paths[place], x)
            with on_card_of(x):
                leaves[leaf] = Leaf(rule, rule.init(x))
    say_what_is_not_trained(model)
    if not any(leaves):
        warn("no parameters", f"setup found nothing to train in this {type(model).__name__}")
    return flat.beside(leaves, _combine, tied=True)


def _combine(x: Any, kind: Any, names: Any, parts: list, make: Any) -> Any:
    """The state of `x`, of those of its parts."""
    if names is None:
        return type_of_parts(x)(parts)
    held = dict(zip(names, parts))
    held = held if kind.trained is None else {name: held[name] for name in kind.trained}
    return held if isinstance(x, dict) else State(**held)


def check_writable(path: KeyPath, x: Any) -> None:
    """Raises `ValueError` unless the parameter `x` can be changed in place."""
    name, tracked = path or "this array", type(x) is TrackedArray
    if tracked and x.level is PARAMETERS:
        raise ValueError(
            f"{name} is a param, which is changed by w.data -= rate * w.grad after back; "
            "setup and update take models of plain arrays"
        )
    if tracked:
        x.check_open(str(path))
    elif getattr(getattr(x, "flags", None), "writeable", True) and not is_stretched(x):
        return
    instead = "outside of one, give the model a copy of it: x.copy()"
    if tracked:
        instead = "a step there is written by hand: fl.fmap(lambda w, g: w - rate * g, model, grads)"
    raise ValueError(f"{name} cannot be changed in place, as nothing can inside a gradient call; {instead}")


# -- in the middle of a training -----------------------------------------------------------------------------------


@explained()
def adjust(state: Any, eta: float | None = None, **fields: Any) -> Any:
    """Change the learning rate, or other numbers of the rules, in `state` or a part of it (Flux: ``adjust!``).

    What the rules remember stays. Returns `state`. Raises `TypeError` for what isn't a state or holds no rule with
    such a number.

    >>> state = fl.setup(fl.Momentum(0.1), {"w": np.ones(1)})
    >>> adjust(state, 0.05)
    {'w': Leaf(Momentum(eta=0.05, rho=0.9), {'velocity': float64 (1,)})}

    PyTorch's parameter groups are a loop: here, biases don't decay.

    >>> model = fl.Chain(fl.Dense(2, 3), fl.Dense(3, 1))
    >>> state = fl.setup(fl.AdamW(decay=0.1), model)
    >>> for path, w in fl.trainables(model):
    ...     if w.ndim < 2:
    ...         _ = adjust(state[path], decay=0.0)
    >>> state.layers[0].weight.rule.decay, state.layers[0].bias.rule.decay
    (0.1, 0.0)
    """
    fields |= {} if eta is None else {"eta": eta}
    if not fields:
        raise TypeError("adjust(state, eta) takes the new learning rate, or others by name: adjust(state, rho=0.8)")
    found = _leaves(state, "adjust")
    known = {name for leaf in found for rule in _rules(leaf.rule) for name in _names(rule)}
    for name in fields:
        if name not in known:
            raise TypeError(f"no rule in this state has {name!r}; there are {', '.join(sorted(known)) or 'none'}")
    _change(found, fields)
    for leaf in found:
        leaf.own_rate = None if "eta" in fields else leaf.own_rate
    return state


def follow(state: Any, eta: float) -> None:
    """Set the rates by a schedule: `eta` for the largest of them, and the others keep their ratio to it."""
    check_number("the learning rate eta", eta)
    groups: dict[float, list[Leaf]] = {}
    for leaf, share in shares(state):
        groups.setdefault(share, []).append(leaf)
    for share, leaves in groups.items():
        _change(leaves, {"eta": eta * share})


def shares(state: Any) -> list[tuple[Leaf, float]]:
    """(leaf, its own rate as a share of the largest that isn't frozen), of all leaves that have a rate."""
    rates: list[tuple[Leaf, float]] = []
    for leaf in _leaves(state, "train"):
        found: list[Any] = [rule for rule in _rules(leaf.rule) if "eta" in _names(rule)]
        if found:
            leaf.own_rate = max(rule.eta for rule in found) if leaf.own_rate is None else leaf.own_rate
            rates.append((leaf, leaf.own_rate))
    largest = max((rate for leaf, rate in rates if not leaf.frozen), default=0.0)
    return [(leaf, rate / largest if largest else 1.0) for leaf, rate in rates]


@explained()
def freeze(state: Any) -> Any:
    """Let `update` leave out the parameters of this state, or part of one, until `thaw` (Flux: ``freeze!``).

    Gradients are computed all the same, and what the rules remember stays. A part is ``state.layers[0]``, or
    ``state[path]`` with a path of `trainables`. `load` brings back what the rules remember, not this, nor their
    numbers: freeze again before you go on. Returns `state`. Raises `TypeError` for what isn't a state.

    >>> model = {"w": np.ones(1), "b": np.ones(1)}
    >>> state = fl.setup(fl.Descent(0.5), model)
    >>> _ = freeze(state["w"])
    >>> fl.update(state, model, {"w": np.ones(1), "b": np.ones(1)})[1]
    {'w': array([1.]), 'b': array([0.5])}
    """
    for leaf in _leaves(state, "freeze"):
        leaf.frozen = True
    return state


@explained()
def thaw(state: Any) -> Any:
    """End what `freeze` began, for this state or part of one (Flux: ``thaw!``).

    >>> model = {"w": np.ones(1)}
    >>> state = fl.freeze(fl.setup(fl.Descent(0.5), model))
    >>> fl.update(thaw(state), model, {"w": np.ones(1)})[1]
    {'w': array([0.5])}
    """
    for leaf in _leaves(state, "thaw"):
        leaf.frozen = False
    return state


def _leaves(state: Any, name: str) -> list[Leaf]:
    found = [node for _, node in nodes(state) if isinstance(node, Leaf)]
    if not found:
        raise TypeError(
            f"{name} takes the state that setup(rule, model) gives, or a part of it such as state.layers[0]; "
            f"got a {type(state).__name__} without any parameter's state"
        )
    return found


def _change(leaves: list[Leaf], fields: dict[str, Any]) -> None:
    adjusted = {id(leaf.rule): (leaf.rule, _adjusted(leaf.rule, fields)) for leaf in leaves}
    for leaf in leaves:
        leaf.rule = adjusted[id(leaf.rule)][1]


def _rules(rule: Rule) -> tuple[Rule, ...]:
    return tuple(one for part in rule.rules for one in _rules(part)) if isinstance(rule, OptimiserChain) else (rule,)


def _names(rule: Rule) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(rule)) if dataclasses.is_dataclass(rule) else tuple(vars(rule))


def _adjusted(rule: Rule, fields: dict[str, Any]) -> Rule:
    if isinstance(rule, OptimiserChain):
        return type(rule)(*[_adjusted(part, fields) for part in rule.rules])
    own = {name: value for name, value in fields.items() if name in _names(rule)}
    if not own:
        return rule
    if dataclasses.is_dataclass(rule):
        return dataclasses.replace(rule, **own)  # type: ignore[return-value]
    changed = object.__new__(type(rule))
    vars(changed).update(vars(rule) | own)
    return changed
