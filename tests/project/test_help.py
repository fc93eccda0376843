"""Each program says what it does if it's asked for --help, and refuses what it doesn't know, before it does a thing."""

import os
import re
import runpy
import sys
from pathlib import Path

import pytest

# Others have loaded a program as a module before.
pytestmark = pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")

ROOT = Path(__file__).resolve().parents[2]
BEGINS = '\nif __name__ == "__main__":'
FOLDERS = (
    "tools",
    "tools/lite",
    "tools/handout",
    "tools/sheets",
    "tools/slides",
    "benchmarks",
    "docs/site",
    "tests/frozen",
)
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.py") if BEGINS in path.read_text())
# Those of a package start with -m.
MODULES = ["fluxlite", "fluxlite.distributed", "fluxlite_course.sine_wave", "simgpu"]
MODULES += [f"benchmarks.{path.stem}" for path in FILES if path.parent.name == "benchmarks"]
PROGRAMS = MODULES + [str(path.relative_to(ROOT)) for path in FILES if path.parent.name != "benchmarks"]


def run(program, monkeypatch, *arguments):
    """The exit status of a program of ours, in this process."""
    monkeypatch.setattr(sys, "argv", [program, *arguments])
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delitem(sys.modules, "IPython", raising=False)  # under %run, fluxlite doesn't exit
    with pytest.raises(SystemExit) as end:
        if program.endswith(".py"):
            monkeypatch.syspath_prepend(str((ROOT / program).parent))
            runpy.run_path(str(ROOT / program), run_name="__main__")
        else:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
    return end.value.code


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_says_what_a_program_does_and_does_nothing(program, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run(program, monkeypatch, "--help") == 0
    usage, about, *_ = capsys.readouterr().out.split("\n\n")
    assert usage.startswith("usage: ") and len(about) > 10 and os.listdir(tmp_path) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_a_program_does_not_know_is_refused(program, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run(program, monkeypatch, "--no-such-option") == 2
    said = capsys.readouterr()
    assert "--no-such-option" in said.err or "usage: " in said.err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tools/lesson.py", "the following arguments are required: number"),
        ("tools/lesson.py 3", "a new lesson's number has two digits, and none has it yet; got '3'"),
        ("tools/lesson.py 03 Again", "none has it yet; got '03'"),
        ("tools/notebooks.py", "the following arguments are required: command"),
        ("tools/notebooks.py ruin", "invalid choice: 'ruin'"),
        ("tools/notebooks.py run 03 99", "there's no lesson 99; there are 00, 01"),
        ("tools/notebooks.py nbgrader", "the following arguments are required: folder"),
        ("tools/notebooks.py nbgrader a --hlep", "--hlep"),
        ("tools/wheelhouse.py", "the following arguments are required: folder"),
        ("tools/wheelhouse.py stick linux-3.9", "there's no target linux-3.9; there are linux-3.11"),
        ("tools/handout/make.py --stick nowhere", "there's no wheels in nowhere"),
        ("tools/handout/make.py --browser nowhere", "there's no index.html in nowhere"),
        ("tools/handout/make.py 00-17", "there's no lesson '00-17'; there are 00 to 16"),
        ("tools/sheets/make.py 09.9", "there is no exercise '09.9' in this lesson; there are 09.1"),
        ("tools/sheets/make.py 17", "there's no sheet '17'"),
        ("tools/slides/make.py", "the following arguments are required: NN"),
        ("tools/slides/make.py 05 17", "there's no lesson 17; there are 00"),
        ("tools/colab.py --kagle 03", "--kagle"),
        ("tools/colab.py 99", "there's no lesson 99"),
        ("tools/links.py relaese v1", "invalid choice: 'relaese'"),
        ("tools/try_package.py dist/nothing.whl", "there's no file dist/nothing.whl"),
        ("tools/mutations.py fluxlite/no_such_part", "there's no fluxlite/no_such_part"),
        ("tests/frozen/freeze.py", "name the FOLDER of a version of the project, or write --changed"),
        ("tests/frozen/freeze.py nowhere", "there's no fluxlite in nowhere"),
        ("tests/frozen/freeze.py --changed nams", "there's no part nams; there are names"),
        ("docs/site/make.py one two", "unrecognized arguments: two"),
    ],
)
def test_a_wrong_word_is_named_and_nothing_is_made(line, words, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    program, *arguments = line.split()
    assert run(program, monkeypatch, *arguments) == 2
    assert words in re.sub(r"\s+", " ", capsys.readouterr().err) and os.listdir(tmp_path) == []


def test_what_make_hands_its_arguments_to_is_among_these():
    lines = re.findall(r"\.venv/bin/python (?:-m )?(\S+).*\$\(.*ARGS", (ROOT / "Makefile").read_text())
    assert {"tools/lesson.py", "tools/grading.py", "tools/wheelhouse.py", "fluxlite"} <= set(lines)
    ours = {line.replace("benchmarks", "benchmarks.__main__") for line in lines} - {"pytest"}
    assert ours <= set(PROGRAMS)
