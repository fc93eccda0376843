"""``python -m simgpu program.py`` and ``pytest -p simgpu.pytest``: what says `import cupy` runs, and is counted."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import simgpu

ROOT = Path(simgpu.__file__).parents[1]

PROGRAM = """
import sys
import cupy
import cupy as cp
import cupy.cuda.runtime
from cupy import cuda, random
from cupy.linalg import norm
from cupyx import jit, scatter_add
from cupyx.profiler import time_range

x = cp.asarray([1.0, 2.0, 3.0])
scatter_add(x, cp.asarray([0, 0]), 1)
total = cp.zeros(())
for row in range(3):
    if x[row] > 2:  # a copy that nobody asked for
        total += x[row]
cuda.Stream.null.synchronize()
print(total, cp.cuda is cupy.cuda is cuda, cupy.__name__, sys.argv, __name__, __file__)
"""


@pytest.fixture
def run(tmp_path):
    """Runs a command of Python in a folder of its own, with ``program.py``."""

    def command(*words, program=PROGRAM, **files):
        for name, text in {"program": program, **files}.items():
            (tmp_path / f"{name}.py").write_text(text)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path, env=environment)
        return done.returncode, done.stdout, done.stderr

    return command


def test_a_program_runs_and_ends_with_its_receipt(run, tmp_path):
    status, out, told = run("-m", "simgpu", "--like", "NVIDIA A100", "program.py", "-v", "--json")
    assert status == 0, told
    assert out == f"6.0 True cupy ['program.py', '-v', '--json'] __main__ {tmp_path / 'program.py'}\n"
    assert told.startswith("program.py, on a simulated A100: values are NumPy's, times are a model's\nlaunches  ")
    assert re.search(r"\n\d.* simulated \(A100\)", told)
    copies, waits = told.partition("implicit copies, by line:\n")[2].split("waits, by line:\n")
    assert copies.splitlines() == [
        "      3  program.py:15 (project): if x[row] > 2:  # a copy that nobody asked for",
        "      1  program.py:18 (project): print(total, cp.cuda is cupy.cuda is cuda, cupy.__name__, sys.argv, "
        "__name__, __file__)",
    ]
    assert "      1  program.py:17 (project): cuda.Stream.null.synchronize()" in waits


def test_the_page_about_it_shows_what_it_prints(run):
    page = (ROOT / "docs" / "site" / "pages" / "cupy-without-a-gpu.md").read_text(encoding="utf-8")
    program, shown = re.search(r"```python\n(.*?)```.*?```\n(mean.py.*?)```", page, re.DOTALL).groups()
    status, out, told = run("-m", "simgpu", "mean.py", mean=program)
    own_time = re.compile(r"; .* of this machine's time")
    assert (status, out, own_time.sub("", told)) == (0, "True\n", own_time.sub("", shown))


def test_the_receipt_as_json(run, tmp_path):
    status, _, told = run("-m", "simgpu", "--json", "program.py", "-v")
    figures = json.loads(told)
    assert (status, figures["card"], figures["implicit-copies"], figures["waits"]) == (0, "NVIDIA T4", 4, 5)
    assert figures["launches"] == sum(figures["launched"].values()) == 7
    line = next(line for line in figures["lines"] if line["line"] == 15)
    assert (line["file"], line["implicit-copies"]) == (str(tmp_path / "program.py"), 3)
    status, _, told = run("-m", "simgpu", "--json", "out.json", "program.py")
    assert "implicit copies" in told and json.loads((tmp_path / "out.json").read_text()) == figures


@pytest.mark.parametrize(
    ("limits", "status", "told"),
    [
        ("implicit-copies", 3, "FAILED: 4 implicit-copies, 0 allowed"),
        ("implicit-copies=4,waits=5", 0, ""),
        ("waits=2,implicit-copies=9", 3, "FAILED: 5 waits, 2 allowed"),
        ("copies", 2, "waits=3, missing, or several of these with commas; got 'copies'"),
    ],
)
def test_limits_for_ci(run, limits, status, told):
    found, _, said = run("-m", "simgpu", "--fail-on", limits, "program.py")
    assert (found, said.splitlines()[-1].partition("FAILED")[1] != "" or told in said) == (status, True)
    assert told in said


ENDINGS = {
    "an error": "import cupy\ndef f():\n    raise ValueError('oh')\nf()",
    "a status": "import sys\nsys.exit(5)",
    "words": "raise SystemExit('words')",
    "nothing": "raise SystemExit",
    "syntax": "x = = 1",
    "a thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()",
    "its own names": "import pickle, sys\nclass A: pass\nprint(pickle.loads(pickle.dumps(A())).__class__, sys.path[0])",
    "a neighbour": "import neighbour\nprint(neighbour.__name__)",
}


@pytest.mark.parametrize("program", ENDINGS.values(), ids=ENDINGS)
def test_it_ends_as_under_python(run, program):
    plain = run("program.py", program=program.replace("import cupy\n", "\n"), neighbour="")
    status, out, told = run("-m", "simgpu", "program.py", program=program, neighbour="")
    assert (status, out, told.partition("program.py, on a simulated")[0]) == plain


def test_the_programs_stopwatch_can_be_simulated(run):
    program = """
