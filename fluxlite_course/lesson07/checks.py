"""Lesson 07, making the GPU win: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..kit.exercises import NotRight, exercise
from ..kit.puzzles import puzzle
from ..kit.vocabulary import called, described, expect, explained, on_cpu, on_gpu, refuse, same, wrong_if
from ..sine_wave import problem, run

LAUNCHES = 260  # for exercise 07.3
_NEAR: dict = {"rtol": 2e-3, "atol": 2e-5}


def _loss(w1, w2, x, y):
    return np.sum(np.mean((run(x, w1, w2)[0] - y) ** 2, axis=1)) / 2


@exercise("07.1", "one loop less", look_at="for point in x: what is the shape of point?")
def predict(predict):
    w1, w2 = fl.gpu(problem()[2:])
    counts = {}
    for n in (1, 64):
        x = problem(waves=n)[0]
        words = f"{n} waves, and a memory with a single row: each wave needs a row of its own"
        with explained({f"size {n} and the array at index 1 has size 1": words}, f"zeros of shape ({n}, 6)"):
            found, r = called(predict, fl.gpu(x), w1, w2)
        counts[n], many_of = r.launches, found if isinstance(found, (list, tuple)) else ()
        refuse({
            f"predict returns a {type(found).__name__} of {len(many_of)}: np.stack makes one array of it": many_of,
            f"the predictions for {many(n, 'wave')} have the shape of x": getattr(found, "shape", None) != x.shape,
            "the predictions are on the CPU; x was on the GPU": on_cpu(found),
        }, None if many_of else described(found), f"shape {x.shape}")  # fmt: skip
        wanted, values = run(x, *problem()[2:])[0][..., 0], fl.cpu(found)[..., 0]
        for i, at in np.argwhere(~np.isclose(values, wanted, **_NEAR).T)[:1]:
            words = f"wave {i + 1} of {n}, step {at + 1}: that's not what step gives"
            hint = "each wave has a memory of its own, a row of h, and keeps it from step to step"
            raise NotRight(words, f"{values[at, i]:.4f}", f"{wanted[at, i]:.4f}", hint)
    refuse({
        "there is still a loop over the waves": counts[64] > counts[1] + 2,
        "0 launches: it doesn't run on the GPU": not counts[1],
    }, f"{counts[1]:,} launches for 1 wave, {counts[64]:,} for 64", "the same number for both")  # fmt: skip
    return f"{counts[64]} launches for 64 waves, and so for 1,024; {counts[1]} for 1"


@exercise("07.2", "a loss for any number of waves", "section 3: the gradient of a sum of 16 is 16 times as long")
def batch_loss(batch_loss):
    random = np.random.default_rng(8)
    out, target = random.standard_normal((2, 1, 1), dtype=np.float32)
    right = float(np.sum((out - target) ** 2)) / 2
    one, sixteen = (_one_number(batch_loss(*fl.gpu((np.tile(out, (n, 1)), np.tile(target, (n, 1)))))) for n in (1, 16))
    half = " The ½ is missing" if np.isclose(one, 2 * right, rtol=1e-4) else ""
    refuse({
        f"for one wave it was right, and isn't any more.{half}": not np.isclose(one, right, rtol=1e-4),
        "for 16 waves it is 16 times as large, and so is its gradient: the training ends at nan":
            np.isclose(sixteen, 16 * right, rtol=1e-4),
        "for 16 equal waves it isn't what it is for one": not np.isclose(sixteen, right, rtol=1e-4),
    }, f"{one:.4f} for 1 wave, {sixteen:.4f} for 16 equal ones", f"{right:.4f} for both")  # fmt: skip
    out, target = random.standard_normal((2, 5, 1), dtype=np.float32)
    gradient = fl.gradient(lambda out: batch_loss(out, target), out)[0]
    words = "five different waves: the gradient isn't that of the mean"
    wrong_if(not same(gradient, (out - target) / 5, **_NEAR), words, expected="(out - target) / 5")
    return "for 16 waves as for one: the learning rate keeps its meaning"


def _one_number(x):
    alone = "return the loss alone: the check asks for its gradient"
    wrong_if(isinstance(x, tuple), alone, type(x).__name__, "one number")
    wrong_if(x is None or np.shape(x) != (), "a loss is one number", described(x), "shape ()")
    return float(fl.cpu(x))


@puzzle("07-1", counts="launches", par=237)
def sequence_loss_with_a_par(sequence_loss):
    return _same_loss(sequence_loss)


@exercise("07.3", "out of the loop", look_at="what does the next step need, and what could wait?")
def sequence_loss(sequence_loss):
    r = _same_loss(sequence_loss)
    launches = r.launches
    refuse({
        "the loss is still computed in each step; np.stack makes one array of 20": launches > 400,
        "a product too many is in the loop: is it the one with w2? No next step needs that":
            launches > LAUNCHES and r.launched["matmul"] > 105,
        "right, but with too many launches: look into r.launched of a receipt": launches > LAUNCHES,
    }, f"{launches} launches", f"at most {LAUNCHES}")  # fmt: skip
    return f"the same loss and gradient with {launches} launches, not 307"


def _same_loss(sequence_loss):
    """The receipt of a learner's loss and its gradient, if both are right."""
    for n in (1, 3):
        x, y, w1, w2 = problem(waves=n)
        (found, grads), r = called(_with_gradients, sequence_loss, *fl.gpu((w1, w2, x, y)))
        wanted, wanted_grads = _with_gradients(_loss, w1, w2, x, y)
        loss = _one_number(found)
        expect(loss, wanted, "that's not the loss that one_loss gives", {
            "you also take the mean over the 20 steps: sum them": wanted / 20,
            "the ½ is missing": 2 * wanted,
            "you also take the mean over the 20 steps: sum them. And the ½ is missing": wanted / 10,
            "you sum over the waves: see section 3": n * wanted,
        }, yours=f"{loss:.4f} for {many(n, 'wave')}", expected=f"{wanted:.4f}", rtol=1e-3, atol=1e-8)  # fmt: skip
        for name, got, want in zip(("w1", "w2"), grads, wanted_grads):
            words = f"the loss is right, but its gradient for {name} isn't: it has to flow back through all 20 steps"
            hint = "inside the loop h stays what step made it: no .data, no new zeros"
            wrong_if(not same(got, want, **_NEAR), words, look_at=hint)
    return r


