"""``pytest -p simgpu.pytest``: tests of a program that says `import cupy`, without a GPU. Their receipt comes last."""

from typing import Any

from .running import LIMITS, Run, limits

_run: Any = None


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("simgpu", "a simulated GPU in CuPy's place")
    group.addoption("--simgpu-like", metavar="CARD", help='the card to simulate: "NVIDIA T4", "A100", …')
    group.addoption("--simgpu-json", metavar="FILE", help="write the receipt as JSON")
    group.addoption("--simgpu-fail-on", metavar="WHAT", type=limits, default={}, help=LIMITS)


def pytest_load_initial_conftests(early_config: Any) -> None:
    global _run
    options = early_config.known_args_namespace
    _run = Run("these tests", options.simgpu_like, options.simgpu_fail_on)


def pytest_sessionfinish(session: Any) -> None:
    if not _run.finish(session.config.option.simgpu_json) and session.exitstatus == 0:
        session.exitstatus = 1  # as when a test failed: pytest's 3 is for its own errors


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.section("simgpu")
    terminalreporter.write_line(_run.said)