import time, cupy
x = cupy.ones((1024, 1024), "f")
_ = x @ x
cupy.cuda.Device().synchronize()
for wait in (lambda: None, cupy.cuda.Device().synchronize):
    begin = time.perf_counter()
    _ = x @ x
    wait()
    print(f"{1e6 * (time.perf_counter() - begin):.0f} µs")
    cupy.cuda.Device().synchronize()
"""
    _, out, _ = run("-m", "simgpu", "--simulated-clock", "program.py", program=program)
    assert out == "20 µs\n378 µs\n"  # the launch alone, and the product as well


PASSING = """
import cupy
from cupy import *
from cupy.cuda.device import Device
from importlib.util import find_spec
import numpy as np

x = cupy.arange(3.0)
kind = type(x)
print(kind.__module__, kind.__name__, cupy.__name__, cupy.linalg.__name__, cupy.get_array_module(x) is cupy)
print("arange" in globals(), "PRESETS" in globals(), "arange" in dir(cupy), "receipt" in dir(cupy))
print(Device is cupy.cuda.Device, find_spec("cupy.no_such_module"), find_spec("cupy.cuda.nccl"))
print(type(cupy.random.default_rng(0)).__module__, isinstance(x, ndarray), cupy.ndarray is kind)
print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
"""


def test_it_passes_for_cupy_under_the_names_that_libraries_look_at(run):
    status, out, told = run("-m", "simgpu", "program.py", program=PASSING)
    assert status == 0, told
    assert out.splitlines() == [
        "cupy ndarray cupy cupy.linalg True",
        "True False True False",
        "True None None",
        "cupy.random True True",
        "simulated NVIDIA T4",  # so a program can tell
    ]


def test_what_is_not_simulated_says_so(run):
    program = "import cupyx.distributed.array"
    status, _, told = run("-m", "simgpu", "program.py", program=program)
    assert status == 1 and "ModuleNotFoundError: cupyx.distributed isn't simulated" in told
    status, out, _ = run("-m", "simgpu", "program.py", program="try:\n  from cupy.cuda import nccl\n"
                         "except ImportError:\n  print('without')")  # fmt: skip
    assert (status, out) == (0, "without\n")
    program = "import simgpu.cupyx, sys\nfrom importlib.util import find_spec\nspec = find_spec('cupy')\n"
    never = "print(spec is None or spec.origin.endswith('.py'), 'cupy' in sys.modules)"  # CuPy itself, if there is one
    assert run("program.py", program=program + never)[1] == "True False\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [("nothing.py", "there's no file 'nothing.py'"), ("", "the following arguments are required: program"),
     ("nothing.py program.py", "there's no file 'nothing.py'"), ("--baseline", "--baseline: expected one argument"),
     ("--json nothing.json", "no file 'nothing.json'"), ("--like Voodoo program.py", "no preset for 'Voodoo'")],
)  # fmt: skip
def test_a_wrong_command_line(run, words, why):
    status, out, told = run("-m", "simgpu", *words.split())
    assert status == 2 and not out and told.startswith("usage: python -m simgpu") and told.endswith(f"{why}\n")


def test_tests_on_a_card_that_nobody_knows(run):
    status, _, told = run("-m", "pytest", "-q", "-p", "simgpu.pytest", "--simgpu-like", "Voodoo")
    assert status == 4 and "no preset for 'Voodoo'" in told and "Traceback" not in told


def test_a_files_name_after_an_option_is_not_the_program(run, tmp_path):
    words = ("-m", "simgpu", "--simulated-clock", "--write-baseline", "allowed.txt", "--json", "program.py")
    program = "import cupy\nprint(float(cupy.ones(3).sum()))\n"
    for _ in "once", "and when the file is there":
        status, out, _ = run(*words, program=program)
        assert (status, out) == (0, "3.0\n")
    assert "waits program.py: print(" in (tmp_path / "allowed.txt").read_text()
    strict = ("-m", "simgpu", "--fail-on", "waits")
    assert run(*strict, "program.py", program=program)[0] == 3
    status, out, told = run(*strict, "--baseline", "allowed.txt", "program.py", program=program)
    assert (status, out) == (0, "3.0\n") and "1 more that don't count here" in told


TESTS = """
import cupy as cp

def test_sum(ones):
    assert ones.sum() == 3

def test_no_copy(ones):
    ones + 1
"""


@pytest.mark.parametrize(("limits", "status"), [("waits", 1), ("waits=1", 0)])
def test_tests_run_and_end_with_a_receipt(run, tmp_path, limits, status):
    (tmp_path / "conftest.py").write_text("import cupy, pytest\nones = pytest.fixture(lambda: cupy.ones(3))")
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "simgpu.pytest", "--simgpu-like", "H100",
             "--simgpu-fail-on", limits, "--simgpu-json", "out.json", "test_it.py"]  # fmt: skip
    found, out, told = run(*words, test_it=TESTS)
    assert found == status, out + told
    assert "= simgpu =" in out and "these tests, on a simulated H100" in out and "2 passed" in out
    assert "1  test_it.py:5 (tests): assert ones.sum() == 3" in out
    assert ("FAILED: 1 waits, 0 allowed" in out) is bool(status)
    assert json.loads((tmp_path / "out.json").read_text())["waits"] == 1
