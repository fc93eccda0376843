"""What's special about Metal: dtypes, views for a library without views, what MLX lacks, when it starts work."""

import importlib.util
import pickle
import sys

import inside
import numpy as np
import numpy.fft  # noqa: F401  (its functions are known to NumPy only then)
import pytest
from inside import metal_functional, parameter_key
from numpy.testing.overrides import get_overridable_numpy_ufuncs

import fluxlite as fl

mx = pytest.importorskip("mlx.core")
metal = inside.metal_device
MetalArray, MetalDevice = inside.MetalArray, inside.MetalDevice

device = MetalDevice()


def numbers(*shape):
    return device(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def host(x):
    return fl.cpu(x).tolist()


# -- whether it's there --------------------------------------------------------------------------------


@pytest.fixture
def no_answer_kept():
    metal_functional.cache_clear()
    yield
    metal_functional.cache_clear()


def test_metal_can_be_used_on_an_apple_computer_with_mlx_only(no_answer_kept, monkeypatch):
    def answer():
        metal_functional.cache_clear()
        return bool(metal_functional()), metal_functional().reason, [repr(found) for found in inside.metal_devices()]

    with monkeypatch.context() as patched:
        patched.setattr(mx.metal, "is_available", lambda: True)
        assert answer() == (True, "", ["Metal:0"])
        patched.setattr(mx.metal, "is_available", lambda: False)
        assert answer() == (False, "MLX runs here on the CPU: Metal needs an Apple computer", [])
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "mlx.core", None)  # its import fails
        assert answer()[1].startswith("MLX is installed and can't be imported: ")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert answer() == (False, "MLX is not installed: pip install mlx", [])


def test_the_device():
    x = numbers(2)
    assert inside.device_of(x) is device and repr(device) == "Metal:0" and device == MetalDevice() and device != fl.cpu
    assert device.memory().used > 0 and device.memory().peak >= device.memory().used
    assert not device.watch_peak() and repr(x) == "array([0., 1.], dtype=float32)  # Metal:0"


# -- dtypes ------------------------------------------------------------------------------------------


def test_float64_is_kept_where_mlx_runs_on_the_cpu_and_refused_on_a_gpu(monkeypatch):
    x, y = device(np.array([1.0, 2.0]), dtype=None), numbers(2)
    assert x.dtype == np.float64 and (x * 2).dtype == np.float64 and np.exp(x).dtype == np.float64
    np.testing.assert_allclose(fl.cpu(np.exp(x)), np.exp([1.0, 2.0]), rtol=1e-6)
    assert device(np.array([1.0, 2.0])).dtype == np.float32
    monkeypatch.setattr(metal.mx, "default_device", lambda: mx.gpu)
    for make in (
        lambda: device(np.ones(2), dtype=None), lambda: y * np.float64(2), lambda: y.astype(np.float64),
        lambda: np.zeros_like(y, dtype=np.float64),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="Metal has no float64"):
            make()
    assert host(y * 2.0) == [0, 2]


def test_bfloat16_is_refused():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(TypeError, match="no bfloat16"):
        device(np.ones(2, ml_dtypes.bfloat16))


def test_sums_of_integers_do_not_overflow():
    x = device(np.full(300, 100, np.int8))
    assert int(x.sum()) == 30_000 and x.sum().dtype == np.int64 and (x > 0).sum().dtype == np.int64
    assert np.cumsum(x).dtype == np.int64
    with pytest.raises(OverflowError):
        x + 200


# -- views -------------------------------------------------------------------------------------------


def test_what_was_computed_does_not_change_with_what_it_was_computed_from():
    x = numbers(3)
    y, z, copied = x * 1, x[[0, 1]], x.copy()
    x += 10
    assert host(y) == [0, 1, 2] and host(z) == [0, 1] and host(copied) == [0, 1, 2]


def test_in_place_keeps_the_dtype_and_cuts_no_numbers_off():
    x, whole = numbers(2), device(np.array([1, 2]))
    x += whole
    assert x.dtype == np.float32 and host(x) == [1, 3]
    with pytest.raises(TypeError, match="float32 into an array of int64"):
        whole += 0.5
    with pytest.raises(ValueError):
        x += numbers(3, 2)
    x[0] = 2.7
    whole[0] = 2.7
    assert host(whole) == [2, 2]


