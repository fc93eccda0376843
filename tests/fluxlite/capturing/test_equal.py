"""A replay gives what the step gives, bit for bit: layers, losses, optimizers, state, draws, ties, types."""

import numpy as np
import pytest
from layer_table import LAYERS
from two_worlds import (
    RULES,
    batches_for,
    network,
    numbers,
    square,
    trained,
    trained_with_changing_rates,
)

import fluxlite as fl


def entropy(y):
    while isinstance(y, tuple):
        y = y[0]
    y = np.reshape(y, (-1, y.shape[-1]))
    return fl.logitcrossentropy(y, np.eye(y.shape[-1], dtype=np.float32)[np.arange(y.shape[0]) % y.shape[-1]])


def hubers(y):
    while isinstance(y, tuple):
        y = y[0]
    return fl.huber_loss(y, np.zeros_like(y))


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer(name):
    make, shape = LAYERS[name]
    rule = fl.AdamW(0.01, decay=0.1)
    for loss in (square, entropy, hubers):
        eager, replayed = [
            trained(make, batches_for(name, shape), loss, rule, captured, steps=20) for captured in (False, True)
        ]
        assert replayed == eager


LOSSES = [fl.mse, fl.mae, fl.msle, fl.huber_loss, fl.crossentropy, fl.logitcrossentropy, fl.binarycrossentropy,
          fl.logitbinarycrossentropy, fl.kldivergence, fl.poisson_loss, fl.hinge_loss, fl.squared_hinge_loss,
          fl.focal_loss, fl.binary_focal_loss, fl.dice_coeff_loss, fl.tversky_loss]  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_loss_in_every_type(loss, dtype):
    shares = fl.softmax(numbers((5, 3), 1)).astype(dtype)
    targets = np.eye(3, dtype=dtype)[[0, 1, 2, 0, 1]]

    def run(step):
        return [np.asarray(x).tobytes() for i in range(6) for x in step((shares * dtype(1 - i / 100)).astype(dtype))]

    def step(p):
        value, grads = fl.withgradient(lambda p: loss(p, targets), p)
        return value, grads[0]

    assert run(fl.captured(step)) == run(step)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_optimizer_in_every_type(rule, dtype):
    batches = [numbers((6, 3), i, dtype) for i in range(3)]
    results = [trained(lambda: network(dtype), batches, square, rule, captured, steps=50) for captured in (False, True)]
    assert results[0] == results[1]


@pytest.mark.parametrize("rule", [fl.RAdam(0.01), fl.OptimiserChain(fl.AccumGrad(2), fl.Descent(0.1))], ids=str)
def test_two_rules_decide_by_a_count_and_are_refused(rule):
    with pytest.raises(fl.CaptureError, match=r"two_worlds.py, line \d+: a decision"):
        trained(network, [numbers((6, 3), 0)], square, rule, captured=True, steps=20)


def test_a_schedule_an_adjusted_rate_and_a_frozen_layer_need_no_word():
    assert trained_with_changing_rates(captured=True) == trained_with_changing_rates(captured=False)


def test_a_tied_weight_and_its_transpose_take_one_step():
    def run(captured):
        first = fl.Dense(3, 3, np.tanh, rng=np.random.default_rng(0))
        model = fl.Chain(first, fl.Dense.of(first.weight.T, np.zeros(3, np.float32)))
        state = fl.setup(fl.Adam(0.1), model)

        def step(x):
            loss, (grads,) = fl.withgradient(lambda m: square(m(x)), model)
            fl.update(state, model, grads)
            return loss, grads

        run = fl.captured(step) if captured else step
        for i in range(8):
            loss, grads = run(numbers((6, 3), i))
        assert grads.layers[1].weight is None and isinstance(grads, fl.Gradient)
        return loss.tobytes(), grads.layers[0].weight.tobytes(), first.weight.tobytes()

    assert run(True) == run(False)


def test_the_older_styles():
    def run(captured):
        w = fl.param(np.ones((3, 2), np.float32))

        def step(x):
            loss = np.mean(np.tanh(x @ w) ** 2)
            fl.back(loss)
            w.data -= 0.1 * w.grad
            w.grad[...] = 0
            return loss.data

        run = fl.captured(step) if captured else step
        return [run(numbers((6, 3), i)).tobytes() for i in range(6)]

    assert run(True) == run(False)


def test_an_argument_with_gaps_in_memory_is_read_changed_and_viewed():
    def step(x):
        x += 1
        return np.sum(x[1:] * 2, axis=0), x[0]

    def only_read(x):
        return np.sum(x[1:] * 2, axis=0), x * 1

    for function in (step, only_read):
        run = fl.captured(function)
        for seed in range(5):
            x, y = (numbers((4, 6), seed)[:, ::2] for _ in range(2))
            for one, two in zip(run(x), function(y), strict=True):
                np.testing.assert_array_equal(one, two)
            np.testing.assert_array_equal(x, y)


def in_one_order(own, x):
    y = x.T * 2
    own["h"] = own["h"] + y
    return y, y[::-1], y[:, 1:], np.tanh(y) @ np.ones_like(x), np.broadcast_to(y, (2, *y.shape)), x


@pytest.mark.parametrize(
    "given", [numbers((30, 20), 0), numbers((30, 40), 0)[:, ::2], np.asfortranarray(numbers((9, 4), 0))]
)
def test_results_and_what_is_assigned_have_the_memory_order_that_the_step_gives_them(given):
    """So that a sum over them adds up in the same order."""

    def run(captured):
        own = {"h": np.zeros_like(given.T)}
        step = fl.captured(lambda x: in_one_order(own, x)) if captured else lambda x: in_one_order(own, x)
        found = []
        for _ in range(6):
            results = [*step(given), own["h"]]
            found += [(np.sum(x), x.ravel("K").tobytes(), np.sum(x, axis=0).tobytes()) for x in results]
            found += [x.strides for x in results[:4]]
            found += [x.flags.writeable for x in results[:5]]  # what's stretched isn't
        return found

    assert run(True) == run(False)


def changes_its_conjugate(x):
    y = x.conj()
    y += 1
    return x * 1, x.conjugate() is x, x.view() * 2


def test_a_real_array_is_its_own_conjugate():
    plain, captured = np.ones(3), np.ones(3)
    run = fl.captured(changes_its_conjugate)
    for _ in range(5):
        for one, two in zip(run(captured), changes_its_conjugate(plain), strict=True):
            np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(captured, plain)
    assert run.plans
