"""Lesson 07, making the GPU win: checks."""

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from ..kit.exercises import brief, exercise
from ..kit.puzzles import puzzle
from ..kit.vocabulary import call, expect, explaining, function, must_return, number, on_cpu, refuse, same, wrong_if
from ..kit.watching import calls_of, unchanged
from ..sine_wave import predict as predict_on_host
from ..sine_wave import problem, run, step

LAUNCHES = 260  # for exercise 07.2
PRODUCTS = 80  # of these, as many for products, if only those with w1 are in the loop
EPOCHS, ORDERS = 4, 2  # for exercise 07.3: the graph, and the copy of its result
FEW_BYTES = 64  # a few numbers, to print them: fewer than w1 or x has
_NEAR: dict = {"rtol": 2e-3, "atol": 2e-5}


@exercise("07.1", "one loop fewer", look_at="for point in x: what is the shape of point?")
def predict(predict):
    function(predict, "predict")
    counts: dict[int, int] = {}
    for n in (1, 64, 1024):
        counts[n] = _launches_for(predict, n)
        facts = ", ".join(f"{count:,} launches for {many(waves, 'wave')}" for waves, count in counts.items())
        # A product with a single number takes up to two launches more, or fewer, in each of the 20 steps.
        more = counts[n] - counts[64 if n > 64 else 1]
        wrong_if(more > 40, "there's still a loop over the waves", facts, "the same number for all")
    wrong_if(more > 0, "the launches still depend on the waves", facts, "the same number for all")
    return f"{counts[64]} launches for 64 waves, and so for 1,024; {counts[1]} for 1"


def _launches_for(predict, n):
    """How many launches the prediction for n waves takes. Raises `NotRight` if it's wrong, or made on the host."""
    x, _, w1, w2 = problem(waves=n, seed=2)
    arrays = fl.gpu((x, w1, w2))
    words = f"{n} waves, and a memory with a single row: each wave needs a row of its own"
    meanings = {f"size {n} and the array at index 1 has size 1": words}
    given = unchanged("predict", **dict(zip(("x", "w1", "w2"), arrays)))
    with given, explaining(meanings, f"zeros of shape ({n}, 6)"), calls_of(run, predict_on_host) as ready:
        found, r = call(predict, *arrays)
    words = "that calls the course's own function, which is ready-made"
    wrong_if(ready, words, ", ".join(ready), "a loop over the points")
    back = r.device_to_host
    where = "the predictions are on the CPU; x was on the GPU"
    words = "arrays were copied to the host: let them stay on the GPU"
    brought = back.bytes > FEW_BYTES and not on_cpu(found)
    wrong_if(brought, words, f"{many(back.count, 'copy')}, {back.bytes:,} bytes back", "no copies back")
    slip = "each wave has a memory of its own, a row of h, and keeps it from step to step"
    expect(found, run(x, w1, w2)[0], f"{many(n, 'wave')}: that's not what step gives. {slip}",
           shape=f"the predictions for {many(n, 'wave')} have the shape of x", where=where, **_NEAR)  # fmt: skip
    wrong_if(not r.launches, "0 launches: it doesn't run on the GPU", "0 launches", "launches")
    return r.launches


@puzzle("07-2", counts="launches", par=2)
def epoch_with_a_par(make_epoch):
    return _same_epochs(make_epoch)


@exercise("07.3", "one order for an epoch", look_at="what in the loop touches the CPU?")
def epoch(make_epoch):
    r = _same_epochs(make_epoch)
    copies = r.host_to_device.count
    reads = r.device_to_host.count
    graphs = sum(count for name, count in r.launched.items() if name.startswith("graph"))
    facts = f"{many(r.launches, 'launch', 'launches')}, {many(copies, 'copy', 'copies')} to the GPU, {reads} back"
    if r.launches > ORDERS:
        refuse({
            "each point is still copied to the GPU in the loop": copies,
            "each loss is still read in the loop": reads > 1,
            "nothing is replayed: return fl.captured(epoch)": not graphs,
            "a step is one order now; a whole epoch could be": graphs > 1,
            "that's more than the graph and the copy of its result": True,
        }, facts, f"at most {ORDERS} launches")  # fmt: skip
    wrong_if(copies, "something is still copied to the GPU in each epoch", facts, "no copies to the GPU")
    return f"an epoch is {many(r.launches, 'launch', 'launches')}, and its loss is read once"


def _same_epochs(make_epoch):
    """The receipt of a learner's last epoch with its loss read, if all gave the right losses and weights."""
    function(make_epoch, "make_epoch")
    for n in (1, 16):
        x, y, w1, w2 = problem(waves=n, seed=2)
        mine = fl.gpu((w1, w2))
        with unchanged("make_epoch", x=x, y=y):
            epoch, _ = call(make_epoch, x, y, *mine)
            function(epoch, "what make_epoch returns")
            for k in range(EPOCHS):
                found, r = call(_loss_of, epoch)
                _expect_epoch(f"{many(n, 'wave')}, call {k + 1}: ", found, mine, (x, y, w1, w2))
    return r


