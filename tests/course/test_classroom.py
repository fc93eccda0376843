"""handin and class: what a learner packs, and what a teacher sees."""

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

import fluxlite
from fluxlite.__main__ import main
from fluxlite_course import start
from fluxlite_course.kit import classroom, exercises, progress
from fluxlite_course.kit import lab as lab_module
from fluxlite_course.kit.classroom import Class, Handin, handin, look_at_class
from fluxlite_course.kit.guesses import Question

ROOT = Path(__file__).parents[2]
HUB_PAGE = (ROOT / "docs" / "hub" / "README.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def at_home(monkeypatch, tmp_path_factory):
    """Not on Colab or Binder, and with a Jupyter of its own."""
    for name in ("COLAB_RELEASE_TAG", "KAGGLE_KERNEL_RUN_TYPE", "BINDER_LAUNCH_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path_factory.mktemp("jupyter")))


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """A learner's folder, with some guesses and solved exercises."""
    folder = tmp_path / "ada" / "my-course"
    folder.mkdir(parents=True)
    (folder / "03-your-own-model.ipynb").write_text("{}")
    os.utime(folder / "03-your-own-model.ipynb", (0, 0))  # a computer without a clock: zip files know no 1970
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(folder / progress.FILE))
    progress.keep("checks", "03.1", "right")
    progress.keep("guesses", "03-A", "c")
    return folder


def test_handin_packs_notebooks_and_progress(learner):
    path = handin("Ada Lovelace", learner)
    assert path.name == "handin-Ada-Lovelace.zip"
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["03-your-own-model.ipynb", "handin.json", "progress.json"]
    assert [file.name for file in learner.iterdir() if file.suffix == ".part"] == []


def test_what_a_terminal_cannot_show_stops_nothing(learner, tmp_path):
    handin("Zoë", learner)
    command = [sys.executable, "-m", "fluxlite", "class", "."]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert answer.returncode == 0 and re.search(r"^Zo\? +\+\.\. +1$", answer.stdout, re.MULTILINE)


def test_a_class_for_the_teacher(learner, tmp_path):
    progress.keep("checks", "00.1", "stopped")
    handin("Ada Lovelace", learner)
    progress.keep("checks", "00.1", "right")
    progress.keep("checks", "03.3", "not right")
    progress.keep("guesses", "03-A", "b")
    handin("Bob", learner)
    rows = [line.split() for line in repr(look_at_class(tmp_path)).splitlines() if line]
    assert rows[0][:2] == ["2", "learners"] and rows[1] == ["00", "03", "all"]
    assert rows[2:4] == [["Ada", "Lovelace", "-", "+..", "1"], ["Bob", "+", "+.-", "2"]]
    assert rows[4] == ["right", "50%", "50%"]  # nobody tried 03.2


def test_two_learners_of_one_name_have_a_number_each():
    shown = repr(Class([Handin("Bob", id, {"00.1": "right"}, {}, files=(f"{id}.zip",)) for id in "xy"], []))
    rows = [line.split() for line in shown.splitlines() if line.startswith("Bob #") and ":" not in line]
    assert rows == [["Bob", "#1", "+", "1"], ["Bob", "#2", "+", "1"]]
    assert "Bob #2: this one handed in y.zip" in shown


def test_thirty_learners_fit_on_one_screen():
    checks = {id: "right" for number in list(exercises.folders()) for id in exercises.in_lesson(number)}
    names = ["Dmitri Iwanowitsch Mendelejew", *(f"Learner {i}" for i in range(29))]
    remarks = [f"{i}.zip: can't be read" for i in range(100)]
    shown = repr(Class([Handin(name, "1", checks, {}, files=(f"{name}.zip",)) for name in names], remarks)).splitlines()
    assert len(shown) <= 60 and max(map(len, shown)) <= 140 and shown[-1].startswith("… and 80 more such lines")
    heads, signs = shown[2], [line for line in shown if line.endswith(f" {len(checks)}")]
    assert re.findall(r"\d\d", heads) == list(exercises.folders()) and len(signs) == 30
    assert {line.index("+") for line in signs} == {heads.index("00")}


def test_all_that_is_to_say_is_said_if_asked(tmp_path, monkeypatch, capsys):
    for number in range(30):
        (tmp_path / f"{number}.zip").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    for arguments in (["class", "."], ["class", ".", "--csv"]):
        assert main(arguments) == 0
        said = capsys.readouterr().out
        assert said.count("can't be read") == 20 and "… and 10 more such lines: --all shows them" in said
        assert main([*arguments, "--all"]) == 0
        assert capsys.readouterr().out.count("can't be read") == 30


def test_a_lesson_that_nobody_tried_has_no_share():
    """They have only guessed there, so nothing is wrong."""
    learner = Handin("Ada", "1", {"00.1": "right"}, {"01-A": "a"}, files=("Ada.zip",))
    (right,) = [line for line in repr(Class([learner], [])).splitlines() if line.startswith("right")]
    assert right.split() == ["right", "100%", "–"]


def test_the_page_for_teachers_shows_what_they_see():
    def one(name, file, right, tried, guessed):
        checks = dict.fromkeys(right.split(), "right") | dict.fromkeys(tried.split(), "stopped")
        guesses = {id: classroom.questions(id[:2])[id].right for id in guessed.split()}
        return Handin(name, "1", checks, guesses, files=(file,))

    handins = [
        one("Ada Lovelace", "Ada.zip", "00.1 01.1 01.2 01.3 02.1 02.2", "02.3", "00-A 01-A 01-B 02-A"),
        one("Bob", "Bob.zip", "00.1 01.1 01.2 02.1", "01.3", "01-A 01-C 02-B"),
    ]
    page = (Path(__file__).parents[2] / "notebooks" / "TEACHING.md").read_text(encoding="utf-8")
    assert f"```text\n{Class(handins, [])}\n```" in page


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("name", ["handin-Ada.part", "handin-Ada.zip", "class.csv"])
def test_links_that_someone_has_planted_lead_nowhere(name, learner, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine").write_text("precious")
    (learner / name).symlink_to(tmp_path / "mine")
    monkeypatch.chdir(learner)
    main(["handin", "Ada"])
    main(["class", ".", "--csv"])
    assert (tmp_path / "mine").read_text() == "precious"
    assert name.endswith(".part") or f"{name} is a link to another file" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["handin", "Ada"], ["class", ".", "--csv"]])
