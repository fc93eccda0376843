"""`update`: one step for every parameter, after all has been checked."""

from collections.abc import Mapping
from itertools import repeat
from typing import Any

import numpy as np

from ..arrays import device_of, enter_card, on_card_of
from ..autodiff.gradients import Gradient
from ..autodiff.tracked import TrackedArray
from ..messages import explained, warn
from ..tree.contract import children, is_leaf, kind_of
from ..tree.flat import Flat, KeyPath, flatten
from ..tree.ties import copy_of, is_array, is_trainable_array, same_view
from ..tree.walks import fmap, leaves, nodes, trainables
from .base import Rule
from .states import Leaf, State, check_writable


@explained()
def update(state: Any, model: Any, grads: Any) -> tuple[Any, Any]:
    """Change the parameters of `model`, and `state`, in place for one step; returns both (Flux: ``update!``).

    `grads` is what ``gradient(f, model)[0]`` gives; None in it means no step there, and if there's nothing else, it's
    said once. The gradients at all places of a tied parameter are added up, and it takes one step. Everything is
    checked before anything is changed.

    Raises `TypeError` for arguments in the wrong order and a gradient that is no array or elsewhere, `ValueError` for
    one of another shape, and where `state` is not that of `model`.

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
    take(steps)
    return state, model


def without_gradient(model: Any, grads: Any) -> str:
    """What to say if there's nothing but None in the gradient of a model that could be trained; otherwise ''."""
    if any(is_array(leaf) for leaf in leaves(grads)) or next(trainables(model), None) is None:
        return ""
    return (
        f"the loss does not depend on the parameters of this {type(model).__name__}. Does it compute with its "
        "first argument, as in lambda m, x, y: mse(m(x), y), and not with a model from outside?"
    )


def take(steps: list[tuple[Leaf, Any, Any]]) -> None:
    """Change each parameter, and what's remembered of it, by its gradient."""
    for leaf, x, g in steps:
        if enter_card:
            with on_card_of(x):
                leaf.rule.apply(leaf.memory, x, g)
        else:
            leaf.rule.apply(leaf.memory, x, g)


def checked_steps(state: Any, model: Any, grads: Any) -> list[tuple[Leaf, Any, Any]]:
    """(state, parameter, gradient) of each step to take, checked. Raises as `update` does, naming the place."""
    found: list[tuple[Leaf, Any, Any]] = []
    if not _pair(model, state, grads, found) or len({id(x if x.base is None else x.base) for _, x, _ in found}) < len(
        found
    ):
        found = _named_steps(model, state, grads)
    return [step for step in found if not step[0].frozen]


def _pair(x: Any, state: Any, g: Any, found: list) -> bool:
    """Collects the steps in the usual case, quickly: registered objects, lists and NumPy arrays, and nothing is wrong.

    Whether that's the case.
    """
    cls = x.__class__
    if g is None:
        return True
    if cls is np.ndarray:
        found.append((state, x, g))
        is_one = type(state) is Leaf and type(g) is np.ndarray and x.shape == g.shape and x.flags.writeable
        is_one = is_one and x.dtype.kind == g.dtype.kind == "f" and (x.base is None or 0 not in x.strides)
        return is_one and all(
            [type(y) in (int, float) or type(y) is cls and y.shape == x.shape for y in state.memory.values()]
        )
    if cls is list or cls is tuple:
        return (
            type(state) is type(g) is cls
            and len(x) == len(state) == len(g)
            and all(map(_pair, x, state, g, repeat(found)))
        )
    if type(state) is not State or type(g) is not Gradient or not kind_of(cls).is_plain:
        return False
    held, states = x.__dict__, state.__dict__
    return all(
        [_pair(held.get(name), states.get(name), part, found) for name, part in g.__dict__.items() if part is not None]
    )


