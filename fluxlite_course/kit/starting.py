"""A lesson's first cell: what's installed, which device is used, and how far the learner has come."""

import html
import platform
from pathlib import Path

import numpy as np

import fluxlite
from fluxlite import gpu_device, gpu_name, simulate_gpu
from fluxlite.messages import ipython, put_aside
from fluxlite.simulated import SimulatedDevice

from . import copies, exercises, progress
from .boxes import box, publish

CARD = "NVIDIA T4"
_PASSING = (
    "{}: each session starts from zero here, and all is gone when it ends. Before a break or another lesson, type "
    "%run -m fluxlite handin Ada Lovelace, with your name, and download the file. To go on, put its progress here."
)


def start(number: str) -> None:
    """Begin lesson `number`: say what's there, and turn on the simulated GPU if there's no real one.

    A lesson with ``SIMULATED = False`` does without it. Raises `ValueError` for an unknown lesson.
    """
    lesson, here = exercises.lesson(number), fluxlite.__version__
    progress.stay()
    lines = [f"lesson {number} · fluxlite {here} · Python {platform.python_version()} · NumPy {np.__version__}"]
    lines += [_gpu_line(getattr(lesson, "SIMULATED", True)), _progress_line()]
    if place := progress.passing():
        lines.append(_PASSING.format(place))
    if shell := ipython():
        from .magics import DeviceMagics

        shell.register_magics(DeviceMagics)
    publish("\n".join(lines), box("note", f"<p>{'<br>'.join(map(html.escape, lines))}</p>"))


def _gpu_line(simulated: bool) -> str:
    if not simulated:
        simulate_gpu(False)
    device = gpu_device()
    if device is not None:
        return f"GPU: {device.name}" + ("" if type(device) is SimulatedDevice else f", a real one ({gpu_name()})")
    if not simulated:
        return "GPU: none in use. The simulated one is off in this lesson."
    with put_aside():  # the box says it instead
        simulate_gpu(like=CARD)
    stands = f"A simulated {CARD} stands in: wherever it does, you see the word simulated."
    return f"GPU: none in use, and none is needed. {stands} fl.doctor() says more."


def _progress_line() -> str:
    known = progress.read()["checks"]
    solved = [[known.get(id) == exercises.RIGHT for id in exercises.in_lesson(n)] for n in exercises.folders()]
    lessons, checks = [all(right) for right in solved if right], sum(solved, [])
    return f"so far: {sum(lessons)} of {len(lessons)} lessons done, {sum(checks)} of {len(checks)} checks"


def reset(number: str) -> None:
    """Put a fresh copy of lesson `number` into this folder, and keep yours. Raises `ValueError` for an unknown one."""
    exercises.lesson(number)
    (lesson,) = copies.learner_folder().glob(f"{number}-*.ipynb")
    copy = Path.cwd() / lesson.name
    kept = copies.renew(copy)
    fresh = f"Your work is kept as {kept and kept.name}; {copy.name} is fresh. Close its tab, then open it again."
    print(f"{copy.name} is here now." if kept is None else fresh)
