"""Programs with views and calls in place, eager and captured: some here, thousands by ``nox -s replays``."""

import numpy as np
import pytest
import random_programs
from operands import EXAMPLES

import fluxlite as fl

HERE = 40  # programs that `make test` tries
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what a random program computes has no meaning


def test_programs_with_views_and_calls_in_place_are_equal_bit_for_bit():
    assert random_programs.differences(0, HERE) == []


@pytest.mark.slow
def test_many_programs_are_equal_bit_for_bit():
    assert random_programs.differences(HERE, EXAMPLES or 400) == []


def test_a_planted_difference_is_found(monkeypatch):
    """The last bit of one result is another one at the last call."""
    captured = fl.captured

    def nearly(step):
        run = captured(step)
        calls = []

        def call(x, y):
            results = run(x, y)
            calls.append(1)
            if len(calls) == random_programs.CALLS:
                results[0] = np.nextafter(results[0], np.float32(9))
            return results

        call.plans = {"one": 1}
        return call

    monkeypatch.setattr(fl, "captured", nearly)
    assert random_programs.difference(0) == "program 0, call 4: the results differ"
