"""What people who know PyTorch, Keras or JAX type first: it works, or the error says what it is called here."""

import pydoc
import re
import subprocess
import sys

import numpy as np
import pytest
from inside import coming_from
from kinds import GPUS

import fluxlite as fl

MODEL = fl.Chain(fl.Dense(2, 3, np.tanh), fl.Dense(3, 1))
STATE = fl.setup(fl.Adam(), MODEL)


@pytest.mark.parametrize("name", coming_from.NAMES)
def test_a_name_of_another_library(name):
    if name in fl.__all__ or hasattr(fl, name):
        pytest.skip(f"fluxlite has a {name} of its own")
    with pytest.raises(AttributeError, match=rf"module 'fluxlite' has no attribute '{name}'\. [A-Z]"):
        getattr(fl, name)


def wanted(x, table):
    return [(x, name, table) for name in table if not hasattr(type(x), name) and name not in vars(x)]


@pytest.mark.parametrize(
    "x, name, table",
    [
        *wanted(MODEL, coming_from.OF_A_MODEL),
        *wanted(MODEL[0], coming_from.OF_A_MODEL),
        *wanted(fl.Adam(), coming_from.OF_AN_OPTIMIZER),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_an_attribute_of_another_library(x, name, table):
    with pytest.raises(AttributeError, match=rf"object has no attribute '{name}'\. [A-Z]"):
        getattr(x, name)


def test_attributes_of_a_tracked_array():
    def f(w):
        for name in coming_from.OF_AN_ARRAY:
            with pytest.raises(AttributeError, match=rf"no attribute '{name}'\. [A-Z]"):
                getattr(w, name)
        assert not hasattr(w, "__cuda_array_interface__") and not hasattr(w, "nothing")
        return w.sum()

    fl.gradient(f, np.ones(2))


@pytest.mark.on(*GPUS)
def test_attributes_of_an_array_on_a_device(device):
    x = device(np.ones(2, np.float32))
    if device.backend == "CUDA":
        pytest.skip("CuPy's own class")
    for name in coming_from.OF_A_DEVICE_ARRAY:
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'\. [A-Z]"):
            getattr(x, name)
    assert {"shape", "get"} < set(dir(x)) and not {"cuda", "to"} & set(dir(x)) and not hasattr(x, "cuda")


def test_what_is_said_of_others_is_nothing_new():
    for x, name in [(fl, "Adan"), (MODEL, "wieght"), (fl.Adam(), "beeta"), (fl.param(np.ones(2)), "shap")]:
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'$"):
            getattr(x, name)
    assert not hasattr(MODEL, "__array__") and not hasattr(MODEL, "_own")


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: fl.Adam(lr=0.1), r"Adam has no 'lr'\. Here it is eta"),
        (lambda: fl.AdamW(weight_decay=0.1), r"AdamW has no 'weight_decay'\. Here it is decay"),
        (lambda: fl.RMSProp(alpha=0.9), r"RMSProp has no 'alpha'\. Here it is rho"),
        (lambda: fl.Descent(momentum=0.9), r"Descent has no 'momentum'\. Here it is rho, in fl.Momentum"),
        (lambda: fl.DataLoader(np.ones((4, 2)), batch_size=2), r"argument 'batch_size'\. Here it is batchsize"),
        (lambda: fl.DataLoader(np.ones((4, 2)), num_workers=2), r"'num_workers'\. Here it is parallel=True"),
        (lambda: fl.Dense(in_features=2, out_features=3), r"'in_features'\. Here it is the first argument"),
        (lambda: fl.train(fl.mse, MODEL, [], STATE, num_epochs=2), r"'num_epochs'\. Here it is epochs"),
        (lambda: fl.train(fl.mse, MODEL, [], STATE, verbose=2), r"unexpected keyword argument 'verbose'$"),
    ],
)
def test_a_keyword_of_another_library(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_an_error_inside_is_not_taken_for_a_wrong_keyword():
    def init(*shape, **keywords):
        return np.zeros(shape, lr=1)

    with pytest.raises(TypeError, match=r"'lr'$|lr.*$") as caught:
        fl.Dense(2, 3, init=init)
    assert "eta" not in str(caught.value)


def test_every_hint_names_what_there_is():
    for table in TABLES:
        for name, here in table.items():
            for found in re.findall(r"fl\.((?:cuda\.)?\w+)", here):
                if found in NOT_YET:
                    continue
                owner = fl.cuda if found.startswith("cuda.") else fl
                assert hasattr(owner, found.removeprefix("cuda.")), (name, found)


NOT_YET = {"cuda.jit"}
TABLES = [table for name, table in vars(coming_from).items() if name.isupper() and not name.startswith("_")]


def test_every_hint_is_a_sentence():
    """What follows "Here it is" names a thing: it says by itself what that gives or does only after a comma."""
    assert len(TABLES) > 6
    for table in TABLES:
        for name in table:
            said = coming_from.hint(name, table)
            assert re.match(r"\. (Here it is (?!nothing|call |write )\S|Not needed here: \S|[A-Z][a-z']* )", said), said
            assert not said.endswith(".") and "  " not in said
            thing = re.split(r"[,;:]", said.removeprefix(". Here it is "))[0] if "Here it is" in said else ""
            assert not re.search(r"\b(gives?|says|makes?|takes?|moves?|is|are|differentiates)\b", thing), said


# -- what people trained on PyTorch, Keras and JAX typed first ------------------------------------------------------

X, Y = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)


