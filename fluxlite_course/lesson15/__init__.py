"""What notebook 17, several machines, uses: from the kit, from `draw`, and what only this lesson has."""

from fluxlite.receipts import duration

from .. import answer, check, guess, start, todo
from .exchange import LINKS, large_network, one_card, ring, sent, several_cards, tree
from .pictures import hidden, hiding, ring_step, ring_steps, scaling
from .workers import start_workers

__all__ = [
    "LINKS", "answer", "check", "duration", "guess", "hidden", "hiding", "large_network", "one_card", "ring",
    "ring_step", "ring_steps", "scaling", "sent", "several_cards", "start", "start_workers", "todo", "tree",
]  # fmt: skip