def _named_steps(model: Any, state: Any, grads: Any) -> list[tuple[Leaf, Any, Any]]:
    """The same for all models. The gradients at a parameter's other places are added to that at its first."""
    _check_order(state, model, grads)
    flat = flatten(model)
    paths = flat.paths()
    gradients, states = flat.along(grads, _part_of_gradient), flat.along(state, _part_of_state)
    firsts = {leaf: place for place, leaf in flat.trained()}
    ties = [
        (i, step[5]) for i, step in zip(range(-1, -1 - len(flat.steps), -1), flat.steps) if step[1] is None and step[6]
    ]
    found: dict[int, tuple[Leaf, Any, Any]] = {}
    for place, leaf in [*((place, leaf) for leaf, place in firsts.items()), *ties]:
        x, g = flat.at(place), gradients[place]
        if g is not None and (place != firsts[leaf] or leaf not in found) and _fits(paths[place], x, states[place], g):
            first = flat.at(firsts[leaf])
            with on_card_of(x):
                total = same_view(first, x, g)
                found[leaf] = (states[place], first, found[leaf][2] + total if leaf in found else total)
    for leaf, (memory, x, _) in found.items():
        _check_memory(paths[firsts[leaf]], x, memory)
    return list(found.values())


def _fits(path: KeyPath, x: Any, leaf: Any, g: Any) -> bool:
    """Whether `x`, which has a gradient, is a parameter. Raises if the gradient or the state don't fit."""
    name = path or "the parameter"
    if type(x) is TrackedArray:
        check_writable(path, x)
    if not is_trainable_array(x):
        if isinstance(x, (float, int, np.floating)) and not isinstance(x, bool) and is_leaf(g):
            raise TypeError(
                f"{path or 'the model'} is the number {x!r}, which update cannot change in place: make it an array, "
                f"np.array({float(x)!r})"
            )
        return False
    if not isinstance(leaf, Leaf):
        raise ValueError(f"the state has nothing for {name}: it's another model's. Write state = setup(rule, model)")
    if not is_array(g) or g.dtype.kind not in "fiu":
        got = f"an array of {g.dtype}" if is_array(g) else f"a {type(g).__name__}"
        raise TypeError(f"the gradient of {name} is {got}, not an array of real numbers. {_USAGE}")
    if g.shape != x.shape:
        raise ValueError(f"{name} has shape {x.shape}, its gradient shape {g.shape}")
    if not _share_device(g, x):
        raise TypeError(f"{name} is on {device_of(x)}, its gradient on {device_of(g)}: move one of them")
    return True


def _check_memory(path: KeyPath, x: Any, leaf: Leaf) -> None:
    name = path or "the parameter"
    check_writable(path, x)
    for y in filter(is_array, leaf.memory.values()):
        if y.shape != x.shape:
            raise ValueError(f"{name} has shape {x.shape}, its state {y.shape}: call state = setup(rule, model) again")
        if not _share_device(y, x):
            raise TypeError(
                f"{name} is on {device_of(x)}, its state on {device_of(y)}: move the model first, then setup"
            )


def _part_of_gradient(flat: Flat, number: int, grads: Any, step: Any) -> Any:
    """The gradient of a part, where the gradient of the whole is not named like the whole: some may be missing."""
    if grads is None or isinstance(grads, tuple) and len(grads) == 0:  # a missing branch: no step
        return None
    x, name = flat.at(number), flat.paths()[number] or "the model"
    own, parts = children(x)[0], children(grads)[0]
    if is_leaf(grads) or isinstance(own, Mapping) != isinstance(parts, Mapping):
        raise TypeError(f"{name} is a {type(x).__name__}, its gradient a {type(grads).__name__}. {_USAGE}")
    for given in parts if isinstance(parts, Mapping) else range(len(parts)):
        if given not in (own if isinstance(own, Mapping) else range(len(own))):
            raise ValueError(f"{name}, a {type(x).__name__}, has no {given!r}, its gradient has one")
    return _part_of_state(flat, number, grads, step)


def _part_of_state(flat: Flat, number: int, x: Any, step: Any) -> Any:
    parts = children(x)[0]
    if isinstance(parts, Mapping):
        return parts.get(step)
    return parts[step] if isinstance(step, int) and step < len(parts) else None


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
