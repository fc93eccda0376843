"""`Chain`: layers, one after the other; and what it has in common with other layers of layers."""

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

from ..messages import check_callable, explained
from .layer import LAYERS, Layer, called, layer_call, layer_class
from .printing import call_of


class Container(Layer):
    """A layer made of `layers`: a tuple, or a dict if they have names."""

    layers: Any

    _in_lines = "if long"

    def _set_layers(self, layers: tuple, named: Mapping[str, Any]) -> None:
        if layers and named:
            raise TypeError(f"the layers of {self._name()} all have names, or none has")
        self.layers = dict(named) if named else tuple(layers)
        for where, layer in self._items():
            check_callable(f"{self._name()}'s layers[{where!r}]", layer)

    def _items(self) -> Any:
        return self.layers.items() if isinstance(self.layers, Mapping) else enumerate(self.layers)

    def _why(self, *inputs: Any) -> None:
        """The layers inside have said it."""

    def _name(self) -> str:
        return type(self).__name__

    def _sizes(self) -> str:
        return ", ".join(call_of(x) if type(where) is int else f"{where}={call_of(x)}" for where, x in self._items())


@layer_class
class Chain(Container):
    """Layers, or any functions, one after the other (Flux: ``Chain``).

    ``chain[0]`` is the first layer, ``chain[1:]`` a chain of the others; ``len`` and iteration work as on a list.
    Layers can have names: ``Chain(encoder=Dense(9, 3), decoder=Dense(3, 9))`` has ``chain["encoder"]``.

    >>> Chain(fl.Dense(4, 3, np.tanh), fl.Dense(3, 2))
    Chain(
      Dense(4 => 3, tanh),      # 15 parameters
      Dense(3 => 2),            # 8 parameters
    )                           # 23 parameters in all
    """

    layers: Any

    _in_lines = "always"

    @explained("layers, or functions; write Chain(*layers) for a list of them")
    def __init__(self, *layers: Any, **named: Any):
        self._set_layers(layers, named)

    @layer_call
    def __call__(self, x: Any) -> Any:
        for where, layer in self._items():
            x = called(layer, x, LAYERS, where)
        return x

    @explained("the place of a layer, or a slice")
    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.layers, Mapping) and isinstance(index, (int, slice)):
            index = list(self.layers)[index]
        if not isinstance(index, (slice, list)):
            return self.layers[index]
        part = copy(self)
        part.layers = {name: self.layers[name] for name in index} if type(index) is list else self.layers[index]
        return part

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator:
        return iter(self.layers.values() if isinstance(self.layers, Mapping) else self.layers)
