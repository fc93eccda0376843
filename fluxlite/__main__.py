"""``python -m fluxlite check``, ``lab``, ``handin`` and so on: what can be asked without starting Python first.

In a notebook the same goes with ``%run -m fluxlite handin Ada``.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

USAGE = """usage: python -m fluxlite COMMAND

  check           is this computer ready for the course? READY, or the one thing to do
  doctor          what devices are here, which is used, and why
  lab             hand out the lessons into my-course and open them in JupyterLab; more arguments are JupyterLab's
  handin [NAME]   pack your notebooks and your progress into one zip file
  class FOLDER    who solved what, from the zip files in FOLDER; with names, so for the teacher
  class FOLDER 03 what was solved and guessed in lesson 03; without names, for the wall
  class FOLDER --csv [FILE]   all of it as a table for a spreadsheet, class.csv"""


def check() -> int:
    """Whether the course can begin here."""
    from .course.ready import READY, what_to_do

    to_do = what_to_do()
    print(to_do or READY)
    return 1 if to_do else 0


def doctor(*arguments: str) -> int:
    """What devices are here, which is used, and why."""
    import fluxlite

    print(fluxlite.doctor())
    return 0


def lab(*arguments: str) -> int:
    """The lessons in JupyterLab; the arguments are JupyterLab's."""
    from .course.lab import lab

    return lab(list(arguments))


def handin(*name: str) -> int:
    """One zip file of what a learner did."""
    from .course.classroom import handin, user, what_to_say

    signed = " ".join(name) or user()
    print(*what_to_say(handin(signed), signed), sep="\n")
    if not name:
        print("To sign it with another name: python -m fluxlite handin Ada")
    return 0


def look_at_class(folder: str, *lessons: str) -> int:
    """What a class handed in: all of it, some lessons for the wall, or a table in a file."""
    from .course.classroom import look_at_class

    seen = look_at_class(Path(folder))
    if lessons[:1] == ("--csv",):
        file = Path(" ".join(lessons[1:]) or "class.csv")
        seen.write_csv(file)
        print(f"{file} is written.", *seen.notes(), sep="\n\n")
    else:
        print("\n\n\n".join(seen.on_the_wall(number.zfill(2)) for number in lessons) or seen)
    return 0


# Each command, and how many arguments it takes at most.
COMMANDS: dict[str, tuple[Callable[..., int], int]] = {
    "check": (check, 0),
    "doctor": (doctor, 0),
    "lab": (lab, 99),
    "handin": (handin, 99),
    "class": (look_at_class, 99),
}


def main(arguments: list[str]) -> int:
    """Run the command that the arguments name; 2 if there is no such command, 1 if it cannot do what it should."""
    name, *rest = arguments or [""]
    if name not in COMMANDS or len(rest) > COMMANDS[name][1] or (name == "class" and not rest):
        print(USAGE, file=sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):  # in a file on Windows not every letter can be written
        sys.stdout.reconfigure(errors="replace")
    try:
        return COMMANDS[name][0](*rest)
    except ValueError as error:
        print(error, file=sys.stderr)
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
