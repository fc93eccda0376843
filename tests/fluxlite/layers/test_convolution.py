"""`Conv` and its kin: PyTorch's values, Flux's flipped kernel, sizes, how they print, devices, and errors."""

import numpy as np
import pytest
from gradcheck import check_against_torch, check_gradient, check_second
from inside import ShapeError

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


def test_every_order_in_memory_gives_the_same_and_second_derivatives():
    layer, x = CrossCor.of(numbers(3, 2, 2, 3)), numbers(4, 6, 5, 2)
    wanted = layer(x)
    for axes in ((3, 1, 2, 0), (0, 3, 1, 2), (2, 1, 3, 0)):
        other = np.transpose(np.transpose(x, axes).copy(), np.argsort(axes))
        np.testing.assert_allclose(layer(other), wanted, rtol=1e-12)
        check_gradient(layer, other)
    np.testing.assert_allclose(layer(x[::-1, ::-1])[::-1], layer(x[:, ::-1]), rtol=1e-12)
    for make, kernel in ((CrossCor, (3, 2, 2, 3)), (ConvTranspose, (3, 2, 3, 2))):
        check_second(lambda x, w, make=make: make.of(w, stride=2, pad=1)(x) ** 2, x[:1, :4, :4], numbers(*kernel))


# -- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [(1, 2), (3, 4)])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_same_pad_keeps_the_size(kernel, stride, dilation):
    x = np.ones((1, 12, 18, 1), np.float32)
    y = Conv(kernel, 1, 1, stride=stride, dilation=dilation, pad=SamePad)(x)
    assert y.shape == (1, 12 // stride, 18 // stride, 1)
    if all(size >= stride for size in kernel):
        z = ConvTranspose(kernel, 1, 1, stride=stride, dilation=dilation, pad=SamePad())(x)
        assert z.shape == (1, 12 * stride, 18 * stride, 1) or dilation > 1


def test_new_layers():
    layer = Conv((5, 3), 4, 6, fl.relu, groups=2, rng=np.random.default_rng(0))
    assert layer.weight.shape == (5, 3, 2, 6) and layer.weight.flags.c_contiguous and layer.weight.dtype == np.float32
    assert layer.bias.shape == (6,) and not layer.bias.any() and layer.activation is fl.relu
    drawn = glorot_uniform(6, 2, 5, 3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(layer.weight, np.transpose(drawn, (2, 3, 1, 0)))
    assert ConvTranspose((5, 3), 4, 6, groups=2).weight.shape == (5, 3, 3, 4)
    assert Conv((3,), 1, 2, bias=False).bias is None


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
        (
            lambda: Conv((5, 5), 3, 7, pad=2, stride=(2, 3), dilation=2),
            "Conv((5, 5), 3 => 7, pad=2, stride=(2, 3), dilation=2)      # 532 parameters",
        ),
        (lambda: Conv((2, 4), 1, 1, pad=SamePad()), "Conv((2, 4), 1 => 1, pad=(1, 0, 2, 1))      # 9 parameters"),
        (
            lambda: DepthwiseConv((3, 3), 4, 8, np.tanh, bias=False),
            "Conv((3, 3), 4 => 8, tanh, groups=4, bias=False)      # 72 parameters",
        ),
        (
            lambda: ConvTranspose((3, 3), 4, 2, stride=2, outpad=1),
            "ConvTranspose((3, 3), 4 => 2, stride=2, outpad=1)      # 74 parameters",
        ),
        (lambda: fl.fmap(lambda x: None, Conv((3,), 1, 1)), "Conv(…)"),
    ],
)
def test_how_they_print(make, text):
    assert repr(make()) == text


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 3, 8, 8), r"takes pictures of shape \(N, H, W, 3\), got shape \(2, 3, 8, 8\); "
                       r"this looks like \(N, C, H, W\): np.moveaxis\(x, 1, -1\) puts the features last$"),
        ((8, 8, 3), r"got shape \(8, 8, 3\)$"),
        ((2, 8, 8, 4), r"got shape \(2, 8, 8, 4\)$"),
    ],
)  # fmt: skip
def test_an_input_of_another_shape(shape, message):
    model, x = Chain(Conv((3, 3), 3, 2)), np.ones(shape, np.float32)
    for call in (lambda: model(x), lambda: fl.gradient(lambda m: m(x).sum(), model)):
        with pytest.raises(ShapeError, match=r"^layers\[0\]: Conv\(\(3, 3\), 3 => 2\)[: ].*" + message):
            call()
    with pytest.raises(ShapeError, match=r"got shape \(9, 28, 28\); x\[\.\.\., None\] has an axis for the one feature"):
        Conv((3, 3), 1, 2)(np.ones((9, 28, 28), np.float32))
    with pytest.raises(ValueError, match=r"window shape cannot be larger(.|\n)*in Conv\(\(3, 3\), 3 => 2\)"):
        model(np.ones((2, 2, 8, 3), np.float32))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Conv(3, 1, 2), TypeError, r"Conv\(kernel\) is \(3, 3\) for pictures or \(3,\) .*, got 3"),
        (lambda: Conv((3, 0), 1, 2), ValueError, "Conv\\(kernel\\) is at least 1, got 0"),
        (lambda: Conv((3, 3), "a", 3), TypeError, "in Conv.*inputs='a'"),
        (lambda: Conv((3, 3), 1, 2, "relu"), TypeError, "Conv's activation is a function such as np.tanh, got 'relu'"),
        (lambda: Conv((3, 3), 1, 2, stride=(1, 1, 1)), ValueError, "Conv's stride is a number, or 2, one for each"),
        (lambda: Conv((3, 3), 1, 2, pad="same"), TypeError, "Conv's pad is a whole number, got 'same'"),
        (lambda: Conv((3, 3), 1, 2, pad=-1), ValueError, "Conv's pad is at least 0, got -1"),
        (lambda: Conv((3, 3), 4, 6, groups=4), ValueError, "multiples of groups=4, got 4 and 6"),
        (lambda: Conv((3, 3), 4, 6, groups=0), ValueError, "groups=….* is at least 1, got 0"),
        (lambda: fl.GroupNorm(4, 0), ValueError, "groups is at least 1, got 0"),
        (lambda: ConvTranspose((1,), 1, 2, pad=1)(np.ones((1, 2, 1))), ShapeError, r"of \(2,\) would make \(0,\)"),
        (lambda: Conv((3, 3), 1, 2, bias=np.ones(2)), ValueError, r"in Conv\(kernel=.*bias=an array"),
        (lambda: ConvTranspose((3,), 1, 2, stride=2, outpad=2), ValueError, r"less than the stride, \(2,\), got 2"),
        (lambda: Conv((3,), 1, 2, init=lambda *s: np.ones(2)), ValueError, r"Conv\(init=…\): init\(2, 1, 3\) gives"),
        (lambda: Conv.of(np.ones((3, 3))), ValueError, r"Conv\.of: weight has shape \(kernel, inputs, outputs\)"),
        (lambda: Conv.of(np.ones((3, 2, 3)), np.ones(2)), ValueError, r"Conv\.of: bias has shape \(3,\), got an array"),
    ],
)
def test_what_a_layer_is_not_made_of(call, error, message):
    with pytest.raises(error, match=message):
        call()


# -- the rest -----------------------------------------------------------------------------------------------


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
