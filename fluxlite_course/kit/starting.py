"""A lesson's first cell: what's installed, which device is used, and how far the learner has come."""

from __future__ import annotations

import html
import platform
from pathlib import Path

import numpy as np

import fluxlite
from fluxlite import gpu_device, gpu_name, simulate_gpu
from fluxlite.messages import ipython, put_aside
from fluxlite.simulated import SimulatedDevice
from simgpu.words import in_words

from . import copies, exercises, progress

CARD = "NVIDIA T4"


def start(number: str, made_for: str | None = None) -> None:
    """Begin lesson `number`: print what's there, and turn on the simulated GPU if there's no real one.

    A lesson with ``SIMULATED = False`` does without the simulated GPU, and the box says so.

    Then checks, guesses and progress work. `made_for` is the version that the notebook was made for; if you have a
    different one, the box says so. Raises `ValueError` for an unknown lesson.
    """
    if made_for is not None and not isinstance(made_for, str):
        raise TypeError(f'start(number, made_for): made_for is a version such as "1.0", got {in_words(made_for)}')
    lesson = exercises.lesson(number)
    progress.stay()
    versions = f"fluxlite {fluxlite.__version__} · Python {platform.python_version()} · NumPy {np.__version__}"
    lines = [f"lesson {number} · {versions}"]
    if made_for is not None and made_for != fluxlite.__version__:
        lines.append(
            f"This notebook was made for fluxlite {made_for}. If a number differs from the text, that may be why; "
            f"reset({number!r}) gives you the lesson for {fluxlite.__version__} and keeps yours."
        )
    _show([*lines, _gpu_line(getattr(lesson, "SIMULATED", True)), _progress_line(), *_passing_line()])


def _gpu_line(simulated: bool = True) -> str:
    if not simulated:
        simulate_gpu(False)
    if gpu_device() is None:
        if not simulated:
            return "GPU: none in use. The simulated one is off in this lesson."
        with put_aside():  # the box says it instead
            simulate_gpu(like=CARD)
        return (
            f"GPU: none in use, and none is needed. A simulated {CARD} stands in: wherever it does, you see the word "
            "simulated. fl.doctor() says more."
        )
    if isinstance(gpu_device(), SimulatedDevice):
        return f"GPU: {gpu_device().name}"  # type: ignore[union-attr]
    return f"GPU: {gpu_device().name}, a real one ({gpu_name()})"  # type: ignore[union-attr]


def _progress_line() -> str:
    known = progress.read()["checks"]
    of_lesson = {number: list(exercises.exercises(number)) for number in list(exercises.folders())}
    solved = {number: [known.get(id) == exercises.RIGHT for id in ids] for number, ids in of_lesson.items()}
    finished = sum(bool(right) and all(right) for right in solved.values())
    total = sum(bool(right) for right in solved.values())
    right = sum(map(sum, solved.values()))
    return f"so far: {finished} of {total} lessons with exercises, {right} of {sum(map(len, solved.values()))} checks"


def _passing_line() -> list[str]:
    """If all files are lost with the session, a warning, and what to do about it."""
    alone = (
        "each lesson counts for itself here, and forgets when its session ends. Hand in after each one, as its last "
        "cell says: your teacher gets them together. To count on from another lesson, put its progress.json here first."
    )
    keeps = {
        "Colab": f"Colab: {alone}",
        "Kaggle": f"Kaggle: {alone}",
        "Binder": "Binder: after ten minutes without you all is gone. Before a break hand in, as the last cell says, "
        "and download the file.",
    }
    return [keeps[place]] if (place := progress.passing()) else []


def _show(lines: list[str]) -> None:
    shell = ipython()
    if shell is not None:
        from IPython.display import display

        from .magics import DeviceMagics

        shell.register_magics(DeviceMagics)
        display(_Box(lines))
    else:
        print("\n".join(lines))


class _Box:
    """Lines in a grey box, for facts rather than errors."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def _repr_html_(self) -> str:
        text = "<br>".join(map(html.escape, self.lines))
        # We set both colours: a dark theme would put its light text on the light box.
        style = "background:#eef1f4;color:#1a1a1a;padding:.6em 1em;border-left:4px solid #8899aa"
        return f'<div style="{style}">{text}</div>'

    def __repr__(self) -> str:
        return "\n".join(self.lines)


def reset(number: str) -> None:
    """Put a fresh copy of lesson `number` into this folder. Your own is kept under another name.

    Raises `ValueError` for an unknown lesson.
    """
    exercises.lesson(number)
    found = sorted(copies.learner_folder().glob(f"{number}-*.ipynb"))
    if not found:
        raise ValueError(f"there is no notebook of lesson {number} in {copies.learner_folder()}")
    copy = Path.cwd() / found[0].name
    kept = copies.renew(copy)
    if kept is None:
        print(f"{copy.name} is here now.")
    else:
        print(f"Your work is kept as {kept.name}; {copy.name} is fresh. Close its tab, then open it again.")
