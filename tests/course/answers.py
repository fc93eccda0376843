"""What a check replies to the answers that learners give: a lesson's tests are tables of them."""

import pytest
from slips import each_slip_has_a_value_of_its_own

from fluxlite_course.kit.exercises import judge
from fluxlite_course.kit.puzzles import play


def replies(word, *rows):
    """A test: for each row, `(id, answers, words)`, the check says `word`, and its reply has these words, if any."""

    @pytest.mark.parametrize(("id", "answers", "words"), [(*row, "")[:3] for row in rows])
    def test(id, answers, words, monkeypatch):
        if word == "right":
            each_slip_has_a_value_of_its_own(id, monkeypatch)
        reply = judge(id, *answers)
        assert reply.word == word and words in str(reply), str(reply)

    return test


def played(*rows):
    """A test: for each row, `(id, name, answer, words)`, a puzzle whose cell defines this name prints these words."""

    @pytest.mark.usefixtures("own_progress")
    @pytest.mark.parametrize(("id", "name", "answer", "words"), rows)
    def test(id, name, answer, words, capsys):
        play(id, {name: answer})
        printed = capsys.readouterr().out
        assert words in printed, printed

    return test


def not_right(*rows):
    return replies("not right", *rows)


def right(*rows):
    return replies("right", *rows)


class EqualToAll:
    """An answer that says of itself that it's equal to any other."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = None
