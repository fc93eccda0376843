"""An array library that a program brings itself: registered by its record, it's moved to, trained on and saved.

All that it takes of fluxlite's inside is in `fluxlite.devices.plugin`, and so it is with MLX's.
"""

import ast
import operator
import re
from pathlib import Path

import numpy as np
import pytest
from inside import DeviceError
from numpy.lib.mixins import NDArrayOperatorsMixin

import fluxlite as fl
from fluxlite.devices import plugin
from fluxlite.devices.plugin import DEVICE_TO_HOST, GPU, HOST_TO_DEVICE, ArrayKind, ArrayMethods, register, tell

launched = []  # the names of the functions that came to `launch`


class OwnArray(ArrayMethods, NDArrayOperatorsMixin):
    """Numbers in a memory of their own: NumPy hands its calls over, and a host array is no operand."""

    def __init__(self, values):
        self.values = values

    shape, strides, ndim, size, dtype, itemsize, nbytes, flags, base = (
        property(operator.attrgetter(f"values.{name}"))
        for name in ("shape", "strides", "ndim", "size", "dtype", "itemsize", "nbytes", "flags", "base")
    )
    device = property(lambda self: OWN)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if not all(isinstance(x, (OwnArray, np.generic, int, float)) for x in inputs):
            return NotImplemented
        return wrapped(getattr(ufunc, method)(*unwrapped(inputs), **unwrapped(kwargs)))

    def __array_function__(self, function, types, args, kwargs):
        if not all(issubclass(kind, OwnArray) for kind in types):
            return NotImplemented
        return wrapped(function(*unwrapped(args), **unwrapped(kwargs)))

    def __getitem__(self, index):
        return wrapped(self.values[unwrapped(index)])

    def __setitem__(self, index, value):
        self.values[unwrapped(index)] = unwrapped(value)

    def __len__(self):
        return len(self.values)

    def astype(self, dtype, copy=True):
        return OwnArray(self.values.astype(dtype, copy=copy))

    def copy(self, order="C"):
        return OwnArray(self.values.copy(order))


def unwrapped(x):
    if isinstance(x, (list, tuple)):
        return type(x)([unwrapped(part) for part in x])
    if isinstance(x, dict):
        return {key: unwrapped(part) for key, part in x.items()}
    return x.values if isinstance(x, OwnArray) else x


