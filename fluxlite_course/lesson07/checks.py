"""Lesson 07, making the GPU win: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.messages import many

from ..kit.exercises import brief, exercise
from ..kit.puzzles import puzzle
from ..kit.vocabulary import call, expect, explaining, refuse, same, wrong_if
from ..sine_wave import problem, run

LAUNCHES = 260  # for exercise 07.2
_NEAR: dict = {"rtol": 2e-3, "atol": 2e-5}


@exercise("07.1", "one loop fewer", look_at="for point in x: what is the shape of point?")
def predict(predict):
    w1, w2 = fl.gpu(problem()[2:])
    counts = {}
    for n in (1, 64):
        x = problem(waves=n)[0]
        words = f"{n} waves, and a memory with a single row: each wave needs a row of its own"
        with explaining({f"size {n} and the array at index 1 has size 1": words}, f"zeros of shape ({n}, 6)"):
            found, r = call(predict, fl.gpu(x), w1, w2)
        counts[n] = r.launches
        slip = "each wave has a memory of its own, a row of h, and keeps it from step to step"
        expect(found, run(x, *problem()[2:])[0], f"{many(n, 'wave')}: that's not what step gives. {slip}",
               shape=f"the predictions for {many(n, 'wave')} have the shape of x",
               where="the predictions are on the CPU; x was on the GPU", **_NEAR)  # fmt: skip
    refuse({
        "there's still a loop over the waves": counts[64] > counts[1] + 2,
        "0 launches: it doesn't run on the GPU": not counts[1],
    }, f"{counts[1]:,} launches for 1 wave, {counts[64]:,} for 64", "the same number for both")  # fmt: skip
    return f"{counts[64]} launches for 64 waves, and so for 1,024; {counts[1]} for 1"


@puzzle("07-1", counts="launches", par=237)
def sequence_loss_with_a_par(sequence_loss):
    return _same_loss(sequence_loss)


@exercise("07.2", "out of the loop", look_at="what does the next step need, and what could wait?")
def sequence_loss(sequence_loss):
    r = _same_loss(sequence_loss)
    refuse({
        "the loss is still computed in each step; np.stack makes one array of 20": r.launches > 400,
        "a product too many is in the loop: is it the one with w2? No next step needs that": r.launches > LAUNCHES,
    }, f"{r.launches} launches", f"at most {LAUNCHES}")  # fmt: skip
    return "the loop has only what the next step needs, so 20 products with w2 became one"


def _same_loss(sequence_loss):
    """The receipt of a learner's loss and its gradient, if both are right."""
    for n in (1, 3):
        x, y, w1, w2 = problem(waves=n)
        (found, grads), r = call(_with_gradients, sequence_loss, *fl.gpu((w1, w2, x, y)))
        wanted, wanted_grads = _with_gradients(_loss, w1, w2, x, y)
        words = "a loss is one number, and returned alone: the check asks for its gradient"
        wrong_if(isinstance(found, tuple) or found is None or np.shape(found) != (), words, brief(found), "shape ()")
        expect(found, wanted, "that's not the loss that it returned before", {
            "you also take the mean over the 20 steps: sum them": wanted / 20,
            "the ½ is missing": 2 * wanted,
            "you sum over the waves: see section 2": n * wanted,
        }, before=f"{many(n, 'wave')}: ", rtol=1e-3, atol=1e-8)  # fmt: skip
        for name, got, want in zip(("w1", "w2"), grads, wanted_grads):
            words = f"the loss is right, but its gradient for {name} isn't: it has to flow back through all 20 steps"
            wrong_if(not same(got, want, **_NEAR), words, look_at="h stays what step made it: no .data, no new zeros")
    return r


def _loss(w1, w2, x, y):
    return np.sum(np.mean((run(x, w1, w2)[0] - y) ** 2, axis=1)) / 2


def _with_gradients(loss, w1, w2, x, y):
    return fl.withgradient(lambda w1, w2: loss(w1, w2, x, y), w1, w2)
