"""handin and class: what a learner packs, and what a teacher sees."""

import getpass
import json
import os
import re
import subprocess
import sys
import zipfile

import pytest

from fluxlite.__main__ import main
from fluxlite.course import classroom, exercises, progress
from fluxlite.course import lab as lab_module
from fluxlite.course.asked import Asked, asked
from fluxlite.course.classroom import Class, Handin, handin, look_at_class
from fluxlite.course.guesses import Question


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


def test_who_gives_no_name_is_told_which_one_was_taken(learner, monkeypatch, capsys):
    monkeypatch.chdir(learner)
    monkeypatch.setattr(getpass, "getuser", lambda: "student")
    assert main(["handin"]) == 0
    said = capsys.readouterr().out
    assert "handin-student.zip\nIt is signed student, " in said and said.endswith("handin Ada\n")

    def nobody():
        raise KeyError("getpwuid(): uid not found: 1000")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert main(["handin"]) == 1
    assert capsys.readouterr().err == "say who you are: python -m fluxlite handin Ada\n"


def test_what_a_terminal_cannot_show_stops_nothing(learner, tmp_path):
    handin("Zoë", learner)
    command = [sys.executable, "-m", "fluxlite", "class", "."]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert answer.returncode == 0 and "Zo?  +...    1 right" in answer.stdout


def test_a_class_for_the_teacher(learner, tmp_path):
    progress.keep("checks", "00.1", "stopped")
    handin("Ada Lovelace", learner)
    progress.keep("checks", "00.1", "right")
    progress.keep("checks", "03.3", "not right")
    progress.keep("guesses", "03-A", "b")
    handin("Bob", learner)
    assert repr(look_at_class(tmp_path)).splitlines() == [
        "2 learners   + right, - tried, . not yet",
        "",
        "              00  03",
        "Ada Lovelace  -   +...    1 right",
        "Bob           +   +.-.    2 right",
        "",
        "how many are right: exercises .1, .2 …, and guesses A, B …",
        "lesson 00  .1 1                      A 0",
        "lesson 03  .1 2  .2 0  .3 0  .4 0    A 1  B 0  C 0",
    ]


@pytest.fixture
def one_question(monkeypatch):
    """Lesson 03 with one question, whose words do not change when those of the lesson do."""
    text = Asked("Where is it?", {"a": "here", "b": "in a place whose name is so long that it takes two lines"})
    monkeypatch.setattr(classroom, "asked", lambda number: {"03-A": text})
    monkeypatch.setattr(classroom, "_questions", lambda number: {"03-A": Question("b", a="no", b="yes")})


def test_a_lesson_on_the_wall_names_nobody(learner, tmp_path, one_question):
    for number in range(3):
        progress.keep("guesses", "03-A", "ab"[number % 2])
        handin(f"Learner {number}", learner)
    progress.keep("checks", "03.2", "stopped")
    handin("Bob", learner)
    shown = look_at_class(tmp_path).on_the_wall("03").splitlines()
    assert shown[:2] == ["lesson 03   4 learners", ""]
    assert re.fullmatch("03.1  .{44}  4 right   0 tried", shown[2])
    assert re.fullmatch("03.2  .{44}  0 right   1 tried", shown[3])
    assert not any("Bob" in line or "Learner" in line for line in shown)
    assert shown[-5:] == [
        "",
        "03-A  Where is it?",
        "  a       here                                                  3 ###",
        "  b right in a place whose name is so long that it takes two    1 #",
        "          lines",
    ]


def test_a_large_class_fits_on_the_wall(one_question):
    handins = [Handin(f"L{i}", "1", {}, {"03-A": "a" if i < 90 else "b"}) for i in range(120)]
    shown = Class(handins, []).on_the_wall("03").splitlines()
    assert [line.count("#") for line in shown[-3:]] == [30, 10, 0] and max(map(len, shown)) <= 96


def test_every_question_on_the_wall_is_the_one_that_the_lesson_asks():
    for number in exercises.lessons():
        questions = getattr(exercises.lesson(number), "QUESTIONS", {})
        read = asked(number)
        assert set(read) == set(questions)
        assert {id: list(text.options) for id, text in read.items()} == {
            id: list(question.replies) for id, question in questions.items()
        }
        assert all(text.words and all(text.options.values()) for text in read.values())


def test_names_that_are_long_are_cut_and_those_of_one_person_are_one():
    handins = [Handin("Dmitri Iwanowitsch Mendelejew", "1", {"03.1": "right"}, {})]
    assert "Dmitri Iwanowitsch …  +...    1 right" in repr(Class(handins, []))


