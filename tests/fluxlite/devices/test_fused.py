"""`fluxlite.cuda.fuse`: one launch, the values of the plain calls, and what can't be fused; the library's own use."""

import sys
from dataclasses import dataclass

import numpy as np
import pytest
from inside import by_element, optimizers
from optimizer_table import OPTIMIZERS

import fluxlite as fl
from fluxlite import receipt
from fluxlite.cuda import fuse

OUTSIDE = np.ones(3, np.float32)
BOTH = pytest.mark.on("Simulated", "CUDA")


def numbers(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def launched(function, *args):
    """What a call gives, and the names of its launches."""
    if "rehearsal" in sys.modules and any("cupy" in type(x).__module__ for x in args):
        import rehearsal

        rehearsal.log.clear()
        result = function(*args)
        return result, [entry[1] for entry in rehearsal.log if entry[0] == "launch"]
    with receipt() as r:
        result = function(*args)
    return result, list(r.launched.elements())


# -- values ----------------------------------------------------------------------------------------------------------


def kinds(x, y, s):
    return np.where(x > y, x * s, np.clip(y, None, 1)) + np.hypot(x, y) * (s + 1) - (x != y) * 0.1


PROGRAMS = [
    lambda x, y, s: np.tanh(x + y) * 2,
    lambda x, y, s: x**3 / (1 + np.abs(y)) ** s,
    lambda x, y, s: s * (1 - s) * x + 1 / (s + 2) * y,
    lambda x, y, s: np.exp(-x * x) // 0.1 % 3,
    lambda x, y, s: np.logical_and(x > 0, y < s),
    lambda x, y, s: (x > 0) * 0.1 + (y > 0) * True,
    lambda x, y, s: -abs(x) + +y,
    lambda x, y, s: np.sinc(x) + np.arctan2(x, y) + np.copysign(x, y),
    lambda x, y, s: x.astype(np.float64) + y.copy(),
    lambda x, y, s: (x * 2, y + 1, x * 2),
    lambda x, y, s: np.divmod(x, abs(y) + 1),
    lambda x, y, s: x * np.float32(2) + np.int8(3) * y,
    kinds,
]


SHAPES = [((4, 3), (4, 3)), ((4, 3), (3,)), ((4, 1), (1, 3)), ((), (2,)), ((), ()), ((0,), (1,))]


@BOTH
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_one_launch_has_the_values_and_types_of_the_plain_calls(device, number, shapes):
    function = PROGRAMS[number]
    for dtype in (np.float32, np.float64, np.float16):
        x, y = (numbers(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes))
        fused = fuse(function, kernel_name=f"program{number}")
        there = [fl.move(z, device) for z in (x, y)]
        fused(*there, 0.5)
        found, names = launched(fused, *there, 0.5)
        assert len(names) == (1 if 0 not in x.shape + y.shape or "Simulated" in str(device) else 0)
        shape = np.broadcast_shapes(x.shape, y.shape)
        with np.errstate(all="ignore"):
            wanted = function(*(np.broadcast_to(z, shape) for z in (x, y)), 0.5)
        if not isinstance(wanted, tuple):
            found, wanted = [found], [wanted]
        for z, right in zip(found, wanted):
            assert z.dtype == np.asarray(right).dtype and z.shape == shape
            # CuPy computes a power and a rest of float16 in float32.
            np.testing.assert_allclose(fl.cpu(z), right, rtol=4e-3 if dtype == np.float16 else 1e-6, atol=1e-6)


@BOTH
def test_arguments_change_in_place(device):
    def step(x, g, mean, share, rate):
        mean *= share
        mean += (1 - share) * g
        x -= rate * mean

    host = [numbers(5, seed=i) for i in range(3)]
    x, g, mean = (fl.move(z, device) for z in host)
    fused = fuse(step)
    result, names = launched(fused, x, g, mean, 0.9, 0.1)
    assert result is None and len(names) == 1
    step(*host, 0.9, 0.1)
    for there, right in zip((x, g, mean), host):
        np.testing.assert_allclose(fl.cpu(there), right, rtol=1e-6)
    fused(x, g, mean, 0.5, 0.2)  # other numbers, the same kernel
    step(*host, 0.5, 0.2)
    np.testing.assert_allclose(fl.cpu(x), host[0], rtol=1e-6)


@BOTH
def test_a_fused_function_in_another_is_part_of_its_launch(device):
    inner = fuse(lambda x: np.tanh(x) + 1, kernel_name="inner")
    outer = fuse(lambda x: inner(x) * inner(2 * x), kernel_name="outer")
    x = fl.move(numbers(4), device)
    outer(x)
    assert len(launched(outer, x)[1]) == 1


@pytest.mark.on("CPU", "Metal")
def test_elsewhere_it_is_the_function_itself(device):
    x, seen = fl.move(numbers(3), device), []

    @fuse
    def kept(x, s):
        seen.append((x, s))
        return x if s > 1 else -x

    assert kept(x, 2.0) is x and seen[0][0] is x and seen[0][1] == 2.0


@BOTH
@pytest.mark.parametrize("activation", sorted(by_element, key=lambda f: f.__name__), ids=lambda f: f.__name__)
def test_each_activation_that_we_know(device, activation):
    x = numbers(50) * 4
    found, names = launched(fuse(activation), fl.move(x, device))
    np.testing.assert_allclose(fl.cpu(found), activation(x), rtol=1e-5, atol=1e-6)
    assert len(names) == 1


def test_while_a_gradient_is_taken_it_is_an_ordinary_function(simulated):
    @fuse
    def both(x, y):
        return np.tanh(x * y), x - y

    def loss(x, y):
        a, b = both(x, y)
        return np.sum(a * b**2)

    x, y = numbers(4, 3), numbers(3, seed=1)
    with receipt() as r:
        found = fl.gradient(loss, simulated(x), simulated(y))
    assert "both" not in r.launched and r.launched["tanh"] == 1
    for g, right in zip(found, fl.gradient(loss, x, y)):
        np.testing.assert_allclose(fl.cpu(g), right, rtol=1e-4, atol=1e-5)


# -- what can't be fused ---------------------------------------------------------------------------------------------

REFUSED = [
    (lambda x, y: x - np.sum(x), r"np\.sum\(…\) can't be part of one launch"),
    (lambda x, y: np.add.reduce(x), r"np\.add\.reduce can't"),
    (lambda x, y: x @ y, r"np\.matmul can't be part"),
    (lambda x, y: x[0] + y, r"x\[i\], a loop over x"),
    (lambda x, y: sum(x), r"x\[i\], a loop over x"),
    (lambda x, y: x.T + y, r"x\.T can't"),
    (lambda x, y: x.reshape(-1), r"x\.reshape can't"),
    (lambda x, y: np.concatenate([x, y]), "np.concatenate"),
    (lambda x, y: x if x > 0 else y, r"a decision by a value .* Write .* np\.where\(condition, x, y\)"),
    (lambda x, y: x * float(y), "a decision by a value"),
    (lambda x, y: x + OUTSIDE, r"np\.add with an array of float32, shape \(3,\) from outside"),
    (lambda x, y: x / x.shape[0], r"x\.shape can't"),
    (lambda x, y: np.zeros_like(x), r"np\.zeros_like\(…\)"),
    (lambda x, y: np.asarray(x), r"np\.asarray\(x\)"),
    (lambda x, y: np.add(x, y, dtype="f8"), "np.add with dtype="),
    (lambda x, y: np.add(x, y, where=x > 0), "np.add with where="),
    (lambda x, y: np.where(x), r"np\.where\(…\) can't"),
    (lambda x, y: [x, y], "a list as its result"),
    (lambda x, y: (x, None), "None as its result"),
    (lambda x, y: x + [1, 2, 3], "np.add with a list from outside"),
    (lambda x, y: x.clip(0, 1), r"x\.clip can't be part .* Write .* np\.clip\(x, low, high\)"),
]


@BOTH
@pytest.mark.parametrize(("function", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_is_no_part_of_one_launch_is_refused(device, function, words):
    x, y = (fl.move(numbers(3, seed=i), device) for i in range(2))
    for _ in range(2):  # also the second time
        with pytest.raises(TypeError, match=words) as error:
            fuse(function, kernel_name="refused")(x, y)
        assert str(error.value).startswith("fuse, refused") and str(error.value).endswith(".")


@BOTH
def test_host_arrays_and_other_things_are_refused(device):
    x = fl.move(numbers(3), device)
    fused = fuse(lambda x, y: x + y, kernel_name="added")
    with pytest.raises(TypeError, match="one array is on .* and another, of shape \\(3,\\) .* is on CPU"):
        fused(x, numbers(3))
    with pytest.raises(TypeError, match="unsupported type list"):
        fused(x, [1.0, 2.0, 3.0])

    @fuse
    def added(x, y):
        y += x

    with pytest.raises(TypeError, match="writing to an argument that's too small"):
        added(fl.move(numbers(4, 3), device), x)


def test_arrays_that_share_memory_cannot_be_written_to(simulated):
    @fuse
    def shifted(x, y):
        x += y

    x = simulated(numbers(4))
    with pytest.raises(ValueError, match="share memory.*copy"):
        shifted(x[1:], x[:-1])
    shifted(x, x)  # each element only with itself
    np.testing.assert_allclose(fl.cpu(x), numbers(4) * 2)


# -- the library's own use: on the CPU, and while a gradient is taken, nothing changes ---------------------------

FUSIBLE = [rule for rule in OPTIMIZERS if isinstance(rule, optimizers.Fusible)]


@pytest.mark.parametrize(
    ("layer", "x", "before"),
    [
        (lambda: fl.Dense(3, 4, fl.relu), numbers(2, 3), ["matmul"]),
        (lambda: fl.Dense(3, 4, np.tanh), numbers(2, 5, 3), ["matmul"]),
        (lambda: fl.Conv((3, 3), 1, 4, fl.gelu), numbers(2, 8, 8, 1), None),
        (lambda: fl.ConvTranspose((3, 3), 1, 4, fl.swish), numbers(2, 8, 8, 1), None),
    ],
    ids=["relu", "tanh", "Conv", "ConvTranspose"],
)
def test_bias_and_activation_are_one_launch(simulated, layer, x, before):
    fl.seed(0)
    host = layer()
    there, x_there = simulated(host), simulated(x)
    result, names = launched(there, x_there)
    name = f"bias_{host.activation.__name__}"
    assert names.count(name) == 1 and names[-1] == name
    if before is not None:
        assert names == [*before, name]
    np.testing.assert_allclose(fl.cpu(result), host(x), rtol=1e-4, atol=1e-5)
    found = fl.gradient(lambda m: np.sum(m(x_there) ** 2), there)[0]
    right = fl.gradient(lambda m: np.sum(m(x) ** 2), host)[0]
    for place in ("weight", "bias"):
        np.testing.assert_allclose(fl.cpu(getattr(found, place)), getattr(right, place), rtol=1e-3, atol=1e-4)


def test_a_layer_forward_and_back(simulated):
    layer, x = simulated(fl.Dense(3, 4, fl.relu)), simulated(numbers(2, 3))
    _, names = launched(lambda: fl.gradient(lambda m: np.sum(m(x)), layer))
    there, back = ["add", "matmul", "maximum", "sum"], ["less_equal", "matmul", "ones_like", "sum", "where"]
    assert sorted(names) == sorted(there + back)


def test_a_function_of_your_own_is_called_with_the_arrays(simulated):
    seen = []

    def mine(y):
        seen.append(type(y).__name__)
        return y if float(y[0, 0]) > 0 else -y

    x = numbers(2, 3)
    for activation in (mine, fl.softmax, lambda y: y - np.mean(y)):
        host = fl.Dense(3, 4, activation)
        np.testing.assert_allclose(fl.cpu(simulated(host)(simulated(x))), host(x), rtol=1e-5, atol=1e-6)
    assert seen == ["SimulatedArray", "ndarray"]


@pytest.mark.on("Simulated", "CUDA")
@pytest.mark.parametrize("rule", FUSIBLE, ids=str)
def test_a_step_is_one_launch_for_each_parameter(device, rule):
    host = {"w": numbers(4, 3), "b": numbers(3, seed=1)}
    there = fl.fmap(lambda x: fl.move(x, device), host)
    states = fl.setup(rule, host), fl.setup(rule, there)
    for i in range(8):  # RAdam takes plain steps at first
        gradient = {"w": numbers(4, 3, seed=2 + i), "b": numbers(3, seed=20 + i)}
        fl.update(states[0], host, gradient)
        g = fl.fmap(lambda x: fl.move(x, device), gradient)
        _, names = launched(lambda w, g=g: fl.update(states[1], there, g), there["w"])
    assert len(names) == 2
    for name in host:
        np.testing.assert_allclose(fl.cpu(there[name]), host[name], rtol=1e-4, atol=1e-5)


def test_a_change_of_your_own_counts(simulated):
    @dataclass(frozen=True)
    class Half(fl.Adam):
        def change(self, memory, x, g):
            return super().change(memory, x, g) / 2

    w, g = numbers(3), numbers(3, seed=1)
    there = simulated(w)
    for rule, x in ((Half(), w), (Half(), there)):
        fl.update(fl.setup(rule, [x]), [x], [g if x is w else simulated(g)])
    np.testing.assert_allclose(fl.cpu(there), w, rtol=1e-6)
    np.testing.assert_allclose(w, numbers(3) - 0.0005 * np.sign(g), rtol=1e-3)
