"""In which order arguments stand: whose order each public function has, and what raises where two differ."""

import inspect

import numpy as np
import pytest

import fluxlite as fl

# Whose order: the names of the arguments that may be given by their place. Behind a bar is what's a keyword there.
ORDERS = {
    "Flux": """
        functor x | children trainable; children x; trainable x; is_leaf x; fmap function x *others;
        fmap_with_path function x *others; fmapstructure function x; fcollect x | exclude; leaves x; trainables x;
        destructure model; gradient f *args; withgradient f *args; jacobian f *args; hessian f x; param x; back loss;
        params *models; Gradient; Dense inputs outputs activation; Chain *layers; glorot_uniform *shape;
        glorot_normal *shape; kaiming_uniform *shape; kaiming_normal *shape; truncated_normal *shape;
        lecun_normal *shape; orthogonal *shape; sparse_init *shape; identity_init *shape; zeros32 *shape; ones32 *shape;
        rand32 *shape; randn32 *shape; nfan *shape; Conv kernel inputs outputs activation;
        ConvTranspose kernel inputs outputs activation; CrossCor kernel inputs outputs activation;
        DepthwiseConv kernel inputs outputs activation; SamePad; Upsample mode; MaxPool kernel; MeanPool kernel;
        AdaptiveMaxPool out; AdaptiveMeanPool out; GlobalMaxPool; GlobalMeanPool; outputsize model *sizes; Scale *size;
        Embedding vocabulary features; Maxout *layers; SkipConnection layers connection; Parallel connection *layers;
        PairwiseFusion connection *layers; flatten x; Dropout p; LayerNorm *size; BatchNorm channels activation;
        InstanceNorm channels activation; GroupNorm channels groups activation; trainmode model mode;
        testmode model mode; MultiHeadAttention dims; make_causal_mask x; RNN inputs outputs activation;
        LSTM inputs outputs; GRU inputs outputs; Recurrence cell; RNNCell inputs outputs activation;
        LSTMCell inputs outputs; GRUCell inputs outputs; initialstates layer; celu x alpha; elu x alpha; gelu x;
        hardsigmoid x; hardswish x; hardtanh x; leakyrelu x slope; lisht x; logcosh x; logsigmoid x; mish x; relu x;
        relu6 x; rrelu x lower upper | rng; selu x; sigmoid x; sigmoid_fast x; softplus x; softshrink x threshold;
        softsign x; swish x; tanhshrink x; tanh_fast x; trelu x threshold; σ x; softmax x | axis; logsoftmax x | axis;
        mae prediction target | agg; mse prediction target | agg; msle prediction target | agg eps;
        huber_loss prediction target | agg delta; poisson_loss prediction target | agg;
        hinge_loss prediction target | agg; squared_hinge_loss prediction target | agg;
        siamese_contrastive_loss prediction target | agg margin; crossentropy prediction target | axis agg eps;
        logitcrossentropy prediction target | axis agg; binarycrossentropy prediction target | agg eps;
        logitbinarycrossentropy prediction target | agg; kldivergence prediction target | axis agg eps;
        focal_loss prediction target | axis agg gamma eps; binary_focal_loss prediction target | agg gamma eps;
        dice_coeff_loss prediction target | smooth; tversky_loss prediction target | beta;
        label_smoothing target alpha | axis; normalise x | axis eps; f16 x; f32 x; f64 x; setup rule model;
        update state model grads; updated state model grads; adjust state eta; freeze state; thaw state; Descent eta;
        Momentum eta rho; Nesterov eta rho; Lion eta beta; Rprop eta ell gamma; AdaGrad eta epsilon;
        AdaDelta rho epsilon; RMSProp eta rho epsilon; Adam eta beta epsilon; AdamW eta beta decay epsilon;
        NAdam eta beta epsilon; RAdam eta beta epsilon; AdaMax eta beta epsilon; OAdam eta beta epsilon;
        AMSGrad eta beta epsilon; AdaBelief eta beta epsilon; OptimiserChain *rules; WeightDecay decay; SignDecay decay;
        ClipGrad delta; ClipNorm omega p; AccumGrad n; throttle f seconds; patience predicate wait;
        early_stopping f delay; plateau f width; state x; loadmodel model source | filter; CuIterator loader | dtype;
        numobs data; getobs data index; mapobs function data; splitobs data | at shuffle rng; kfolds data k;
        batch observations; unbatch data; onehot label labels default; onehotbatch data labels default;
        onecold y labels; gpu x | dtype; cpu x | dtype; cu x | dtype; get_device backend idx; gpu_device;
        supported_devices; functional backend | part; gpu_backend name; allowscalar allow
    """,
    "PyTorch": "clip_grad_norm grads max_norm; DataLoader data batchsize shuffle | partial collate rng parallel",
    "NumPy": "astype x dtype; tanh x",
    "own": """
        KeyPath iterable; stop_gradient x; TrackedArray value level call; rule function *pullbacks; primitive function;
        getitem x index; scatter_add like index values; move x device dtype; seed number;
        accuracy prediction target axis; confusion_matrix prediction target axis; step_decay eta every factor;
        exponential_decay eta factor; cosine eta steps lowest; warm_up steps after; one_cycle eta steps up start end;
        train loss model data opt_state epochs; save path *model; load path *model; shuffleobs data rng;
        Device index name; device_of x; gpu_name; require_gpu; without_gpu mode; simulate_gpu count like memory;
        pretend CUDA AMDGPU Metal; calibrate recorded; receipt; estimate fn *args; clock; Seconds value kind card;
        explain model; doctor; notices; reset_notices
    """,
}  # fmt: skip
TABLE = {row.split()[0]: row.replace("|", " ").split()[1:] for rows in ORDERS.values() for row in rows.split(";")}


