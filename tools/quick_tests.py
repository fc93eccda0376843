"""A pytest plugin for `tools/mutations.py`: the tests end soon, and say no more than whether they pass.

Only those run that call the function with the change, as they did without it. Those named after something beside the
change come first, then the quickest. Hypothesis tries few examples and doesn't simplify the one that fails. A program
that computes or takes memory without end is ended.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import pytest
from hypothesis import Phase, settings

SECONDS = Path("seconds.json")  # how long each test took without a change
# By test, without a change: the functions it calls, as file:line; "" is for all, at the start.
CALLS = Path("calls.json")
ANYTHING = "anything"  # in place of a function: the test runs another program, or watches by itself what is called
OTHER_PROGRAMS = ("subprocess.py", "popen_fork.py", "popen_spawn_posix.py")
CPU_SECONDS, BYTES = 120, 8 << 30
_took: dict[str, float] = {}
_called: dict[str, list[str]] = {}
_met: dict[int, CodeType] = {}  # since the test has begun, by id


def _note_call(frame: FrameType, event: str, argument: object) -> None:
    _met.setdefault(id(frame.f_code), frame.f_code)


def _functions_met() -> list[str]:
    found = set()
    for code in list(_met.values()):
        path = Path(code.co_filename)
        if path.name in OTHER_PROGRAMS:
            found.add(ANYTHING)
        elif path.is_relative_to(Path.cwd()):
            found.add(f"{path.relative_to(Path.cwd()).as_posix()}:{code.co_firstlineno}")
    _met.clear()
    return sorted(found)


def _watch() -> None:
    threading.settrace(_note_call)
    sys.settrace(_note_call)


if os.environ.get("FLUXLITE_UNCHANGED"):
    _watch()


def pytest_configure(config: pytest.Config) -> None:
    import fluxlite

    assert Path(fluxlite.__file__).is_relative_to(Path.cwd()), f"{fluxlite.__file__} isn't the copy that is tested"
    few = settings(settings.get_profile("fluxlite"), max_examples=20, derandomize=True, database=None,
                   phases=(Phase.explicit, Phase.generate))  # fmt: skip
    settings.register_profile("planted", few)
    settings.load_profile("planted")
    if not os.environ.get("FLUXLITE_UNCHANGED"):
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seconds = json.loads(SECONDS.read_text(encoding="utf-8")) if SECONDS.exists() else {}
    beside = set(os.environ.get("FLUXLITE_BESIDE", "").split())  # test_rule[log10], where np.log10's rule is changed
    if os.environ.get("FLUXLITE_UNCHANGED"):
        _called[""] = _functions_met()
    else:
        items[:] = _those_that_call(os.environ.get("FLUXLITE_CHANGED", ""), items)

    def rank(item: pytest.Item) -> tuple[bool, float]:
        words = re.findall(r"\w+", item.nodeid.partition("[")[2])
        return beside.isdisjoint(words), seconds.get(item.nodeid, 0.0)

    items.sort(key=rank)


def _those_that_call(function: str, items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests that call a function; all, if it's called before them, or if the change is in none."""
    called = json.loads(CALLS.read_text(encoding="utf-8")) if CALLS.exists() else {}
    if not function or function in called.get("", [function]):
        return items
    found = [item for item in items if not {function, ANYTHING}.isdisjoint(called.get(item.nodeid, [ANYTHING]))]
    return found or items[:1]  # none would be an error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if not os.environ.get("FLUXLITE_UNCHANGED"):
        return (yield)
    _met.clear()
    _watch()
    result = yield
    watches_itself = sys.gettrace() is not _note_call
    _called[item.nodeid] = [*_functions_met(), *[ANYTHING] * watches_itself]
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _took[report.nodeid] = _took.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish(exitstatus: int) -> None:
    if os.environ.get("FLUXLITE_UNCHANGED"):
        sys.settrace(None)
        SECONDS.write_text(json.dumps(_took), encoding="utf-8")
        CALLS.write_text(json.dumps(_called), encoding="utf-8")
