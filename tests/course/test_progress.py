"""The record of progress: nothing in it gets lost, even if other programs write too or its contents are broken."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import fluxlite as fl
from fluxlite_course import answer, start
from fluxlite_course.kit import progress

ROOT = str(Path(__file__).parents[2])
pytestmark = pytest.mark.usefixtures("own_progress")


def test_progress_that_is_unreadable_or_of_0_2_is_put_aside(tmp_path, capsys):
    older = (Path(__file__).parents[1] / "frozen" / "files" / "0.2" / "progress.json").read_text()
    deep = "[" * 100_000
    for content in ("{", "[1]", '{"checks": 3}', "\x00", deep, "9" * 5_000, older):
        progress.path().write_text(content)
        progress.keep("checks", "03.1", "right")
        assert progress.read()["checks"] == {"03.1": "right"}
        assert (tmp_path / "progress.unreadable.json").read_text() == content
        fl.reset_notices()
    said = "it's from fluxlite 0.2, whose lessons have other numbers. It's now progress.unreadable.json"
    assert said in capsys.readouterr().err


def test_progress_that_is_nested_as_deep_as_some_pythons_read_costs_nothing():
    progress.path().write_text('{"checks": ' * 990 + "1" + "}" * 990)
    progress.keep("checks", "03.1", "right")
    assert progress.read()["checks"] == {"03.1": "right"}


def test_progress_in_a_folder_that_cannot_be_written_lasts_until_the_kernel_ends(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(tmp_path / "not there" / "progress.json"))
    progress.keep("checks", "03.1", "right")
    assert progress.read()["checks"] == {"03.1": "right"}
    assert "Your progress is kept until this kernel ends" in capsys.readouterr().err
    assert not progress.is_kept("checks", "03.1")
    assert json.loads(progress.as_text())["checks"] == {"03.1": "right"}
    (tmp_path / "not there").mkdir()
    progress.keep("checks", "03.1", "right")  # the same once more
    assert progress.is_kept("checks", "03.1")
    assert '"03.1": "right"' in progress.path().read_text(encoding="utf-8")


def test_progress_is_written_without_filelock_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "filelock", None)
    progress.keep("checks", "03.1", "right")
    assert progress.read()["checks"] == {"03.1": "right"}


WITHOUT_LOCKS = """
import os, sys, warnings
warnings.simplefilter("error")
sys.modules["fcntl"] = None  # to import it raises ImportError
from fluxlite_course.kit import progress
progress.keep("checks", "03.1", "right")
print(progress.read()["checks"], os.listdir())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has locks without fcntl")
def test_progress_is_written_where_the_system_has_no_locks(tmp_path, monkeypatch):
    """filelock would warn, and make a file in place of a lock, which a kernel that's killed leaves behind."""
    monkeypatch.delenv("FLUXLITE_PROGRESS")
    program = [sys.executable, "-c", WITHOUT_LOCKS]
    done = subprocess.run(program, cwd=tmp_path, env={**os.environ, "PYTHONPATH": ROOT}, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("{'03.1': 'right'} ['progress.json']\n", "")


def test_progress_is_written_as_soon_as_that_goes_again(tmp_path, monkeypatch):
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(tmp_path / "later" / "progress.json"))
    progress.keep("checks", "03.1", "right")
    (tmp_path / "later").mkdir()
    progress.path().write_text('{"checks": {"03.3": "right"}}')
    progress.keep("checks", "03.2", "right")
    progress.keep("guesses", "03-A", "b")
    expected = {"checks": {"03.1": "right", "03.2": "right", "03.3": "right"}, "guesses": {"03-A": "b"}, "puzzles": {}}
    written = json.loads(progress.path().read_text())
    assert progress.read() == expected == {part: written[part] for part in expected}


