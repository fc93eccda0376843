"""``python -m simgpu program.py``: a program that says `import cupy`, without a GPU. Its receipt is on standard error.

It exits as the program does, or with 3 if the program did more than ``--fail-on`` allows.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .report import baseline_of, json_of, text_of
from .running import Run, add_options, rules_of, run_program, simulated_time, write_json

_WITHOUT_VALUE = ("--simulated-clock", "-h", "--help", "--")


def main(given: Sequence[str] | None = None) -> int:
    """Run the program that the command line names. Returns its exit status."""
    words = list(sys.argv[1:] if given is None else given)
    parser = argparse.ArgumentParser(prog="python -m simgpu", description=__doc__, allow_abbrev=False)
    parser.add_argument("--like", metavar="CARD", help='the card to simulate: "NVIDIA T4", "A100", …')
    parser.add_argument("--json", metavar="FILE.json", nargs="?", const="", help="the receipt as JSON")
    add_options(parser.add_argument)
    parser.add_argument("--simulated-clock", action="store_true", help="the program's `time` is simulated, too")
    parser.add_argument("program", nargs="?")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="what the program finds in sys.argv")
    # argparse would give the program's name to --json, and take the program's options for ours.
    here = _place_of_program(words)
    options, command = parser.parse_args(words[:here]), words[here:]
    name = command[0] if command else options.json
    if not name:
        parser.error("the following arguments are required: program")
    if not command or not os.path.isfile(name):
        parser.error(f"there's no file {name!r}")
    try:
        run = Run(os.path.basename(command[0]), options.like, _root(command[0]))
    except ValueError as error:
        parser.error(str(error))
    if options.simulated_clock:
        sys.modules["time"] = simulated_time(run.devices[0].host)
    status = run_program(command[0], command[1:])
    sys.stdout.flush()
    figures, rules = run.finish(), rules_of(options)
    if options.write_baseline:
        Path(options.write_baseline).write_text(baseline_of(figures, rules.only), encoding="utf-8")
    if options.json:
        write_json(figures, options.json)
    print(json_of(figures) if options.json == "" else text_of(figures, rules), file=sys.stderr)
    if status:
        return status
    if rules.failures(figures):
        return 3
    return 0


def _place_of_program(words: Sequence[str]) -> int:
    """Which of these words is the program: the first one that's neither an option of ours nor an option's value."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        option = words[place]
        place += 1
        if option in _WITHOUT_VALUE or "=" in option or place == len(words):
            continue
        if option == "--json" and not _is_json(words[place]):
            continue
        place += 1
    return place


def _is_json(word: str) -> bool:
    """Whether that's the file that --json writes. Otherwise it's the program, or another option."""
    return word.endswith(".json") or not (word.startswith("-") or os.path.isfile(word))


def _root(program: str) -> Path:
    """The project's folder: the current one, or the program's own if that's elsewhere."""
    here, path = Path.cwd(), Path(program).resolve()
    if here in path.parents:
        return here
    return path.parent


if __name__ == "__main__":
    sys.exit(main())
