"""The learner's side of the wall: `join` sends what you guess, check and play to the teacher, and `leave` ends that.

Nothing is sent before `join`, and nothing but guesses, verdicts, puzzles' figures and the name that you choose. Each
message has all of them, so none has to arrive: what the wall missed comes with the next. A thread sends, and ends when
all is sent. If the wall doesn't answer, it tries again later, and says so once.
"""

import contextlib
import json
import os
import re
import secrets
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from fluxlite.messages import at_words, notice
from fluxlite.writing import write_whole

from .. import handins, progress
from . import letters
from .hearing import LONGEST_NAME, as_name
from .room import CODE_LENGTH, SECRET

FILE = ".wall.json"  # beside the record of progress: which wall this lab has joined, and its secret
LASTS = 12 * 3600.0  # seconds: on the next day, that address may be another computer's
SECONDS = 2.0  # that the wall may take to answer
AT_MOST = 3.0  # seconds that `join` waits for it
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 15.0  # seconds between two tries
LAB_HEADER = "Fluxlite-Lab"
WHERE = re.compile(rf"(?:https?://)?(\[[0-9a-f:.]+\]|[\w.-]+):(\d{{1,5}})/([a-z]{{{CODE_LENGTH}}})/?", re.IGNORECASE)
HUB = "hub"
SENT, LATER, NEVER = "sent", "later", "never"


class Membership(NamedTuple):
    """Which wall, as whom, and since when. `host` is empty on a hub, where a file is written and nothing is sent."""

    host: str
    port: int
    code: str
    name: str
    secret: str
    since: float

    @property
    def wall(self) -> str:
        """The wall in words."""
        if not self.host:
            return "the class's wall, through this hub's folder of hand-ins"
        return f"the wall at {self.host}:{self.port}"

    @property
    def the_wall(self) -> str:
        """The same at a sentence's beginning."""
        return f"T{self.wall[1:]}"


class Sender:
    """Sends a lab's record whenever there's something new. Nothing that it meets reaches the learner as an error."""

    def __init__(self, membership: Membership) -> None:
        self.membership = membership
        self.outcome = ""  # of the last try
        self.answer: dict[str, Any] = {}  # of the wall
        self.tried = threading.Event()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._unsent = False
        self._ended = False

    def send(self) -> None:
        """There's something new: send it soon. Raises `RuntimeError` where no thread can be started."""
        with self._lock:
            if self._ended:
                return
            self._unsent = True
            self._wake.set()  # one that pauses tries at once
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="fluxlite wall", daemon=True)
                thread.start()
                self._thread = thread

    def end(self) -> None:
        """Send nothing more. The thread ends, at the latest when the wall has answered, or `SECONDS` have passed."""
        with self._lock:
            self._ended = True
        self._wake.set()

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while (record := self._next()) is not None:
            self.outcome = self._post(record)
            if self.outcome == SENT:
                pause = FIRST_PAUSE
            elif self.outcome == NEVER:
                self.end()
                self._say_why()
            else:
                with self._lock:
                    self._unsent = True
                self._say_later()
            self.tried.set()
            if self.outcome == LATER:
                self._wake.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _next(self) -> progress.Record | None:
        """What to send now. None if there's nothing: then the thread ends. What comes after `end` is never in it."""
        with self._lock:
            if self._ended or not self._unsent:
                self._thread = None
                return None
            self._unsent = False
            self._wake.clear()
            return progress.read()

    def _post(self, record: progress.Record) -> str:
        """Send the whole record once."""
        import http.client

        mine = self.membership
        body = json.dumps({"name": mine.name, **record}).encode()
        connection = http.client.HTTPConnection(mine.host.strip("[]"), mine.port, timeout=SECONDS)
        try:
            headers = {"Content-Type": "application/json", LAB_HEADER: mine.secret}
            connection.request("POST", f"/hear/{mine.code}", body, headers)
            answer = connection.getresponse()
            said = json.loads(answer.read(2_000) or b"{}")
            self.answer = said if isinstance(said, dict) else {}
        except ValueError:  # no wall speaks like that
            self.answer = {}
            return NEVER
        except (OSError, http.client.HTTPException):
            return LATER
        finally:
            connection.close()
        if answer.status == 200:
            return SENT
        if answer.status == 429 or answer.status >= 500:
            return LATER
        return NEVER

    def _say_later(self) -> None:
        """Once, that the wall doesn't answer, and what else helps."""
        text = (
            f"{self.membership.the_wall} doesn't answer. Your guesses are kept, and sent as soon as it does. Did "
            f"one of the two computers sleep, or does this network keep its computers apart? Then {_on_paper()}"
        )
        notice(("wall is away", self.membership.wall), text)

    def _say_why(self) -> None:
        """Why the wall takes nothing from here."""
        why = handins.printable(str(self.answer.get("why") or "it isn't a wall"))
        text = f"{self.membership.the_wall} takes nothing from here: {why}. Nothing more is sent."
        notice(("wall refuses", self.membership), text)


