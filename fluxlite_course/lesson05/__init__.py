"""What notebook 05, waiting for the GPU, uses: from the kit, from `scenes`, and what only this lesson has."""

from .. import check, expect_error, guess, start, todo
from ..scenes.timeline import timeline
from .pictures import matrix, schedules, since

__all__ = ["check", "expect_error", "guess", "matrix", "schedules", "since", "start", "timeline", "todo"]
