"""`Conv` and its kin: PyTorch's values, Flux's flipped kernel, sizes, how they print, devices, and errors."""

import math

import numpy as np
import pytest
from gradcheck import check_against_torch, check_gradient
from inside import DeviceError, InputError, ShapeError, described

import fluxlite as fl
from fluxlite import Chain, Conv, ConvTranspose, CrossCor, DepthwiseConv, SamePad, glorot_uniform


def numbers(*shape, dtype=np.float64):
    return np.random.default_rng(list(shape)).normal(size=shape).astype(dtype)


def here(x):
    """PyTorch's order of a picture in ours, (N, C, …) to (N, …, C)."""
    return x.movedim(1, -1)


def there(x):
    return x.movedim(-1, 1)


def torchs(weight):
    """Our weight as PyTorch's: (*kernel, C, O) to (O, C, *kernel)."""
    return weight.movedim((-1, -2), (0, 1))


# -- values and gradients: PyTorch's cross-correlation is CrossCor; Conv is the same with a flipped kernel -----------

SETTINGS = [
    ((3, 2), {}),
    ((3, 3), {"pad": 1, "stride": 2}),
    ((2, 3), {"pad": (0, 2), "stride": (2, 1), "dilation": (2, 1)}),
    ((1, 1), {"stride": 2}),
    ((3, 3), {"groups": 2, "pad": 1}),
    ((3, 2), {"groups": 4, "dilation": 2}),
    ((3,), {}),
    ((4,), {"pad": 2, "stride": 3, "dilation": 2, "groups": 2}),
]


