"""Messages that appear once."""

import subprocess
import sys
from types import SimpleNamespace

from inside import in_notebook, ipython, messages, notice, put_aside, warn

import fluxlite
from fluxlite import notices, reset_notices


def test_once_per_key(capsys):
    notice("a", "first")
    notice("a", "not said")
    warn(("b", 1), "second")
    assert notices() == ["[ Info: first", "┌ Warning: second"]
    assert capsys.readouterr() == ("", "[ Info: first\n┌ Warning: second\n")
    reset_notices()
    assert notices() == []
    notice("a", "again")
    assert capsys.readouterr().err == "[ Info: again\n"


def test_a_programs_output_is_its_own_and_a_notebook_shows_messages_below_the_cell(capsys, monkeypatch):
    program = "import fluxlite as fl; fl.simulate_gpu(); fl.setup(fl.Adam(), {}); fl.get_device(verbose=True); print(1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout == "1\n" and done.stderr.count("[ Info: ") == 2 and "┌ Warning: setup found" in done.stderr
    monkeypatch.setattr(messages, "in_notebook", lambda: True)
    notice("c", "there")
    fluxlite.gpu_backend("CPU")
    said = capsys.readouterr()
    assert said.out.startswith("[ Info: there\n┌ Info: New GPU backend set") and said.err == ""
    with put_aside() as kept:
        notice("d", "hidden")
    assert kept.getvalue() == "[ Info: hidden\n" and capsys.readouterr() == ("", "")


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
