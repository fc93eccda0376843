"""When a GPU starts to win: the estimates and the record behind the answer, and the explorer around it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import fluxlite as fl
from fluxlite_course import crossing, crossover, sine_wave
from fluxlite_course.crossing import BATCHES, SIZES, Crossover
from fluxlite_course.lesson06.pictures import crossover_explorer
from simgpu.presets import preset

# The benchmarks aren't part of the installed package, so we find them next to it in the repository.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import record_cpu  # noqa: E402


def made_up(cpu, gpu=1.0):
    """A comparison of invented times: the CPU's for hidden sizes 8, 16 and so on, and the GPU's, always one."""
    times = {2 ** (3 + i): fl.Seconds(each, "recorded") for i, each in enumerate(cpu)}
    settings = {"batch": 1, "card": "NVIDIA T4", "copies": True, "wait": True}
    return Crossover(settings, times, {size: fl.Seconds(gpu, "simulated") for size in times}, "made up")


# -- where lines cross ------------------------------------------------------------------------------------------------


def test_between_two_sizes_the_crossing_is_on_straight_lines_of_both_logarithms():
    c = made_up([0.25, 0.5, 2.0, 4.0])
    assert (c.smallest, c.crossing) == (32, pytest.approx(16 * 2**0.5))
    assert "cross at a hidden size of about 23. From 32 on the GPU wins; at 64 it is 4.0 times as fast" in c.conclusion


def test_a_single_win_below_a_loss_does_not_count():
    assert made_up([0.5, 2.0, 0.5, 2.0]).smallest == 64


def test_lines_that_do_not_cross():
    never, always = made_up([0.1, 0.5]), made_up([2.0, 3.0])
    assert (never.smallest, never.crossing) == (None, None) and "CPU is faster at every" in never.conclusion
    assert (always.smallest, always.crossing) == (8, None) and "GPU is faster at every" in always.conclusion
    for c in (never, always):
        c.draw(Figure().subplots())


def test_the_crossing_lies_between_sizes_of_any_distance():
    def line(*seconds):
        return dict(zip((1, 8, 64), (fl.Seconds(each, "recorded") for each in seconds)))

    flat = line(1.0, 1.0, 1.0)
    assert crossing.crossing_of(line(0.5, 2.0, 4.0), flat) == pytest.approx(8**0.5)
    assert crossing.crossing_of(line(0.5, 1.0, 4.0), flat) == pytest.approx(8)
    assert crossing.crossing_of(line(2.0, 0.5, 2.0), flat) == pytest.approx(8 * 8**0.5)
    assert crossing.crossing_of(line(0.5, 0.5, 0.5), flat) is None
    assert crossing.crossing_of(line(2.0, 2.0, 2.0), flat) is None


# -- the card's line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [False, True])
def test_a_step_without_values_takes_as_long_as_one_that_is_computed(copies):
    x, y, *model = (np.ones_like(array) for array in crossing.arrays(64, 4))

    def step(x_there, y_there, *model):
        loss, _ = sine_wave.training_step(fl.gpu(x) if copies else x_there, fl.gpu(y) if copies else y_there, *model)
        return fl.cpu(loss) if copies else None

    computed = fl.estimate(step, x, y, *model, like="NVIDIA T4")
    assert crossing.simulated(64, 4, "NVIDIA T4", copies) == pytest.approx(float(computed.seconds), rel=1e-9)


def test_what_the_lesson_says_about_the_line():
    waited, ordered = crossover(64, copies=False), crossover(64, copies=False, wait=False)
    assert len(set(ordered.gpu.values())) == 1 and "not waited for" in ordered.about
    assert ordered.faster[4096] > 5 * waited.faster[4096]
    assert crossover(64, card="H200").crossing == pytest.approx(crossover(64).crossing, rel=0.01)
    assert crossover(1).crossing > 5 * crossover(1024).crossing  # "far to the left"
    assert crossover(64, wait=False).gpu == crossover(64).gpu  # copying the loss back waits


def test_an_unknown_card_and_a_batch_that_nobody_recorded_are_refused():
    with pytest.raises(ValueError, match="no preset for 'T5'"):
        crossover(card="T5")
    with pytest.raises(ValueError, match="batch of 1, 4, 16, 64, 256, 1024, not 2$"):
        crossover(batch=2)


@pytest.mark.parametrize("call", [crossover, crossover_explorer])
@pytest.mark.parametrize(("wrong", "words"), [((3,), "not 3"), (("64",), "not '64'"), ((64, ["T5"]), "no preset for")])
def test_the_explorer_refuses_in_the_words_of_the_plain_call(call, wrong, words):
    with pytest.raises(ValueError, match=words):
        call(*wrong)


def test_the_table_says_of_which_kinds_its_times_are():
    text = repr(crossover(64))
    assert "CPU, recorded" in text and "GPU, simulated" in text and "recorded on 20" in text


# -- the CPU's line ---------------------------------------------------------------------------------------------------


def test_the_record_is_whole_and_says_where_it_comes_from():
    record = crossing.record()
    assert {"cpu", "cores", "threads", "date", "python", "numpy", "blas", "how", "made_by"} <= set(record)
    wanted = [{**case} for case in record_cpu.cases("sizes")]
    assert [{k: v for k, v in entry.items() if k != "repeats"} for entry in record["measurements"]] == wanted
    assert all(len(entry["repeats"]) >= 5 and min(entry["repeats"]) > 0 for entry in record["measurements"])
    assert {(b, n) for b in BATCHES for n in SIZES} <= {(e.get("batch"), e.get("hidden")) for e in wanted}
    assert crossing.recorded("product", n=2048).kind == "recorded"


@pytest.mark.parametrize(("what", "name"), [("waves", "amd-epyc-waves"), ("digits", "xeon-digits")])
def test_what_lesson_07_draws_was_recorded(what, name):
    wanted = list(record_cpu.cases(what))
    assert [
        {k: v for k, v in entry.items() if k != "repeats"} for entry in crossing.record(name)["measurements"]
    ] == wanted


def test_recording_writes_what_crossing_reads(tmp_path, monkeypatch):
    few = [{"what": "training step", "hidden": 6, "batch": 2, "dtype": "float64"},
           {"what": "digits step", "batch": 2, "dtype": "float32"}]  # fmt: skip
    monkeypatch.setattr(record_cpu, "cases", lambda what: iter(few))
    measured = record_cpu.measurements(rounds=2, alone=False, what="sizes")
    assert [len(entry["repeats"]) for entry in measured] == [2, 2]
    assert json.loads(record_cpu.text({"cpu": record_cpu.processor(), "measurements": measured})) == {
        "cpu": record_cpu.processor(), "measurements": measured
    }  # fmt: skip


@pytest.mark.skipif(not shutil.which("cc"), reason="cc compiles the loop")
def test_the_loop_in_c_trains_as_numpy_does():
    expected = sine_wave.train(*sine_wave.problem())
    arrays = sine_wave.problem()
    np.testing.assert_allclose(record_cpu.one_loop(*arrays)[9::10], expected, rtol=1e-3)
    np.testing.assert_array_equal(arrays[2], sine_wave.problem()[2])  # so each repeat does the same


def test_the_loop_was_recorded_and_is_quicker_than_the_kernel():
    """Lesson 08's end: for one small wave, a core is best. 1.8 ms is the least that the T4's model allows."""
    assert crossing.recorded("whole training", name="amd-epyc-loop", language="C") < 1.8e-3


# -- the program ------------------------------------------------------------------------------------------------------


def test_the_program_of_the_lesson_times_its_phases():
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-m", "fluxlite_course.sine_wave"]
    *_, loss, phases = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert loss == "loss 0.0649"
    assert [name for name in json.loads(phases) if name.startswith("train")] == [
        "train: first epoch",
        "train: 199 epochs",
    ]


def test_a_preset_of_your_own_is_a_card_too():
    mine = preset("NVIDIA T4")._replace(name="mine", launch=1e-6, library=1e-6, tape=0.0)
    found = crossover(64, card=mine)
    assert found.settings["card"] == "mine" and found.crossing < crossover(64).crossing / 2
    assert repr(found.gpu[8]).endswith("simulated (mine)")
