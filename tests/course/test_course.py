"""A course of some of the lessons: copies, counts, hand-ins and the class agree on which there are."""

import csv
import json
import os
import re

import pytest

from fluxlite.__main__ import main
from fluxlite_course import reset, start
from fluxlite_course.kit import course, exercises, progress
from fluxlite_course.kit import lab as lab_module
from fluxlite_course.kit.classroom import handin, look_at_class
from fluxlite_course.kit.copies import fingerprint, fresh_copies, hand_out, learner_folder

ALL = list(exercises.folders())
ITS_OWN = ["00", "03", "05"]


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """The arguments with which JupyterLab would have been opened, in an empty folder."""
    commands = []
    monkeypatch.setattr(lab_module.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(lab_module.subprocess, "call", lambda command, **how: commands.append(command))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.delenv("FLUXLITE_PROGRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    return commands


def numbers(folder):
    return sorted(path.name[:2] for path in folder.glob("[0-9]*.ipynb"))


def page(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


# -- choosing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "lessons"),
    [(["00-07"], ALL[:8]), (["00", "03", "05"], ITS_OWN), (["5", "0-1", "00"], ["00", "01", "05"]), ([], [])],
)
def test_lessons_are_named_alone_or_from_one_to_another(words, lessons):
    assert course.chosen(words) == lessons


@pytest.mark.parametrize("word", ["17", "00-17", "07-00", "O3", "3-", "-3", "00:07", ""])
def test_a_lesson_that_there_is_not_is_named(word):
    with pytest.raises(ValueError, match=re.escape(f"no lesson {word!r}; there are 00 to {ALL[-1]}")):
        course.chosen(["00", word])


def test_lab_names_it_and_makes_nothing(opened, tmp_path, capsys):
    assert main(["lab", "00", "17"]) == 1
    assert "there's no lesson '17'" in capsys.readouterr().err and not opened and os.listdir(tmp_path) == []


# -- the copies -------------------------------------------------------------------------------------------------------


def test_lab_hands_out_these_lessons_and_remembers_them(opened, tmp_path):
    for arguments in (["lab", "03", "05", "--port", "8889"], ["lab"]):
        assert main(arguments) == 0
        assert numbers(tmp_path / "my-course") == ["03", "05"] and (tmp_path / "my-course" / "words.ipynb").exists()
    assert opened[0][-2:] == ["--port", "8889"]
    assert [one for one in opened[1] if one.endswith("/doc/tree/03-how-a-model-learns.ipynb")]
    os.chdir(tmp_path / "my-course")  # it's known as a course, though 00 isn't there
    assert main(["lab"]) == 0 and not (tmp_path / "my-course" / "my-course").exists()


def test_jupyterlabs_own_arguments_stay_its_own(opened, tmp_path):
    main(["lab", "00-02"])
    (tmp_path / "my-course" / "03").mkdir()
    main(["lab", "01-arrays-on-a-gpu.ipynb"])
    main(["lab", "03"])  # a folder there
    assert [command[-1] for command in opened[1:]] == ["01-arrays-on-a-gpu.ipynb", "03"]
    assert numbers(tmp_path / "my-course") == ["00", "01", "02"]


@pytest.mark.parametrize("lessons", [ITS_OWN, ALL[:8], ["16"], ALL[8:]])
def test_no_copy_leads_to_a_lesson_that_is_not_there(lessons, tmp_path):
    course.keep(tmp_path, lessons)
    assert hand_out(tmp_path) == []
    assert numbers(tmp_path) == lessons
    there = {path.name for path in tmp_path.iterdir()}
    for copy in tmp_path.glob("*.ipynb"):
        assert set(re.findall(r"\]\(([\w-]+\.ipynb)", page(copy))) <= there
        notebook = json.loads(copy.read_text(encoding="utf-8"))
        assert notebook["metadata"]["fluxlite"]["sources"] == fingerprint(notebook)


def test_what_a_copy_says_of_other_lessons(tmp_path):
    course.keep(tmp_path, ITS_OWN)
    hand_out(tmp_path)
    first, third, last = map(page, sorted(tmp_path.glob("[0-9]*.ipynb")))
    assert "| [03 How a model learns](" in first and "04 The sine-wave" not in first
    assert "After that, in any order" not in first
    assert third.endswith("**Next: [05 Waiting for the GPU](05-waiting-for-the-gpu.ipynb)**.")
    assert last.endswith("That was the last lesson.")
    course.keep(tmp_path, ["07"])
    hand_out(tmp_path)
    (seventh,) = tmp_path.glob("07-*.ipynb")
    assert "lesson 09 (not in this course)" in page(seventh)


def test_the_code_of_a_copy_is_the_lessons_own(tmp_path):
    def code(content):
        return ["".join(cell["source"]) for cell in json.loads(content)["cells"] if cell["cell_type"] == "code"]

    for name, content in fresh_copies(ITS_OWN).items():
        assert code(content) == code((learner_folder() / name).read_bytes())


def test_a_course_that_grows_or_shrinks_takes_nothing_away(opened, tmp_path):
    folder = tmp_path / "my-course"
    main(["lab", "00-01"])
    (ours,) = folder.glob("01-*.ipynb")
    mine = json.loads(ours.read_text(encoding="utf-8"))
    mine["cells"][0]["source"] = ["my own words"]
    ours.write_text(json.dumps(mine), encoding="utf-8")
    before = ours.read_bytes()
    main(["lab", f"00-{ALL[-1]}"])
    assert numbers(folder) == ALL and ours.read_bytes() == before and not (folder / course.FILE).exists()
    (first,) = folder.glob("00-*.ipynb")
    assert first.read_bytes() == (learner_folder() / first.name).read_bytes()  # nobody had run it: its links are back
    main(["lab", "00"])
    assert numbers(folder) == ALL and course.lessons_in(folder) == ["00"]


@pytest.mark.parametrize("text", ["", "[]", '{"lessons": 3}', '{"lessons": ["99"]}', "[" * 100_000])
def test_a_file_that_says_nothing_means_all_lessons(text, tmp_path):
    (tmp_path / course.FILE).write_text(text)
    assert course.lessons_in(tmp_path) == ALL


def test_a_fresh_copy_is_one_of_the_course(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    course.keep(tmp_path, ITS_OWN)
    hand_out(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("0*.ipynb")}
    reset("03")
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    reset("04")  # which they ask for
    assert numbers(tmp_path).count("04") == 1


# -- what's counted ---------------------------------------------------------------------------------------------------


def test_start_counts_the_lessons_of_the_course(own_progress, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_home", None)
    monkeypatch.chdir(tmp_path)
    course.keep(tmp_path, ["03", "05"])
    every = [id for number in ("03", "05") for id in exercises.in_lesson(number)]
    for id in (*exercises.in_lesson("03"), *exercises.in_lesson("04")):
        progress.keep("checks", id, "right")
    start("03")  # it's this course's first, so it says more
    right = len(exercises.in_lesson("03"))
    assert f"so far: 1 of 2 lessons done, {right} of {len(every)} checks" in capsys.readouterr().out
    start("05")
    assert f"{right} of {len(every)} checks right" in capsys.readouterr().out


def test_a_hand_in_and_the_class_have_the_lessons_of_the_course(own_progress, tmp_path, monkeypatch):
    folder = tmp_path / "my-course"
    course.keep(folder, ["03", "05"])
    hand_out(folder)
    (folder / progress.FILE).write_text("{}")
    handin("Ada", folder)
    seen = look_at_class(tmp_path)
    assert [one.lessons for one in seen.handins] == [("03", "05")] and seen.remarks == []
    seen.write_csv(tmp_path / "class.csv")
    with (tmp_path / "class.csv").open(encoding="utf-8-sig", newline="") as file:
        (head, *_) = csv.reader(file)
    assert {name[:2] for name in head[3:]} == {"03", "05"}
