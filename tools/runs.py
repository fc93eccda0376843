"""What was run where: runs commands and sessions of nox, keeps what came out, and writes the site's page about it.

    .venv/bin/python tools/runs.py "make test" "slow(browser)"     run these, one after the other
    .venv/bin/python tools/runs.py clients -- ../clients           one session, with arguments for it
    .venv/bin/python tools/runs.py --page                          only write the page again

A run is kept in docs/runs.json, in the place of the last one by that name on that kind of machine: what it printed
last, how long it took, and on which system, Python, NumPy, browser and card. The page is made from that file alone.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "docs" / "runs.json"
PAGE = ROOT / "docs" / "site" / "pages" / "what-was-run.md"
BEGIN, END = "<!-- runs: made by tools/runs.py -->", "<!-- end of runs -->"

COMMANDS = {"make test": ["make", "--no-print-directory", "test"], ".ci/run": ["bash", ".ci/run"]}
IN_A_BROWSER = (".ci/run", "slow(browser)", "lite", "hub(chart)", "hub(newest)", "site")
CLOSING = re.compile(r"^=* ?(\d+ (?:passed|failed|skipped|error).*) in \d+[.\d]*s", re.MULTILINE)
COUNT = re.compile(r"(\d+) (passed|failed|skipped|error)")


# -- running ---------------------------------------------------------------------------------------------------------


def run(name: str, arguments: list[str]) -> dict[str, object]:
    """Run one, and return its record."""
    command = COMMANDS.get(name)
    if command is None:
        command = [sys.executable, "-m", "nox", "--no-color", "-s", name]
    if arguments:
        command = [*command, "--", *arguments]
    begin = time.monotonic()
    # What it prints goes on to the screen, and is kept.
    printed = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            printed.append(line)
    passed = process.returncode == 0
    return {
        "name": name,
        **here(name),
        "passed": passed,
        "said": closing("".join(printed)),
        "minutes": round((time.monotonic() - begin) / 60, 1),
    }


def closing(printed: str) -> str:
    """What was counted, over all of pytest's closing lines, and the last line, if it's neither pytest's nor nox's.

    >>> closing("= 3 passed, 1 skipped in 2.00s =" + chr(10) + "= 4 passed in 1.00s =")
    '7 passed, 1 skipped'
    >>> closing("= 2 passed in 1.00s =" + chr(10) + "0 to put right" + chr(10) + "nox > Session without.")
    '2 passed; 0 to put right'
    """
    counted: Counter[str] = Counter()
    for line in CLOSING.findall(printed):
        for count, what in COUNT.findall(line):
            counted[what] += int(count)
    said = []
    if counted:
        said.append(", ".join(f"{count:,} {what}" for what, count in counted.items()))
    whole = re.sub(r"\n  (?=\S)", " ", printed)  # what's wrapped in a list is one line
    lines = [line.strip() for line in whole.splitlines() if line.strip() and not line.startswith("nox >")]
    if lines and not CLOSING.match(lines[-1]):
        said.append(lines[-1].removeprefix("- "))
    return "; ".join(said)


def here(name: str) -> dict[str, str]:
    """The version, and what it runs on."""
    python = python_of(name)
    about = (
        "import platform, numpy, fluxlite; print(platform.python_version(), numpy.__version__, fluxlite.__version__)"
    )
    # Some sessions' own environments only build packages: they have no fluxlite.
    versions = (output(python, "-c", about) or output(sys.executable, "-c", about)).split()
    versions = versions or [platform.python_version(), "", ""]
    return {
        "version": versions[2],
        "commit": output("git", "rev-parse", "--short=8", "HEAD"),
        "date": datetime.date.today().isoformat(),
        "system": system(),
        "python": versions[0],
        "numpy": versions[1],
        "browser": browser(name),
        "card": output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
    }


def python_of(name: str) -> str:
    """The Python that the tests run on: a session's own, where it has an environment."""
    folder = re.sub(r"\W+", "-", name).strip("-")  # as nox calls it
    own = ROOT / ".nox" / folder / "bin" / "python"
    if name in COMMANDS:
        own = ROOT / ".venv" / "bin" / "python"
    if own.exists():
        return str(own)
    return sys.executable


