"""`train`: the same steps as by hand; what it refuses; losses that are no number; the bar."""

import collections
import io
import re
import sys
import tempfile
import threading

import numpy as np
import pytest
from inside import History

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


@pytest.mark.parametrize("check_every", [1, 2, 5, 1000])
def test_the_same_as_by_hand_bit_for_bit(check_every):
    expected_model, expected_state, losses = by_hand(4)
    model, opt_state = new_model()
    weight = model[0].weight
    history = train(loss, model, BATCHES, opt_state, 4, check_every=check_every)
    assert numbers(model) == numbers(expected_model) and numbers(opt_state) == numbers(expected_state)
    assert history.losses == losses and model[0].weight is weight, "in place"
    assert history.epoch_losses == pytest.approx([np.mean(losses[i : i + 3]) for i in range(0, 12, 3)], rel=1e-12)
    assert (history.epochs, history.steps, history.wanted) == (4, 12, 4)
    assert not history.stopped and history.reason == "" and history.seconds.kind == "measured"
    assert all(type(x) is float for x in history.losses + history.epoch_losses)


def test_one_epoch_unless_said_otherwise():
    assert train(loss, *new_model()[:1], BATCHES, new_model()[1]).epochs == 1


class Once:
    """Can be gone through any number of times, and does not know how long it is."""

    def __iter__(self):
        return iter(BATCHES)


class Lengthless(Once):
    def __len__(self):
        raise TypeError("nobody knows")


@pytest.mark.parametrize(
    "data",
    [BATCHES, tuple(BATCHES), Once(), Lengthless(), collections.deque(BATCHES), fl.DataLoader((X, Y), batchsize=4)],
    ids=lambda data: type(data).__name__,
)
@pytest.mark.parametrize("progress", [None, True])
def test_all_kinds_of_data(data, progress):
    model, opt_state = new_model()
    assert train(loss, model, data, opt_state, epochs=2, progress=progress).losses == by_hand(2)[2]


def test_an_iterator_will_do_for_one_epoch():
    model, opt_state = new_model()
    assert train(loss, model, iter(BATCHES), opt_state).losses == by_hand(1)[2]


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
        first = model if isinstance(model, np.ndarray) else fl.leaves(model)[0]
        train(lambda m, x: np.sum((fl.leaves(m)[0] if type(m) in (dict, list, tuple) else m) * x), model, [1.0], fl.setup(fl.Descent(1.0), model))  # fmt: skip  # noqa: E501
        assert first.tolist() == [0, 0]


def test_float32_losses_and_integers_of_numpy_as_arguments():
    model, opt_state = new_model()
    history = train(loss, model, BATCHES, opt_state, np.int64(2), check_every=np.int64(2))
    assert history.losses == by_hand(2)[2] and np.float32(history.losses[0]) == history.losses[0]


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


def refused(error, message, *args, **kwargs):
    with pytest.raises(error, match=message) as found:
        train(*args, **kwargs)
    return str(found.value)


@pytest.mark.parametrize("order", ["mlds", "lmsd", "lsdm", "ldms", "dmls", "sdml", "mdls", "smdl", "lsmd", "mlsd"])
def test_every_wrong_order_is_told_from_the_right_one(order):
    model, opt_state = new_model()
    given = {"l": loss, "m": model, "d": BATCHES, "s": opt_state}
    names = {"l": "loss", "m": "model", "d": "data", "s": "opt_state"}
    before = numbers(model)
    text = refused(TypeError, "in place of the", *[given[letter] for letter in order])
    assert f"this was train({', '.join(names[letter] for letter in order)}, …)" in text
    assert "Write train(loss, model, data, opt_state, epochs), with opt_state = setup(rule, model)" in text
    assert numbers(model) == before


def test_a_rule_in_place_of_its_state():
    model, _ = new_model()
    refused(
        TypeError, r"got the rule Adam\(.*in place of its state: opt_state = setup", loss, model, BATCHES, fl.Adam()
    )


