"""`train`: the same steps as by hand; what it refuses; losses that are no number; the bar."""

import collections
import io
import re
import sys
import tempfile
import threading

import numpy as np
import pytest
from inside import Bar, History, bar

import fluxlite as fl
from fluxlite import Seconds, train

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(12, 2)
Y = np.sin(X.sum(axis=1, keepdims=True))
BATCHES = [(X[i : i + 4], Y[i : i + 4]) for i in range(0, 12, 4)]


def loss(m, x, y):
    return fl.mse(m(x), y)


def new_model(rule=None):
    rng = np.random.default_rng(0)
    model = fl.Chain(fl.Dense(2, 5, np.tanh, rng=rng), fl.Dense(5, 1, rng=rng))
    return model, fl.setup(rule or fl.Adam(0.05), model)


def numbers(tree):
    return [x.tolist() if isinstance(x, np.ndarray) else x for x in fl.leaves(tree) if not callable(x)]


def by_hand(epochs):
    model, opt_state = new_model()
    losses = []
    for _ in range(epochs):
        for x, y in BATCHES:
            value, grads = fl.withgradient(lambda m, x=x, y=y: loss(m, x, y), model)
            fl.update(opt_state, model, grads[0])
            losses.append(float(value))
    return model, opt_state, losses


# -- training --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check_every", [1, 2, np.int64(5), 1000])
def test_the_same_as_by_hand_bit_for_bit(check_every):
    expected_model, expected_state, losses = by_hand(4)
    model, opt_state = new_model()
    weight, seen = model[0].weight, []
    history = train(loss, model, BATCHES, opt_state, np.int64(4), check_every=check_every,
                    callbacks=[lambda history: seen.append(history.seconds)])  # fmt: skip
    assert numbers(model) == numbers(expected_model) and numbers(opt_state) == numbers(expected_state)
    assert history.losses == losses and model[0].weight is weight, "in place"
    assert history.epoch_losses == pytest.approx([np.mean(losses[i : i + 3]) for i in range(0, 12, 3)], rel=1e-12)
    assert (history.epochs, history.steps, history.wanted) == (4, 12, 4) and 0 < seen[0] < seen[1]
    assert not history.stopped and history.reason == "" and history.seconds.kind == "measured"
    assert all(type(x) is float for x in history.losses + history.epoch_losses)


class Lengthless:
    """You can go through it any number of times, and it doesn't know its length."""

    def __iter__(self):
        return iter(BATCHES)

    def __len__(self):
        raise TypeError("nobody knows")


@pytest.mark.parametrize(
    "data", [tuple(BATCHES), Lengthless(), fl.DataLoader((X, Y), batchsize=4)], ids=lambda data: type(data).__name__
)
@pytest.mark.parametrize("progress", [None, True])
def test_all_kinds_of_data(data, progress):
    model, opt_state = new_model()
    assert train(loss, model, data, opt_state, epochs=2, progress=progress).losses == by_hand(2)[2]
    model, opt_state = new_model()
    assert train(loss, model, iter(data), opt_state).losses == by_hand(1)[2], "an iterator will do for one epoch"


def test_what_the_loss_is_called_with():
    seen = []
    Pair = collections.namedtuple("Pair", "x y")
    for batch in [(X, Y), X, {"x": X}, [X, Y], Pair(X, Y), (X,), 3]:
        model, opt_state = [np.ones(1)], None
        opt_state = fl.setup(fl.Descent(), model)
        train(lambda m, *rest: seen.append(rest) or np.sum(m[0]), model, [batch], opt_state)
    assert [tuple(map(type, rest)) for rest in seen] == [
        (np.ndarray, np.ndarray), (np.ndarray,), (dict,), (list,), (Pair,), (np.ndarray,), (int,),
    ]  # fmt: skip


def test_what_the_loss_gives_beside_it_is_left_out():
    model, opt_state = new_model()
    history = train(lambda m, x, y: (loss(m, x, y), m(x), "more"), model, BATCHES, opt_state, 2)
    assert history.losses == by_hand(2)[2]


