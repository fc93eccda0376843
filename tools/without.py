"""The lessons without what a browser lacks: which cells do otherwise than in JupyterLab, and how.

    .venv/bin/python tools/without.py                  all lessons, and the learners' copies
    .venv/bin/python tools/without.py 00 05            some; or a notebook's file
    .venv/bin/python tools/without.py 00 --compare     also each cell's time, beside a run with everything in place
    .venv/bin/python tools/without.py --pyodide FOLDER      in Pyodide; `nox -s pyodide` makes the folder

Each notebook's cells run in a process of their own (`run_cells.py`), in a copy of the notebook's folder: on this Python
with no threads, no processes, no sockets, fewer packages and 1 GB of memory (`absent.py`), or in node's Pyodide, which
has none of all that. What the cells show is compared with what's stored, as nbval does it (`otherwise.py`). A learner's
copy has nothing stored: it's compared with a run that has everything.

`without.toml` lists the cells that are known to do otherwise, and why. Any other cell makes this fail, and so does a
listed cell that does nothing otherwise. Otherwise is also a cell that takes more than three times as long, if somebody
waits for it; since times differ from run to run, it fails from four times on.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nbformat

TOOLS = Path(__file__).resolve().parent
ROOT = TOOLS.parent
sys.path.insert(0, str(ROOT))

from tools import absent  # noqa: E402
from tools.listed import LIST, Listed, read_list  # noqa: E402
from tools.otherwise import FACTOR, THIRD, Cell, Ran, Report, judge, read  # noqa: E402

NOTEBOOKS = ROOT / "notebooks"


# -- where a notebook runs ------------------------------------------------------------------------------------------

SECONDS, SECONDS_IN_PYODIDE = 300, 1200  # that a notebook may take


@dataclass(frozen=True)
class World:
    """Where cells run: the command for a folder with cells.json and notebooks, and how long it may take."""

    command: Callable[[Path], list[str]]
    seconds: float = SECONDS


def on_python(folder: Path, *options: str) -> list[str]:
    return [sys.executable, str(TOOLS / "run_cells.py"), str(folder / "cells.json"), str(folder / "results"), *options]


EVERYTHING = World(on_python)
WITHOUT = World(lambda folder: on_python(folder, "--without"))


def pyodide(prepared: Path) -> World:
    """Node's Pyodide, from a folder with its npm package, and with the wheels of all that a lesson needs."""
    start = ["node", TOOLS / "pyodide" / "start.mjs", prepared / "node_modules" / "pyodide", prepared / "wheels"]
    return World(lambda folder: [*map(str, start), str(folder)], SECONDS_IN_PYODIDE)


