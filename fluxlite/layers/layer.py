"""What the library's layers have in common: where they compute, and words for what can't be made or isn't there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ..arguments import explained
from ..arrays import enter_card, on_card_of
from ..coming_from import OF_A_MODEL, Elsewhere
from ..errors import LayerError, left_over
from ..tensors import is_tensor
from ..tree.walks import Attribute
from .inputs import no_array
from .trees import html, text

Call = TypeVar("Call", bound=Callable[..., Any])


class Layer:
    """A layer of the library. Yours need no such class: any class with ``@functor`` above it will do."""

    _in_lines = False  # whether it prints with a line for each part, also if it's short

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

    def _call(self) -> str:
        """How one writes this layer: ``Dense(2 => 3)``."""
        raise NotImplementedError

    def _name(self) -> str:
        """What errors call it: where there is much to say, less than `_call` says."""
        return self._call()

    def _parts(self) -> list[tuple[Any, Any]]:
        """The layers inside, for one that prints with a line for each.

        Each has its number, the name that a user gave it, or, in a tuple, one that a notebook's tree shows and no text.
        """
        return []

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str | None:
        return html(self)


# Where there's one card at most, we don't use an empty ``with``: it would take 5 % of a small step.


def on_its_card(call: Call) -> Call:
    """Above a layer's ``__call__``: it computes on the card that holds its input, and refuses tensors of others."""

    @wraps(call)
    def computed(layer: Any, x: Any, *more: Any, **keywords: Any) -> Any:
        if is_tensor(x):
            raise no_array(layer._name(), x)
        if enter_card:
            with on_card_of(x[0] if type(x) is tuple and x else x):
                return call(layer, x, *more, **keywords)
        return call(layer, x, *more, **keywords)

    return computed  # type: ignore[return-value]


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
    except RuntimeError as error:
        why = left_over(layer)
        if why is None:
            raise
        raise why.within(*place) from error
