"""The course's commands: ``python -m fluxlite check``, ``lab``, ``handin``, ``class``, ``wall``; or ``%run -m …``."""

import argparse
from collections.abc import Callable
from pathlib import Path


def add(command: Callable[..., argparse.ArgumentParser]) -> None:
    """The entry point that fluxlite finds: adds the course's commands to its own."""
    command("check", check, "say READY, or the one thing to do before the course can begin here")
    course = command(
        "lab", lab, "hand out the lessons into my-course and open them in JupyterLab",
        "lab 00-07, or lab 00 03 05, makes a course of these lessons; without any, the course in my-course goes on, or "
        "has all of them. Nothing of yours is overwritten. All other arguments go to JupyterLab, such as --port=8889; "
        "python -m jupyterlab --help lists them.", takes_the_rest=True,
    )  # fmt: skip
    course.usage = f"{course.prog} [-h] [--hub] [LESSON ...] [JUPYTERLAB'S ARGUMENT ...]"
    course.add_argument("--hub", action="store_true", help="be a learner's server: a JupyterHub runs this")
    packing = command("handin", handin, "pack your notebooks and your progress into one zip file")
    packing.add_argument("name", metavar="NAME", nargs="*", help="sign it with this name")
    looking = command(
        "class", look_at_class, "show who solved what, from the zip files in a folder",
        "The overview and the table have names in them: they're for the teacher. A lesson is shown without names, for "
        "the wall. Type fluxlite class or python -P -m fluxlite class: without the -P, Python would run a file such as "
        "numpy.py that someone handed in, if you're in its folder.",
    )  # fmt: skip
    looking.add_argument("folder", metavar="FOLDER", type=Path, help="where the zip files are")
    looking.add_argument("lesson", metavar="LESSON", nargs="*", default=[], help="show lesson 02, say, for the wall")
    table = Path("class.csv")
    looking.add_argument("--csv", metavar="FILE", nargs="?", type=Path, const=table, help=f"write a table into {table}")
    every = "say all about files that can't be read, however many lines that takes"
    looking.add_argument("--all", action="store_true", help=every)
    _add_wall(command)


def _add_wall(command: Callable[..., argparse.ArgumentParser]) -> None:
    opening = command(
        "wall", wall, "open a page for the projector: a class's guesses, as they come in",
        "With a FOLDER, guesses are read from the files in it; otherwise labs send theirs, once a learner has joined. "
        "Names and answers are hidden until you show them. Ctrl-C ends it, and then all is forgotten. In a folder with "
        "files from others, type fluxlite wall or python -P -m fluxlite wall.",
    )  # fmt: skip
    folder = "where the learners' folders are, on a shared drive, or their hand-ins"
    opening.add_argument("folder", metavar="FOLDER", nargs="?", type=Path, help=folder)
    address = "this computer's address in the room's network, which labs then reach; otherwise only this computer does"
    opening.add_argument("--address", metavar="ADDRESS", default="127.0.0.1", help=address)
    opening.add_argument("--port", type=int, default=8787, help="8787, unless you name another one")
    opening.add_argument("--lesson", metavar="LESSON", default="", help="begin with lesson 02, say")
    keep = "at the end, write what was heard into this file, with names"
    opening.add_argument("--keep", metavar="FILE", type=Path, help=keep)
    opening.add_argument("--no-browser", action="store_true", help="open no browser, and only print the link")


def check(asked: argparse.Namespace) -> int:
    from .ready import what_to_do

    to_do = what_to_do()
    print(to_do or "READY")
    return 1 if to_do else 0


def lab(asked: argparse.Namespace) -> int:
    from .lab import lab

    return lab(asked.more, hub=asked.hub)


def handin(asked: argparse.Namespace) -> int:
    from .classroom import hand_over, handin, what_to_say

    signed = " ".join(asked.name).strip()
    file = handin(signed)
    print(hand_over(file) or f"Hand in this file: {file.absolute()}", *what_to_say(file, signed), sep="\n")
    return 0


def look_at_class(asked: argparse.Namespace) -> int:
    from .classroom import look_at_class

    if asked.csv is not None and asked.lesson:
        raise ValueError("--csv writes all lessons, with names: leave out the lesson, which is for the wall, or --csv")
    seen = look_at_class(asked.folder)
    if asked.csv is not None:
        seen.write_csv(asked.csv)
        print(f"{asked.csv} is written.", *seen.notes(asked.all), sep="\n")
    else:
        on_the_wall = "\n\n\n".join(seen.on_the_wall(number.zfill(2)) for number in asked.lesson)
        print(on_the_wall or seen.shown(asked.all))
        if on_the_wall and seen.remarks:  # without a name
            print(f"\nThere's something to say about files ({len(seen.remarks):,}). To see it, leave out the lesson.")
    return 0


def wall(asked: argparse.Namespace) -> int:
    from .wall.opening import wall

    return wall(asked)
