"""Hand-ins of 0.2, whose lessons had other numbers: which of its exercises is which one now.

Only those are here that ask for the same now. The guesses aren't: their questions have other words and options.
"""

from typing import Any

# By 0.2's number, in the order of its lessons.
NOW = {
    "01.1": "01.1", "01.2": "01.2", "01.4": "01.3", "02.1": "02.1", "03.1": "02.2", "03.2": "02.3",
    "04.1": "03.1", "04.2": "03.2", "04.3": "03.3", "05.1": "04.1", "05.2": "04.2", "05.4": "04.3",
    "06.1": "05.1", "06.2": "05.2", "07.1": "06.1", "07.4": "06.2", "08.1": "07.1", "08.3": "07.2",
    "09.1": "11.1", "09.2": "11.2", "10.2": "16.1", "11.2": "12.1", "11.4": "12.2", "12.1": "13.1", "12.4": "13.2",
    "13.2": "14.2", "13.4": "14.1", "14.1": "08.1", "14.2": "08.2", "14.3": "08.3", "14.4": "08.4",
    "15.1": "09.1", "15.3": "09.2", "15.4": "09.3", "16.4": "10.2",
}  # fmt: skip


def is_of_0_2(record: Any) -> bool:
    """Whether a record of progress is one that 0.2 wrote: it named no edition."""
    learner = record.get("learner") if isinstance(record, dict) else None
    return isinstance(learner, dict) and "id" in learner and "edition" not in learner


def renumbered(record: dict[str, Any], edition: str) -> tuple[dict[str, Any], list[str]]:
    """A record of 0.2 as one of this `edition`, and what of it doesn't count. Raises `ValueError` for no record.

    >>> old = {"checks": {"01.4": "right", "02.4": "right"}, "guesses": {"03-A": "c"}, "learner": {"id": "x"}}
    >>> now, lost = renumbered(old, "3")
    >>> now["checks"], lost
    ({'01.3': 'right'}, ['02.4', '03-A'])
    """
    checks, guesses = record.get("checks", {}), record.get("guesses", {})
    if not isinstance(checks, dict) or not isinstance(guesses, dict):
        raise ValueError("this isn't a record of progress")
    counted = {NOW[id]: word for id, word in checks.items() if id in NOW}
    learner = {**record["learner"], "edition": edition}
    return {"checks": counted, "guesses": {}, "learner": learner}, sorted([*(checks.keys() - NOW.keys()), *guesses])
