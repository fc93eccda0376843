"""`MultiHeadAttention` and `make_causal_mask`, beside PyTorch's, with masks, and on every device."""

import numpy as np
import pytest
from gradcheck import check_gradient, check_second
from inside import ShapeError
from kinds import EVERYWHERE

import fluxlite as fl
from fluxlite import MultiHeadAttention, make_causal_mask

RNG = np.random.default_rng(0)
X, K, V = RNG.normal(size=(3, 4, 6)), RNG.normal(size=(3, 5, 6)), RNG.normal(size=(3, 5, 6))


def attention(dims=6, dtype=np.float64, **keywords):
    layer = MultiHeadAttention(dims, nheads=keywords.pop("nheads", 2), rng=np.random.default_rng(1), **keywords)
    return fl.fmap(lambda x: x.astype(dtype) if isinstance(x, np.ndarray) else x, layer)


def by_hand(layer, q, k, v, mask=None):
    """For each observation and each head by itself."""
    y, all_weights = [], []
    for i in range(len(q)):
        heads, weights = [], []
        for h in range(layer.nheads):

            def part(name, x, h=h):
                rows = np.split(getattr(layer, name).weight, layer.nheads)[h]
                return x @ rows.T

            qs, ks, vs = part("q_proj", q[i]), part("k_proj", k[i]), part("v_proj", v[i])
            scores = qs @ ks.T / np.sqrt(qs.shape[1])
            powers = np.exp(scores) * (1 if mask is None else mask)
            weights.append(powers / powers.sum(1, keepdims=True))
            heads.append(weights[-1] @ vs)
        all_weights.append(weights)
        y.append(np.concatenate(heads, 1) @ layer.out_proj.weight.T)
    return np.array(y), np.array(all_weights)


@pytest.mark.parametrize("dims", [6, (6, 4, 3), ((6, 6, 6), (4, 8), 5)])
@pytest.mark.parametrize("nheads", [1, 2])
def test_beside_loops_over_observations_and_heads(dims, nheads):
    layer = attention(dims, nheads=nheads)
    y, weights = layer(X, K, V)
    for got, wanted in zip((y, weights), by_hand(layer, X, K, V), strict=True):
        np.testing.assert_allclose(got, wanted)
    np.testing.assert_array_equal(layer(X, K)[0], layer(X, K, K)[0])
    np.testing.assert_array_equal(layer(X)[0], layer(X, X, X)[0])
    np.testing.assert_allclose(layer(X[0], K[0], V[0])[0], y[0])


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_values_and_gradients_beside_pytorch(masked, bias):
    torch = pytest.importorskip("torch")
    ours = attention(bias=bias)
    if bias:
        ours.v_proj.bias[:] = ours.out_proj.bias[:] = RNG.normal(size=6)
    theirs = torch.nn.MultiheadAttention(6, 2, bias=bias, batch_first=True).double()
    projections = (ours.q_proj, ours.k_proj, ours.v_proj)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.tensor(np.concatenate([layer.weight for layer in projections])))
        theirs.out_proj.weight.copy_(torch.tensor(ours.out_proj.weight))
        if bias:
            theirs.in_proj_bias.copy_(torch.tensor(np.concatenate([layer.bias for layer in projections])))
            theirs.out_proj.bias.copy_(torch.tensor(ours.out_proj.bias))
    x, target, mask = torch.tensor(X), RNG.normal(size=X.shape), make_causal_mask(X) if masked else None

    def squared(y, weights):
        return ((y - target) ** 2).mean(), weights

    (loss, weights), (g,) = fl.withgradient(lambda m: squared(*m(X, mask=mask)), ours)
    their_mask = torch.tensor(~mask) if masked else None
    y, their_weights = theirs(x, x, x, attn_mask=their_mask, average_attn_weights=False)
    their_loss = ((y - torch.tensor(target)) ** 2).mean()
    their_loss.backward()
    np.testing.assert_allclose(loss, their_loss.item())
    np.testing.assert_allclose(weights, their_weights.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(g.k_proj.weight, theirs.in_proj_weight.grad[6:12], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(g.out_proj.weight, theirs.out_proj.weight.grad, rtol=1e-6, atol=1e-12)
    if bias:
        np.testing.assert_allclose(g.v_proj.bias, theirs.in_proj_bias.grad[12:], rtol=1e-6, atol=1e-12)


def test_derivatives():
    layer, mask = attention(), make_causal_mask(X)

    def f(q, k, v):
        return layer(q, k, v, mask=mask)

    check_gradient(f, X[:2], K[:2, :4], V[:2, :4], tolerance=1e-5)
    check_second(f, X[:2], K[:2, :4], V[:2, :4], tolerance=1e-3)


# -- masks ----------------------------------------------------------------------------------------------------


def test_no_step_sees_a_later_one():
    layer, mask = attention(), make_causal_mask(X)
    y, weights = layer(X, mask=mask)
    np.testing.assert_allclose(y, by_hand(layer, X, X, X, mask)[0])
    assert (weights[..., ~mask] == 0).all() and mask.dtype == bool and mask.shape == (4, 4)
    later = X.copy()
    later[:, 2:] += 10
    np.testing.assert_array_equal(layer(later, mask=mask)[0][:, :2], y[:, :2])
    jacobian = fl.jacobian(lambda x: layer(x, mask=mask)[0].sum((0, 2)), X)[0]
    assert all((jacobian[i, :, i + 1 :] == 0).all() for i in range(4)), "nothing flows to later steps"


def test_a_mask_for_each_observation_and_a_bias():
    layer, padded = attention(), np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]], bool)[:, None, None]
    y, weights = layer(X, mask=padded)
    assert (weights[0, ..., 3] == 0).all() and (weights[1, ..., 2:] == 0).all() and weights[2].all()
    np.testing.assert_allclose(y[1], layer(X[1:2], X[1:2, :2])[0][0])
    bias = np.where(padded, 0.0, -1e9)
    np.testing.assert_allclose(layer(X, X, X, bias)[0], y)
    assert fl.gradient(lambda b: layer(X, X, X, b)[0].sum(), np.zeros((4, 4)))[0].any()


