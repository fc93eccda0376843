"""Plant small changes in the library, one at a time, and see whether a test notices each.

    .venv/bin/nox -s mutations                                       all of it: about an hour
    .venv/bin/nox -s mutations -- fluxlite/tree fluxlite/data/loader.py      only in these

Everything happens in copies of this folder, so nothing is left here if you interrupt it. In `tests/project/mutations/`
are `settings.toml`, which says how many changes there are and which tests run for which file, and `equal.toml`, which
says which changes make no difference, and why. Cosmic Ray finds the changes, makes them and runs the tests.
"""

# Cosmic Ray and not mutmut: mutmut calls each function through another that it puts in its place, and leaves out what
# is decorated and what stands at the top of a file. Here that's the most: the table of derivatives, its lambdas, every
# method for a type, every functor. Cosmic Ray writes the changed file, and takes a test command for each change.
from __future__ import annotations

import argparse
import ast
import hashlib
import itertools
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import ndiff
from pathlib import Path

try:
    from cosmic_ray.commands import init
    from cosmic_ray.modules import find_modules
    from cosmic_ray.mutating import mutate_and_test, mutate_code
    from cosmic_ray.plugins import get_operator
    from cosmic_ray.work_db import WorkDB, use_db
    from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkItem, WorkResult
except ModuleNotFoundError:  # --help needs none of it
    init = None

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "project" / "mutations"
SETTINGS = tomllib.loads((FOLDER / "settings.toml").read_text(encoding="utf-8"))
PROCESSES = 2
LIMIT = 300.0  # seconds, for programs that wait without end; those that compute without end stop earlier


@dataclass(frozen=True)
class Change:
    """What a planted change looks like, wherever in the file its line is."""

    file: str
    was: str
    becomes: str


# -- which changes -------------------------------------------------------------------------------


def unread(source: str) -> set[tuple[int, int]]:
    """Each (line, column) inside an annotation. Python doesn't evaluate those, so a change there is none."""
    found: set[tuple[int, int]] = set()
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            for row in range(part.lineno, part.end_lineno + 1) if part else ():
                first = part.col_offset if row == part.lineno else 0
                last = part.end_col_offset if row == part.end_lineno else len(lines[row - 1])
                found.update((row, column) for column in range(first, last))
    return found


def changed(source: str, spec: MutationSpec) -> Change | None:
    """What the line becomes; None if Python itself would object to it, or if Cosmic Ray can't write it."""
    try:
        code = mutate_code(source, get_operator(spec.operator_name)(**spec.operator_args), spec.occurrence)
    except AttributeError:  # of several errors in one `except`, it expects plain names, without a module in front
        return None
    if code is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(code, str(spec.module_path), "exec")
    except (SyntaxError, SyntaxWarning):
        return None
    lines = [(line[:2], " ".join(line[2:].split())) for line in ndiff(source.splitlines(), code.splitlines())]
    was, becomes = (" / ".join(text for sign, text in lines if sign == this and text) for this in ("- ", "+ "))
    return Change(spec.module_path.as_posix(), was, becomes)


def choose(items: list[WorkItem], source: str, many: int) -> Iterator[tuple[WorkItem, Change]]:
    """Up to `many` changes of one file, each at another place.

    A hash of the line decides, so most stay the same when other lines of the file change.
    """
    lines, skipped = source.splitlines(), unread(source)
    places: dict[tuple[int, int], list[WorkItem]] = defaultdict(list)
    for item in items:
        places[item.mutations[0].start_pos].append(item)
    seen: Counter[tuple] = Counter()

    def rank(*parts: object) -> str:
        return hashlib.sha256(repr((SETTINGS["seed"], *parts)).encode()).hexdigest()

    def one_of(place: str, here: list[WorkItem]) -> tuple[WorkItem, Change] | None:
        for item in sorted(here, key=lambda item: rank(place, item.mutations[0].operator_name)):
            if change := changed(source, item.mutations[0]):
                return item, change
        return None

    ranked = []
    for (row, column), here in sorted(places.items()):
        key = lines[row - 1].strip(), column
        seen[key] += 1
        if (row, column) not in skipped:
            ranked.append((rank(*key, seen[key]), here))
    found = (made for place, here in sorted(ranked, key=lambda pair: pair[0]) if (made := one_of(place, here)))
    return itertools.islice(found, many)


