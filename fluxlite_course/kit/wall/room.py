"""The room: all that the wall knows, without a network, a file or a page.

A guest is one lab, one learner's record in a shared folder, or one sheet with letters. A key tells guests apart: of a
lab's secret we keep only a hash, so nothing that the wall shows or keeps lets anyone send in another's name.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import exercises, handins
from . import letters
from .hearing import Heard, as_name, asked_in, counted, read_message

MOST_GUESTS = 200
MOST_REMARKS = 200  # kinds of what was turned away or is worth a look; others are only counted
MOST_REMARKS_EACH = 5  # of one guest, so that nobody's fill the list
SECRET = 32  # hexadecimal digits of a lab's secret
AT_ONCE, A_SECOND = 20, 2  # messages that a lab may send at once, and how many more it may with each second
CODE_LENGTH = 6
LAB, FILE, PAPER = "lab", "file", "paper"


class Refused(Exception):
    """A message isn't heard. It says why, and the HTTP status that says it too."""

    def __init__(self, why: str, status: int) -> None:
        super().__init__(why)
        self.status = status


@dataclass
class Guest:
    number: int
    label: str  # the name, with a number if others have it, too; "guest 7" for one without
    name: str
    source: str
    guesses: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)
    puzzles: dict[str, float] = field(default_factory=dict)
    shown: bool = True  # whether the wall may show the name, when it shows names
    allowance: float = AT_ONCE
    last: float = 0.0

    @property
    def on_the_wall(self) -> str:
        """What the wall calls this guest when names are shown."""
        if self.shown:
            return self.label
        return f"guest {self.number}"

    def take(self, heard: Heard) -> None:
        """Add what was heard. What was right once stays right, and of two guesses the later one counts."""
        self.guesses |= heard.guesses
        self.checks |= {id: word for id, word in heard.checks.items() if self.checks.get(id) != exercises.RIGHT}
        for id, figure in heard.puzzles.items():
            self.puzzles[id] = min(figure, self.puzzles.get(id, figure))


