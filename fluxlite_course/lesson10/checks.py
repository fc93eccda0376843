"""Lesson 10, sequences: checks."""

from typing import Any
from unittest import mock

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from ..kit.exercises import NotRight, brief, exercise
from ..kit.vocabulary import call, expect, function, is_number, listed, normal, refuse, wrong_if
from ..kit.watching import unchanged


@exercise("10.1", "how much chance", look_at="the scores are divided by the temperature before the softmax")
def chances(chances):
    function(chances, "chances")
    best: dict[float, str] = {}
    for scores in (np.array([2.0, 1.0, -0.5, 0.0]), np.array([0.3, -1.0, 4.0])):
        for heat in (0.5, 2.0, 0.01):
            wanted, given = fl.softmax(scores / heat), scores.copy()
            with unchanged("chances", scores=given):
                found = chances(given, heat)
            if not hasattr(found, "shape"):
                numbers = listed(found)
                found = np.array(numbers) if numbers and all(map(is_number, numbers)) else found
            expect(found, wanted, "those aren't the probabilities", {
                "the temperature is missing": fl.softmax(scores),
                "divide by the temperature: as it is, a high one makes the best letter win": fl.softmax(scores * heat),
                "divide the scores, not the probabilities": fl.softmax(scores) / heat,
                "those are the scores, divided; softmax turns them into probabilities": scores / heat,
                "those are powers of e; probabilities are shares, whose sum is 1": np.exp(scores / heat),
            }, name="chances", gives="the probabilities: return them", before=f"at temperature {heat:g}: ",
               shape="one probability for each letter")  # fmt: skip
            best.setdefault(heat, f"{100 * wanted.max():.0f} %")
    return f"at 0.5 the best letter gets {best[0.5]}, and at 2 only {best[2.0]}"


class _Cell:
    """What the exercise uses of a cell: its three arrays. It makes no steps, since these are to be taken apart."""

    def __init__(self, Wi: Any, Wh: Any, bias: Any) -> None:  # noqa: N803
        self.Wi, self.Wh, self.bias = Wi, Wh, bias

    def __call__(self, *_: Any) -> Any:
        raise NotRight("the cell's own step can't be taken apart: compute with cell.Wi, cell.Wh and cell.bias")


def _ready_made(*_: Any) -> Any:
    raise NotRight("fl.Recurrence and its kin have hoisted it already: here, write the loop yourself")


def _memories(cell, x, bias=1, keep=True):
    found: list = []
    h, products = np.zeros_like(x, shape=(x.shape[0], cell.Wh.shape[1])), x @ cell.Wi.T + bias * cell.bias
    for t in range(x.shape[1]):
        found.append(np.tanh(products[:, t] + h @ cell.Wh.T))
        h = found[-1] if keep else h
    return np.stack(found, axis=1)


def _products(r):
    return sum(r.launched[name] for name in ("matmul", "dot", "inner", "tensordot", "einsum"))


@exercise("10.2", "hoisted", look_at="what needs only x can be computed for all steps before the loop")
def memories(memories):
    function(memories, "memories")
    for batch, steps in ((2, 9), (4, 30)):
        Wi, Wh, bias, x = normal(5, (6, 3), (6, 6), (6,), (batch, steps, 3))
        cell, x = _Cell(*fl.gpu((Wi, Wh / 4, bias))), fl.gpu(x)
        right = fl.cpu(_memories(cell, x))
        slips = {
            "the memory is the same at each step: h @ cell.Wh.T needs the new h, so it stays in the loop":
                fl.cpu(_memories(cell, x, keep=False)),
            "the bias is added twice": fl.cpu(_memories(cell, x, bias=2)),
            "the bias is missing": fl.cpu(_memories(cell, x, bias=0)),
        }  # fmt: skip
        quick = call(_memories, cell, x)[1]
        given = unchanged("memories", x=x, Wi=cell.Wi, Wh=cell.Wh, bias=cell.bias)
        with mock.patch.object(fl.Recurrence, "__call__", _ready_made), given:
            found, r = call(memories, cell, x)
        several = listed(found) is not None and not hasattr(found, "shape")
        wrong_if(several, "that's a list; np.stack(found, axis=1) makes an array of it", brief(found))
        expect(found, right, "the memories aren't the same as before", slips, name="memories",
               gives="the memory after every step", shape="memories returns the memory after every step",
               where="the result is on the CPU: compute where x is", atol=1e-4)  # fmt: skip
        back = many(r.device_to_host.bytes, "byte")
        refuse({
            "the values are right, but arrays come over the host: compute where x is":
                r.device_to_host.bytes >= right.nbytes,
            "the values are right, but the host reads something on the way": r.device_to_host.count,
        }, f"{back} back", "none back")  # fmt: skip
        more = _products(r) - _products(quick)
        refuse({
            "the values are right, but x is still in the loop's product: joined with the memory, as in lesson 04":
                r.launched["concatenate"] > steps / 2,
            "the values are right, but the product with Wi is still in a loop": more > steps / 2,
            "the values are right, but a sum that needs only the input is still in the loop":
                r.launched["add"] > quick.launched["add"] + steps / 2,
            # Writing each memory into an array takes one launch a step, in place of np.stack.
            "the values are right, but something else in the loop could be out of it":
                r.launches > quick.launches + 1.5 * steps,
        }, f"{r.launches} launches", f"{quick.launches} for {steps} steps")  # fmt: skip
    return f"the same memories, with {r.launches} launches for 30 steps"
