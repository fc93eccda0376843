"""The race detector against the definition of a race, on random programs and on all short ones of a kind."""

import os

import numpy as np
import pytest
from random_traces import is_found, random_trace, short_traces

TRACES = int(os.environ.get("FLUXLITE_TRACES", "600"))


@pytest.mark.parametrize("part", range(4))
def test_no_race_is_missed_and_none_is_false(part):
    races = sum(is_found(random_trace(np.random.default_rng(seed))) for seed in range(part, TRACES, 4))
    assert TRACES // 20 < races < TRACES // 4  # both answers are tried


def test_the_right_readers_are_remembered():
    assert 0 < sum(map(is_found, short_traces())) < 1296


def test_a_planted_mistake_of_the_detector_would_be_found(monkeypatch):
    """A log that forgets who read would miss races."""
    from inside import races

    monkeypatch.setitem(races.AGAINST, races.WRITE, (races.WRITE, races.ATOMIC))
    with pytest.raises(AssertionError, match="by definition"):
        for seed in range(200):
            is_found(random_trace(np.random.default_rng(seed)))
