"""The course: what the lessons are made of. ``from fluxlite_course.lesson00 import *`` begins one.

`kit/` has what every lesson uses: start, guess, check, progress, handing in, a class. `draw/` has what several lessons
draw with. Each `lessonNN/` has everything that only this lesson uses: its checks, the replies to its questions, its
pictures. The sine wave, the crossing, the bottleneck and the data, which many lessons share, are files of their own.

`fluxlite_course.digits` and the other names below are loaded at their first use.
"""

import importlib
import sys
from typing import Any

from simgpu import lines

lines.leave_out(sys.modules[__name__])  # a receipt names the learner's lines, not ours

_NAMES = {
    "kit.starting": "start reset", "kit.guesses": "guess answer", "kit.exercises": "check todo",
    "kit.expecting": "expect_error", "crossing": "crossover", "data": "digits island",
    "bottleneck": "busiest", "lesson07.my_report": "report", "kit.wall.sending": "join leave",
    "kit.wall.letters": "letters",
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext fluxlite_course`` calls this. It adds ``%device_time`` and ``%%machine``; `start` does it, too."""
    from .kit.magics import DeviceMagics

    shell.register_magics(DeviceMagics)
