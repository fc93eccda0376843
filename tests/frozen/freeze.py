"""Keep what fluxlite does as data, and say what's different since.

    python tests/frozen/freeze.py --changed [names …]   the lines for changed.toml, for all that differs today
    python tests/frozen/freeze.py FOLDER [names …]      make the data anew, from a version of the project in FOLDER:
                                                        git worktree add ../v0.3.0 v0.3.0

What there is; examples and replies take minutes:
    names       the public names, with their signatures
    receipts    what the lessons' programs ask of a GPU: each `fl.estimate` and `fl.receipt` in a solved notebook
    files       what it reads in files/, which 0.2.0 saved, one of each kind
    documents   what the guide's examples print, in the notebooks
    examples    what the programs in examples/ learn
    replies     what the lessons' checks reply to the answers in their tests
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FROZEN = Path(__file__).resolve().parent
ROOT = FROZEN.parents[1]
sys.path[:0] = [str(ROOT), str(FROZEN.parent)]

from frozen import comparing, from_tests  # noqa: E402

TESTS = {"replies": "tests/course", "examples": "tests"}


def entries(part: str) -> comparing.Entries:
    """A part of what the fluxlite in the current folder does."""
    if part not in TESTS:
        return importlib.import_module(f"frozen.part_{part}").entries()
    pattern, folder = from_tests.WATCHED[part][1], Path(TESTS[part])
    tests = [str(path) for path in sorted(folder.rglob("test_*.py")) if pattern.search(str(path.relative_to(folder)))]
    with tempfile.TemporaryDirectory() as temporary:
        noted = Path(temporary, "noted")
        options = ["-p", "no:nbval", "-p", "no:cacheprovider", "-p", "frozen.from_tests", "-q"]
        command, noting = [sys.executable, "-m", "pytest", *options, *tests], {from_tests.NOTED: str(noted)}
        subprocess.run(command, env=os.environ | noting, stdout=sys.stderr, check=True)
        return from_tests.entries(noted, part)


def freeze(parts: list[str]) -> None:
    """Write the data."""
    for part in parts:
        found = entries(part)
        (FROZEN / f"{part}.json").write_text(comparing.written(found), encoding="utf-8")
        print(f"{part}: {len(found)} entries", flush=True)


def changed(parts: list[str]) -> None:
    """Print the lines for changed.toml."""
    found: list[comparing.Difference] = []
    for part in parts:
        today = entries(part)
        if part not in comparing.SEEN_BY_TESTS:
            found += comparing.differences(part, today)
            continue
        for name, seen in today.items():
            taken = tuple(one.key for one in found)
            one = comparing.difference(part, comparing.without_number(name), list(seen), taken)
            found += [one] if one else []
    print(comparing.as_toml(found) or "nothing differs but for what's listed")


if __name__ == "__main__":
    what, *parts = sys.argv[1:] or [""]
    if not what or not set(parts) <= set(comparing.PARTS):
        sys.exit((__doc__ or "").strip())
    os.chdir(ROOT if what == "--changed" else what)
    sys.path.insert(0, os.getcwd())
    os.environ["PYTHONPATH"] = os.pathsep.join([os.getcwd(), str(FROZEN.parent)])
    (changed if what == "--changed" else freeze)(parts or list(comparing.PARTS))
