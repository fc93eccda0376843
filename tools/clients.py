"""Other projects' tests for CuPy, unchanged, with simgpu in CuPy's place: how many pass, and which don't.

    python tools/clients.py ../clients                    all projects of tests/clients.toml; their sources are there
    python tools/clients.py ../clients dask einops        some of them
    python tools/clients.py ../clients dask --python ../venv/bin/python       with the packages of another environment

Get the sources yourself: nothing is fetched. What doesn't apply is in tests/clients.toml, each pattern with its reason:
tests by name, which aren't run, and failures that say that something is missing which isn't simulated at all. Such a
failure counts only by the words of its last error, and only if simgpu didn't raise that: so it hides no fault of ours.
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
NOT_SIMULATED = PROJECTS.pop("not_simulated")["errors"]

# A plugin that writes each test's outcome to a file, and leaves out what doesn't apply.
PLUGIN = """
import os, re
from pathlib import Path

import pytest

patterns = [pattern for pattern in os.environ["CLIENTS_PATTERNS"].split("\\n") if pattern]
errors = re.compile("|".join(os.environ["CLIENTS_ERRORS"].split("\\n")))


@pytest.hookimpl(trylast=True)  # after -k and -m
def pytest_collection_modifyitems(config, items):
    kept = []
    for item in items:
        if any(re.search(pattern, item.nodeid) for pattern in patterns):
            note("left out", item.nodeid)
        else:
            kept.append(item)
    items[:] = kept


def failure(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        message, where = crash.message, crash.path
    else:  # a file of tests that can't be read
        lines = report.longreprtext.splitlines()
        message = next((line for line in reversed(lines) if line.startswith("E ")), "")
        where = next((line for line in reversed(lines) if re.match(r"\\S+:\\d+: ", line)), "")
    ours = Path(os.environ["CLIENTS_SIMGPU"]).as_posix() in Path(where).as_posix()
    return "not simulated" if errors.search(message) and not ours else "failed"


def pytest_runtest_logreport(report):
    if report.failed:
        note(failure(report), report.nodeid)
    elif report.when == "call" or report.skipped:
        note("xfailed" if hasattr(report, "wasxfail") else report.outcome, report.nodeid)


def pytest_collectreport(report):
    if report.failed:
        note(failure(report), report.nodeid)


def note(what, test):
    with open(os.environ["CLIENTS_OUTCOMES"], "a", encoding="utf-8") as file:
        file.write(f"{what}\\t{test}\\n")
"""


def run(project: str, sources: Path, python: str, seconds: int) -> dict[str, str]:
    """Each test's outcome: passed, failed, skipped, xfailed, left out, or not simulated."""
    how = PROJECTS[project]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "clients_plugin.py").write_text(PLUGIN, encoding="utf-8")
        outcomes = Path(folder, "outcomes.txt")
        given = {name: value.format(sources=sources) for name, value in how.get("environment", {}).items()}
        paths = [str(ROOT), folder, given.pop("PYTHONPATH", "")]
        environment = {
            **os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", **given,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "CLIENTS_PATTERNS": "\n".join(how.get("does_not_apply", {})), "CLIENTS_OUTCOMES": str(outcomes),
            "CLIENTS_ERRORS": "\n".join(NOT_SIMULATED), "CLIENTS_SIMGPU": str(ROOT / "simgpu"),
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
                print(f"{project}: no test ran\n{done.stdout[-2000:]}{done.stderr[-2000:]}", file=sys.stderr)
                return {"no test ran": "failed"}
        rows = (line.split("\t", 1) for line in outcomes.read_text(encoding="utf-8").splitlines())
        return worst(rows)


def worst(rows) -> dict[str, str]:
    """One outcome for each test: what failed at its beginning or its end has failed, whatever came between."""
    found: dict[str, str] = {}
    for what, test in rows:
        if what == "failed" or found.get(test) not in ("failed", "not simulated"):
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
    parser.add_argument("--names", action="store_true", help="name the tests that say that something isn't simulated")
    options = parser.parse_args()
    unknown = set(options.projects) - set(PROJECTS)
    if unknown:
        parser.error(f"tests/clients.toml has no {', '.join(sorted(unknown))}")
    columns = ("collected", "not applicable", "skipped", "passed", "failed")
    print(f"{'':<24}" + "".join(f"{name:>16}" for name in columns))
    failures: list[str] = []
    for project in options.projects or PROJECTS:
        found = run(project, options.sources.resolve(), options.python, options.seconds)
        counts = Counter(found.values())
        passed, left_out = counts["passed"] + counts["xfailed"], counts["left out"] + counts["not simulated"]
        row = (len(found), left_out, counts["skipped"], passed, counts["failed"])
        print(f"{project:<24}" + "".join(f"{count:>16,}" for count in row), flush=True)
        for why, count in reasons(project, [test for test, what in found.items() if what == "left out"]).items():
            print(f"    {count:,} not applicable: {why}")
        if counts["not simulated"]:
            print(f"    {counts['not simulated']:,} not applicable: {', '.join(NOT_SIMULATED.values())}")
        if options.names:
            print("\n".join(f"        {test}" for test, what in found.items() if what == "not simulated"))
        failures += [f"{project}: {test}" for test, what in found.items() if what == "failed"]
    print("\n".join(["", "failed:", *failures] if failures else ["", "none failed"]))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
