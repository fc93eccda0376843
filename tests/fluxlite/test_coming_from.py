"""What people who know PyTorch, Keras or JAX type first: it works, or the error says what it is called here."""

import re
import subprocess
import sys
from operator import attrgetter

import numpy as np
import pytest
from inside import coming_from

import fluxlite as fl

MODEL = fl.Chain(fl.Dense(2, 3, np.tanh), fl.Dense(3, 1))
STATE = fl.setup(fl.Adam(), MODEL)
X, Y = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)


def has_a_hint_for_each(x, table):
    for name in table:
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'\. [A-Z]"):
            getattr(x, name)
    with pytest.raises(AttributeError, match="no attribute 'wieght'$"):  # of what's in no table, nothing new is said
        x.wieght  # noqa: B018


@pytest.mark.parametrize(("x", "table"), [(fl, coming_from.NAMES), (MODEL, coming_from.OF_A_MODEL)])
def test_each_name_of_another_library_has_a_hint(x, table):
    has_a_hint_for_each(x, table)
    assert not hasattr(x, "__cuda_array_interface__") and not hasattr(x, "_own")


# -- the tables -----------------------------------------------------------------------------------------------------

TABLES = [table for name, table in vars(coming_from).items() if name.isupper() and not name.startswith("_")]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: next(iter(table)))
def test_every_hint_is_a_sentence_and_names_what_there_is(table):
    """What follows "Here it is" names a thing: it says by itself what that gives or does only after a comma."""
    for name, here in table.items():
        for found in re.findall(r"fl\.(\w+(?:\.\w+)?)", here):
            assert attrgetter(found)(fl), name
        said = coming_from.sentence(here)
        assert re.match(r"Here it is (?!nothing|call |write )\S|Not needed here: \S|[A-Z][a-z']* ", said), said
        assert not said.endswith(".") and "  " not in said
        thing = re.split(r"[,;:]", said.removeprefix("Here it is "))[0] if "Here it is" in said else ""
        assert not re.search(r"\b(gives?|says|makes?|takes?|moves?|is|are|differentiates)\b", thing), said


# -- what they type that isn't only a name ---------------------------------------------------------------------------


def loss(model, x, y):
    return fl.mse(model(x), y)


def measured(history):
    return {"accuracy": 0.5}


ATTEMPTS = {
    "fl.nn.Linear(2, 3)": "Layers are in fl itself",
    "fl.gradient(np.sum)(X)": r"write gradient\(lambda w: …, w\)",
    'fl.save(MODEL, "model.pt")': r"in save\(path=a Chain",
    "getattr(fl, 'train!')": r"Here it is fl\.train$",
    # keywords
    "fl.Descent(momentum=0.9)": r"Here it is rho, in fl\.Momentum",
    "fl.DataLoader(X, batch_size=2)": r"batch_size=: Here it is batchsize",
    "fl.LSTM(input_size=2, hidden_size=3)": r"write LSTM\(inputs, outputs",
    "fl.LSTM(2, 3, batch_first=True)": r"Not needed here: a batch of sequences is always \(N, T, features\)",
    'fl.mse(X, X, reduction="sum")': r"Here it is agg, with np\.mean or np\.sum$",
    "fl.train(loss, MODEL, [], STATE, num_epochs=2)": r"num_epochs=: Here it is epochs",
    "fl.train(loss, MODEL, [], STATE, verbose=2)": "unexpected keyword argument 'verbose'",
    "fl.Dense(2, 3, init=lambda *shape, **keywords: np.zeros(shape, lr=1))": r"'lr'(?!\. Here)",  # the caller's own
    # arguments
    "fl.Conv(1, 16, 3)": r"Conv\(kernel\) is \(3, 3\) for pictures",
    "fl.Adam(MODEL.layers, 0.1)": "the learning rate eta is a number",
    "fl.Dense(3)": r"write Dense\(inputs, outputs, activation=…",
    "fl.Chain([fl.Dense(2, 3)])": r"write Chain\(\*layers\)",
    'fl.get_device("cuda")': r'Did you mean "CUDA"\?',
    "fl.train(loss, MODEL, [(X, Y)], STATE, callbacks=[measured])": "measured gave a dict",
    "fl.train(loss, MODEL, [(X, Y)], STATE, each_step=measured)": "measured gave a dict",
    "fl.train(MODEL, loss, [(X, Y)], STATE)": r"nothing to train in this function.*\n.*loss=a Chain",
}


@pytest.mark.parametrize("typed", ATTEMPTS)
def test_what_they_typed_first_says_what_it_is_called_here(typed, simulated):
    with pytest.raises((AttributeError, TypeError, ValueError), match=ATTEMPTS[typed]):
        eval(typed)


def test_rooms_are_found_before_they_are_used():
    rooms = ["layers", "optim", "data", "saving", "training", "reports"]
    program = f"import fluxlite as fl\nfor room in {rooms}:\n    print(getattr(fl, room).__name__, room in dir(fl))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"fluxlite.{room} False" for room in rooms]


def test_rules_are_in_fl_itself():
    with pytest.raises(AttributeError, match="no attribute 'Adam'. The rules are in fl itself: fl.Adam"):
        fl.optim.Adam(1e-3)


def test_modules_are_found_under_their_names_of_0_3():
    assert fl.losses.mse is fl.mse and fl.optimizers.Adam is fl.Adam and fl.checkpoint.save is fl.save
    assert "[ Info: fluxlite.losses is fluxlite.layers.losses now. Its old name works until 0.5." in fl.notices()


@pytest.mark.parametrize(("answer", "epochs"), [(np.bool_(True), 1), (np.bool_(False), 3), (None, 3), (0, 3)])
def test_a_callback_that_answers_yes_or_no_is_fine(answer, epochs):
    assert fl.train(loss, MODEL, [(X, Y)], STATE, 3, callbacks=[lambda _: answer]).epochs == epochs


def test_pictures_with_their_channels_first_are_noticed_once(capsys):
    for _ in range(2):
        fl.Dense(28, 10)(np.ones((5, 1, 28, 28), np.float32))
    for shape in [(5, 28, 28, 28), (5, 28, 28, 3), (5, 28, 28), (5, 1, 1, 1), (5, 1, 7, 28)]:
        fl.Dense(shape[-1], 2)(np.ones(shape, np.float32))
    assert capsys.readouterr().err.count("(N, C, H, W)") == len(fl.notices()) == 1


def test_an_editor_completes_our_names_and_no_others():
    assert {"layers"} == {name for name in dir(MODEL) if not name.startswith("_")}
    assert {"weight", "bias", "activation", "of"} == {name for name in dir(MODEL[0]) if not name.startswith("_")}
    assert not {"losses", "nn", "Linear"} & set(dir(fl)) and {"Dense", "mse", "train", "cuda"} < set(dir(fl))


def test_attributes_are_found_without_python_code():
    """A class with ``__getattr__`` is slower at every attribute."""
    for kind in (fl.Dense, fl.Chain, fl.Conv, fl.TrackedArray, type(fl.gpu)):
        assert not hasattr(kind, "__getattr__")
    own = fl.Dense(2, 3)
    own.parameters = 3  # as some model of yours might
    assert own.parameters == 3
