"""`Chain`: layers, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..tensors import is_tensor
from ..tree.contract import functor
from .inputs import no_array
from .layer import LAYERS, Layer, called
from .printing import brief, call_of, calls_of, count_of, places_of, said_where


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
        if len(self) == 0:
            return "Chain()"
        places = places_of(self)
        # Where all is in one place, it is said once, at the end.
        lines = [*self._lines("", "", each=len(places) > 1)]
        lines.append((")", f"# {count_of(self)} parameters in all{said_where(places)}"))
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
                call, count, places = call_of(layer), count_of(layer), places_of(layer)
                on = f", on {' and '.join(places)}" if each and places else ""
                yield f"{indent}{name}{call},", f"# {count} parameters{on}" if count or on else ""
