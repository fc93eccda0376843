"""Lesson 12, several GPUs: checks."""

import contextlib
import os
from unittest import mock

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..kit.exercises import exercise
from ..kit.vocabulary import called, expect, explained, on_cpu, refuse, returned, wrong_if


@contextlib.contextmanager
def _two_cards():
    """Two simulated cards, even if CUDA_VISIBLE_DEVICES hides some."""
    with mock.patch.dict(os.environ):
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        with fl.simulate_gpu(False), fl.simulate_gpu(2, like="NVIDIA T4"):
            yield list(fl.cuda.devices())


_LAYER = 64 * 64 * 4 + 512  # a layer's bytes on a card: the weight, and the bias in the smallest unit of memory


@exercise("12.1", "a model on two cards", look_at="what first and second are in section 1, and what the call did")
def split(split):
    rng = np.random.default_rng(0)
    model = fl.Chain(*(fl.Dense(64, 64, np.tanh, rng=rng) for _ in range(4)))
    x = rng.standard_normal((8, 64)).astype(np.float32)
    wanted = model(x)
    other = "your own lines compute with an array of another card than the current one"
    with _two_cards() as cards:
        before = [card.memory().used for card in cards]
        run, moves = called(split, model, cards)
        held = [card.memory().used - used for card, used in zip(cards, before)]
        # We look only at the bytes on the cards.
        layers, full = [round(nbytes / _LAYER, 1) for nbytes in held], int(held[0] == 0)
        refuse({
            f"split should return something that you can call with x, not a {type(run).__name__}": not callable(run),
            "the model you were given was changed; moving makes a new one, so keep that":
                any(fl.device_of(leaf) is not None and not on_cpu(leaf) for leaf in fl.leaves(model)),
            "the weights were copied, and none is on the cards in devices: is it devices[0], not device0, and kept?":
                moves.host_to_device.count and not any(held),
            "when split returns, no weight is on a card: move them once, not in each call": not any(held),
            f"everything is on card {full}, and card {1 - full} is empty": not all(held),
            "the cards don't hold two of the four layers each": layers != [2, 2],
        }, f"{held[0]:,} bytes on card 0, {held[1]:,} on card 1", f"{2 * _LAYER:,} on each: two layers")  # fmt: skip
        with fl.receipt() as r, explained({
            "the input is on CPU": "x comes from the host, and your function didn't move it to the first card",
            "the input is on": "what card 0 gives wasn't moved to card 1",
            "the current device": f"{other}: with devices[1]: around what card 1 computes",
        }):  # fmt: skip
            result = run(x)
        _check_call(r)
        wrong_if(result is None, "what split returns gives None", expected="the model's output for x")
        place, values = fl.device_of(result), fl.cpu(result)
    words = "the values aren't those of the model on one device"
    expect(values, wanted, words, shape=words, show=_some)
    wrong_if(place != cards[1], "the result isn't where it was computed", f"on {place}", f"on {cards[1]}")
    return "half of the weights on each card, and one copy between them for each call"


def _check_call(r):
    """Raises if one call makes copies that it shouldn't."""
    activations, up, down = 8 * 64 * 4, r.host_to_device, r.device_to_host.count
    between = [m.bytes for m in r.timeline() if m.kind == "device to device" and m.name.startswith("copy from")]
    copies = f"{many(up.count, 'copy')} to the cards, {up.bytes:,} bytes; {down} back to the host"
    refuse({
        "the result was copied back to the host; leave it on the second card": down and up.count <= 1,
        "the numbers between the halves went over the host": down,
        "one call moved more than x: do the weights travel each time?": up.bytes > activations,
        "one call copied more between the cards than it has to": sum(between) > activations,
    }, f"{copies}; {len(between)} between the cards, {sum(between):,} bytes",
       f"1 copy to the cards and 1 between them, {activations:,} bytes each")  # fmt: skip


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
        place = fl.device_of(x)
        where = -1 if place is None or place.backend == "CPU" else place.index
        rows[where] = rows.get(where, 0) + len(x)
        return np.mean((model(x) - y) ** 2)

    whole, first, last = (_flat(fl.gradient(lambda m, x, y: fl.mse(m(x), y), model, x[part], y[part])[0])
                          for part in np.s_[:, :3, 3:])  # fmt: skip
    with _two_cards() as cards:
        found = parallel_gradient(loss, model, x, y, cards)
        alone = isinstance(found, tuple) and len(found) == 1
        wrong_if(alone, "gradient gives a tuple, one entry for each argument: take [0]", "a tuple")
        yours = _flat(fl.cpu(returned(found, "parallel_gradient", "the gradient for the whole batch")))
    refuse({
        "loss was never called": not rows,
        "loss was called with an x on the host: device(x_part), on the card of its model": -1 in rows,
        f"only card {min(rows, default=0)} had anything to do": len(rows) == 1,
        "each card worked on the whole batch": len(x) in rows.values(),
    }, f"rows: {', '.join(f'{rows[card]} on card {card}' for card in sorted(rows))}", "3 rows on each")  # fmt: skip
    two = "these are two gradients, one of each card; the mean of the two is wanted"
    expect(yours, whole, "the values aren't those of the whole batch", {
        "it's twice as large: the loss is a mean, so average the two gradients, don't add them": 2 * whole,
        "that's the gradient of the first half alone": first,
        "that's the gradient of the second half alone": last,
    }, shape=two if yours.size == 2 * whole.size else "that isn't a gradient of this model", show=_some)  # fmt: skip
    return "three rows on each card, and the mean of both gradients is that of all six rows"


def _flat(gradient):
    arrays = [leaf for leaf in fl.leaves(gradient) if isinstance(leaf, np.ndarray)]
    return np.concatenate([array.ravel() for array in arrays]) if arrays else np.zeros(0)
