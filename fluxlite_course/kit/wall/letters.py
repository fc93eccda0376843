"""Eight letters: a learner's guesses of one lesson on paper, where no network leads to the wall.

They carry three things, and nothing else: the lesson's number, from 00 to 24; for each of the lesson's first six
questions, in the order of its ``questions.toml``, no guess or a, b, c or d; and a number from 0 to 8,715, made from
the random id in the learner's record, so that letters typed again count once. The eighth letter is a checksum: it finds
every single wrong letter, and every two that changed places.

The letters are 23, all but I, O and V, which are read as others. As 23 is prime, seven of them are a number below
23 to the 7th power, and the sum of each letter's value times its place is divisible by 23, as in the ISBN of a book.
"""

from typing import NamedTuple

from .. import exercises, progress
from .hearing import asked_in

LETTERS = "ABCDEFGHJKLMNPQRSTUWXYZ"
BASE = len(LETTERS)
LENGTH = 8
MOST_LESSONS = 25
MOST_QUESTIONS = 6
CHOICES = ("", "a", "b", "c", "d")
OF_GUESSES = len(CHOICES) ** MOST_QUESTIONS
TAGS = BASE ** (LENGTH - 1) // (MOST_LESSONS * OF_GUESSES)


class OnPaper(NamedTuple):
    """What eight letters carry."""

    tag: int
    lesson: str
    guesses: dict[str, str]


def write(tag: int, lesson: str, guesses: dict[str, str]) -> str:
    """Eight letters, in two groups.

    >>> write(4711, "02", {"02-A": "c", "02-C": "b"})
    'NKYD-LBXT'
    """
    number = tag % TAGS * MOST_LESSONS + int(lesson)
    for id in _ids(lesson):
        number = number * len(CHOICES) + CHOICES.index(guesses.get(id, ""))
    values: list[int] = []
    for _ in range(LENGTH - 1):
        number, value = divmod(number, BASE)
        values.insert(0, value)
    values.append(_last(values))
    text = "".join(LETTERS[value] for value in values)
    return f"{text[:4]}-{text[4:]}"


def read(text: str) -> OnPaper:
    """What eight letters carry. Capitals, spaces and hyphens don't matter. Raises `ValueError`, which says what does.

    >>> read("nkyd lbxt")
    OnPaper(tag=4711, lesson='02', guesses={'02-A': 'c', '02-C': 'b'})
    """
    letters = [letter for letter in text.upper() if letter not in " -–\t\r\n"]
    for letter in letters:
        if letter not in LETTERS:
            raise ValueError(f"{letter!r} is none of the letters: {LETTERS}")
    if len(letters) != LENGTH:
        raise ValueError(f"they are {LENGTH} letters, and these are {len(letters)}")
    values = [LETTERS.index(letter) for letter in letters]
    if values.pop() != _last(values):
        raise ValueError("a letter is wrong, or two changed places: read them once more")
    number = 0
    for value in values:
        number = number * BASE + value
    chosen: list[str] = []
    for _ in range(MOST_QUESTIONS):
        number, choice = divmod(number, len(CHOICES))
        chosen.insert(0, CHOICES[choice])
    tag, lesson_number = divmod(number, MOST_LESSONS)
    lesson = f"{lesson_number:02}"
    if lesson not in exercises.folders() or tag >= TAGS:
        raise ValueError("they belong to no lesson: read them once more")
    return OnPaper(tag, lesson, _known(lesson, chosen))


def _last(values: list[int]) -> int:
    """The checksum: with it, the values times their places, from 1, add up to a multiple of 23."""
    total = sum(place * value for place, value in enumerate(values, start=1))
    return -total * pow(LENGTH, -1, BASE) % BASE


def _ids(lesson: str) -> list[str]:
    """The lesson's questions that are carried; an empty id for each one that it hasn't got."""
    found = list(asked_in(lesson))[:MOST_QUESTIONS]
    return found + [""] * (MOST_QUESTIONS - len(found))


def _known(lesson: str, chosen: list[str]) -> dict[str, str]:
    """The guesses among these choices. Raises `ValueError` for an option that the question hasn't got."""
    found: dict[str, str] = {}
    for id, letter in zip(_ids(lesson), chosen):
        if not letter:
            continue
        if not id or letter not in asked_in(lesson)[id].options:
            raise ValueError("they name an option that doesn't exist: read them once more")
        found[id] = letter
    return found


def mine(lesson: str) -> str:
    """This learner's letters for a lesson. Raises `ValueError` for an unknown lesson."""
    exercises.folder(lesson)
    return write(progress.tag(), lesson, progress.read()["guesses"])


def letters(lesson: str = "") -> None:
    """Print the eight letters that carry your guesses of a lesson, to write on paper for your teacher.

    Without a number, it's the lesson that this notebook began. They change with your guesses. Raises `ValueError` for
    an unknown lesson.

    >>> letters("02")
    Lesson 02: ...-...  These letters are your guesses so far: write them on paper for your teacher.
    """
    number = lesson or progress.lesson()
    if not number:
        print('Which lesson? Write its number: letters("02")')
        return
    print(
        f"Lesson {number}: {mine(number)}  These letters are your guesses so far: write them on paper for your teacher."
    )
