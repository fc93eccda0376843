"""`Chain`: layers, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..arguments import explained
from ..tensors import is_tensor
from ..tree.contract import functor
from .inputs import no_array
from .layer import LAYERS, Layer, called
from .printing import brief, calls_of


@functor
@dataclass(eq=False, repr=False, init=False)
class Chain(Layer):
    """Layers, or any functions, one after the other (Flux: ``Chain``).

    ``chain[0]`` is the first layer, ``chain[1:]`` a chain of the others; ``len`` and iteration work as on a list.
    Layers can have names: ``Chain(encoder=Dense(9, 3), decoder=Dense(3, 9))`` has ``chain["encoder"]``.

    Raises what a layer raises, with the layer's place in front: ``layers[1].weight is on CPU, …``.

    >>> chain = Chain(fl.Dense(4, 3, np.tanh), fl.Dense(3, 2))
    >>> chain(np.ones((5, 4), np.float32)).shape, len(chain)
    ((5, 2), 2)
    >>> chain
    Chain(
      Dense(4 => 3, tanh),      # 15 parameters
      Dense(3 => 2),            # 8 parameters
    )                           # 23 parameters in all
    """

    layers: Any

    _in_lines = True

    def __init__(self, *layers: Any, **named: Any):
        if layers and named:
            raise TypeError("a Chain's layers all have names, or none has")
        for where, layer in [*enumerate(layers), *named.items()]:
            if not callable(layer):
                hint = "; write Chain(*layers) for a list" if isinstance(layer, (list, tuple)) else ""
                raise TypeError(f"Chain's layers[{where!r}] cannot be called: {brief(layer)}{hint}")
        self.layers = dict(named) if named else tuple(layers)

    def __call__(self, x: Any) -> Any:
        if is_tensor(x):
            raise no_array("Chain", x)
        for where, layer in self._items():
            x = called(layer, x, LAYERS, where)
        return x

    def _items(self) -> Any:
        return self.layers.items() if isinstance(self.layers, Mapping) else enumerate(self.layers)

    @explained("the place of a layer, or a slice")
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

    def _call(self) -> str:
        return f"Chain({calls_of(self.layers)})"

    def __repr__(self) -> str:
        return super().__repr__() if len(self) else "Chain()"

    def _parts(self) -> list[tuple[Any, Any]]:
        return list(self._items())
