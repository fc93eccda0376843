"""The record of progress: nothing in it gets lost, even if other programs write too or its contents are broken."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from fluxlite.course import answer, progress


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(progress, "_unwritten", {})


def test_unreadable_progress_is_put_aside(tmp_path, capsys):
    for content in ("{", "[1]", '{"checks": 3}', "\x00"):
        progress.path().write_text(content)
        progress.keep("checks", "03.1", "right")
        assert progress.read()["checks"] == {"03.1": "right"}
        assert (tmp_path / "progress.unreadable.json").read_text() == content
    assert "could not be read" in capsys.readouterr().out


def test_progress_in_a_folder_that_cannot_be_written_lasts_until_the_kernel_ends(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(tmp_path / "not there" / "progress.json"))
    progress.keep("checks", "03.1", "right")
    assert progress.read()["checks"] == {"03.1": "right"}
    assert "Your progress is kept until this kernel ends" in capsys.readouterr().out


def test_progress_is_written_as_soon_as_that_goes_again(tmp_path, monkeypatch):
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(tmp_path / "later" / "progress.json"))
    progress.keep("checks", "03.1", "right")
    (tmp_path / "later").mkdir()
    progress.path().write_text('{"checks": {"03.4": "right"}}')
    progress.keep("checks", "03.2", "right")
    progress.keep("guesses", "03-A", "b")
    expected = {"checks": {"03.1": "right", "03.2": "right", "03.4": "right"}, "guesses": {"03-A": "b"}}
    written = json.loads(progress.path().read_text())
    assert progress.read() == expected == {part: written[part] for part in expected}


def test_progress_that_cannot_be_opened_is_not_replaced(monkeypatch, capsys):
    progress.keep("checks", "03.1", "right")
    real = progress.Path.read_text

    def closed(self, **more):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(progress.Path, "read_text", closed)
    progress.keep("checks", "03.2", "right")
    assert "Permission denied" in capsys.readouterr().out
    monkeypatch.setattr(progress.Path, "read_text", real)
    assert progress.read()["checks"] == {"03.1": "right", "03.2": "right"}


def test_a_record_has_an_id_of_its_own_which_stays_and_says_nothing_of_the_learner(tmp_path, monkeypatch):
    ids = []
    for name in ("progress.json", "progress.json", "other.json"):
        monkeypatch.setenv("FLUXLITE_PROGRESS", str(tmp_path / name))
        progress.keep("checks", f"03.{len(ids) + 1}", "right")
        ids.append(json.loads(progress.path().read_text())["learner"]["id"])
    assert ids[0] == ids[1] != ids[2] and all(len(id) == 16 and int(id, 16) >= 0 for id in ids)


@pytest.mark.parametrize(
    ("variable", "place"),
    [("COLAB_RELEASE_TAG", "Colab"), ("BINDER_LAUNCH_HOST", "Binder"), ("BINDER_SERVICE_HOST", "Binder")],
)
def test_where_a_record_ends_with_the_session(variable, place, monkeypatch):
    for name in ("COLAB_RELEASE_TAG", "BINDER_LAUNCH_HOST", "BINDER_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    assert progress.passing() == ""
    monkeypatch.setenv(variable, "x")
    assert progress.passing() == place


WRITE = """
import sys
from fluxlite.course import progress
for number in range(50):
    progress.keep("checks", f"{sys.argv[1]}.{number}", "right")
"""


def test_notebooks_that_write_at_once_lose_nothing(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITE, name]) for name in "abcd"]
    assert [writer.wait() for writer in writers] == [0] * 4
    assert len(progress.read()["checks"]) == 200
    assert [file.name for file in tmp_path.iterdir()] == ["progress.json"]


def test_threads_that_write_at_once_lose_nothing():
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: progress.keep("checks", f"03.{number}", "right"), range(100)))
    assert len(json.loads(progress.path().read_text())["checks"]) == 100


def test_a_lock_that_was_left_behind_holds_nobody_up_for_long(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    (tmp_path / ".progress.json.lock").touch()
    progress.keep("checks", "03.1", "right")
    assert json.loads(progress.path().read_text())["checks"] == {"03.1": "right"}
    assert not (tmp_path / ".progress.json.lock").exists()


def test_progress_edited_by_hand(capsys):
    progress.path().write_text('\ufeff{"guesses": {"03-A": "z", "03-B": ["a"]}, "checks": {"03.1": 1}}', "utf-8")
    answer("03-A")
    answer("03-B")
    assert capsys.readouterr().out.startswith("03-A  it is b: ")
    assert progress.read() == {"guesses": {"03-A": "z"}, "checks": {}}


def test_progress_is_plain_text_and_other_notebooks_entries_stay():
    progress.keep("checks", "03.1", "right")
    other = json.loads(progress.path().read_text())
    other["guesses"]["05-A"] = "c"
    progress.path().write_text(json.dumps(other))
    progress.keep("checks", "03.2", "right")
    assert progress.read() == {"checks": {"03.1": "right", "03.2": "right"}, "guesses": {"05-A": "c"}}
