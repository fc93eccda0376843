"""``python -m fluxlite doctor``, or ``fluxlite doctor``: what you can ask without starting Python first.

Other packages add commands, by an entry point of the group ``fluxlite.commands``: a function that is given `command`,
below. The course adds ``check``, ``lab``, ``handin`` and ``class``. ``--help`` explains each.
"""

import argparse
import importlib.metadata
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import __version__


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

    def command(name: str, run: Callable, about: str, more: str = "", takes_the_rest: bool = False) -> Any:
        described = f"{about[0].upper()}{about[1:]}. {more}"
        one = commands.add_parser(name, help=about, description=described, allow_abbrev=False)
        one.set_defaults(run=run, parser=one, takes_the_rest=takes_the_rest)
        return one

    command("doctor", doctor, "tell which devices are here, which one is used, and why")
    for others in importlib.metadata.entry_points(group="fluxlite.commands"):
        others.load()(command)
    return top


def doctor(asked: argparse.Namespace) -> int:
    """What devices are here, which is used, and why."""
    import fluxlite

    print(fluxlite.doctor())
    return 0


def main(arguments: list[str]) -> int:
    """Run the command that the arguments name; 2 if they make no sense, 1 if it can't do what it should."""
    top = parser()
    if not arguments:
        top.print_help(sys.stderr)
        return 2
    try:
        asked, more = top.parse_known_args(arguments)
        asked.more = more
        if more and not asked.takes_the_rest:
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
