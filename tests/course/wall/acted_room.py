"""A room acted out: thirty labs, each in a process of its own, and a wall in another one.

    .venv/bin/python tests/course/wall/acted_room.py [LABS]

They join, guess in waves, leave and return. Two send rubbish, one sends 1,000 messages a second, one takes another's
name. Prints how long guesses took to be seen, and what memory the wall took. The tests play it, too, without a clock.
"""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # for when it's run as a program

from course.open_wall import PATIENCE, Visitor, counts, who  # noqa: E402

from fluxlite_course.kit.guesses import questions  # noqa: E402

LAB = """
import sys
from fluxlite_course import guess, join, leave
from fluxlite_course.kit import progress
print("here", flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""
RUBBISH = (b"{", b"\xff" * 100, b"[" * 9_000, b'{"guesses": 3}', b'{"name": ["x"]}', b" " * 100_000)
BURST = 1_000  # messages in a second


def environment(folder):
    own = {"PYTHONPATH": str(ROOT), "FLUXLITE_PROGRESS": str(folder / "progress.json"), "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **own}


class Lab:
    """A learner's kernel: a process that runs the lines that it's given."""

    def __init__(self, folder):
        folder.mkdir()
        command = [sys.executable, "-c", LAB]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        self.process = subprocess.Popen(command, env=environment(folder), cwd=folder, **pipes)
        self.said = ""

    def begin(self, line):
        """Give it a line, and don't wait."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self, word="done"):
        """Wait until it has run its line."""
        for line in self.process.stdout:
            if line.strip() == word:
                return
            self.said += line
        raise AssertionError(f"a lab has ended: {self.said}")

    def run(self, line):
        self.begin(line)
        self.wait()

    def end(self):
        rest, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, self.said + rest


class Room:
    """A wall and its labs, as programs."""

    def __init__(self, folder, labs):
        command = [sys.executable, "-m", "fluxlite", "wall", "--no-browser", "--port", "0", "--lesson", "02"]
        place = folder / "teacher"
        place.mkdir()
        self.wall = subprocess.Popen(command, env=environment(place), cwd=place, stdout=subprocess.PIPE, text=True)
        self.labs = [Lab(folder / f"lab{k}") for k in range(labs)]
        text = ""
        for line in self.wall.stdout:
            text += line
            if invitation := re.search(r'join\("(.*):(\d+)/([A-Z]+)"\)', text):
                break
        self.where = f"{invitation[1]}:{invitation[2]}/{invitation[3]}"
        self.teacher = Visitor(int(invitation[2]), invitation[3])
        self.teacher.enter(re.search(r"token=(\w+)", text)[1])
        for lab in self.labs:
            lab.wait("here")

    def all(self, line):
        """Let all labs run a line at once."""
        for k, lab in enumerate(self.labs):
            lab.begin(line(k))
        for lab in self.labs:
            lab.wait()

    def memory(self):
        """The most memory that the wall has had, in MB; 0 where the system doesn't say."""
        try:
            status = Path(f"/proc/{self.wall.pid}/status").read_text()
        except OSError:
            return 0
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1_000

    def close(self):
        self.wall.kill()
        self.wall.communicate()
        for lab in self.labs:
            lab.process.kill()
            lab.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def letter(id, k):
    """What lab number k guesses."""
    options = list(questions(id[:2])[id].options)
    return options[k % len(options)]


def expected(id, labs):
    found = dict.fromkeys(questions(id[:2])[id].options, 0)
    for k in range(labs):
        found[letter(id, k)] += 1
    return found


