"""Lesson 08, making the GPU win: checks."""

from __future__ import annotations

from typing import Any

import numpy as np

import fluxlite as fl

from ..exercises import NotRight, exercise
from ..sine_wave import problem, run

LAUNCHES = 260  # for exercise 08.3


def _waves(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The inputs and targets of n different waves. The first is the lesson's."""
    return problem(waves=n)[:2]


def _weights() -> tuple[np.ndarray, np.ndarray]:
    return problem()[2:]


def _loss(w1: Any, w2: Any, x: Any, y: Any) -> Any:
    return np.sum(np.mean((run(x, w1, w2)[0] - y) ** 2, axis=1)) / 2


def _near(got: Any, wanted: Any) -> bool:
    return np.shape(got) == np.shape(wanted) and np.allclose(got, wanted, rtol=2e-3, atol=2e-5)


def _what(x: Any) -> str:
    shape = getattr(x, "shape", None)
    return "None" if x is None else f"{type(x).__name__}{'' if shape is None else f' of shape {shape}'}"


def _of_waves(n: int) -> str:
    return "1 wave" if n == 1 else f"{n} waves"


def _on_cpu(x: Any) -> bool:
    return fl.device_of(x) == fl.get_device("CPU")


# -- 08.1 ---------------------------------------------------------------------------------------------------------


@exercise("08.1", "one loop less", look_at="for point in x: what is the shape of point?")
def predict(predict: Any) -> str:
    w1, w2 = fl.gpu(_weights())
    counts = {}
    for n in (1, 64):
        x, _ = _waves(n)
        with fl.receipt() as r:
            found = _predictions(predict, fl.gpu(x), w1, w2)
        counts[n] = r.launches or 0
        _same_predictions(found, x)
    if counts[64] > counts[1] + 2:
        raise NotRight(
            "there is still a loop over the waves",
            f"{counts[1]:,} launches for 1 wave, {counts[64]:,} for 64",
            "the same number for both",
        )
    if not counts[1]:
        raise NotRight("0 launches: it doesn't run on the GPU", expected="arrays stay where they are")
    return f"{counts[64]} launches for 64 waves, and so for 1,024; {counts[1]} for 1"


def _predictions(predict: Any, x: Any, w1: Any, w2: Any) -> Any:
    try:
        return predict(x, w1, w2)
    except ValueError as error:
        n = x.shape[1]
        if f"size {n} and the array at index 1 has size 1" not in str(error):
            raise
        raise NotRight(
            f"{n} waves, and a memory with a single row: each wave needs a row of its own",
            yours=f"the error says: {error}",
            expected=f"zeros of shape ({n}, 6), with {n} = x.shape[1]",
        ) from None


def _same_predictions(found: Any, x: np.ndarray) -> None:
    n = x.shape[1]
    if isinstance(found, (list, tuple)):
        word = f"predict returns a {type(found).__name__} of {len(found)}: np.stack makes one array of it"
        raise NotRight(word, expected=f"shape {x.shape}")
    if not hasattr(found, "dtype") or np.shape(found) != x.shape:
        raise NotRight(f"the predictions for {_of_waves(n)} have the shape of x", _what(found), f"shape {x.shape}")
    if _on_cpu(found):
        raise NotRight("the predictions are on the CPU; x was on the GPU", _what(found))
    wanted, _ = run(x, *_weights())
    values = fl.cpu(found)
    for i in range(n):
        if not _near(values[:, i], wanted[:, i]):
            at = int(np.argmax(~np.isclose(values[:, i, 0], wanted[:, i, 0], rtol=2e-3, atol=2e-5)))
            raise NotRight(
                f"wave {i + 1} of {n}, step {at + 1}: that's not what step gives",
                f"{values[at, i, 0]:.4f}",
                f"{wanted[at, i, 0]:.4f}",
                "each wave has a memory of its own, a row of h, and keeps it from step to step",
            )


# -- 08.2 ---------------------------------------------------------------------------------------------------------


@exercise(
    "08.2", "a loss for any number of waves", look_at="section 3: the gradient of a sum of 16 is 16 times as long"
)
def batch_loss(batch_loss: Any) -> str:
    random = np.random.default_rng(8)
    out, target = random.standard_normal((2, 1, 1), dtype=np.float32)
    right = float(np.sum((out - target) ** 2)) / 2
    found = {n: _one_number(batch_loss(*fl.gpu((np.tile(out, (n, 1)), np.tile(target, (n, 1)))))) for n in (1, 16)}
    yours = f"{found[1]:.4f} for 1 wave, {found[16]:.4f} for 16 equal ones"
    expected = f"{right:.4f} for both"
    if not np.isclose(found[1], right, rtol=1e-4):
        half = " The ½ is missing" if np.isclose(found[1], 2 * right, rtol=1e-4) else ""
        raise NotRight(f"for one wave it was right, and isn't any more.{half}", yours, expected)
    if np.isclose(found[16], 16 * right, rtol=1e-4):
        raise NotRight(
            "for 16 waves it is 16 times as large, and so is its gradient: the training ends at nan", yours, expected
        )
    if not np.isclose(found[16], right, rtol=1e-4):
        raise NotRight("for 16 equal waves it isn't what it is for one", yours, expected)
    out, target = random.standard_normal((2, 5, 1), dtype=np.float32)
    gradient = fl.gradient(lambda out: batch_loss(out, target), out)[0]
    if not _near(gradient, (out - target) / 5):
        raise NotRight("five different waves: the gradient isn't that of the mean", expected="(out - target) / 5")
    return "for 16 waves as for one: the learning rate keeps its meaning"


def _one_number(x: Any) -> float:
    if isinstance(x, tuple):
        raise NotRight("return the loss alone: the check asks for its gradient", _what(x), "one number")
    if x is None or np.shape(x) != ():
        raise NotRight("a loss is one number", _what(x), "shape ()")
    return float(fl.cpu(x))


# -- 08.3 ---------------------------------------------------------------------------------------------------------


@exercise("08.3", "out of the loop", look_at="what does the next step need, and what could wait?")
def sequence_loss(sequence_loss: Any) -> str:
    for n in (1, 3):
        x, y = _waves(n)
        with fl.receipt() as r:
            found, grads = _with_gradients(sequence_loss, *fl.gpu(_weights()), *fl.gpu((x, y)))
        wanted, wanted_grads = _with_gradients(_loss, *_weights(), x, y)
        _same_loss(_one_number(found), float(wanted), n)
        for name, got, want in zip(("w1", "w2"), grads, wanted_grads):
            if got is None or not _near(fl.cpu(got), want):
                raise NotRight(
                    f"the loss is right, but its gradient for {name} isn't: it has to flow back through all 20 steps",
                    look_at="inside the loop h stays what step made it: no .data, no new zeros",
                )
    launches = r.launches or 0
    if launches <= LAUNCHES:
        return f"the same loss and gradient with {launches} launches, not 307"
    yours, expected = f"{launches} launches", f"at most {LAUNCHES}"
    if launches > 400:
        raise NotRight("the loss is still computed in each step; np.stack makes one array of 20", yours, expected)
    if (r.launched["matmul"] or 0) > 105:
        word = "a product too many is in the loop: is it the one with w2? No next step needs that"
        raise NotRight(word, yours, expected)
    raise NotRight(
        "right, but with too many launches", yours, expected, "r.launched of a receipt: what is there 20 times?"
    )


def _with_gradients(loss: Any, w1: Any, w2: Any, x: Any, y: Any) -> Any:
    return fl.withgradient(lambda w1, w2: loss(w1, w2, x, y), w1, w2)


def _same_loss(found: float, wanted: float, n: int) -> None:
    if np.isclose(found, wanted, rtol=1e-3):
        return
    yours, expected = f"{found:.4f} for {_of_waves(n)}", f"{wanted:.4f}"
    for factor, why in {
        1 / 20: "you also take the mean over the 20 steps: sum them",
        2: "the ½ is missing",
        1 / 10: "you also take the mean over the 20 steps: sum them. And the ½ is missing",
        n: "you sum over the waves: see section 3",
    }.items():
        if np.isclose(found, factor * wanted, rtol=1e-3):
            raise NotRight(why, yours, expected)
    raise NotRight("that's not the loss that one_loss gives", yours, expected)


# -- 08.4 ---------------------------------------------------------------------------------------------------------


@exercise("08.4", "move once", look_at="which lines of a receipt's by_line() have copies?")
def train_on_gpu(train_on_gpu: Any) -> str:
    epochs, given = 6, (*_waves(8), *_weights())
    handed = tuple(array.copy() for array in given)
    with fl.receipt() as r:
        found = train_on_gpu(*handed, epochs)
    if not isinstance(found, (tuple, list)) or len(found) != 3:
        raise NotRight("train_on_gpu returns three things: w1, w2 and the losses", _what(found))
    if any(not np.array_equal(a, b) for a, b in zip(given, handed)):
        raise NotRight("the arrays that you were given have changed; move them first, and change the copies")
    _all_on_host(found)
    _same_training(found, given, epochs)
    if (r.launches or 0) < 100 * epochs:
        raise NotRight("hardly any of it runs on the GPU now", f"{r.launches} launches", "hundreds in each epoch")
    # Only what the learner asks for: np.stack of many arrays uploads their addresses by itself.
    into, back = r.host_to_device.explicit, r.device_to_host.count
    yours, expected = f"{into} copies there, {back} back in {epochs} epochs", "4 there, 3 back"
    if into > 4:
        raise NotRight("you still move something to the GPU in each epoch", yours, expected)
    if back > 3:
        lines = [costs.line for costs in r.by_line() if costs.copies >= epochs]
        again = "cpu of a list of losses is a copy for each: np.stack first" if any("cpu(" in x for x in lines) else ""
        raise NotRight(again or "you still read the loss, or a gradient, in each epoch", yours, expected)
    return f"{into} copies there, {back} back, for {epochs} epochs as for 200"


def _all_on_host(found: Any) -> None:
    for name, value in zip(("w1", "w2"), found):
        if not isinstance(value, np.ndarray):
            raise NotRight(f"{name} comes back as an array on the host", _what(value), "cpu(…) at the end")
    losses = found[2]
    remote = [x for x in (losses if isinstance(losses, (list, tuple)) else [losses]) if hasattr(x, "dtype")]
    if any(not _on_cpu(x) for x in remote):
        raise NotRight("the losses are still on the GPU", _what(losses), "cpu(…) at the end")


def _same_training(found: Any, given: tuple, epochs: int) -> None:
    x, y, w1, w2 = given
    losses = []
    for _ in range(epochs):
        error, (g1, g2) = _with_gradients(_loss, w1, w2, x, y)
        w1, w2 = w1 - 0.1 * g1, w2 - 0.1 * g2
        losses.append(error)
    got = np.ravel(np.asarray(found[2], float))
    if got.shape != (epochs,):
        raise NotRight("there is a loss for each epoch", f"{got.size} losses", f"{epochs} losses")
    if not _near(got, np.array(losses)):
        raise NotRight("the losses aren't the same as before", f"{got[-1]:.4f} at the end", f"{losses[-1]:.4f}")
    if not (_near(found[0], w1) and _near(found[1], w2)):
        raise NotRight("the losses are right, but not the weights that come back: the last update is missing")
