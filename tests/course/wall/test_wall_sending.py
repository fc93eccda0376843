"""The learner's side of the wall: `join` and `leave`, with a wall, without one, and where nothing can be sent."""

import contextlib
import json
import os
import socket
import sys
import threading
import time

import pytest
from course.open_wall import PATIENCE, Opened, counts, who

import fluxlite_course
from fluxlite_course import guess, join, leave, start
from fluxlite_course import letters as letters_of
from fluxlite_course.kit import progress
from fluxlite_course.kit.wall import letters, sending

pytestmark = pytest.mark.usefixtures("own_progress")


@pytest.fixture(autouse=True)
def gone_afterwards(monkeypatch, capsys):
    """Each test begins without a wall, and ends without a thread. On a busy machine a wall may answer slowly."""
    monkeypatch.setattr(sending, "SECONDS", PATIENCE)
    monkeypatch.setattr(sending, "AT_MOST", PATIENCE)
    monkeypatch.setattr(sending, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(sending, "LONGEST_PAUSE", 0.05)
    yield
    leave()
    wait_until(lambda: not threads())


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "fluxlite wall"]


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def invitation(opened):
    return f"127.0.0.1:{opened.wall.port}/{opened.room.code}"


@contextlib.contextmanager
def port_without_a_wall():
    """A port that nobody listens at, and nobody else gets until the block ends."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_before_join_nothing_is_sent_and_after_it_all_guesses_are():
    with Opened("02") as opened:
        guess("02-A", "a")
        assert opened.teacher.shown()["guests"] == 0
        join(invitation(opened))
        guess("02-A", "c")
        teacher = opened.teacher
        teacher.until(lambda shown: counts(shown)["c"] == 1)
        progress.keep("checks", "02.1", "right")
        shown = teacher.until(lambda shown: shown["checks"][0]["right"] == 1)
        assert who(shown) == ["guest 1"]


def test_it_says_whom_it_has_joined_and_that_in_other_lessons_too(capsys):
    with Opened("02") as opened:
        join(f" http://{invitation(opened).lower()}/ ", "Ada")
        said = capsys.readouterr().out
        assert f"You've joined the wall at 127.0.0.1:{opened.wall.port}, as Ada" in said and "leave()" in said
        start("03")
        assert "go to the wall at 127.0.0.1" in capsys.readouterr().out
        guess("03-A", "c")
        teacher = opened.teacher
        teacher.do("go", "03-A")
        assert who(teacher.until(lambda shown: counts(shown)["c"] == 1)) == ["Ada"]


def test_who_leaves_is_not_heard_and_who_returns_is_the_same_guest():
    with Opened("02") as opened:
        teacher = opened.teacher
        join(invitation(opened), "Ada")
        leave()
        guess("02-A", "c")
        wait_until(lambda: not threads())
        assert counts(teacher.shown())["c"] == 0
        join(invitation(opened), "Ada")
        assert who(teacher.until(lambda shown: counts(shown)["c"] == 1)) == ["Ada"]


def test_while_the_wall_is_away_it_is_said_once_and_then_nothing_is_lost(capsys):
    start("02")
    capsys.readouterr()
    with port_without_a_wall() as port:
        join(f"127.0.0.1:{port}/KMPRTW", "Ada")
        guess("02-A", "c")
        guess("02-C", "b")
        said = "".join(capsys.readouterr())
        assert said.count("doesn't answer") == 1 and "on paper" in said
    with Opened("02", port=port, code="KMPRTW") as opened:
        teacher = opened.teacher
        shown = teacher.until(lambda shown: counts(shown)["c"] == 1)
        assert shown["list"][0]["guesses"] == 2
    wait_until(lambda: not threads())


def test_a_wall_that_refuses_is_not_asked_again(capsys):
    with Opened("02") as opened:
        other = "ABCDEF" if opened.room.code != "ABCDEF" else "GHJKLM"
        join(f"127.0.0.1:{opened.wall.port}/{other}")
        said = "".join(capsys.readouterr())
        assert "takes nothing from here: another code than the wall's" in said and "joined" not in said
        guess("02-A", "c")
        wait_until(lambda: not threads())
        assert sum(opened.room.remarks.values()) == 1


def test_one_that_is_held_back_tries_again():
    with Opened("02") as opened:
        join(invitation(opened))
        (ada,) = opened.room.guests.values()
        opened.call(setattr, ada, "allowance", -1e9)
        guess("02-A", "c")
        wait_until(lambda: (ada.label, "it sends too often") in opened.room.remarks)
        opened.call(setattr, ada, "allowance", 1)
        opened.teacher.until(lambda shown: counts(shown)["c"] == 1)


def _read_request(connection):
    with connection.makefile("rb") as request:
        length = 0
        while (line := request.readline()).strip():
            name, _, value = line.decode().partition(":")
            if name.lower() == "content-length":
                length = int(value)
        request.read(length)


@contextlib.contextmanager
def another_server(answer):
    """Something at an address that isn't a wall: it sends these bytes, and then nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held = []

        def run():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    _read_request(connection)  # whole: closing before that would reset the connection
                    connection.sendall(answer)
                    held.append(connection)
                    if answer.endswith(b"\n\n"):
                        connection.close()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in held:
                connection.close()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n<html>hello</html>\n\n", "it isn't a wall"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "it isn't a wall"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "it isn't a wall"),
        (b'HTTP/1.1 403 No\r\n\r\n{"why": "\\u001b[2J' + b"x" * 900 + b'"}\n\n', "takes nothing from here: [2Jxxx"),
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", "doesn't answer"),
        (b"\x00\x01 not HTTP\n\n", "doesn't answer"),
        (b"", "doesn't answer"),
    ],
)
def test_something_else_at_that_address_breaks_nothing(answer, said, capsys, monkeypatch):
    if not answer:
        monkeypatch.setattr(sending, "SECONDS", 0.2)  # here it's waited for
    with another_server(answer) as port:
        join(f"127.0.0.1:{port}/KMPRTW")
        guess("02-A", "c")
        told = "".join(capsys.readouterr())
        assert said in told and "\x1b" not in told and len(told) < 800
        leave()
        wait_until(lambda: not threads())
    assert progress.read()["guesses"] == {"02-A": "c"}


