"""The current card computes, wherever the operands are: CuPy's rule, on the simulation and on CuPy in the same words.

Cards without peer access can't reach each other's memory. On a computer with one card, the tests skip themselves; the
rehearsal of ``pytest -m cuda`` has two.
"""

import copy
import warnings

import numpy as np
import pytest
from inside import PerformanceWarning, cuda_devices

import fluxlite as fl

BOTH = ("Simulated", "CUDA")


@pytest.fixture
def cards(device):
    """Two cards without peer access; the first is the current one."""
    if device.backend == "Simulated":
        fl.simulate_gpu(2)
        return fl.cuda.devices()
    import cupy

    found = cuda_devices()
    if len(found) < 2 or cupy.cuda.runtime.deviceCanAccessPeer(0, 1):
        pytest.skip("there is one card only, or the cards have peer access")
    return found


def numbers(device, shape=(2, 3)):
    return device(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def refused():
    return pytest.raises(ValueError, match="the current device")


KERNELS = {
    "+": lambda x: x + x, "a number": lambda x: x * 2, "comparison": lambda x: x > 1, "ufunc": lambda x: np.tanh(x),
    "out": lambda x: np.add(x, x, out=x), "in place": lambda x: x.__iadd__(1),
    "where": lambda x: np.where(x > 0, x, 0), "clip": lambda x: np.clip(x, 0, 1), "sum": lambda x: x.sum(axis=0),
    "max": lambda x: np.max(x, axis=0), "joined": lambda x: np.concatenate([x, x]),
    "astype": lambda x: x.astype(np.float64), "astype, the same": lambda x: x.astype(np.float32),
    "read at places": lambda x: x[[0, 1]], "take": lambda x: np.take(x, 0, axis=1),
    "write at places": lambda x: x.__setitem__([0], 1.0), "write a number": lambda x: x.__setitem__(..., 1.0),
    "write zeros with gaps": lambda x: x.__setitem__((slice(None), 0), 0.0),
    "write an array with gaps": lambda x: x.__setitem__((slice(None), 0), x[:, 1]),
}  # fmt: skip


@pytest.mark.on(*BOTH)
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_runs_on_the_current_card_and_reaches_no_other(name, cards):
    x = numbers(cards[1])
    with refused():
        KERNELS[name](x)
    np.testing.assert_array_equal(fl.cpu(x), np.arange(6).reshape(2, 3))  # refused before anything has changed
    with cards[1]:
        KERNELS[name](x)


@fl.cuda.jit.rawkernel()
def doubled(x):
    i = fl.cuda.jit.grid(1)
    x[i // 3, i % 3] *= 2


WHOLE = {
    "@": lambda x: x @ x.T, "sum of all": lambda x: x.sum(), "sort in place": lambda x: x.sort(),
    "svd": lambda x: np.linalg.svd(x), "fft": lambda x: np.fft.fft(x), "add.at": lambda x: np.add.at(x, 0, 1.0),
    "put": lambda x: np.put(x, [0], 1.0), "copyto": lambda x: np.copyto(x, 1.0),
    "take_along_axis": lambda x: np.take_along_axis(x, np.zeros((2, 1), int), 1),
    "a kernel by hand": lambda x: doubled[1, 6](x),
}  # fmt: skip


@pytest.mark.on("Simulated")
@pytest.mark.parametrize("name", WHOLE)
def test_so_does_what_CUDAs_libraries_do_where_CuPy_does_not_look_itself(name, cards):
    x = numbers(cards[1])
    with refused():
        WHOLE[name](x)
    np.testing.assert_array_equal(fl.cpu(x), np.arange(6).reshape(2, 3))
    with cards[1]:
        WHOLE[name](x)


NO_KERNEL = {
    "a view": lambda x, here: x[0].T.reshape(3, 1)[None], "its shape": lambda x, here: np.shape(x),
    "the same type": lambda x, here: x.astype(np.float32, copy=False), "a number": lambda x, here: float(x[0, 0]),
    "to the host": lambda x, here: x.get(), "print": lambda x, here: print(x), "zeros": lambda x, here: x.fill(0),
    "to the other": lambda x, here: here(x), "a copy of it": lambda x, here: copy.deepcopy(x),
    "a block from the other": lambda x, here: x.__setitem__(..., numbers(here)),
    "from the host": lambda x, here: x.set(np.ones((2, 3), np.float32)),
}  # fmt: skip


@pytest.mark.on(*BOTH)
@pytest.mark.parametrize("name", NO_KERNEL)
def test_what_needs_no_kernel_works_from_anywhere(name, cards):
    NO_KERNEL[name](numbers(cards[1]), cards[0])


@pytest.mark.on(*BOTH)
def test_new_arrays_and_copies_are_on_the_current_card(cards):
    x = numbers(cards[1])
    made = {
        "zeros": np.zeros_like(x), "ones": np.ones_like(x), "full": np.full_like(x, 2), "empty": np.empty_like(x),
        "shape": np.zeros_like(x, shape=(2,)), "like": np.zeros(2, like=x), "numbers": np.asarray([1.0], like=x),
        "copy": x.copy(), "np.copy": np.copy(x), "copied once more": copy.copy(x), "array": np.array(x, like=x),
        "reshape": np.reshape(x.T, 6), "its method": x.T.reshape(6), "ravel": x.T.ravel(), "flatten": x.flatten(),
    }  # fmt: skip
    assert {name: fl.device_of(y) for name, y in made.items()} == dict.fromkeys(made, cards[0])
    np.testing.assert_array_equal(fl.cpu(made["copy"]), fl.cpu(x))
    assert fl.device_of(copy.deepcopy(x)) == cards[1]
    with cards[1]:
        assert fl.device_of(np.zeros_like(x)) == fl.device_of(x.copy()) == cards[1]


@pytest.mark.on("Simulated")
def test_the_error_says_which_card_is_current_and_what_helps(cards):
    x = numbers(cards[1])
    words = (
        r"the array is on Simulated:1, and the current device is Simulated:0\. A GPU computes only .*"
        r"`with device_of\(x\):`, or `with cuda\.using\(1\):`"
    )
    with pytest.raises(ValueError, match=words):
        x + x
    with fl.device_of(x):
        assert fl.cpu(x + x).sum() == 30
    with fl.cuda.using(1):
        assert fl.cpu(x + x).sum() == 30
    assert fl.cuda.device() is cards[0]


def test_pretended_cards_have_the_rule_too():
    with fl.pretend(CUDA=2):
        x = numbers(fl.get_device("CUDA", 1))
        with refused():
            x + x
        with fl.cuda.using(1):
            assert fl.cpu(x + x).sum() == 30


def test_with_peer_access_it_computes_slowly_and_says_so():
    """As CuPy does between an H100's cards, which NVLink connects."""
    with fl.simulate_gpu(2, like="H100"):
        first, second = fl.cuda.devices()
        x, y = numbers(first), numbers(second)
        for compute in (lambda: y + y, lambda: x + y, lambda: np.concatenate([y, y])[:2] * 2, lambda: y[[0, 1]] * 2):
            with pytest.warns(
                PerformanceWarning, match="on Simulated:1, and the current device is Simulated:0"
            ) as said:
                z = compute()
            assert said[0].filename == __file__, "it names the line of the program, so Python shows it once for each"
            assert fl.device_of(z) is first
            np.testing.assert_array_equal(fl.cpu(z), 2 * np.arange(6).reshape(2, 3))
        with pytest.warns(PerformanceWarning):
            y += x
        assert fl.device_of(y) is second and fl.cpu(y).sum() == 30
        with second, warnings.catch_warnings():
            warnings.simplefilter("error")
            y + y


def test_one_card_is_always_the_current_one():
    """Also if it isn't the first of its simulation any more, or the program has begun another one."""
    with fl.simulate_gpu() as device:
        x = numbers(device)
        with fl.simulate_gpu(2, like="A100"):
            fl.cuda.set_device(1)
            x + x
            fl.cuda.set_device(0)
