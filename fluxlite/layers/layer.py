"""What the library's layers have in common: the frame around each call, and what they're called in texts and errors.

A layer is a dataclass whose fields are its tree. Below them it says how it starts, computes, and is written:

    @functor
    @dataclass(eq=False, repr=False, init=False)
    class Scale(Layer):
        scale: Any
        activation: Callable

        @explained()
        def __init__(self, size, activation=identity): …

        @layer_call
        def __call__(self, x):
            return self.activation(x * self.scale)

        def _sizes(self):  # Scale(3), in errors too
            return str(*self.scale.shape)

        def _options(self):  # Scale(3, tanh)
            return settings(self.activation)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ..arguments import explained, in_words
from ..arrays import enter_card, on_card_of
from ..coming_from import OF_A_MODEL, Elsewhere
from ..errors import LayerError, left_over, other_device
from ..tensors import is_tensor
from ..tree.walks import Attribute
from .inputs import no_array
from .printing import html, text

Call = TypeVar("Call", bound=Callable[..., Any])


class Layer:
    """A layer of the library. Yours need no such class: any class with ``@functor`` above it will do."""

    _lines = "never"  # whether it prints with a line for each part: "never", "if long" or "always"

    vars().update((name, Elsewhere()) for name in OF_A_MODEL)

    def __dir__(self) -> list[str]:
        """What an editor completes: our names."""
        return [name for name in object.__dir__(self) if name not in OF_A_MODEL]

    def __init_subclass__(cls, **keywords: Any) -> None:
        """An error while one of the library's layers is made names the layer, its arguments, and what they are."""
        super().__init_subclass__(**keywords)
        if cls.__module__.startswith(__package__):
            told = explained(f"what help(fluxlite.{cls.__name__}) says")
            if "__init__" in vars(cls):
                cls.__init__ = told(vars(cls)["__init__"])  # type: ignore[method-assign]
            if "of" in vars(cls):
                cls.of = classmethod(told(vars(cls)["of"].__func__))  # type: ignore[attr-defined]

    def _sizes(self) -> str:
        """What stands first in the brackets, also in errors: the ``2 => 3`` of ``Dense(2 => 3)``."""
        return ""

    def _options(self) -> str:
        """What else, if it isn't the usual: the ``, tanh`` of ``Dense(2 => 3, tanh)``."""
        return ""

    def _why(self, x: Any, *more: Any, **keywords: Any) -> LayerError | None:
        """After an error of a call with these arguments: what explains it; None if the layer sees nothing wrong."""
        return no_array(self._name(), x) if getattr(x, "shape", None) is None else other_device(self, x)

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

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str | None:
        return html(self)


def layer_call(call: Call) -> Call:
    """Above a layer's ``__call__``: the frame that all layers share. It does three things.

    The layer computes on the card that holds its input.

    A tensor of another library is refused. It would often pass through NumPy's functions, and nothing would be trained.

    After an error, what a learner needs to know is raised instead: that an array of the layer is left over from a
    gradient call that has ended, or what the layer's `_why` returns, by itself that the input isn't an array or is on
    another device. If there's nothing of the kind, the error goes on, with a note that names the layer and its input.
    So a layer looks at its input beforehand only where NumPy would compute something wrong, and then raises a
    `LayerError`, which passes as it is.
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
            why = left_over(layer) or layer._why(x, *more, **keywords)
            if why is not None:
                raise why from error
            if not hasattr(error, "__notes__"):  # a layer inside has named itself
                error.add_note(f"in {layer._name()}, called with {', '.join(map(in_words, (x, *more)))}")
            raise

    return framed  # type: ignore[return-value]


on_its_card = layer_call
LAYERS = Attribute("layers")


def called(layer: Any, x: Any, *place: Any) -> Any:
    """``layer(x)``, of any layer or function, on the card that holds `x`. An error names its `place` in front."""
    try:
        if enter_card:
            with on_card_of(x):
                return layer(x)
        return layer(x)
    except LayerError as error:
        raise error.within(*place) from error.__cause__
