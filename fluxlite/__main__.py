"""``python -m fluxlite doctor``: what can be asked without starting Python first."""

from __future__ import annotations

import sys

from . import doctor

COMMANDS = {"doctor": lambda: print(doctor())}


def main(arguments: list[str]) -> int:
    """Run the command that the arguments name; 2 if there is no such command."""
    if len(arguments) == 1 and arguments[0] in COMMANDS:
        COMMANDS[arguments[0]]()
        return 0
    print(f"usage: python -m fluxlite {{{','.join(COMMANDS)}}}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
