"""The benchmark of the simulated GPU compares what it says it does. No time is asserted."""

import sys
from pathlib import Path

import numpy as np
import pytest

# The benchmarks are not part of the installed package: they are found beside it in the repository.
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks import simulated  # noqa: E402
from fluxlite.simulated import SimulatedArray  # noqa: E402

SMALL = [pair for pair, _ in simulated.PAIRS if "1024" not in pair[0].name]


@pytest.fixture(autouse=True)
def fresh():
    simulated._arguments.cache_clear()
    yield
    simulated._arguments.cache_clear()


@pytest.mark.parametrize("pair", SMALL, ids=lambda pair: pair[1].name)
def test_both_compute_the_same_and_one_of_them_on_the_simulated_gpu(pair):
    results = [contender.make()() for contender in pair]
    assert [simulated.check(result) for result in results] == ["", ""]
    assert [isinstance(result[0], SimulatedArray) for result in results] == [False, True]


def test_a_wrong_result_is_refused():
    x = np.ones((3, 3))
    assert simulated.check((x, lambda: x)) == ""
    assert simulated.check((x + 1, lambda: x)).startswith("refused: off by 0.5")
    assert simulated.check((x[0], lambda: x)).startswith("refused: shape (3,)")
    assert simulated.check((x * np.nan, lambda: x)).startswith("refused")


def test_every_call_has_its_bar_at_both_sizes_and_so_has_the_training_step():
    bars = {(bar.contender, bar.reference): bar.at_most for bar in simulated.BENCHMARK.bars}
    assert len(bars) == 2 * len(simulated.CALLS) + 2
    assert {limit for (name, _), limit in bars.items() if "32 x 32" in name} == {8.0}
    assert {limit for (name, _), limit in bars.items() if "1024" in name} == {1.1}
    assert [limit for (name, _), limit in bars.items() if "MLP 32-32-10, batch 32" in name] == [4.0]
    assert all(name.endswith("simulated") and reference.endswith("NumPy") for name, reference in bars)
