"""Lesson 08's table of both sides: each row has the CPU's time and the card's, and says who's faster."""

from types import SimpleNamespace

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.course.both_sides import BothSides, Row, _row, both_sides


def row(cpu, gpu, name="a case"):
    return Row(name, 12, fl.Seconds(cpu, "measured"), fl.Seconds(gpu, "simulated", "NVIDIA T4"))


def test_who_is_faster_and_by_how_much():
    assert row(1e-3, 4e-3).winner == "CPU, 4.0 times"
    assert row(2.0, 1e-3).winner == "GPU, 2,000 times"


def test_the_head_says_the_kinds_of_both_sides_and_each_row_has_both():
    head, first, second = str(BothSides([row(1e-3, 4e-3), row(2e-3, 1e-3, "another")], "NVIDIA T4")).splitlines()
    assert "this CPU, measured" in head and "NVIDIA T4, simulated" in head
    assert "1 ms" in first and "4 ms" in first and "CPU, 4.0 times" in first
    assert second.startswith("another") and "GPU, 2.0 times" in second
    assert len({line.index("  CPU,") for line in (first,)} | {line.index("  GPU,") for line in (second,)}) == 1


def test_the_page_has_the_same_table():
    table = BothSides([row(1e-3, 4e-3, "a < b")], "NVIDIA T4")
    page = table._repr_html_()
    assert "this CPU, measured</th>" in page and "NVIDIA T4, simulated</th>" in page
    assert "a &lt; b</th><td>12</td><td>1 ms</td><td>4 ms</td><td>CPU, 4.0 times</td>" in page


def test_each_case_is_counted_estimated_and_timed():
    calls = []

    def run(x):
        calls.append(isinstance(x, np.ndarray))
        return np.tanh(x) + 1

    (found,) = both_sides({"tanh": (run, (np.ones(8, np.float32),))}, repeats=5).rows
    assert (found.launches, found.cpu.kind, found.gpu.kind, found.gpu.card) == (2, "measured", "simulated", "NVIDIA T4")
    assert calls.count(True) >= 6  # a warm-up and five repeats on the CPU
    assert found.cpu > 0 and found.gpu == fl.estimate(run, np.ones(8, np.float32), like="NVIDIA T4").seconds


def test_a_time_is_the_shortest_of_many(monkeypatch):
    clock = iter(np.cumsum([0, 0.02, 0, 0.001, 0, 0.003, 0, 0.04, 0, 0.05]))  # another program disturbed all but one
    monkeypatch.setattr("fluxlite.course.both_sides.time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    row = _row("tanh", np.tanh, (np.ones(2, np.float32),), "NVIDIA T4", 3)
    assert row.cpu == pytest.approx(0.001)
    assert float(next(clock)) == pytest.approx(0.064), "three runs, and one more to have enough seconds"


def test_what_cannot_be_compared():
    with pytest.raises(ValueError, match="at least one case"):
        both_sides({})
    with pytest.raises(ValueError, match="no preset for 'T5'"):
        both_sides({"a": (np.tanh, (np.ones(2),))}, "T5")
