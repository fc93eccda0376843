"""Is today's fluxlite what 0.2.0 was? Compares entries with the frozen ones, and says what to enter in changed.toml.

A part, such as ``names``, is a file of entries: names.json. An entry is a key with a text, or with a list of texts.
"""

from __future__ import annotations

import functools
import json
import re
import tomllib
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from tools.outputs import alike

FROZEN = Path(__file__).parent
PARTS = ("names", "receipts", "files", "documents", "examples", "replies")
SEEN_BY_TESTS = PARTS[-2:]  # from_tests.py
GONE = "gone"
Entry = str | list[str]
Entries = dict[str, Entry]

# Which entries have no last digits: those that begin so. A signature is its text, and what was saved is what's loaded.
EXACT = dict.fromkeys(PARTS, ()) | {"names": ("",), "files": ("model", "state", "training", "Local", "handin", "prog")}
# How far other numbers may be apart, relative to them; whole numbers are always equal. A training multiplies a last
# digit's difference.
TOLERANCE = {"replies": 1e-3, "files": 1e-5, "examples": 0.05}

_AGAIN = "it's as in 0.2.0 again: take its line out"


class Difference(NamedTuple):
    """An entry that isn't what it was, or isn't what changed.toml says it is now."""

    part: str
    key: str
    was: Entry
    now: Entry
    wrong: str = ""  # about its line in changed.toml

    def __str__(self) -> str:
        texts = zip_longest(*([x] if isinstance(x, str) else x for x in (self.was, self.now)), fillvalue="nothing")
        what = "\n".join(f"  0.2.0: {was}\n  now:   {now}" for was, now in texts if was != now)
        return f"{self.part}: {self.key}{f'  ({self.wrong})' if self.wrong else ''}\n{what}"

    def line(self) -> str:
        """Its line in changed.toml, but for the reason."""
        key, now = (json.dumps(x, ensure_ascii=False).replace("\x7f", "\\u007f") for x in (self.key, self.now))
        return f'{key} = {{ why = "", now = {now} }}'


def same(part: str, key: str, one: Entry, other: Entry) -> bool:
    """Whether two entries are the same, as far as processors agree."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(part, key, x, y) for x, y in zip(one, other))
    if key.startswith(EXACT[part]) or not (isinstance(one, str) and isinstance(other, str)):
        return one == other
    return alike(one, other, TOLERANCE.get(part, 0))


@functools.cache
def frozen(part: str) -> Entries:
    """What a part was in 0.2.0."""
    found: Entries = {}
    for key, entry in json.loads((FROZEN / f"{part}.json").read_text(encoding="utf-8")).items():
        found |= {f"{key}{row}": one for row, one in entry.items()} if isinstance(entry, dict) else {key: entry}
    return found


@functools.cache
def changed() -> dict[str, dict[str, dict[str, Entry]]]:
    """What isn't as it was, on purpose: by part and key, why, and what it is now."""
    return tomllib.loads((FROZEN / "changed.toml").read_text(encoding="utf-8"))


def differences(part: str, today: Entries, whole: bool = True) -> list[Difference]:
    """What isn't as frozen or as listed. What's new is no difference; nor, if it isn't the `whole`, what's missing."""
    found = []
    for key, was in frozen(part).items():
        listed = changed().get(part, {}).get(key)
        now = today.get(key, GONE)
        if (key not in today and not whole) or same(part, key, listed["now"] if listed else was, now):
            continue
        wrong = _AGAIN if same(part, key, was, now) else "not what's listed" if listed else ""
        found.append(Difference(part, key, was, now, wrong))
    return found


def difference(part: str, key: str, seen: list[str], taken: tuple[str, ...] = ()) -> Difference | None:
    """The same for what one test sees. Rows of a table with equal names share a key: "key", "key (2)" and so on.

    `taken` are the keys that lines in changed.toml are going to have.
    """
    known = variants(frozen(part), key)
    now = {name: line["now"] for name, line in variants(changed().get(part, {}), key).items()}
    if not known or any(same(part, key, one, seen) for one in {**known, **now}.values()):
        return None
    again = key in now and same(part, key, known[key], seen)
    number, name = len({**known, **now}), key
    while not again and (name in taken or name in now or (name in known and len(known) > 1)):
        number += 1
        name = f"{key} ({number})"
    return Difference(part, name, known[key], seen, _AGAIN if again else "")


def variants(entries: dict[str, Any], key: str) -> dict[str, Any]:
    """The entries that share a key."""
    return {name: entries[name] for name in entries if without_number(name) == key}


def without_number(name: str) -> str:
    return re.sub(r" \(\d+\)$", "", name)


def wrong_lines(listed: dict | None = None) -> list[str]:
    """What's wrong with changed.toml itself: an entry that there isn't, that isn't different, or has no reason."""
    found = []
    for part, lines in (changed() if listed is None else listed).items():
        known = frozen(part) if part in PARTS else {}
        for key, line in lines.items():
            was = variants(known, without_number(key)) if part in SEEN_BY_TESTS else {key: known.get(key)}
            if set(line) != {"why", "now"} or not str(line["why"]).strip():
                found.append(f'{part}: {key} needs {{ why = "a reason", now = … }}')
            elif not was or None in was.values():
                found.append(f"{part}: {key} isn't frozen")
            elif any(same(part, key, one, line["now"]) for one in was.values()):
                found.append(f"{part}: {key} is as in 0.2.0")
    return found


def as_toml(found: list[Difference]) -> str:
    """The lines for changed.toml, each in its part's table."""
    parts = {one.part: [each.line() for each in found if each.part == one.part] for one in found}
    return "\n\n".join("\n".join([f"[{part}]", *lines]) for part, lines in parts.items())


def told(found: list[Difference]) -> str:
    """What differs, and what to do about it: for a test that fails."""
    what = "\n".join(map(str, found))
    where = "tests/frozen/changed.toml"
    return f"not as in 0.2.0:\n{what}\n\nIf you mean it, say why in {where}, in these lines:\n\n{as_toml(found)}\n"


def written(entries: Entries) -> str:
    """The entries as a file's text, in order, one line for each. A test's rows stand below its name."""
    groups: dict[str, list[str]] = {}
    for key in sorted(entries):
        test, row = re.fullmatch(r"((?:\d\d )?test_\w+(?=\[)|)(.*)", key, re.DOTALL).groups()  # type: ignore[union-attr]
        groups.setdefault(_json(test), []).append(f"{_json(row)}: {_json(entries[key])}")
    alone = groups.pop('""', [])
    lines = [*alone, *(f"{test}: {{\n" + ",\n".join(rows) + "}" for test, rows in groups.items())]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(x: Entry) -> str:
    return json.dumps(x, ensure_ascii=False)