def test_a_model_may_be_plain_data_a_tuple_or_one_array():
    for model in ({"w": np.ones(2)}, [np.ones(2)], (np.ones(2),), np.ones(2)):
        (w,) = fl.leaves(model)

        def loss(m, x):
            return np.sum((fl.leaves(m)[0] if type(m) in (dict, list, tuple) else m) * x)

        train(loss, model, [1.0], fl.setup(fl.Descent(1.0), model))
        assert w.tolist() == [0, 0]


# -- History ---------------------------------------------------------------------------------------------------


def test_the_text_of_a_history():
    seconds = Seconds(1.2, "measured")
    assert repr(History(10, seconds=seconds)) == "History(0 epochs, 0 steps, 1.2 s measured)"
    history = History(2, [2.0, 1.0], [1.5], 2, seconds=seconds)
    assert repr(history) == "History(1 epoch, 2 steps, loss 2 -> 1, 1.2 s measured)"
    history = History(2, [2.31, 1.0, 0.1, 0.06], [1.655, 0.08], 4, seconds=seconds)
    assert repr(history) == "History(2 epochs, 4 steps, loss 1.66 -> 0.08, 1.2 s measured)"
    history = History(9, [2.0, 1.0, 0.5], [1.5], 3, True, "interrupted", seconds=Seconds(0.5, "simulated", "NVIDIA T4"))
    assert repr(history) == "History(1 of 9 epochs, 3 steps, loss 2 -> 0.5, interrupted, 0.5 s simulated (NVIDIA T4))"


# -- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["mlds", "lmsd", "lsdm", "dmls", "sdml"])
def test_every_wrong_order_raises(order):
    model, opt_state = new_model()
    given = {"l": loss, "m": model, "d": BATCHES, "s": opt_state}
    before = numbers(model)
    with pytest.raises((TypeError, ValueError), match=r"in train\(loss="):
        train(*(given[letter] for letter in order))
    assert numbers(model) == before


MODEL, STATE = new_model()
# What isn't as in a right call.
REFUSED = [
    ({"loss": 0.5}, TypeError, "'float' object is not callable"),
    ({"loss": lambda m, x: 0}, TypeError, "takes 2 positional arguments but 3 were given\n.*in batch 1 of epoch 1"),
    ({"data": [[X, Y]]}, TypeError, "missing 1 required positional argument"),
    ({"loss": lambda m, x, y: m(x) - y}, TypeError, r"one number, of shape \(\), got shape \(4, 1\)"),
    ({"loss": lambda m, x, y: None}, TypeError, "got None. Does the function return it"),
    ({"loss": lambda m, x, y: fl.mse(MODEL(x), y)}, ValueError, "depend on the parameters.*lambda m, x, y: mse"),
    ({"model": {"n": np.arange(3)}}, ValueError, "nothing to train in this"),
    ({"model": object()}, ValueError, "nothing to train in this"),
    ({"opt_state": fl.Adam()}, TypeError, "got an Adam in place of the state"),
    ({"opt_state": MODEL}, ValueError, "the state has nothing for"),
    ({"opt_state": None}, ValueError, r"nothing for layers\[0\]\.weight: it.s another model"),
    ({"opt_state": fl.setup(fl.Adam(), fl.Chain(fl.Dense(2, 1)))}, ValueError, r"weight has shape .* its state"),
    *(({"data": data}, TypeError, r"for one batch write \[\(x, y\)\]") for data in (X, {"x": X})),
    *(({"data": data}, TypeError, "is not iterable\nin train") for data in (3, loss)),
    ({"data": (X, Y)}, TypeError, r"got a tuple of 2 arrays: for one batch write \[\(x, y\)\]"),
    ({"data": []}, ValueError, "data has no batches in epoch 1"),
    ({"data": iter([])}, ValueError, "data has no batches in epoch 1"),
    ({"epochs": 0}, ValueError, "epochs is at least 1, got 0"),
    ({"epochs": 1.5}, TypeError, "epochs is a whole number, got 1.5"),
    ({"epochs": True}, TypeError, "epochs is a whole number"),
    ({"check_every": 0}, ValueError, "check_every is at least 1"),
    ({"callbacks": print}, TypeError, "not iterable\nin train"),
    ({"callbacks": [3]}, TypeError, "callbacks, each_step=.* is a function, got 3"),
    ({"each_step": threading.Event()}, TypeError, "each_step=….* is a function, got an Event"),
    ({"checkpoint": True}, TypeError, "checkpoint=True"),
    ({"checkpoint": "no folder/run"}, FileNotFoundError, "there is no such folder: .*no folder"),
    ({"checkpoint": tempfile.gettempdir()}, OSError, "not an ordinary file"),
    ({"resume": True}, TypeError, "resume=True goes on with the file"),
    ({"overwrite": True}, TypeError, "overwrite=True replaces it"),
    ({"checkpoint": "run", "resume": True, "overwrite": True}, TypeError, "take one"),
    ({"distributed": "yes"}, TypeError, "distributed"),
    ({"schedule": 0.1}, TypeError, "schedule=….* is a function, got 0.1"),
    ({"schedule": lambda step: None}, TypeError, "the learning rate eta is a number, got None"),
    ({"schedule": fl.cosine(0.1, 9), "opt_state": fl.setup(fl.AdaDelta(), MODEL)}, TypeError, "the rule has none"),
]


