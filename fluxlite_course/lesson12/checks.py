"""Lesson 12, several GPUs: checks."""

import contextlib
import copy
import os
from typing import Any
from unittest import mock

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from ..kit.exercises import brief, exercise
from ..kit.vocabulary import call, expect, explaining, function, must_return, on_cpu, refuse, same, wrong_if
from ..kit.watching import unchanged


@contextlib.contextmanager
def _two_cards():
    """Two simulated cards, even if CUDA_VISIBLE_DEVICES hides some."""
    with mock.patch.dict(os.environ):
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        with fl.simulate_gpu(False), fl.simulate_gpu(2, like="NVIDIA T4"):
            yield list(fl.cuda.devices())


def _noting(places):
    """tanh, which notes on which card it was called: the card's number, or "the host"."""

    def tanh(x):
        places.append("the host" if on_cpu(x) else fl.device_of(x).index)
        return np.tanh(x)

    return tanh


def _nbytes(model):
    return sum(leaf.nbytes for leaf in fl.leaves(model) if isinstance(leaf, np.ndarray))


@exercise("12.1", "a model on two cards", look_at="what first and second are in section 1, and what the call did")
def split(split):
    function(split, "split")
    rng = np.random.default_rng(0)
    places: list[Any] = []
    model = fl.Chain(*(fl.Dense(64, 64, _noting(places), rng=rng) for _ in range(4)))
    inputs = [rng.standard_normal((rows, 64)).astype(np.float32) for rows in (5, 8, 5)]
    wanted = [model(x) for x in inputs]
    with _two_cards() as cards:
        before = [card.memory().used for card in cards]
        run, moves = call(split, model, cards)
        held = [card.memory().used - used for card, used in zip(cards, before)]
        full, half = int(held[0] == 0), _nbytes(model) / 2
        refuse({
            f"split should return something that you can call with x, not a {type(run).__name__}": not callable(run),
            "the weights were copied, and none is on the cards in devices: is it devices[0], not device0, and kept?":
                moves.host_to_device.count and not any(held),
            "when split returns, no weight is on a card: move them once, not in each call": not any(held),
            f"everything is on card {full}, and card {1 - full} is empty": not all(held),
            "the whole model is on each card; each needs only its half": min(held) > 1.9 * half,
            # Memory comes in pieces of 512 bytes, so a card has some more than its arrays need.
            "the weights aren't halved: each card has two of the four layers":
                not all(half <= used <= 1.1 * half for used in held),
        }, f"{held[0]:,} bytes on card 0, {held[1]:,} on card 1", "two layers on each")  # fmt: skip
        for x, right in zip(inputs, wanted):
            places.clear()
            _check_call(run, x, right, cards, places)
    return "half of the weights on each card, and one copy between them for each call"


def _check_call(run, x, right, cards, places):
    """Raises `NotRight` unless the call gives the right values, two layers on each card, with two copies."""
    with fl.receipt() as r, explaining({
        "the input is on CPU": "x comes from the host, and your function didn't move it to the first card",
        "the input is on": "what card 0 gives wasn't moved to card 1",
        "the current device": "your own lines compute with an array of another card than the current one: "
                              "with devices[1]: around what card 1 computes",
    }):  # fmt: skip
        result = must_return(run(x.copy()), "what split returns", "the model's output for x")
    up, down, across = r.host_to_device, r.device_to_host.count, r.device_to_device.count
    nbytes, where = f"{x.nbytes:,} bytes", ", ".join(f"card {n}" if n != "the host" else n for n in places)
    refuse({
        "the result was copied back to the host; leave it on the second card":
            down and up.count <= 1 and "the host" not in places,
        "the numbers between the halves went over the host": down and "the host" not in places,
        "one call moved more than x: do the weights travel each time?": up.bytes > x.nbytes,
    }, f"{many(up.count, 'copy')} to the cards, {up.bytes:,} bytes; {down} back to the host",
       f"1 copy to the cards, {nbytes}, and 1 between them")  # fmt: skip
    place, values = fl.device_of(result), fl.cpu(result)
    words = "the values aren't those of the model on one device"
    expect(values, right, words, shape=words, show=_some)
    words = "the values are right, but the four layers didn't run on card 0, card 0, card 1, card 1"
    wrong_if(places != [0, 0, 1, 1], words, where or "no layer was called")
    wrong_if(place != cards[1], "the result isn't where it was computed", f"on {place}", f"on {cards[1]}")
    words = "the values are right, but more than one copy went from card to card"
    wrong_if(across != 1, words, f"{across} copies", "1 copy, of what layer 2 gives")


