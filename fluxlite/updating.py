"""`setup` makes what an optimizer remembers, a tree beside the model; then `update` takes a step for each parameter.

A `Rule` says by how much a parameter changes; the library's are in ``optimizers.py``.
"""

from typing import Any

import numpy as np

from .arrays import device_of, floats, is_half, on_card_of, wide
from .autodiff.gradients import Gradient, Record
from .autodiff.tracked import TrackedArray, is_stretched
from .messages import Readable, explained, in_words, warn
from .tree.contract import KINDS, functor, is_leaf, kind_of
from .tree.flat import Attribute, KeyPath, flatten
from .tree.ties import card_getters, copy_of, is_array, is_trainable_array, parameter_key, same_view
from .tree.walks import fmap, leaves, nodes, trainables, type_of_parts
from .unreached import say_what_is_not_trained


class Rule(metaclass=Readable):
    """An optimizer's formula. One of your own has `change`, and `init` if it remembers something.

    >>> class Slower(Rule):
    ...     def init(self, x):
    ...         return {"steps": 0}
    ...
    ...     def change(self, memory, x, g):
    ...         memory["steps"] += 1
    ...         return 0.5 / memory["steps"] * g
    >>> w = np.ones(2)
    >>> fl.update(fl.setup(Slower(), w), w, np.ones(2))[1]
    array([0.5, 0.5])
    """

    rules: tuple["Rule", ...] = ()  # those of an `OptimiserChain`
    # For a rule for several workers: ``gathered(state, model, steps)`` gives the steps with the gradients of all.
    gathered: Any = None

    def init(self, x: Any) -> dict[str, Any]:
        """What is remembered about the parameter `x` before the first step: arrays made from `x`, and numbers.

        If the parameter is float16, `x` is float32 here and in `change`: squares of small gradients aren't float16s.
        """
        return {}

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        """What to subtract from the parameter `x`, whose gradient is `g`; None for no step (Optimisers.jl: ``apply!``).

        It changes `memory` in place, and neither `x` nor `g`.
        """
        raise NotImplementedError(f"{type(self).__name__} says by how much a parameter changes: change(memory, x, g)")

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        """Take one step: change `x`, and `memory`, in place."""
        if is_half(x):
            change = self.change(in_full(memory), wide(x), wide(g))
        else:
            change = self.change(memory, x, g)
        if change is not None:
            x -= change


def in_full(memory: dict[str, Any]) -> dict[str, Any]:
    """What's remembered of a float16 parameter, in float32: a state converted by hand, or of an old file, becomes so.

    The square of a small gradient isn't a float16, nor is a thousandth of it.
    """
    for name, value in memory.items():
        if isinstance(value, dict):
            in_full(value)
        elif is_half(value):
            memory[name] = wide(value)
    return memory


# -- the state ---------------------------------------------------------------------------------------------------------


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
    """The optimizer's memory for a registered object: the same attribute names, a `Leaf` for each parameter."""


@explained()
def setup(rule: Rule, model: Any) -> Any:
    """The state for training `model` by `rule`: a tree like the model, a `Leaf` for each parameter (Flux: ``setup``).

    A parameter is an array: a number in a model, even ``np.float32(0.25)``, is a constant. A tied parameter has one
    leaf. What an optimizer needs to remember is made where the parameter is, so move the model first. Of a float16
    parameter, it remembers float32. Raises `TypeError` for arguments in the wrong order, `ValueError` for a parameter
    that can't be changed in place.

    >>> model = {"w": np.ones(2), "name": "w"}
    >>> setup(fl.Descent(0.1), model)
    {'w': Leaf(Descent(eta=0.1), {}), 'name': None}
    """
    if not isinstance(rule, Rule):
        raise TypeError(f"setup(rule, model) takes an optimizer such as Adam() first, got {type(rule).__name__}")
    flat = flatten(model)
    paths = flat.paths()
    found: list[Leaf | None] = [None] * len(flat.leaves)
    for place, leaf in flat.trained():
        x = flat.at(place)
        if type(x) is TrackedArray or is_trainable_array(x):
            _check_writable(str(paths[place]) or "the model", x)
            with on_card_of(x):
                found[leaf] = Leaf(rule, rule.init(wide(x)))
    say_what_is_not_trained(model)
    if not any(found):
        warn("no parameters", f"setup found nothing to train in this {type(model).__name__}")
    return flat.beside(found, _combine, tied=True)


def _combine(x: Any, kind: Any, names: Any, parts: list, make: Any) -> Any:
    """The state of `x`, made from those of its parts."""
    if names is None:
        return type_of_parts(x)(parts)
    held = {name: part for name, part in zip(names, parts) if kind.trained is None or name in kind.trained}
    return held if isinstance(x, dict) else State(**held)


