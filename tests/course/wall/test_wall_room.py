"""The room behind the wall: what it hears, what it turns away, and what it shows. No network."""

import json
import random

import pytest

from fluxlite_course.kit import exercises
from fluxlite_course.kit.guesses import questions
from fluxlite_course.kit.wall import letters, view
from fluxlite_course.kit.wall.hearing import all_puzzles
from fluxlite_course.kit.wall.room import AT_ONCE, MOST_GUESTS, MOST_REMARKS, Refused, Room

ADA, BOB, EVE = "a" * 32, "b" * 32, "e" * 32


def hear(room, secret, now=0.0, code=None, **message):
    return room.hear(code or room.code, secret, json.dumps(message).encode(), "10.0.0.9", now)


def refused(room, *arguments, **message):
    with pytest.raises(Refused) as stop:
        hear(room, *arguments, **message)
    return stop.value.status


def counts(room):
    return [option["count"] for option in view.on_the_wall(room)["question"]["options"]]


def labels(room):
    return [guest.label for guest in room.guests.values()]


def test_a_guess_is_a_bar_and_a_later_one_replaces_it():
    room = Room("02")
    hear(room, ADA, guesses={"02-A": "c"})
    hear(room, BOB, guesses={"02-A": "a"})
    assert counts(room) == [1, 0, 1, 0]
    hear(room, ADA, guesses={"02-A": "a"})
    assert counts(room) == [2, 0, 0, 0]
    hear(room, ADA)  # one with less in it takes nothing away
    assert counts(room) == [2, 0, 0, 0]


def test_what_was_right_stays_right_and_a_puzzles_best_is_the_lowest():
    room = Room("11")
    hear(room, ADA, checks={"11.1": "right"}, puzzles={"11-1": "0.004"})
    hear(room, ADA, checks={"11.1": "not right", "11.2": "stopped"}, puzzles={"11-1": "0.009"})
    hear(room, BOB, name="Bob", puzzles={"11-1": "0.003"})
    room.show("names")
    shown = view.on_the_wall(room)
    assert [(one["right"], one["tried"], one["names"]) for one in shown["checks"]] == [(1, 1, ["guest 1"]), (0, 1, [])]
    (puzzle,) = shown["puzzles"]
    assert (puzzle["best"], puzzle["names"], puzzle["played"]) == ("3 ms simulated (NVIDIA T4)", ["Bob"], 2)


@pytest.mark.parametrize("id", [id for number in exercises.folders() for id in questions(number)])
def test_the_answer_is_in_the_data_only_when_it_is_shown(id):
    room = Room()
    room.go(id)
    asks = questions(exercises.number_in(id))[id]
    hidden = json.dumps(view.on_the_wall(room)["question"])
    assert '"right"' not in hidden and view.on_the_wall(room)["question"]["answer"] == ""
    room.show("answer")
    shown = view.on_the_wall(room)["question"]
    assert [option["letter"] for option in shown["options"] if option["right"]] == list(asks.right)
    assert shown["answer"].startswith("It is ")
    room.go(id)
    assert json.dumps(view.on_the_wall(room)["question"]) == hidden


def test_names_are_hidden_at_first_and_one_may_stay_hidden():
    room = Room("02")
    hear(room, ADA, name="Ada", guesses={"02-A": "c"}, checks={"02.1": "right"})
    hear(room, BOB, name="Rude", guesses={"02-A": "c"})
    assert "Ada" not in json.dumps(view.on_the_wall(room))
    room.show("names")
    room.show_name(2)
    assert view.on_the_wall(room)["question"]["options"][2]["names"] == ["Ada", "guest 2"]
    assert "Rude" not in json.dumps(view.on_the_wall(room))
    assert [row["label"] for row in view.on_the_desk(room)["list"]] == ["Ada", "Rude"]
    room.show("names")
    assert "Ada" not in json.dumps(view.on_the_wall(room))


def test_the_same_name_from_elsewhere_is_a_second_guest():
    room = Room()
    for secret, name in ((ADA, "Zoë"), (EVE, "ZOE\u0308"), (BOB, "Zoë (2)")):
        hear(room, secret, name=name)
    assert labels(room) == ["Zoë", "ZOË (2)", "Zoë (2) (2)"]
    assert ("ZOË (2)", "another guest had this name first") in room.remarks
    hear(room, EVE, name="Eve")
    hear(room, ADA, name="Zoë")
    assert labels(room) == ["Zoë", "Eve", "Zoë (2) (2)"]