@pytest.mark.parametrize("changes, error, words", REFUSED, ids=[words for _, _, words in REFUSED])
def test_what_train_refuses(changes, error, words):
    before = numbers(MODEL)
    with pytest.raises(error, match=f"(?s){words}"):
        train(**{"loss": loss, "model": MODEL, "data": BATCHES, "opt_state": STATE} | changes)
    assert numbers(MODEL) == before


def test_an_error_in_the_loss_says_in_which_batch_and_changes_nothing_more():
    model, opt_state = new_model()
    calls = []

    def failing(m, x, y):
        calls.append(1)
        if len(calls) == 5:
            raise RuntimeError("mine")
        return loss(m, x, y)

    with pytest.raises(RuntimeError, match="mine") as error:
        train(failing, model, BATCHES, opt_state, 3)
    assert "in batch 2 of epoch 2 of train" in error.value.__notes__
    model[0].weight += 1  # the arrays can be written again


# -- losses that are no number -------------------------------------------------------------------------------------


def fails_at(steps, value=np.nan):
    """A loss that isn't finite in this step."""
    count = iter(range(1, 1000))
    return lambda m, x, y: loss(m, x, y) * (value if next(count) == steps else 1)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_the_batch_is_named_and_the_model_is_as_it_was_before(value):
    expected_model, expected_state, losses = by_hand(2)
    model, opt_state = new_model()
    where = f"the loss is {value} in batch 1 of epoch 3"
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match=f"^{where}. No .* smaller lear") as error:
        train(fails_at(7, value), model, BATCHES, opt_state, 5)
    assert numbers(model) == numbers(expected_model) and numbers(opt_state) == numbers(expected_state)
    history = error.value.history
    assert history.losses == losses and history.stopped and (history.steps, history.epochs) == (6, 2)
    assert history.reason == where


