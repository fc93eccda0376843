"""Is today's fluxlite what 0.3 was? Compares entries with the frozen ones, and says what to enter in changed.toml.

A part, such as ``names``, is a file of entries: names.json. An entry is a key with a text, or with a list of texts.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
import tomllib
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from tools.outputs import alike

FROZEN = Path(__file__).parent
PARTS = ("names", "files", "documents", "cards")
GONE = "gone"
Entry = str | list[str]
Entries = dict[str, Entry]

VERSION = "0.3"  # what's compared with: the data are of commit 19683022, where the work on 0.4 began
# Entries without last digits: a signature is its text, and what was saved is what's loaded.
EXACT = {
    "names": r"",
    "files": r"[\d.]+/(model|state|training|Local|handin|progress)",
    "documents": r"(?!)",
    "cards": r"",
}
# How far other numbers may be apart, relative to them; whole numbers are always equal.
TOLERANCE = {"files": 1e-5}

_AGAIN = f"it's as in {VERSION} again: take its line out"


class Difference(NamedTuple):
    """An entry that isn't what it was, or isn't what changed.toml says it is now."""

    part: str
    key: str
    was: Entry
    now: Entry
    wrong: str = ""  # about its line in changed.toml

    def __str__(self) -> str:
        texts = zip_longest(*([x] if isinstance(x, str) else x for x in (self.was, self.now)), fillvalue="nothing")
        what = "\n".join(f"  {VERSION}:  {was}\n  now:  {now}" for was, now in texts if was != now)
        return f"{self.part}: {self.key}{f'  ({self.wrong})' if self.wrong else ''}\n{what}"

    def line(self) -> str:
        """Its line in changed.toml, but for the reason."""
        key, now = (json.dumps(x, ensure_ascii=False).replace("\x7f", "\\u007f") for x in (self.key, self.now))
        return f'{key} = {{ why = "", now = {now} }}'


def same(part: str, key: str, one: Entry, other: Entry) -> bool:
    """Whether two entries are the same, as far as processors agree."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(part, key, x, y) for x, y in zip(one, other))
    if re.match(EXACT[part], key) or not (isinstance(one, str) and isinstance(other, str)):
        return one == other
    return alike(one, other, TOLERANCE.get(part, 0))


@functools.cache
def frozen(part: str) -> Entries:
    """What a part was in 0.3."""
    return json.loads((FROZEN / f"{part}.json").read_text(encoding="utf-8"))


@functools.cache
def changed() -> dict[str, dict[str, dict[str, Entry]]]:
    """What isn't as it was, on purpose: by part and key, why, and what it is now."""
    return tomllib.loads((FROZEN / "changed.toml").read_text(encoding="utf-8"))


def today(part: str) -> Entries:
    """What a part is now."""
    found = importlib.import_module(f"frozen.part_{part}")
    return found.entries(frozen(part)) if part == "names" else found.entries()


def differences(part: str, entries: Entries) -> list[Difference]:
    """What isn't as frozen or as listed. What's new is no difference."""
    found = []
    for key, was in frozen(part).items():
        listed = changed().get(part, {}).get(key)
        now = entries.get(key, GONE)
        if same(part, key, listed["now"] if listed else was, now):
            continue
        wrong = _AGAIN if same(part, key, was, now) else "not what's listed" if listed else ""
        found.append(Difference(part, key, was, now, wrong))
    return found


def wrong_lines(listed: dict | None = None) -> list[str]:
    """What's wrong with changed.toml itself: an entry that there isn't, that isn't different, or has no reason."""
    found = []
    for part, lines in (changed() if listed is None else listed).items():
        known = frozen(part) if part in PARTS else {}
        for key, line in lines.items():
            if set(line) != {"why", "now"} or not str(line["why"]).strip():
                found.append(f'{part}: {key} needs {{ why = "a reason", now = … }}')
            elif key not in known:
                found.append(f"{part}: {key} isn't frozen")
            elif part == "names" and line["now"] == GONE:
                found.append(f"{part}: {key} is gone: until 0.5, keep it, with a notice that names the new one")
            elif same(part, key, known[key], line["now"]):
                found.append(f"{part}: {key} is as in {VERSION}")
    return found


def as_toml(found: list[Difference]) -> str:
    """The lines for changed.toml, each in its part's table."""
    parts = {one.part: [each.line() for each in found if each.part == one.part] for one in found}
    return "\n\n".join("\n".join([f"[{part}]", *lines]) for part, lines in parts.items())


def told(found: list[Difference]) -> str:
    """What differs, and what to do about it: for a test that fails."""
    what = "\n".join(map(str, found))
    where = "tests/frozen/changed.toml"
    return f"not as in {VERSION}:\n{what}\n\nIf you mean it, say why in {where}, in these lines:\n\n{as_toml(found)}\n"


def written(entries: Entries) -> str:
    """The entries as a file's text, in order, one line for each."""
    return "{\n" + ",\n".join(f"{_json(key)}: {_json(entries[key])}" for key in sorted(entries)) + "\n}\n"


def _json(x: Entry) -> str:
    return json.dumps(x, ensure_ascii=False)