def loss(model, x, y):
    return fl.mse(model(x), y)


def measured(history):
    return {"accuracy": 0.5}


# What they typed, and what they read. Without words it works.
ATTEMPTS = {
    "fl.nn.Linear(2, 3)": "Layers are in fl itself: fl.Dense, fl.Chain",
    "fl.Linear(2, 3)": r"Here it is fl\.Dense\(inputs, outputs\)",
    "fl.Sequential(MODEL)": r"Here it is fl\.Chain",
    "fl.Module": r"Here it is any class of yours with @fl\.functor above it",
    "fl.Parameter(X)": "Here it is an array; every floating-point array in a model trains",
    "fl.parameters(MODEL)": r"Here it is fl\.trainables\(model\)",
    "MODEL.parameters()": r"Write fl\.trainables\(model\)",
    "MODEL[0].named_parameters()": r"Write fl\.trainables\(model\)",
    "fl.withgradient(lambda m: loss(m, X, Y).backward(), MODEL)": r"Write fl\.gradient\(f, model\)",
    "fl.mse(fl.param(X), X).backward()": r"after fl\.param, fl\.back\(loss\)",
    'MODEL.to("cuda")': r"Write model = fl\.gpu\(model\)",
    "MODEL.cuda()": r"Write model = fl\.gpu\(model\)",
    "MODEL.cpu()": r"Write model = fl\.cpu\(model\)",
    "SIMULATED(X).cuda()": "Not needed here: x is on its device",
    "SIMULATED(X).cpu()": r"Write fl\.cpu\(x\)",
    "SIMULATED(X).numpy()": r"Write fl\.cpu\(x\)",
    'SIMULATED(X).to("cpu")': r"Write fl\.cpu\(x\)",
    "np.array(SIMULATED(X))": r"Write cpu\(x\)",
    "fl.Adam().step()": r"Here it is fl\.update\(state, model, grads\)",
    "fl.Adam().zero_grad()": r"Not needed here: fl\.gradient gives new gradients each time",
    "MODEL.zero_grad()": r"Not needed here: fl\.gradient gives new gradients each time",
    "fl.optim.Adam()": "The rules are in fl itself",
    "fl.no_grad()": r"Not needed here: only what runs inside fl\.gradient is differentiated",
    "fl.inference_mode()": "Not needed here",
    "fl.manual_seed(1)": r"Here it is fl\.seed\(number\)",
    "fl.PRNGKey(1)": r"Here it is fl\.seed\(number\)",
    "fl.grad(np.sum)(X)": r"Here it is fl\.gradient\(f, x\), which gives the gradients, not a function",
    "fl.value_and_grad(np.sum)": r"Here it is fl\.withgradient\(f, x\)",
    "fl.gradient(np.sum)(X)": r"write gradient\(lambda w: …, w\)",
    "fl.jit(np.sum)": "Not needed here: what you write runs line by line",
    "fl.vmap(np.sum)": "Write f for a batch",
    "fl.tree_map(np.sum, MODEL)": r"Here it is fl\.fmap\(f, model\)",
    "MODEL.train()": r"Not needed here: a layer is in its training mode inside fl\.gradient; fl\.trainmode",
    "MODEL.eval()": r"Not needed here: a layer is in its test mode outside of fl\.gradient; fl\.testmode",
    "fl.tensor([1.0])": r"Here it is np\.array",
    "fl.from_numpy(X)": "Not needed here: fluxlite computes with NumPy's arrays",
    "fl.zeros(3)": r"Here it is np\.zeros",
    "MODEL.state_dict()": r"Here it is fl\.state\(model\)",
    "MODEL.load_state_dict({})": r"Here it is fl\.loadmodel\(model, state\)",
    'fl.save(MODEL, "model.pt")': "the path of the file comes first",
    "MODEL.compile()": r"Not needed here: the rule goes to state = fl\.setup",
    "MODEL.fit(X, Y)": r"Here it is fl\.train\(loss, model, data, state, epochs\)",
    "MODEL.predict(X)": r"Call the model: model\(x\)",
    "MODEL.forward(X)": r"Call the model: model\(x\)",
    "MODEL.summary()": r"Here it is fl\.explain\(model\)",
    "MODEL.append(MODEL)": r"Make a new chain: fl\.Chain\(\*model, layer\)",
    "MODEL[0].in_features": r"Here it is model\.weight\.shape\[1\]",
    "MODEL[0].weight.requires_grad": "no attribute",  # NumPy's array
    "fl.Flatten()": r"Here it is fl\.flatten, a function",
    "fl.flatten(X)": "",
    "fl.SGD(0.1)": r"Here it is fl\.Descent\(eta\)",
    "fl.CrossEntropyLoss()": r"Here it is fl\.logitcrossentropy\(scores, target\), a function",
    "fl.MSELoss()": r"Here it is fl\.mse\(prediction, target\), a function",
    "fl.ReLU()": r"Here it is fl\.relu, a function",
    "fl.Conv2d(1, 2, 3)": r"Here it is fl\.Conv\(\(3, 3\), inputs, outputs\); pictures are \(N, H, W, C\)",
    "fl.Conv(1, 16, 3)": r"They come first: Conv\(\(3, 3\), inputs, outputs\)",
    "fl.BatchNorm2d(3)": r"Here it is fl\.BatchNorm\(channels\)",
    "fl.Adam(lr=0.1)": "Here it is eta",
    "fl.Adam(MODEL.layers, 0.1)": "the learning rate eta is a number",
    "fl.DataLoader(X, batch_size=2)": "Here it is batchsize",
    "fl.DataLoader(X, num_workers=2)": "Here it is parallel=True",
    "fl.Dense(in_features=2, out_features=3)": "Here it is the first argument",
    "fl.Dense(3)": r"A layer is given both sizes, as in Dense\(inputs, outputs\)",
    "fl.LSTM(input_size=2, hidden_size=3)": r"input_size=: Here it is the first .*hidden_size=: Here it is the second ",
    "fl.LSTM(2, 3, batch_first=True)": r"Not needed here: a batch of sequences is always \(N, T, features\)",
    "fl.Conv((3, 3), 1, 2, padding=1)": "Here it is pad$",
    "fl.BatchNorm(num_features=3)": "Here it is the first argument",
    'fl.Dense(2, 3, "relu")': "activation is a function such as",
    "fl.Chain([fl.Dense(2, 3)])": r"write Chain\(\*layers\)",
    'fl.mse(X, X, reduction="sum")': r"Here it is agg, with np\.mean or np\.sum$",
    'fl.get_device("cuda")': r'Did you mean "CUDA"\?',
    'fl.get_device("cuda:1")': r'Did you mean "CUDA", 1\?',
    "fl.train(loss, MODEL, [(X, Y)], STATE, callbacks=[measured])": r"measured gave a dict.*append it to a list",
    "fl.train(loss, MODEL, [(X, Y)], STATE, each_step=measured)": r"measured gave a dict",
    "fl.train(MODEL, loss, [(X, Y)], STATE)": "swapped|train",
    "fl.update(STATE, MODEL, fl.gradient(lambda m: loss(m, X, Y), MODEL))": r"take grads\[0\]",
    "MODEL(X.T)": r"x\.T\?",
    "fl.mse(X, np.ones(4))": r"takes two of the same shape",
    "fl.logitcrossentropy(X, np.zeros(4, int))": "",
    "fl.losses.mse": "",
    "fl.optimizers.Adam": "",
    "fl.data.DataLoader": "",
    # what named another thing, or nothing
    "fl.clip_grad_norm_(MODEL.layers, 1.0)": r"fl\.clip_grad_norm\(grads, max_norm\), which gives new ones",
    "fl.clip_by_global_norm(1.0)": r"fl\.clip_grad_norm\(grads, max_norm\)",
    "fl.clip_grad_value_(MODEL, 1.0)": r"fl\.OptimiserChain\(fl\.ClipGrad\(delta\), rule\)",
    "fl.random_split(X, [3, 1])": r"fl\.splitobs\(data, at=0\.8, shuffle=True\)",
    "fl.MultiheadAttention(8, 2)": "in whose mask True means look; bias=True",
    "fl.GELU()": "the tanh form",
    "fl.StepLR(STATE, 30)": "counts steps, not epochs",
    "fl.CosineAnnealingLR(STATE, 30)": "counts steps, not epochs",
    "fl.LambdaLR(STATE, None)": r"fl\.train\(…, schedule=lambda step: …\)",
    "fl.param(X).detach()": r"Here it is fl\.stop_gradient\(x\)$",
    "fl.Identity()": "a function, lambda x: x",
    "fl.LeakyReLU(0.1)": r"fl\.leakyrelu, a function",
    "fl.Softplus()": r"fl\.softplus, a function",
    "fl.Dropout2d(0.5)": r"fl\.Dropout\(p, dims=\(0, -1\)\)",
    "fl.autocast()": r"fl\.f16\(model\)",
    "fl.GradScaler()": "Multiply the loss by a number",
    "fl.requires_grad_(False)": r"fl\.freeze\(state\.layers\[0\]\)",
    "fl.pad(X, 1)": r"np\.pad\(x, …\)",
    "fl.interpolate(X)": r"fl\.Upsample\(mode, scale=…\)",
    "fl.where(X > 0, X, X)": r"np\.where\(condition, x, y\)",
    "fl.gather(X, 1, Y)": r"np\.take_along_axis\(x, index, axis\)",
    "fl.topk(X, 2)": r"np\.sort\(x\)\[\.\.\., -k:\]",
    "fl.Subset(X, [0])": r"fl\.getobs\(data, index\)",
    "fl.pad_sequence([X])": r"np\.pad, which",
    "fl.binary_cross_entropy_with_logits(X, X)": r"fl\.logitbinarycrossentropy\(scores, target\)",
    "fl.ADAM()": r"fl\.Adam\(eta\)",
    "getattr(fl, 'train!')": r"Here it is fl\.train$",
    "fl.Adan": "no attribute 'Adan'$",
}
SIMULATED = None