def test_the_implicit_style_is_not_trained_with():
    model, opt_state = new_model()
    refused(TypeError, r"the model itself, not params\(model\)", loss, fl.params(model), BATCHES, opt_state)


def test_other_things_in_place_of_others():
    model, opt_state = new_model()
    refused(TypeError, "got a float in place of the loss function", 0.5, model, BATCHES, opt_state)
    refused(TypeError, "got a Chain in place of the optimizer's state", loss, model, BATCHES, model)
    refused(TypeError, "got a int in place of the data", loss, model, 3, opt_state)
    refused(TypeError, "got a function in place of the data", loss, model, loss, opt_state)
    refused(ValueError, r"nothing for layers\[0\]\.weight, it is not that of this model", loss, model, BATCHES, None)
    other = fl.Chain(fl.Dense(2, 1))
    refused(ValueError, r"nothing for layers\[1\]\.weight", loss, model, BATCHES, fl.setup(fl.Adam(), other))


@pytest.mark.parametrize("model", [fl.Chain(np.tanh), {"n": np.arange(3)}, object(), np.tanh])
def test_a_model_without_parameters(model):
    opt_state = new_model()[1]
    refused((ValueError, TypeError), "nothing to train in this", loss, model, BATCHES, opt_state)


class Observations:
    """As for PyTorch's DataLoader."""

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return X[i], Y[i]


def test_data_that_is_no_list_of_batches():
    model, opt_state = new_model()
    refused(TypeError, r"got a tuple of 2 arrays: for one batch write \[\(x, y\)\]", loss, model, (X, Y), opt_state)
    for data in (X, {"x": X}, "text"):
        refused(TypeError, r"for one batch write \[data\]", loss, model, data, opt_state)
    for data in (Observations(), fl.mapobs(abs, X)):
        refused(TypeError, r"DataLoader\(data, batchsize=32\)", loss, model, data, opt_state)
    for data in ([], ()):
        refused(ValueError, "data has no batches", loss, model, data, opt_state)
    refused(ValueError, "data has no batches in epoch 1", loss, model, iter([]), opt_state)


def test_what_can_be_gone_through_once_is_refused_at_once_for_several_epochs():
    model, opt_state = new_model()
    before = numbers(model)
    for data in (iter(BATCHES), (batch for batch in BATCHES), zip([X], [Y]), map(tuple, BATCHES)):
        refused(TypeError, r"can be gone through once, and this is for 2 epochs: give a list, list\(data\)", loss, model, data, opt_state, 2)  # fmt: skip  # noqa: E501
    assert numbers(model) == before


def test_what_turns_out_to_be_empty_the_second_time():
    class Hidden:
        batches_left = iter(BATCHES)

        def __iter__(self):
            return self.batches_left

    model, opt_state = new_model()
    refused(ValueError, "no batches left in epoch 2.*gone through again", loss, model, Hidden(), opt_state, 2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"epochs": 0}, ValueError, "epochs is at least 1, got 0"),
        ({"epochs": 1.5}, TypeError, "epochs is a whole number, got 1.5"),
        ({"epochs": True}, TypeError, "epochs is a whole number"),
        ({"check_every": 0}, ValueError, "check_every is at least 1"),
        ({"callbacks": print}, TypeError, r"for one write callbacks=\[f\]"),
        ({"callbacks": [3]}, TypeError, "a callback is a function of the history, got int"),
        (
            {"each_step": threading.Event()},
            TypeError,
            r"got Event; for a threading.Event: lambda history: event.is_set",
        ),
        ({"callbacks": None}, TypeError, "callbacks is a list of functions, got None"),
        ({"callbacks": [lambda: 3]}, TypeError, r"called with the history, .*yours is <lambda>\(\): too many"),
        ({"each_step": threading.Event().is_set}, TypeError, r"called with the history, .*yours is is_set\(\)"),
        ({"checkpoint": True}, TypeError, "checkpoint is the path of a file, .* got a bool"),
        ({"checkpoint": "no folder/run"}, FileNotFoundError, "there is no folder .*no folder; os.makedirs makes it"),
        ({"checkpoint": tempfile.gettempdir()}, IsADirectoryError, "where a folder is"),
        ({"resume": True}, TypeError, 'needs the file to go on from: checkpoint="run.safetensors"'),
    ],
)
def test_options_that_make_no_sense(options, error, message):
    model, opt_state = new_model()
    refused(error, message, loss, model, BATCHES, opt_state, **options)