def wrapped(x):
    if isinstance(x, (list, tuple)):
        return type(x)([wrapped(part) for part in x])
    return OwnArray(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x


class OwnGenerator:
    """Random numbers in that memory. A checkpoint saves its `state`."""

    def __init__(self, seed):
        self.numpys = np.random.default_rng(seed)

    @property
    def state(self):
        return self.numpys.bit_generator.state

    @state.setter
    def state(self, state):
        self.numpys.bit_generator.state = state

    def random(self, size=None, dtype=np.float32):
        return OwnArray(self.numpys.random(size, dtype))


class OwnDevice(GPU):
    backend = "Own"

    def upload(self, x):
        self.check(x)
        tell(self, HOST_TO_DEVICE, "copy", nbytes=x.nbytes)
        return OwnArray(x.copy("K"))

    def download(self, x):
        tell(self, DEVICE_TO_HOST, "copy", nbytes=x.nbytes)
        return x.values.copy("K")

    def new_generator(self, seed):
        return OwnGenerator(seed)


OWN = OwnDevice()


def launch(function, args):
    launched.append(function.__name__)
    return function(*args)


RECORD = ArrayKind(
    device_of=operator.attrgetter("device"),
    address=lambda x: x.values.__array_interface__["data"][0],
    add_at=lambda total, index, values: np.add.at(total.values, unwrapped(index), values.values),
    can_freeze=True,
    generator=OwnGenerator,
    launch=launch,
)
register(OwnArray, RECORD)


@pytest.fixture(autouse=True)
def nothing_launched():
    launched.clear()


def model():
    fl.seed(1)
    return fl.Chain(fl.Dense(4, 3, np.tanh), fl.Dropout(0.5), fl.Dense(3, 2))


def batch():
    rng = np.random.default_rng(0)
    return rng.normal(size=(8, 4)).astype(np.float32), rng.normal(size=(8, 2)).astype(np.float32)


def loss(m, x, y):
    return fl.mse(m(x), y)


def test_a_model_moves_there_and_back():
    host = model()
    there = OWN(host)
    assert fl.device_of(there) is OWN and type(there[0].weight) is OwnArray
    back = fl.cpu(there)
    assert fl.device_of(back) is fl.get_device("CPU") and np.array_equal(back[2].weight, host[2].weight)
    W = np.ones((2, 3), np.float32)
    moved = OWN({"W": W, "its": W.T, "other": W.copy(), "wide": np.ones(2)})
    assert len(list(fl.trainables(moved))) == 3, "W and W.T are one parameter there, too"
    assert moved["wide"].dtype == np.float32


def test_it_computes_as_on_the_host_and_takes_no_host_array():
    host = model()
    x, y = batch()
    there, own_x = OWN(host), OWN(x)
    assert np.allclose(fl.cpu(there(own_x)), host(x))
    assert launched == ["bias_tanh"], "a bias and an activation are one launch"
    with pytest.raises(TypeError):
        own_x + x
    with pytest.raises(DeviceError, match="prediction is on Own:0, target is on CPU"):
        loss(there, own_x, y)


def test_a_gradient_is_as_on_the_host_and_keeps_what_it_needs_from_being_changed():
    x, y = batch()
    host = fl.Chain(fl.Dense(4, 3, np.tanh), fl.Dense(3, 2))
    value, (expected, *_) = fl.withgradient(loss, host, x, y)
    its_value, (grads, *_) = fl.withgradient(loss, OWN(host), OWN(x), OWN(y))
    assert type(its_value) is OwnArray and np.allclose(its_value.values, value)
    assert type(grads[0].weight) is OwnArray and grads[0].weight.flags.writeable
    assert np.allclose(fl.cpu(grads[0].weight), expected[0].weight, atol=1e-6)
    w = OWN(np.ones(3))
    positions = np.array([0, 0, 2])
    assert fl.gradient(lambda w: np.sum(w[positions]), w)[0].values.tolist() == [2, 0, 1], "add_at"

    def change(w):
        result = np.sum(w * given)
        given[0] = 5
        return result

    given = OWN(np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        fl.gradient(change, w)
    assert given.flags.writeable and given.values.tolist() == [1, 1, 1]


def test_it_trains_and_what_is_saved_goes_on(tmp_path):
    x, y = map(OWN, batch())
    there = OWN(model())
    state = fl.setup(fl.Adam(0.1), there)
    losses = []
    for _ in range(20):
        value, (grads, *_) = fl.withgradient(loss, there, x, y)
        state, there = fl.update(state, there, grads)
        losses.append(fl.cpu(value).item())
    assert losses[-1] < losses[0] / 2
    assert launched, "a step is one launch for each parameter"
    path = tmp_path / "own.safetensors"
    fl.save(path, model=there, state=state, rng=OWN.rng)
    drawn = OWN.rng.random(3).values
    again = OWN(fl.Chain(fl.Dense(4, 3, np.tanh), fl.Dropout(0.5), fl.Dense(3, 2)))
    fl.load(path, model=again, state=fl.setup(fl.Adam(0.1), again), rng=OWN.rng)
    assert np.array_equal(fl.cpu(again[0].weight), fl.cpu(there[0].weight))
    assert np.array_equal(OWN.rng.random(3).values, drawn)


def test_receipts_hear_of_its_copies():
    with fl.receipt() as r:
        x = OWN(np.ones(4, np.float32))
        fl.cpu(x)
    assert "host to device    1 copy, 16 bytes: 1 explicit" in str(r)


def test_the_example_of_the_page_is_enough():
    page = (Path(__file__).parents[3] / "docs" / "adding.md").read_text(encoding="utf-8")
    code = re.search(r"^## An array library\n.*?^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    names = {"np": np, "OwnArray": OwnArray, "OwnGenerator": OwnGenerator}
    try:
        exec(code, names)
        there, x = names["own"]([model(), batch()[0]])
        (grads,) = fl.gradient(lambda m: np.sum(m(x)[np.array([0, 0])]), there)
        assert type(grads[0].weight) is OwnArray and launched == []
    finally:
        register(OwnArray, RECORD)


def test_mlx_takes_only_what_a_program_could_import_too():
    """`metal/__init__.py` takes the same names where they are, since it's asked before simgpu has to be loaded."""
    taken = set()
    for path in (Path(plugin.__file__).parent / "metal").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level > 1:
                taken |= {(path.name, node.module, alias.name) for alias in node.names}
    others = {name for path, module, name in taken if module != "plugin" and path != "__init__.py"}
    assert others == set(), "enter it in devices/plugin.py, and import it from there"
    assert {name for _, _, name in taken} <= set(plugin.__all__)
