"""A pytest plugin for `tools/mutations.py`: the tests end soon, and say no more than whether they pass.

Those named after something beside the change come first, then the quickest. Hypothesis tries few examples and doesn't
simplify the one that fails. A program that computes or takes memory without end is ended.
"""

from __future__ import annotations

import json
import os
import re
import resource
from pathlib import Path

import pytest
from hypothesis import Phase, settings

SECONDS = Path("seconds.json")  # how long each test took without a change
CPU_SECONDS, BYTES = 120, 8 << 30
_took: dict[str, float] = {}


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

    def rank(item: pytest.Item) -> tuple[bool, float]:
        words = re.findall(r"\w+", item.nodeid.partition("[")[2])
        return beside.isdisjoint(words), seconds.get(item.nodeid, 0.0)

    items.sort(key=rank)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _took[report.nodeid] = _took.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish(exitstatus: int) -> None:
    if os.environ.get("FLUXLITE_UNCHANGED"):
        SECONDS.write_text(json.dumps(_took), encoding="utf-8")
