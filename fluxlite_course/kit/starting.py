"""A lesson's first cell: what's installed, which device is used, and how far the learner has come."""

import html
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import fluxlite
from fluxlite import gpu_device, gpu_name, simulate_gpu
from fluxlite.messages import ipython, put_aside
from fluxlite.simulated import SimulatedDevice

from . import copies, course, exercises, progress
from .boxes import box, publish
from .wall.sending import resume

CARD = "NVIDIA T4"
_PASSING = (
    "{}: each session starts from zero here, and all is gone when it ends. Before a break or another lesson, type "
    "%run -m fluxlite handin Ada Lovelace, with your name, and download the file. To go on, put its progress here."
)


def start(number: str) -> None:
    """Begin lesson `number`: say what's there, and turn on the simulated GPU if there's no real one.

    The first lesson says it at length, the others in a line. A lesson with ``SIMULATED = False`` does without the
    simulated GPU. Raises `ValueError` for an unknown lesson.
    """
    lesson, here = exercises.lesson(number), f"fluxlite {fluxlite.__version__}"
    progress.stay(number)
    in_short, at_length = _gpu(getattr(lesson, "SIMULATED", True))
    here_are = course.lessons_in(progress.home())
    lessons, checks = _so_far(here_are)
    if number == here_are[0]:
        versions = f"lesson {number} · {here} · Python {platform.python_version()} · NumPy {np.__version__}"
        lines = [versions, at_length, f"so far: {lessons} lessons done, {checks} checks"]
    else:
        lines = [f"{here} · GPU: {in_short} · {checks} checks right"]
    if place := progress.passing():
        lines.append(_PASSING.format(place))
    if joined := resume():
        lines.append(joined)
    if shell := ipython():
        from .magics import DeviceMagics

        shell.register_magics(DeviceMagics)
    publish("\n".join(lines), box("note", f"<p>{'<br>'.join(map(html.escape, lines))}</p>", "Text"))


def _gpu(simulated: bool) -> tuple[str, str]:
    """Which GPU is in use, in short and at length."""
    if not simulated:
        simulate_gpu(False)
    device = gpu_device()
    if device is None and simulated:
        with put_aside():  # the box says it instead
            simulate_gpu(like=CARD)
        stands = f"A simulated {CARD} stands in: wherever it does, you see the word simulated."
        return f"a simulated {CARD}", f"GPU: none in use, and none is needed. {stands} fl.doctor() says more."
    name = "none in use; the simulated one is off, except where a cell turns it on"
    if type(device) is SimulatedDevice:
        name = f"a {device.name}"
    elif device is not None:
        name = f"{device.name}, a real one ({gpu_name()})"
    return name, f"GPU: {name}"


def _so_far(numbers: Sequence[str]) -> tuple[str, str]:
    """How many of these lessons are done, and how many checks are right: "1 of 17", "4 of 41"."""
    known = progress.read()["checks"]
    solved = [[known.get(id) == exercises.RIGHT for id in exercises.in_lesson(n)] for n in numbers]
    lessons, checks = [all(right) for right in solved if right], sum(solved, [])
    return f"{sum(lessons)} of {len(lessons)}", f"{sum(checks)} of {len(checks)}"


def reset(number: str) -> None:
    """Put a fresh copy of lesson `number` into this folder, and keep yours. Raises `ValueError` for an unknown one."""
    exercises.lesson(number)
    (lesson,) = copies.learner_folder().glob(f"{number}-*.ipynb")
    copy = Path.cwd() / lesson.name
    kept = copies.renew(copy)
    if kept is None:
        print(f"{copy.name} is here now.")
    else:
        print(f"Your work is kept as {kept.name}; {copy.name} is fresh. Close its tab, then open it again.")