def _with_gradients(loss, w1, w2, x, y):
    return fl.withgradient(lambda w1, w2: loss(w1, w2, x, y), w1, w2)


@exercise("07.4", "move once", look_at="which lines of a receipt's by_line() have copies?")
def train_on_gpu(train_on_gpu):
    epochs, given = 6, problem(waves=8)
    handed = tuple(array.copy() for array in given)
    found, r = called(train_on_gpu, *handed, epochs)
    three = isinstance(found, (tuple, list)) and len(found) == 3
    wrong_if(not three, "train_on_gpu returns three things: w1, w2 and the losses", described(found))
    remote = any(map(on_gpu, found[2] if isinstance(found[2], (list, tuple)) else [found[2]]))
    refuse({
        "the arrays that you were given have changed; move them first, and change the copies":
            not all(map(np.array_equal, given, handed)),
        **{f"{name} comes back as an array on the host": not isinstance(value, np.ndarray)
           for name, value in zip(("w1", "w2"), found)},
        "the losses are still on the GPU": remote,
    }, ", ".join(map(described, found)), "cpu(…) at the end")  # fmt: skip
    (x, y, w1, w2), losses = given, []
    for _ in range(epochs):
        error, (g1, g2) = _with_gradients(_loss, w1, w2, x, y)
        w1, w2 = w1 - 0.1 * g1, w2 - 0.1 * g2
        losses.append(error)
    got = np.ravel(np.asarray(found[2], float))
    wrong_if(got.shape != (epochs,), "there is a loss for each epoch", f"{got.size} losses", f"{epochs} losses")
    expect(got, np.array(losses), "the losses aren't the same as before", yours=f"{got[-1]:.4f} at the end",
           expected=f"{losses[-1]:.4f}", **_NEAR)  # fmt: skip
    # Only what the learner asks for: np.stack of many arrays uploads their addresses by itself.
    into, back = r.host_to_device.explicit, r.device_to_host.count
    listed = any("cpu(" in costs.line for costs in r.by_line() if costs.copies >= epochs)
    refuse({
        "the losses are right, but not the weights that come back: the last update is missing":
            not (same(found[0], w1, **_NEAR) and same(found[1], w2, **_NEAR)),
        f"{r.launches} launches: hardly any of it runs on the GPU now": r.launches < 100 * epochs,
        "you still move something to the GPU in each epoch": into > 4,
        "cpu of a list of losses is a copy for each: np.stack first": back > 3 and listed,
        "you still read the loss, or a gradient, in each epoch": back > 3,
    }, f"{into} copies there, {back} back in {epochs} epochs", "4 there, 3 back")  # fmt: skip
    return f"{into} copies there, {back} back, for {epochs} epochs as for 200"
