"""``python -m fluxlite lab``: hand out the lessons, then open JupyterLab at the first one.

With ``--hub``, a JupyterHub starts it for each learner: the same lessons, in the hub's own kind of server.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from fluxlite.processes import NOT_HERE, can_start_programs

from . import course
from .copies import FOLDER, fresh_copies, hand_out
from .ready import NEEDED, TO_START, missing
from .trust import sign_lessons

FIRST = "00-start-here.ipynb"
# JupyterLab for newcomers: no question about news, and a kernel that starts without asking.
SETTINGS = Path(__file__).parent / "jupyterlab"
# How many threads NumPy's products get: one variable for each library that may be below it.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def course_folder() -> Path:
    """``my-course``, or the current folder if that's one already, so that we never nest them."""
    is_one = Path.cwd().name == FOLDER and (Path(FIRST).exists() or Path(course.FILE).exists())
    return Path() if is_one else Path(FOLDER)


def split(arguments: list[str], folder: Path) -> tuple[list[str], list[str]]:
    """The lessons that are asked for, if any, and JupyterLab's arguments, which may name a file of the `folder`.

    Lessons come first. Raises `ValueError` for an unknown lesson.
    """
    words: list[str] = []
    for argument in arguments:
        if argument.startswith("-") or (folder / argument).exists():
            break
        words.append(argument)
    return course.chosen(words), arguments[len(words) :]


def first_lesson(folder: Path) -> str:
    """The file that the course in this folder begins with."""
    return min(fresh_copies(course.lessons_in(folder)))


def lab(arguments: list[str], hub: bool = False) -> int:
    """Make the learner's copies in `course_folder` and open the first in JupyterLab; returns JupyterLab's exit code.

    `arguments` are a shorter course's lessons, and JupyterLab's. Nothing that the learner wrote is overwritten. For
    a `hub`, this process becomes the learner's server, so that the hub's signals reach it, and returns only if that
    fails. Raises `ValueError` for an unknown lesson.
    """
    if hub:
        return _on_a_hub(arguments)
    if not can_start_programs():
        print(f"JupyterLab can't be opened from here: {NOT_HERE}. If you see this in a notebook, it's open already.")
        return 1
    if to_do := missing(NEEDED + TO_START):
        print(to_do)
        return 1
    folder = course_folder()
    lessons, arguments = split(arguments, folder)
    if lessons:
        course.keep(folder, lessons)
    here = f"Your copies of the lessons are in {folder.absolute()}. Ctrl-C here ends JupyterLab."
    print(*hand_out(folder), here, sep="\n", flush=True)
    sign_lessons(target=folder)
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    try:
        return subprocess.call([*_command("jupyterlab", folder), *as_root, *arguments], cwd=folder, env=environment())
    except KeyboardInterrupt:
        return 130


def _command(program: str, folder: Path) -> list[str]:
    return [
        sys.executable, "-m", program, f"--LabApp.app_settings_dir={SETTINGS}",
        f"--ServerApp.root_dir={folder.absolute()}",  # so that the file browser shows only the lessons
        f"--LabApp.default_url=/doc/tree/{first_lesson(folder)}",  # /doc: one lesson in one column, without side panels
    ]  # fmt: skip


def environment() -> dict[str, str]:
    """For Jupyter and its kernels: this process's environment, and one thread for NumPy, unless you have set that.

    The lessons' products are small: with a thread on each core, most of the time goes into waiting for the others. On
    a busy computer with two cores, lesson 10's first training took 83 s that way, and 5 s with one thread. Nothing that
    a lesson measures is large enough to gain by more, and the CPU's recorded times are those of one thread, too.
    """
    if any(name in os.environ for name in THREADS):
        return dict(os.environ)
    return {**os.environ, **dict.fromkeys(THREADS, "1")}


def _on_a_hub(arguments: list[str]) -> int:
    """Become the learner's server. It starts even if lessons can't be handed out: learners need their own files."""
    if importlib.util.find_spec("jupyterhub") is None:
        print("jupyterhub is missing in this Python. Each learner's server needs it, in the hub's own major version.")
        return 1
    folder = course_folder()
    lessons, arguments = split(arguments, folder)
    try:
        if lessons:
            course.keep(folder, lessons)
        print(*hand_out(folder), sep="\n", flush=True)
    except OSError as error:  # a full disk, above all: they have to get in to delete something
        print(f"The lessons couldn't be handed out: {error}", flush=True)
    sign_lessons(target=folder)
    if folder.is_dir():
        os.chdir(folder)
    # -P: a learner's own random.py, say, mustn't keep their server from starting.
    python, *program = _command("jupyterhub.singleuser", Path())
    os.execve(python, [python, "-P", *program, *arguments], environment())
