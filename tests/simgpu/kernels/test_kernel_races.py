"""The race detector against the definition of a race, on random programs; and the figures of single accesses."""

import os

import numpy as np
import pytest
from random_traces import found_by_definition, found_by_log, random_trace

TRACES = int(os.environ.get("FLUXLITE_TRACES", "600"))


@pytest.mark.parametrize("part", range(4))
def test_no_race_is_missed_and_none_is_false(part):
    races = 0
    for seed in range(part, TRACES, 4):
        trace = random_trace(np.random.default_rng(seed))
        wanted, got = found_by_definition(trace), found_by_log(trace)
        assert (wanted is None) == (got is None), f"trace {seed}: by definition {wanted}, found {got}"
        if wanted is not None:
            races += 1
            number, pairs = wanted
            assert got[0] == number, f"trace {seed}: the first race is in step {number}, found in {got[0]}"
            assert got[1:] in pairs, f"trace {seed}: {got[1:]} is no race of step {number}"
    assert TRACES // 20 < races < TRACES // 4  # both answers are tried


def test_a_planted_mistake_of_the_detector_would_be_found(monkeypatch):
    """A log that forgets who read would miss races."""
    from inside import races

    monkeypatch.setitem(races.AGAINST, races.WRITE, (races.WRITE, races.ATOMIC))
    wrong = 0
    for seed in range(200):
        trace = random_trace(np.random.default_rng(seed))
        wanted, got = found_by_definition(trace), found_by_log(trace)
        wrong += (wanted is None) != (got is None) or wanted is not None and wanted[0] != got[0]
    assert wrong
