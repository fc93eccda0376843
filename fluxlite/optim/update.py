"""`setup` makes what an optimizer remembers, a tree beside the model; then `update` takes a step for each parameter.

An `OptimiserRule` says by how much a parameter changes; the library's are in ``rules.py``.
"""

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from ..annotations import Array, LibraryArray, Model, Tree
from ..array_kinds import ARRAY_KINDS, several_cards
from ..arrays import device_of, floats, is_half, on_card_of, wide
from ..autodiff.freezing import is_stretched
from ..autodiff.gradients import Gradient, Record
from ..autodiff.tracked import TrackedArray
from ..helping import Readable
from ..messages import warn
from ..tree.contract import KINDS, functor, is_leaf, kind_of
from ..tree.flat import Attribute, KeyPath, Made, flatten
from ..tree.ties import copy_of, is_array, is_trainable_array, parameter_key, view_as
from ..tree.unreached import say_what_is_not_trained
from ..tree.walks import fmap, leaves, nodes, trainables, type_of_parts
from ..words import Function, explained, in_words


def takes_float16(apply: Function) -> Function:
    """Marks an `apply` that computes in float32 by itself if the parameter is float16. All others get float32."""
    apply.takes_float16 = True  # type: ignore[attr-defined]
    return apply


class OptimiserRule(metaclass=Readable):
    """An optimizer. Yours derives from it, as a plain class or a dataclass, and has `change` (or `apply`).

    >>> class SignedDescent(OptimiserRule):
    ...     def __init__(self, eta):
    ...         self.eta = eta
    ...
    ...     def change(self, memory, x, g):
    ...         return self.eta * np.sign(g)
    >>> w = np.ones(2)
    >>> state = fl.setup(SignedDescent(0.5), w)
    >>> fl.update(state, w, np.array([3.0, -4.0]))[1]
    array([0.5, 1.5])
    """

    rules: tuple["OptimiserRule", ...] = ()  # those of an `OptimiserChain`
    # For a rule for several workers: ``gathered(state, model, steps)`` gives the steps with the gradients of all.
    gathered: Any = None

    def init(self, x: Array) -> dict[str, Any]:
        """What is remembered about the parameter `x` before the first step: arrays made from `x`, and numbers.

        For example ``{"mean": np.zeros_like(x), "steps": 0}``. If the parameter is float16, `x` is float32 here, in
        `change` and in `apply`: squares of small gradients aren't float16s.
        """
        return {}

    def change(self, memory: dict[str, Any], x: Array, g: Array) -> Array | None:
        """What to subtract from the parameter `x`, whose gradient is `g`; None for no step.

        It changes `memory` in place, and neither `x` nor `g`.
        """
        raise NotImplementedError(f"{type(self).__name__} says by how much a parameter changes: change(memory, x, g)")

    @takes_float16
    def apply(self, memory: dict[str, Any], x: Array, g: Array) -> tuple[dict[str, Any], Array | None] | None:
        """Take one step: change `x`, and `memory`, in place. Yours may do more than subtract a `change`.

        As in Optimisers.jl (``apply!``), it may instead leave `x` and return ``(memory, change)``.
        """
        if x.dtype.char == "e":  # float16; `is_half` would be a call more, and a small step is mostly calls
            change = self.change(in_full(memory), wide(x), wide(g))
        else:
            change = self.change(memory, x, g)
        if change is not None:
            x -= change
        return None

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value!r}" for name, value in hyperparameters(self).items())
        return f"{type(self).__name__}({numbers})"


def hyperparameters(rule: OptimiserRule) -> dict[str, Any]:
    """The numbers of a rule, by name: a dataclass's fields, or its attributes and the numbers in its class."""
    if dataclasses.is_dataclass(rule):
        return {field.name: getattr(rule, field.name) for field in dataclasses.fields(rule)}
    return _numbers_in(type(rule)) | vars(rule)


def _numbers_in(kind: type) -> dict[str, Any]:
    """What a class says of its objects, such as ``eta = 0.1``."""
    found: dict[str, Any] = {}
    for cls in reversed(kind.__mro__):
        for name, value in vars(cls).items():
            if isinstance(value, (int, float, tuple)) and not name.startswith("_") and name not in vars(OptimiserRule):
                found[name] = value
    return found


