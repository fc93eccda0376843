"""To live with a captured step: methods, keywords, several signatures, threads, switching off, forgetting, training."""

import copy
import dataclasses
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import fluxlite as fl

X = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)


def network():
    return fl.Chain(fl.Dense(3, 4, np.tanh, rng=np.random.default_rng(0)), fl.Dense(4, 2, rng=np.random.default_rng(1)))


class Trainer:
    def __init__(self):
        self.model = network()
        self.state = fl.setup(fl.Adam(0.1), self.model)

    @fl.captured
    def step(self, x, *, scale=1.0):
        loss, (grads,) = fl.withgradient(lambda m: np.mean(m(x) ** 2) * scale, self.model)
        fl.update(self.state, self.model, grads)
        return {"loss": loss, "norm": (np.sum(grads.layers[0].weight ** 2),)}

    def eager(self, x, **keywords):
        return type(self).step.eager(self, x, **keywords)


def test_a_method_with_keywords_is_captured_for_each_object():
    one, two = Trainer(), Trainer()
    for i in range(6):
        got, expected = one.step(X + i, scale=2.0), two.eager(X + i, scale=2.0)
        assert got["loss"] == expected["loss"] and got["norm"] == expected["norm"]
    assert one.step(X, scale=3.0) == two.eager(X, scale=3.0)
    third = Trainer()
    for _ in range(4):
        third.step(X)
    assert third.step(X)["loss"] != one.step(X)["loss"]


def test_a_model_that_is_an_argument_is_held_weakly():
    @fl.captured
    def step(model, state, x):
        loss, (grads,) = fl.withgradient(lambda m: np.mean(m(x) ** 2), model)
        fl.update(state, model, grads)
        return loss

    model = network()
    state = fl.setup(fl.Adam(0.1), model)
    for _ in range(4):
        step(model, state, X)
    assert len(step.plans) == 1
    gone = weakref.ref(model), weakref.ref(model.layers[0].weight)
    del model, state
    gc.collect()
    assert step.plans == {} and [reference() for reference in gone] == [None, None]


@dataclasses.dataclass
class Batch:
    x: np.ndarray


@dataclasses.dataclass(slots=True)
class BatchInSlots:
    x: np.ndarray


class Holder:
    def __init__(self, x):
        self.x = x


@pytest.mark.parametrize("kind", [Batch, BatchInSlots, Holder])
def test_a_new_object_at_each_call_is_another_one(kind):
    """Even if it's where one was that's gone: it's recorded by itself."""
    step = fl.captured(lambda batch: batch.x * 2)
    for i in range(12):
        assert (step(kind(X + i)) == (X + i) * 2).all()
    kept = kind(X)
    for _ in range(4):
        assert (step(kept) == X * 2).all()
    assert step.plans


def test_the_last_eight_signatures_are_kept():
    step = fl.captured(lambda x: np.tanh(x) * 2)
    for n in range(1, 12):
        for _ in range(3):
            assert (step(np.ones(n, np.float32)) == np.tanh(np.ones(n, np.float32)) * 2).all()
    assert len(step.plans) == 8
    assert "is captured again and again" in "".join(fl.notices())


def test_a_result_is_the_callers_own():
    w = np.ones(3, np.float32)
    step = fl.captured(lambda x: (x * 2, w, x))
    for _ in range(3):
        one = step(X[0])
    two = step(X[0] * 3)
    one[0][...] = one[1][...] = one[2][...] = 9
    assert (two[0] == X[0] * 6).all() and (two[1] == 1).all() and (w == 1).all() and (two[2] == X[0] * 3).all()


def test_inside_a_gradient_and_inside_another_capture_it_runs_as_written():
    inner = fl.captured(lambda x: np.sum(np.tanh(x) ** 2))
    for _ in range(3):
        inner(X)
    (slope,) = fl.gradient(inner, X)
    (expected,) = fl.gradient(inner.eager, X)
    assert (slope == expected).all()
    outer = fl.captured(lambda x: inner(x * 2) + 1)
    assert [outer(X) for _ in range(4)] == [inner.eager(X * 2) + 1] * 4


