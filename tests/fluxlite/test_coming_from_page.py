"""The page *Coming from PyTorch, JAX, Keras*, made from the tables."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from inside import coming_from

TOOL = Path(__file__).parents[2] / "tools" / "coming_from_page.py"
sys.path.insert(0, str(TOOL.parent))
from coming_from_page import SECTIONS, marked, page  # noqa: E402

ROWS = [line for line in page().splitlines() if line.startswith("| `")]


def test_every_entry_has_its_row():
    tables = {name: x for name, x in vars(coming_from).items() if name.isupper() and isinstance(x, dict)}
    del tables["LEFT_OUT"]  # no names of others
    assert [table for _, table, _ in SECTIONS] == list(tables.values())  # also one that's added later
    assert len(ROWS) == sum(map(len, tables.values())) > 200
    assert "| `Linear` | `fl.Dense(inputs, outputs)` |" in ROWS
    assert "| `model.cuda` | Write `model = fl.gpu(model)`, which gives a copy on the GPU |" in ROWS
    assert "| `lr=` | `eta` |" in ROWS


def test_the_tables_are_whole():
    """Each row has two cells; code is closed; and no underscores are left for Markdown to make bold."""
    for row in ROWS:
        assert len(re.split(r"(?<!\\)\|", row)) == 4, row
        plain = re.sub(r"`[^`]+`", "", row)
        assert "`" not in plain and "__" not in plain and "(N" not in plain and "fl." not in plain, row
        for code in re.findall(r"`([^`]+)`", row):
            assert all(code.count(a) == code.count(b) for a, b in ("()", "[]")), row
            assert not code.endswith((",", ";", ":", ".", " ")), row


@pytest.mark.parametrize(
    ("here", "text"),
    [
        ("fl.back(loss)", "`fl.back(loss)`"),
        ("any class with @fl.functor above it", "any class with `@fl.functor` above it"),
        ("x[:, None], or np.expand_dims(x, axis)", "`x[:, None]`, or `np.expand_dims(x, axis)`"),
        ("fl.seed(3), or rng=np.random.default_rng(3)", "`fl.seed(3)`, or `rng=np.random.default_rng(3)`"),
        ("fl.Conv((3,), a, b); they are (N, T, features)", "`fl.Conv((3,), a, b)`; they are `(N, T, features)`"),
        ("anything with __len__ and __getitem__", "anything with `__len__` and `__getitem__`"),
        ("rho, in fl.Momentum(eta, rho)", "`rho`, in `fl.Momentum(eta, rho)`"),
        ("nothing: what you write runs line by line", "Not needed here: what you write runs line by line"),
        ("Call the model: model(x). Then see", "Call the model: `model(x)`. Then see"),
        ("a list", "a list"),
    ],
)
def test_code_is_marked(here, text):
    assert marked(here) == text


def test_it_prints_the_page():
    done = subprocess.run([sys.executable, TOOL], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout == page() + "\n" and done.stdout.startswith("# Coming from PyTorch, JAX, Keras\n")