def is_in(path: Path, parts: list[str]) -> bool:
    """Whether this is one of these files, or in one of these folders."""
    return any(path.is_relative_to(part) for part in parts)


def plan(copy: Path, parts: list[str]) -> dict[str, tuple[WorkItem, Change]]:
    """Find all changes, and keep a sample."""
    os.chdir(copy)  # Cosmic Ray's names are relative to where it runs
    listed = [Path(name) for name in SETTINGS["tests"]]
    planned = [path for path in listed if set(path.parents).isdisjoint(listed)]
    modules = sorted(path for path in find_modules(planned) if not parts or is_in(path, parts))
    by_file: dict[Path, list[WorkItem]] = defaultdict(list)
    with use_db("all.sqlite", WorkDB.Mode.create) as db:
        init(modules, db, {})
        for item in db.work_items:
            by_file[item.mutations[0].module_path].append(item)
    return {
        item.job_id: (item, change)
        for path in modules
        for item, change in choose(by_file[path], path.read_text(encoding="utf-8"), SETTINGS["per_file"])
    }


# -- planting them -------------------------------------------------------------------------------


def tests_of(file: str) -> list[str]:
    """The tests that belong to a file: those of the longest name in `settings.toml` that fits."""
    fitting = max((name for name in SETTINGS["tests"] if file == name or file.startswith(f"{name}/")), key=len)
    return [file, *SETTINGS["tests"][fitting]]


def command(python: str, tests: list[str]) -> str:
    return f"{python} -m pytest -p no:nbval -p no:cacheprovider -p tools.quick_tests -x -q --tb=line {' '.join(tests)}"


