"""Lesson 10, sequences: checks."""

import numpy as np

import fluxlite as fl

from ..kit.exercises import exercise
from ..kit.vocabulary import call, expect, normal, wrong_if


@exercise("10.1", "how much chance", look_at="the scores are divided by the temperature before the softmax")
def chances(chances):
    scores = np.array([2.0, 1.0, -0.5, 0.0])
    for heat in (0.5, 2.0, 0.01):
        expect(chances(scores.copy(), heat), fl.softmax(scores / heat), "those aren't the probabilities", {
            "the temperature is missing": fl.softmax(scores),
            "divide by the temperature: as it is, a high one makes the best letter win": fl.softmax(scores * heat),
            "divide the scores, not the probabilities": fl.softmax(scores) / heat,
            "those are the scores, divided; softmax turns them into probabilities": scores / heat,
        }, name="chances", gives="the probabilities: return them", before=f"at temperature {heat:g}: ",
           shape="one probability for each letter")  # fmt: skip
    return "at 0.5 the best letter gets 84 %, and at 2 no more than 45 %"


def _memories(cell, x, bias=1, keep=True):
    found: list = []
    h, products = np.zeros_like(x, shape=(x.shape[0], cell.Wh.shape[1])), x @ cell.Wi.T + bias * cell.bias
    for t in range(x.shape[1]):
        found.append(np.tanh(products[:, t] + h @ cell.Wh.T))
        h = found[-1] if keep else h
    return np.stack(found, axis=1)


@exercise("10.2", "hoisted", look_at="what needs only x can be computed for all steps before the loop")
def memories(memories):
    Wi, Wh, bias, x = normal(5, (6, 3), (6, 6), (6,), (4, 30, 3))
    cell, x = fl.gpu((fl.RNNCell.of(Wi, Wh / 4, bias), x))
    right = fl.cpu(_memories(cell, x))
    found, r = call(memories, cell, x)
    expect(found, right, "the memories aren't the same as before", {
        "the memory is the same at each step: h @ cell.Wh.T needs the new h, so it stays in the loop":
            _memories(cell, x, keep=False),
        "the bias is added twice": _memories(cell, x, bias=2),
        "the bias is missing": _memories(cell, x, bias=0),
    }, name="memories", gives="the memory after every step", shape="memories returns the memory after every step",
       where="the result is on the CPU: compute where x is", atol=1e-4)  # fmt: skip
    quick = call(_memories, cell, x)[1].launches
    what = "a sum that needs only the input is" if r.launches < quick + 45 else "the product with Wi is"
    wrong_if(r.launches > quick + 15, f"the values are right, but {what} still in the loop", r.launches, quick)
    return f"the same memories, with {r.launches} launches for 30 steps"