def test_of_two_from_one_learner_the_later_counts_and_that_is_said(learner, tmp_path):
    first = handin("Ada", learner)
    first.rename(tmp_path / "first.zip")
    progress.keep("checks", "03.2", "right")
    handin("ada", learner)
    seen = repr(look_at_class(tmp_path))
    assert "ada  ++..    2 right" in seen
    file = os.path.join("ada", "my-course", "handin-ada.zip")
    assert f"ada: 2 files, {file} is the latest and counts. Are these two people?" in seen


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
    assert {line.partition(":")[0] for line in seen.to_say} == {*contents, "broken.zip", "odd.zip"}
    assert [one.name for one in seen.handins] == ["Ada"] and "broken.zip: cannot be read" in repr(seen)


def test_damaged_and_locked_files_stop_nothing(learner, tmp_path):
    content = handin("Ada", learner).read_bytes()
    with zipfile.ZipFile(learner / "handin-Ada.zip") as archive:
        about = archive.getinfo("handin.json")
    start = about.header_offset + 30 + len(about.filename)
    (tmp_path / "damaged.zip").write_bytes(content[:start] + b"\xff" * 9 + content[start + 9 :])
    end = content.rfind(b"PK\x01\x02", 0, content.rfind(b"handin.json"))
    for at in (about.header_offset + 6, end + 8):  # the mark of a password, in both places where it stands
        content = content[:at] + b"\x01\x00" + content[at + 2 :]
    (tmp_path / "locked.zip").write_bytes(content)
    (tmp_path / "folder.zip").mkdir()
    seen = look_at_class(tmp_path)
    assert {line.partition(":")[0] for line in seen.to_say} == {"damaged.zip", "folder.zip", "locked.zip"}
    assert [one.name for one in seen.handins] == ["Ada"]


@pytest.mark.parametrize(("name", "shown"), [("Ada\nL.\x1b[31m", "Ada L. [31m"), (" \n", "one")])
def test_an_odd_name_stays_in_its_line(name, shown, tmp_path):
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as archive:
        archive.writestr("handin.json", json.dumps({"name": name, "time": "1"}))
    (one,) = look_at_class(tmp_path).handins
    assert one.name == shown and f"{shown} " in repr(look_at_class(tmp_path))


def test_lab_makes_no_course_within_a_course(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab_module.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(lab_module.subprocess, "call", lambda command, cwd: 0)
    monkeypatch.chdir(tmp_path)
    assert main(["lab"]) == 0
    monkeypatch.chdir(tmp_path / "my-course")
    assert main(["lab"]) == 0 and not (tmp_path / "my-course" / "my-course").exists()


def test_lab_where_a_file_has_the_name_of_the_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab_module.importlib.util, "find_spec", lambda name: name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-course").touch()
    assert main(["lab"]) == 1
    assert capsys.readouterr().err == "my-course: File exists. Another folder, which you may write to, helps.\n"


def test_an_empty_class(tmp_path):
    assert repr(look_at_class(tmp_path)) == "nobody has handed in"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["class", "nowhere"], "nowhere is no folder"),
        (["class", ".", "99"], "there is no lesson '99'"),
        (["handin"], "there is no notebook in"),
        (["handin", "???"], "a name has letters in it, got '???'"),
        (["handin", "a" * 300, "???"], "File name too long. Another folder, "),
    ],
)
def test_mistakes_are_said_in_one_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if "???" in arguments:
        (tmp_path / "00.ipynb").write_text("{}")
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["unknown"], ["class"], ["doctor", "x"], ["check", "x"]])
def test_usage(arguments, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: python -m fluxlite COMMAND")


def test_a_learner_and_a_teacher_at_the_command_line(learner, tmp_path):
    def run(*arguments, cwd):
        command = [sys.executable, "-m", "fluxlite", *arguments]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout

    said = run("handin", "Ada", "L.", cwd=learner.parent)
    assert said == (
        f"Hand in this file: {learner / 'handin-Ada-L.zip'}\n"
        "It is signed Ada L., and has your notebooks in it as they were last saved.\n"
    )
    assert "Ada L.  +...    1 right" in run("class", ".", cwd=tmp_path)
    wall = run("class", ".", "3", "00", cwd=tmp_path)
    assert "lesson 03   1 learner\n" in wall and "lesson 00   1 learner\n" in wall and "Ada" not in wall