def copied(target: Path) -> Path:
    """A copy of what git keeps of this folder, and of new files that it doesn't ignore."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines():
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def settle(copies: multiprocessing.Queue) -> None:
    """Each process works in a copy of its own, and lets others go first."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    copy = copies.get()
    os.chdir(copy)
    os.environ |= {"PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    os.nice(10)


def words_beside(spec: MutationSpec) -> set[str]:
    """All names in the function, the class or the line at the top of the file that a change is in."""
    source = spec.module_path.read_text(encoding="utf-8")
    for part in ast.parse(source).body:
        first = min([part.lineno, *(decorator.lineno for decorator in getattr(part, "decorator_list", []))])
        if first <= spec.start_pos[0] <= (part.end_lineno or first):
            return set(re.findall(r"\w+", "\n".join(source.splitlines()[first - 1 : part.end_lineno])))
    return set()


def function_around(spec: MutationSpec) -> str:
    """The innermost function whose body a change is in, as `tools/quick_tests.py` names it; empty if there's none."""
    found = ""
    for node in ast.walk(ast.parse(spec.module_path.read_text(encoding="utf-8"))):  # the outer ones first
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first, last = node.body[0], node.body[-1]
            begin, end = (first.lineno, first.col_offset), (last.end_lineno, last.end_col_offset)
            if begin <= spec.start_pos < end:
                line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                found = f"{spec.module_path.as_posix()}:{line}"
    return found


def plant(job: tuple[str, WorkItem]) -> tuple[str, WorkResult]:
    python, item = job
    spec = item.mutations[0]
    os.environ["FLUXLITE_BESIDE"] = " ".join(words_beside(spec))
    os.environ["FLUXLITE_CHANGED"] = function_around(spec)
    return item.job_id, mutate_and_test(item.mutations, command(python, tests_of(spec.module_path.as_posix())), LIMIT)


def check_unchanged(python: str, copy: Path, files: set[str]) -> None:
    """Without a change all tests pass. How long each takes decides their order, and all files are compiled now."""
    tests = sorted({test for file in files for test in tests_of(file)})
    more = {"PYTHONPATH": str(copy), "FLUXLITE_UNCHANGED": "1", "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        command(python, tests).split(), cwd=copy, env={**os.environ, **more}, text=True, capture_output=True
    )
    if done.returncode:
        raise SystemExit(f"Tests fail even without a change:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def run(python: str, planned: dict[str, tuple[WorkItem, Change]], copies: list[Path]) -> Iterator[tuple[Change, bool]]:
    waiting: multiprocessing.Queue = multiprocessing.Queue()
    for copy in copies:
        waiting.put(copy)
    jobs = [(python, item) for item, _ in planned.values()]
    with multiprocessing.Pool(len(copies), settle, (waiting,)) as pool:
        for number, (job_id, result) in enumerate(pool.imap_unordered(plant, jobs), 1):
            if result.worker_outcome != WorkerOutcome.NORMAL:
                raise SystemExit(f"Cosmic Ray failed:\n{result.output}")
            change, noticed = planned[job_id][1], result.test_outcome != TestOutcome.SURVIVED
            said = "noticed" if noticed else "NOT NOTICED"
            print(f"{number}/{len(jobs)}  {said}  {change.file}: {change.was}  →  {change.becomes}", flush=True)
            yield change, noticed


# -- what came of it -----------------------------------------------------------------------------


def known_as_equal() -> dict[Change, str]:
    entries = tomllib.loads((FOLDER / "equal.toml").read_text(encoding="utf-8")).get("change", [])
    return {Change(entry["file"], entry["was"], entry["becomes"]): entry["why"] for entry in entries}


def report(outcomes: list[tuple[Change, bool]]) -> tuple[str, bool]:
    """The table for each folder and the list of changes that no test noticed; and whether they're few enough."""
    equal, table = known_as_equal(), defaultdict(Counter)
    missed = []
    for change, noticed in outcomes:
        what = "unnoticed"
        if noticed:
            what = "noticed"
        elif change in equal:
            what = "equal"
        for row in (change.file.removeprefix("fluxlite/").partition("/")[0], "all"):
            table[row].update(("planted", what))
        if what == "unnoticed":
            missed.append(change)
    columns = ("planted", "noticed", "equal", "unnoticed")
    rows = [f"{'':12}" + "".join(f"{name:>11}" for name in columns)]
    rows += [f"{name:12}" + "".join(f"{table[name][column]:11}" for column in columns)
             for name in sorted(table, key=lambda name: (name == "all", name))]  # fmt: skip
    total = table["all"]
    part = total["unnoticed"] / max(total["planted"] - total["equal"], 1)
    most = SETTINGS["at_most"]
    rows += ["", f"{part:.1%} of the changes that make a difference stayed unnoticed; at most {most:.0%} may."]
    for change in sorted(missed, key=lambda change: (change.file, change.was)):
        rows += ["", "[[change]]", f'file = "{change.file}"', f"was = '''{change.was}'''",
                 f"becomes = '''{change.becomes}'''"]  # fmt: skip
    return "\n".join(rows), part <= most


def main() -> None:
    options = argparse.ArgumentParser(description="Plant small changes, and see whether a test notices each.")
    options.add_argument("parts", nargs="*", help="files or folders, such as fluxlite/tree; otherwise all")
    options.add_argument("--python", default=sys.executable, help="the Python that runs the tests")
    options.add_argument("--session", default=".", help="the folder for the report")
    given = options.parse_args()
    if missing := [part for part in given.parts if not Path(part).exists()]:
        options.error(f"there's no {', '.join(missing)}")
    if init is None:
        options.error("Cosmic Ray isn't installed; .venv/bin/nox -s mutations brings it")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the copies are deleted then too
    session, began = Path(given.session).resolve(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fluxlite-mutations-") as folder:
        copy = copied(Path(folder, "0"))
        planned = plan(copy, given.parts)
        files = {change.file for _, change in planned.values()}
        print(f"{len(planned)} changes in {len(files)} files", flush=True)
        check_unchanged(given.python, copy, files)
        copies = [copy] + [shutil.copytree(copy, Path(folder, str(n))) for n in range(1, PROCESSES)]
        text, few_enough = report(list(run(given.python, planned, copies)))
    (session / "report.txt").write_text(text + "\n", encoding="utf-8")
    print(f"{text}\n\n{(time.monotonic() - began) / 60:.0f} minutes")
    if not few_enough:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