def by_place(function, leave_out=()):
    """The names of what may be given by its place."""
    kinds = inspect.Parameter
    return [
        "*" * (p.kind is kinds.VAR_POSITIONAL) + p.name
        for p in inspect.signature(function).parameters.values()
        if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD, kinds.VAR_POSITIONAL)
        and p.name not in leave_out
    ]


def test_every_public_function_stands_in_the_table_with_its_order():
    public = {name: getattr(fl, name) for name in fl.__all__ if callable(getattr(fl, name))}
    assert {name: by_place(function) for name, function in public.items()} == TABLE


# -- PyTorch's order, where it has a function of this name ----------------------------------------------------------

# Ours, and theirs if it's called otherwise.
THEIRS = {
    "nn": "Embedding Dropout LayerNorm GroupNorm Upsample RNNCell LSTMCell GRUCell InstanceNorm:InstanceNorm2d "
    "BatchNorm:BatchNorm2d MultiHeadAttention:MultiheadAttention Dense:Linear Conv:Conv2d MaxPool:MaxPool2d "
    "ConvTranspose:ConvTranspose2d MeanPool:AvgPool2d AdaptiveMaxPool:AdaptiveMaxPool2d",
    "nn.functional": "celu elu hardsigmoid hardswish hardtanh leakyrelu:leaky_relu mish relu relu6 rrelu selu sigmoid "
    "softsign swish:silu tanhshrink tanh softmax logsoftmax:log_softmax mse:mse_loss mae:l1_loss huber_loss",
    "nn.utils": "clip_grad_norm:clip_grad_norm_",
    "optim": "Descent:SGD Rprop AdaGrad:Adagrad AdaDelta:Adadelta RMSProp:RMSprop Adam AdamW NAdam RAdam AdaMax:Adamax",
    "autograd.functional": "hessian",
    "utils.data": "DataLoader",
}
WORDS = {  # one thing under several names
    "x": "input inputs func", "prediction": "input", "inputs": "in_features input_size", "f": "func", "data": "dataset",
    "outputs": "out_features hidden_size", "vocabulary": "num_embeddings", "features": "embedding_dim",
    "channels": "num_features", "out": "output_size", "kernel": "kernel_size", "dims": "embed_dim", "eta": "lr",
    "beta": "betas", "epsilon": "eps", "decay": "weight_decay", "rho": "alpha", "ell": "etas", "gamma": "step_sizes",
    "slope": "negative_slope", "axis": "dim", "agg": "reduction", "batchsize": "batch_size", "grads": "parameters",
}  # fmt: skip
X, P = np.ones((4, 3)), np.full((4, 3), 1 / 3)
# Where the orders differ: a call in PyTorch's raises, and is no other one of ours. Each has one value by its place
# that means something else here.
IN_PYTORCHS_ORDER = {
    "GroupNorm": lambda: fl.GroupNorm(2, 4),
    "Upsample": lambda: fl.Upsample(2),
    "BatchNorm": lambda: fl.BatchNorm(3, 1e-5),
    "InstanceNorm": lambda: fl.InstanceNorm(3, 1e-5),
    "LayerNorm": lambda: fl.LayerNorm(3, 1e-5),
    "Dense": lambda: fl.Dense(2, 3, False),
    "Conv": lambda: fl.Conv(1, 16, 3),
    "ConvTranspose": lambda: fl.ConvTranspose(1, 16, 3),
    "RNNCell": lambda: fl.RNNCell(2, 3, False),
    "rrelu": lambda: fl.rrelu(X, 0.1, 0.3, True),
    "AdaDelta": lambda: fl.AdaDelta(1.0, 0.9),
    "AdamW": lambda: fl.AdamW(1e-3, (0.9, 0.999), 1e-8, 0.01),
    "DataLoader": lambda: fl.DataLoader(X, 2, True, None),
}
# PyTorch's second argument lowers the rate with time, which no rule of ours does.
NOT_THE_SAME = {"AdaGrad"}


