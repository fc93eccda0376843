"""Messages that appear once."""

import sys
from types import SimpleNamespace

from fluxlite import messages
from fluxlite.messages import in_notebook, ipython, notice, notices, reset_notices, warn


def test_once_per_key_on_standard_output(capsys):
    reset_notices()
    notice("a", "first")
    notice("a", "not said")
    warn(("b", 1), "second")
    assert notices() == ["[ Info: first", "┌ Warning: second"]
    captured = capsys.readouterr()
    assert captured.out == "[ Info: first\n┌ Warning: second\n" and captured.err == ""
    reset_notices()
    assert notices() == []
    notice("a", "again")
    assert capsys.readouterr().out == "[ Info: again\n"
    reset_notices()


def test_which_shell_reads_it_is_found_without_importing_one(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert ipython() is None and not in_notebook() and "IPython" not in sys.modules
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: "a shell"))
    assert ipython() == "a shell" and not in_notebook()  # IPython in a terminal
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    assert in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert ipython() is None and not in_notebook()  # imported by a program, so no shell runs


def test_in_a_notebook_long_lines_break_at_words_and_elsewhere_not_at_all(monkeypatch):
    text = "[ Info: " + "words of a message " * 20 + "/a/long/path/" * 12
    assert messages.at_words(text) == text
    monkeypatch.setattr(messages, "in_notebook", lambda: True)
    lines = messages.at_words(text, indent="  ").split("\n")
    assert " ".join(line.strip() for line in lines) == text  # nothing lost, and nothing split
    assert all(len(line) <= 96 for line in lines[:-1]) and all(line.startswith("  ") for line in lines[1:])