@pytest.fixture
def simulated():
    with fl.simulate_gpu():
        yield fl.gpu_device()


@pytest.mark.parametrize("typed", ATTEMPTS)
def test_what_they_typed_first_works_or_says_what_it_is_called_here(typed, simulated):
    words = ATTEMPTS[typed]
    names = {**globals(), "SIMULATED": simulated}
    if not words:
        assert eval(typed, names) is not None
        return
    with pytest.raises((AttributeError, TypeError, ValueError)) as caught:
        eval(typed, names)
    assert re.search(words, str(caught.value))


def test_rooms_are_found_before_they_are_used():
    rooms = ["layers", "losses", "optimizers", "schedules", "data", "checkpoint", "training", "receipts", "reports"]
    program = f"import fluxlite as fl\nfor room in {rooms}:\n    print(getattr(fl, room).__name__, room in dir(fl))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"fluxlite.{room} False" for room in rooms]


def test_a_callback_that_answers_yes_or_no_is_fine():
    model = fl.Dense(2, 1)
    for answer, epochs in [(True, 1), (np.bool_(True), 1), (False, 3), (None, 3), (0, 3), (np.bool_(False), 3)]:
        ask, state = [lambda _, answer=answer: answer], fl.setup(fl.Adam(), model)
        done = fl.train(loss, model, [(X, Y)], state, 3, callbacks=ask)
        assert done.epochs == epochs
    for answer in ({}, 0.0, [0.5], "done", np.float32(0.5)):
        ask, state = [lambda _, answer=answer: answer], fl.setup(fl.Adam(), model)
        with pytest.raises(TypeError, match=rf"gave a {type(answer).__name__}\. To keep what it measured"):
            fl.train(loss, model, [(X, Y)], state, callbacks=ask)


