"""A GPU's models in files: they're stored as host arrays, the model stays where it is, and you can load it anywhere."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from inside import CupyGenerator
from kinds import EVERYWHERE

import fluxlite as fl
from fluxlite import simulate_gpu
from fluxlite.devices import CPU


def network(seed=0):
    rng = np.random.default_rng(seed)
    return fl.Chain(fl.Dense(3, 4, np.tanh, rng=rng), fl.Dense(4, 2, rng=rng))


def values(model):
    return [fl.cpu(leaf).tolist() for leaf in fl.leaves(model) if hasattr(leaf, "shape")]


def test_a_file_from_a_gpu_is_read_where_there_is_none(path):
    """It needs nothing of a GPU: another process reads it without loading a GPU's library."""
    with fl.simulate_gpu():
        model = fl.gpu(network())
        fl.save(path, model=model)
        assert fl.device_of(model) == fl.require_gpu()
    program = (
        "import sys, numpy as np, fluxlite as fl\n"
        "model = fl.Chain(fl.Dense(3, 4, np.tanh), fl.Dense(4, 2))\n"
        f"fl.load({str(path)!r}, model=model)\n"
        "print(fl.device_of(model), float(model(np.ones(3, np.float32)).sum()))\n"
        "print([name for name in ('cupy', 'mlx', 'simgpu.device') if name in sys.modules])\n"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    where, number = out.stdout.splitlines()[0].split()
    assert where == "CPU" and out.stdout.splitlines()[1] == "[]", out.stderr
    assert float(number) == pytest.approx(float(network()(np.ones(3, np.float32)).sum()))


@pytest.mark.on(*EVERYWHERE)
def test_S1_16_and_S3_12_a_model_goes_through_a_file_and_stays_where_it_is(device, path):
    """``model = cpu(model); @save "mymodel.bson" model``: here what is saved goes to the host by itself."""
    model = device(network())
    arrays = fl.leaves(model)
    for saved in (model, fl.cpu(model)):
        fl.save(path, model=saved)
        assert all(a is b for a, b in zip(fl.leaves(model), arrays)) and fl.device_of(model) == device
        assert type(fl.load(path)["model"]["layers"][0]["weight"]) is np.ndarray
        for target in (network(1), device(network(1))):
            there, kept = fl.device_of(target), fl.leaves(target)
            fl.load(path, model=target)
            assert all(a is b for a, b in zip(fl.leaves(target), kept)) and fl.device_of(target) == there
            assert values(target) == values(network())


@pytest.mark.on(*EVERYWHERE)
def test_ties_and_layouts_survive(device, path):
    W = np.arange(6, dtype=np.float32).reshape(2, 3)
    others = {"F": np.asfortranarray(W), "0-d": np.array(2, np.float32), "none": np.zeros((0, 2), np.float32)}
    tree = device({"W": W, "T": W.T, **others, "whole": np.arange(3), "half": np.ones(2, np.float16)})
    fl.save(path, tree=tree)
    back = fl.load(path)["tree"]
    assert np.shares_memory(back["W"], back["T"])
    for name, x in tree.items():
        host = fl.cpu(x)
        assert back[name].dtype == host.dtype and back[name].shape == host.shape
        assert back[name].tolist() == host.tolist()
    target = fl.fmap(np.zeros_like, tree)
    fl.load(path, tree=target)
    assert values(target) == values(tree) and fl.device_of(target) == fl.device_of(tree)


@pytest.mark.on(*EVERYWHERE)
def test_loadmodel_between_devices_checks_dtype_absence_and_ties(device):
    model, source = device(network()), network(1)
    fl.loadmodel(model, source)
    assert values(model) == values(source) and fl.device_of(model) == device
    fl.loadmodel(source, fl.state(device(network(2))))
    assert values(source) == values(network(2)) and fl.device_of(source) == CPU
    fl.loadmodel(model, fl.cpu(network(3), dtype=np.float64), cast=True)
    assert values(model) == values(network(3))
    fl.loadmodel([None], [device(np.zeros(2, np.float32))])
    fl.loadmodel(bias := [device(np.ones(2, np.float32))], [None])
    assert fl.cpu(bias[0]).tolist() == [0, 0]
    W = device(np.ones((2, 2), np.float32))
    for into, source, words in [
        (model, fl.cpu(network(), dtype=np.float64), "the source has dtype float64, expected float32; cast=True"),
        ([None], [W], r"\[0\] is None, the source has an array"),
        ([W, W], [np.zeros((2, 2), np.float32), np.ones((2, 2), np.float32)], "one tied parameter"),
    ]:
        with pytest.raises(ValueError, match=words):
            fl.loadmodel(into, source)


@pytest.mark.on(*EVERYWHERE)
def test_a_resumed_training_is_the_whole_one(device, path):
    def train(model, state, steps):
        for _ in range(steps):
            x = device.rng.standard_normal((5, 3), dtype=np.float32)
            x = x if fl.device_of(x) == device else device(x)
            fl.update(state, model, fl.gradient(lambda m, x=x: np.sum(m(x) ** 2), model)[0])

    device.seed(7)
    model = device(network())
    opt_state = fl.setup(fl.Adam(), model)
    train(model, opt_state, 3)
    fl.save(path, model=model, opt_state=opt_state, device=device)
    train(model, opt_state, 4)
    again = device(network(1))
    state = fl.setup(fl.Adam(), again)
    device.seed(8)
    found = fl.load(path, model=again, opt_state=state, device=device)
    assert found["device"] is device and state.layers[0].weight.memory["steps"] == 3
    train(again, state, 4)
    assert values(again) == values(model)


def test_a_save_copies_each_array_once_and_a_load_too(path, simulated):
    W = fl.gpu(np.ones((2, 3), np.float32))
    model = [fl.Dense.of(W), fl.Dense.of(W.T), fl.gpu(np.ones(2, np.float32))]
    with fl.receipt() as r:
        fl.save(path, model=model)
    assert (r.device_to_host.count, r.device_to_host.bytes, r.device_to_host.explicit) == (2, 32, 2)
    assert r.launches == r.host_to_device.count == r.device_to_device.count == 0
    with fl.receipt() as r:
        fl.load(path, model=model)
    assert (r.host_to_device.count, r.host_to_device.bytes, r.device_to_host.count) == (2, 32, 0)


def test_memory_that_runs_out_leaves_the_model_as_it_is(path):
    simulate_gpu(memory=3 * 2**20)
    large = np.ones(2**18, np.float32)  # 1 MB
    model = fl.gpu([large, large + 1])
    fl.save(path, model=[large * 3, large * 4])
    with pytest.raises(MemoryError):
        fl.load(path, model=model)
    assert fl.cpu(model[0])[0] == 1 and fl.cpu(model[1])[0] == 2


@pytest.mark.on(*EVERYWHERE)
def test_a_devices_generator_goes_on_exactly(device, path):
    def draws():
        rng = device.rng
        kinds = [rng.random(3), rng.standard_normal((2, 2)), rng.uniform(1, 2, 3), rng.integers(0, 100, 5)]
        return [fl.cpu(x).tolist() for x in kinds]

    device.seed(5)
    first = draws()
    fl.save(path, device=device, rng=device.rng)
    expected = draws()
    device.seed(6)
    assert draws() != first
    fl.load(path, device=device)
    assert draws() == expected
    fl.load(path, rng=device.rng)
    assert draws() == expected


def test_a_gpus_generator_is_its_seed_and_its_number_of_draws(simulated, path):
    simulated.seed(5)
    simulated.rng.random(3)
    assert simulated.rng.state == {"seed": 5, "draws": 1}
    fl.save(path, device=simulated)
    assert fl.load(path) == {"device": {"seed": 5, "draws": 1}}
    simulated.seed(None)
    seed = simulated.rng.state["seed"]
    simulated.seed(None)
    assert seed != simulated.rng.state["seed"] and seed > 2**32
    fl.save(path, device=CPU)
    with pytest.raises(ValueError, match="device is a generator of kind SimulatedGenerator, the source has another"):
        fl.load(path, device=simulated)


class FakeRandom(SimpleNamespace):
    """CuPy's random module as far as it is used, over NumPy's Philox, with the device that was current at each draw."""

    def __init__(self, entered):
        super().__init__(Philox4x3210=np.random.Philox)

        class Generator:
            def __init__(self, bits):
                self.numpys = np.random.Generator(bits)

            def __getattr__(self, name):
                assert entered == [True], "another device was current"
                return getattr(self.numpys, name)

        self.Generator = Generator


def test_cupys_generator_is_counted(monkeypatch):
    entered = []
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(random=FakeRandom(entered)))
    monkeypatch.setitem(sys.modules, "cupy.random", FakeRandom(entered))

    class Current:
        def __enter__(self):
            entered.append(True)

        def __exit__(self, *_):
            entered.pop()

    def draws(rng):
        made = [rng.random(2), rng.standard_normal(size=(1, 2), dtype=np.float32), rng.uniform(1, 2, 2)]
        return [x.tolist() for x in (*made, rng.integers(5, size=3), rng.integers(2, 5, 3))]

    rng = CupyGenerator(Current(), 4)
    first = draws(rng)
    assert rng.state == {"seed": 4, "draws": 5} and first[0] != draws(rng)[0]
    rng.state = {"seed": 4, "draws": 0}
    assert draws(rng) == first
    assert draws(CupyGenerator(Current(), 5)) != first


def nested(depth, around):
    tree = np.ones(2)
    for _ in range(depth):
        tree = around(tree)
    return tree


TOO_DEEP = {
    "state": lambda tree, path: fl.state(tree),
    "save": lambda tree, path: fl.save(path, tree),
    "loadmodel": lambda tree, path: fl.loadmodel(tree, tree),
    "batch": lambda tree, path: fl.batch([tree, tree]),
    "numobs": lambda tree, path: fl.numobs((tree, 1)),
    "DataLoader": lambda tree, path: fl.DataLoader((tree, tree)),
}


@pytest.mark.parametrize("walk", TOO_DEEP.values(), ids=TOO_DEEP)
@pytest.mark.parametrize("around", [lambda tree: {"x": tree}, lambda tree: (tree,)], ids=["dict", "tuple"])
def test_a_tree_that_is_too_deep_raises(tmp_path, walk, around):
    with pytest.raises(RecursionError):
        walk(nested(3000, around), tmp_path / "deep")
    assert not list(tmp_path.iterdir())
