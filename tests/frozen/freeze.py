"""Keep what fluxlite does as data, and say what's different since.

    python tests/frozen/freeze.py REVISION           make the data anew, from a revision or a folder: v0.2.0, ../old
    python tests/frozen/freeze.py --changed          the lines for changed.toml, for all that differs today
    python tests/frozen/freeze.py --changed names receipts      these parts only: the others take minutes

What there is:
    names       the public names, with their signatures
    receipts    what the lessons' programs ask of a GPU: each `fl.estimate` and `fl.receipt` in a solved notebook
    files       what's in saved files, one of each kind; the files are in files/
    documents   what the guide's examples print, in the notebooks
    examples    what the programs in examples/ learn
    replies     what the lessons' checks reply to the answers in their tests
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FROZEN = Path(__file__).resolve().parent
ROOT = FROZEN.parents[1]
sys.path[:0] = [str(ROOT), str(FROZEN.parent)]

from frozen import comparing, from_tests  # noqa: E402

TESTS = {"replies": "tests/course", "examples": "tests"}


@contextmanager
def copy_of(what: str) -> Iterator[Path]:
    """A copy of a folder or of a revision: nothing is written there."""
    with tempfile.TemporaryDirectory(prefix="fluxlite-") as temporary:
        copy = Path(temporary, "source")
        if Path(what).is_dir():
            shutil.copytree(what, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "dist"))
        else:
            packed = Path(temporary, "source.zip")
            subprocess.run(["git", "archive", f"--output={packed}", what], cwd=ROOT, check=True)
            shutil.unpack_archive(packed, copy)
        yield copy


def run(source: Path, *command: str, **environment: str) -> None:
    """Run Python in `source`, with the fluxlite that's there."""
    own = {"PYTHONPATH": f"{source}{os.pathsep}{FROZEN.parent}", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1",
           "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, *command], cwd=source, env=os.environ | own | environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")


def entries(source: Path, part: str, files: Path) -> comparing.Entries:
    """A part of what the fluxlite in `source` does; `files` has the saved files."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "entries.json")
        if part in TESTS:
            run(source, "-m", "pytest", "-p", "no:nbval", "-p", "no:cacheprovider", "-p", "frozen.from_tests", "-q",
                *_tests(source, part), **{from_tests.NOTED: str(result)})  # fmt: skip
            return from_tests.entries(result, part)
        run(source, str(FROZEN / f"part_{part}.py"), str(result), *([str(files)] if part == "files" else []))
        return json.loads(result.read_text(encoding="utf-8"))


def _tests(source: Path, part: str) -> list[str]:
    pattern, folder = from_tests.WATCHED[part][1], Path(source, TESTS[part])
    return [str(path) for path in sorted(folder.rglob("test_*.py")) if pattern.search(str(path.relative_to(folder)))]


def freeze(what: str, parts: list[str]) -> None:
    """Write the data."""
    with copy_of(what) as source:
        files = FROZEN / "files"
        if "files" in parts:
            shutil.rmtree(files, ignore_errors=True)
            files.mkdir()
            run(source, str(FROZEN / "part_files.py"), "write", str(files))
        for part in parts:
            found = entries(source, part, files)
            (FROZEN / f"{part}.json").write_text(comparing.written(found), encoding="utf-8")
            print(f"{part}: {len(found)} entries", flush=True)


def changed(parts: list[str]) -> None:
    """Print the lines for changed.toml."""
    found: list[comparing.Difference] = []
    for part in parts:
        today = entries(ROOT, part, FROZEN / "files")
        if part not in comparing.SEEN_BY_TESTS:
            found += comparing.differences(part, today)
            continue
        for name, seen in today.items():
            key = comparing.without_number(name)
            one = comparing.difference(part, key, seen)
            while one and any(one.key == other.key for other in found):  # another row with this key
                number = int(one.key.removeprefix(key).strip(" ()") or 1) + 1
                one = comparing.difference(part, key, seen, number)
            found += [one] if one else []
    print(comparing.as_toml(found) or "nothing differs but for what's listed")


def main(arguments: list[str]) -> int:
    if not arguments or not set(arguments[1:]) <= set(comparing.PARTS):
        print((__doc__ or "").strip())
        return 2
    what, *parts = arguments
    if what == "--changed":
        changed(parts or list(comparing.PARTS))
    else:
        freeze(what, parts or list(comparing.PARTS))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