def test_pictures_with_their_channels_first_are_noticed(capsys):
    fl.reset_notices()
    fl.Dense(28, 10)(np.ones((5, 1, 28, 28), np.float32))
    said = capsys.readouterr().err
    assert re.search(r"shape \(5, 1, 28, 28\)\. If these are pictures \(N, C, H, W\).*fl\.flatten.*np\.moveaxis", said)
    fl.Dense(28, 10)(np.ones((5, 1, 28, 28), np.float32))
    for shape in [(5, 28, 28, 28), (5, 28, 28, 3), (5, 28, 28), (5, 1, 1, 1), (5, 1, 7, 28)]:
        fl.Dense(shape[-1], 2)(np.ones(shape, np.float32))
    assert capsys.readouterr().err == ""


def test_an_editor_completes_our_names_and_no_others():
    assert {"layers"} == {name for name in dir(MODEL) if not name.startswith("_")}
    assert {"weight", "bias", "activation", "of"} == {name for name in dir(MODEL[0]) if not name.startswith("_")}
    w = dir(fl.param(np.ones(2)))
    assert {"data", "grad", "shape", "sum"} < set(w) and not {"backward", "cuda"} & set(w)
    assert not {"losses", "nn", "Linear"} & set(dir(fl)) and {"Dense", "mse", "train", "cuda"} < set(dir(fl))


def test_help_on_a_layer_says_what_the_names_of_others_are_for():
    text = pydoc.render_doc(fl.Dense, renderer=pydoc.plaintext)
    assert "cuda = <elsewhere. Write model = fl.gpu(model)" in text and "object at 0x" not in text


def test_attributes_are_found_without_python_code():
    """A class with ``__getattr__`` is slower at every attribute."""
    for kind in (fl.Dense, fl.Chain, fl.Conv, fl.TrackedArray, type(fl.gpu)):
        assert not hasattr(kind, "__getattr__")
    own = fl.Dense(2, 3)
    own.parameters = 3  # as some model of yours might
    assert own.parameters == 3
