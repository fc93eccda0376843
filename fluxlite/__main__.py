"""``python -m fluxlite doctor``, or ``fluxlite doctor``: what you can ask without starting Python first.

Other packages add commands, by an entry point of the group ``fluxlite.commands``: a function that takes `command`.
"""

import argparse
import os
import sys
from importlib.metadata import entry_points
from typing import Any

import fluxlite

# Of a Python that only found this folder: it's in the folder it was started in, say, and pip didn't install it.
NOT_INSTALLED = (
    "fluxlite isn't installed in this Python, {}, so it has only doctor. What make lab installed is in .venv: "
    ".venv/bin/python -m fluxlite, on Windows .venv\\Scripts\\python -m fluxlite"
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command that the arguments name; 2 if they make no sense, 1 if it can't do what it should."""
    called = "fluxlite" if os.path.basename(sys.argv[0]).startswith("fluxlite") else "python -m fluxlite"
    about = "What you can ask fluxlite without starting Python first."
    top = argparse.ArgumentParser(called, description=about, allow_abbrev=False)
    top.add_argument("--version", action="version", version=f"fluxlite {fluxlite.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Any, about: str, more: str = "", takes_the_rest: bool = False) -> Any:
        described = f"{about[0].upper()}{about[1:]}. {more}"
        one = commands.add_parser(name, help=about, description=described, allow_abbrev=False)
        one.set_defaults(run=run, parser=one, takes_the_rest=takes_the_rest)
        return one

    command("doctor", lambda asked: print(fluxlite.doctor()), "tell which devices are here, which one is used, and why")
    others = entry_points(group="fluxlite.commands")
    for other in others:
        other.load()(command)
    try:
        asked, more = top.parse_known_args(arguments)
        asked.more = more
        if more and not asked.takes_the_rest:
            asked.parser.error(f"unrecognized arguments: {' '.join(more)}")
    except SystemExit as stop:  # after --help, or after telling what's wrong
        if stop.code and not others:
            print(NOT_INSTALLED.format(sys.executable), file=sys.stderr)
        return int(stop.code or 0)
    try:
        if hasattr(sys.stdout, "reconfigure"):  # in a file on Windows not every letter can be written
            sys.stdout.reconfigure(errors="replace")
        status = int(asked.run(asked) or 0)
        sys.stdout.flush()  # while we can still say what goes wrong
        return status
    except BrokenPipeError:  # what read our output has seen enough: less, or head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains once more when it ends
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error
        print(f"{what}. Try a folder that you may write to.", file=sys.stderr)
    except ValueError as error:
        print(error, file=sys.stderr)
    return 1


if __name__ == "__main__":
    status = main()
    if "IPython" not in sys.modules:  # where %run would show the way of the SystemExit, in red
        sys.exit(status)