class Room:
    """Everything that was heard, and what the teacher chose to show. `changed` is called after each change."""

    def __init__(self, lesson: str = "", changed: Callable[[], None] = lambda: None) -> None:
        self.code = "".join(secrets.choice(letters.LETTERS) for _ in range(CODE_LENGTH))
        self.changed = changed
        self.guests: dict[str, Guest] = {}
        self.removed: dict[str, str] = {}  # labels, by key
        self.remarks: dict[tuple[str, str], int] = {}  # whom it concerns and why, and how often
        self.more_remarks = 0
        self.ids = [id for number in exercises.folders() for id in asked_in(number)]
        self.question = next(iter(asked_in(lesson or min(exercises.folders()))))
        self.answer_shown = False
        self.names_shown = False
        self.door_open = True
        self._numbered = 0

    # -- what comes in --------------------------------------------------------------------------------------------

    def hear(self, code: str, secret: str, body: bytes | bytearray | None, address: str, now: float) -> Guest:
        """Hear a lab's message at the time `now`, in seconds. Raises `Refused`, and remarks whom and why.

        `body` is None if it was too long to be read. `address` is where it comes from: it only names a sender that has
        no secret, or isn't known.
        """
        someone = f"someone at {address}"
        if not secrets.compare_digest(code.upper().encode(), self.code.encode()):
            raise self._refuse(someone, "another code than the wall's", 403)
        if len(secret) != SECRET or not set(secret) <= set("0123456789abcdef"):
            raise self._refuse(someone, "it isn't what a lab sends", 400)
        key = key_of(LAB, secret)
        if key in self.removed:
            raise self._refuse(self.removed[key], "you removed this guest", 403)
        guest = self.guests.get(key)
        if guest is not None:
            self._spend(guest, now)
            someone = guest.label
        try:
            heard = read_message(body)
        except ValueError as error:
            raise self._refuse(someone, str(error), 400) from None
        if guest is None:
            guest = self._welcome(key, LAB, heard.name, someone)
            guest.last = now
        self._listen_to(guest, heard)
        return guest

    def put(self, key: str, source: str, name: str, record: dict[str, Any], rename: bool = False) -> None:
        """Take what a file or a sheet of paper says. A record that can't be read is remarked.

        With `rename`, a guest who is there already, under another name, gets this one.
        """
        if key in self.removed:
            return
        try:
            heard = counted(name, record)
            guest = self.guests.get(key) or self._welcome(key, source, heard.name, as_name(name))
        except (ValueError, Refused) as error:
            self.remark(as_name(name), str(error))
            return
        if rename and guest.name != heard.name:
            self._rename(guest, heard.name)
        self._listen_to(guest, heard)

    def put_letters(self, text: str, name: str = "") -> Guest:
        """Take eight letters from paper. Raises `ValueError`, which says what's wrong with them."""
        on_paper = letters.read(text)
        key = key_of(PAPER, str(on_paper.tag))
        if key in self.removed:
            raise ValueError("you removed the guest with these letters")
        guest = self.guests.get(key)
        if guest is None:
            guest = self._welcome(key, PAPER, as_name(name), "letters on paper")
        elif name and as_name(name) != guest.name:
            self._rename(guest, as_name(name))
        # The letters carry the whole lesson: what isn't in them any more isn't guessed.
        others = {id: letter for id, letter in guest.guesses.items() if exercises.number_in(id) != on_paper.lesson}
        guest.guesses = others | on_paper.guesses
        self.changed()
        return guest

    def remark(self, who: str, why: str) -> None:
        """Note for the teacher whom it concerns, and why. The same again is only counted."""
        kinds = sum(one == who for one, _ in self.remarks)
        if kinds >= MOST_REMARKS_EACH and (who, why) not in self.remarks:
            why = "more that differs"
        if (who, why) in self.remarks or len(self.remarks) < MOST_REMARKS:
            self.remarks[who, why] = self.remarks.get((who, why), 0) + 1
        else:
            self.more_remarks += 1
        self.changed()

    def _refuse(self, who: str, why: str, status: int) -> Refused:
        self.remark(who, why)
        return Refused(why, status)

    def _spend(self, guest: Guest, now: float) -> None:
        """Count a message against what this lab may send. It's for each lab: a school may have one address."""
        guest.allowance = min(AT_ONCE, guest.allowance + A_SECOND * (now - guest.last))
        guest.last = now
        if guest.allowance < 1:
            raise self._refuse(guest.label, "it sends too often", 429)
        guest.allowance -= 1

    def _welcome(self, key: str, source: str, name: str, someone: str) -> Guest:
        """A new guest. Raises `Refused` if the door is closed, or the room full."""
        if source == LAB and not self.door_open:
            raise self._refuse(name or someone, "you closed the door", 403)
        if len(self.guests) >= MOST_GUESTS:
            raise self._refuse(name or someone, f"the room is full, with {MOST_GUESTS} guests", 403)
        self._numbered += 1
        guest = Guest(self._numbered, "", "", source)
        self._rename(guest, name)
        self.guests[key] = guest
        return guest

    def _rename(self, guest: Guest, name: str) -> None:
        """Give a guest a name. If another one has it, it gets a number, and the teacher a remark."""
        guest.name = name
        called = name or f"guest {guest.number}"
        taken = {handins.comparable(one.label) for one in self.guests.values() if one is not guest}
        guest.label = called
        count = 1
        while handins.comparable(guest.label) in taken:
            count += 1
            guest.label = f"{called} ({count})"
        if count > 1:
            self.remark(guest.label, "another guest had this name first")

    def _listen_to(self, guest: Guest, heard: Heard) -> None:
        if heard.name != guest.name and heard.name and guest.source == LAB:
            self._rename(guest, heard.name)
        if heard.strange:
            self.remark(guest.label, heard.what_is_strange)
        before = (dict(guest.guesses), dict(guest.checks), dict(guest.puzzles))
        guest.take(heard)
        if before != (guest.guesses, guest.checks, guest.puzzles) or not any(before):
            self.changed()

    # -- what the teacher does ------------------------------------------------------------------------------------

    def go(self, id: str) -> None:
        """Show a question, without its answer. Raises `ValueError` for an unknown one."""
        exercises.find(id, "question", dict.fromkeys(self.ids))
        self.question = id
        self.answer_shown = False
        self.changed()

    def step(self, by: int) -> None:
        """Go to the next question, or the one before. At the ends it stays."""
        at = self.ids.index(self.question) + by
        if 0 <= at < len(self.ids):
            self.go(self.ids[at])

    def show(self, what: str) -> None:
        """Switch something on or off: the ``answer``, all ``names``, or whether the ``door`` is open."""
        if what == "answer":
            self.answer_shown = not self.answer_shown
        elif what == "names":
            self.names_shown = not self.names_shown
        else:
            self.door_open = not self.door_open
        self.changed()

    def show_name(self, number: int) -> None:
        """Let the wall show a guest's name, or not, when it shows names. Raises `ValueError` for an unknown guest."""
        guest = self.guests[self._key(number)]
        guest.shown = not guest.shown
        self.changed()

    def remove(self, number: int) -> None:
        """Forget a guest, and hear nothing more from there. Raises `ValueError` for an unknown one."""
        key = self._key(number)
        self.removed[key] = self.guests.pop(key).label
        self.changed()

    def _key(self, number: int) -> str:
        for key, guest in self.guests.items():
            if guest.number == number:
                return key
        raise ValueError(f"there is no guest {number}")

    def record(self) -> list[dict[str, Any]]:
        """All guests, as they're kept in a file if the teacher wants that."""
        parts = ("label", "source", "guesses", "checks", "puzzles")
        return [{part: getattr(guest, part) for part in parts} for guest in self.guests.values()]


def key_of(source: str, secret: str) -> str:
    """What a guest is known by: a hash, from which nobody gets the secret back."""
    return hashlib.sha256(f"{source} {secret}".encode()).hexdigest()
