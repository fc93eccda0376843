"""Times that say what they are: measured, recorded or simulated. They don't mix."""

import copy
import pickle

import pytest
from inside import clocked, duration

import fluxlite as fl
from fluxlite import Seconds
from fluxlite.devices import CPU


def test_a_time_says_its_kind():
    assert str(Seconds(0.8316, "simulated", "NVIDIA T4")) == "0.83 s simulated (NVIDIA T4)"
    assert f"{Seconds(0.0113, 'measured')} and {Seconds(3, 'recorded', 'A100'):.1f}" == "11.3 ms measured and 3.0"
    assert Seconds(2.0, "measured") > 1
    with pytest.raises(ValueError, match="measured, recorded, simulated or published"):
        Seconds(1, "guessed")


def test_kinds_of_time_do_not_mix():
    t4, a100 = Seconds(1, "simulated", "NVIDIA T4"), Seconds(1, "simulated", "A100")
    for mix in (lambda x, y: x + y, lambda x, y: x - y, lambda x, y: sum([x, y])):
        for other in (Seconds(1, "measured"), a100):
            with pytest.raises(TypeError, match="two kinds of time"):
                mix(t4, other)
            with pytest.raises(TypeError, match="two kinds of time"):
                mix(other, t4)
    for same in (t4 + t4, sum([t4, t4]), 1 + t4, 3 - t4, 2 * t4, t4 * 2, t4 / 0.5):
        assert repr(same) == "2 s simulated (NVIDIA T4)"
    assert type(t4 / t4) is float and type(t4 * t4) is float
    with pytest.raises(TypeError):
        t4 + "1"


def test_a_time_can_be_stored():
    for again in (copy.deepcopy, lambda seconds: pickle.loads(pickle.dumps(seconds))):
        assert repr(again(Seconds(1, "recorded", "A100"))) == "1 s recorded (A100)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1234.5, "1,234 s"), (12.34, "12.3 s"), (0.0999, "0.1 s"), (0.0994, "99.4 ms"), (0.9996e-3, "1 ms"),
     (8e-6, "8 µs"), (999e-9, "999 ns"), (1e-12, "0.001 ns"), (-0.002, "-2 ms")],
)  # fmt: skip
def test_durations_in_a_unit_that_fits(seconds, text):
    assert duration(seconds) == text


def test_a_device_says_what_kind_of_time_its_clock_shows(monkeypatch):
    """Nothing about a device is guessed from what attributes it has."""
    assert CPU.kind_of_time == "measured" and CPU.clock() <= CPU.clock()
    with fl.simulate_gpu(like="A100") as device:
        monkeypatch.setattr(device, "clock", lambda: 5.0)
        assert fl.clock() == 5.0
        assert repr(clocked(0.5)) == "0.5 s simulated (A100)"
    assert repr(clocked(0.5)) == "0.5 s measured"
