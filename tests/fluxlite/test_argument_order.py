"""In which order arguments stand: PyTorch's where it has the same ones, and where the orders differ, its calls raise.

What each public function takes, with its defaults, is compared in `tests/frozen`.
"""

import inspect
import typing

import numpy as np
import pytest

import fluxlite as fl


def by_place(function, leave_out=()):
    """The names of what may be given by its place."""
    named_only = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    if inspect.isclass(function) and typing.get_overloads(function.__init__):
        function = typing.get_overloads(function.__init__)[0]  # PyTorch's RNN takes ``*args``, and says here which
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind not in named_only and p.name not in ("self", *leave_out)]


# Ours, and theirs if it's called otherwise.
THEIRS = {
    "nn": "Embedding Dropout LayerNorm GroupNorm Upsample RNN LSTM GRU RNNCell LSTMCell GRUCell "
    "InstanceNorm:InstanceNorm2d "
    "BatchNorm:BatchNorm2d MultiHeadAttention:MultiheadAttention Dense:Linear Conv:Conv2d MaxPool:MaxPool2d "
    "ConvTranspose:ConvTranspose2d MeanPool:AvgPool2d AdaptiveMaxPool:AdaptiveMaxPool2d",
    "nn.functional": "celu elu hardsigmoid hardswish hardtanh leakyrelu:leaky_relu mish relu relu6 rrelu selu sigmoid "
    "softsign swish:silu tanhshrink tanh softmax logsoftmax:log_softmax mse:mse_loss mae:l1_loss huber_loss",
    "nn.utils": "clip_grad_norm:clip_grad_norm_",
    "optim": "Descent:SGD Rprop AdaGrad:Adagrad AdaDelta:Adadelta RMSProp:RMSprop Adam AdamW NAdam RAdam AdaMax:Adamax",
    "autograd.functional": "hessian",
    "utils.data": "DataLoader",
}
# What PyTorch has, too, and why it isn't compared: it differs on purpose, or PyTorch doesn't say.
ON_PURPOSE = {
    "flatten": "a function of an array, and PyTorch's a layer that takes axes",
    "gelu": "PyTorch's function is compiled, so Python can't see its order; ours takes x alone",
    "logsigmoid": "likewise",
    "softplus": "likewise",
    "softshrink": "likewise; ours takes x and the threshold, as PyTorch's does",
}
WORDS = {  # one thing under several names
    "x": "input inputs func", "prediction": "input", "inputs": "in_features input_size", "f": "func", "data": "dataset",
    "outputs": "out_features hidden_size", "vocabulary": "num_embeddings", "features": "embedding_dim",
    "channels": "num_features", "out": "output_size", "kernel": "kernel_size", "dims": "embed_dim", "eta": "lr",
    "beta": "betas", "epsilon": "eps", "decay": "weight_decay", "rho": "alpha", "ell": "etas", "gamma": "step_sizes",
    "slope": "negative_slope", "axis": "dim", "agg": "reduction", "batchsize": "batch_size", "grads": "parameters",
}  # fmt: skip
# Where the orders differ, a call in PyTorch's raises: something in it means nothing in its place here.
IN_PYTORCHS_ORDER = {
    "GroupNorm": lambda: fl.GroupNorm(2, 4), "Upsample": lambda: fl.Upsample(2), "Dense": lambda: fl.Dense(2, 3, False),
    "BatchNorm": lambda: fl.BatchNorm(3, 1e-5), "InstanceNorm": lambda: fl.InstanceNorm(3, 1e-5),
    "LayerNorm": lambda: fl.LayerNorm(3, 1e-5), "RNNCell": lambda: fl.RNNCell(2, 3, False),
    "RNN": lambda: fl.RNN(2, 3, 1),
    "Conv": lambda: fl.Conv(1, 16, 3), "ConvTranspose": lambda: fl.ConvTranspose(1, 16, 3),
    "rrelu": lambda: fl.rrelu(np.ones(3), 0.1, 0.3, True), "AdaDelta": lambda: fl.AdaDelta(1.0, 0.9),
    "AdamW": lambda: fl.AdamW(1e-3, (0.9, 0.999), 1e-8, 0.01),
    "DataLoader": lambda: fl.DataLoader(np.ones(4), 2, True, None),
}  # fmt: skip
NOT_THE_SAME = {"AdaGrad"}  # PyTorch's second argument lowers the rate with time, which no rule of ours does


def test_what_pytorch_has_too_is_compared():
    torch = pytest.importorskip("torch")

    def plain(name):
        return name.lower().replace("_", "")

    rooms = {"nn": torch.nn, "optim": torch.optim}
    theirs = {plain(name): (room, name) for room, module in rooms.items() for name in dir(module)
              if inspect.isclass(getattr(module, name))}  # fmt: skip
    compared = {row.partition(":")[0] for names in THEIRS.values() for row in names.split()}
    rows = []
    for name in fl.__all__:
        if plain(name) in theirs and name not in {*compared, *ON_PURPOSE}:
            room, other = theirs[plain(name)]
            row = name if name == other else f"{name}:{other}"
            rows.append(f'"{row}" to the row "{room}" of THEIRS')
    assert not rows, (
        f"PyTorch has them, too, and nothing compares the order of their arguments. Add {', '.join(rows)} (an "
        'activation to "nn.functional", under its name there). If the orders differ, add a call in PyTorch\'s order, '
        "which has to raise, to IN_PYTORCHS_ORDER. If there's nothing to compare, add the name to ON_PURPOSE, and why"
    )


@pytest.mark.parametrize("name", [name for names in THEIRS.values() for name in names.split()])
def test_pytorchs_order_is_ours_or_raises(name):
    theirs = pytest.importorskip("torch")
    room = next(room for room, names in THEIRS.items() if name in names.split())
    ours, _, other = name.partition(":")
    for part in (*room.split("."), other or ours):
        theirs = getattr(theirs, part)
    unused = ("params", "size_average", "reduce", "_stacklevel") if room != "nn.utils" else ()
    pairs = list(zip(by_place(getattr(fl, ours)), by_place(theirs, unused), strict=False))
    same = all(b == a or b in WORDS.get(a, "").split() for a, b in pairs)
    assert same == (ours not in IN_PYTORCHS_ORDER and ours not in NOT_THE_SAME), pairs


@pytest.mark.parametrize("name", IN_PYTORCHS_ORDER)
def test_a_call_in_pytorchs_order_raises(name):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        IN_PYTORCHS_ORDER[name]()


def test_the_third_of_adamw_decays():
    w = np.ones(2)
    fl.update(fl.setup(fl.AdamW(0.1, (0.9, 0.999), 0.5), w), w, np.zeros(2))
    np.testing.assert_allclose(w, 1 - 0.1 * 0.5)
    assert fl.AdamW(0.1, (0.9, 0.999), 0.5, epsilon=1e-7) == fl.AdamW(eta=0.1, decay=0.5, epsilon=1e-7)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: fl.AdamW(1e-3, (0.9, 0.999), 0.0, 1e-8), "takes from 1 to 4 positional arguments"),
    (lambda: fl.RMSProp(1e-3, 0.9, 1e-8, True), "takes from 1 to 4 positional arguments"),
    (lambda: fl.AdamW(1e-3, (0.9, 0.999), "no"), "decay is a number, got 'no'"),
])  # fmt: skip
def test_what_does_not_say_by_its_place_what_it_is_is_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call()