def post(code, secret, body):
    """The bytes of a lab's message."""
    lines = [
        f"POST /hear/{code} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Fluxlite-Lab: {secret}",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Misbehaving:
    """Two send rubbish, one sends 1,000 messages a second, and one takes the name of lab number 0; until `end`."""

    def __init__(self, room):
        self.port = room.teacher.port
        self.sent = {}  # by whom
        self.answers = {}  # by whom, and status
        self._stop = threading.Event()
        code = room.teacher.code
        flood = [json.dumps({"name": "Flood", "guesses": {"02-A": one}}).encode() for one in "abcd"]
        thief = [json.dumps({"name": "learner 0", "guesses": {"02-A": "d"}}).encode()]
        roles = [("rubbish", "1" * 32, RUBBISH, 0.1), ("rubbish", "2" * 32, RUBBISH[::-1], 0.1)]
        roles += [("flood", "3" * 32, flood, 1 / BURST), ("thief", "4" * 32, thief, 5.0)]
        self._threads = [
            threading.Thread(target=self._send, args=(name, [post(code, secret, body) for body in bodies], pause))
            for name, secret, bodies, pause in roles
        ]
        for thread in self._threads:
            thread.start()

    def _send(self, name, messages, pause):
        """Send messages, one each `pause` seconds, without waiting for the answers."""
        begun = time.monotonic()
        count = 0
        while not (self._stop.is_set() and count >= len(messages)):
            with socket.create_connection(("127.0.0.1", self.port)) as connection, contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                reading = threading.Thread(target=self._read, args=(name, connection))
                reading.start()
                while not (self._stop.is_set() and count >= len(messages)):
                    connection.sendall(messages[count % len(messages)])
                    count += 1
                    self.sent[name] = self.sent.get(name, 0) + 1
                    self._stop.wait(max(0.0, begun + count * pause - time.monotonic()))
                connection.shutdown(socket.SHUT_WR)
            reading.join()

    def _read(self, name, connection):
        """Count the answers until the wall hangs up."""
        rest = b""
        with contextlib.suppress(OSError):
            while more := connection.recv(65_536):
                rest += more
                for status in re.findall(rb"HTTP/1.1 (\d+)", rest):
                    key = (name, int(status))
                    self.answers[key] = self.answers.get(key, 0) + 1
                rest = rest[-12:].partition(b"HTTP")[0]

    def end(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()


def act(folder, labs, told=lambda words: None):
    """Play it, and assert what has to be so.

    Returns what the teacher sees at the end, the others' answers by whom and status, and the wall's memory in MB.
    """
    with Room(folder, labs) as room:
        room.all(lambda k: f"join({room.where!r}, 'learner {k}')")
        room.teacher.until(lambda shown: shown["guests"] == labs)
        began = time.monotonic()
        others = Misbehaving(room)
        room.teacher.until(lambda shown: shown["guests"] == labs + 2)  # the flood and the thief are guests
        for id in ("02-C", "02-B", "03-A"):
            _wave(room, id, told)
        _leave_and_return(room, "02-D")
        _one_by_one(room, "03-B", told)
        seconds = time.monotonic() - began
        others.end()
        told(f"the flood: {others.sent['flood']:,} messages in {seconds:.1f} s")
        told("answers: " + ", ".join(f"{name} {status}: {n:,}" for (name, status), n in sorted(others.answers.items())))
        shown = room.teacher.shown()
        names = [f"learner {k}" for k in range(labs)]
        assert sorted(who(shown)) == sorted([*names, "Flood", "learner 0 (2)"])
        assert [lab["guesses"] for lab in shown["list"] if lab["label"] in names] == [5] * labs
        for lab in room.labs:
            lab.end()
        return shown, others.answers, room.memory()


def _wave(room, id, told):
    """All guess at once."""
    labs = len(room.labs)
    room.teacher.do("go", id)
    before = time.monotonic()
    room.all(lambda k: f"guess({id!r}, {letter(id, k)!r})")
    kept = time.monotonic()
    shown = room.teacher.until(lambda shown: shown["place"]["id"] == id and shown["guessed"] == labs)
    seen = time.monotonic()
    assert counts(shown) == expected(id, labs), id
    told(
        f"{id}: all {labs} had guessed after {kept - before:.2f} s, and {seen - kept:.3f} s later all were on the wall"
    )


def _leave_and_return(room, id):
    """A third leaves, all guess, and the third returns with what it guessed meanwhile."""
    labs = len(room.labs)
    leavers = room.labs[: labs // 3]
    room.teacher.do("go", id)
    for lab in leavers:
        lab.run("leave()")
    room.all(lambda k: f"guess({id!r}, {letter(id, k)!r})")
    shown = room.teacher.until(lambda shown: shown["guessed"] >= labs - len(leavers))
    assert shown["guessed"] == labs - len(leavers)
    for k, lab in enumerate(leavers):
        lab.run(f"join({room.where!r}, 'learner {k}')")
    shown = room.teacher.until(lambda shown: shown["guessed"] == labs)
    assert counts(shown) == expected(id, labs), id


def _one_by_one(room, id, told):
    """Each lab guesses alone, while the flood goes on: how long until the wall shows it."""
    room.teacher.do("go", id)
    took = []
    for k, lab in enumerate(room.labs):
        lab.begin(f"guess({id!r}, {letter(id, k)!r})")
        before = time.monotonic()
        shown = room.teacher.until(lambda shown, k=k: shown["guessed"] == k + 1)
        took.append(time.monotonic() - before)
        lab.wait()
    assert counts(shown) == expected(id, len(room.labs))
    told(f"{id}, one by one: {sorted(took)[len(took) // 2]:.3f} s in the middle, {max(took):.3f} s at most")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        labs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
        shown, _, megabytes = act(Path(place), labs, print)
        print(*(f"{one['who']}: {one['why']} ({one['times']:,})" for one in shown["remarks"]), sep="\n")
        print(f"the wall took {megabytes:.0f} MB at most")