def system() -> str:
    """The system and the kind of processor, such as ``Debian GNU/Linux 12, x86_64``."""
    known = platform.platform(terse=True)
    if sys.platform == "linux":
        known = platform.freedesktop_os_release().get("PRETTY_NAME", known)
    return f"{known.partition(' (')[0]}, {platform.machine()}"


def browser(name: str) -> str:
    """The browsers' versions, for what runs in them: such as ``Chromium 156.0, Mozilla Firefox 153.8``."""
    if name == "pyodide":  # a browser's Python, without the browser
        needs = json.loads((ROOT / "tools" / "pyodide" / "package.json").read_text(encoding="utf-8"))["dependencies"]
        return f"Pyodide {needs['pyodide']} on Node.js {output('node', '--version').lstrip('v')}"
    commands = []
    if name in IN_A_BROWSER:
        commands.append(first_of("chromium", "chromium-browser", "google-chrome"))
    if name == "lite":
        commands.append(first_of("firefox", "firefox-esr"))
    versions = [output(command, "--version") for command in commands if command]
    return ", ".join(re.sub(r"(\d) .*", r"\1", version) for version in versions)


def first_of(*names: str) -> str | None:
    """Where the first of these programs is that there is; None if there's none."""
    return next(filter(None, map(shutil.which, names)), None)


def output(*command: str) -> str:
    """What a command prints, or nothing where there's none by that name."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


# -- keeping ---------------------------------------------------------------------------------------------------------


def read() -> list[dict[str, object]]:
    return json.loads(RUNS.read_text(encoding="utf-8"))


def keep(record: dict[str, object]) -> None:
    """Put it in the place of an earlier one by that name, on the same kind of machine, and write the page."""
    same = [record["name"], record["system"], record["card"]]
    others = [one for one in read() if [one["name"], one["system"], one["card"]] != same]
    records = sorted([*others, record], key=lambda one: (one["name"], one["system"]))
    RUNS.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_page(records)


# -- the page --------------------------------------------------------------------------------------------------------


def write_page(records: list[dict[str, object]]) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables(records)}\n\n{END}{after}", encoding="utf-8")


def tables(records: list[dict[str, object]]) -> str:
    """Where things ran, and what came out."""
    where = [
        ("systems", {one["system"] for one in records}),
        ("Pythons", {one["python"] for one in records}),
        ("NumPys", {one["numpy"] for one in records}),
        ("browsers", {name for one in records for name in str(one["browser"]).split(", ")}),
        ("cards", {one["card"] for one in records}),
    ]
    lines = ["| it ran on | |", "|---|---|"]
    for what, names in where:
        known = sorted(map(str, names - {""}), key=by_number)
        lines.append(f"| {what} | {', '.join(known) or 'none'} |")
    lines += ["", "| what | version | where | result | minutes | date |", "|---|---|---|---|---|---|"]
    lines += [row(one) for one in records]
    return "\n".join(lines)


def by_number(name: str) -> list[int]:
    """3.9 comes before 3.11."""
    return [int(part) for part in re.findall(r"\d+", name)]


def row(one: dict[str, object]) -> str:
    python, numpy = f"Python {one['python']}", f"NumPy {one['numpy']}"
    where = ", ".join(str(part) for part in (one["system"], python, numpy, one["browser"], one["card"]) if part)
    said = str(one["said"]).replace("|", "\\|")
    if not one["passed"]:
        said = f"**failed**: {said}"
    return f"| `{one['name']}` | {one['version']} | {where} | {said} | {one['minutes']} | {one['date']} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help='"make test", .ci/run, or a session of nox')
    parser.add_argument("--page", action="store_true", help="only write the page again")
    given = sys.argv[1:]
    arguments: list[str] = []
    if "--" in given:
        place = given.index("--")
        given, arguments = given[:place], given[place + 1 :]
    options = parser.parse_args(given)
    if options.page:
        write_page(read())
        return
    if not options.names:
        parser.error("what shall be run?")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    records = []
    for name in options.names:
        record = run(name, arguments)
        keep(record)
        records.append(record)
    for record in records:
        print(row(record))
    sys.exit(not all(record["passed"] for record in records))


if __name__ == "__main__":
    main()