@pytest.mark.parametrize("flips", [True, False])
@pytest.mark.parametrize(("kernel", "settings"), SETTINGS)
def test_against_torch(kernel, settings, flips):
    torch = pytest.importorskip("torch")
    groups = settings.get("groups", 1)
    given = {"padding" if name == "pad" else name: value for name, value in settings.items()}
    function = (None, torch.nn.functional.conv1d, torch.nn.functional.conv2d)[len(kernel)]

    def ours(x, weight, bias):
        return (Conv if flips else CrossCor).of(weight, bias, np.tanh, **settings)(x)

    def theirs(x, weight, bias):
        weight = weight.flip(tuple(range(len(kernel)))) if flips else weight  # Flux's Conv, not PyTorch's
        return here(torch.tanh(function(there(x), torchs(weight), bias, **given)))

    x = numbers(2, *(7, 8)[: len(kernel)], 4)
    check_against_torch(ours, theirs, x, numbers(*kernel, 4 // groups, 8), numbers(8))


@pytest.mark.parametrize(("kernel", "settings"), [
    ((3, 2), {}), ((4, 4), {"stride": 2, "pad": 1}), ((3, 3), {"stride": 2, "outpad": 1, "groups": 2}),
    ((2, 3), {"stride": (2, 3), "pad": (1, 0), "outpad": (1, 2), "dilation": (2, 1)}), ((3,), {"stride": 2}),
])  # fmt: skip
def test_transposed_against_torch(kernel, settings):
    """The kernel is flipped, as in Flux."""
    torch = pytest.importorskip("torch")
    groups = settings.get("groups", 1)
    renamed = {"pad": "padding", "outpad": "output_padding"}
    given = {renamed.get(name, name): value for name, value in settings.items()}
    function = (None, torch.nn.functional.conv_transpose1d, torch.nn.functional.conv_transpose2d)[len(kernel)]

    def theirs(x, weight, bias):
        return here(function(there(x), torchs(weight.flip(tuple(range(len(kernel))))), bias, **given))

    x, weight = numbers(2, *(4, 3)[: len(kernel)], 4), numbers(*kernel, 6 // groups, 4)
    check_against_torch(lambda x, w, b: ConvTranspose.of(w, b, **settings)(x), theirs, x, weight, numbers(6))


def test_the_kernel_is_flipped_as_in_flux():
    """Flux: ``Conv(reshape([1, 0, -1], 3, 1, 1))`` of 0, 1, 3, 6 is 3, 5; PyTorch and `CrossCor` give -3, -5."""
    kernel, x = np.array([1.0, 0.0, -1.0]).reshape(3, 1, 1), np.array([0.0, 1.0, 3.0, 6.0]).reshape(1, 4, 1)
    assert Conv.of(kernel)(x).ravel().tolist() == np.convolve(x.ravel(), kernel.ravel(), "valid").tolist() == [3, 5]
    assert CrossCor.of(kernel)(x).ravel().tolist() == np.correlate(x.ravel(), kernel.ravel()).tolist() == [-3, -5]


def test_ten_steps_of_descent_as_in_torch():
    torch = pytest.importorskip("torch")
    x, y = numbers(4, 8, 8, 2), numbers(4, 3, 3, 3)
    weights = numbers(3, 3, 2, 4) / 3, numbers(2, 2, 4, 3) / 3
    model = Chain(
        CrossCor.of(weights[0], np.zeros(4), fl.relu), fl.MaxPool((2, 2)), CrossCor.of(weights[1], np.zeros(3), pad=1),
        fl.MeanPool((2, 2), stride=1),
    )  # fmt: skip
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(4, 3, 2, padding=1),
        torch.nn.AvgPool2d(2, 1),
    ).double()  # fmt: skip
    with torch.no_grad():
        for layer, weight in zip((theirs[0], theirs[3]), weights):
            layer.weight.copy_(torchs(torch.tensor(weight)))
            layer.bias.zero_()
    state, rule = fl.setup(fl.Descent(0.1), model), torch.optim.SGD(theirs.parameters(), lr=0.1)
    tensors = there(torch.tensor(x)), there(torch.tensor(y))
    for _ in range(10):
        loss, (grads,) = fl.withgradient(lambda model: fl.mse(model(x), y), model)
        fl.update(state, model, grads)
        rule.zero_grad()
        wanted = torch.nn.functional.mse_loss(theirs(tensors[0]), tensors[1])
        wanted.backward()
        rule.step()
        assert math.isclose(loss, wanted.item(), rel_tol=1e-9)
    np.testing.assert_allclose(model[2].weight, theirs[3].weight.detach().movedim((0, 1), (-1, -2)), rtol=1e-8)


def test_second_derivatives_as_in_torch():
    torch = pytest.importorskip("torch")
    x, weight = numbers(2, 5, 5, 2), numbers(3, 3, 2, 3)

    def penalty(weight):
        (g,) = fl.gradient(lambda x: np.sum(np.tanh(CrossCor.of(weight, stride=2, pad=1)(x))), x)
        return np.sum(g**2)

    given, start = torch.tensor(x, requires_grad=True), torch.tensor(weight, requires_grad=True)
    y = torch.tanh(torch.nn.functional.conv2d(there(given), torchs(start), stride=2, padding=1)).sum()
    (g,) = torch.autograd.grad(y, given, create_graph=True)
    (g**2).sum().backward()
    np.testing.assert_allclose(fl.gradient(penalty, weight)[0], start.grad.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_batches_of_every_size(n):
    for layer, shape in ((Conv((3, 3), 2, 4), (5, 6)), (ConvTranspose((3,), 2, 4, stride=2), (5,))):
        x = np.ones((n, *shape, 2), np.float32)
        y = layer(x)
        assert y.shape[0] == n and y.shape[-1] == 4 and y.dtype == np.float32
        g, gx = fl.gradient(lambda m, x: m(x).sum(), layer, x)
        assert gx.shape == x.shape and g.weight.shape == layer.weight.shape and g.bias.tolist() == [y.size / 4] * 4


def test_every_order_in_memory_gives_the_same():
    layer, x = CrossCor.of(numbers(3, 2, 2, 3)), numbers(4, 6, 5, 2)
    wanted = layer(x)
    for axes in ((3, 1, 2, 0), (0, 3, 1, 2), (2, 1, 3, 0)):
        other = np.transpose(np.transpose(x, axes).copy(), np.argsort(axes))
        np.testing.assert_allclose(layer(other), wanted, rtol=1e-12)
        check_gradient(layer, other)
    np.testing.assert_allclose(layer(x[::-1, ::-1])[::-1], layer(x[:, ::-1]), rtol=1e-12)


def test_sequences_of_length_one():
    assert Conv((1,), 2, 3)(np.ones((4, 1, 2), np.float32)).shape == (4, 1, 3)
    assert Conv((3,), 2, 3, pad=SamePad())(np.ones((4, 1, 2), np.float32)).shape == (4, 1, 3)


# -- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [(1, 2), (3, 4), (5, 5)])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_same_pad_keeps_the_size(kernel, stride, dilation):
    x = np.ones((1, 12, 18, 1), np.float32)
    y = Conv(kernel, 1, 1, stride=stride, dilation=dilation, pad=SamePad)(x)
    assert y.shape == (1, 12 // stride, 18 // stride, 1)
    if all(size >= stride for size in kernel):
        z = ConvTranspose(kernel, 1, 1, stride=stride, dilation=dilation, pad=SamePad())(x)
        assert z.shape == (1, 12 * stride, 18 * stride, 1) or dilation > 1


def test_an_odd_padding_has_one_more_in_front():
    assert Conv((2, 4), 1, 1, pad=SamePad()).pad == ((1, 0), (2, 1))
    y = CrossCor.of(np.array([1.0, 10.0]).reshape(2, 1, 1), pad=SamePad())(np.array([1.0, 2.0]).reshape(1, 2, 1))
    assert y.ravel().tolist() == [10, 21]


def test_before_and_after_differ():
    assert Conv((3, 3), 1, 1, pad=(1, 0, 2, 3)).pad == ((1, 0), (2, 3))
    assert Conv((3, 3), 1, 1, pad=(1, 0, 2, 3))(np.ones((1, 4, 4, 1), np.float32)).shape == (1, 3, 7, 1)


def test_new_layers():
    layer = Conv((5, 3), 4, 6, fl.relu, groups=2, rng=np.random.default_rng(0))
    assert layer.weight.shape == (5, 3, 2, 6) and layer.weight.flags.c_contiguous and layer.weight.dtype == np.float32
    assert layer.bias.shape == (6,) and not layer.bias.any() and layer.activation is fl.relu
    drawn = glorot_uniform(6, 2, 5, 3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(layer.weight, np.transpose(drawn, (2, 3, 1, 0)))
    assert ConvTranspose((5, 3), 4, 6, groups=2).weight.shape == (5, 3, 3, 4)
    assert Conv((3,), 1, 2, bias=False).bias is None
    fl.seed(3)
    first = Conv((3,), 2, 2).weight
    fl.seed(3)
    assert (Conv((3,), 2, 2).weight == first).all()


def test_a_depthwise_convolution_sees_one_feature():
    layer = DepthwiseConv((3, 3), 2, 4, bias=False, pad=1)
    x = numbers(1, 5, 5, 2, dtype=np.float32)
    changed = x.copy()
    changed[..., 1] = 0
    same = (layer(x) == layer(changed)).all(axis=(0, 1, 2)).tolist()
    assert layer.groups == 2 and same == [True, True, False, False]


# -- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Conv((3, 3), 1, 16, fl.relu), "Conv((3, 3), 1 => 16, relu)      # 160 parameters"),
        (lambda: Conv((3,), 4, 2, bias=False), "Conv((3,), 4 => 2, bias=False)      # 24 parameters"),
        (
            lambda: Conv((5, 5), 3, 7, pad=2, stride=(2, 3), dilation=2),
            "Conv((5, 5), 3 => 7, pad=2, stride=(2, 3), dilation=2)      # 532 parameters",
        ),
        (lambda: Conv((2, 4), 1, 1, pad=SamePad()), "Conv((2, 4), 1 => 1, pad=(1, 0, 2, 1))      # 9 parameters"),
        (lambda: Conv((3, 1), 1, 1, pad=(1, 0)), "Conv((3, 1), 1 => 1, pad=(1, 0))      # 4 parameters"),
        (
            lambda: DepthwiseConv((3, 3), 4, 8, np.tanh, bias=False),
            "Conv((3, 3), 4 => 8, tanh, groups=4, bias=False)      # 72 parameters",
        ),
        (lambda: CrossCor((3, 3), 1, 2), "CrossCor((3, 3), 1 => 2)      # 20 parameters"),
        (
            lambda: ConvTranspose((3, 3), 4, 2, stride=2, outpad=1),
            "ConvTranspose((3, 3), 4 => 2, stride=2, outpad=1)      # 74 parameters",
        ),
        (lambda: fl.fmap(lambda x: None, Conv((3,), 1, 1)), "Conv.of(None, None)      # 0 parameters"),
    ],
)
def test_how_they_print(make, text):
    assert repr(make()) == described(make()) == text


def test_in_a_chain():
    assert repr(Chain(Conv((3, 3), 1, 16, fl.relu), fl.MaxPool((2, 2)), fl.GlobalMeanPool())).split("\n") == [
        "Chain(",
        "  Conv((3, 3), 1 => 16, relu),      # 160 parameters",
        "  MaxPool((2, 2)),",
        "  GlobalMeanPool(),",
        ")                                   # 160 parameters in all",
    ]


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 3, 8, 8), r"takes pictures of shape \(N, H, W, 3\), got shape \(2, 3, 8, 8\); "
                       r"this looks like \(N, C, H, W\): np.moveaxis\(x, 1, -1\) puts the features last$"),
        ((8, 8, 3), r"got shape \(8, 8, 3\); one picture alone is x\[None\]$"),
        ((2, 8, 8, 4), r"got shape \(2, 8, 8, 4\)$"),
        ((2, 3), r"got shape \(2, 3\)$"),
        ((2, 2, 8, 3), r"no window of \(3, 3\) fits into \(2, 8\), of an input of shape \(2, 2, 8, 3\); pad it$"),
    ],
)  # fmt: skip
def test_an_input_of_another_shape(shape, message, inside):
    model, x = Chain(Conv((3, 3), 3, 2)), np.ones(shape, np.float32)
    with pytest.raises(ShapeError, match=r"^layers\[0\]: Conv\(\(3, 3\), 3 => 2\)[: ].*" + message):
        fl.gradient(lambda m: m(x).sum(), model) if inside else model(x)