def test_a_loss_that_takes_something_else():
    model, opt_state = new_model()
    text = refused(TypeError, "this batch has 2 parts; yours is", lambda m, x: 0, model, BATCHES, opt_state)
    assert "too many positional arguments" in text
    refused(TypeError, "one thing, a list; a tuple is handed over", loss, model, [[X, Y]], opt_state)


def test_a_loss_that_takes_the_parts_of_a_dict_or_a_named_tuple():
    model, opt_state = new_model()
    Pair = collections.namedtuple("Pair", "x y")
    for batch, part in (({"x": X, "y": Y}, r"\['x'\]"), (Pair(X, Y), r"\.x")):
        words = f"take its parts in the loss, as in lambda model, batch: … batch{part}; yours is loss"
        refused(TypeError, words, loss, model, [batch], opt_state)


def test_the_seconds_go_on_while_it_trains():
    model, opt_state = new_model()
    seen = []
    train(loss, model, BATCHES, opt_state, 2, callbacks=[lambda history: seen.append(history.seconds)])
    assert 0 < seen[0] < seen[1]


def test_a_loss_that_is_no_number():
    model, opt_state = new_model()
    refused(
        TypeError, r"one number, of shape \(\), got shape \(4, 1\)", lambda m, x, y: m(x) - y, model, BATCHES, opt_state
    )
    refused(TypeError, "got a NoneType", lambda m, x, y: None, model, BATCHES, opt_state)


def test_a_loss_that_forgets_its_model():
    model, opt_state = new_model()
    text = refused(ValueError, "does not depend on the parameters", lambda m, x, y: fl.mse(model(x), y), model, BATCHES, opt_state)  # fmt: skip  # noqa: E501
    assert "lambda m, x, y: mse(m(x), y)" in text


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
    assert error.value.__notes__ == ["in batch 2 of epoch 2 of train"]
    model[0].weight += 1  # the arrays can be written again


# -- losses that are no number -------------------------------------------------------------------------------------


def fails_at(steps, value=np.nan):
    """A loss that is not finite in the step of this number."""
    count = iter(range(1, 1000))
    return lambda m, x, y: loss(m, x, y) * (value if next(count) == steps else 1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_batch_is_named_and_the_model_is_as_it_was_before(value):
    expected_model, expected_state, losses = by_hand(2)
    model, opt_state = new_model()
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError) as error:
        train(fails_at(7, value), model, BATCHES, opt_state, 5)
    text = str(error.value)
    assert text.startswith(f"the loss is {value} in batch 1 of epoch 3. No update was made with it")
    assert "smaller learning rate" in text
    assert numbers(model) == numbers(expected_model) and numbers(opt_state) == numbers(expected_state)
    history = error.value.history
    assert history.losses == losses and history.stopped and (history.steps, history.epochs) == (6, 2)
    assert history.reason == f"the loss is {value} in batch 1 of epoch 3"


@pytest.mark.parametrize(
    ("step", "check_every", "batch", "epoch", "updates"),
    [(1, 2, 1, 1, 1), (2, 2, 2, 1, 0), (3, 2, 3, 1, 1), (5, 20, 2, 2, 2), (6, 20, 3, 2, 1), (5, 2, 2, 2, 0)],
)
def test_looked_at_later_it_is_still_the_batch_where_it_happened(step, check_every, batch, epoch, updates):
    """With check_every=2 the losses of an epoch of three are read after batches 2 and 3."""
    model, opt_state = new_model()
    with pytest.raises(FloatingPointError) as error, np.errstate(all="ignore"):
        train(fails_at(step), model, BATCHES, opt_state, 5, check_every=check_every)
    text = str(error.value)
    assert text.startswith(f"the loss is nan in batch {batch} of epoch {epoch}. ")
    found = re.search(r"Found after (\d+) update", text)
    assert (int(found[1]) if found else 0) == updates
    assert ("check_every=1 finds it before" in text) == bool(updates)
    assert error.value.history.losses == by_hand(2)[2][: step - 1]


