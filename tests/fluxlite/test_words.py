"""The sixty messages that teach best, word for word: `words.toml` has what you type and what you read.

A message belongs there if many learners meet it, and if its words alone say what to do. For a better one, take one out.
Of all others, tests look only for the kind of error, the place, and what was got.
"""

import runpy
import tomllib
from pathlib import Path

import numpy as np
import pytest

import fluxlite as fl

ROWS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def said(typed, folder):
    """The error, or else the last notice."""
    snippet = folder / "snippet.py"
    snippet.write_text(typed, encoding="utf-8")
    try:
        runpy.run_path(str(snippet), {"np": np, "fl": fl, "jit": fl.cuda.jit})
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "\n".join(fl.notices()[-1:])


@pytest.mark.parametrize("name", ROWS)
def test_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said(ROWS[name]["typed"], tmp_path) == ROWS[name]["says"]


def test_only_the_best_are_kept_word_for_word():
    assert len(ROWS) <= 60