def test_digits_without_an_axis_for_their_one_feature():
    with pytest.raises(ShapeError, match=r"got shape \(9, 28, 28\); x\[\.\.\., None\] has an axis for the one feature"):
        Conv((3, 3), 1, 2)(np.ones((9, 28, 28), np.float32))


@pytest.mark.parametrize("x", [3.0, None, "abc"])
def test_an_input_that_is_no_array(x):
    with pytest.raises(InputError, match=r"takes an array, got .*np\.asarray"):
        Conv((3,), 1, 1)(x)


def test_types_of_the_input():
    layer = Conv((3,), 1, 2)
    with pytest.raises(InputError, match=r"^Conv\(\(3,\), 1 => 2\) takes floating-point numbers, got uint8; convert"):
        layer(np.ones((2, 5, 1), np.uint8))
    assert layer(np.ones((2, 5, 1))).dtype == np.float32
    assert len(fl.notices()) == 1 and "converts its float64 input" in fl.notices()[0]
    half = Conv.of(np.ones((3, 1, 2), np.float16), np.ones(2, np.float16), fl.relu)
    x = np.ones((2, 5, 1), np.float16)
    g, gx = fl.gradient(lambda m, x: np.mean(m(x)), half, x)
    assert half(x).dtype == g.weight.dtype == g.bias.dtype == gx.dtype == np.float16 and half(x)[0, 0, 0] == 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Conv(3, 1, 2), TypeError, r"Conv\(kernel\) takes the size .*, \(3, 3\) for pictures or \(3,\)"),
        (lambda: Conv((3, 0), 1, 2), ValueError, "Conv\\(kernel\\) is at least 1, got 0"),
        (lambda: Conv((3, 3), 1.5, 2), TypeError, r"Conv\(inputs\) is a whole number, got float 1.5"),
        (lambda: Conv((3, 3), 1, 0), ValueError, r"Conv\(outputs\) is at least 1, got 0"),
        (lambda: Conv((3, 3), 1, 2, "relu"), TypeError, "Conv's activation is a function such as fl.relu, got 'relu'"),
        (lambda: Conv((3, 3), 1, 2, stride=(1, 1, 1)), ValueError, "Conv's stride is a number, or 2, one for each"),
        (lambda: Conv((3, 3), 1, 2, pad="same"), TypeError, r"or SamePad\(\), which .*; got 'same'"),
        (lambda: Conv((3, 3), 1, 2, pad=-1), ValueError, "Conv's pad is at least 0, got -1"),
        (lambda: Conv((3, 3), 4, 6, groups=4), ValueError, "multiples of groups=4, got 4 and 6"),
        (lambda: Conv((3, 3), 1, 2, bias=np.ones(2)), TypeError, r"for arrays there is Conv\.of"),
        (lambda: ConvTranspose((3,), 1, 2, stride=2, outpad=2), ValueError, r"less than the stride, \(2,\), got 2"),
        (lambda: Conv((3,), 1, 2, init=lambda *s: np.ones(2)), ValueError, r"Conv\(init=…\): init\(2, 1, 3\) gives"),
        (lambda: Conv.of(np.ones((3, 3))), ValueError, r"Conv\.of: weight has shape \(\*kernel, inputs, outputs\)"),
        (lambda: Conv.of(np.ones((3, 2, 3)), np.ones(2)), ValueError, r"for 3 outputs, bias has \(3,\), got an array"),
        (lambda: Conv.of(np.ones((3, 2, 3)), groups=2), ValueError, "can't be cut into 2 groups"),
    ],
)
def test_what_a_layer_is_not_made_of(call, error, message):
    with pytest.raises(error, match=message):
        call()


