"""`simgpu.random`: NumPy's values on the device, under CuPy's rules."""

import numpy as np
import pytest

import simgpu
from simgpu import random

ARGUMENTS = {
    "beta": (2, 3), "binomial": (10, 0.3), "chisquare": (4,), "dirichlet": ([1.0, 2.0, 3.0],), "exponential": (2.0,),
    "f": (3, 4), "gamma": (2.0, 3.0), "geometric": (0.3,), "gumbel": (1.0, 2.0), "hypergeometric": (5, 6, 3),
    "laplace": (1.0, 2.0), "logistic": (1.0, 2.0), "lognormal": (0.1, 0.2), "logseries": (0.4,),
    "multinomial": (9, [0.2, 0.8]), "multivariate_normal": ([1.0, 2.0], [[2.0, 1.0], [1.0, 2.0]]),
    "negative_binomial": (5, 0.5), "noncentral_chisquare": (3, 1.0), "noncentral_f": (3, 4, 1.0),
    "normal": (1.0, 2.0), "pareto": (2.0,), "poisson": (3.0,), "power": (2.0,), "random_sample": (),
    "rayleigh": (2.0,), "standard_cauchy": (), "standard_exponential": (), "standard_gamma": (2.0,),
    "standard_normal": (), "standard_t": (4,), "triangular": (0, 1, 3), "uniform": (1.0, 4.0), "vonmises": (0.0, 1.0),
    "wald": (1.0, 2.0), "weibull": (2.0,), "zipf": (2.0,),
}  # fmt: skip
WHOLE = [name for name, row in random.DISTRIBUTIONS.items() if row.dtype is int]
NEWER = [name for name, row in random.DISTRIBUTIONS.items() if row.newer and name != "random"]


def test_every_distribution_is_tried():
    assert set(ARGUMENTS) | {"random"} == set(random.DISTRIBUTIONS)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_values_are_numpys_and_types_are_cupys(name):
    args = ARGUMENTS[name]
    wanted = getattr(np.random.RandomState(3), name)(*args, size=(4, 2))
    found = getattr(random.RandomState(3), name)(*args, size=(4, 2))
    np.testing.assert_allclose(found.get(), wanted)
    assert found.dtype == (np.int64 if name in WHOLE else np.float64)
    random.seed(3)
    again = getattr(random, name)(*args, size=(4, 2), dtype=np.int32 if name in WHOLE else np.float32)
    np.testing.assert_allclose(again.get(), wanted, rtol=1e-6)
    assert again.dtype == (np.int32 if name in WHOLE else np.float32)
    if name not in WHOLE:
        with pytest.raises(TypeError, match="only supports float32 and float64"):
            getattr(random, name)(*args, dtype=np.float16)


@pytest.mark.parametrize("name", NEWER)
def test_a_generators_values_are_numpys(name):
    args = ARGUMENTS[name]
    if name == "dirichlet":
        args = (simgpu.asarray(np.array(args[0])),)
    wanted = getattr(np.random.default_rng(3), name)(*(getattr(x, "host_values", x) for x in args), size=5)
    np.testing.assert_allclose(getattr(random.default_rng(3), name)(*args, size=5).get(), wanted)


def test_a_generator_takes_arrays_and_numbers_alone():
    with pytest.raises(TypeError, match="lam is required to be a cupy.ndarray or a scalar"):
        random.default_rng(0).poisson([1.0])
    assert not hasattr(random.default_rng(0), "normal")  # CuPy's has none


def test_the_same_generator_is_returned():
    rng = random.default_rng(random.XORWOW(4))
    assert random.default_rng(rng) is rng
    np.testing.assert_array_equal(rng.integers(0, 9, 5).get(), np.random.default_rng(4).integers(0, 9, 5))
    np.testing.assert_array_equal(rng.integers(3, size=4, endpoint=True).dtype, np.int64)


def test_which_draws_wait():
    def counted(draw):
        with simgpu.receipt() as r:
            draw()
        return r.launches, r.synchronizations

    assert counted(lambda: random.rand(3)) == (2, 0)
    assert counted(lambda: random.normal(size=3)) == (1, 0)
    assert counted(lambda: random.poisson(2.0, size=3)) == (2, 0)
    assert counted(lambda: random.randint(0, 8, size=3))[1] == 0  # a power of 2
    assert counted(lambda: random.randint(0, 10, size=3))[1] == 1
    assert counted(lambda: random.exponential(2.0, size=3))[1] == 1


def test_whole_numbers():
    wanted = np.random.RandomState(5).randint(2, 9, (3, 4))
    np.testing.assert_array_equal(random.RandomState(5).randint(2, 9, (3, 4)).get(), wanted)
    assert random.randint(3).shape == () and random.randint(3, dtype=np.int8).dtype == np.int8
    for wrong in ((3, 3), (0,), (5, 2)):
        with pytest.raises(ValueError, match="low >= high"):
            random.randint(*wrong)
    for wrong in ((-129, 5), (0, 129)):  # outside of the type
        with pytest.raises(ValueError, match="is out of bounds for int8"):
            random.randint(*wrong, size=3, dtype=np.int8)


def test_choice_permutation_and_shuffle():
    x = simgpu.asarray(np.arange(10) * 10)
    picked = random.choice(x, 50).get()
    assert set(picked) <= set(range(0, 100, 10))
    assert sorted(random.choice(10, 10, replace=False).get()) == list(range(10))
    p = simgpu.asarray(np.array([0.0, 1.0]))
    assert set(random.choice(2, 20, p=p).get()) == {1}
    assert sorted(random.permutation(x).get()) == sorted(random.permutation(10).get() * 10)
    assert random.shuffle(x) is None
    assert sorted(x.get()) == list(range(0, 100, 10))
    assert random.multinomial(20, p).get().tolist() == [0, 20]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: random.choice(3), NotImplementedError),
        (lambda: random.choice(3, 2, False, [0.2, 0.3, 0.5]), NotImplementedError),
        (lambda: random.choice(None, 3), ValueError),
        (lambda: random.choice(np.ones((2, 2)), 3), ValueError),
        (lambda: random.shuffle([1, 2]), TypeError),
        (lambda: random.permutation([1, 2]), TypeError),
        (lambda: random.seed("a"), TypeError),
        (lambda: random.seed(-1), ValueError),
        (lambda: random.seed(2**64), TypeError),
        (lambda: random.rayleigh(-1.0), ValueError),
        (lambda: random.set_random_state(3), TypeError),
        (lambda: random.beta(1.0), TypeError),
        (lambda: random.rand(2, shape=3), TypeError),
    ],
)
def test_what_raises(call, error):
    with pytest.raises(error):
        call()


def test_seeds():
    assert random.RandomState(2**63).rand() == random.RandomState(2**63).rand()
    random.seed(np.arange(3))
    first = random.rand(3).get()
    random.seed(np.arange(3))
    np.testing.assert_array_equal(random.rand(3).get(), first)
    mine = random.RandomState(1)
    random.set_random_state(mine)
    assert random.get_random_state() is mine
    random.reset_states()
    assert random.get_random_state() is not mine
