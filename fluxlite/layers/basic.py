"""`Dense` and `Chain`: with these two, and a loss, a network is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import device_of
from ..errors import InputError, LayerError, ShapeError, other_device
from ..initializers import glorot_uniform
from ..parameters import trainables
from ..ties import is_array
from ..tracked import untracked_leaf
from ..tree import functor
from ..walks import Attribute, KeyPath, fmap, leaves


def identity(x: Any) -> Any:
    """The activation of a layer that has none."""
    return x


@functor
@dataclass(eq=False, repr=False, init=False)
class Dense:
    """A fully connected layer: ``activation(x @ weight.T + bias)`` (Flux: ``Dense``).

    ``Dense(inputs, outputs, activation)`` starts with random weights: `weight` has shape ``(outputs, inputs)``,
    `bias` shape ``(outputs,)`` and starts at zero; ``bias=False`` leaves it out. `x` has shape ``(N, inputs)`` or
    ``(inputs,)``. `Dense.of` takes the arrays themselves.

    Raises `ValueError` for an input of another width, `TypeError` for one on another device.

    >>> layer = Dense(10, 5)
    >>> layer
    Dense(10 => 5)      # 55 parameters
    >>> layer(np.ones((3, 10), np.float32)).shape
    (3, 5)
    """

    weight: Any
    bias: Any
    activation: Callable

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: Callable = identity,
        *,
        bias: bool = True,
        init: Callable = glorot_uniform,
        rng: np.random.Generator | None = None,
    ):
        for what, size in (("inputs", inputs), ("outputs", outputs)):
            if not isinstance(size, (int, np.integer)) or isinstance(size, bool):
                hint = "; for arrays there is Dense.of(weight, bias, activation)" if is_array(size) else ""
                raise TypeError(f"Dense({what}) is a number of features, got {_brief(size)}{hint}")
            if size < 0:
                raise ValueError(f"Dense({what}) is a number of features, got {size}")
        if not callable(activation):
            raise TypeError(f"Dense's activation is a function such as np.tanh, got {activation!r}")
        if not isinstance(bias, (bool, type(None))):
            raise TypeError("Dense's bias is True or False; for arrays there is Dense.of(weight, bias, activation)")
        self.weight = init(int(outputs), int(inputs), **({} if rng is None else {"rng": rng}))
        self.bias = np.zeros_like(self.weight, shape=(int(outputs),)) if bias else None
        self.activation = activation

    @classmethod
    def of(cls, weight: Any, bias: Any = None, activation: Callable = identity) -> Dense:
        """A layer made of these arrays: `weight` of shape ``(outputs, inputs)``, `bias` ``(outputs,)`` or None.

        >>> Dense.of(np.ones((2, 3)), np.zeros(2))(np.ones(3))
        array([3., 3.])
        """
        if getattr(weight, "ndim", None) != 2:
            raise ValueError(f"Dense.of: weight has shape (outputs, inputs), got {_brief(weight)}")
        if bias is not None and getattr(bias, "shape", None) != weight.shape[:1]:
            raise ValueError(
                f"Dense.of: for a weight of shape {weight.shape}, bias has {weight.shape[:1]}, got {_brief(bias)}"
            )
        layer = object.__new__(cls)
        layer.weight, layer.bias, layer.activation = weight, bias, activation
        return layer

    def __call__(self, x: Any) -> Any:
        try:
            y = x @ self.weight.T
            return self.activation(y if self.bias is None else y + self.bias)
        except (TypeError, ValueError, AttributeError) as error:
            why = self._why(x)
            if why is None:
                raise
            raise why from error

    def _why(self, x: Any) -> LayerError | None:
        """After an error: what a learner needs to know about it; None if the layer sees nothing wrong."""
        outputs, inputs = self.weight.shape
        shape = getattr(x, "shape", None)
        name = f"Dense({inputs} => {outputs})"
        if shape is None:
            return InputError(KeyPath(), f"{name} takes an array, got {_brief(x)}; np.asarray(x) makes one")
        if shape == () or shape[-1] != inputs:
            takes = f"takes an input of shape ({inputs},) or (N, {inputs})"
            hint = "; the observations are its rows: x.T?" if len(shape) == 2 and shape[0] == inputs else ""
            return ShapeError(KeyPath(), f"{name} {takes}, got shape {shape}{hint}")
        return other_device(self, x)

    def __repr__(self) -> str:
        return described(self)

    def _call(self) -> str:
        if len(getattr(self.weight, "shape", ())) != 2:  # a model may hold anything in an array's place for a while
            return f"Dense.of({_text(self.weight)}, {_text(self.bias)})"
        outputs, inputs = self.weight.shape
        activation = "" if self.activation is identity else f", {_name(self.activation)}"
        return f"Dense({inputs} => {outputs}{activation}{', bias=False' if self.bias is None else ''})"


@functor
@dataclass(eq=False, repr=False, init=False)
class Chain:
    """Layers, or any functions, one after the other (Flux: ``Chain``).

    ``chain[0]`` is the first layer, ``chain[1:]`` a chain of the others; ``len`` and iteration work as on a list.
    Layers can have names: ``Chain(encoder=Dense(9, 3), decoder=Dense(3, 9))`` has ``chain["encoder"]``.

    Raises what a layer raises, with the layer's place in front: ``layers[1].weight is on CPU, …``.

    >>> chain = Chain(Dense(4, 3, np.tanh), Dense(3, 2))
    >>> chain(np.ones((5, 4), np.float32)).shape, len(chain)
    ((5, 2), 2)
    >>> chain
    Chain(
      Dense(4 => 3, tanh),      # 15 parameters
      Dense(3 => 2),            # 8 parameters
    )                           # 23 parameters in all
    """

    layers: Any

    def __init__(self, *layers: Any, **named: Any):
        if layers and named:
            raise TypeError("a Chain's layers all have names, or none has")
        for where, layer in [*enumerate(layers), *named.items()]:
            if not callable(layer):
                hint = "; write Chain(*layers) for a list" if isinstance(layer, (list, tuple)) else ""
                raise TypeError(f"Chain's layers[{where!r}] cannot be called: {_brief(layer)}{hint}")
        self.layers = dict(named) if named else tuple(layers)

    def __call__(self, x: Any) -> Any:
        for where, layer in self._items():
            try:
                x = layer(x)
            except LayerError as error:
                raise error.within(Attribute("layers"), where) from error.__cause__
        return x

    def _items(self) -> Any:
        return self.layers.items() if isinstance(self.layers, Mapping) else enumerate(self.layers)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            by_number = isinstance(self.layers, Mapping) and isinstance(index, int)
            return list(self.layers.values())[index] if by_number else self.layers[index]
        part = object.__new__(type(self))
        part.layers = dict(list(self.layers.items())[index]) if isinstance(self.layers, Mapping) else self.layers[index]
        return part

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator:
        return iter(self.layers.values() if isinstance(self.layers, Mapping) else self.layers)

    def __repr__(self) -> str:
        if len(self) == 0:
            return "Chain()"
        places = _places(self)
        # Where all is in one place, it is said once, at the end.
        lines = [*self._lines("", "", each=len(places) > 1)]
        lines.append((")", f"# {_count(self)} parameters in all{_on(places)}"))
        width = max(len(line) for line, _ in lines) + 6
        return "\n".join(f"{line:<{width}}{comment}".rstrip() for line, comment in lines)

    def _lines(self, indent: str, name: str, each: bool) -> Iterator[tuple[str, str]]:
        """The lines of this chain's text, each with its comment, and where `each` layer is; without the last."""
        yield f"{indent}{name}Chain(", ""
        indent += "  "
        for where, layer in self._items():
            name = f"{where}=" if isinstance(where, str) else ""
            if isinstance(layer, Chain) and len(layer):
                yield from layer._lines(indent, name, each)
                yield f"{indent}),", ""
            else:
                call = layer._call() if hasattr(layer, "_call") else _name(layer)
                count, places = _count(layer), _places(layer)
                on = f", on {' and '.join(places)}" if each and places else ""
                yield f"{indent}{name}{call},", f"# {count} parameters{on}" if count or on else ""


