"""Flux's two older ways to a gradient, on the same machinery as `gradient`.

Tracker's, of 2018: mark the parameters with `param`, compute, call `back`, read ``.grad``. Zygote's implicit one:
``gradient(f, params(model))`` for a function that reaches the model by itself.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from ..annotations import Array, LibraryArray, Tree
from ..tree.contract import children, is_leaf, put_attribute
from ..tree.flat import Attribute, KeyPath, put
from ..tree.ties import is_array, is_trainable_array, on_card_of, parameter_key, view_as
from ..tree.walks import is_mutable, nodes, on_first_card_of, trainables
from ..words import explained
from .freezing import PARAMETERS, Level
from .gradients import as_gradient, new_level, run_in_training, totals_of, track, untrack
from .state import changeable_contents, detach
from .tracked import TrackedArray


@explained()
def param(x: Array | float) -> TrackedArray:
    """The array `x`, tracked until it's dropped (Flux, Tracker: ``param``).

    ``.data`` is the array itself and can be assigned; ``.grad`` is None until the first `back`; each one adds to it.
    Between the loss and `back`, don't change in place what the loss was computed with: the gradient would be wrong.

    >>> w = param(np.array([1.0, 2.0]))
    >>> back((w**2).sum())
    >>> w.grad
    array([2., 4.])
    >>> w.data -= 0.1 * w.grad
    """
    if isinstance(x, (float, np.floating)):
        x = np.asarray(x)
    if not is_trainable_array(x):
        got = f"an array of {x.dtype}" if is_array(x) else f"a {type(x).__name__}"
        raise TypeError(f"param takes an array of floating-point numbers, got {got}")
    from . import derivatives  # noqa: F401  (fills the table, as the first call of gradient does)

    return TrackedArray(x, PARAMETERS)


@explained()
def back(loss: TrackedArray) -> None:
    """Add the gradients of `loss`, one number, to the ``.grad`` of every `param` it was computed from (``back!``).

    The calls it walks through are cleared: a second `back` through the same ones raises `RuntimeError`.
    """
    if type(loss) is not TrackedArray:
        raise TypeError(f"back takes a loss that was computed from a param, got a plain {type(loss).__name__}")
    if loss.level is not PARAMETERS:
        raise TypeError("this loss belongs to a gradient call: return it from the function, gradient does the rest")
    given: set[int] = set()
    for parameter, g in totals_of(loss, PARAMETERS).items():
        if parameter.grad is None:
            parameter.grad = as_gradient(parameter.value, g, given)
        else:
            with on_card_of(g):
                parameter.grad += g


@explained()
def params(*models: Tree) -> "Params":
    """The parameters of `models`, for ``gradient(lambda: loss(x, y), params(model))`` (Flux: ``params``).

    During the call the models' fields hold tracked arrays, so the function doesn't need the model as an argument. The
    gradients are looked up by the parameter: ``grads[model.weight]``. A place that can't be assigned is a `TypeError`.
    """
    if any(map(is_array, models)):
        raise TypeError("params takes models; of an array, write w = param(w) and back(loss), or gradient(f, w)")
    return Params(models)


class Params(list):
    """The parameters of some models, for ``gradient(f, params(model))``; made by `params`."""

    def __init__(self, models: tuple):
        for path, node in nodes(models):
            _check_plain(path, node)
        self.models = models
        super().__init__(array for _, array in trainables(models))

    def __repr__(self) -> str:
        shapes = ", ".join(str(array.shape) for array in self)
        return f"Params of shapes {shapes or '(none)'}"

    def withgradient(self, f: Callable) -> "tuple[Any, ImplicitGradients]":
        """Run `f`, which takes no arguments, with tracked arrays in the models' fields; then put the arrays back."""
        places = _places(self.models, self)
        objects = [x for _, x in nodes(self.models) if not is_leaf(x) and is_mutable(x)]
        level = new_level()
        try:
            tracked = {parameter_key(array): (array, track(array, level)) for array in self}
            for owner, step, array in places:
                first, stand_in = tracked[parameter_key(array)]
                put(owner, step, view_as(stand_in, like=array, of=first))
            with on_first_card_of(self):
                value = run_in_training(f)
                plain_value = untrack(value, level)
                totals = totals_of(value, level)
                given: set[int] = set()
                found = {id(x): as_gradient(x, totals.get(stand_in), given) for x, stand_in in tracked.values()}
            return plain_value, ImplicitGradients(self, found)
        finally:
            try:
                _end(places, objects, level)
            except BaseException:  # Ctrl-C came meanwhile: do the rest
                _end(places, objects, level)
                raise


def _end(places: list, objects: list, level: Level) -> None:
    """Put the arrays back, and let them be written again. It may be done twice."""
    for place in places:
        put(*place)
    _detach(objects)
    level.close()


class ImplicitGradients:
    """The gradients of `Params`, looked up by the array itself: ``grads[model.weight]``; None where nothing flows."""

    def __init__(self, of: Params, found: dict[int, Array]):
        self.params = of
        self.found = found

    def __getitem__(self, array: Array) -> Array | None:
        if id(array) not in self.found:
            raise KeyError("this array isn't one of the params that the gradient was taken for")
        return self.found[id(array)]

    def __iter__(self) -> Iterator:
        return map(self.__getitem__, self.params)

    def __repr__(self) -> str:
        return f"gradients of {self.params}"


children.register(ImplicitGradients)(lambda x: (list(x), lambda grads: grads))


def _places(models: tuple, arrays: list) -> list[tuple[Tree, Hashable, LibraryArray]]:
    """(owner, step, array) for every place, repeated ones too, that holds one of `arrays`."""
    keys = {parameter_key(array) for array in arrays}
    found = []
    for path, leaf in nodes(models, every_place=True):
        _check_plain(path, leaf)
        if is_array(leaf) and parameter_key(leaf) in keys:
            owner = KeyPath(path[:-1]).get(models)
            step = path[-1]
            _check_assignable(path, owner, step, leaf)
            found.append((owner, step, leaf))
    if keys - {parameter_key(leaf) for *_, leaf in found}:
        raise RuntimeError("a parameter has been replaced in the model since params(model) was called: call it again")
    return found


def _check_plain(path: KeyPath, node: Tree) -> None:
    if type(node) is TrackedArray:
        node.check_open(str(KeyPath(path[1:])))
        raise TypeError(f"{KeyPath(path[1:])} is already tracked, by param or by another gradient: {_INSTEAD}")


def _check_assignable(path: KeyPath, owner: Tree, step: Hashable, leaf: Tree) -> None:
    try:
        if isinstance(step, Attribute) and getattr(owner, step) is not leaf:
            raise TypeError("computed, not stored")
        put(owner, step, leaf)
    except (TypeError, AttributeError) as error:
        raise TypeError(f"{KeyPath(path[1:])} can't be assigned ({error}): {_INSTEAD}") from None


_INSTEAD = "this style needs plain arrays in fields; use gradient(f, model) with a function of the model"


def _detach(objects: list) -> None:
    """Take the tracking off what `f` put into these objects and containers."""
    known: dict[int, Any] = {}
    for x in objects:
        now = changeable_contents(x)
        entries: list[tuple[Any, Any]]
        if isinstance(x, list):
            entries = list(enumerate(now))
        else:
            entries = list(now.items())
        for step, value in entries:
            if all(type(node) is not TrackedArray or node.level is PARAMETERS for _, node in nodes(value)):
                continue
            if isinstance(x, (list, dict)):
                x[step] = detach(value, known)
            else:
                put_attribute(x, step, detach(value, known), step in getattr(x, "__dict__", ()))
