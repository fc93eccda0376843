"""Pools and `Upsample`: PyTorch's values where Flux has the same, ties, sizes, how they print, and errors."""

import numpy as np
import pytest
from gradcheck import check_against_torch, check_gradient, check_second
from inside import InputError, ShapeError

import fluxlite as fl
from fluxlite import AdaptiveMaxPool, GlobalMaxPool, MaxPool, MeanPool, Upsample


def numbers(*shape, dtype=np.float64):
    return np.random.default_rng(list(shape)).normal(size=shape).astype(dtype)


def ties(*shape):
    return np.random.default_rng(list(shape)).integers(0, 3, shape).astype(float)


def with_torch(f):
    """PyTorch's function of pictures in its order, as one of pictures in ours."""
    return lambda x: f(x.movedim(-1, 1)).movedim(1, -1)


# -- values and gradients --------------------------------------------------------------------------------------------

WINDOWS = [
    ((2, 2), {}, {}),
    ((3, 2), {"stride": 1}, {"stride": 1}),
    ((3, 3), {"stride": 2, "pad": 1}, {"stride": 2, "padding": 1}),
    ((2, 3), {"stride": (3, 2), "pad": (0, 1)}, {"stride": (3, 2), "padding": (0, 1)}),
    ((1, 1), {"stride": 2}, {"stride": 2}),
    ((3,), {"stride": 2}, {"stride": 2}),
]


@pytest.mark.parametrize("make", [numbers, ties])
@pytest.mark.parametrize(("kernel", "settings", "given"), WINDOWS)
def test_against_torch(kernel, settings, given, make):
    """The first of equal maxima has the gradient; padding is never the largest; in a mean, it counts."""
    functional = pytest.importorskip("torch").nn.functional
    largest, mean = ((functional.max_pool1d, functional.avg_pool1d), (functional.max_pool2d, functional.avg_pool2d))[
        len(kernel) - 1
    ]
    x = make(2, *(7, 8)[: len(kernel)], 3)
    check_against_torch(MaxPool(kernel, **settings), with_torch(lambda x: largest(x, kernel, **given)), x)
    check_against_torch(MeanPool(kernel, **settings), with_torch(lambda x: mean(x, kernel, **given)), x)


@pytest.mark.parametrize("space", [(6, 8), (4, 4), (12,)])
def test_adaptive_pools_of_multiples_against_torch(space):
    functional = pytest.importorskip("torch").nn.functional
    dims, out = len(space), (2, 4)[: len(space)]
    largest, mean = (getattr(functional, f"adaptive_{kind}_pool{dims}d") for kind in ("max", "avg"))
    x = ties(2, *space, 3)
    check_against_torch(AdaptiveMaxPool(out), with_torch(lambda x: largest(x, out)), x)
    check_against_torch(fl.AdaptiveMeanPool(out), with_torch(lambda x: mean(x, out)), x)


@pytest.mark.parametrize("shape", [(2, 4, 3, 3), (2, 5, 3), (2, 1, 1, 1)])
def test_global_pools_against_torch(shape):
    pytest.importorskip("torch")
    axes = tuple(range(1, len(shape) - 1))

    def largest(x):  # amax shares a gradient among equal elements; the first of them is max's of one axis
        flat = x.flatten(1, len(shape) - 2)
        return flat.gather(1, flat.argmax(1, keepdim=True)).reshape(len(x), *[1] * len(axes), shape[-1])

    check_against_torch(GlobalMaxPool(), largest, numbers(*shape))
    check_against_torch(fl.GlobalMeanPool(), lambda x: x.mean(axes, keepdim=True), numbers(*shape))


@pytest.mark.parametrize(
    "pool, found",
    [
        (MaxPool((2, 2)), [(0, 0), (0, 2), (2, 0), (2, 2)]),
        (MaxPool((3, 3), stride=1), [(0, 0), (0, 1), (1, 0), (1, 1)]),
        (GlobalMaxPool(), [(0, 0)]),
        (AdaptiveMaxPool((1, 2)), [(0, 0), (0, 2)]),
    ],
)
def test_the_first_of_equal_maxima_has_the_gradient(pool, found):
    (g,) = fl.gradient(lambda x: pool(x).sum(), np.ones((1, 4, 4, 1)))
    assert [tuple(place) for place in np.argwhere(g[0, :, :, 0])] == found and g.sum() == len(found)


def test_a_nan_is_not_lost():
    x = np.arange(16.0).reshape(1, 4, 4, 1)
    x[0, 1, 1, 0] = np.nan
    for pool in (MaxPool((2, 2)), MeanPool((2, 2))):
        y = pool(x)
        assert np.isnan(y).ravel().tolist() == [True, False, False, False]
        assert fl.gradient(lambda x: pool(x)[:, :1, :1].sum(), x)[0][0, :2, :2].any()  # noqa: B023


