"""Keep what fluxlite does as data, and say what's different since.

    python tests/frozen/freeze.py --changed [names …]   the lines for changed.toml, for all that differs today
    python tests/frozen/freeze.py FOLDER [names …]      make the data again, from a version of the project in FOLDER:
                                                        git worktree add ../v0.4.0 COMMIT
    python tests/frozen/freeze.py FOLDER --save 0.4     save a file of each kind with that version, in files/0.4

What there is:
    names       the public names, with their signatures
    files       what it reads in files/, where each version saved one of each kind
    documents   what the guide's examples print, in the notebooks
    cards       the figures of the cards that can be simulated
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

FROZEN = Path(__file__).resolve().parent
ROOT = FROZEN.parents[1]
sys.path[:0] = [str(ROOT), str(FROZEN.parent)]

from frozen import comparing  # noqa: E402


def freeze(parts: list[str]) -> None:
    """Write the data."""
    for part in parts:
        found = comparing.today(part)
        (FROZEN / f"{part}.json").write_text(comparing.written(found), encoding="utf-8")
        print(f"{part}: {len(found)} entries", flush=True)


def changed(parts: list[str]) -> None:
    """Print the lines for changed.toml."""
    found = [one for part in parts for one in comparing.differences(part, comparing.today(part))]
    print(comparing.as_toml(found) or "nothing differs but for what's listed")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Keep what fluxlite does as data, or say what's different since.")
    known = f"of {', '.join(comparing.PARTS)}; all if there are none"
    parser.add_argument("--changed", action="store_true", help="print the lines for changed.toml; takes no FOLDER")
    parser.add_argument("--save", metavar="VERSION", help="save a file of each kind in files/VERSION, and do no more")
    parser.add_argument("words", nargs="*", metavar="FOLDER or part", help=f"a version of the project; parts {known}")
    given = parser.parse_args(arguments)
    words = [str(ROOT), *given.words] if given.changed else given.words
    if not words:
        parser.error("name the FOLDER of a version of the project, or write --changed")
    folder, *parts = words
    if not Path(folder, "fluxlite").is_dir():
        parser.error(f"there's no fluxlite in {folder}")
    if unknown := sorted({*parts} - {*comparing.PARTS}):
        parser.error(f"there's no part {', '.join(unknown)}; there are {', '.join(comparing.PARTS)}")
    os.chdir(folder)
    sys.path.insert(0, os.getcwd())
    os.environ["PYTHONPATH"] = os.pathsep.join([os.getcwd(), str(FROZEN.parent)])
    if given.save:
        from frozen import part_files

        part_files.save(part_files.FILES / given.save)
        return 0
    (changed if given.changed else freeze)(parts or list(comparing.PARTS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
