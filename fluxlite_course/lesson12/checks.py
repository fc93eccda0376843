"""Lesson 12, several GPUs and hidden GPUs: checks."""

import contextlib
import os
from unittest import mock

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..kit.exercises import exercise
from ..kit.vocabulary import called, expect, explained, on_cpu, refuse, returned, same, wrong_if


@contextlib.contextmanager
def _two_cards():
    """Two simulated cards, even if CUDA_VISIBLE_DEVICES hides some."""
    with mock.patch.dict(os.environ):
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        with fl.simulate_gpu(False), fl.simulate_gpu(2, like="NVIDIA T4"):
            yield list(fl.cuda.devices())


@exercise("12.1", "where is what", look_at="fl.cuda.device(b), or b alone in a cell: its place stands behind it")
def where_is_what(b, c, d, e):
    for name, answer, right, why in (
        ("b", b, "1", "device1(a) is a copy of a on card 1, whichever is current"),
        ("c", c, "1", "inside the block card 1 is current, and gpu makes a copy on the current card"),
        ("d", d, "0", "after the block card 0 is current again, and gpu moves to it, even from another card"),
        ("e", e, "cpu", "cpu(b) is a new array on the host; only b itself is still on card 1"),
    ):
        place = _place(answer)
        refuse({
            f'{name}: write 0, 1 or "CPU"': place not in ("0", "1", "cpu"), f"{name}: {why}": place != right,
        }, f"{name} = {answer!r}")  # fmt: skip
    spelled = '. In a program it\'s written "CPU"' if isinstance(e, str) and e != "CPU" else ""
    return f"card 1, card 1, card 0, host: gpu follows the current card, device1 doesn't{spelled}"


def _place(answer):
    """``"0"``, ``"1"`` or ``"cpu"``, for a number, a text or a device."""
    if isinstance(answer, fl.Device):
        return "cpu" if answer.backend == "CPU" else str(answer.index)
    word = "not a place" if isinstance(answer, bool) else str(answer).strip("'\" ").lower()
    return "cpu" if word in ("host", "the host") else word


_LAYER = 64 * 64 * 4 + 512  # a layer's bytes on a card: the weight, and the bias in the smallest unit of memory


@exercise("12.2", "a model on two cards", look_at="what first and second are in section 3, and what the call did")
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
        _check_call(r, cards)
        wrong_if(result is None, "what split returns gives None", expected="the model's output for x")
        place, values = fl.device_of(result), fl.cpu(result)
    words = "the values aren't those of the model on one device"
    expect(values, wanted, words, shape=words, show=_some)
    wrong_if(place != cards[1], "the result isn't where it was computed", f"on {place}", f"on {cards[1]}")
    return "half of the weights on each card, and one copy between them for each call"


def _check_call(r, cards):
    """Raises if one call makes copies that it shouldn't, or leaves a card idle."""
    activations, up, down = 8 * 64 * 4, r.host_to_device, r.device_to_host.count
    between = [m.bytes for m in r.timeline() if m.kind == "device to device" and m.name.startswith("copy from")]
    busy = {moment.device.index for moment in r.timeline() if moment.kind == "launch"}
    copies = f"{many(up.count, 'copy')} to the cards, {up.bytes:,} bytes; {down} back to the host"
    refuse({
        "the result was copied back to the host; leave it on the second card": down and up.count <= 1,
        "the numbers between the halves went over the host": down,
        "one call moved more than x: do the weights travel each time?": up.bytes > activations,
        "one call copied more between the cards than it has to": sum(between) > activations,
        **{f"card {card.index} holds weights and computed nothing": card.index not in busy for card in cards},
    }, f"{copies}; {len(between)} between the cards, {sum(between):,} bytes",
       f"1 copy to the cards and 1 between them, {activations:,} bytes each")  # fmt: skip


def _some(values):
    return f"{np.ravel(values)[:3]} …, shape {np.shape(values)}"


@exercise("12.3", "what is visible", look_at="the table in section 4; then a fresh process with such a value")
def visible(how_many, which, how_many_left):
    refuse({
        "how_many: those that aren't in the list are hidden": same(how_many, 4),
        "how_many: each number in the list is a card that it sees": not same(how_many, 2),
        "which: 0 is its number inside the process; which card of the computer is it?": same(which, 0),
        "which: the order of the list counts, not the order of the numbers": same(which, 1),
        "which: the first in the list is number 0": not same(which, 3),
        "how_many_left: the list ends at a number that doesn't exist; what comes after it doesn't count":
            same(how_many_left, 2),
        "how_many_left: there's no card 7": same(how_many_left, 3),
        "how_many_left: what's before the number that doesn't exist still counts": same(how_many_left, 0),
        "how_many_left: read the list from the left": not same(how_many_left, 1),
    }, f"how_many = {how_many!r}, which = {which!r}, how_many_left = {how_many_left!r}")  # fmt: skip
    return "2 cards; the first is the computer's card 3; and 1, since the list ends at the 7"


@exercise("12.4", "half a batch on each card",
          look_at="where each gradient is; what it holds where there is none; and the mean of two means")  # fmt: skip
def parallel_gradient(parallel_gradient):
    rng = np.random.default_rng(1)
    model = fl.Chain(fl.Dense(3, 4, np.tanh, rng=rng), fl.Dense(4, 1, rng=rng))
    x, y = (rng.standard_normal((6, columns)).astype(np.float32) for columns in (3, 1))
    rows: dict = {}

    def loss(model, x, y):
        place = fl.device_of(x)
        rows.setdefault(-1 if place is None or place.backend == "CPU" else place.index, []).append(fl.cpu(x))
        return np.mean((model(x) - y) ** 2)

    whole, first, last = (_flat(fl.gradient(lambda m, x, y: fl.mse(m(x), y), model, x[part], y[part])[0])
                          for part in np.s_[:, :3, 3:])  # fmt: skip
    with _two_cards() as cards:
        found = parallel_gradient(loss, model, x, y, cards)
        alone = isinstance(found, tuple) and len(found) == 1
        wrong_if(alone, "gradient gives a tuple, one entry for each argument: take [0]", "a tuple")
        yours = _flat(fl.cpu(returned(found, "parallel_gradient", "the gradient for the whole batch")))
    counts = {card: sum(len(part) for part in parts) for card, parts in sorted(rows.items())}
    counts = {"the host" if card < 0 else f"card {card}": count for card, count in counts.items()}
    seen = np.concatenate([np.zeros((0, 3)), *(part for parts in rows.values() for part in parts)])
    refuse({
        "loss was never called": not rows,
        "loss was called with an x on the host: device(x_part), on the card of its model": -1 in rows,
        f"only card {min(rows, default=0)} had anything to do": len(rows) == 1,
        "each card worked on the whole batch": len(x) in counts.values(),
        "the two parts together aren't the batch: is a row there twice, or missing?":
            not same(np.sort(seen, axis=0), np.sort(x, axis=0)),
    }, f"rows: {', '.join(f'{count} on {card}' for card, count in counts.items())}", "3 rows on each")  # fmt: skip
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
