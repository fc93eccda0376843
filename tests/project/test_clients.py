"""tools/clients.py: other projects' tests with simgpu in CuPy's place, and which failures say nothing about simgpu."""

import sys

import pytest

from tools import clients

TESTS = """
import cupy


def test_passes():
    assert cupy.ones(3).sum() == 3


def test_of_something_else():
    assert False


def test_what_is_missing():
    import nothing_here


def test_the_words_in_its_text():
    assert cupy.ones(3).sum() == 4  # No module named 'nothing_here'


def test_the_words_in_an_earlier_error():
    try:
        import nothing_here
    except ImportError:
        assert cupy.ones(3).sum() == 4


def test_the_words_in_simgpus_error():
    cupy.nothing_here
"""


@pytest.fixture(autouse=True)
def mine(monkeypatch):
    """One project of our own in the place of the others."""
    project = {"folder": "mine", "arguments": [".", "--continue-on-collection-errors"]}
    project["does_not_apply"] = {"something_else": "it isn't ours"}
    monkeypatch.setattr(clients, "PROJECTS", {"mine": project})
    monkeypatch.setattr(clients, "NOT_SIMULATED", {"No module named 'nothing_here'|attribute 'nothing_here'": "why"})


def test_only_the_last_error_counts_and_none_of_simgpus(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "test_mine.py").write_text(TESTS, encoding="utf-8")
    (folder / "test_unread.py").write_text("import nothing_here\n", encoding="utf-8")
    (folder / "test_ours.py").write_text("import cupy\ncupy.nothing_here\n", encoding="utf-8")
    found = clients.run("mine", tmp_path, sys.executable, 120)
    assert {test.partition("::")[2] or test: what for test, what in found.items()} == {
        "test_passes": "passed", "test_of_something_else": "left out", "test_what_is_missing": "not simulated",
        "test_the_words_in_its_text": "failed", "test_the_words_in_an_earlier_error": "failed",
        "test_the_words_in_simgpus_error": "failed", "test_unread.py": "not simulated", "test_ours.py": "failed",
    }  # fmt: skip


def test_what_failed_once_has_failed():
    rows = [("not simulated", "a"), ("failed", "a"), ("failed", "b"), ("passed", "b"), ("passed", "c")]
    assert clients.worst(rows) == {"a": "failed", "b": "failed", "c": "passed"}