def environment(folder: Path) -> dict[str, str]:
    """That of a notebook's process: nothing of the user's own, and one thread for products."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLUXLITE_")}
    ours = {
        "PYTHONPATH": str(ROOT),
        "FLUXLITE_PROGRESS": str(folder / "progress.json"),
        "FLUXLITE_PROJECT": str(folder),
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # Jupyter's
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    return {**kept, **ours}


def run(path: Path, cells: list[Cell], world: World) -> list[Ran]:
    """What each cell of a notebook does in a new process of that world."""
    with tempfile.TemporaryDirectory(prefix="fluxlite-without-") as name:
        folder = Path(name)
        shutil.copytree(path.parent, folder / "notebooks", ignore=shutil.ignore_patterns(".*", "learner"))
        sources = [cell.source for cell in cells if not cell.is_skipped]
        (folder / "cells.json").write_text(json.dumps(sources), encoding="utf-8")
        ended = watch(world.command(folder), folder, world.seconds)
        return results(folder / "results", cells, ended)


def watch(command: list[str], folder: Path, seconds: float) -> str:
    """Run a command in the folder's notebooks until its end; how it ended, in words."""
    try:
        done = subprocess.run(
            command, cwd=folder / "notebooks", env=environment(folder), capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return f"it wasn't done after {seconds:g} seconds"
    said = (done.stdout + done.stderr).strip().splitlines() or ["it said nothing"]
    return f"the process ended with {done.returncode}: {said[-1]}"


def results(file: Path, cells: list[Cell], ended: str) -> list[Ran]:
    """What the process wrote down of each cell. `ended` says why one has no end."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    ran = []
    for cell in cells:
        if cell.is_skipped:
            ran.append(Ran())
        elif lines:
            found = json.loads(lines.pop(0))
            ran.append(Ran([nbformat.from_dict(output) for output in found["outputs"]], found["seconds"]))
        else:
            ran.append(Ran(no_end=ended))
            ended = "a cell before it had no end"
    return ran


def report(path: Path, world: World, compare: bool) -> Report:
    """Run a notebook and judge it; beside a run with everything, for its times or where nothing is stored."""
    cells = read(path)
    ran = run(path, cells, world)
    usual = None
    if compare or any(cell.stored is None for cell in cells):
        usual = run(path, cells, EVERYTHING)
    return judge(path.relative_to(path.parents[1]).as_posix(), cells, ran, usual)


# -- what is wrong ----------------------------------------------------------------------------------------------------


def complaints(reports: list[Report], listed: list[Listed], sources: Callable[[Report], dict[str, str]]) -> list[str]:
    """What's wrong, in words: cells that do otherwise and aren't listed, and listed cells that don't.

    `sources` gives the cells of a report's lesson as they're solved, by their ids: the list has their beginnings.
    """
    said = []
    seen: set[tuple[Listed, str]] = set()
    for one in reports:
        of_lesson = [entry for entry in listed if entry.lesson == one.lesson]
        text = sources(one)
        for cell in one.cells:
            entries = [entry for entry in of_lesson if text[cell.id].startswith(entry.cell)]
            words = one.otherwise.get(cell.id, "")
            known = [entry for entry in entries if entry.shows and entry.shows in words]
            seen.update((entry, "shows") for entry in known)
            if words and not known:
                said.append(f"{one.name}, {cell.id}, {cell.beginning!r}: {words}")
            factor = one.slow.get(cell.id, 0)
            known = [entry for entry in entries if entry.factor]
            if cell.id in one.nearly_slow:
                seen.update((entry, "factor") for entry in known)
            if factor > FACTOR * THIRD and not known:
                said.append(f"{one.name}, {cell.id}, {cell.beginning!r}: it takes {factor:.1f} times as long")
    compared = {one.lesson for one in reports if one.usual}
    for entry in listed:
        if entry.shows and entry.lesson in {one.lesson for one in reports} and (entry, "shows") not in seen:
            said.append(f"{entry.lesson}, {entry.cell!r} is listed, and doesn't show {entry.shows!r}: take it out")
        if entry.factor and entry.lesson in compared and (entry, "factor") not in seen:
            said.append(f"{entry.lesson}, {entry.cell!r} is listed as slow, and isn't: take its factor out")
    return said


def solved(one: Report) -> dict[str, str]:
    """The sources of a notebook's cells. For a learner's copy, those of its lesson."""
    sources = {cell.id: cell.source for cell in one.cells}
    lesson = NOTEBOOKS / Path(one.name).name
    if lesson.exists():
        sources |= {cell.id: cell.source for cell in read(lesson)}
    return sources


# -- all notebooks ----------------------------------------------------------------------------------------------------


HEAD = f"{'notebook':<42}{'cells':>6}{'otherwise':>11}{'seconds':>9}{'usually':>9}{'factor':>8}"


def row(one: Report) -> str:
    """A notebook's row in the table: cells, seconds, seconds with everything; below it, the cells that do otherwise."""
    different = [cell for cell in one.cells if cell.id in one.otherwise or cell.id in one.slow]
    line = f"{one.name:<42}{len(one.cells):>6}{len(different):>11}{one.seconds:>9.1f}"
    if one.usual:
        line += f"{one.usual_seconds:>9.1f}{one.seconds / max(one.usual_seconds, 0.01):>8.1f}"
    lines = [line]
    for cell in different:
        words = one.otherwise.get(cell.id, "")
        if cell.id in one.slow:
            words += f" ({one.slow[cell.id]:.1f} times as long)"
        lines.append(f"    {cell.id}  {cell.beginning[:60]}  {words}")
    return "\n".join(lines)


def found(asked: list[str]) -> list[Path]:
    """The notebooks that are asked for, by lesson or by file; all lessons and copies if none is."""
    every = sorted([*NOTEBOOKS.glob("[0-9]*.ipynb"), *NOTEBOOKS.glob("learner/[0-9]*.ipynb")])
    numbers = {path.name[:2] for path in every}
    if unknown := [one for one in asked if one not in numbers and not Path(one).is_file()]:
        raise SystemExit(f"there's no lesson and no notebook {', '.join(unknown)}")
    if not asked:
        return every
    files = [Path(one).resolve() for one in asked if one not in numbers]
    return [path for path in every if path.name[:2] in asked] + files


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Run the lessons without what a browser lacks.", allow_abbrev=False)
    parser.add_argument("notebooks", nargs="*", metavar="NN", help="lessons, or files; all lessons if there are none")
    parser.add_argument("--compare", action="store_true", help="compare times with a run that has everything")
    parser.add_argument("--pyodide", type=Path, metavar="FOLDER", help="run in Pyodide, from a folder that nox made")
    parser.add_argument("--list", type=Path, default=LIST, metavar="FILE", help="which cells may do otherwise")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="notebooks that run at once")
    given = parser.parse_args(arguments)
    world = WITHOUT
    if given.pyodide:
        world = pyodide(given.pyodide.resolve())
    listed = [one for one in read_list(given.list) if given.pyodide or not one.only_in_pyodide]
    print(HEAD, flush=True)
    reports = []
    with ThreadPoolExecutor(given.jobs) as jobs:
        for one in jobs.map(lambda path: report(path, world, given.compare), found(given.notebooks)):
            reports.append(one)
            print(row(one), flush=True)
    if not (given.pyodide or absent.can_limit_memory()):
        print("Memory wasn't limited: this system can't do that.")
    wrong = complaints(reports, listed, solved)
    print("", *wrong, f"{len(wrong)} to put right", sep="\n" if wrong else " ")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
