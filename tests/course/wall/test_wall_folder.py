"""A folder as the wall's source: records of progress on a shared drive, and hand-ins."""

import json
import os
import sys
import time

import pytest

from fluxlite_course.kit import progress
from fluxlite_course.kit.classroom import handin
from fluxlite_course.kit.wall.folder import Folder, take
from fluxlite_course.kit.wall.room import MOST_GUESTS, Room


@pytest.fixture
def drive(tmp_path):
    """A shared drive, and what writes a learner's record there."""

    class Drive:
        path = tmp_path

        def write(self, place, learner, **record):
            file = tmp_path / place / progress.FILE
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"learner": {"id": learner, "edition": progress.EDITION}, **record}))
            return file

    return Drive()


def guests(room):
    return {guest.label: guest.guesses for guest in room.guests.values()}


def look(folder, room):
    take(room, folder.look(), folder.remarks)


def test_records_are_read_as_they_change(drive):
    room, folder = Room("02"), Folder(drive.path)
    look(folder, room)
    assert guests(room) == {}
    drive.write("ada/my-course", "1", guesses={"02-A": "c"}, checks={"02.1": "right"}, puzzles={"05-1": "0.1"})
    drive.write("bob", "2", guesses={"02-A": "a"})
    look(folder, room)
    assert guests(room) == {"ada": {"02-A": "c"}, "bob": {"02-A": "a"}}
    drive.write("bob", "2", guesses={"02-A": "a", "02-C": "b"})
    assert [one.name for one in folder.look()] == ["bob"]
    assert folder.look() == []


def test_a_record_lies_in_at_most_thirty_folders(drive):
    for depth in (30, 31):
        drive.write("/".join(["in"] * (depth - 1) + [str(depth)]), str(depth), guesses={"02-A": "c"})
    assert len(Folder(drive.path).look()) == 1


def test_what_a_learners_lab_writes_is_found(drive, monkeypatch):
    room, folder = Room("02"), Folder(drive.path)
    (drive.path / "ada" / "my-course").mkdir(parents=True)
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(drive.path / "ada" / "my-course" / progress.FILE))
    progress.keep("guesses", "02-A", "c")
    look(folder, room)
    handin("Ada Lovelace", drive.path / "ada" / "my-course")  # the same learner, in the same folder
    look(folder, room)
    assert guests(room) == {"ada": {"02-A": "c"}}


def test_hand_ins_are_read_and_the_later_guess_counts(drive, monkeypatch):
    room, folder = Room("02"), Folder(drive.path)
    drive.write("", "1")
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(drive.path / progress.FILE))
    for letter in "ac":
        progress.keep("guesses", "02-A", letter)
        handin("Ada", drive.path).rename(drive.path / f"{letter}.zip")
    (drive.path / progress.FILE).unlink()
    look(folder, room)
    assert guests(room) == {"Ada": {"02-A": "c"}}


def test_whoever_copies_anothers_random_id_is_a_second_guest(drive):
    room, folder = Room("02"), Folder(drive.path)
    drive.write("ada", "1", guesses={"02-A": "c"})
    drive.write("eve", "1", guesses={"02-A": "a"})
    look(folder, room)
    assert guests(room) == {"ada": {"02-A": "c"}, "eve": {"02-A": "a"}}


def test_a_guess_made_after_a_hand_in_stays_whoever_hands_in_next(drive, monkeypatch):
    """Any new hand-in has all of them read again."""
    room, folder = Room("02"), Folder(drive.path)
    drive.write("ada", "1", guesses={"02-A": "c"})
    handin("Ada", drive.path / "ada")
    look(folder, room)
    later = time.time() + 60  # a file's clock may be some milliseconds behind ours
    os.utime(drive.write("ada", "1", guesses={"02-A": "a"}), (later, later))
    look(folder, room)
    drive.write("bob", "2", guesses={"02-A": "b"})
    handin("Bob", drive.path / "bob")
    look(folder, room)
    assert guests(room) == {"ada": {"02-A": "a"}, "bob": {"02-A": "b"}}


def test_a_guess_in_a_later_hand_in_counts_more_than_an_older_record(drive):
    room, folder = Room("02"), Folder(drive.path)
    record = drive.write("ada", "1", guesses={"02-A": "c"})
    handin("Ada", drive.path / "ada")
    drive.write("ada", "1", guesses={"02-A": "a"})
    os.utime(record, (1_000_000_000, 1_000_000_000))  # as one that was left behind
    look(folder, room)
    assert guests(room) == {"ada": {"02-A": "c"}}


def test_who_has_a_folder_is_called_as_it_is_whatever_their_hand_in_says(drive):
    """On a hub they read so when they join."""
    room, folder = Room("02"), Folder(drive.path)
    drive.write("ada", "1", guesses={"02-A": "c"})
    handin("Ada Lovelace", drive.path / "ada")
    (drive.path / "ada" / progress.FILE).unlink()
    look(folder, room)
    assert list(guests(room)) == ["Ada Lovelace"]
    drive.write("ada", "1", guesses={"02-A": "c"})
    look(folder, room)
    assert list(guests(room)) == ["ada"]


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of Unix")
def test_what_cannot_be_read_is_named_and_nothing_else_is_opened(drive):
    room, folder = Room("02"), Folder(drive.path)
    drive.write("ada", "1", guesses={"02-A": "c"})
    secret = drive.path.parent / "secret.json"
    secret.write_text('{"guesses": {"02-A": "b"}}')
    for name in ("linked", "pipe", "torn", "huge", "odd"):
        (drive.path / name).mkdir()
    (drive.path / "linked" / progress.FILE).symlink_to(secret)
    os.mkfifo(drive.path / "pipe" / progress.FILE)
    (drive.path / "torn" / progress.FILE).write_text("{")
    (drive.path / "huge" / progress.FILE).write_text(" " * 2_000_000)
    drive.write("odd", {"not": "a text"}, guesses={"02-A": "z", "99-A": "a"})
    (drive.path / "class.zip").write_text("no zip file")
    look(folder, room)
    assert guests(room) == {"ada": {"02-A": "c"}, "odd": {}}
    assert {who for who, _ in room.remarks} == {"torn/progress.json", "huge/progress.json", "a file", "odd"}
    before = dict(room.remarks)
    look(folder, room)
    assert room.remarks == before  # each is named once, until it changes


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="no folder is closed to this account")
def test_a_folder_that_cannot_be_opened_is_named_once(drive):
    folder = Folder(drive.path)
    drive.write("ada", "1", guesses={"02-A": "c"})
    drive.write("eve", "2", guesses={"02-A": "c"})
    (drive.path / "eve").chmod(0)
    try:
        assert [one.name for one in folder.look()] == ["ada"]
        assert folder.remarks == [("eve", "this folder can't be opened (Permission denied)")]
        assert folder.look() == [] and folder.remarks == []
    finally:
        (drive.path / "eve").chmod(0o700)


def test_a_folder_of_a_whole_school_fills_the_room_and_no_more(drive):
    room, folder = Room("02"), Folder(drive.path)
    for k in range(MOST_GUESTS + 3):
        drive.write(f"learner{k}", str(k), guesses={"02-A": "c"})
    look(folder, room)
    assert len(room.guests) == MOST_GUESTS
    assert "the room is full" in " ".join(why for _, why in room.remarks)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="isn't a folder"):
        Folder(tmp_path / "not there")
