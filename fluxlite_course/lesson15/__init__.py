"""What notebook 15, several machines, uses: from the kit, from `draw`, and what only this lesson has."""

from fluxlite.receipts import duration

from .. import answer, check, guess, start, todo
from .exchange import LINKS, large_network, one_card, ring, sent, several_cards, tree
from .pictures import hiding, ring_steps, scaling
from .workers import start_workers

__all__ = [
    "LINKS", "answer", "check", "duration", "guess", "hiding", "large_network", "one_card", "ring",
    "ring_steps", "scaling", "sent", "several_cards", "start", "start_workers", "todo", "tree",
]  # fmt: skip
