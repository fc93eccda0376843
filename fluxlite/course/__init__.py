"""What the lessons use: ``from fluxlite.course import answer, check, expect_error, guess, start, todo``.

This is a table of contents. Each name is loaded at its first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .crossing import crossover
    from .data import digits, island
    from .exercises import check, todo
    from .expecting import expect_error
    from .guesses import answer, guess
    from .my_report import report
    from .starting import reset, start
    from .timing import bench
else:
    from ..lazy import loaded_when_used

    __getattr__, __dir__ = loaded_when_used(
        __name__,
        {
            "starting": "start reset",
            "exercises": "check todo",
            "guesses": "guess answer",
            "expecting": "expect_error",
            "timing": "bench",
            "crossing": "crossover",
            "my_report": "report",
            "data": "digits island",
        },
    )

__all__ = [
    "start", "guess", "answer", "check", "todo", "expect_error", "reset", "bench", "crossover", "report", "digits",
    "island",
]  # fmt: skip
