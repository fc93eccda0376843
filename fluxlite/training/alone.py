"""A training's steps in one program. For several programs, `Team` of `distributed/team.py` has the same methods."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..autodiff.gradients import withgradient
from ..optimizers import update


class Alone:
    """One worker, who sees every batch."""

    interrupts: Any
    worker, rows = 0, 1  # its number, and whether it has any of this batch

    def batches(self, data: Any, skip: int) -> Any:
        """An epoch of `data` without its first batches: a loader can leave them out without making them."""
        if hasattr(data, "batches"):
            return data.batches(skip=skip)
        return itertools.islice(data, skip, None) if skip else iter(data)

    def withgradient(self, loss: Callable, model: Any) -> Any:
        return withgradient(loss, model)

    def losses(self, values: list[float]) -> list[float]:
        return values

    def update(self, opt_state: Any, model: Any, grads: Any) -> None:
        update(opt_state, model, grads)

    def agree(self, wish: bool) -> tuple[bool, bool]:
        """Whether to stop because the interrupt key was pressed, or because `each_step` wants to."""
        return self.interrupts.pressed, wish

    def decide(self, *choice: Any) -> Any:
        """Whether to stop after this epoch, and why."""
        return choice