@functools.cache
def _is_written_as_apply(kind: type) -> bool:
    """Whether the class that says what a rule does, the nearest of its bases, has `apply` and no `change`."""
    for cls in kind.__mro__:
        if "change" in vars(cls):
            return False
        if "apply" in vars(cls):
            return True
    return False


def change_by(rule: OptimiserRule, memory: dict[str, Any], x: Array, g: Array) -> tuple[dict[str, Any], Array | None]:
    """(memory, what to subtract from `x`), without the step: `x` stays as it is."""
    if not _is_written_as_apply(type(rule)):
        return memory, rule.change(memory, x, g)
    after = np.copy(x)
    result = rule.apply(memory, after, g)
    if result is None:
        return memory, x - after
    return _check_result(rule, result)


def take_step(rule: OptimiserRule, memory: dict[str, Any], x: Array, g: Array) -> dict[str, Any]:
    """Change the parameter `x`, which may be float16, in place. Returns what's remembered from now on."""
    if not hasattr(type(rule).apply, "takes_float16") and is_half(x):
        full = wide(x)
        memory = take_step(rule, in_full(memory), full, wide(g))
        x[...] = full.astype(x.dtype)
        return memory
    result = rule.apply(memory, x, g)
    if result is None:
        return memory
    memory, change = _check_result(rule, result)
    if change is not None:
        x -= change
    return memory


def _check_result(rule: OptimiserRule, result: object) -> tuple[dict[str, Any], Array | None]:
    """What an `apply` has returned, as in Optimisers.jl. Raises `TypeError` for anything else."""
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], dict):
        return result
    name = type(rule).__name__
    fix = "it changes x in place and returns nothing, or returns (memory, change); change(memory, x, g) gives a change"
    raise TypeError(f"{name}.apply(memory, x, g) returned {in_words(result)}: {fix}")


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


# What `setup` gives, or a part of it: a `State`, a `Leaf`, or for a container in the model a container of these.
StateTree = TypeVar("StateTree")

# -- the state ---------------------------------------------------------------------------------------------------------


@functor(children=("memory",))
class Leaf:
    """Beside each parameter: the rule, and what it remembers (Optimisers.jl: ``Leaf``)."""

    own_rate: float | None = None  # the one that `setup` or `adjust` gave it, once a schedule has set others
    shape: tuple[int, ...] | None = None  # the parameter's, when the state was made

    def __init__(self, rule: OptimiserRule, memory: dict[str, Any]):
        self.rule = rule
        self.memory = memory
        self.frozen = False

    def __repr__(self) -> str:
        parts = [repr(self.rule), _brief(self.memory)]
        if self.frozen:
            parts.append("frozen=True")
        return f"Leaf({', '.join(parts)})"


def _brief(memory: object) -> str:
    """What a rule remembers, without the arrays' values."""
    if isinstance(memory, dict):
        return "{" + ", ".join(f"{name!r}: {_brief(value)}" for name, value in memory.items()) + "}"
    if isinstance(memory, (list, tuple)):
        return f"[{', '.join(map(_brief, memory))}]"
    if is_array(memory):
        return f"{memory.dtype} {tuple(memory.shape)}"
    return repr(memory)


@functor
class State(Record):
    """The optimizer's memory for a registered object: the same attribute names, a `Leaf` for each parameter."""


@explained()
def setup(rule: OptimiserRule, model: Tree) -> Any:
    """The state for training `model` by `rule`: a tree like the model, a `Leaf` for each parameter (Flux: ``setup``).

    A parameter is an array: a number in a model, even ``np.float32(0.25)``, is a constant. A tied parameter has one
    leaf. What an optimizer needs to remember is made where the parameter is, so move the model first. Of a float16
    parameter, it remembers float32. Raises `TypeError` for arguments in the wrong order, `ValueError` for a parameter
    that can't be changed in place.

    >>> model = {"w": np.ones(2), "name": "w"}
    >>> setup(fl.Descent(0.1), model)
    {'w': Leaf(Descent(eta=0.1), {}), 'name': None}
    """
    _check_rule(rule)
    flat = flatten(model)
    paths = flat.paths()
    found: list[Leaf | None] = [None] * len(flat.leaves)
    for place, leaf in flat.trainable_places():
        x = flat.at(place)
        if type(x) is TrackedArray or is_trainable_array(x):
            _check_writable(str(paths[place]) or "the model", x)
            with on_card_of(x):
                found[leaf] = _new_leaf(rule, x)
    say_what_is_not_trained(model)
    if not any(found):
        warn("no parameters", f"setup found nothing to train in this {type(model).__name__}")
    return flat.tree_at_all_places(found, _combine)


