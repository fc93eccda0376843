"""What notebook 15, several machines, uses: from the kit, and what only this lesson has."""

from .. import busiest, check, guess, start, todo
from ..links import LINKS
from .pictures import compared, hiding, ring_steps
from .training import digit_batches, loss, network
from .workers import run_on_workers

__all__ = ["LINKS", "busiest", "check", "compared", "digit_batches", "guess", "hiding", "loss", "network",
           "ring_steps", "run_on_workers", "start", "todo"]  # fmt: skip
