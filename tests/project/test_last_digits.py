"""What is compared doesn't depend on last digits: the rule for outputs, and the processor that finds who breaks it."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from tools import last_digits
from tools.outputs import Output, alike

ROOT = Path(__file__).parents[2]

SAME = [
    ("loss 0.0649", "loss 0.0650"),
    ("loss 0.0649", "loss 0.0648"),
    ("99.9%", "100.0%"),
    ("[ 9.99  1.  ]", "[10.    1.  ]"),  # a column that got wider
    ("1,644.5 µs", "1,644.6 µs"),
    ("[-0.  0.5]", "[0.  0.5]"),
    ("(0.5, 1e-07)", "(0.5, 2e-07)"),
    ("1.25e-07", "1.24e-07"),
    ("3.5, 4.5.", "3.5, 4.6."),  # the dot ends a sentence
    ("nan, inf", "nan, inf"),
]
DIFFERENT = [
    ("loss 0.0649", "loss 0.0651"),
    ("loss 0.06492143", "loss 0.06492267"),
    ("loss 0.0649", "lost 0.0649"),
    ("loss 0.0649", "loss -0.0649"),
    ("12 launches", "13 launches"),
    ("1,644 launches", "1,645 launches"),
    ("[-18.]", "[-17.]"),
    ("04.3  right", "04.4  right"),
    ("lesson 04-A", "lesson 05-A"),
    ("v0.1.0", "v0.1.1"),
    ("2026-11-20", "2026-11-21"),
    ("layers[0].weight", "layers[1].weight"),
    ("[0.5 1.5]", "[0.5]"),
    ("nan", "0.1"),
    ("0.1", "0.3"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_last_digits_and_the_width_of_columns_do_not_count(one, other):
    assert Output(one) == Output(other) and alike(other, one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_all_else_counts(one, other):
    assert Output(one) != Output(other) and not alike(other, one)


def test_a_product_has_other_digits_and_the_rest_has_not():
    x = np.random.default_rng(0).random((5, 5)).astype(np.float32)
    for function, differs in [(np.matmul, True), (np.tanh, True), (np.add, False), (np.sqrt, False)]:
        arguments = (x, x) if function.nin == 2 else (x,)
        result = last_digits.differently(lambda f, *a: f(*a))(function, *arguments)
        assert np.allclose(result, function(*arguments), rtol=1e-6)
        assert np.array_equal(result, function(*arguments)) is not differs


# -- one command finds everything that depends on them --------------------------------------------------------------

TRAIN = """import numpy as np
import fluxlite as fl
rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, (32, 2)).astype(np.float32)
y = x[:, :1] * x[:, 1:]
model = fl.Chain(fl.Dense(2, 8, np.tanh, rng=rng), fl.Dense(8, 1, rng=rng))
state = fl.setup(fl.Adam(0.01), model)
for _ in range(100):
    value, (grads,) = fl.withgradient(lambda m: fl.mse(m(x), y), model)
    fl.update(state, model, grads)
"""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
DIGITS = {"eight": 'print(f"loss {float(value):.8}")', "two": 'print(f"loss {float(value):.2}")'}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Two notebooks with a trained number, stored with outputs: one prints eight digits, one prints two."""
    folder = tmp_path_factory.mktemp("planted")
    for name, line in DIGITS.items():
        cells = [nbformat.v4.new_code_cell(source) for source in (TRAIN, line)]
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
        NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
        nbformat.write(notebook, folder / f"{name}.ipynb")
    return folder


def nbval(notebook, **environment):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml",
               "--rootdir", ROOT, "--confcutdir", ROOT, "-p", "conftest", "--nbval", "--nbval-current-env",
               notebook]  # fmt: skip
    path = os.pathsep.join([str(ROOT), environment.pop("PYTHONPATH", "")])
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment, "PYTHONPATH": path},
                          capture_output=True, text=True)  # fmt: skip


@pytest.mark.slow
def test_nbval_takes_both_on_the_machine_that_made_them(planted):
    for name in DIGITS:
        found = nbval(planted / f"{name}.ipynb")
        assert found.returncode == 0 and "2 passed" in found.stdout, found.stdout


@pytest.mark.slow
def test_a_trained_number_with_eight_digits_is_found_on_the_other_processor(planted, tmp_path):
    environment = last_digits.kernels_too(tmp_path)
    found = nbval(planted / "eight.ipynb", **environment)
    assert found.returncode == 1 and "1 failed, 1 passed" in found.stdout and "loss 0." in found.stdout
    found = nbval(planted / "two.ipynb", **environment)
    assert found.returncode == 0 and "2 passed" in found.stdout, found.stdout
