"""What the library's layers have in common: the frame around each call, and what they're called in texts and errors.

A layer is a dataclass whose fields are its tree. Below them it says how it starts, computes, and is written; `Scale`
(combine.py) is a short one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import numpy as np

from ..arrays import device_of, enter_card, on_card_of
from ..autodiff.tracked import CLOSED, TrackedArray, plain
from ..coming_from import OF_A_MODEL, Elsewhere
from ..messages import ClosedError, LayerError, apart, in_words
from ..tensors import is_tensor
from ..tree.contract import functor, on_registration
from ..tree.ties import is_array
from ..tree.walks import Attribute, nodes
from .inputs import no_array
from .printing import print_as_tree

LAYERS = Attribute("layers")
on_registration.append(print_as_tree)


class Layer:
    """A layer of the library. Yours need no such class: any class with ``@functor`` above it will do."""

    _in_lines = "never"  # whether it prints with a line for each part: "never", "if long" or "always"

    vars().update((name, Elsewhere(name)) for name in OF_A_MODEL)

    def __dir__(self) -> list[str]:
        """What an editor completes: our names."""
        return [name for name in object.__dir__(self) if name not in OF_A_MODEL]

    def _sizes(self) -> str:
        """What stands first in the brackets, also in errors: the ``2 => 3`` of ``Dense(2 => 3)``."""
        return ""

    def _options(self) -> str:
        """What else, if it isn't the usual: the ``, tanh`` of ``Dense(2 => 3, tanh)``."""
        return ""

    def _name(self) -> str:
        """What errors call it."""
        return f"{type(self).__name__}({self._sizes()})"

    def _call(self) -> str:
        """How one writes it."""
        try:
            inside = (self._sizes() + self._options()).removeprefix(", ")
        except Exception:  # for a while, a model may hold anything in an array's place
            inside = "…"
        return f"{type(self).__name__}({inside})"

    def _why(self, x: Any, *more: Any, **keywords: Any) -> LayerError | None:
        """After an error of a call with these arguments: what explains it; None if the layer sees nothing wrong."""
        return no_array(self._name(), x) if getattr(x, "shape", None) is None else misplaced(self, x)


def layer_class(cls: Any = None, **names: tuple[str, ...]) -> Any:
    """Above a layer: a dataclass whose fields are its tree, unless `children` names them, as in `functor`."""
    if cls is None:
        return partial(layer_class, **names)
    return functor(dataclass(eq=False, repr=False, init=False)(cls), **names)


def layer_call(call: Callable) -> Any:
    """Above a layer's ``__call__``: the frame that all layers share.

    It enters the card that holds the input, and refuses tensors of other libraries: they would often pass through
    NumPy's functions, and nothing would be trained. After an error it raises what the layer's `_why` returns, or gives
    the error a note. So a layer looks at its input beforehand only where NumPy would compute something wrong, and then
    raises a `LayerError`, which passes as it is.
    """

    @wraps(call)
    def framed(layer: Any, x: Any, *more: Any, **keywords: Any) -> Any:
        if type(x) is not np.ndarray and is_tensor(x):
            raise no_array(layer._name(), x)
        try:
            if enter_card:  # with one card at most, an empty `with` would take 5 % of a small step
                with on_card_of(x[0] if type(x) is tuple and x else x):
                    return call(layer, x, *more, **keywords)
            return call(layer, x, *more, **keywords)
        except (LayerError, RecursionError):
            raise
        except Exception as error:
            why = misplaced(layer) or layer._why(x, *more, **keywords)
            if why is not None:
                raise why from error
            if not any(", called with " in note for note in getattr(error, "__notes__", ())):  # of a layer inside
                error.add_note(f"in {layer._name()}, called with {', '.join(map(in_words, (x, *more)))}")
            raise

    return framed


def called(layer: Any, x: Any, *place: Any) -> Any:
    """``layer(x)``, of any layer or function, on the card that holds `x`. An error names its `place` in front."""
    try:
        if enter_card:
            with on_card_of(x):
                return layer(x)
        return layer(x)
    except LayerError as error:
        raise error.within(*place) from error.__cause__


def misplaced(layer: Any, x: Any = None) -> LayerError | None:
    """After an error: is an array of `layer` left over from a gradient call, or not where the input `x` is."""
    here = plain(x)
    for path, leaf in nodes(layer):
        if type(leaf) is TrackedArray and not leaf.level.is_open:
            return ClosedError(path, CLOSED)
        leaf = plain(leaf)
        if is_array(leaf) and is_array(here) and device_of(leaf) != device_of(here):
            return apart(path, device_of(leaf), device_of(here))
    return None