def _check_rule(rule: object) -> None:
    if isinstance(rule, OptimiserRule):
        return
    if isinstance(rule, type):
        name = rule.__name__
        raise TypeError(
            f"setup(rule, model) takes an optimizer such as Adam() first, got the class {name}: write {name}()"
        )
    name = type(rule).__name__
    hint = ""
    if hasattr(rule, "change") or hasattr(rule, "apply"):
        hint = f". An optimizer of your own is a class {name}(fl.OptimiserRule)"
    raise TypeError(f"setup(rule, model) takes an optimizer such as Adam() first, got {name}{hint}")


def _new_leaf(rule: OptimiserRule, x: Array) -> Leaf:
    memory = rule.init(wide(x))
    if not isinstance(memory, dict):
        what = "{'mean': np.zeros_like(x)}, or {} for nothing"
        raise TypeError(f"{type(rule).__name__}.init(x) gives a dict such as {what}, got {in_words(memory)}")
    leaf = Leaf(rule, memory)
    leaf.shape = tuple(x.shape)
    return leaf


def _combine(branch: Made, parts: list) -> State | list | tuple | dict:
    """The state of what stands at a branch, made from those of its parts."""
    if branch.names is None:
        return type_of_parts(branch.x)(parts)
    trainable = branch.kind.trainable_names
    states = {}
    for name, part in zip(branch.names, parts):
        if trainable is None or name in trainable:
            states[name] = part
    if isinstance(branch.x, dict):
        return states
    return State(**states)


def _check_writable(name: str, x: Array) -> None:
    """Raises `ValueError` unless the parameter `x` can be changed in place."""
    if type(x) is TrackedArray:
        x.check_open(name)
        instead = "a step there is written by hand: fl.fmap(lambda w, g: w - rate * g, model, grads)"
    else:
        flags = getattr(x, "flags", None)
        if getattr(flags, "writeable", True) and not is_stretched(x):
            return
        instead = "outside of one, give the model a copy of it: x.copy()"
    raise ValueError(f"{name} can't be changed in place, as nothing can inside a gradient call; {instead}")


# -- a step ------------------------------------------------------------------------------------------------------------

Step = tuple[Leaf, LibraryArray, Array]  # the state of a parameter, the parameter, its gradient


@explained()
def update(state: StateTree, model: Model, grads: Tree) -> tuple[StateTree, Model]:
    """Change the parameters of `model`, and `state`, in place for one step; returns both (Flux: ``update!``).

    `grads` is what ``gradient(f, model)[0]`` gives; None means no step there; if all are None, that's said once.
    A tied parameter takes one step. Its gradients are summed by `gradient`, or here if you give them at several places.
    Nothing changes before all has been checked: `TypeError` for arguments in the wrong order, a gradient that isn't an
    array here, and one of what doesn't train, `ValueError` for one of another shape, and where `state` isn't that of
    `model`.

    >>> model = {"w": np.ones(2)}
    >>> state = fl.setup(fl.Descent(0.5), model)
    >>> state, model = update(state, model, {"w": np.array([1.0, 2.0])})
    >>> model
    {'w': array([0.5, 0. ])}
    """
    steps = steps_to_take(state, model, grads)
    if steps:
        first: Leaf | None = steps[0][0]
    else:
        why = why_no_gradient(model, grads)
        if why:
            warn(("no gradient", type(model)), f"update changes nothing: {why}")
        first = next((node for _, node in nodes(state) if isinstance(node, Leaf)), None)
    if first is not None and first.rule.gathered is not None:
        steps = first.rule.gathered(state, model, steps)
    take_steps(steps)
    return state, model


@explained()
def updated(state: StateTree, model: Model, grads: Tree) -> tuple[StateTree, Model]:
    """Like `update`, but leaves `state` and `model` as they are and returns new ones (Flux: ``update``).

    >>> model = {"w": np.ones(1)}
    >>> _, after = updated(fl.setup(fl.Descent(0.5), model), model, {"w": np.ones(1)})
    >>> model, after
    ({'w': array([1.])}, {'w': array([0.5])})
    """
    return update(fmap(_copy_of_array, state), fmap(_copy_of_array, model), grads)