def _check_writable(name: str, x: Any) -> None:
    """Raises `ValueError` unless the parameter `x` can be changed in place."""
    instead = "outside of one, give the model a copy of it: x.copy()"
    if type(x) is TrackedArray:
        x.check_open(name)
        instead = "a step there is written by hand: fl.fmap(lambda w, g: w - rate * g, model, grads)"
    elif getattr(getattr(x, "flags", None), "writeable", True) and not is_stretched(x):
        return
    raise ValueError(f"{name} can't be changed in place, as nothing can inside a gradient call; {instead}")


# -- a step ------------------------------------------------------------------------------------------------------------

Step = tuple[Leaf, Any, Any]  # the state of a parameter, the parameter, its gradient


@explained()
def update(state: Any, model: Any, grads: Any) -> tuple[Any, Any]:
    """Change the parameters of `model`, and `state`, in place for one step; returns both (Flux: ``update!``).

    `grads` is what ``gradient(f, model)[0]`` gives; None means no step there; if all are None, that's said once.
    A tied parameter takes one step, by the sum of the gradients at its places. Nothing changes before all has been
    checked: `TypeError` for arguments in the wrong order and a gradient that isn't an array here, `ValueError` for one
    of another shape, and where `state` isn't that of `model`.

    >>> model = {"w": np.ones(2)}
    >>> state = fl.setup(fl.Descent(0.5), model)
    >>> state, model = update(state, model, {"w": np.array([1.0, 2.0])})
    >>> model
    {'w': array([0.5, 0. ])}
    """
    steps = checked_steps(state, model, grads)
    if not steps and (why := without_gradient(model, grads)):
        warn(("no gradient", type(model)), f"update changes nothing: {why}")
    first = steps[0][0] if steps else next((node for _, node in nodes(state) if isinstance(node, Leaf)), None)
    if first is not None and first.rule.gathered is not None:
        steps = first.rule.gathered(state, model, steps)
    take_steps(steps)
    return state, model


@explained()
def updated(state: Any, model: Any, grads: Any) -> tuple[Any, Any]:
    """Like `update`, but leaves `state` and `model` as they are and returns new ones (Flux: ``update``).

    >>> model = {"w": np.ones(1)}
    >>> _, after = updated(fl.setup(fl.Descent(0.5), model), model, {"w": np.ones(1)})
    >>> model, after
    ({'w': array([1.])}, {'w': array([0.5])})
    """
    state, model = [fmap(lambda leaf: copy_of(leaf) if is_array(leaf) else leaf, tree) for tree in (state, model)]
    return update(state, model, grads)


def take_steps(steps: list[Step]) -> None:
    """Change each parameter, and what's remembered of it, by its gradient."""
    for leaf, x, g in steps:
        if card_getters:
            with on_card_of(x):
                leaf.rule.apply(leaf.memory, x, g)
        else:
            leaf.rule.apply(leaf.memory, x, g)


def without_gradient(model: Any, grads: Any) -> str:
    """What to say if there's nothing but None in the gradient of a model that could be trained; otherwise ''."""
    if any(is_array(leaf) for leaf in leaves(grads)) or next(trainables(model), None) is None:
        return ""
    return (
        f"the loss doesn't depend on the parameters of this {type(model).__name__}. Does it compute with its "
        "first argument, as in lambda m, x, y: mse(m(x), y), and not with a model from outside?"
    )


def checked_steps(state: Any, model: Any, grads: Any) -> list[Step]:
    """The steps to take, all checked. Raises as `update` does, naming the place."""
    _check_order(state, model, grads)
    found: list[Step] = []
    if grads is not None:
        _collect(state, model, grads, (), found)
    if len({id(leaf) for leaf, _, _ in found}) < len(found) or any([x.base is not None for _, x, _ in found]):
        found = _tied(model, found)
    return [step for step in found if not step[0].frozen]


_USAGE = "Write update(state, model, grads), with state = setup(rule, model) and grads = gradient(f, model)[0]"


def _check_order(state: Any, model: Any, grads: Any) -> None:
    for x, place, wrong in (
        (state, "state", (Rule, Gradient)),
        (model, "model", (Gradient, State, Leaf, TrackedArray)),
        (grads, "gradient", (Rule, State, Leaf)),
    ):
        if isinstance(x, wrong):
            raise TypeError(f"got {in_words(x)} in place of the {place}. {_USAGE}")
    if isinstance(grads, tuple) and not isinstance(model, tuple):
        raise TypeError(f"gradient gives a tuple, one for each argument: take grads[0]. {_USAGE}")
    if type(grads) is type(model) and kind_of(type(model)).is_plain:
        raise TypeError(f"got a {type(grads).__name__} in place of the gradient. {_USAGE}")