@pytest.mark.parametrize("name", [name for names in THEIRS.values() for name in names.split()])
def test_pytorchs_order_is_ours_or_raises(name):
    theirs = pytest.importorskip("torch")
    room = next(room for room, names in THEIRS.items() if name in names.split())
    ours, _, other = name.partition(":")
    for part in (*room.split("."), other or ours):
        theirs = getattr(theirs, part)
    unused = ("params", "size_average", "reduce", "_stacklevel") if room != "nn.utils" else ()
    pairs = list(zip(TABLE[ours], by_place(theirs, unused), strict=False))
    same = all(b == a or b in WORDS.get(a, "").split() for a, b in pairs)
    assert same == (ours not in IN_PYTORCHS_ORDER and ours not in NOT_THE_SAME), pairs


@pytest.mark.parametrize("name", IN_PYTORCHS_ORDER)
def test_a_call_in_pytorchs_order_raises(name):
    with pytest.raises((TypeError, ValueError)):
        IN_PYTORCHS_ORDER[name]()


# -- Flux's numbers -------------------------------------------------------------------------------------------------

DEFAULTS = {
    "Descent": (0.1,), "Momentum": (0.01, 0.9), "Nesterov": (0.001, 0.9), "Rprop": (0.001, (0.5, 1.2), (1e-6, 50.0)),
    "AdaGrad": (0.1, 1e-8), "AdaDelta": (0.9, 1e-8), "RMSProp": (0.001, 0.9, 1e-8), "OAdam": (0.001, (0.5, 0.9), 1e-8),
    **dict.fromkeys(["Adam", "NAdam", "RAdam", "AdaMax", "AMSGrad"], (0.001, (0.9, 0.999), 1e-8)),
    "AdamW": (0.001, (0.9, 0.999), 0.0, 1e-8), "AdaBelief": (0.001, (0.9, 0.999), 1e-16), "WeightDecay": (5e-4,),
    "SignDecay": (1e-3,), "ClipGrad": (10.0,), "ClipNorm": (10.0, 2), "celu": (1,), "elu": (1,), "leakyrelu": (0.01,),
    "rrelu": (1 / 8, 1 / 3, None), "softshrink": (0.5,), "trelu": (1,), "Lion": (0.001, (0.9, 0.99)),  # 0.999 in Flux
    "dice_coeff_loss": (1,), "tversky_loss": (0.7,), "kfolds": (5,),
}  # fmt: skip


def test_the_numbers_left_out_are_fluxs():
    for name, expected in DEFAULTS.items():
        found = [p.default for p in inspect.signature(getattr(fl, name)).parameters.values()]
        given = [x for x in found if x is not inspect.Parameter.empty]
        assert tuple(given[: len(expected)]) == expected, name


# -- AdamW, whose decay once stood behind epsilon --------------------------------------------------------------------


def test_the_third_of_adamw_decays():
    w = np.ones(2)
    fl.update(fl.setup(fl.AdamW(0.1, (0.9, 0.999), 0.5), w), w, np.zeros(2))
    np.testing.assert_allclose(w, 1 - 0.1 * 0.5)
    assert fl.AdamW(0.1, (0.9, 0.999), 0.5, 1e-7) == fl.AdamW(eta=0.1, decay=0.5, epsilon=1e-7)
    assert repr(fl.AdamW(decay=0.5)).endswith("epsilon=1e-08, decay=0.5, couple=True)"), "as in files"


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: fl.AdamW(1e-3, (0.9, 0.999), 1e-8, 0.01), r"got a decay of 1e-08 and a larger epsilon of 0\.01.*name"),
        (lambda: fl.AdamW(1e-3, (0.9, 0.999), 0.0, 1e-8, True), "AdamW takes couple by name: couple=True"),
        (lambda: fl.RMSProp(1e-3, 0.9, 1e-8, True), "RMSProp takes centred by name: centred=True"),
        (lambda: fl.AdamW(1e-3, (0.9, 0.999), "no", 1e-8), "decay is a number, got 'no'"),
    ],
)
def test_what_does_not_say_by_its_place_what_it_is_is_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_a_named_epsilon_may_be_larger_than_the_decay():
    assert fl.AdamW(0.1, decay=1e-4, epsilon=1e-3).epsilon == 1e-3 and fl.AdamW(0.1, (0.9, 0.999), 0.0, 1e-3)
