"""The benchmarks measure what they say. No times are asserted: clocks are made up, memory is counted."""

import pytest

from benchmarks import harness, memory, sensitivity

pytestmark = pytest.mark.slow


class Clock:
    """Time passes only when a contender says so."""

    now = 0.0

    def __call__(self):
        return self.now

    def contender(self, name, *seconds, result=1.0):
        """The first number of seconds is for the warm-up."""
        left = list(seconds)

        def run():
            self.now += left.pop(0)
            return result, 1.0

        return harness.Contender(name, lambda: run)


def test_a_warm_up_does_not_count():
    clock = Clock()
    contenders = clock.contender("A", 100, 1, 2, 9), clock.contender("B", 100, 4, 3, 5)
    rows = harness.race(harness.Benchmark("", contenders), rounds=3, clock=clock)
    assert [row.seconds for row in rows] == [[1, 2, 9], [4, 3, 5]]
    assert harness.ratio(rows, "A", "B") == 2 / 4 and harness.ratio(rows, "A", "not there") is None


def test_a_wrong_result_gets_no_time_and_one_that_goes_wrong_later_loses_it():
    """And a missing library costs its row only."""

    def missing():
        import no_such_library  # noqa: F401

    clock, results = Clock(), iter([1.0, 1.0, 2.0])
    contenders = (
        clock.contender("A", 1, 1, 1, result=2.0), clock.contender("B", 1, 1, 1),
        harness.Contender("C", lambda: lambda: (next(results), 1.0), at_most={"B": 2}), harness.Contender("D", missing),
    )  # fmt: skip
    made_up = harness.Benchmark("", contenders)
    rows = harness.race(made_up, rounds=2, clock=clock)
    assert [row.seconds for row in rows] == [[], [1, 1], [], []]
    assert [row.trouble for row in rows] == [
        "refused: 2.0, not 1.0",
        "",
        "refused: 2.0, not 1.0",
        "no_such_library not installed",
    ]
    assert "refused: 2.0" in harness.race_table(made_up, rows) and harness.ratio(rows, "C", "B") is None


@pytest.mark.parametrize(
    "name", ["gradient(loss, w1, w2)", "forward with params, never back", "forward with params and back"]
)
def test_fluxlite_does_not_grow(name):
    grown = memory.growth(memory.cases()[name])
    assert grown.traced <= memory.MORE_BYTES
    assert grown.objects <= memory.MORE_OBJECTS


def test_the_page_of_guessed_figures_is_what_the_program_writes():
    written = sensitivity.FILE.read_text(encoding="utf-8")
    assert written == sensitivity.document(), "python -m benchmarks.sensitivity --write"
