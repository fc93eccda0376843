"""What notebook 11, feeding data, uses: from the kit, and what only this lesson has."""

from .. import answer, busiest, check, digits, expect_error, guess, start, todo
from .training import loss, network, photos

__all__ = ["answer", "busiest", "check", "digits", "expect_error", "guess", "loss", "network", "photos", "start",
           "todo"]  # fmt: skip