def test_two_threads_on_one_step_take_turns():
    step = fl.captured(lambda x: np.sum(np.tanh(x) @ np.ones_like(x.T)))
    for _ in range(3):
        step(X)
    wrong = []

    def work(factor):
        expected = step.eager(X * np.float32(factor))
        wrong.extend(1 for _ in range(300) if step(X * np.float32(factor)) != expected)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_off_runs_it_as_written_and_reads_values():
    seen = []

    def read(x):
        seen.append(float(x.sum()))
        return x * 2

    step = fl.captured(read)
    with fl.captured.off():
        for _ in range(3):
            step(X)
    assert len(seen) == 3 and step.plans == {}
    fl.captured.off()
    try:
        step(X)
    finally:
        fl.captured.on()
    with pytest.raises(fl.CaptureError):
        step(X)
    for is_off in (True, False):  # a block ends as it began
        if is_off:
            fl.captured.off()
        try:
            with fl.captured.off():
                with fl.captured.off():
                    step(X)
                step(X)
            if is_off:
                step(X)
        finally:
            fl.captured.on()
    with pytest.raises(fl.CaptureError):
        step(X)
    program = "import numpy as np, fluxlite as fl; print(fl.captured(lambda x: float(x.sum()))(np.ones(3)))"
    environment = {**os.environ, "FLUXLITE_CAPTURED": "0"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "3.0\n"


def module_step(x):
    return x * 2


captured_step = fl.captured(check=7)(module_step)


def test_copies_and_pickles_record_for_themselves():
    for _ in range(3):
        captured_step(X)
    other = copy.deepcopy(captured_step)
    assert other.eager is module_step and other.check == 7 and other.plans == {}
    again = pickle.loads(pickle.dumps(captured_step))  # noqa: S301  (our own)
    assert (again(X) == X * 2).all()


@fl.captured
def doubled(x):
    return x * 2


def test_a_decorated_function_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(doubled)) is doubled


class Named:
    clear = "the step's own"
    note = "also the step's own"

    def __call__(self, x):
        return x * 2


def test_a_steps_attributes_are_there_and_hide_nothing():
    run = fl.captured(Named())
    for _ in range(3):
        run(X)
    run.clear()
    assert run.plans == {}
    assert run.note == "also the step's own"
    with pytest.raises(AttributeError):
        run.no_such_name  # noqa: B018


def test_it_explains_itself_and_forgets():
    step = fl.captured(lambda x: np.tanh(x @ np.ones_like(x).T) * 2)
    assert "no replay yet" in step.explain()
    for _ in range(3):
        step(X)
    text = step.explain()
    assert "calls were noted" in text and "kB of buffers" in text and "def replay" in text
    step.clear()
    assert "no replay yet" in step.explain()
    assert (step(X) == step.eager(X)).all()


def test_what_is_recorded_again_may_fill_a_cache_again():
    """After a replacement, the first run may do otherwise than those after it, as at the very first call."""
    box = {"cache": None}

    @fl.captured
    def step(x):
        if box["cache"] is None:
            box["cache"] = x * 0 + 2
        return x * box["cache"]

    for _ in range(2):
        assert [step(X).tolist() for _ in range(5)] == [(X * 2).tolist()] * 5
        assert step.plans
        box["cache"] = None


def test_it_says_what_its_buffers_take_and_would_take_apart():
    step = fl.captured(lambda x: np.exp(np.tanh(x * 2) + 1) * 2)
    for _ in range(3):
        step(np.ones((100, 64), np.float32))
    assert "76.8 kB of buffers; each in a place of its own, they'd take 128.0 kB" in step.explain()


def test_many_replays_take_no_more_memory():
    trainer = Trainer()
    for _ in range(10):
        trainer.step(X)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(2000):
        trainer.step(X)
    gc.collect()
    assert len(gc.get_objects()) <= before + 5


def test_what_it_takes():
    with pytest.raises(TypeError, match=r"captured\(step\): the step is a function"):
        fl.captured(3)
    with pytest.raises(TypeError, match="check is a whole number"):
        fl.captured(module_step, check=0.5)
    assert fl.captured(captured_step).eager is module_step
    assert captured_step.__name__ == "module_step" and "captured(module_step)" in repr(captured_step)


def test_training_captured_is_training():
    def run(captured):
        fl.seed(0)
        model = fl.Chain(fl.Dense(3, 4, np.tanh, rng=np.random.default_rng(0)), fl.BatchNorm(4), fl.Dropout(0.3))
        state = fl.setup(fl.Adam(0.1), model)
        batches = [(X[:4], X[:4, :1]), (X[:3], X[:3, :1])]
        history = fl.train(
            lambda m, x, y: (fl.mse(m(x)[:, :1], y), "extra"), model, batches, state, epochs=12,
            schedule=fl.cosine(0.1, 20), captured=captured, progress=False,
        )  # fmt: skip
        arrays = [x.tobytes() for x in (*fl.leaves(model), *fl.leaves(state)) if isinstance(x, np.ndarray)]
        return history.losses, history.epoch_losses, arrays

    assert run(True) == run(False)


def test_training_captured_says_what_it_cannot():
    model = network()
    state = fl.setup(fl.RAdam(0.1), model)
    with pytest.raises(fl.CaptureError) as caught:
        fl.train(lambda m, x: np.mean(m(x) ** 2), model, [X, X], state, captured=True, progress=False)
    assert "in batch 2 of epoch 1 of train" in caught.value.__notes__
    with pytest.raises(TypeError, match="captured=True\\) is for one process"):
        fl.train(lambda m, x: 1.0, model, [X], state, captured=True, distributed=True)
    state = fl.setup(fl.Descent(1e30), model)
    with pytest.raises(FloatingPointError, match="1 update later.*without captured=True"), np.errstate(all="ignore"):
        fl.train(lambda m, x: np.mean(m(x) ** 2), model, [X] * 9, state, captured=True, progress=False)
