"""``python -m fluxlite doctor`` and ``python -m fluxlite lab``: what can be asked without starting Python first."""

from __future__ import annotations

import sys


def doctor(arguments: list[str]) -> int:
    """What devices are here, which is used, and why."""
    import fluxlite

    print(fluxlite.doctor())
    return 0


def lab(arguments: list[str]) -> int:
    """The lessons in JupyterLab; the arguments are JupyterLab's."""
    from .course.lab import lab

    return lab(arguments)


COMMANDS = {"doctor": doctor, "lab": lab}


def main(arguments: list[str]) -> int:
    """Run the command that the arguments name; 2 if there is no such command."""
    name, *rest = arguments or [""]
    if name in COMMANDS and (name == "lab" or not rest):
        return COMMANDS[name](rest)
    print(f"usage: python -m fluxlite {{{','.join(COMMANDS)}}}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
