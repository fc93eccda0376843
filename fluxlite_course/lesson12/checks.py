"""Lesson 12, several GPUs: checks."""

import contextlib
import os
from unittest import mock

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..kit.exercises import exercise
from ..kit.vocabulary import call, expect, explaining, must_return, on_cpu, refuse, wrong_if


@contextlib.contextmanager
def _two_cards():
    """Two simulated cards, even if CUDA_VISIBLE_DEVICES hides some."""
    with mock.patch.dict(os.environ):
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        with fl.simulate_gpu(False), fl.simulate_gpu(2, like="NVIDIA T4"):
            yield list(fl.cuda.devices())


@exercise("12.1", "a model on two cards", look_at="what first and second are in section 1, and what the call did")
def split(split):
    rng = np.random.default_rng(0)
    model = fl.Chain(*(fl.Dense(64, 64, np.tanh, rng=rng) for _ in range(4)))
    x = rng.standard_normal((8, 64)).astype(np.float32)
    with _two_cards() as cards:
        before = [card.memory().used for card in cards]
        run, moves = call(split, model, cards)
        held = [card.memory().used - used for card, used in zip(cards, before)]
        full = int(held[0] == 0)
        refuse({
            f"split should return something that you can call with x, not a {type(run).__name__}": not callable(run),
            "the weights were copied, and none is on the cards in devices: is it devices[0], not device0, and kept?":
                moves.host_to_device.count and not any(held),
            "when split returns, no weight is on a card: move them once, not in each call": not any(held),
            f"everything is on card {full}, and card {1 - full} is empty": not all(held),
        }, f"{held[0]:,} bytes on card 0, {held[1]:,} on card 1", "two layers on each")  # fmt: skip
        with fl.receipt() as r, explaining({
            "the input is on CPU": "x comes from the host, and your function didn't move it to the first card",
            "the input is on": "what card 0 gives wasn't moved to card 1",
            "the current device": "your own lines compute with an array of another card than the current one: "
                                  "with devices[1]: around what card 1 computes",
        }):  # fmt: skip
            result = must_return(run(x), "what split returns", "the model's output for x")
        up, down, nbytes = r.host_to_device, r.device_to_host.count, f"{x.nbytes:,} bytes"
        refuse({
            "the result was copied back to the host; leave it on the second card": down and up.count <= 1,
            "the numbers between the halves went over the host": down,
            "one call moved more than x: do the weights travel each time?": up.bytes > x.nbytes,
        }, f"{many(up.count, 'copy')} to the cards, {up.bytes:,} bytes; {down} back to the host",
           f"1 copy to the cards, {nbytes}, and 1 between them")  # fmt: skip
        place, values = fl.device_of(result), fl.cpu(result)
    words = "the values aren't those of the model on one device"
    expect(values, model(x), words, shape=words, show=_some)
    wrong_if(place != cards[1], "the result isn't where it was computed", f"on {place}", f"on {cards[1]}")
    return "half of the weights on each card, and one copy between them for each call"


def _some(values):
    return f"{np.ravel(values)[:3]} …, shape {np.shape(values)}"


@exercise("12.2", "half a batch on each card",
          look_at="where each gradient is; what it holds where there is none; and the mean of two means")  # fmt: skip
def parallel_gradient(parallel_gradient):
    rng = np.random.default_rng(1)
    model = fl.Chain(fl.Dense(3, 4, np.tanh, rng=rng), fl.Dense(4, 1, rng=rng))
    x, y = (rng.standard_normal((6, columns)).astype(np.float32) for columns in (3, 1))
    rows: dict = {}

    def loss(model, x, y):
        where = "the host" if on_cpu(x) else f"card {fl.device_of(x).index}"
        rows[where] = rows.get(where, 0) + len(x)
        return np.mean((model(x) - y) ** 2)

    whole, first, last = (_flat(fl.gradient(lambda m, x, y: fl.mse(m(x), y), model, x[part], y[part])[0])
                          for part in np.s_[:, :3, 3:])  # fmt: skip
    with _two_cards() as cards:
        found = must_return(parallel_gradient(loss, model, x, y, cards), "parallel_gradient", "the gradient")
        alone = isinstance(found, tuple) and len(found) == 1
        wrong_if(alone, "gradient gives a tuple, one entry for each argument: take [0]", "a tuple")
        yours = _flat(fl.cpu(found))
    refuse({
        "loss was called with an x on the host: device(x_part), on the card of its model": "the host" in rows,
        "loss was never called": not rows,
        f"only {min(rows, default='')} had anything to do": len(rows) == 1,
        "each card worked on the whole batch": len(x) in rows.values(),
    }, f"rows: {', '.join(f'{rows[card]} on {card}' for card in sorted(rows))}", "3 rows on each card")  # fmt: skip
    two = "these are two gradients, one from each card: return their mean"
    expect(yours, whole, "the values aren't those of the whole batch", {
        "it's twice as large: the loss is a mean, so average the two gradients, don't add them": 2 * whole,
        "that's the gradient of the first half alone": first,
        "that's the gradient of the second half alone": last,
    }, shape=two if yours.size == 2 * whole.size else "that isn't a gradient of this model", show=_some)  # fmt: skip
    return "three rows on each card, and the mean of both gradients is that of all six rows"


def _flat(gradient):
    return np.concatenate([leaf.ravel() for leaf in fl.leaves(gradient) if isinstance(leaf, np.ndarray)])