class Copier:
    """On a hub: puts a copy of the record where the teacher's wall reads it. Nothing is sent over a network."""

    def __init__(self, membership: Membership) -> None:
        self.membership = membership

    def send(self) -> None:
        """Copy the record. Says once if that can't be done."""
        copy = Path(os.environ.get("FLUXLITE_HAND_INS", ""), progress.FILE)
        if not progress.path().is_file():  # nothing has been guessed yet
            return
        try:
            copy.parent.mkdir(mode=0o750, exist_ok=True)
            if copy.is_symlink():
                raise OSError(0, "there's a link in its place")
            write_whole(copy, progress.path().read_bytes())
        except OSError as error:
            notice("wall is away", f"Your guesses can't be put into {copy.parent} for the wall: {error.strerror}.")

    def end(self) -> None:
        """Copy nothing more."""


_sender: Sender | Copier | None = None


def join(where: str, name: str = "") -> None:
    """Send your guesses, checks and puzzles to the class's wall from now on, with those that you've made so far.

    `where` is what the wall shows: an address and a code, or ``"hub"``. `name` is up to you; without one you're a guest
    with a number. It isn't encrypted. It ends with `leave`, or after twelve hours; other lessons of this folder go on
    with it. Nothing is raised: it says what happened.

    >>> join("192.168.1.17")
    join takes what the wall shows, such as join("192.168.1.17:8787/KMPRTW"), and a name if you like, got '192.168.1.17'
    """
    membership = _membership(str(where).strip(), as_name(str(name)))
    if membership is None:
        example = 'join("192.168.1.17:8787/KMPRTW")'
        print(f"join takes what the wall shows, such as {example}, and a name if you like, got {where!r}")
        return
    if not _begin(membership):
        print(
            f"Nothing can be sent from here: a browser's Python has no threads and no network. Instead, {_on_paper()}"
        )
        return
    _keep(membership)
    if isinstance(_sender, Sender):
        _sender.tried.wait(AT_MOST)
        if _sender.outcome != SENT:
            return  # it has said why, or will
        number = _sender.answer.get("guest")
        whom = f"as {membership.name}" if membership.name else f"as guest {number}"
    else:
        whom = "under the name of your account"
    sent = "It gets your guesses, checks and puzzles so far, and those to come; not your notebooks."
    how = "from fluxlite_course import leave; leave() ends it."
    print(at_words(f"You've joined {membership.wall}, {whom}. {sent} {how}"))


def leave() -> None:
    """Send nothing more to the wall. What it has heard stays there until the teacher ends it.

    >>> leave()
    Nothing is sent to a wall.
    """
    _end()
    with contextlib.suppress(OSError):
        kept = _kept()
        if kept is not None:  # the secret stays, so that who comes back is the same guest
            _write(kept._replace(since=0.0))
    print("Nothing is sent to a wall.")


def resume() -> str:
    """Go on sending if another notebook of this folder has joined. Returns what to say about it, or nothing."""
    membership = _kept()
    if membership is None or not 0 <= time.time() - membership.since < LASTS:
        return ""
    if not _begin(membership):
        return ""
    whom = f" as {membership.name}" if membership.name else ""
    how = "from fluxlite_course import leave; leave() ends it"
    return f"Your guesses, checks and puzzles go to {membership.wall}{whom}; {how}."


def _membership(where: str, name: str) -> Membership | None:
    """What `where` names, with the secret that this lab has already, or a new one. None if it can't be read."""
    before = _kept()
    secret = before.secret if before else secrets.token_hex(SECRET // 2)
    if where.lower() == HUB and os.environ.get("FLUXLITE_HAND_INS"):
        return Membership("", 0, "", name, secret, time.time())
    found = WHERE.fullmatch(where)
    if not found or not 0 < int(found[2]) < 65_536:
        return None
    return Membership(found[1], int(found[2]), found[3].upper(), name[:LONGEST_NAME], secret, time.time())


def _begin(membership: Membership) -> bool:
    """Send from now on. False where that can't be done."""
    global _sender
    _end()
    if sys.platform == "emscripten":
        return False
    sender: Sender | Copier = Sender(membership) if membership.host else Copier(membership)
    try:
        sender.send()
    except RuntimeError:  # there are no threads
        return False
    _sender = sender
    progress.listeners.append(sender.send)
    return True


def _end() -> None:
    global _sender
    if _sender is not None:
        _sender.end()
        with contextlib.suppress(ValueError):
            progress.listeners.remove(_sender.send)
        _sender = None


def _on_paper() -> str:
    """What helps without a network."""
    if not progress.lesson():
        return 'letters("02") of fluxlite_course has eight letters to write on paper, for lesson 02, say.'
    return (
        f"write these letters on paper: {letters.mine(progress.lesson())}. letters() shows them after your next guess."
    )


def _file() -> Path:
    return progress.path().with_name(FILE)


def _keep(membership: Membership) -> None:
    """Remember it for the other lessons. Where nothing can be written, it lasts as long as this kernel."""
    with contextlib.suppress(OSError):
        _write(membership)


def _write(membership: Membership) -> None:
    write_whole(_file(), json.dumps(membership._asdict()).encode())
    os.chmod(_file(), 0o600)


def _kept() -> Membership | None:
    """What was remembered, or None."""
    try:
        kept = Membership(**json.loads(_file().read_text(encoding="utf-8")))
        known = Membership(*(kind(value) for kind, value in zip((str, int, str, str, str, float), kept)))
    except (OSError, ValueError, TypeError):
        return None
    if len(known.secret) != SECRET:
        return None
    return known
