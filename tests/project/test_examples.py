"""The programs in examples/, run as a user runs them, on the CPU and on the simulated GPU, learn what they should."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

# What a program learns in so many epochs: the last loss is below the one bound, the accuracy above the other. A few
# epochs are enough for that. Counting letters, or pairs of them, doesn't get below the bounds of char_rnn and makemore.
BOUNDS = {
    "linear_regression": (50, 0.05, None),
    "xor": (20, 0.4, 0.85),
    "iris": (60, 0.35, 0.75),
    "mlp": (6, 0.6, 0.88),
    "lenet": (5, 0.6, 0.8),
    "vae": (5, 29, None),
    "gan": (6, 0.35, None),
    "char_rnn": (8, 3.0, None),
    "makemore": (3, 2.35, None),
    "transformer": (10, 0.2, 0.9),
}
LEARNED = re.compile(r"([\d.]+) -> ([\d.]+)(.*)")


def run(name, backend, *arguments):
    # One thread: several wait for each other where other tests run at the same time.
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {
        "FLUXLITE_GPU_BACKEND": backend, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path, "PYTHONUTF8": "1",
    }  # fmt: skip
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment)
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("[ Info: ") for line in done.stderr.splitlines()), done.stderr
    assert "[ Info" not in done.stdout
    return done.stdout


@pytest.mark.parametrize("backend", ["CPU", pytest.param("Simulated", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", BOUNDS)
def test_it_learns(name, backend):
    epochs, most, least = BOUNDS[name]
    printed = run(name, backend, epochs)
    first, last, rest = LEARNED.search(printed).groups()
    assert float(last) < most < float(first), printed
    assert f"on {'CPU' if backend == 'CPU' else 'Simulated:0'}" in printed
    if least is not None:
        assert float(re.search(r"accuracy ([\d.]+)%", printed)[1]) / 100 > least, printed


def test_the_straight_line_is_the_best_one():
    learned, best = re.findall(r"width = ([\d.]+) \* length \+ (-[\d.]+)", run("linear_regression", "CPU", 100))
    np.testing.assert_allclose([*map(float, learned)], [*map(float, best)], atol=0.01)


def test_all_are_tried_short_and_in_the_table():
    paths = list(EXAMPLES.glob("*.py"))
    assert {path.stem for path in paths} == set(BOUNDS)
    table = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\)", table, re.MULTILINE) == list(BOUNDS)
    for path in paths:
        length = len(path.read_text(encoding="utf-8").splitlines())
        assert length <= 60, f"{path.name} is {length} lines long: an example fits on a screen, so leave something out"