@pytest.mark.parametrize("pool", [
    MaxPool((3, 2), stride=2, pad=1), MeanPool((2, 2), pad=(1, 0)), AdaptiveMaxPool((2, 2)), GlobalMaxPool(),
    fl.GlobalMeanPool(),
])  # fmt: skip
def test_first_and_second_derivatives(pool):
    x = np.random.default_rng(0).permutation(120).reshape(2, 5, 6, 2) / 60
    check_gradient(lambda x: pool(x) ** 2, x)
    check_second(lambda x: pool(x) ** 3, x)


# -- Upsample --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "given"), [
    ("nearest", {"scale": 2}), ("nearest", {"scale": (3, 1)}), ("nearest", {"size": (4, 12)}),
    ("bilinear", {"scale": 2}), ("bilinear", {"size": (7, 3)}), ("bilinear", {"scale": (1.5, 2)}),
    ("bilinear", {"size": (1, 1)}),
])  # fmt: skip
def test_upsampled_against_torch(mode, given):
    functional = pytest.importorskip("torch").nn.functional
    layer, x = Upsample(mode, **given), numbers(2, 4, 6, 3)
    size = layer(x).shape[1:-1]
    corners = {"align_corners": True} if mode == "bilinear" else {}
    check_against_torch(layer, with_torch(lambda x: functional.interpolate(x, size, mode=mode, **corners)), x)
    check_second(lambda x: layer(x) ** 3, x[:1, :2, :3])


# -- text and errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "MaxPool((3,))", "MaxPool((5, 5), pad=2, stride=3)", "MeanPool((2, 3), stride=(2, 1))", "AdaptiveMaxPool((25, 25))",
    "GlobalMeanPool()", 'Upsample("nearest", scale=2)', 'Upsample("bilinear", size=(4, 5))',
])  # fmt: skip
def test_they_print_as_they_are_written(text):
    assert repr(eval(text, vars(fl))) == text
    assert f"  {text}," in repr(fl.Chain(eval(text, vars(fl)), np.tanh)).split("\n")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: MaxPool(2), TypeError, r"\(3, 3\) for pictures or \(3,\) for sequences, got 2"),
        (lambda: MaxPool((2, 2), pad=2), ValueError, r"MaxPool's pad is smaller than its window \(2, 2\), got 2"),
        (lambda: MeanPool((2, 2), stride=0), ValueError, "MeanPool's stride is at least 1, got 0"),
        (lambda: AdaptiveMaxPool(7), TypeError, r"AdaptiveMaxPool\(out\) is \(3, 3\) for pictures"),
        (lambda: Upsample("cubic", scale=2), ValueError, '"nearest" or "bilinear", got \'cubic\''),
        (lambda: Upsample("nearest"), ValueError, "either scale=, such as 2, or size="),
        (lambda: Upsample(scale=1.5)(np.ones((1, 2, 1))), ShapeError, r"multiples of its input's lengths \(2,\), not"),
        (lambda: Upsample(size=4), TypeError, "has no len"),
        (lambda: MaxPool((2, 2))(np.ones((2, 5, 3))), ShapeError, r"pictures of shape \(N, H, W, features\), got shape "
                                                                  r"\(2, 5, 3\)"),
        (lambda: MaxPool((2, 2))(3.0), InputError, r"MaxPool\(\(2, 2\)\) takes an array, got 3.0"),
        (lambda: GlobalMaxPool()(np.ones((2, 5))), ShapeError, r"sequences of shape \(N, T, features\), got"),
        (lambda: GlobalMaxPool()(np.ones((2, 0, 5))), ValueError, "an empty sequence"),
        (lambda: fl.Chain(MaxPool((4, 2)))(np.ones((1, 3, 3, 1))), ShapeError,
         r"^layers\[0\]: MaxPool\(\(4, 2\)\): no window of \(4, 2\) fits into \(3, 3\)"),
        (lambda: AdaptiveMaxPool((4, 4))(np.ones((1, 3, 5, 1))), ShapeError, r"make \(4, 4\) of \(3, 5\)"),
        (lambda: Upsample(size=(5, 4))(np.ones((1, 2, 2, 1))), ShapeError, r"multiples of its input's lengths \(2,"),
        (lambda: Upsample(scale=(2, 2))(np.ones((1, 2, 2))), ShapeError, "takes pictures of shape"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


LAYERS_FOR_PIXELS = [
    fl.MeanPool((2, 2)), fl.MeanPool((2, 2), stride=1, pad=1), fl.AdaptiveMeanPool((2, 2)), fl.GlobalMeanPool(),
    fl.MaxPool((2, 2), pad=1), fl.AdaptiveMaxPool((2, 2)), fl.GlobalMaxPool(), fl.Upsample(scale=2),
    fl.Upsample("bilinear", scale=2),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, bool])
@pytest.mark.parametrize("layer", LAYERS_FOR_PIXELS, ids=repr)
def test_of_pixels(layer, dtype):
    """In eight bits, 200 + 200 would be 144; a third of a pixel isn't a whole one."""
    pixels = np.random.default_rng(1).integers(0, 256, (2, 4, 4, 3)).astype(dtype)
    np.testing.assert_allclose(layer(pixels), layer(pixels.astype(float)))