def test_progress_that_cannot_be_opened_is_not_replaced(monkeypatch, capsys):
    progress.keep("checks", "03.1", "right")
    real = progress.Path.read_text

    def closed(self, **more):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(progress.Path, "read_text", closed)
    progress.keep("checks", "03.2", "right")
    assert "Permission denied" in capsys.readouterr().err
    monkeypatch.setattr(progress.Path, "read_text", real)
    assert progress.read()["checks"] == {"03.1": "right", "03.2": "right"}


def test_a_record_has_an_id_of_its_own_which_stays_and_says_nothing_of_the_learner(tmp_path, monkeypatch):
    ids = []
    for name in ("progress.json", "progress.json", "other.json"):
        monkeypatch.setenv("FLUXLITE_PROGRESS", str(tmp_path / name))
        progress.keep("checks", f"03.{len(ids) + 1}", "right")
        ids.append(json.loads(progress.path().read_text())["learner"]["id"])
    assert ids[0] == ids[1] != ids[2] and all(len(id) == 16 and int(id, 16) >= 0 for id in ids)


WRITE = """
import sys
from fluxlite_course.kit import progress
progress.PATIENCE = 600
for number in range(50):
    progress.keep("checks", f"{sys.argv[1]}.{number}", "right")
"""


def test_notebooks_that_write_at_once_lose_nothing(tmp_path):
    (tmp_path / ".progress.json.lock").touch()  # as an earlier version left it when it was killed
    writers = [subprocess.Popen([sys.executable, "-c", WRITE, name]) for name in "abcdefgh"]
    assert [writer.wait() for writer in writers] == [0] * 8
    assert len(progress.read()["checks"]) == 8 * 50
    assert {file.name for file in tmp_path.iterdir()} == {"progress.json", ".progress.json.lock"}


HOLD = """
import time
from fluxlite_course.kit import progress
with progress._alone(progress.path()):
    print("holds it", flush=True)
    time.sleep(60)
"""


def test_a_killed_notebook_leaves_no_lock_behind(monkeypatch):
    pytest.importorskip("filelock")
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"holds it\n"
        monkeypatch.setattr(progress, "PATIENCE", 0.1)
        progress.keep("checks", "03.1", "right")
        assert not progress.path().exists(), "two notebooks wrote at once"
        holder.kill()
    monkeypatch.setattr(progress, "PATIENCE", 0)
    progress.keep("checks", "03.2", "right")
    assert json.loads(progress.path().read_text())["checks"] == {"03.1": "right", "03.2": "right"}


@pytest.mark.parametrize("locks", ["there", "not on this drive"])
def test_threads_that_write_at_once_lose_nothing(locks, monkeypatch):
    threads, filelock = (8, pytest.importorskip("filelock"))
    if locks != "there":  # a network drive: one after the other still writes

        def refuse(self, **how):
            raise OSError(37, "No locks available")

        threads = 1
        monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    monkeypatch.setattr(progress, "PATIENCE", 600)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda number: progress.keep("checks", f"03.{number}", "right"), range(100)))
    assert len(json.loads(progress.path().read_text())["checks"]) == 100


def test_a_lesson_that_changes_the_folder_does_not_move_the_record(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "_home", None)
    monkeypatch.delenv("FLUXLITE_PROGRESS")
    monkeypatch.chdir(tmp_path)
    start("03")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    progress.keep("checks", "03.1", "right")
    assert progress.path() == tmp_path / "progress.json" and progress.path().exists()


def test_what_is_not_a_word_in_a_record_is_left_out():
    record = {"checks": {"03.1": "right", "03.2": ["right"], "03.3": 1e999}, "learner": {"edition": progress.EDITION}}
    progress.path().write_text(json.dumps(record))
    assert progress.read()["checks"] == {"03.1": "right"}


def test_progress_edited_by_hand(capsys):
    progress.path().write_text('\ufeff{"guesses": {"03-A": "z"}}', "utf-8")
    answer("03-A")
    assert capsys.readouterr().out.startswith("03-A  it is c: ")
    assert progress.read() == {"guesses": {"03-A": "z"}, "checks": {}, "puzzles": {}}
