"""How much memory saving and loading take, beyond the model. With 1 GB: ``python -m benchmarks memory``."""

import numpy as np
import pytest
from peaks import peak_of

import fluxlite as fl

MEGABYTE = 1 << 20
SMALL = MEGABYTE  # headers, some pieces of a file on their way, and what Python needs besides


def of(count, dtype=np.float32):
    """`count` arrays of 4 MB."""
    return {f"w{i}": np.arange(4 * MEGABYTE // np.dtype(dtype).itemsize).astype(dtype) for i in range(count)}


def test_saving_takes_next_to_nothing(tmp_path):
    model = of(4)
    fl.save(tmp_path / "m", model)  # imports what it needs
    assert peak_of(lambda: fl.save(tmp_path / "m", model)) < SMALL


@pytest.mark.parametrize("dtype, number", [("<f4", 1), ("<f4", 8), (">f8", 4), (">c16", 4), ("?", 1)])
def test_loading_into_a_model_takes_a_tenth_more_than_its_size(tmp_path, dtype, number):
    model = of(number, dtype)
    fl.save(tmp_path / "m", model)
    expected = {name: x.copy() for name, x in model.items()}
    for x in model.values():
        x[:] = 0
    peak = peak_of(lambda: fl.load(tmp_path / "m", model))
    assert peak < 1.1 * sum(x.nbytes for x in model.values()) + SMALL
    assert all(np.array_equal(x, expected[name]) for name, x in model.items())


def test_a_tie_is_loaded_once(tmp_path):
    W = np.ones((1024, 1024), np.float32)
    fl.save(tmp_path / "m", {"W": W, "again": W.T, "and again": W})
    peak = peak_of(lambda: fl.load(tmp_path / "m", {"W": W, "again": W.T, "and again": W}))
    assert peak < 1.1 * W.nbytes + SMALL


def test_going_on_with_a_training_loads_its_file_once(tmp_path):
    model = of(4)

    def trained(epochs, **options):
        opt_state = fl.setup(fl.Descent(0.1), model)
        fl.train(lambda m: np.sum(m["w0"]), model, [()], opt_state, epochs, checkpoint=tmp_path / "run", **options)

    trained(1)
    size = (tmp_path / "run").stat().st_size
    assert peak_of(lambda: trained(1, resume=True)) < 1.1 * size + SMALL
