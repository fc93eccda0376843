"""handin and class: what a learner packs, and what a teacher sees."""

import json
import subprocess
import sys
import zipfile

import pytest

from fluxlite.__main__ import main
from fluxlite.course import progress
from fluxlite.course.classroom import handin, look_at_class


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """A learner's folder, in which he has guessed and solved something."""
    folder = tmp_path / "ada" / "my-course"
    folder.mkdir(parents=True)
    (folder / "03-your-own-model.ipynb").write_text("{}")
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(folder / progress.FILE))
    monkeypatch.setattr(progress, "_unwritten", {})
    progress.keep("checks", "03.1", "right")
    progress.keep("guesses", "03-A", "c")
    return folder


def test_handin_packs_notebooks_and_progress(learner):
    path = handin("Ada Lovelace", learner)
    assert path.name == "handin-Ada-Lovelace.zip"
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["03-your-own-model.ipynb", "handin.json", "progress.json"]
    assert [file.name for file in learner.iterdir() if file.suffix == ".part"] == []


def test_a_class(learner, tmp_path):
    handin("Ada Lovelace", learner)
    progress.keep("checks", "03.3", "right")
    progress.keep("guesses", "03-A", "b")
    handin("Bob", learner)
    assert repr(look_at_class(tmp_path)).split("\n\n") == [
        "              03.1  03.3\n"
        "Ada Lovelace     x     .    1 right\n"
        "Bob              x     x    2 right\n"
        "right            2     1",
        "03-A  2 guesses\n"
        "  a         0              fmap does not look into every object, only into those of registered classes.\n"
        "  b right   1 #            fmap enters registered classes only, and nobody has registered ActorCritic.\n"
        "  c         1 #            fmap does not stop at the first array; it never got in.\n"
        "  d         0              to fmap an object it cannot enter is a leaf like a number; cu leaves it as it is "
        "and says nothing.",
    ]


def test_of_two_from_one_learner_the_later_counts(learner, tmp_path):
    first = handin("Ada", learner)
    first.rename(tmp_path / "first.zip")
    progress.keep("checks", "03.2", "right")
    handin("Ada", learner)
    assert "Ada     x     x    2 right" in repr(look_at_class(tmp_path))


def test_files_that_cannot_be_read_are_named_and_stop_nothing(learner, tmp_path):
    handin("Ada", learner)
    (tmp_path / "broken.zip").write_bytes(b"PK no zip")
    contents = {
        "other.zip": {"a.txt": "x"},
        "wrong.zip": {"handin.json": "[1]"},
        "huge.zip": {"handin.json": " " * 2_000_000},
    }
    for name, files in contents.items():
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, content in files.items():
                archive.writestr(file, content)
    with zipfile.ZipFile(tmp_path / "odd.zip", "w") as archive:
        archive.writestr("handin.json", json.dumps({"name": "Odd", "time": "1"}))
        archive.writestr("progress.json", json.dumps({"checks": [1, 2]}))
    seen = look_at_class(tmp_path)
    assert set(seen.unreadable) == {"broken.zip", "other.zip", "wrong.zip", "huge.zip", "odd.zip"}
    assert [one.name for one in seen.handins] == ["Ada"] and "broken.zip: cannot be read" in repr(seen)


def test_an_empty_class(tmp_path):
    assert repr(look_at_class(tmp_path)) == "nobody has handed in"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["class", "nowhere"], "nowhere is no folder"),
        (["handin"], "there is no notebook in"),
        (["handin", "???"], "a name has letters in it, got '???'"),
    ],
)
def test_mistakes_are_said_in_one_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if "???" in arguments:
        (tmp_path / "00.ipynb").write_text("{}")
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["unknown"], ["class"], ["class", "a", "b"], ["doctor", "x"]])
def test_usage(arguments, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: python -m fluxlite COMMAND")


def test_a_learner_and_a_teacher_at_the_command_line(learner, tmp_path):
    def run(*arguments, cwd):
        command = [sys.executable, "-m", "fluxlite", *arguments]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout

    said = run("handin", "Ada", "L.", cwd=learner.parent)
    assert said == f"Hand in this file: {learner / 'handin-Ada-L.zip'}\n"
    assert "Ada L.     x    1 right" in run("class", ".", cwd=tmp_path)
