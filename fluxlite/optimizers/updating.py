"""`update`: one step for every parameter, after all has been checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..arrays import device_of, enter_card, on_card_of
from ..autodiff.collecting import Gradient
from ..autodiff.tracked import TrackedArray
from ..messages import warn
from ..tree.cards import copy_of
from ..tree.contract import children, fields_of, is_leaf, trainable
from ..tree.parameters import is_trainable_array, trainables
from ..tree.ties import is_array, parameter_key, same_view
from ..tree.walks import KeyPath, fmap, leaves, nodes, steps
from .base import Rule
from .states import Leaf, State, check_writable


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
    try:
        steps: list[tuple[Leaf, Any, Any]] = []
        _pair(model, state, grads, steps)
        owners = {id(x if x.base is None else x.base) for _, x, _ in steps}
        if len(owners) == len(steps):
            return steps
    except (_Unusual, RecursionError):
        pass
    try:
        return list(_named_steps(state, model, grads))
    except RecursionError:
        raise RecursionError(f"the parts of this {type(model).__name__} are nested too deep to be updated") from None


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
        if not state.frozen:
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
        if not leaf.frozen:
            with on_card_of(x):
                total = sum(several[1:], several[0])
            yield leaf, x, total


def updated(state: Any, model: Any, grads: Any) -> tuple[Any, Any]:
    """Like `update`, but leaves `state` and `model` as they are and returns new ones (Flux: ``update``).

    >>> model = {"w": np.ones(1)}
    >>> _, after = updated(fl.setup(fl.Descent(0.5), model), model, {"w": np.ones(1)})
    >>> model, after
    ({'w': array([1.])}, {'w': array([0.5])})
    """
    state, model = fmap(_copy, state), fmap(_copy, model)
    return update(state, model, grads)


def _copy(leaf: Any) -> Any:
    return copy_of(leaf) if is_array(leaf) else leaf


def _beside(path: KeyPath, x: Any, state: Any, grads: Any) -> Iterator[tuple[KeyPath, Any, Any, Any]]:
    """(path, parameter, state, gradient) wherever there is a gradient."""
    if grads is None:  # a missing branch: no step
        return
    if type(x) is TrackedArray:
        check_writable(path, x)
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
        raise ValueError(f"the state has nothing for {name}: it's another model's. Write state = setup(rule, model)")
    if not is_array(g) or g.dtype.kind not in "fiu":
        got = f"an array of {g.dtype}" if is_array(g) else f"a {type(g).__name__}"
        raise TypeError(f"the gradient of {name} is {got}, not an array of real numbers. {_USAGE}")
    if g.shape != x.shape:
        raise ValueError(f"{name} has shape {x.shape}, its gradient shape {g.shape}")
    if not _share_device(g, x):
        raise TypeError(f"{name} is on {device_of(x)}, its gradient on {device_of(g)}: move one of them")


def _check_state(path: KeyPath, x: Any, leaf: Leaf) -> None:
    name = path or "the parameter"
    check_writable(path, x)
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