def _some(values):
    return f"{np.ravel(values)[:3]} …, shape {np.shape(values)}"


@exercise("12.2", "half a batch on each card",
          look_at="where each gradient is; what it holds where there is none; and the mean of two means")  # fmt: skip
def parallel_gradient(parallel_gradient):
    function(parallel_gradient, "parallel_gradient")
    # Another loss in the second run: what's computed without the loss that's given is then wrong.
    for rows, loss_of in ((10, np.square), (6, np.abs)):
        _check_gradient(parallel_gradient, rows, loss_of)
    return "three rows on each card, and the mean of both gradients is that of all six rows"


def _check_gradient(parallel_gradient, count, loss_of):
    rng = np.random.default_rng(count)
    places: list[Any] = []
    rows: dict[str, int] = {}
    model = fl.Chain(fl.Dense(3, 4, _noting(places), rng=rng), fl.Dense(4, 1, rng=rng))
    x, y = (rng.standard_normal((count, columns)).astype(np.float32) for columns in (3, 1))

    def loss(model, x, y):
        where = "the host" if on_cpu(x) else f"card {fl.device_of(x).index}"
        rows[where] = rows.get(where, 0) + len(x)
        return np.mean(loss_of(model(x) - y))

    whole, first, last = (_flat(fl.gradient(lambda m, x, y: np.mean(loss_of(m(x) - y)), model, x[part], y[part])[0])
                          for part in (np.s_[:], np.s_[: count // 2], np.s_[count // 2 :]))  # fmt: skip
    places.clear()
    with _two_cards() as cards:
        given = copy.deepcopy(model)
        with unchanged("parallel_gradient", x=x, y=y):
            found = parallel_gradient(loss, given, x, y, cards)
        words = (
            "your parallel_gradient changed the model that it was given: it returns a gradient, and update comes later"
        )
        wrong_if(not same(fl.destructure(given)[0], fl.destructure(model)[0]), words)
        must_return(found, "parallel_gradient", "the gradient")
        alone = isinstance(found, tuple) and len(found) == 1
        wrong_if(alone, "gradient gives a tuple, one entry for each argument: take [0]", "a tuple")
        found = fl.cpu(found)
        yours = _flat(found)
    half, counts = count // 2, ", ".join(f"{rows[card]} on {card}" for card in sorted(rows))
    refuse({
        "loss was called with an x on the host: device(x_part), on the card of its model": "the host" in rows,
        "loss was never called": not rows,
        f"only {min(rows, default='')} had anything to do": len(rows) == 1,
        "each card worked on the whole batch": list(rows.values()) == [count, count],
        "the model was called on the host: each half of the batch goes through a copy on its card":
            "the host" in places,
        "the cards have different numbers of rows, or the same ones more than once": set(rows.values()) != {half},
    }, f"rows: {counts}", f"{half} rows on each card")  # fmt: skip
    two = "these are two gradients, one from each card: return their mean"
    expect(yours, whole, "the values aren't those of the whole batch", {
        "it's twice as large: the loss is a mean, so average the two gradients, don't add them": 2 * whole,
        "it's half as large: divide the sum of the two gradients by 2 only once": whole / 2,
        "that's the gradient of the first half alone": first,
        "that's the gradient of the second half alone": last,
    }, shape=two if yours.size == 2 * whole.size else "that isn't a gradient of this model", show=_some)  # fmt: skip
    words = "the numbers are right, but not in the model's places, where update looks for them: fmap leaves them there"
    wrong_if(not _is_in_its_places(found, whole), words, brief(found))


def _is_in_its_places(gradient, whole):
    """Whether each layer's arrays are where they are in the model. Two gradients in a list, say, look alike if flat."""
    try:
        arrays = [array for layer in gradient.layers for array in (layer.weight, layer.bias)]
        return same(np.concatenate([array.ravel() for array in arrays]), whole)
    except (AttributeError, TypeError, ValueError):
        return False


def _arrays(gradient):
    return [leaf for leaf in fl.leaves(gradient) if isinstance(leaf, np.ndarray)]


def _flat(gradient):
    return np.concatenate([np.zeros(0, np.float32), *(leaf.ravel() for leaf in _arrays(gradient))])
