"""For the tests in tests/ and the examples in fluxlite/'s docstrings.

There's only this one, since a second conftest.py in tests/ would be another module with the same name.
"""

import collections
import errno
import importlib.util
import os
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import fluxlite

# A time limit for one example says more about the machine than about the code. Where a change is judged (CI is set),
# the examples are always the same; elsewhere, each run tries new ones.
settings.register_profile("fluxlite", deadline=None, max_examples=60, derandomize=bool(os.environ.get("CI")))
settings.load_profile("fluxlite")

# If you run the tests, their answers mustn't end up in your own course. That goes for the notebooks' kernels too.
os.environ["FLUXLITE_PROGRESS"] = str(Path(tempfile.mkdtemp(prefix="fluxlite-"), "progress.json"))

# Programs: tests run them, and looking for docstring examples would, too.
collect_ignore_glob = ["examples/*", "tests/project/ports/*", "tests/fluxlite/distributed/program_*"]
# The examples there need libraries that `make test` alone doesn't install.
for library, folder in {"mpi4py": "distributed", "mlx": "devices/metal"}.items():
    if importlib.util.find_spec(library) is None:
        collect_ignore_glob += [f"fluxlite/{folder}/*"]


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow, as the nox sessions do")


def pytest_collection_modifyitems(config, items):
    """Without ``--slow``, leave out what's marked slow, unless you asked for nothing else.

    These tests are deselected, not skipped, since nothing that they need is missing.
    """
    slow = [item for item in items if item.get_closest_marker("slow")]
    if not config.option.slow and len(slow) < len(items):
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_configure(config):
    """``pytest -m cuda`` rehearses where there's no card (`tests/helpers/rehearsal.py`).

    nbval compares notebook outputs by the rule in `tools/outputs.py`: the last digits may differ.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in `nohup make test &`, and programs inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.markexpr == "cuda":
        import rehearsal

        if rehearsal.can_start():
            rehearsal.start()
    if config.pluginmanager.hasplugin("nbval"):
        from nbval.plugin import IPyNbCell

        from tools.outputs import Output

        sanitized = IPyNbCell.sanitize
        IPyNbCell.sanitize = lambda cell, text: Output(sanitized(cell, text)) if isinstance(text, str) else text


@pytest.fixture(autouse=True)
def examples_know_numpy(doctest_namespace, request, monkeypatch):
    """The names that docstring examples can use without importing them; and they show messages, as a terminal does."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.setattr(fluxlite.messages, "stream", lambda: sys.stdout)
        monkeypatch.setattr("simgpu.device._devices", [])  # an example may choose other cards, which end with it
    doctest_namespace["np"] = np
    doctest_namespace["fl"] = fluxlite


@pytest.fixture(scope="session")
def empty_project(tmp_path_factory):
    """A project without preferences: a developer's own preferences mustn't affect the tests."""
    return tmp_path_factory.mktemp("project")


@pytest.fixture(autouse=True)
def no_simulation_and_nothing_said_yet(monkeypatch, empty_project):
    """Each test starts like a program: no simulated GPU, no preference, and no notice given yet."""
    monkeypatch.setenv("FLUXLITE_PROJECT", str(empty_project))
    monkeypatch.delenv("FLUXLITE_GPU_BACKEND", raising=False)
    if progress := sys.modules.get("fluxlite_course.kit.progress"):
        monkeypatch.setattr(progress, "_home", None)  # no lesson has begun
        monkeypatch.setattr(progress, "_lesson", "")
        monkeypatch.setattr(progress, "listeners", [])
        monkeypatch.setattr(progress, "_unwritten", {})
    fluxlite.reset_notices()
    fluxlite.seed(None)
    with fluxlite.simulate_gpu(False):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """What the rehearsal doesn't act, CuPy answers as it does without a driver."""
    try:
        return (yield)
    except Exception as error:
        if "rehearsal" in sys.modules and "cudaErrorInsufficientDriver" in str(error):
            pytest.skip(f"not rehearsed: {str(error).splitlines()[0]}")
        raise


def pytest_terminal_summary(terminalreporter):
    """Which of the tests for a card a rehearsal didn't run, and why."""
    skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", []) if report.longrepr]
    left_out = [reason.partition("not rehearsed: ")[2] for reason in skipped if "not rehearsed: " in reason]
    reasons = collections.Counter(left_out)
    if terminalreporter.config.option.markexpr == "cuda" and "rehearsal" in sys.modules:
        ran = sum(len(terminalreporter.stats.get(outcome, [])) for outcome in ("passed", "failed"))
        terminalreporter.section("rehearsal, without a card")
        terminalreporter.write_line(f"{ran} tests ran; {reasons.total()} did not, since nothing here acts")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"  {reason}: {count}")


# ``@pytest.mark.on("Simulated", "CUDA")`` names the devices for which a test holds; the test gets each as `device`. If
# a rule holds on CUDA and Simulated but not on CPU, a learner on a laptop would only meet it on the simulated GPU. The
# devices are in `tests/helpers/kinds.py`.


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("on")
    if marker is not None:
        with_cuda = metafunc.config.option.markexpr == "cuda" or fluxlite.functional("CUDA")
        names = [name for name in marker.args if name != "CUDA" or with_cuda]  # a case that can't run is only noise
        params = [pytest.param(name, marks=pytest.mark.cuda if name == "CUDA" else ()) for name in names]
        metafunc.parametrize("device", params, indirect=True)


@pytest.fixture
def device(request):
    from kinds import DEVICE

    return DEVICE[request.param]()


@pytest.fixture
def simulated():
    """One simulated GPU, switched on."""
    from kinds import simulated_device

    return simulated_device()


@pytest.fixture
def path(tmp_path):
    """Where a test may save something."""
    return tmp_path / "run.safetensors"


@pytest.fixture
def fill_the_disk(monkeypatch):
    """After it's called, no file can be written to its end."""

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return lambda: monkeypatch.setattr("os.fsync", full)


@pytest.fixture
def no_programs(monkeypatch):
    """No other program can be started, as in a browser, or where a school allows none."""

    def start(process, *args, **options):
        raise OSError(errno.ENOTSUP, "this system does not support processes.")

    monkeypatch.setattr("subprocess.Popen.__init__", start)
    monkeypatch.setattr("subprocess.Popen.__del__", lambda process: None)


@pytest.fixture
def own_progress(tmp_path, monkeypatch):
    """A record of progress that only this test writes to."""
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(tmp_path / "progress.json"))


@pytest.fixture
def the_table_as_it_was():
    """The table of derivative rules is full at first, and in the end without a test's own rules."""
    import fluxlite.autodiff.derivatives.rarer  # noqa: F401  (fills the table)
    from fluxlite.autodiff.rules import RULES

    before = dict(RULES)
    yield
    RULES.clear()
    RULES.update(before)
