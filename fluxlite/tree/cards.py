"""One of several cards is the *current* one, and it computes. Ours makes that the card which holds the operands."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .ties import is_tracked
from .walks import leaves

# For array types whose library computes on the current card, wherever the operands are: how to make an array's card
# the current one for a while. With one card there's nothing to enter, so this stays empty.
enter_card: dict[type, Callable[[Any], AbstractContextManager[Any]]] = {}
HERE = nullcontext()


def on_card_of(x: Any) -> AbstractContextManager[Any]:
    """``with on_card_of(x):`` computes on the card that holds `x`, a plain or tracked array (CUDA.jl: ``device!``).

    What isn't on one of several cards needs no entering.

    >>> x = np.ones(2)
    >>> with on_card_of(x):
    ...     np.zeros_like(x)
    array([0., 0.])
    """
    if not enter_card:
        return HERE
    while is_tracked(x):
        x = x.value
    return enter_card[type(x)](x) if type(x) in enter_card else HERE


def copy_of(x: Any) -> Any:
    """A copy of the array `x`, beside it. CuPy's ``x.copy()`` goes to the current card."""
    with on_card_of(x):
        return x.copy()


def on_first_card_of(x: Any) -> AbstractContextManager[Any]:
    """The same for a container or a model: the first of its arrays that's on one of several cards says which."""
    return next((card for card in map(on_card_of, leaves(x)) if card is not HERE), HERE) if enter_card else HERE