def test_names_are_printable_and_short():
    room = Room()
    names = ["\x1b[2J\u202eAda\n", "<b>Ada</b>", "A" * 200, "\ud800", "\u200b \u3164"]
    for k, name in enumerate(names):
        hear(room, f"{k:032x}", name=name)
    assert labels(room) == ["[2J Ada", "<b>Ada</b>", "A" * 30, "guest 4", "guest 5"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[" * 5_000, "JSON"),
        (b"[1]", "isn't what a lab sends"),
        (b'{"name": 3}', "isn't what a lab sends"),
        (b'{"guesses": ["02-A"]}', "aren't a table"),
        (b'{"checks": "right"}', "aren't a table"),
        (b"9" * 5_000, "JSON"),
        (b" " * 20_000, "more than 16,000 bytes"),
        (None, "more than 16,000 bytes"),
    ],
)
def test_rubbish_is_turned_away_and_the_teacher_reads_whose_and_why(body, why):
    room = Room()
    hear(room, ADA, name="Ada")
    for secret, whose in ((ADA, "Ada"), (EVE, "someone at 10.0.0.9")):
        with pytest.raises(Refused) as stop:
            room.hear(room.code, secret, body, "10.0.0.9", 0.0)
        assert stop.value.status == 400
        assert [reason for one, reason in room.remarks if one == whose and why in reason]
    assert labels(room) == ["Ada"]


def test_only_what_a_lesson_writes_counts_and_the_rest_is_named():
    room = Room("02")
    hear(
        room, ADA, name="Ada",
        guesses={"02-A": "z", "99-A": "a", "02-C": "b", "02-D": ["a"]},
        checks={"02.1": "perfect", "02.2": "right", "__proto__": "right"},
        puzzles={"05-1": "-1.0", "07-1": "nan", "07-2": "1e99", "11-1": 3, "12-9": "1.0"},
    )  # fmt: skip
    (ada,) = room.guests.values()
    assert (ada.guesses, ada.checks, ada.puzzles) == ({"02-C": "b"}, {"02.2": "right"}, {})
    ((whose, why),) = room.remarks
    assert whose == "Ada" and "02-A, 02-D, 02.1, 05-1, 07-1 and 5 more" in why


def test_a_puzzle_counts_whole_launches():
    for id, puzzle in all_puzzles().items():
        room = Room()
        hear(room, ADA, puzzles={id: "2.5"})
        (ada,) = room.guests.values()
        assert (id in ada.puzzles) == (puzzle.counts == "seconds")


def test_without_the_code_or_a_secret_nothing_is_heard():
    room = Room()
    assert refused(room, ADA, code="ABCDEF" if room.code != "ABCDEF" else "GHJKLM") == 403
    for secret in ("", "x" * 32, "a" * 31, "A" * 32, "../" * 10):
        assert refused(room, secret) == 400
    assert not room.guests and len(room.remarks) == 2
    hear(room, ADA, code=room.code.lower())
    assert len(room.guests) == 1


def test_one_lab_that_sends_too_often_is_held_back_and_no_other():
    room = Room("02")
    hear(room, EVE, name="Eve")
    heard = 0
    for k in range(1_000):
        try:
            hear(room, EVE, now=k / 1_000, guesses={"02-A": "abcd"[k % 4]})
            heard += 1
        except Refused as stop:
            assert stop.status == 429
    assert AT_ONCE <= heard <= AT_ONCE + 3
    assert room.remarks["Eve", "it sends too often"] == 1_000 - heard
    hear(room, ADA, now=1.0, guesses={"02-A": "b"})
    hear(room, EVE, now=60.0, guesses={"02-A": "c"})  # it isn't for ever
    assert counts(room) == [0, 1, 1, 0]


def test_the_room_and_the_teachers_list_have_an_end():
    room = Room()
    for k in range(MOST_GUESTS):
        hear(room, f"{k:032x}")
    assert refused(room, ADA) == 403
    for k in range(1_000):
        with pytest.raises(Refused):
            room.hear(room.code, ADA, b"{", f"10.0.{k}", 0.0)
    assert len(room.guests) == MOST_GUESTS and len(room.remarks) == MOST_REMARKS
    assert sum(room.remarks.values()) + room.more_remarks == 1_001
    assert view.on_the_wall(room)["turnedAway"] == 1_001
    assert view.on_the_desk(room)["remarks"][0]["who"] == "others"


