"""Names that you may know from PyTorch, Keras, JAX or Flux.jl, and what they're called here.

Only looked at when a name isn't found: the error then says what to write. A row may have several names.
"""

from typing import Any

# What ``fl.<name>`` may be looked for.
NAMES = {
    "Linear": "fl.Dense(inputs, outputs)", "Sequential": "fl.Chain(…)", "ModuleList": "a list",
    "Identity": "a function, lambda x: x", "detach": "fl.stop_gradient(x)", "tree_map": "fl.fmap(f, model)",
    "tree_leaves": "fl.leaves(model)", "jacrev": "fl.jacobian(f, x)",
    "value_and_grad pullback": "fl.withgradient(f, x)", "randn": "fl.randn32(…), or device.rng on a GPU",
    "is_available": 'fl.functional("CUDA")', "synchronize": "fl.cuda.synchronize()", "log_softmax": "fl.logsoftmax",
    "ConvTranspose2d": "fl.ConvTranspose", "AdaptiveAvgPool2d": "fl.AdaptiveMeanPool", "RMSprop": "fl.RMSProp",
    "Adagrad": "fl.AdaGrad", "Adadelta": "fl.AdaDelta", "Adamax": "fl.AdaMax", "silu SiLU": "fl.swish, a function",
    "Flatten": "fl.flatten, a function", "leaky_relu LeakyReLU": "fl.leakyrelu, a function", "update!": "fl.update",
    "state_dict": "fl.state(model)", "load_state_dict": "fl.loadmodel(model, state)", "train!": "fl.train",
    "KLDivLoss": "fl.kldivergence(prediction, target)", "SmoothL1Loss HuberLoss": "fl.huber_loss(prediction, target)",
    "nn": "Layers are in fl itself: fl.Dense, fl.Chain",
    "Module": "any class of yours with @fl.functor above it",
    "Parameter": "an array; every floating-point array in a model trains",
    "parameters": "fl.trainables(model); fl.params(model) is Flux's older style",
    "tensor Tensor from_numpy": "np.array(…), since fluxlite computes with NumPy's arrays",
    "zeros ones": "np.zeros(…) or np.ones(…); np.zeros_like(x, shape=…) makes them where x is",
    "cat stack where pad gather topk matmul": "np.concatenate, np.stack, np.where, np.pad, np.sort, x @ y",
    "no_grad inference_mode": "nothing: only what runs inside fl.gradient is differentiated",
    "enable_grad grad autograd": "fl.gradient(f, x), which gives the gradients, not a function",
    "backward": "fl.gradient(f, model); after fl.param, fl.back(loss)",
    "vjp": "the gradient of a sum: fl.gradient(lambda x: np.sum(g * f(x)), x)",
    "jit compile": "fl.captured, for a whole training step; fl.cuda.jit is for kernels by hand",
    "autocast GradScaler": "fl.f16(model): a model computes in the type of its parameters",
    "vmap": "Write f for a batch, whose first axis is the observation",
    "DistributedDataParallel DataParallel pmap": "fl.train(…, distributed=True), or fl.distributed for your own loop",
    "manual_seed set_seed PRNGKey": "fl.seed(number), or rng=np.random.default_rng(number)",
    "device": 'fl.gpu_device() or fl.get_device("CPU"); fl.device_of(x) says where x is',
    "device_put to": "fl.gpu(x), fl.cpu(x)",
    "Optimizer": "a rule such as fl.Adam(), given to state = fl.setup(rule, model)",
    "SGD sgd": "fl.Descent(eta), or with momentum fl.Momentum(eta, rho)",
    "adam ADAM adamw": "fl.Adam(eta), or fl.AdamW(eta, decay=…)",
    "clip_grad_norm_ clip_by_global_norm": "fl.clip_grad_norm(grads, max_norm), which gives new ones, and the norm",
    "clip_grad_value_": "fl.OptimiserChain(fl.ClipGrad(delta), rule)",
    "requires_grad_": "fl.freeze(state.layers[0]), which leaves out that part of a model",
    "apply_updates": "fl.update(state, model, grads)",
    "chain": "fl.OptimiserChain(…) for rules, fl.Chain(…) for layers",
    "lr_scheduler LambdaLR StepLR ExponentialLR CosineAnnealingLR OneCycleLR": "a function of the step, not of the "
    "epoch: fl.train(…, schedule=fl.cosine(0.01, 1000)), or fl.step_decay, fl.exponential_decay, fl.one_cycle",
    "ReduceLROnPlateau": "fl.plateau together with fl.adjust",
    "MSELoss mse_loss L1Loss l1_loss": "fl.mse(prediction, target) or fl.mae, functions",
    "CrossEntropyLoss cross_entropy": "fl.logitcrossentropy(scores, target), a function",
    "nll_loss NLLLoss": "fl.logitcrossentropy(scores, target), without log_softmax before it",
    "BCELoss binary_cross_entropy": "fl.binarycrossentropy(prediction, target)",
    "BCEWithLogitsLoss binary_cross_entropy_with_logits": "fl.logitbinarycrossentropy(scores, target)",
    "categorical_crossentropy sparse_categorical_crossentropy": "fl.crossentropy(prediction, target)",
    "ReLU GELU Sigmoid Softmax Softplus Tanh": "a function, in lower case: fl.Dense(9, 3, fl.relu) or np.tanh",
    "Conv1d": "fl.Conv((3,), inputs, outputs); sequences are (N, T, features)",
    "Conv2d Conv2D": "fl.Conv((3, 3), inputs, outputs); pictures are (N, H, W, C)",
    "MaxPool2d MaxPooling2D AvgPool2d": "fl.MaxPool((2, 2)) or fl.MeanPool((2, 2))",
    "Dropout2d": "fl.Dropout(p, dims=(0, -1)), for pictures (N, H, W, C)",
    "interpolate": "fl.Upsample(mode, scale=…), a layer",
    "BatchNorm1d BatchNorm2d BatchNormalization": "fl.BatchNorm(features)",
    "MultiheadAttention": "fl.MultiHeadAttention(features); True in its mask means look, and bias=True adds biases",
    "TransformerEncoderLayer": "one of your own, made of fl.MultiHeadAttention, fl.LayerNorm and fl.Dense",
    "TensorDataset": "a tuple of arrays, as in fl.DataLoader((x, y), batchsize=32)",
    "Dataset": "anything with __len__ and __getitem__",
    "Subset random_split": "fl.getobs(data, index) or fl.splitobs(data, at=0.8, shuffle=True)",
    "one_hot to_categorical": "fl.onehotbatch(labels, classes)",
    "summary": "fl.explain(model), or print(model)",
    "fit": "fl.train(loss, model, data, state, epochs)",
    "model": "a model of your own, such as fl.Chain(fl.Dense(…), …)",
    "evaluate predict": "Call the model: model(x), as in fl.accuracy(model(x), y)",
    "eval": "nothing: a model is in its test mode outside of fl.gradient; fl.testmode(model) for good",
}  # fmt: skip