# -- the bar ---------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def a_terminal(monkeypatch, delay=0.0):
    """Not a fixture: between setting up a test and running it pytest puts another standard error in place."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(bar, "DELAY", delay)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    return sys.stderr


def trained(epochs=2, loss=loss, **options):
    return train(loss, new_model()[0], BATCHES, new_model()[1], epochs, **options)


@pytest.mark.parametrize("progress", [True, None])
def test_a_bar_shows_epoch_and_loss_and_goes_away(monkeypatch, progress):
    terminal = a_terminal(monkeypatch)
    trained(progress=progress)
    text = terminal.getvalue()
    assert "0/6" in text and "\n" not in text and text.split("\r")[-1] == "" and text.split("\r")[-2].strip() == ""


@pytest.mark.parametrize("progress", [True, None])
def test_what_the_bar_says(monkeypatch, progress):
    a_terminal(monkeypatch)
    with Bar(progress, None, 3) as shown:
        shown.step("epoch 2/4", None)
        shown.total = 12
        shown.step("epoch 2/4", 0.12345)
        assert re.match(r"epoch 2/4:  42%\|.*\| 5/12 \[.*, loss 0.1235\]", str(shown._bar))
    assert shown._bar.mininterval == 0.25 and shown._bar.disable, "drawn four times a second, and closed"


def test_short_trainings_have_none_and_programs_have_none(monkeypatch):
    terminal = a_terminal(monkeypatch, delay=1e6)
    trained()
    trained(progress=False)
    monkeypatch.setenv("TQDM_DISABLE", "1")
    trained(progress=True)
    assert terminal.getvalue() == ""
    a_terminal(monkeypatch)
    monkeypatch.setattr(bar, "_tqdm", lambda *args, **kwargs: 1 / 0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    trained()  # nobody watches: tqdm isn't even made


# -- schedules -------------------------------------------------------------------------------------------------


def test_a_schedule_sets_the_rate_before_each_step(tmp_path):
    def rates(epochs, **keywords):
        seen = []

        class Watched(fl.Descent):
            def change(self, memory, x, g):
                seen.append(self.eta)
                return super().change(memory, x, g)

        model = {"w": np.ones(2)}
        batches = [(np.ones(2),), (np.ones(2),)]
        train(lambda m, x: np.sum((m["w"] - x) ** 2), model, batches, fl.setup(Watched(9.0), model), epochs, **keywords)
        return seen

    schedule = fl.step_decay(0.5, every=3, factor=0.5)
    assert rates(3, schedule=schedule) == [0.5] * 3 + [0.25] * 3
    path = tmp_path / "run.safetensors"
    first = rates(1, schedule=schedule, checkpoint=path)
    assert first + rates(3, schedule=schedule, checkpoint=path, resume=True) == [0.5] * 3 + [0.25] * 3


LAYERED = {"backbone": np.ones(2), "head": np.ones(2), "frozen": np.ones(2)}


def rates(state):
    return {name: leaf.rule.eta for name, leaf in state.items()}


def layered(setting, epochs=1, rule=None, **keywords):
    """A model whose parts have rates of their own after `setting`, trained by a schedule; its state."""
    model = {name: w.copy() for name, w in LAYERED.items()}
    state = fl.setup(rule or fl.Momentum(1e-3), model)
    setting(state)
    seen = []
    train(lambda m, x: sum(np.sum((w - x) ** 2) for w in m.values()), model, [0.0, 0.5], state, epochs,
          each_step=lambda h: seen.append(rates(state)), **keywords)  # fmt: skip
    return model, state, seen


@pytest.mark.parametrize(
    "setting, expected",
    [
        (lambda s: None, (0.5, 0.5, 0.5)),
        (lambda s: fl.adjust(s, 0.25), (0.5, 0.5, 0.5)),  # all of them: the schedule's own, as before
        (lambda s: fl.adjust(s["backbone"], 1e-4), (0.05, 0.5, 0.5)),
        (lambda s: fl.adjust(s["head"], 1e-2), (0.05, 0.5, 0.05)),  # never more than the schedule says
        (lambda s: fl.adjust(s["backbone"], 0.0), (0.0, 0.5, 0.5)),
        (lambda s: fl.adjust(s, 0.0), (0.5, 0.5, 0.5)),
        (lambda s: (fl.freeze(s["frozen"]), fl.adjust(s["frozen"], 1.0), fl.adjust(s["head"], 1e-4)),
         (0.5, 0.05, 500)),  # what's frozen isn't the measure
    ],
)  # fmt: skip
def test_a_schedule_keeps_the_ratio_of_the_rates(setting, expected):
    _, _, seen = layered(setting, schedule=fl.step_decay(0.5, 1, 0.5))
    for step, found in enumerate(seen):
        np.testing.assert_allclose(list(found.values()), np.array(expected) / 2**step, rtol=1e-12)
