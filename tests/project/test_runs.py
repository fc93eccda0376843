"""What was run where: the page says what the records say, and nothing else."""

import re
from pathlib import Path

import pytest

from tools import runs

RECORD = {
    "name": "slow(browser)", "version": "0.4.0", "commit": "0" * 8, "date": "2026-11-29",
    "system": "A system 12, x86_64", "python": "3.11.7", "numpy": "2.4.6", "browser": "Chromium 142", "card": "",
    "passed": True, "said": "146 passed", "minutes": 3.6,
}  # fmt: skip


def test_the_page_has_the_tables_that_the_records_make():
    page = runs.PAGE.read_text(encoding="utf-8")
    made = page.partition(runs.BEGIN)[2].partition(runs.END)[0].strip()
    assert made == runs.tables(runs.read())


def both(records, page):
    """Systems, browsers and makers of cards that have run, and that the page still lists as not run."""
    (not_run,) = re.findall(r"## Not run\n(.*)", page, re.DOTALL)
    ran = {
        word for one in records for what in ("system", "browser", "card") for word in re.findall("[A-Z]\\w+", one[what])
    }
    return [name for name in sorted(ran) if re.search(rf"\b{re.escape(name)}\b", not_run)]


def test_what_has_run_is_not_listed_as_not_run():
    page = runs.PAGE.read_text(encoding="utf-8")
    assert not both(runs.read(), page)
    assert both([{**RECORD, "browser": "Chromium 1, Safari 27"}, {**RECORD, "card": "NVIDIA T4"}], page) == [
        "NVIDIA",
        "Safari",
    ]


def test_a_run_replaces_the_last_one_of_its_kind(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "RUNS", tmp_path / "runs.json")
    monkeypatch.setattr(runs, "PAGE", tmp_path / "page.md")
    Path(runs.RUNS).write_text("[]", encoding="utf-8")
    Path(runs.PAGE).write_text(f"before\n{runs.BEGIN}\n{runs.END}\nafter\n", encoding="utf-8")
    runs.keep(RECORD)
    runs.keep({**RECORD, "system": "Another 9, arm64"})
    runs.keep({**RECORD, "passed": False, "said": "1 failed, 145 passed"})
    page = runs.PAGE.read_text(encoding="utf-8")
    assert page.startswith("before\n") and page.endswith(f"{runs.END}\nafter\n")
    assert len(runs.read()) == 2 and "146 passed" in page and "**failed**: 1 failed, 145 passed" in page
    assert "| cards | none |" in page and "| systems | Another 9, arm64, A system 12, x86_64 |" in page


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("===== 3 passed, 1 skipped in 2.00s =====\n..\n4 passed in 61.10s (0:01:01)\n", "7 passed, 1 skipped"),
        ("1 failed, 14526 passed, 64 skipped in 319.74s (0:05:19)\n", "1 failed, 14,526 passed, 64 skipped"),
        ("10,000 traces\n\nnox > Session races was successful.\n", "10,000 traces"),
        ("nox > Session site skipped: there's no Chromium here\n", ""),
    ],
)
def test_a_run_is_told_by_what_it_printed_last(printed, said):
    assert runs.closing(printed) == said


def test_a_run_that_fails_is_kept_as_failed(monkeypatch):
    monkeypatch.setitem(runs.COMMANDS, "make test", ["sh", "-c", "echo no such thing; exit 2"])
    record = runs.run("make test", [])
    assert record["passed"] is False and record["said"] == "no such thing" and record["system"] and record["python"]
