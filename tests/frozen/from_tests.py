"""A plugin of pytest: what tests get to see anyway, compared with what it was in 0.2.0.

Two parts come from it: what the lessons' checks reply to the answers in their tests, and what the programs in examples/
print. It costs nothing, since these tests run anyway. A test goes by its name and its parameters, not by its file, so
files can move; nor does it matter if rows are added to a table. replies.json has what 0.2.0 replied to the answers in
today's tables.

    FLUXLITE_NOTED=FILE pytest -p frozen.from_tests tests/…      notes it in FILE, and compares nothing
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# For each part: which function that a test calls is listened to, and in which files it is today.
WATCHED = {"replies": ("judge", re.compile(r"lesson_?\d\d")), "examples": ("run", re.compile("test_examples"))}
NOTED = "FLUXLITE_NOTED"
# Texts whose numbers say nothing: measured times, random numbers without a seed, and where a training ends that a last
# digit leads elsewhere. They're left out: decimals, lists, times.
BY_CHANCE = re.compile(
    "that's this machine's time|your clock is that of this machine|the numbers are not those of model|"
    "the same seed gives other orders|off at each of the four points|off at one point|difference of the means"
)
_CHANCE = re.compile(r" *(?<=[ \[-])-?(?:\d+\.\d*(?: [nµm]s\b)?|\d+ [nµm]s\b|\d+(?=]|, ))")


def one_line(text: str) -> str:
    """A reply on one line, without what differs from run to run or if a file moves: folders, addresses, line numbers.

    >>> one_line("04.1  right   see /tmp/x/a.npy\\n      your line   line 97: f(x)")
    '04.1 right see …/a.npy | your line line …: f(x)'
    """
    text = re.sub(r"(?<![\w/.])/[^\s'\",:]*/([^\s'\",:/]+)", r"…/\1", text)
    text = re.sub(r"0x[0-9a-f]{6,}", "0x…", text)
    text = re.sub(r"\bline \d+( of \w+\.py)?", "line …", text)
    if BY_CHANCE.search(text):
        text = re.sub(r" +]", "]", _CHANCE.sub(" #", text))
    return re.sub(r" +", " ", re.sub(r"\n\s*", " | ", text.strip()))


def learned(printed: str) -> str:
    """A program's output without notices, and without the texts and pictures that it draws when it has learned."""
    lines = [line for line in printed.splitlines() if not line.startswith(("[ Info", "┌", "└"))]
    last = max((i for i, line in enumerate(lines) if re.search("->|accuracy|width", line)), default=len(lines))
    return "\n".join(lines[: last + 1])


def key_of(name: str, params: dict[str, Any], seen: list[str]) -> str:
    """A test's key: the lesson that its first reply is about, its name, and its parameters without their row's number.

    >>> key_of("test_wrong[04.3-answers31-too many]", {"id": 1, "answers": 2, "words": 3}, ["04.3 not right …"])
    '04 test_wrong[04.3-answers-too many]'
    """
    for param in params:
        name = re.sub(rf"(?<=[\[-]){re.escape(param)}\d+(?=[]-])", param, name)
    lesson = re.match(r"\d\d(?=[.-])", seen[0]) if seen else None
    return f"{lesson[0]} {name}" if lesson else name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Compares what's seen in a test with what was seen in 0.2.0, if the test passes."""
    part = "examples" if WATCHED["examples"][1].search(item.path.name) else "replies"
    name = WATCHED[part][0]
    names = getattr(getattr(item, "function", None), "__globals__", {})  # a table's test is in tests/course/answers.py
    function = names.get(name)
    if function is None:
        check_that_it_has_no_replies(item)
        return (yield)
    seen: list[str] = []

    def noted(*args: Any, **kwargs: Any) -> Any:
        reply = function(*args, **kwargs)
        seen.append(one_line(learned(str(reply)) if part == "examples" else str(reply)))
        return reply

    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(names, name, noted)
        result = yield
    key = key_of(item.name, item.callspec.params if hasattr(item, "callspec") else {}, seen)
    if os.environ.get(NOTED):
        with open(os.environ[NOTED], "a", encoding="utf-8") as file:
            file.write(json.dumps([part, key, seen]) + "\n")
        return result
    from frozen.comparing import difference, told

    if found := difference(part, key, seen):
        pytest.fail(told([found]), pytrace=False)
    return result


def check_that_it_has_no_replies(item: pytest.Item) -> None:
    """Fails if nothing listens in a lesson's test that had replies in 0.2.0: then `judge` has another name."""
    from frozen.comparing import frozen

    where, name = f"{item.path.parent.name}/{item.path.name}", item.name.partition("[")[0]
    known = (re.split(r"^\d\d |[\[ ]", key)[1] for key in frozen("replies"))
    if WATCHED["replies"][1].search(where) and name in known:
        pytest.fail(f"nothing listens to the checks in {where}: enter their function's name in WATCHED of {__file__}")


def entries(noted: Path, part: str) -> dict[str, list[str]]:
    """What was noted, as entries. A test that saw nothing is only kept if others have its name."""
    rows = [json.loads(line) for line in noted.read_text(encoding="utf-8").splitlines()]
    rows = sorted((key, seen) for its, key, seen in rows if its == part)
    names = {re.sub(r"^\d\d ", "", key) for key, seen in rows if seen}
    found: dict[str, list[list[str]]] = {}
    for key, seen in rows:
        if (seen or key in names) and seen not in found.setdefault(key, []):
            found[key].append(seen)
    return {f"{key} ({i})" if i > 1 else key: seen for key, some in found.items() for i, seen in enumerate(some, 1)}
