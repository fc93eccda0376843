"""A check's slips, each with the sentence that explains it: no two may look the same."""

import itertools

from fluxlite_course.kit.exercises import lesson, number_in
from fluxlite_course.kit.vocabulary import same


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