# -- devices and files -----------------------------------------------------------------------------------------------


def network():
    return Chain(
        Conv((3, 3), 2, 4, fl.relu, pad=SamePad(), rng=np.random.default_rng(0)),
        fl.MaxPool((3, 3), stride=2, pad=1),
        ConvTranspose((2, 2), 4, 4, np.tanh, stride=2, groups=2, rng=np.random.default_rng(1)),
        fl.MeanPool((2, 2), pad=1), fl.Upsample("bilinear", scale=2), fl.Upsample(scale=2),
        fl.AdaptiveMaxPool((4, 3)), fl.AdaptiveMeanPool((2, 2)),
        CrossCor((2, 2), 4, 3, rng=np.random.default_rng(2)), fl.GlobalMaxPool(), fl.GlobalMeanPool(),
    )  # fmt: skip


def trained(place, steps=2):
    """The losses, and the model after its training, with everything where `place` puts it."""
    model, x = place(network()), place(numbers(3, 8, 7, 2, dtype=np.float32))
    state, losses = fl.setup(fl.Descent(0.1), model), []
    for _ in range(steps):
        loss, (grads,) = fl.withgradient(lambda model: np.sum(model(x) ** 2), model)
        fl.update(state, model, grads)
        losses.append(loss)
    return [float(loss) for loss in losses], fl.cpu(model)