def test_the_wall_says_which_of_a_lessons_questions_it_shows():
    place = view.on_the_wall(Room("02"))["place"]
    assert place == {"id": "02-A", "lesson": "02", "number": 1, "of": place["of"]} and place["of"] > 1


def test_nobodys_remarks_fill_the_list():
    room = Room()
    hear(room, EVE, name="Eve")
    for k in range(15):
        hear(room, EVE, guesses={f"99-{k}": "a"})
    assert [why for whose, why in room.remarks if whose == "Eve"][-1] == "more that differs"
    assert len(room.remarks) == 6


def test_a_removed_guest_is_forgotten_and_not_heard_again():
    room = Room("02")
    hear(room, EVE, name="Eve", guesses={"02-A": "a"})
    room.remove(1)
    assert refused(room, EVE, guesses={"02-A": "a"}) == 403
    assert not room.guests and room.remarks == {("Eve", "you removed this guest"): 1}
    room.put_letters(letters.write(7, "02", {"02-A": "b"}))
    room.remove(2)
    with pytest.raises(ValueError, match="removed"):
        room.put_letters(letters.write(7, "02", {"02-A": "b"}))
    with pytest.raises(ValueError, match="no guest 2"):
        room.remove(2)


def test_behind_a_closed_door_those_inside_are_heard():
    room = Room("02")
    hear(room, ADA)
    room.show("door")
    assert refused(room, BOB) == 403
    hear(room, ADA, guesses={"02-A": "a"})
    room.show("door")
    hear(room, BOB, guesses={"02-A": "a"})
    assert counts(room) == [2, 0, 0, 0]


def test_questions_are_gone_through_in_the_courses_order():
    room = Room()
    room.step(-1)
    seen = [room.question]
    for _ in room.ids:
        room.step(1)
        seen.append(room.question)
    assert seen == [*room.ids, room.ids[-1]]
    assert room.ids == [id for number in exercises.folders() for id in questions(number)]
    with pytest.raises(ValueError, match="99-A"):
        room.go("99-A")


def test_letters_typed_again_replace_their_lessons_guesses():
    room = Room("02")
    room.put_letters(letters.write(7, "02", {"02-A": "c", "02-D": "a"}))
    room.put_letters(letters.write(7, "03", {"03-A": "c"}))
    guest = room.put_letters(letters.write(7, "02", {"02-A": "b"}), "Ada")
    assert guest.guesses == {"02-A": "b", "03-A": "c"} and labels(room) == ["Ada"]
    room.put_letters(letters.write(8, "02", {"02-A": "b"}))
    assert counts(room) == [0, 2, 0, 0]


# -- eight letters ----------------------------------------------------------------------------------------------------


def guesses_of(number, draw):
    options = {id: ["", *asks.options] for id, asks in questions(number).items()}
    chosen = {id: draw.choice(letters_of) for id, letters_of in options.items()}
    return {id: letter for id, letter in chosen.items() if letter}


@pytest.mark.parametrize("number", list(exercises.folders()))
def test_eight_letters_carry_all_guesses_of_a_lesson(number):
    draw = random.Random(number)
    for _ in range(20):
        tag, guesses = draw.randrange(letters.TAGS), guesses_of(number, draw)
        assert letters.read(letters.write(tag, number, guesses)) == (tag, number, guesses)


def test_one_wrong_letter_and_two_that_changed_places_are_noticed():
    written = letters.write(4711, "02", {"02-A": "c", "02-C": "b"}).replace("-", "")
    wrong = [written[:k] + other + written[k + 1 :] for k in range(8) for other in letters.LETTERS]
    for k in range(8):
        for j in range(k):
            swapped = list(written)
            swapped[k], swapped[j] = swapped[j], swapped[k]
            wrong.append("".join(swapped))
    for text in {*wrong} - {written}:
        with pytest.raises(ValueError, match="a letter is wrong"):
            letters.read(text)


def test_letters_that_belong_to_nobody_are_refused():
    for text in ("", "ABC", "ABCDEFGHJ", "OOOO-OOOO", "1234-5678", "ÄÖÜ" * 3):
        with pytest.raises(ValueError, match="letters"):
            letters.read(text)
    draw = random.Random(1)
    for _ in range(2_000):  # chance may have a right checksum, but never more than the lessons have
        text = "".join(draw.choices(letters.LETTERS, k=8))
        try:
            found = letters.read(text)
        except ValueError:
            continue
        known = questions(found.lesson)
        assert all(letter in known[id].options for id, letter in found.guesses.items())
