"""simgpu in an environment of its own: a copy of its folder, NumPy, and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]

DOCTESTS = """
import doctest, importlib, pathlib, sys
flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
tried = failed = 0
for path in sorted(pathlib.Path(sys.argv[1], "simgpu").rglob("*.py")):
    if path.name == "pytest.py":  # pytest loads it, and it's not here
        continue
    if "cupyx/scipy" in path.as_posix():  # it takes SciPy, which isn't here either
        continue
    name = ".".join(path.relative_to(sys.argv[1]).with_suffix("").parts).removesuffix(".__init__")
    result = doctest.testmod(importlib.import_module(name), optionflags=flags)
    tried, failed = tried + result.attempted, failed + result.failed
print(tried, failed)
"""

TRAINING = """
import numpy as np, simgpu
from simgpu import jit

rng = np.random.default_rng(0)
x = rng.normal(size=(64, 3)).astype(np.float32)
y = x @ np.array([1, -2, 3], np.float32)

def train(x, y, w):
    for step in range(200):
        error = x @ w - y
        w -= 0.1 * (x.T @ error) / len(x)
    return float((error * error).mean())

with simgpu.receipt() as r:
    loss = train(simgpu.asarray(x), simgpu.asarray(y), simgpu.asarray(np.zeros(3, np.float32)))
print(loss < 1e-6, r.launches, r.host_to_device.count, r.device_to_host.count, r.seconds.kind)
page = r.plot(count=2000)._repr_html_()
print(page.startswith('<svg '), str(r.plot()).partition(", events")[0])
print(simgpu.estimate(train, x, y, np.zeros(3, np.float32), like="H200").receipt.launches == r.launches)

@jit.rawkernel()
def total(x, out):
    i = int(jit.grid(1))
    jit.atomic_add(out, 0, x[i])

@jit.rawkernel()
def race(x, out):
    i = int(jit.grid(1))
    out[0] = out[0] + x[i]

ones, out = simgpu.asarray(np.ones(64, np.float32)), simgpu.asarray(np.zeros(1, np.float32))
total[2, 32](ones, out)
print(out)
try:
    race[2, 32](ones, out)
except jit.DataRace as error:
    print(type(error).__name__)
try:
    simgpu.asarray(x) + x
except TypeError as error:
    print(str(error).partition("Move it there first: ")[2])
"""

# What a browser's Python or a locked-down computer may lack. NumPy itself may ask for one.
IMPORTS = """
import importlib, pathlib, sys
import numpy as np, numpy.fft, numpy.random, numpy.testing.overrides

before = set(sys.modules)
for path in sorted(pathlib.Path(sys.argv[1], "simgpu").rglob("*.py")):
    # pytest loads the first, a program the second, and what's in cupyx/scipy takes SciPy.
    if path.name not in ("pytest.py", "__main__.py") and "cupyx/scipy" not in path.as_posix():
        importlib.import_module(".".join(path.relative_to(sys.argv[1]).with_suffix("").parts).removesuffix(".__init__"))
lacking = {"asyncio", "concurrent.futures", "mmap", "multiprocessing", "selectors", "socket", "ssl", "subprocess"}
print(sorted(lacking & (set(sys.modules) - before)), len(set(sys.modules) - before) > 60)
"""


@pytest.fixture
def alone(tmp_path):
    """Runs a program where there's only NumPy and a copy of simgpu."""
    shutil.copytree(ROOT / "simgpu", tmp_path / "simgpu", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "site").mkdir()
    for folder in Path(np.__file__).parents[1].glob("numpy*"):
        os.symlink(folder, tmp_path / "site" / folder.name)

    def run(program):
        paths = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(tmp_path / 'site')!r}]\n"
        (tmp_path / "program.py").write_text(paths + program)  # in a file, since a kernel is read from there
        command = [sys.executable, "-I", "-S", "-W", "error", "program.py", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.split("\n")

    return run


def test_its_examples_run(alone):
    *told, counts, _ = alone(DOCTESTS)
    tried, failed = map(int, counts.split())
    assert tried > 60 and failed == 0, "\n".join(told)


def test_a_training_a_receipt_an_estimate_a_kernel_and_a_race(alone):
    assert alone(TRAINING) == [
        "True 1203 3 1 simulated", "True Timeline, simulated (NVIDIA T4)", "True", "[64.]", "DataRace",
        "x = cp.asarray(x).", ""
    ]  # fmt: skip


def test_it_imports_neither_processes_nor_sockets_nor_mappings(alone):
    assert alone(IMPORTS) == ["[] True", ""]