# -- ties --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_transposed_tie_survives_moves_and_training(order):
    W = np.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), order=order)
    model = device({"embed": W, "out": W.T})
    grads = fl.gradient(lambda m: np.sum(m["embed"] * 2) + np.sum(m["out"]), model)[0]
    assert grads["out"] is None and grads["embed"].strides == model["embed"].strides == W.strides
    fl.update(fl.setup(fl.Descent(0.5), model), model, grads)
    assert host(model["embed"]) == (W - 1.5).tolist() and host(model["out"]) == (W.T - 1.5).tolist()
    vector, restructure = fl.destructure(model)
    assert vector.shape == (6,)
    for again in (fl.cpu(model), restructure(vector * 2)):
        assert parameter_key(again["embed"]) == parameter_key(again["out"])


# -- receipts ----------------------------------------------------------------------------------------


def test_what_is_copied_is_counted():
    h = np.arange(6, dtype=np.float32).reshape(2, 3)
    with fl.receipt() as r:
        x = device(h)
        y = np.tanh(x @ x.T) + x[0, 1] * 2
    assert (r.host_to_device.count, r.host_to_device.bytes, r.host_to_device.explicit) == (1, 24, 1)
    assert (r.device_to_host.count, r.synchronizations) == (0, 0)
    for read, nbytes in [
        (lambda: float(x[0, 1]), 4), (lambda: x[1, 2].item(), 4), (lambda: bool(x[0, 1]), 4), (lambda: repr(y), 16),
        (lambda: x.tolist(), 24), (lambda: str(x), 24), (lambda: pickle.dumps(x), 24), (lambda: x[x > 2], 6),
    ]:  # fmt: skip
        with fl.receipt() as r:
            read()
        assert (r.device_to_host.implicit, r.device_to_host.bytes, r.synchronizations) == (1, nbytes, 1)
    with fl.receipt() as r:
        fl.cpu(x)
        device.synchronize()
    assert (r.device_to_host.explicit, r.device_to_host.implicit, r.synchronizations) == (1, 0, 2)
    with fl.receipt() as r:
        x[[0, 1], 2] = 7
        x.copy()
    assert (r.host_to_device.implicit, r.synchronizations, r.device_to_device.bytes) == (1, 0, 24)


# -- when MLX begins to compute --------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch):
    """How many arrays were started each time."""
    counts = []
    right = mx.async_eval
    monkeypatch.setattr(metal.mx, "async_eval", lambda arrays: (counts.append(len(arrays)), right(arrays)))
    return counts


def test_a_loop_that_reads_nothing_does_not_grow_without_bound(started):
    fresh = MetalDevice()  # it has nothing to start yet
    x, total = (fresh(np.arange(3, dtype=np.float32)) for _ in range(2))
    for _ in range(1000):
        x += 1
        total = total + x
    assert len(started) >= 2000 // metal._STARTED_TOGETHER
    assert max(started) <= 3  # dropped arrays aren't computed
    assert host(x) == [1000, 1001, 1002] and host(total) == [500_500, 501_501, 502_502]


def test_synchronize_waits_for_all_there_is_to_compute():
    x = np.tanh(numbers(3))
    device.synchronize()
    assert not device._waiting and host(x)[0] == 0


# -- what MLX lacks ---------------------------------------------------------------------------------------


UFUNCS = {u.__name__: u for u in get_overridable_numpy_ufuncs() if u.types and u.__name__[0] != "_"}


@pytest.mark.parametrize("name", sorted({*UFUNCS} - {*inside.UFUNCS}))
def test_other_ufuncs_raise_and_name_themselves(name):
    ufunc = UFUNCS[name]
    with pytest.raises(TypeError, match=rf"np\.{name} does not exist for arrays on Metal: move the array to the CPU"):
        ufunc(*[numbers(2, 2)] * ufunc.nin)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (np.unwrap, "np.unwrap does not exist for arrays on Metal: move the array to the CPU first"),
        (lambda x: np.linalg.inv(np.outer(x, x)), "np.linalg.inv does not exist for arrays on Metal"),
        (lambda x: np.bincount(x), "np.bincount does not exist for arrays on Metal"),
        (np.add.reduce, r"np.add\.reduce does not exist for arrays on Metal"),
        (lambda x: np.sum(x, where=x > 1), "(?s)where.*This was np.sum, for arrays on Metal:0"),
        (lambda x: np.add(x, x, where=x > 1), r"np.add\(…, where=…\) does not exist"),
    ],
)
def test_what_is_missing_raises_and_is_named(call, words):
    with pytest.raises(TypeError, match=words):
        call(numbers(3))