def test_on_a_simulated_gpu_without_a_hidden_transfer():
    losses, model = trained(lambda x: x)
    with fl.simulate_gpu(count=2):
        second = fl.get_device("Simulated", 1)
        got, there = trained(second)
        model_there, x = second(network()), second(numbers(3, 8, 7, 2, dtype=np.float32))
        with fl.receipt() as seen:
            y = model_there(x)
            grads = fl.gradient(lambda model: np.sum(model(x) ** 2), model_there)
        assert seen.host_to_device.count == seen.device_to_host.count == seen.synchronizations == 0
        assert fl.device_of(y) == fl.device_of(grads[0][0].weight) == second
    np.testing.assert_allclose(got, losses, rtol=1e-4)
    np.testing.assert_allclose(there[0].weight, model[0].weight, rtol=1e-4, atol=1e-5)


def test_launches_are_counted():
    """A convolution: its input put in order, its windows copied, its kernel flipped, a product, one sum.

    CuPy copies an operand of the product first, which counts as one of its launches.
    """
    with fl.simulate_gpu():
        layer, x = fl.gpu(Conv((3, 3), 2, 4)), fl.gpu(np.ones((8, 9, 9, 2), np.float32))
        with fl.receipt() as seen:
            layer(x)
        assert dict(seen.launched) == {"copy": 1, "reshape": 2, "matmul": 2, "add": 1}
        with fl.receipt() as seen:
            fl.MaxPool((3, 3))(x)
        assert dict(seen.launched) == {"maximum": 4}


def test_on_metal():
    pytest.importorskip("mlx.core")
    from inside import MetalDevice

    losses, model = trained(lambda x: x)
    got, there = trained(MetalDevice())
    np.testing.assert_allclose(got, losses, rtol=1e-4)
    np.testing.assert_allclose(there[0].weight, model[0].weight, rtol=1e-4, atol=1e-5)


def test_a_model_on_one_device_and_data_on_another():
    with fl.simulate_gpu():
        model, x = Chain(Conv((3, 3), 2, 4)), np.ones((1, 5, 5, 2), np.float32)
        for one, other, places in ((model, fl.gpu(x), "CPU, the input"), (fl.gpu(model), x, "Simulated:0, the")):
            with pytest.raises(DeviceError, match=rf"^layers\[0\]\.weight is on {places}"):
                one(other)


def test_saving_loading_and_ties(tmp_path):
    shared = Conv((3, 3), 2, 2, pad=1)
    model = Chain(shared, fl.MaxPool((2, 2)), shared)
    x = numbers(2, 6, 6, 2, dtype=np.float32)
    fl.save(tmp_path / "model.safetensors", model)
    other = Conv((3, 3), 2, 2, pad=1)
    other = Chain(other, fl.MaxPool((2, 2)), other)
    assert not (other(x) == model(x)).all()
    fl.load(tmp_path / "model.safetensors", other)
    np.testing.assert_array_equal(other(x), model(x))
    grads = fl.gradient(lambda m: m(x).sum(), model)[0]
    state = fl.setup(fl.Descent(0.1), model)
    fl.update(state, model, grads)
    assert model[0].weight is model[2].weight and len(list(fl.trainables(model))) == 2


def test_settings_stay_when_a_model_is_rebuilt():
    model = fl.fmap(lambda x: x, ConvTranspose((3, 3), 2, 4, stride=2, pad=1, outpad=1))
    assert (model.stride, model.pad, model.outpad, model.groups) == ((2, 2), ((1, 1), (1, 1)), (1, 1), 1)
    assert [str(path) for path, _ in fl.trainables(model)] == ["weight", "bias"]