def _copy_of_array(leaf: Tree) -> Tree:
    if is_array(leaf):
        return copy_of(leaf)
    return leaf


def take_steps(steps: list[Step]) -> None:
    """Change each parameter, and what's remembered of it, by its gradient."""
    for leaf, x, g in steps:
        kind = ARRAY_KINDS.get(type(x))
        if kind is not None and kind.take_step is not None:
            kind.take_step(leaf, x, g)
        elif several_cards:
            with on_card_of(x):
                leaf.memory = take_step(leaf.rule, leaf.memory, x, g)
        else:
            leaf.memory = take_step(leaf.rule, leaf.memory, x, g)


def why_no_gradient(model: Tree, grads: Tree) -> str:
    """What to say if there's nothing but None in the gradient of a model that could be trained; otherwise ''."""
    if any(is_array(leaf) for leaf in leaves(grads)) or next(trainables(model), None) is None:
        return ""
    return (
        f"the loss doesn't depend on the parameters of this {type(model).__name__}. Does it compute with its "
        "first argument, as in lambda m, x, y: mse(m(x), y), and not with a model from outside?"
    )


def steps_to_take(state: Tree, model: Tree, grads: Tree) -> list[Step]:
    """The steps to take, all checked. Raises as `update` does, naming the place."""
    _check_order(state, model, grads)
    found: list[Step] = []
    if grads is not None:
        _add_steps(state, model, grads, (), found)
    if _may_be_tied(found):
        found = _add_up_ties(model, found)
    return [step for step in found if not step[0].frozen]


def _may_be_tied(found: list[Step]) -> bool:
    """Whether two of these might be one parameter: they share a leaf, or one is a view, perhaps of another.

    `gradient` gives a tied parameter its whole gradient at one place: then it's a view at most, and nothing to sum.
    """
    leaves_met = {id(leaf) for leaf, _, _ in found}
    return len(leaves_met) < len(found) or any([x.base is not None for _, x, _ in found])


_USAGE = "Write update(state, model, grads), with state = setup(rule, model) and grads = gradient(f, model)[0]"


def _check_order(state: Tree, model: Tree, grads: Tree) -> None:
    _check_is_none_of(state, "state", OptimiserRule, Gradient)
    _check_is_none_of(model, "model", Gradient, State, Leaf, TrackedArray)
    _check_is_none_of(grads, "gradient", OptimiserRule, State, Leaf)
    if isinstance(grads, tuple) and not isinstance(model, tuple):
        raise TypeError(f"gradient gives a tuple, one for each argument: take grads[0]. {_USAGE}")
    if type(grads) is type(model) and kind_of(type(model)).is_plain:
        raise TypeError(f"got a {type(grads).__name__} in place of the gradient. {_USAGE}")


def _check_is_none_of(x: Tree, place: str, *others: type) -> None:
    if isinstance(x, others):
        raise TypeError(f"got {in_words(x)} in place of the {place}. {_USAGE}")


def _add_steps(state: Any, x: Any, g: Any, path: tuple, found: list[Step]) -> None:
    """Adds the steps at `x` and below: where a gradient is, which may be given for a part of the model only.

    It goes through three trees at once, by itself: a `flatten` of each would make a small step longer by a sixth.
    """
    own = _parts(x)
    given = _parts(g)
    if own is None:
        _check_fits(state, x, g, path)
        found.append((state, x, floats(g)))
        return
    if given is None:
        raise TypeError(f"{_name(path)} is a {type(x).__name__}, its gradient a {type(g).__name__}. {_USAGE}")
    states = _parts(state) or {}
    for name, part in given.items():
        if name not in own:
            kinds = f"a {type(x).__name__}, has no {name!r}; its gradient, a {type(g).__name__}, has one"
            raise ValueError(f"{_name(path)}, {kinds}")
        if part is None:
            continue
        leaf: Any = states.get(name)
        inside = own[name]
        if _fits_at_a_glance(leaf, inside, part):
            found.append((leaf, inside, part))
        else:
            step = name
            if isinstance(name, str) and not isinstance(x, dict):
                step = Attribute(name)
            _add_steps(leaf, inside, part, (*path, step), found)