def described(layer: Any) -> str:
    """How a layer prints by itself: as its `_call` says, with its parameters, and where they are if not on the CPU."""
    return f"{layer._call()}      # {_count(layer)} parameters{_on(_places(layer))}"


def _count(layer: Any) -> int:
    """How many numbers training may change; a tied array counts once, a tracked one like its value."""
    return sum(array.size for _, array in trainables(fmap(untracked_leaf, layer)))


def _places(layer: Any) -> list[str]:
    """The devices on which the arrays of `layer` are."""
    arrays = filter(is_array, leaves(fmap(untracked_leaf, layer)))
    return list(dict.fromkeys(str(device_of(array)) for array in arrays))


def _on(places: list[str]) -> str:
    """Said where it is not the usual one."""
    return "" if places in ([], ["CPU"]) else f", on {' and '.join(places)}"


def _name(function: Any) -> str:
    parameters = getattr(type(function), "__dataclass_params__", None)
    if parameters is not None and parameters.repr:  # that text would hold all values, and fetch them from a device
        return f"{type(function).__name__}(…)"
    return getattr(function, "__name__", None) or repr(function)


def _text(x: Any) -> str:
    return _brief(x) if is_array(x) else repr(x)


def _brief(x: Any) -> str:
    shape = getattr(x, "shape", None)
    return f"{type(x).__name__} {x!r}" if shape is None else f"an array of shape {shape}"