# What may be asked of a layer.
OF_A_MODEL = {
    "parameters named_parameters": "Write fl.trainables(model) for the arrays, each with its place",
    "to cuda mps": "Write model = fl.gpu(model), which gives a copy on the GPU",
    "cpu": "Write model = fl.cpu(model), which gives a copy on the CPU",
    "train": "nothing: a layer is in its training mode inside fl.gradient; fl.trainmode(model) for good",
    "eval": "nothing: a layer is in its test mode outside of fl.gradient; fl.testmode(model) for good",
    "zero_grad": "nothing: fl.gradient gives new gradients each time", "forward predict": "Call the model: model(x)",
    "state_dict": "fl.state(model)", "load_state_dict": "fl.loadmodel(model, state)",
}  # fmt: skip

# Keywords of others.
KEYWORDS = {
    "lr learning_rate": "eta", "betas": "beta", "eps": "epsilon", "alpha": "rho", "dim dims": "axis", "padding": "pad",
    "batch_size": "batchsize", "num_workers": "parallel=True", "drop_last": "partial=False", "collate_fn": "collate",
    "use_bias": "bias", "strides": "stride", "scale_factor": "scale", "num_heads": "nheads", "num_epochs": "epochs",
    "momentum": "rho, in fl.Momentum(eta, rho)", "nesterov": "fl.Nesterov(eta, rho)", "pin_memory": "fl.gpu(loader)",
    "device": "Move it: fl.gpu(…)", "dtype": "fl.f64(…), or Dense.of(weight, bias)",
    "weight_decay": "decay, in fl.AdamW, or fl.OptimiserChain(fl.WeightDecay(decay), rule)",
    "params": "nothing: the model goes to fl.setup(rule, model)",
    "dropout": "dropout_prob, in MultiHeadAttention; else a layer fl.Dropout(p)",
    "batch_first": "nothing: a batch of sequences is always (N, T, features)",
    "reduction": "agg, with np.mean or np.sum", "optimizer": "opt_state, which fl.setup(rule, model) gives",
    "callback metrics validation_data": "callbacks, a list of functions of the history",
    "argnums": "nothing: there is a gradient for each argument after f",
}  # fmt: skip


def _by_each_name(table: dict[str, str]) -> dict[str, str]:
    return {name: here for names, here in table.items() for name in names.split()}


NAMES = _by_each_name(NAMES)
OF_A_MODEL = _by_each_name(OF_A_MODEL)
KEYWORDS = _by_each_name(KEYWORDS)


def sentence(here: str) -> str:
    """An entry of the tables as a sentence. One that begins with a capital letter is a sentence already."""
    if here.startswith("nothing: "):
        return f"Not needed here: {here.removeprefix('nothing: ')}"
    if here[0].isupper():
        return here
    return f"Here it is {here}"


class Elsewhere:
    """A name of another library in a class of ours. A ``__getattr__`` for all would slow down every attribute."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            return self
        said = f"{type(x).__name__!r} object has no attribute {self.name!r}. {sentence(OF_A_MODEL[self.name])}"
        raise AttributeError(said, name=self.name, obj=x)
