"""The page *Coming from PyTorch, JAX, Keras*, made from the tables."""

import re
import sys
from pathlib import Path

from inside import coming_from

TOOL = Path(__file__).parents[2] / "tools" / "coming_from_page.py"
sys.path.insert(0, str(TOOL.parent))
from coming_from_page import SECTIONS, page  # noqa: E402

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