# The second sentence is padded on its left, the third is nothing but padding: their first steps may look at nothing.
REAL = np.array([[1, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]], bool)
CLOSED = np.tril(np.ones((4, 4), bool)) & REAL[:, None, None]


@pytest.mark.on(*EVERYWHERE)
@pytest.mark.parametrize("nheads", [1, 2])
@pytest.mark.parametrize("by", ["mask", "bias", "both"])
def test_a_step_that_may_look_at_nothing_takes_nothing(by, nheads, device):
    layer = attention(nheads=nheads, dtype=np.float32)
    given = {"mask": device(CLOSED)} if by != "bias" else {}
    if by != "mask":
        given["bias"] = device(np.where(CLOSED, 0, -np.inf).astype(np.float32))

    def loss(m, x):
        y, weights = m(x, **given)
        return np.mean(y**2), y, weights

    (_, y, weights), (g, gx) = fl.withgradient(loss, device(layer), device(X.astype(np.float32)))
    y, weights, g, gx = (fl.cpu(x) for x in (y, weights, g, gx))
    assert all(np.isfinite(x).all() for x in (gx, g.q_proj.weight, g.k_proj.weight, g.v_proj.weight))
    assert (weights[np.broadcast_to(~CLOSED, weights.shape)] == 0).all()
    np.testing.assert_allclose(weights.sum(-1), np.broadcast_to(CLOSED.any(-1), weights.shape[:-1]), rtol=1e-6)
    assert (y[~CLOSED.any(-1)[:, 0]] == 0).all() and (y[0] != 0).all()


def test_steps_without_anything_to_look_at_beside_pytorch():
    torch = pytest.importorskip("torch")
    layer = attention(nheads=1)

    def loss(q, k, v):
        return (layer(q, k, v, mask=CLOSED)[0] ** 2).sum()

    def attend(q, k, v):
        q, k, v = (x @ torch.tensor(p.weight).T for x, p in zip((q, k, v), (layer.q_proj, layer.k_proj, layer.v_proj)))
        taken = torch.nn.functional.scaled_dot_product_attention(q, k, v, torch.tensor(CLOSED[:, 0]))
        return ((taken @ torch.tensor(layer.out_proj.weight).T) ** 2).sum()

    inputs = X, K[:, :4], V[:, :4]
    theirs = [torch.tensor(x, requires_grad=True) for x in inputs]
    wanted = torch.autograd.grad(attend(*theirs), theirs)
    for got, want in zip(fl.gradient(loss, *inputs), wanted, strict=True):
        np.testing.assert_allclose(got, want.numpy(), atol=1e-12)
    check_second(lambda q: layer(q, K, V, mask=np.array([[True], [False], [True], [True]]))[0], X, tolerance=1e-3)
    y, weights = layer(X, K[:, :0])  # nothing at all
    assert (y == 0).all() and weights.shape == (3, 1, 4, 0)


# -- what it's made of ----------------------------------------------------------------------------------------


def test_how_it_prints_and_half_precision():
    assert repr(MultiHeadAttention(64)) == "MultiHeadAttention(64, nheads=8)      # 16,384 parameters"
    assert repr(MultiHeadAttention(((6, 5, 4), (8, 4), 3), nheads=2)).startswith(
        "MultiHeadAttention(((6, 5, 4), (8, 4), 3), nheads=2)  "
    )
    y, weights = attention(dtype=np.float16)(X.astype(np.float16), mask=make_causal_mask(X))
    assert y.dtype == weights.dtype == np.float16
    np.testing.assert_allclose(y, attention()(X, mask=make_causal_mask(X))[0], atol=0.01)


def test_errors_name_the_place():
    layer = attention((6, 4, 3))
    with fl.simulate_gpu():
        x, there = fl.gpu(X), fl.gpu(layer)
        with pytest.raises(TypeError, match=r"one array is on Simulated:0 and another.*(.|\n)*in MultiHeadAttention"):
            there(x, mask=make_causal_mask(X))
    with pytest.raises(ShapeError, match=r"^k_proj: Dense\(6 => 4\) takes an input of shape"):
        layer(X, np.ones((3, 4, 7)))
    for inputs in ((X, K, V[:, :4]), (X[:2], K, V), (X[0, 0],)):
        with pytest.raises(ValueError, match="in MultiHeadAttention"):
            layer(*inputs)
    with pytest.raises(TypeError, match="takes an array, got 3"):
        layer(3)
    with pytest.raises(IndexError, match=r"make_causal_mask\(x\) takes an array of shape \(…, T, features\)"):
        make_causal_mask(np.ones(4))


def test_wrong_sizes():
    for dims in (-1, 2.5, "64", (1, 2), ((1, 2), 4, 4), (4, (4, 4, 4), 4)):
        with pytest.raises((TypeError, ValueError), match=r"takes dims, a number of features or"):
            MultiHeadAttention(dims, nheads=1)
    with pytest.raises(ValueError, match="6 features can't be divided among 4 heads"):
        MultiHeadAttention(6, nheads=4)
    for nheads in (0, True, 2.0):
        with pytest.raises((TypeError, ValueError), match=r"MultiHeadAttention\(nheads=…\) is"):
            MultiHeadAttention(6, nheads=nheads)
