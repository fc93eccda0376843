"""The report of a whole run, for people and for CI: whose line asked for what, what's allowed, and what's missing.

A run's figures are plain data, so that those of several processes can be added up, and written as JSON.
"""

import json
import linecache
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .lines import Line
from .profile.recording import MOST_LINES, Copies, Receipt, counted_names
from .profile.seconds import Seconds, duration
from .words import many

WAYS = ("host to device", "device to host", "device to device")
COUNTED = {"implicit-copies": "implicit copies", "waits": "waits"}  # what can be limited, and its words
MISSING = "missing"
MACHINE = "this machine's seconds"
TESTS = ("tests", "test")  # folders whose lines are a project's tests


# -- A run's figures ---------------------------------------------------------------------------------------------------


def figures_of(what: str, card: str, receipt: Receipt, requests: dict[str, dict[Line, int]], root: Path) -> dict:
    """A run's figures as plain data. Paths are from the project's `root`."""
    copies = {way: vars(getattr(receipt, way.replace(" ", "_"))) for way in WAYS}
    return {
        "program": what,
        "card": card,
        "launches": receipt.launches,
        "launched": dict(receipt.launched),
        "memsets": receipt.memsets,
        "copies": copies,
        "waits": receipt.synchronizations,
        "first uses": receipt.first_uses,
        "implicit-copies": sum(way["implicit"] for way in copies.values()),
        "peak memory": receipt.peak_memory,
        "simulated seconds": float(receipt.simulated_seconds or 0),
        MACHINE: receipt.wall_seconds_in_use,
        "lines": [_line_figures(costs, root) for costs in receipt.by_line()],
        "missing": [_missing_figures(name, lines, root) for name, lines in requests.items()],
        "unused": [],
    }


def _line_figures(costs: Any, root: Path) -> dict:
    file, number = costs.place
    return {
        **_where(costs.place, root),
        "file": file,
        "line": number,
        "launches": costs.launches,
        "copies": costs.copies,
        "implicit-copies": costs.implicit,
        "waits": costs.waits,
        "device seconds": costs.seconds,
    }


def _missing_figures(name: str, lines: dict[Line, int], root: Path) -> dict:
    shown = [{**_where(place, root), "line": place[1], "times": times} for place, times in lines.items()]
    return {"name": name, "times": sum(lines.values()), "lines": shown}


def _where(place: Line, root: Path) -> dict:
    file, number = place
    path, whose = path_and_owner(file, root)
    return {"path": path, "whose": whose, "code": linecache.getline(file, number).strip()}


def path_and_owner(file: str, root: Path) -> tuple[str, str]:
    """A file's path as it's shown, and whose it is: ``"project"``, ``"tests"``, or the name of a dependency.

    >>> path_and_owner("/home/ada/wave/src/net.py", Path("/home/ada/wave"))
    ('src/net.py', 'project')
    >>> path_and_owner("/home/ada/wave/tests/test_net.py", Path("/home/ada/wave"))
    ('tests/test_net.py', 'tests')
    >>> path_and_owner("/home/ada/wave/.venv/lib/python3.12/site-packages/sklearn/base.py", Path("/home/ada/wave"))
    ('sklearn/base.py', 'sklearn')
    """
    if not file:
        return "nobody's line", "nobody"
    parts = Path(file).parts
    for installed in ("site-packages", "dist-packages"):
        if installed in parts:
            inside = parts[parts.index(installed) + 1 :]
            return "/".join(inside), inside[0].removesuffix(".py")
    try:
        inside = Path(os.path.abspath(file)).relative_to(root).parts
    except ValueError:  # it's elsewhere: Python's own, say
        return file, "elsewhere"
    name = inside[-1]
    is_test = name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
    if is_test or not set(TESTS).isdisjoint(inside[:-1]):
        return "/".join(inside), "tests"
    return "/".join(inside), "project"


