"""Other projects' tests for CuPy, unchanged, with simgpu in CuPy's place: how many pass, and which don't.

    python tools/clients.py ../clients                    all projects of tests/clients.toml, from a folder with their sources
    python tools/clients.py ../clients dask einops        some of them
    python tools/clients.py ../clients dask --python ../venv/bin/python       with the packages of another environment

Get the sources yourself: nothing is fetched. What doesn't apply is in tests/clients.toml, each pattern with its reason.
It's deselected before it runs, so that "passed" and "failed" are about simgpu.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = tomllib.loads((ROOT / "tests" / "clients.toml").read_text(encoding="utf-8"))

# A plugin that writes each test's outcome to a file, and leaves out what doesn't apply.
PLUGIN = """
import os, re

patterns = os.environ["CLIENTS_PATTERNS"].split("\\n") if os.environ["CLIENTS_PATTERNS"] else []


def pytest_collection_modifyitems(config, items):
    kept = []
    for item in items:
        if any(re.search(pattern, item.nodeid) for pattern in patterns):
            note("left out", item.nodeid)
        else:
            kept.append(item)
    items[:] = kept


def pytest_runtest_logreport(report):
    if report.failed:
        note("failed", report.nodeid)
    elif report.when == "call" or report.skipped:
        note("xfailed" if hasattr(report, "wasxfail") else report.outcome, report.nodeid)


def pytest_collectreport(report):
    if report.failed:
        note("failed", report.nodeid)


def note(what, test):
    with open(os.environ["CLIENTS_OUTCOMES"], "a", encoding="utf-8") as file:
        file.write(f"{what}\\t{test}\\n")
"""


def run(project: str, sources: Path, python: str, seconds: int) -> dict[str, str]:
    """Each test's outcome: passed, failed, skipped, xfailed, or left out."""
    how = PROJECTS[project]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "clients_plugin.py").write_text(PLUGIN, encoding="utf-8")
        outcomes = Path(folder, "outcomes.txt")
        given = {name: value.format(sources=sources) for name, value in how.get("environment", {}).items()}
        paths = [str(ROOT), folder, given.pop("PYTHONPATH", "")]
        environment = {
            **os.environ, "OMP_NUM_THREADS": "1", **given, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "CLIENTS_PATTERNS": "\n".join(how.get("does_not_apply", {})), "CLIENTS_OUTCOMES": str(outcomes),
        }  # fmt: skip
        arguments = [argument.format(sources=sources) for argument in how["arguments"]]
        options = ["-q", "-p", "simgpu.pytest", "-p", "clients_plugin", "-p", "no:cacheprovider"]
        command = [python, "-m", "pytest", *options, *arguments, *how.get("packages", "").split()]
        where = sources / how["folder"] if "folder" in how else Path(folder)
        try:
            done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            print(f"{project}: stopped after {seconds} s; what ran until then counts", file=sys.stderr)
        else:
            if not outcomes.exists():
                raise SystemExit(f"{project}: no test ran\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        rows = (line.split("\t", 1) for line in outcomes.read_text(encoding="utf-8").splitlines())
        return worst(rows)


def worst(rows) -> dict[str, str]:
    """One outcome for each test: once failed, it stays failed."""
    found: dict[str, str] = {}
    for what, test in rows:
        if found.get(test) != "failed":
            found[test] = what
    return found


def reasons(project: str, left_out: list[str]) -> Counter:
    """How many tests don't apply, by reason."""
    patterns = PROJECTS[project].get("does_not_apply", {})
    return Counter(next(why for pattern, why in patterns.items() if re.search(pattern, test)) for test in left_out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, help="the folder with the projects' sources")
    parser.add_argument("projects", nargs="*", help=f"some of: {', '.join(PROJECTS)}")
    parser.add_argument(
        "--python", default=sys.executable, help="the Python of the environment that has what they need"
    )
    parser.add_argument("--seconds", type=int, default=1800, help="how long one project may take (1800)")
    options = parser.parse_args()
    unknown = set(options.projects) - set(PROJECTS)
    if unknown:
        parser.error(f"tests/clients.toml has no {', '.join(sorted(unknown))}")
    columns = ("collected", "does not apply", "skipped", "passed", "failed")
    print(f"{'':<24}" + "".join(f"{name:>16}" for name in columns))
    failures: list[str] = []
    for project in options.projects or PROJECTS:
        found = run(project, options.sources.resolve(), options.python, options.seconds)
        counts = Counter(found.values())
        row = (
            len(found),
            counts["left out"],
            counts["skipped"],
            counts["passed"] + counts["xfailed"],
            counts["failed"],
        )
        print(f"{project:<24}" + "".join(f"{count:>16,}" for count in row), flush=True)
        for why, count in reasons(project, [test for test, what in found.items() if what == "left out"]).items():
            print(f"    {count:,} not applicable: {why}")
        failures += [f"{project}: {test}" for test, what in found.items() if what == "failed"]
    print("\n".join(["", "failed:", *failures] if failures else ["", "none failed"]))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
