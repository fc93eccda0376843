"""Lesson 07, making the GPU win: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..kit.exercises import NotRight, exercise, shown
from ..kit.puzzles import puzzle
from ..kit.vocabulary import called, expect, explained, on_cpu, refuse, same, wrong_if
from ..sine_wave import problem, run

LAUNCHES = 260  # for exercise 07.2
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
        counts[n] = r.launches
        refuse({
            f"the predictions for {many(n, 'wave')} have the shape of x": getattr(found, "shape", None) != x.shape,
            "the predictions are on the CPU; x was on the GPU": on_cpu(found),
        }, shown(found), f"shape {x.shape}")  # fmt: skip
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


def _one_number(x):
    alone = "return the loss alone: the check asks for its gradient"
    wrong_if(isinstance(x, tuple), alone, type(x).__name__, "one number")
    wrong_if(x is None or np.shape(x) != (), "a loss is one number", shown(x), "shape ()")
    return float(fl.cpu(x))


@puzzle("07-1", counts="launches", par=237)
def sequence_loss_with_a_par(sequence_loss):
    return _same_loss(sequence_loss)


@exercise("07.2", "out of the loop", look_at="what does the next step need, and what could wait?")
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
        expect(loss, wanted, "that's not the loss that it returned before", {
            "you also take the mean over the 20 steps: sum them": wanted / 20,
            "the ½ is missing": 2 * wanted,
            "you sum over the waves: see section 2": n * wanted,
        }, yours=f"{loss:.4f} for {many(n, 'wave')}", expected=f"{wanted:.4f}", rtol=1e-3, atol=1e-8)  # fmt: skip
        for name, got, want in zip(("w1", "w2"), grads, wanted_grads):
            words = f"the loss is right, but its gradient for {name} isn't: it has to flow back through all 20 steps"
            hint = "inside the loop h stays what step made it: no .data, no new zeros"
            wrong_if(not same(got, want, **_NEAR), words, look_at=hint)
    return r


def _with_gradients(loss, w1, w2, x, y):
    return fl.withgradient(lambda w1, w2: loss(w1, w2, x, y), w1, w2)