def merge(several: Sequence[dict]) -> dict:
    """The figures of several processes together: counts are added up, memory is the most that one of them used."""
    total = dict(several[0])
    for name in _OF_A_RUN:
        total[name] = sum(run[name] for run in several)
    total["peak memory"] = max(run["peak memory"] for run in several)
    total["launched"] = dict(sum((Counter(run["launched"]) for run in several), Counter()))
    total["copies"] = {way: _add_up([run["copies"][way] for run in several]) for way in WAYS}
    total["lines"] = _join_rows([line for run in several for line in run["lines"]], ("file", "line"), _OF_A_LINE)
    total["missing"] = _join_rows([name for run in several for name in run["missing"]], ("name",), ("times",))
    total["unused"] = _join_rows([test for run in several for test in run["unused"]], ("test",), ())
    return total


_OF_A_RUN = (
    "launches", "memsets", "waits", "first uses", "implicit-copies", "simulated seconds", MACHINE,
)  # fmt: skip
_OF_A_LINE = ("launches", "copies", "implicit-copies", "waits", "device seconds")


def _add_up(rows: Sequence[dict]) -> dict:
    return {name: sum(row[name] for row in rows) for name in rows[0]}


def _join_rows(rows: Iterable[dict], key: tuple[str, ...], counts: tuple[str, ...]) -> list[dict]:
    """Rows with the same key as one row, whose counts are added up."""
    found: dict[tuple, dict] = {}
    for row in rows:
        place = tuple(row[name] for name in key)
        if place not in found:
            found[place] = dict(row)
            continue
        for name in counts:
            found[place][name] += row[name]
    return list(found.values())


def json_of(figures: dict) -> str:
    """The figures as JSON. They're the same in each run, so this machine's time isn't among them."""
    return json.dumps({name: value for name, value in figures.items() if name != MACHINE}, indent=1)


# -- What's allowed ----------------------------------------------------------------------------------------------------


@dataclass
class Rules:
    """What a run may ask for: at most so much, counted in these paths only, and never mind the lines of a baseline."""

    limits: dict[str, int] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    baseline: frozenset[str] = frozenset()

    def counts(self, line: dict, kind: str) -> bool:
        """Whether this line's copies or waits count."""
        is_inside = not self.only or line["path"].startswith(self.only)
        return is_inside and entry(kind, line) not in self.baseline

    def count(self, figures: dict) -> dict[str, int]:
        """How much of what's limited there was, of what counts."""
        found = {
            kind: sum(line[kind] for line in figures["lines"] if self.counts(line, kind))
            for kind in COUNTED
            if kind in self.limits
        }
        if MISSING in self.limits:
            found[MISSING] = len(self.list_missing(figures))
        return found

    def list_missing(self, figures: dict) -> list[str]:
        """What's missing and not in the baseline: names, tests that didn't reach the GPU, and a run that never did."""
        found = [row["name"] for row in figures["missing"]] + [row["test"] for row in figures["unused"]]
        if not figures["launches"]:
            found.append("launches")
        return [what for what in found if f"{MISSING} {what}" not in self.baseline]

    def failures(self, figures: dict) -> list[str]:
        """A line for each limit that isn't kept."""
        over = {kind: count for kind, count in self.count(figures).items() if count > self.limits[kind]}
        return [f"FAILED: {count:,} {kind}, {self.limits[kind]:,} allowed" for kind, count in over.items()]


def entry(kind: str, line: dict) -> str:
    """A line of a baseline: what's allowed, where. It has no number, so that it stays true when lines move.

    >>> entry("waits", {"path": "src/net.py", "code": "return float(loss)"})
    'waits src/net.py: return float(loss)'
    """
    return f"{kind} {line['path']}: {line['code']}"


HEAD = "# Lines that may copy or wait, and names that may be missing. simgpu wrote this file: --write-baseline\n"


