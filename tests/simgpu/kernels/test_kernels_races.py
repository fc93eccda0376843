"""A race is found where there's one by definition, and nowhere else. `random_traces.py` tries more of them."""

import numpy as np
from random_traces import is_found, random_trace, short_traces


def test_races_of_random_traces():
    found = [is_found(random_trace(np.random.default_rng(seed))) for seed in range(200)]
    assert 50 < sum(found) < 150


def test_races_of_one_element():
    found = [is_found(trace) for trace in short_traces()]
    assert len(found) / 10 < sum(found) < len(found)
