"""What notebook 10, which backend, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from ..draw.shapes import Drawing

__all__ = ["answer", "check", "decision", "expect_error", "guess", "start", "todo"]


def decision() -> Drawing:
    """How a device is chosen: the questions that `get_device` asks, from top to bottom.

    >>> decision()
    Five questions, the first yes counts. get_device("CUDA"): this one, or an error. simulate_gpu(): ...
    """
    return Drawing(__package__, "decision.svg")