def baseline_of(figures: dict, only: tuple[str, ...] = ()) -> str:
    """The text of a baseline that allows all that this run did, in the paths that count."""
    rules = Rules(only=only)
    found = {
        entry(kind, line) for kind in COUNTED for line in figures["lines"] if line[kind] and rules.counts(line, kind)
    }
    found |= {f"{MISSING} {row['name']}" for row in figures["missing"]}
    found |= {f"{MISSING} {row['test']}" for row in figures["unused"]}
    return HEAD + "".join(f"{line}\n" for line in sorted(found))


def read_baseline(file: Path) -> frozenset[str]:
    """The lines of a baseline. Raises `ValueError` for what isn't one, with the line's number."""
    kinds = (*COUNTED, MISSING)
    found = set()
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        kind, _, place = line.partition(" ")
        if kind not in kinds or not place:
            raise ValueError(f"{file}, line {number}: a baseline's line begins with {', '.join(kinds)}; got {line!r}")
        found.add(line)
    return frozenset(found)


# -- In words ----------------------------------------------------------------------------------------------------------


def text_of(figures: dict, rules: Rules) -> str:
    """The report as text."""
    rows = [f"{figures['program']}, on a simulated {figures['card']}: values are NumPy's, times are a model's"]
    rows += [f"{name:<17} {words}" for name, words in _totals(figures)]
    simulated = Seconds(figures["simulated seconds"], "simulated", figures["card"])
    rows.append(f"{simulated}; {duration(figures[MACHINE])} of this machine's time, since the first call of the GPU")
    for kind, words in COUNTED.items():
        rows += _by_line(figures, kind, words, rules)
    rows += _missing_rows(figures)
    return "\n".join(rows + rules.failures(figures))


def _totals(figures: dict) -> Iterable[tuple[str, str]]:
    names = counted_names(Counter(figures["launched"]))
    yield "launches", f"{figures['launches']:,}: {names}" if names else "0"
    if figures["memsets"]:
        yield "memsets", f"{figures['memsets']:,}"
    for way in WAYS:
        copies = Copies(**figures["copies"][way])
        if copies.count or way != "device to device":
            yield way, str(copies)
    yield "synchronizations", f"{figures['waits']:,}"
    if figures["first uses"]:
        yield "first uses", f"{figures['first uses']:,}"
    yield "peak memory", f"{figures['peak memory']:,} bytes"


def _by_line(figures: dict, kind: str, words: str, rules: Rules) -> list[str]:
    """The lines that cost most of one kind, with those that don't count at the end as a number."""
    lines = sorted((line for line in figures["lines"] if line[kind]), key=lambda line: -line[kind])
    shown = [line for line in lines if rules.counts(line, kind)]
    left_out = len(lines) - len(shown)
    rows = [f"{line[kind]:>7,}  {_location(line)}" for line in shown[:MOST_LINES]]
    if len(shown) > MOST_LINES:
        rows.append(f"{len(shown) - MOST_LINES:9,} more lines")
    if left_out:
        rows.append(f"{left_out:9,} more that don't count here")
    if rows:
        return [f"{words}, by line:", *rows]
    return []


def _location(line: dict) -> str:
    """``src/net.py:7 (project): return float(loss)``"""
    if line["whose"] == "nobody":
        return "nobody's line"
    where = f"{line['path']}:{line['line']} ({line['whose']})"
    if line["code"]:
        return f"{where}: {line['code']}"
    return where


def _missing_rows(figures: dict) -> list[str]:
    rows = []
    if figures["missing"]:
        rows.append("asked for, and not simulated:")
        for row in figures["missing"]:
            rows.append(f"{row['times']:>7,}  {row['name']}, first by {_location(row['lines'][0])}")
    if figures["unused"]:
        count = many(len(figures["unused"]), "test")
        rows.append(f"{count} that would have gone to a GPU, and didn't:")
        rows += [f"{'':9}{row['test']}: {row['why']}" for row in figures["unused"]]
    if not figures["launches"]:
        rows.append("nothing was launched: no line of this run used the GPU")
    return rows