def _loss_of(epoch):
    return number(must_return(epoch(), "epoch"), "the loss")


def _expect_epoch(before, found, mine, ours):
    x, y, w1, w2 = ours
    without_learning = _epoch(x, y, w1.copy(), w2.copy(), rate=0)
    wanted = _epoch(x, y, w1, w2)
    expect(found, wanted, "that's not the loss of this epoch", {
        "you take the mean over the 20 steps: add them up": wanted / 20,
        "the ½ is missing": 2 * wanted,
        "w1 and w2 stay as they were: each step has to change them": without_learning,
    }, before=before, rtol=1e-3, atol=1e-6)  # fmt: skip
    for name, got, want in zip(("w1", "w2"), mine, (w1, w2)):
        words = f"{before}the loss is right, but {name} isn't: an epoch changes it in place, after each step"
        wrong_if(not same(got, want, **_NEAR), words, look_at="w1[...] -= 0.1 * g1")


@puzzle("07-1", counts="launches", par=237)
def sequence_loss_with_a_par(sequence_loss):
    return _same_loss(sequence_loss)[-1]


@exercise("07.2", "out of the loop", look_at="what does the next step need, and what could wait?")
def sequence_loss(sequence_loss):
    one, r = _same_loss(sequence_loss)
    products, sums = r.launched["matmul"], r.launched["mean"] + r.launched["sum"]
    if r.launches > LAUNCHES:
        refuse({
            "there's a loop over the waves: more waves take more launches": r.launches > 2 * one.launches,
            "the loss is still computed in each step; np.stack makes one array of 20": sums >= 20,
            "a product too many is in the loop: is it the one with w2? No next step needs that": products > PRODUCTS,
            "the products are those that it takes. What else could be done at once, or left out?": True,
        }, f"{r.launches} launches, {products} of them for products", f"at most {LAUNCHES} launches")  # fmt: skip
    if products > PRODUCTS:
        return f"{r.launches} launches, though {products} of them are for products: there's more than one way"
    return "the loop has only what the next step needs, so 20 products with w2 became one"


def _same_loss(sequence_loss):
    """The receipts of a learner's loss and its gradient, for one wave and for 16, if both are right."""
    function(sequence_loss, "sequence_loss")
    receipts = []
    for n in (1, 16):
        x, y, w1, w2 = problem(waves=n, seed=2)
        arrays = fl.gpu((w1, w2, x, y))
        with unchanged("sequence_loss", **dict(zip(("w1", "w2", "x", "y"), arrays))):
            (found, grads), r = call(_with_gradients, sequence_loss, *arrays)
        wanted, wanted_grads = _with_gradients(_loss, w1, w2, x, y)
        words = "a loss is one number, and returned alone: the check asks for its gradient"
        wrong_if(isinstance(found, tuple) or found is None or np.shape(found) != (), words, brief(found), "shape ()")
        back = r.device_to_host
        brought, words = back.bytes > FEW_BYTES, "arrays were copied to the host: let them stay on the GPU"
        wrong_if(brought, words, f"{many(back.count, 'copy')}, {back.bytes:,} bytes back", "no copies back")
        expect(found, wanted, "that's not the loss that it returned before", {
            "you also take the mean over the 20 steps: sum them": wanted / 20,
            "the ½ is missing": 2 * wanted,
            "you sum over the waves: see More, Sum or mean?": n * wanted,
        }, before=f"{many(n, 'wave')}: ", rtol=1e-3, atol=1e-8)  # fmt: skip
        for name, got, want in zip(("w1", "w2"), grads, wanted_grads):
            words = f"the loss is right, but its gradient for {name} isn't: it has to flow back through all 20 steps"
            wrong_if(not same(got, want, **_NEAR), words, look_at="h stays what step made it: no .data, no new zeros")
        receipts.append(r)
    return receipts


def _epoch(x, y, w1, w2, rate=0.1):
    """The same on the CPU, as the lesson's program has it."""
    h, total = np.zeros((x.shape[1], 6), np.float32), 0.0
    for point, target in zip(x, y):
        (error, h), (g1, g2) = fl.withgradient(_step_loss(point, target, h), w1, w2)
        w1 -= rate * g1
        w2 -= rate * g2
        total += float(error)
    return total


def _step_loss(point, target, h):
    def loss(w1, w2):
        out, after = step(point, h, w1, w2)
        return np.mean((out - target) ** 2) / 2, after

    return loss


def _loss(w1, w2, x, y):
    return np.sum(np.mean((run(x, w1, w2)[0] - y) ** 2, axis=1)) / 2


def _with_gradients(loss, w1, w2, x, y):
    return fl.withgradient(lambda w1, w2: loss(w1, w2, x, y), w1, w2)
