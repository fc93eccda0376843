"""What a page is told of the room: the wall only what it shows, the teacher's desk also the list of guests.

As long as the answer is hidden, the wall's page doesn't know it; the same goes for names.
"""

from collections.abc import Iterable
from typing import Any

from .. import exercises
from ..boxes import marked
from ..guesses import Question
from ..puzzles import in_words
from .hearing import all_puzzles, asked_in
from .room import Guest, Room


def on_the_wall(room: Room) -> dict[str, Any]:
    """What the projector's page shows."""
    number = exercises.number_in(room.question)
    asks = asked_in(number)
    at = list(asks).index(room.question) + 1
    return {
        "question": _question(room, asks[room.question]),
        "place": {
            "id": room.question,
            "lesson": number,
            "number": at,
            "of": len(asks),
        },
        "ids": room.ids,
        "guests": len(room.guests),
        "guessed": sum(room.question in guest.guesses for guest in room.guests.values()),
        "checks": [_check(room, exercise) for exercise in exercises.in_lesson(number).values()],
        "puzzles": [_puzzle(room, id) for id in all_puzzles() if exercises.number_in(id) == number],
        "answerShown": room.answer_shown,
        "namesShown": room.names_shown,
        "doorOpen": room.door_open,
        "turnedAway": sum(room.remarks.values()) + room.more_remarks,
    }


def on_the_desk(room: Room) -> dict[str, Any]:
    """What the teacher's own page shows besides: who is there, and who was turned away. It has names in it."""
    remarks = [{"who": who, "why": why, "times": times} for (who, why), times in room.remarks.items()]
    if room.more_remarks:
        remarks.append({"who": "others", "why": "there are too many to list", "times": room.more_remarks})
    return {"list": [_row(room, guest) for guest in room.guests.values()], "remarks": remarks[::-1]}


def _question(room: Room, asks: Question) -> dict[str, Any]:
    options = []
    for letter, words in asks.options.items():
        chose = [guest for guest in room.guests.values() if guest.guesses.get(room.question) == letter]
        option = {"letter": letter, "words": marked(words), "count": len(chose), "names": _names(room, chose)}
        if room.answer_shown:
            option["right"] = letter in asks.right
        options.append(option)
    answer = ""
    if room.answer_shown:
        answer = marked(asks.conclusion("`"))
    return {"words": marked(asks.words), "options": options, "answer": f"{answer[:1].upper()}{answer[1:]}"}


def _check(room: Room, exercise: Any) -> dict[str, Any]:
    tried = [guest for guest in room.guests.values() if exercise.id in guest.checks]
    right = [guest for guest in tried if guest.checks[exercise.id] == exercises.RIGHT]
    names = _names(room, right)
    return {"id": exercise.id, "title": exercise.title, "right": len(right), "tried": len(tried), "names": names}


def _puzzle(room: Room, id: str) -> dict[str, Any]:
    one = all_puzzles()[id]
    played = [guest for guest in room.guests.values() if id in guest.puzzles]
    found = {"id": id, "par": in_words(one.counts, one.par), "best": "", "names": [], "played": len(played)}
    if played:
        best = min(guest.puzzles[id] for guest in played)
        found["best"] = in_words(one.counts, best)
        found["names"] = _names(room, (guest for guest in played if guest.puzzles[id] == best))
    return found


def _names(room: Room, guests: Iterable[Guest]) -> list[str]:
    """What the wall calls these guests; nothing while names are hidden."""
    if not room.names_shown:
        return []
    return sorted(guest.on_the_wall for guest in guests)


def _row(room: Room, guest: Guest) -> dict[str, Any]:
    return {
        "number": guest.number,
        "label": guest.label,
        "source": guest.source,
        "shown": guest.shown,
        "now": guest.guesses.get(room.question, ""),
        "guesses": len(guest.guesses),
        "right": list(guest.checks.values()).count(exercises.RIGHT),
    }