# -- the bar ---------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def a_terminal(monkeypatch):
    """Not a fixture: between setting up a test and running it pytest puts another standard error in place."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    return sys.stderr


def test_a_bar_shows_epoch_and_loss_and_goes_away(monkeypatch):
    terminal = a_terminal(monkeypatch)
    train(loss, new_model()[0], BATCHES, new_model()[1], 2, progress=True)
    text = terminal.getvalue()
    assert "0/6" in text and text.split("\r")[-1] == "" and text.split("\r")[-2].strip() == ""
    assert "\n" not in text


def test_what_the_bar_says(monkeypatch):
    from inside import Bar

    with Bar(True, None) as bar:
        bar.skip(3)
        bar.step("epoch 2/4", 0.12345)
        bar.step("epoch 2/4", None)
        bar.expect(12)
        bar.expect(99)
        text = str(bar._bar)
    assert re.match(r"epoch 2/4:  42%\|.*\| 5/12 \[.*, loss 0.1235\]", text)
    assert bar._bar.mininterval == 0.25 and bar._bar.disable, "drawn four times a second, and closed"


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_it_is_taken_away_in_every_case(monkeypatch, error):
    terminal = a_terminal(monkeypatch)

    def failing(m, x, y):
        raise error

    with pytest.raises(error):
        train(failing, new_model()[0], BATCHES, new_model()[1], progress=True)
    assert terminal.getvalue().split("\r")[-2].strip() == "" and "\n" not in terminal.getvalue()


def test_long_trainings_have_one_where_somebody_watches(monkeypatch):
    from inside import bar as progress

    terminal = a_terminal(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    train(loss, new_model()[0], BATCHES, new_model()[1], 2)
    assert "0/6" in terminal.getvalue() and terminal.getvalue().split("\r")[-2].strip() == ""
    with progress.Bar(None, None) as bar:
        bar.skip(4)
        bar.expect(9)
        bar.step("epoch 1/2", 1.0)
        assert re.match(r"epoch 1/2:  56%\|.*\| 5/9", str(bar._bar))


def test_short_trainings_have_none_and_programs_have_none(monkeypatch):
    terminal = a_terminal(monkeypatch)
    monkeypatch.setattr("fluxlite.training.bar.DELAY", 1e6)
    train(loss, new_model()[0], BATCHES, new_model()[1], 2)
    train(loss, new_model()[0], BATCHES, new_model()[1], 2, progress=False)
    monkeypatch.setenv("TQDM_DISABLE", "1")
    train(loss, new_model()[0], BATCHES, new_model()[1], 2, progress=True)
    assert terminal.getvalue() == ""
    from inside import bar as progress

    monkeypatch.setattr(progress, "_tqdm", lambda *args, **kwargs: 1 / 0)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.delenv("TQDM_DISABLE")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    train(loss, new_model()[0], BATCHES, new_model()[1])  # nobody watches: tqdm is not even made


def test_tqdms_warnings_are_no_errors(monkeypatch):
    """In a notebook without ipywidgets tqdm warns, where warnings are errors as here that would end the training."""
    import tqdm.auto
    from tqdm import TqdmWarning

    a_terminal(monkeypatch)

    def warning(*args, **kwargs):
        import warnings

        warnings.warn("IProgress not found", TqdmWarning, stacklevel=1)
        return tqdm.tqdm(*args, **kwargs)

    monkeypatch.setattr(tqdm.auto, "tqdm", warning)
    assert train(loss, new_model()[0], BATCHES, new_model()[1], progress=True).steps == 3


# -- threads ---------------------------------------------------------------------------------------------------


def test_in_another_thread_a_button_stops_it():
    button, model, found = threading.Event(), new_model(), []

    def each_step(history):
        if history.steps == 4:
            button.set()  # as the main thread would
        return button.is_set()

    def run():
        found.append(train(loss, model[0], BATCHES, model[1], 100, each_step=each_step))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found[0].steps == 4 and found[0].stopped and found[0].reason == "stopped by each_step"
    assert found[0].losses == by_hand(2)[2][:4]


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


def test_the_ratio_stays_after_a_rate_of_zero_and_in_a_rule_of_several():
    chained = fl.OptimiserChain(fl.WeightDecay(0.1), fl.Momentum(1e-3))
    model = {name: w.copy() for name, w in LAYERED.items()}
    state = fl.setup(chained, model)
    fl.adjust(state["backbone"], 1e-4)
    for schedule in (lambda step: 0.0, fl.step_decay(0.5, 9)):
        train(lambda m, x: sum(np.sum(w) for w in m.values()) * x, model, [1.0], state, schedule=schedule)
    eta = {name: leaf.rule.rules[1].eta for name, leaf in state.items()}
    np.testing.assert_allclose(list(eta.values()), (0.05, 0.5, 0.5), rtol=1e-12)
    fl.adjust(state["head"], 2e-3)  # from now on this is its own
    train(lambda m, x: sum(np.sum(w) for w in m.values()) * x, model, [1.0], state, schedule=lambda step: 1.0)
    assert [leaf.rule.rules[1].eta for leaf in state.values()] == [0.05, 1.0, 0.5]


def test_a_run_with_rates_of_its_own_goes_on_exactly(tmp_path, capsys):
    def setting(state):
        fl.adjust(state["backbone"], 1e-4)

    path, schedule = tmp_path / "run.safetensors", fl.cosine(0.1, 8)
    whole = layered(setting, 4, schedule=schedule)
    layered(setting, 1, schedule=schedule, checkpoint=path)
    again = layered(setting, 4, schedule=schedule, checkpoint=path, resume=True)
    assert {n: w.tolist() for n, w in again[0].items()} == {n: w.tolist() for n, w in whole[0].items()}
    assert again[2] == whole[2][2:]
    layered(setting, 1, schedule=schedule, checkpoint=path, overwrite=True)
    with pytest.raises(ValueError, match=r"of a run with Momentum\(eta=0\.1 \* scheduled, .* and .*opt_state is of"):
        layered(lambda s: None, 4, schedule=schedule, checkpoint=path, resume=True)  # adjust is forgotten


def test_the_rule_in_a_file_is_named_as_it_was(tmp_path):
    """An older file says this, and goes on."""
    path = tmp_path / "run.safetensors"
    layered(lambda s: None, rule=fl.AdamW(0.1, decay=0.5), schedule=fl.cosine(0.1, 8), checkpoint=path)
    then = "AdamW(eta=scheduled, beta=(0.9, 0.999), epsilon=1e-08, decay=0.5, couple=True)"
    assert fl.load(path)["run"]["optimizer"] == then


@pytest.mark.parametrize(
    "schedule, rule, words",
    [
        (0.1, fl.Adam(), "schedule is a function of the step's number"),
        (lambda: 0.1, fl.Adam(), "schedule is called with the step's number"),
        (fl.cosine(0.1, 10), fl.AdaDelta(), r"AdaDelta\(.*\) has none"),
        (lambda step: None, fl.Adam(), "the learning rate eta is a number, got None"),
    ],
)
def test_what_is_no_schedule(schedule, rule, words):
    model = {"w": np.ones(2)}
    with pytest.raises(TypeError, match=words):
        train(lambda m, x: np.sum(m["w"] * x), model, [(np.ones(2),)], fl.setup(rule, model), schedule=schedule)