def _collect(state: Any, x: Any, g: Any, way: tuple, found: list[Step]) -> None:
    """Adds the steps at `x` and below: where a gradient is, which may be given for a part of the model only.

    `way` leads there: the way to its owner, the owner, the name in it.
    """
    own, given = _parts(x), _parts(g)
    if own is None:
        if _fits(state, x, g, way):
            found.append((state, x, floats(g)))
        return
    if given is None:
        raise TypeError(f"{_place(way)} is a {type(x).__name__}, its gradient a {type(g).__name__}. {_USAGE}")
    states = _parts(state) or {}
    for name, part in given.items():
        if name not in own:
            kinds = f"a {type(x).__name__}, has no {name!r}; its gradient, a {type(g).__name__}, has one"
            raise ValueError(f"{_place(way)}, {kinds}")
        if part is None:
            continue
        leaf: Any = states.get(name)
        inside = own[name]
        if _fits_at_a_glance(leaf, inside, part):
            found.append((leaf, inside, part))
        else:
            _collect(leaf, inside, part, (way, x, name), found)


def _fits_at_a_glance(leaf: Any, x: Any, g: Any) -> bool:
    """Whether it's as usual: NumPy's arrays, all of the parameter's shape. Where it isn't, `_fits` looks closer."""
    if not (type(x) is type(g) is np.ndarray and type(leaf) is Leaf and x.base is None and x.shape == g.shape):
        return False
    for y in leaf.memory.values():
        if type(y) is not int and not (type(y) is np.ndarray and y.shape == x.shape):
            return False
    return x.dtype.kind == g.dtype.kind == "f" and x.flags.writeable


def _parts(x: Any) -> dict[Any, Any] | None:
    """The parts of `x` by name or number; None for a leaf."""
    kind = KINDS.get(x.__class__) or kind_of(x.__class__)
    if kind.is_plain or kind.take is None:
        return x.__dict__ if kind.is_plain else None
    names, parts, _ = kind.take(x)
    return dict(enumerate(parts) if names is None else zip(names, parts))


def _fits(leaf: Any, x: Any, g: Any, way: tuple) -> bool:
    """Whether `x`, which has a gradient, is a parameter. Raises if its gradient or its state don't fit."""
    name = _place(way)
    if isinstance(x, (float, int, np.floating)) and not isinstance(x, bool) and is_leaf(g):
        instead = f"make it an array, np.array({float(x)!r})"
        raise TypeError(f"{name} is the number {x!r}, which update can't change in place: {instead}")
    if not is_trainable_array(x) and type(x) is not TrackedArray:
        return False
    _check_writable(name, x)
    if type(leaf) is not Leaf:
        raise ValueError(f"the state has nothing for {name}: it's another model's. Write state = setup(rule, model)")
    if not is_array(g) or g.dtype.kind not in "fiu":
        got = f"an array of {g.dtype}" if is_array(g) else f"a {type(g).__name__}"
        raise TypeError(f"the gradient of {name} is {got}, not an array of real numbers. {_USAGE}")
    if g.shape != x.shape:
        raise ValueError(f"{name} has shape {x.shape}, its gradient shape {g.shape}")
    if device_of(g) != device_of(x):
        raise TypeError(f"{name} is on {device_of(x)}, its gradient on {device_of(g)}: move one of them")
    for y in filter(is_array, leaf.memory.values()):
        if y.size != x.size:
            raise ValueError(f"{name} has shape {x.shape}, its state {y.shape}: call state = setup(rule, model) again")
        if device_of(y) != device_of(x):
            there = f"its state on {device_of(y)}: move the model first, then setup"
            raise TypeError(f"{name} is on {device_of(x)}, {there}")
    return True


def _place(way: tuple) -> str:
    steps: list[Any] = []
    while way:
        way, owner, name = way
        steps.insert(0, Attribute(name) if isinstance(name, str) and not isinstance(owner, dict) else name)
    return str(KeyPath(steps)) or "the model"


def _tied(model: Any, found: list[Step]) -> list[Step]:
    """One step for each parameter, at its first place, with the gradients at all places."""
    firsts = {parameter_key(x): x for _, x in trainables(model)}
    steps: dict[Any, Step] = {}
    for leaf, x, g in found:
        key = parameter_key(x)
        first = firsts.get(key, x)
        with on_card_of(x):
            g = same_view(first, x, g)
            steps[key] = (leaf, first, steps[key][2] + g if key in steps else g)
    return list(steps.values())
