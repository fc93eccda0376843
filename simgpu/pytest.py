"""``pytest -p simgpu.pytest``: tests of a program that says `import cupy`, without a GPU. Their report comes last.

The worst failure is silence: a suite that skips its GPU tests and is green. So the report names each test that would
have gone to the GPU and didn't, as far as one can see: it was skipped for the sake of CUDA, CuPy or a GPU, or it asked
for what CuPy has and simgpu lacks, and then launched nothing.
"""

import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from . import lines, surface
from .report import baseline_of, merge, text_of
from .running import Run, add_options, rules_of, write_json

_PREFIX = "--simgpu-"
_OF_A_GPU = re.compile(r"\b(cupyx?|cuda|gpus?|nvidia|nvcc)\b", re.IGNORECASE)

_run: Run
_requested_at_import: dict[str, list[str]] = {}  # by a file of tests: the names that it asked for
_of_workers: list[dict] = []  # pytest-xdist's: the figures of each


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("simgpu", "a simulated GPU in CuPy's place")
    group.addoption("--simgpu-like", metavar="CARD", help='the card to simulate: "NVIDIA T4", "A100", …')
    group.addoption("--simgpu-json", metavar="FILE", help="write the figures as JSON")
    add_options(group.addoption, _PREFIX)


def pytest_load_initial_conftests(early_config: Any) -> None:
    global _run
    lines.leave_out(sys.modules["_pytest"])  # it imports for the tests, and isn't theirs
    try:
        _run = Run("these tests", early_config.known_args_namespace.simgpu_like, Path(early_config.rootpath))
    except (ValueError, RuntimeError) as error:  # no such card, or CuPy itself is loaded already
        raise pytest.UsageError(str(error)) from None


# -- Tests that didn't reach the GPU -----------------------------------------------------------------------------------


def _count_requests() -> dict[str, int]:
    return {name: sum(lines.values()) for name, lines in (surface.requests or {}).items()}


def _new_requests(before: dict[str, int]) -> list[str]:
    return [name for name, times in _count_requests().items() if times > before.get(name, 0)]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: Any) -> Generator[None, Any, Any]:
    """A file of tests may ask for something while it's imported, and leave its tests out without a word."""
    before = _count_requests()
    report = yield
    lacking = _new_requests(before)
    if lacking:
        _requested_at_import[collector.nodeid] = lacking
    if report.skipped:  # by pytest.importorskip, say
        why = _reason(report)
        if lacking or _OF_A_GPU.search(why):
            _did_not_use(collector.nodeid, f"skipped, {why}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, Any, Any]:
    before, launched, copies = _count_requests(), _run.receipt.launches, _run.receipt.host_to_device.count
    item._simgpu_reports = []
    done = yield
    is_used = (launched, copies) != (_run.receipt.launches, _run.receipt.host_to_device.count)
    lacking = _new_requests(before)
    skipped = [_reason(report) for report in item._simgpu_reports if report.skipped and not hasattr(report, "wasxfail")]
    if skipped and (lacking or _lacking_in_file(item) or _OF_A_GPU.search(skipped[0])):
        _did_not_use(item.nodeid, f"skipped, {skipped[0]}")
    elif not skipped and not is_used and lacking:
        _did_not_use(item.nodeid, f"it asked for {', '.join(lacking)}, and launched nothing")
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any) -> Generator[None, Any, Any]:
    report = yield
    item._simgpu_reports.append(report)
    return report


def _lacking_in_file(item: Any) -> list[str]:
    return _requested_at_import.get(item.nodeid.partition("::")[0], [])


def _reason(report: Any) -> str:
    """Why it was skipped: the last of pytest's file, line and words."""
    found = report.longrepr
    words = found[2] if isinstance(found, tuple) else str(found)
    return words.removeprefix("Skipped: ").strip()


def _did_not_use(test: str, why: str) -> None:
    _run.unused.append({"test": test, "why": why})


# -- The end: each of pytest-xdist's processes has figures of its own -------------------------------------------------


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    found = getattr(node, "workeroutput", {}).get("simgpu")
    if found:
        _of_workers.append(found)


def pytest_sessionfinish(session: Any) -> None:
    figures = _run.finish()
    config = session.config
    for file, lacking in _requested_at_import.items():
        if not any(test["test"].startswith(file) for test in figures["unused"]):
            figures["unused"].append({"test": file, "why": f"while it was imported, it asked for {', '.join(lacking)}"})
    if hasattr(config, "workeroutput"):
        config.workeroutput["simgpu"] = figures
        return
    figures = merge(_of_workers or [figures])
    options = config.option
    rules = rules_of(options, "simgpu_")
    config._simgpu = figures, rules
    if options.simgpu_write_baseline:
        Path(options.simgpu_write_baseline).write_text(baseline_of(figures, rules.only), encoding="utf-8")
    if options.simgpu_json:
        write_json(figures, options.simgpu_json)
    if rules.failures(figures) and session.exitstatus == 0:
        session.exitstatus = 1  # as when a test failed: pytest's 3 is for its own errors


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    figures, rules = config._simgpu
    terminalreporter.section("simgpu")
    terminalreporter.write_line(text_of(figures, rules))
