"""``python -m fluxlite check``, ``lab``, ``handin`` and so on, or ``fluxlite check``: the course at the command line.

In a notebook the same goes with ``%run -m fluxlite handin Ada``. ``--help`` explains each command.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

from . import __version__

Command = Callable[[argparse.Namespace], int]


def check(asked: argparse.Namespace) -> int:
    """Whether the course can begin here."""
    from .course.ready import READY, what_to_do

    to_do = what_to_do()
    print(to_do or READY)
    return 1 if to_do else 0


def doctor(asked: argparse.Namespace) -> int:
    """What devices are here, which is used, and why."""
    import fluxlite

    print(fluxlite.doctor())
    return 0


def lab(asked: argparse.Namespace) -> int:
    """The lessons in JupyterLab."""
    from .course.lab import lab

    return lab(asked.more, hub=asked.hub)


def handin(asked: argparse.Namespace) -> int:
    """One zip file of what a learner did."""
    from .course.classroom import collected, download, handin, user, what_to_say

    signed = " ".join(asked.name) or user()
    file = handin(signed)
    print(*what_to_say(file, signed, collected(file)), sep="\n")
    if download(file):
        print("Your browser downloads it now.")
    if not asked.name:
        print("To sign it with another name: python -m fluxlite handin Ada")
    return 0


def look_at_class(asked: argparse.Namespace) -> int:
    """What a class handed in: all of it, some lessons for the wall, or a table in a file."""
    from .course.classroom import look_at_class

    if asked.csv is not None and asked.lesson:
        raise ValueError(f"--csv writes all lessons: leave out {' '.join(asked.lesson)}, or --csv")
    seen = look_at_class(asked.folder, [" ".join(name) for name in asked.one_learner])
    if asked.csv is not None:
        file = Path(" ".join(asked.csv) or "class.csv")
        seen.write_csv(file)
        print(f"{file} is written.", *seen.notes(), sep="\n\n")
    else:
        print("\n\n\n".join(seen.on_the_wall(number.zfill(2)) for number in asked.lesson) or seen)
    return 0


def parser() -> argparse.ArgumentParser:
    """The commands and what they take. The program goes by the name that it was called by."""
    called = Path(sys.argv[0]).stem
    top = argparse.ArgumentParser(
        prog="fluxlite" if called == "fluxlite" else "python -m fluxlite",
        description="What you can ask fluxlite without starting Python first.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"fluxlite {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Command, about: str, more: str = "") -> argparse.ArgumentParser:
        described = f"{about[0].upper()}{about[1:]}. {more}"
        one = commands.add_parser(name, help=about, description=described, allow_abbrev=False)
        one.set_defaults(run=run, parser=one)
        return one

    command("check", check, "say READY, or the one thing to do before the course can begin here")
    command("doctor", doctor, "tell which devices are here, which one is used, and why")
    course = command(
        "lab", lab, "hand out the lessons into my-course and open them in JupyterLab",
        "Nothing of yours is overwritten. All other arguments go to JupyterLab, such as --port=8889; "
        "python -m jupyterlab --help lists them.",
    )  # fmt: skip
    course.usage = f"{course.prog} [-h] [--hub] [JUPYTERLAB'S ARGUMENT ...]"
    course.add_argument("--hub", action="store_true", help="be a learner's server on a JupyterHub, which types this")
    packing = command("handin", handin, "pack your notebooks and your progress into one zip file")
    packing.add_argument("name", metavar="NAME", nargs="*", help="sign it with this name; else with your user name")
    _class_command(command)
    return top


def _class_command(command: Callable[..., argparse.ArgumentParser]) -> None:
    looking = command(
        "class", look_at_class, "show who solved what, from the zip files in a folder",
        "The overview and the table have names in them: they're for the teacher. A lesson is shown without names, for "
        "the wall. Type fluxlite class or python -P -m fluxlite class: without the -P, Python would run a file such as "
        "numpy.py that someone handed in, if you stand in its folder.",
    )  # fmt: skip
    looking.add_argument("folder", metavar="FOLDER", type=Path, help="where the zip files are")
    looking.add_argument("lesson", metavar="LESSON", nargs="*", default=[], help="show lesson 03, say, for the wall")
    looking.add_argument("--csv", metavar="FILE", nargs="*", help="write all of it as a table, into class.csv or FILE")
    looking.add_argument(
        "--one-learner", metavar="NAME", nargs="+", action="append", default=[],
        help="take all files signed with this name together: a learner who changed computers, say",
    )  # fmt: skip


def main(arguments: list[str]) -> int:
    """Run the command that the arguments name; 2 if they make no sense, 1 if it can't do what it should."""
    top = parser()
    if not arguments:
        top.print_help(sys.stderr)
        return 2
    try:
        asked, more = top.parse_known_args(arguments)
        asked.more = more
        if more and asked.run is not lab:
            asked.parser.error(f"unrecognized arguments: {' '.join(more)}")
    except SystemExit as stop:  # after --help, or after telling what's wrong
        return int(stop.code or 0)
    if isinstance(sys.stdout, io.TextIOWrapper):  # in a file on Windows not every letter can be written
        sys.stdout.reconfigure(errors="replace")
    try:
        status = int(asked.run(asked))
        sys.stdout.flush()  # while we can still say what goes wrong
        return status
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:  # what read our output has seen enough: less, or head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains once more when it ends
        return 1
    except OSError as error:
        about = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error
        print(f"{about}. Another folder, which you may write to, helps.", file=sys.stderr)
        return 1


def command() -> int:
    """What ``fluxlite check`` calls: the command that installing brings; ``python -m fluxlite check`` does the same."""
    return main(sys.argv[1:])


if __name__ == "__main__":
    status = main(sys.argv[1:])
    if "IPython" not in sys.modules:  # where %run would show the way of the SystemExit, in red
        sys.exit(status)