def _fits_at_a_glance(leaf: Any, x: Any, g: Any) -> bool:
    """Whether all is as usual: NumPy's arrays of the parameter's shape. Where it isn't, `_check_fits` looks closer."""
    if not (type(x) is type(g) is np.ndarray and type(leaf) is Leaf and x.base is None and x.shape == g.shape):
        return False
    if leaf.memory and leaf.shape != x.shape:
        return False
    for y in leaf.memory.values():
        if type(y) is not int and type(y) is not np.ndarray:
            return False
    return x.dtype.kind == g.dtype.kind == "f" and x.flags.writeable


def _parts(x: Tree) -> dict[Any, Any] | None:
    """The parts of `x` by name or number; None for a leaf."""
    kind = KINDS.get(x.__class__) or kind_of(x.__class__)
    if kind.is_plain:
        return x.__dict__
    if kind.take is None:
        return None
    names, parts, _ = kind.take(x)
    if names is None:
        return dict(enumerate(parts))
    return dict(zip(names, parts))


def _check_fits(leaf: Any, x: Any, g: Any, path: tuple) -> None:
    """Raises unless `x`, which has the gradient `g`, is a parameter, and its gradient and its state fit."""
    name = _name(path)
    if isinstance(x, (float, int, np.floating)) and not isinstance(x, bool) and is_leaf(g):
        instead = f"make it an array, np.array({float(x)!r})"
        raise TypeError(f"{name} is the number {x!r}, which update can't change in place: {instead}")
    if not is_trainable_array(x) and type(x) is not TrackedArray:
        what = f"{name} is {in_words(x)}, which doesn't train: its gradient is None, got {in_words(g)}"
        raise TypeError(f"{what}. {_USAGE}")
    _check_writable(name, x)
    if type(leaf) is not Leaf:
        raise ValueError(f"the state has nothing for {name}: it's another model's. Write state = setup(rule, model)")
    if not is_array(g):
        raise TypeError(f"the gradient of {name} is a {type(g).__name__}, not an array of real numbers. {_USAGE}")
    if g.dtype.kind not in "fiu":
        raise TypeError(f"the gradient of {name} is an array of {g.dtype}, not an array of real numbers. {_USAGE}")
    if g.shape != x.shape:
        raise ValueError(f"{name} has shape {x.shape}, its gradient shape {g.shape}")
    if device_of(g) != device_of(x):
        raise TypeError(f"{name} is on {device_of(x)}, its gradient on {device_of(g)}: move one of them")
    for y in _arrays_in(leaf.memory):
        made_for = leaf.shape
        if made_for is None:
            made_for = y.shape
        if math.prod(made_for) != x.size:  # the shape may differ: one of two tied parameters is perhaps transposed
            raise ValueError(f"{name} has shape {x.shape}, its state {made_for}: call state = setup(rule, model) again")
        if device_of(y) != device_of(x):
            there = f"its state on {device_of(y)}: move the model first, then setup"
            raise TypeError(f"{name} is on {device_of(x)}, {there}")


def _arrays_in(memory: dict[str, Any]) -> Iterator[Array]:
    """What a rule remembers in arrays; a chain has a dict for each of its rules."""
    for value in memory.values():
        if isinstance(value, dict):
            yield from _arrays_in(value)
        elif is_array(value):
            yield value


def _name(path: tuple) -> str:
    return str(KeyPath(path)) or "the model"


def _add_up_ties(model: Tree, found: list[Step]) -> list[Step]:
    """One step for each parameter, at its first place, by the sum of the gradients given at its places.

    `gradient` sums by itself, in the backward pass. This is for gradients that you put at several places by hand.
    """
    firsts: dict[tuple, Any] = {parameter_key(x): x for _, x in trainables(model)}
    steps: dict[tuple, Step] = {}
    for leaf, x, g in found:
        key = parameter_key(x)
        first = firsts.get(key, x)
        with on_card_of(x):
            # The inverse of what a walk does: from the later place back to the first, from W.T to W.
            g = view_as(g, like=first, of=x)
            if key in steps:
                _, _, before = steps[key]
                g = before + g
            steps[key] = (leaf, first, g)
    return list(steps.values())
