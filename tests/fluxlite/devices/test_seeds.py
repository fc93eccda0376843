"""`seed`: weights, orders and every device's generator repeat; `rng=` still decides where it is given."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kinds import EVERYWHERE

import fluxlite as fl
from fluxlite.devices import CPU


def weights(**keywords):
    return fl.Dense(3, 2, **keywords).weight.tolist()


def orders(epochs=2, **keywords):
    loader = fl.DataLoader(np.arange(20), batchsize=20, shuffle=True, **keywords)
    return [next(iter(loader)).tolist() for _ in range(epochs)]


def draws(device):
    return fl.cpu(device.rng.random(4, dtype=np.float32)).tolist()


def drawn(use, number):
    fl.seed(number)
    return use()


USES = {
    "weights": weights,
    "an initializer by itself": lambda: fl.glorot_uniform(2, 3).tolist(),
    "the orders of a loader": orders,
    "the orders of a parallel loader": lambda: orders(parallel=True),
    "shuffleobs": lambda: fl.shuffleobs(np.arange(20)).tolist(),
    "splitobs": lambda: fl.splitobs(np.arange(20), shuffle=True)[0].tolist(),
    "rrelu": lambda: fl.rrelu(-np.ones(5)).tolist(),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_repeats(use):
    first = drawn(use, 7)
    assert drawn(use, 7) == first != drawn(use, 8)
    assert drawn(lambda: (use(), use())[1], 7) != first, "the second isn't the first again"
    assert drawn(use, None) != drawn(use, None), "None: nobody can foresee it"


@pytest.mark.on(*EVERYWHERE)
def test_every_devices_generator(device):
    first = drawn(lambda: draws(device), 7)
    assert drawn(lambda: draws(device), 7) == first != drawn(lambda: draws(device), 8)
    assert drawn(lambda: (draws(device), draws(device))[1], 7) != first
    assert drawn(lambda: draws(device), None) != drawn(lambda: draws(device), None)
    # Its own seed decides, until all are seeded again.
    fl.seed(7)
    device.seed(3)
    own = draws(device)
    device.seed(3)
    assert draws(device) == own != first
    assert drawn(lambda: draws(device), 7) == first


def test_rng_decides_where_it_is_given():
    fl.seed(7)
    wanted = weights()
    for number in (7, 8):
        fl.seed(number)
        assert weights(rng=np.random.default_rng(1)) == fl.Dense(3, 2, rng=np.random.default_rng(1)).weight.tolist()
        assert orders(rng=3) == orders(rng=np.random.default_rng(3))
    fl.seed(7)
    weights(rng=np.random.default_rng(1)), orders(rng=3), orders(5), draws(CPU)
    assert weights() == wanted, "and takes nothing from what the seed gives to weights; nor does another use"


def test_numpys_own_generator_is_another():
    np.random.seed(0)
    before, first = np.random.rand(), weights()
    np.random.seed(0)
    assert weights() != first
    fl.seed(3)
    assert np.random.rand() == before, "nor does our seed touch it"


@pytest.mark.parametrize("wrong", [1.0, "1", True, [1]])
def test_what_is_no_seed(wrong):
    before = drawn(weights, 7)
    fl.seed(7)
    with pytest.raises(TypeError, match=r"seed\(number\) is a whole number, got"):
        fl.seed(wrong)
    with pytest.raises(ValueError, match="at least 0, got -1"):
        fl.seed(-1)
    assert weights() == before, "what was, goes on"
    assert drawn(weights, np.int64(7)) == before and drawn(weights, 2**200) != before


def test_a_saved_generator_goes_on_after_a_seed(tmp_path):
    fl.seed(7)
    draws(CPU)
    fl.save(tmp_path / "run.safetensors", device=CPU)
    wanted = draws(CPU)
    fl.seed(8)
    fl.load(tmp_path / "run.safetensors", device=CPU)
    assert draws(CPU) == wanted


def test_threads_take_no_number_twice():
    fl.seed(7)
    alone = [weights() for _ in range(40)] + [[draws(CPU)] for _ in range(40)]
    fl.seed(7)
    found, start = [], threading.Barrier(4)

    def work():
        start.wait()
        for _ in range(10):
            found.append(weights())
            found.append([draws(CPU)])

    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(work)
    assert sorted(found) == sorted(alone)