@pytest.mark.parametrize("where", ["", "192.168.1.17", "192.168.1.17:8787", "1.2.3.4:99999/KMPRTW", "a/b:1/KMPRTW",
                                   "1.2.3.4:80/KMPRT", "hub", 3, "ftp://1.2.3.4:80/KMPRTW"])  # fmt: skip
def test_what_is_no_invitation_is_said(where, capsys, monkeypatch):
    monkeypatch.delenv("FLUXLITE_HAND_INS", raising=False)
    join(where)
    assert capsys.readouterr().out.startswith("join takes what the wall shows")
    assert not threads() and not progress.path().with_name(sending.FILE).exists()


@pytest.mark.parametrize("lack", ["threads", "a system"])
def test_without_threads_join_says_what_to_do(lack, capsys, monkeypatch):
    if lack == "threads":

        def no_thread(self):
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", no_thread)
    else:
        monkeypatch.setattr(sys, "platform", "emscripten")
    start("02")
    guess("02-A", "c")
    join("192.168.1.17:8787/KMPRTW", "Ada")
    said = capsys.readouterr().out
    assert "Nothing can be sent from here" in said and letters.mine("02") in said
    start("02")
    guess("02-C", "b")
    assert "wall" not in capsys.readouterr().out


def test_letters_are_those_of_the_lesson_that_began(capsys):
    letters_of()
    assert 'letters("02")' in capsys.readouterr().out
    start("02")
    guess("02-C", "b")
    capsys.readouterr()
    letters_of()
    said = capsys.readouterr().out
    assert letters.read(said.split()[2]).guesses == {"02-C": "b"}
    with pytest.raises(ValueError, match="no lesson"):
        letters_of("99")


def test_what_is_remembered_is_the_learners_alone_and_ends_by_itself(capsys):
    with Opened("02") as opened:
        join(invitation(opened), "Ada")
        file = progress.path().with_name(sending.FILE)
        if sys.platform != "win32":
            assert file.stat().st_mode & 0o077 == 0
        kept = json.loads(file.read_text())
        for wrong in ({**kept, "since": kept["since"] - sending.LASTS}, {**kept, "since": kept["since"] + 9e9},
                      {**kept, "secret": "x"}, {**kept, "port": "x"}, {"host": 1}, [1], "x"):  # fmt: skip
            file.write_text(json.dumps(wrong))
            assert sending.resume() == ""
        file.write_text("{")
        assert sending.resume() == ""
        file.write_text(json.dumps(kept))
        assert "as Ada" in sending.resume()


def test_on_a_hub_the_record_is_put_beside_the_hand_ins(tmp_path, monkeypatch, capsys):
    place = tmp_path / "hand-ins" / "ada"
    place.parent.mkdir()
    monkeypatch.setenv("FLUXLITE_HAND_INS", str(place))
    join("hub")
    assert "this hub's folder of hand-ins" in capsys.readouterr().out
    guess("02-A", "c")
    assert json.loads((place / progress.FILE).read_text())["guesses"] == {"02-A": "c"}
    if sys.platform != "win32":
        assert place.stat().st_mode & 0o027 == 0  # nothing for others, and its group only reads
    (place / progress.FILE).unlink()
    (place / progress.FILE).symlink_to(tmp_path / "elsewhere")
    guess("02-C", "b")
    assert "can't be put into" in "".join(capsys.readouterr()) and not (tmp_path / "elsewhere").exists()
    leave()
    (place / progress.FILE).unlink()
    guess("02-D", "a")
    assert os.listdir(place) == [] and not threads()


def test_the_names_are_the_courses():
    assert {"join", "leave", "letters"} <= set(dir(fluxlite_course))
