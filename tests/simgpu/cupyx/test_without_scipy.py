"""Where SciPy isn't installed, nothing of `cupyx.scipy` is there, and the messages name the extra that brings it."""

import os
import subprocess
import sys

import pytest

NO_COLOR = {**os.environ, "NO_COLOR": "1"}
HIDDEN = "import sys\nsys.modules['scipy'] = None\n"  # Python then says that there's no such module


def run(program, *before):
    command = [sys.executable, *before, "-c", HIDDEN + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=NO_COLOR)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def standing_in(tmp_path):
    """Runs a program under ``python -m simgpu``, without SciPy."""

    def run_it(program):
        (tmp_path / "program.py").write_text(HIDDEN + program)
        command = [sys.executable, "-m", "simgpu", "program.py"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=NO_COLOR)
        return done.returncode, done.stdout, done.stderr

    return run_it


def test_simgpu_works_and_loads_no_scipy():
    loaded = "any(name.startswith('scipy.') for name in sys.modules)"
    program = f"import simgpu as cp, simgpu.cupyx, sys\nprint(cp.ones(2).sum(), {loaded})"
    assert run(program)[:2] == (0, "2.0 False\n")


def test_the_message_names_the_extra():
    status, _, told = run("import simgpu.cupyx.scipy.sparse")
    assert status == 1 and "ModuleNotFoundError: cupyx.scipy isn't simulated without SciPy" in told
    assert "pip install scipy (fluxlite's extra [scipy])" in told
    program = "import simgpu.cupyx as c\nprint(hasattr(c, 'scipy'))\n"
    status, out, _ = run(program + "try:\n  c.scipy\nexcept NotImplementedError as e:\n  print(e)")
    assert status == 0 and out.startswith("False\n") and "extra [scipy]" in out


def test_what_scipy_itself_lacks_is_named(tmp_path):
    (tmp_path / "scipy.py").write_text("import zlib_of_another_computer\n")
    program = f"del sys.modules['scipy']\nsys.path.insert(0, {str(tmp_path)!r})\nimport simgpu.cupyx.scipy"
    status, _, told = run(program)
    assert status == 1 and told.endswith("No module named 'zlib_of_another_computer'\n")


def test_a_program_that_asks_is_told_and_the_report_lists_it(standing_in):
    status, out, told = standing_in(
        "from importlib.util import find_spec\nprint(find_spec('cupyx.scipy'))\n"
        "try:\n  import cupyx.scipy.ndimage\nexcept ImportError as error:\n  print(error.name)\n"
    )
    assert (status, out) == (0, "None\ncupyx.scipy\n"), told
    assert "asked for, and not simulated:" in told and "cupyx.scipy, first by program.py" in told