def test_a_full_disk_leaves_the_file_that_was_there(command, learner, fill_the_disk, monkeypatch, capsys):
    monkeypatch.chdir(learner)
    assert main(command) == 0
    before = {path.name: path.read_bytes() for path in learner.iterdir()}
    fill_the_disk()
    assert main(command) == 1 and "No space left on device" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in learner.iterdir()} == before


def test_the_command_runs_nothing_from_the_folder_of_hand_ins(learner, tmp_path):
    """``fluxlite class`` and ``python -P -m fluxlite class``. Plain ``python -m`` puts the folder first on its path."""
    handin("Ada", learner).rename(tmp_path / "Ada.zip")
    for name in ("numpy", "fluxlite", "zipfile", "csv", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('planted')")
    script = tmp_path.parent / "fluxlite-script" / "fluxlite"
    script.parent.mkdir(exist_ok=True)
    script.write_text("import sys\nfrom fluxlite.__main__ import main\nsys.exit(main())")
    environment = {**os.environ, "PYTHONPATH": str(Path(fluxlite.__file__).parents[1])}
    for way in ([str(script)], ["-P", "-m", "fluxlite"]):
        answer = subprocess.run(
            [sys.executable, *way, "class", "."], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert re.search(r"^Ada +\+\.\. +1$", answer.stdout, re.MULTILINE), answer.stderr


def test_a_table_for_a_spreadsheet(learner, tmp_path, monkeypatch, capsys):
    progress.keep("checks", "03.2", "stopped")
    handin("Zoë", learner)
    handin("=1+1", learner)
    monkeypatch.chdir(tmp_path)
    assert main(["class", ".", "--csv"]) == 0 and capsys.readouterr().out == "class.csv is written.\n"
    assert (tmp_path / "class.csv").read_bytes().startswith(b"\xef\xbb\xbf"), "Excel takes it for another alphabet"
    with (tmp_path / "class.csv").open(encoding="utf-8-sig", newline="") as file:
        first, second = csv.DictReader(file)
    assert first["learner"] == "'=1+1" and second["learner"] == "Zoë"
    assert (second["03.1"], second["03.2"], second["03.3"], second["03-A"]) == ("right", "tried", "", "c")
    assert second["right"] == "1" and second["files"] == "ada/my-course/handin-Zoë.zip"
    every = [id for number in list(exercises.folders()) for id in exercises.in_lesson(number)]
    assert [name for name in second if name in every] == every
    assert main(["class", ".", "--csv", "my list.csv"]) == 0 and (tmp_path / "my list.csv").exists()
    assert main(["class", ".", "--csv", "notes.txt"]) == 1 and not (tmp_path / "notes.txt").exists()
    assert "notes.txt doesn't end in .csv" in capsys.readouterr().err


@pytest.fixture
def one_question(monkeypatch):
    """Lesson 03 with one question, whose words don't change when the lesson's do."""
    options = {"a": "here", "b": "in a place whose name is so long that its end is left out on the wall"}
    asks = Question("b", "Where is it?", options, {"a": "no", "b": "yes"})
    monkeypatch.setattr(classroom, "questions", lambda number: {"03-A": asks})


def test_a_long_name_makes_a_file_that_any_disk_takes(learner):
    file = handin("Ä" * 300, learner)
    assert file.exists() and len(file.name.encode()) < 255 and look_at_class(learner).handins[0].name


def test_a_table_has_all_lessons_and_no_wall_has_names(learner, tmp_path, monkeypatch, capsys):
    handin("Zoë", learner)
    monkeypatch.chdir(tmp_path)
    assert main(["class", ".", "03", "--csv"]) == 1 and not (tmp_path / "class.csv").exists()
    assert "leave out the lesson" in capsys.readouterr().err
    (tmp_path / "Bob.rar").write_bytes(b"")
    assert main(["class", ".", "03"]) == 0
    printed = capsys.readouterr().out
    assert "something to say about files (1)" in printed and "Bob" not in printed


def test_a_lesson_on_the_wall_names_nobody(learner, tmp_path, one_question):
    for number in range(3):
        progress.keep("guesses", "03-A", "ab"[number % 2])
        handin(f"Learner {number}", learner)
    progress.keep("checks", "03.2", "stopped")
    handin("Bob", learner)
    shown = look_at_class(tmp_path).on_the_wall("03").splitlines()
    assert shown[0].split() == ["lesson", "03", "4", "learners"]
    assert [line.split()[-4:] for line in shown[2:4]] == [["4", "right", "0", "tried"], ["0", "right", "1", "tried"]]
    assert not any("Bob" in line or "Learner" in line for line in shown)
    a, b = (line.split() for line in shown[-2:])
    assert (a, b[:2], b[-3:]) == (["a", "here", "3", "###"], ["b", "right"], ["…", "1", "#"])


@pytest.mark.usefixtures("own_progress")
@pytest.mark.parametrize(("variable", "place"), [("COLAB_RELEASE_TAG", "Colab"), ("KAGGLE_KERNEL_RUN_TYPE", "Kaggle")])
def test_on_colab_the_progress_goes_alone_and_what_is_missing_is_said(variable, place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, "x")
    assert main(["handin", "Ada"]) == 1 and capsys.readouterr().err.endswith("Guess or check something first.\n")
    progress.keep("checks", "03.1", "right")
    assert main(["handin", "Ada"]) == 0
    said = capsys.readouterr().out
    assert "contains: your guesses and checks.\n" in said and f"{place} keeps your notebook: download it, too." in said
    (one,) = look_at_class(tmp_path).handins
    assert (one.checks, one.learner) == ({"03.1": "right"}, "")  # there, each session has a record of its own


@pytest.mark.parametrize(
    ("variable", "place"),
    [("COLAB_RELEASE_TAG", "Colab"), ("KAGGLE_KERNEL_RUN_TYPE", "Kaggle"), ("BINDER_LAUNCH_HOST", "Binder")],
)
def test_a_lesson_begins_with_what_such_a_session_forgets(variable, place, monkeypatch, capsys):
    start("03")
    words = f"{place}: each session starts from zero here"
    assert words not in capsys.readouterr().out
    monkeypatch.setenv(variable, "x")
    start("03")
    assert words in capsys.readouterr().out.splitlines()[-1]


def test_elsewhere_a_missing_notebook_is_said(own_progress, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    progress.keep("checks", "03.1", "right")
    assert main(["handin", "Ada"]) == 0 and "Not in it: your notebooks" in capsys.readouterr().out
    (tmp_path / progress.FILE).unlink()
    (tmp_path / "03.ipynb").write_text("{}")
    assert main(["handin", "Ada"]) == 0 and "Not in it: your guesses and checks." in capsys.readouterr().out


def test_lab_makes_no_course_within_a_course(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab_module.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(lab_module.subprocess, "call", lambda command, **how: 0)
    monkeypatch.chdir(tmp_path)
    assert main(["lab"]) == 0
    monkeypatch.chdir(tmp_path / "my-course")
    assert main(["lab"]) == 0 and not (tmp_path / "my-course" / "my-course").exists()
    assert Path(os.environ["JUPYTER_DATA_DIR"], "fluxlite-signed").exists()  # test_trust.py says what for


@pytest.mark.parametrize("yours", [{}, {"OMP_NUM_THREADS": "4"}], ids=["nothing set", "set"])
def test_a_lessons_products_get_one_thread_unless_you_said_how_many(yours, tmp_path, monkeypatch, capsys):
    """With one on each core they would mostly wait for each other."""
    environments = []
    monkeypatch.setattr(lab_module.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(lab_module.subprocess, "call", lambda command, cwd, env: environments.append(env))
    monkeypatch.chdir(tmp_path)
    for name in lab_module.THREADS:
        monkeypatch.delenv(name, raising=False)
    for name, threads in yours.items():
        monkeypatch.setenv(name, threads)
    main(["lab"])
    found = {name: environments[0][name] for name in lab_module.THREADS if name in environments[0]}
    assert found == (yours or dict.fromkeys(lab_module.THREADS, "1"))


def test_lab_where_a_file_has_the_name_of_the_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab_module.importlib.util, "find_spec", lambda name: name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-course").touch()
    assert main(["lab"]) == 1
    assert capsys.readouterr().err == "my-course: File exists. Try a folder that you may write to.\n"


@pytest.fixture
def became(monkeypatch):
    """The programs that this process would have become, instead of going on."""
    commands = []

    def become(program, command, environment):
        commands.append(command)
        raise SystemExit

    monkeypatch.setattr(lab_module.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(lab_module.os, "execve", become)
    return commands


def test_on_a_hub_lab_becomes_the_learners_server(tmp_path, monkeypatch, became):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["lab", "--hub", "--allow-root"])
    (command,) = became
    assert command[:4] == [sys.executable, "-P", "-m", "jupyterhub.singleuser"] and command[-1] == "--allow-root"
    assert f"--ServerApp.root_dir={tmp_path / 'my-course'}" in command and Path.cwd() == tmp_path / "my-course"
    assert (tmp_path / "my-course" / lab_module.FIRST).exists()
    assert Path(os.environ["JUPYTER_DATA_DIR"], "fluxlite-signed").exists()


def test_on_a_hub_with_a_full_disk_a_learner_still_gets_in(tmp_path, monkeypatch, became, capsys):
    """Otherwise they couldn't even delete something."""

    def full(folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lab_module, "hand_out", full)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["lab", "--hub"])
    assert f"--ServerApp.root_dir={tmp_path}" in became[0]
    assert "The lessons couldn't be handed out: [Errno 28] No space left on device" in capsys.readouterr().out


def test_on_a_hub_without_jupyterhub_it_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab_module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "--hub"]) == 1 and os.listdir(tmp_path) == []
    assert capsys.readouterr().out.startswith("jupyterhub is missing in this Python.")


def test_where_a_teacher_collects_a_copy_is_put_there(learner, tmp_path, monkeypatch, capsys):
    shared = tmp_path / "hand-ins"
    shared.mkdir()
    monkeypatch.setenv("FLUXLITE_HAND_INS", str(shared / "ada"))
    monkeypatch.chdir(learner)
    for _ in range(2):  # again, after more work
        assert main(["handin", "Ada"]) == 0
        own = learner / "handin-Ada.zip"
        said = capsys.readouterr().out
        assert said.startswith(f"It's handed in: your teacher finds it in {shared / 'ada'}. Your own copy: {own}\n")
        assert "Hand in this file" not in said and (shared / "ada" / own.name).read_bytes() == own.read_bytes()
    assert [one.name for one in look_at_class(shared).handins] == ["Ada"]


@pytest.mark.parametrize("what", ["no folder above", "a link"])
def test_where_it_could_not_be_collected_it_is_said_and_the_file_is_there(what, learner, tmp_path, monkeypatch, capsys):
    place = tmp_path / "hand-ins"
    if what == "a link":
        place.mkdir()
        try:
            (place / "handin-Ada.zip").symlink_to(tmp_path / "elsewhere")
        except OSError:
            pytest.skip("no links here")
    monkeypatch.setenv("FLUXLITE_HAND_INS", str(place if what == "a link" else place / "ada"))
    monkeypatch.chdir(learner)
    assert main(["handin", "Ada"]) == 0
    said, own = capsys.readouterr().out, learner / "handin-Ada.zip"
    why = {"no folder above": "No such file or directory", "a link": "is a link to another file"}[what]
    assert said.startswith(f"It couldn't be handed in to {place}") and why in said and f"teacher: {own}\n" in said
    assert own.exists() and not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as several users")
def test_on_a_shared_folder_the_teacher_reads_everything_and_learners_only_their_own(tmp_path):
    """The folder is as docs/hub/README.md makes it. The numbers stand for two learners, and for the teachers' group."""
    (command,) = re.findall(r"^sudo install -d -m (\d+) -g jupyterhub-admins /srv/hand-ins$", HUB_PAGE, re.MULTILINE)
    ada, bob, teacher, group = 20_001, 20_002, 20_003, 30_000
    place = Path(tempfile.mkdtemp())  # pytest's own folders are closed to others
    try:
        place.chmod(0o755)
        shared = place / "hand-ins"
        shared.mkdir()
        os.chown(shared, 0, group)
        shared.chmod(int(command, 8))  # after chown, which takes the set-group-ID bit away
        for number, name in ((ada, "ada"), (bob, "bob")):
            (place / name).mkdir()
            (place / name / "00.ipynb").write_text("{}")
            os.chown(place / name, number, number)
            said = _as_user(number, [], place / name, HAND_IN, str(shared / name))
            assert said.startswith("It's handed in"), said
        look = "import os; print(os.listdir(sys.argv[1]))"
        for folder in (shared, shared / "bob"):
            assert "Permission denied" in _as_user(ada, [], place, look, str(folder))
        steal = "import os; os.rename(sys.argv[1], sys.argv[1] + '2')"
        assert "Operation not permitted" in _as_user(ada, [], place, steal, str(shared / "bob"))
        taken = _as_user(ada, [], place / "ada", HAND_IN, str(shared / "bob"))
        assert taken.startswith("It couldn't be handed in") and "Permission denied" in taken
        seen = _as_user(teacher, [group], place, "main(['class', sys.argv[1]])", str(shared))
        assert seen.startswith("2 learners ") and "can't be" not in seen
        for number, name in ((ada, "ada"), (bob, "bob")):
            assert "You've joined" in _as_user(number, [], place / name, JOIN, str(shared / name))
            assert "can't be opened (Permission denied)" in _as_user(number, [], place, ON_THE_WALL, str(shared))
        seen = _as_user(teacher, [group], place, ON_THE_WALL, str(shared))
        assert seen == "[('ada', {'02-A': 'c'}), ('bob', {'02-A': 'c'})] []\n"
    finally:
        shutil.rmtree(place)


HAND_IN = "os.environ['FLUXLITE_HAND_INS'] = sys.argv[1]; main(['handin', 'X'])"
JOIN = "os.environ['FLUXLITE_HAND_INS'] = sys.argv[1]; sending.join('hub'); progress.keep('guesses', '02-A', 'c')"
ON_THE_WALL = """
wall = Folder(Path(sys.argv[1]))
found = [(one.name, one.record["guesses"]) for one in wall.look() if one.by_folder]
print(sorted(found), wall.remarks)
"""
# Python itself may lie where only root can read, so everything is loaded before the program becomes another user.
AS_USER = """
import contextlib, io, os, sys, tempfile
from pathlib import Path
from fluxlite.__main__ import main
from fluxlite_course.kit import progress
from fluxlite_course.kit.wall import sending
from fluxlite_course.kit.wall.folder import Folder
os.environ.pop("FLUXLITE_PROGRESS", None)
with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as other:
    open(other + "/00.ipynb", "w").write("{}")
    os.chdir(other)
    os.environ["FLUXLITE_HAND_INS"] = other
    main(["handin", "X"]), main(["class", other])
    os.chdir("/")
number, groups = int(sys.argv.pop(1)), [int(one) for one in sys.argv.pop(1).split()]
folder, program = sys.argv.pop(1), sys.argv.pop(1)
os.setgroups(groups), os.setresgid(number, number, number), os.setresuid(number, number, number), os.umask(0o022)
os.chdir(folder)
exec(program)
"""


def _as_user(number, groups, folder, program, argument):
    """What a program of another user says, or why it failed."""
    more = [str(number), " ".join(map(str, groups)), str(folder), program, argument]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", AS_USER, *more], env=environment, capture_output=True, text=True)
    return ran.stdout + ran.stderr


def test_an_empty_class(tmp_path):
    assert repr(look_at_class(tmp_path)) == "nobody has handed in"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["class", "nowhere"], "nowhere isn't a folder"),
        (["class", ".", "99"], "there is no lesson '99'"),
        (["class", ".", "../../x"], "there is no lesson '../../x'"),
        (["class", ".", "\x1b[2J"], "there is no lesson '\\x1b[2J'"),
        (["handin", "Ada"], "there is no notebook and no progress.json in"),
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


@pytest.mark.parametrize(
    "line", ["", "unknown", "class", "doctor x", "check --no-browser", "--no-browser", "handin -x"]
)
def test_usage(line, monkeypatch, capsys):
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(line.split()) == 2
    said = capsys.readouterr()
    assert said.err.startswith("usage: python -m fluxlite ") and said.out == ""
    assert line != "class" or said.err.endswith("required: FOLDER\n")


@pytest.mark.parametrize("arguments", [[], ["check"], ["doctor"], ["lab"], ["handin"], ["class"]], ids=" ".join)
@pytest.mark.parametrize("help", ["--help", "-h"])
def test_help_of_each_command_does_nothing_else(arguments, help, tmp_path, monkeypatch, capsys):
    """``handin --help`` once packed a zip file that was signed ``--help``."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "00.ipynb").write_text("{}")
    assert main([*arguments, help]) == 0
    assert capsys.readouterr().out.startswith(" ".join(["usage: python -m fluxlite", *arguments, "[-h]"]))
    assert os.listdir(tmp_path) == ["00.ipynb"]


def test_a_learner_and_a_teacher_at_the_command_line(learner, tmp_path):
    def run(*arguments, cwd):
        command = [sys.executable, "-m", "fluxlite", *arguments]
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout

    said = run("handin", "Ada", "L.", cwd=learner.parent)
    assert said == (
        f"Hand in this file: {learner / 'handin-Ada-L.zip'}\n"
        "It's signed Ada L., and contains: your notebooks as they were last saved, your guesses and checks.\n"
    )
    assert re.search(r"^Ada L\. +\+\.\. +1$", run("class", ".", cwd=tmp_path), re.MULTILINE)
    wall = run("class", ".", "3", "00", cwd=tmp_path)
    assert "lesson 03   1 learner\n" in wall and "lesson 00   1 learner\n" in wall and "Ada" not in wall
