"""What a check replies to the answers that learners give: a lesson's tests are tables of them."""

import itertools

import pytest

from fluxlite_course.kit.exercises import judge, lesson, number_in
from fluxlite_course.kit.vocabulary import same


def replies(word, *rows):
    """A test: for each row, `(id, answers, words)`, the check says `word`, and its reply has these words, if any."""

    @pytest.mark.parametrize(("id", "answers", "words"), [(*row, "")[:3] for row in rows])
    def test(id, answers, words, monkeypatch):
        if word == "right":
            each_slip_has_a_value_of_its_own(id, monkeypatch)
        reply = judge(id, *answers)
        assert reply.word == word and words in str(reply), str(reply)

    return test


def each_slip_has_a_value_of_its_own(id, monkeypatch):
    """From here on, `expect` refuses slips with the same value: a reply would fit another slip by accident."""
    checks = lesson(number_in(id))
    expect = getattr(checks, "expect", None)

    def careful(got, wanted, *more, **keywords):
        slips = next((one for one in more if isinstance(one, dict)), keywords.get("slips")) or {}
        tolerances = {name: keywords[name] for name in ("rtol", "atol") if name in keywords}
        values = [(words, value) for words, value in slips.items() if not same(value, wanted, **tolerances)]
        for (words, one), (other_words, other) in itertools.combinations(values, 2):
            assert not same(one, other, **tolerances), f"{words!r} and {other_words!r} are the same"
        expect(got, wanted, *more, **keywords)

    if expect is not None:
        monkeypatch.setattr(checks, "expect", careful)


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
