"""Programs of other libraries' guides, written as their users would: they run, and what they find is right.

The programs are in ports/. Others of the same guides are in examples/: Flux's quickstart is xor.py, the model zoo's
Iris, VAE, DCGAN and char-rnn are iris.py, vae.py, gan.py and char_rnn.py, and Karpathy's makemore has its name.
"""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import fluxlite as fl

PORTS = Path(__file__).parent / "ports"


@pytest.fixture(params=[pytest.param("CPU", marks=pytest.mark.slow), "Simulated"])
def run(request, monkeypatch):
    """Runs a program on the CPU or on the simulated GPU, and gives what its names stand for at the end."""

    def program(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        simulated = request.param == "Simulated"
        with fl.simulate_gpu(simulated), fl.receipt() as r:
            found = runpy.run_path(str(PORTS / f"{name}.py"))
        assert r.launches > 100 if simulated else r.launches == 0
        return found

    return program


def test_flux_basics(run):
    found = run("flux_basics", 40)
    np.testing.assert_allclose(found["values"], [17.5, 17.5, 17.5, 9.75])
    assert found["grad1"] == (2.0,) and found["grad_many"] == (40.0, 30.0, 1.0)
    for grad in (found["grad2"][1], found["grad3"][1].theta, found["with_value"][1][1].theta):
        np.testing.assert_allclose(grad, [1, 5, 25])
    outer, inner = found["grad4"][1].layers[1], found["grad4"][1].layers[0]  # as in the manual
    np.testing.assert_allclose([outer.theta, inner.theta], [[1, 17.5, 306.25], [0.5, 2.5, 12.5]])
    p, dp, new = (fl.cpu(found[name]).layers[0].W for name in ("model1", "grad", "stepped"))
    np.testing.assert_allclose(new, p - dp / 100, rtol=1e-6)
    first, *_, last = found["history"].epoch_losses
    assert last < 1.6 < first  # a curve; the rest of the manual's 1000 epochs make it 0.05


def test_flux_recurrence(run):
    found = run("flux_recurrence")
    np.testing.assert_allclose(fl.cpu(found["hand"]), fl.cpu(found["cell"]), atol=1e-5)
    one_by_one, at_once = found["losses"].values()
    np.testing.assert_allclose(one_by_one, at_once, rtol=1e-4)
    assert at_once[-1] < at_once[0] / 3 and not found["first_state"].any() and found["stacked_shape"] == (4, 5)
    for h, c in found["grads"].first:
        assert np.any(fl.cpu(h)) and np.any(fl.cpu(c))  # the first states are trained


def test_flux_training(run):
    found = run("flux_training")
    assert found["by_hand"] < found["before"] - 0.2
    weight = fl.cpu(found["dense"].weight)
    plain, of_one, of_all = (fl.cpu(found[name]) for name in ("plain", "of_one", "of_all"))
    np.testing.assert_allclose(of_one.weight - plain.weight, 0.42 * found["dense_before"], atol=1e-5)
    np.testing.assert_allclose(of_all.layers["dec"].weight, of_one.weight, atol=1e-5)
    assert np.abs(weight).mean() < np.abs(found["dense_before"]).mean()  # WeightDecay
    assert found["rates"] == (0.03, 0.02)
    np.testing.assert_array_equal(found["still"], found["frozen"])
    assert np.any(found["moved"] != found["frozen"])
    assert found["my_log"][-1]["accuracy"] > 0.95 and len(found["my_log"]) < 30


def test_torch_nn(run):
    found = run("torch_nn")
    assert found["scratch"][1] < 0.7 < found["scratch"][0] and found["built_in"] == pytest.approx(found["scratch"][1])
    assert found["of_class"][-1] < 0.7 and found["of_cnn"][-1] < 1.5 < found["of_cnn"][0]


def test_all_are_run():
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {path.stem for path in PORTS.glob("*.py")} == tests - {"all_are_run"}
