"""Names that you may know from PyTorch, Keras, JAX or Flux.jl, and what they are called here.

Only looked at when a name isn't found: the error then says what to write.
"""

from typing import Any

# What ``fl.<name>`` may be looked for, and what to write. Here and below, a row may have several names.
NAMES = {
    "Linear": "fl.Dense(inputs, outputs)",
    "nn": "Layers are in fl itself: fl.Dense, fl.Chain",
    "Module": "any class of yours with @fl.functor above it",
    "Sequential": "fl.Chain(…)",
    "ModuleList": "a list",
    "Parameter": "an array; every floating-point array in a model trains",
    "parameters": "fl.trainables(model); fl.params(model) is Flux's older style",
    "tensor": "np.array(…), since fluxlite computes with NumPy's arrays",
    "Tensor": "np.ndarray, since fluxlite computes with NumPy's arrays",
    "from_numpy": "nothing: fluxlite computes with NumPy's arrays",
    "zeros ones": "np.zeros(…) or np.ones(…); np.zeros_like(x, shape=…) makes them where x is",
    "randn": "fl.randn32(…), or device.rng on a GPU",
    "cat": "np.concatenate([x, y], axis=…)",
    "stack": "np.stack([x, y])",
    "matmul": "x @ y",
    "pad": "np.pad(x, …)",
    "where": "np.where(condition, x, y)",
    "gather": "np.take_along_axis(x, index, axis)",
    "topk": "np.sort(x)[..., -k:]; the places are in np.argsort(x)",
    "no_grad": "nothing: only what runs inside fl.gradient is differentiated",
    "inference_mode": "nothing: only what runs inside fl.gradient is differentiated; see fl.testmode for Dropout",
    "enable_grad": "fl.gradient(f, model), which differentiates f",
    "grad autograd": "fl.gradient(f, x), which gives the gradients, not a function",
    "value_and_grad": "fl.withgradient(f, x)",
    "backward": "fl.gradient(f, model); after fl.param, fl.back(loss)",
    "detach": "fl.stop_gradient(x)",
    "jit compile": "nothing: what you write runs line by line; fl.cuda.jit is for kernels by hand",
    "autocast": "fl.f16(model): a model computes in the type of its parameters",
    "GradScaler": "Multiply the loss by a number, and divide the gradients by it",
    "vmap": "Write f for a batch, whose first axis is the observation",
    "DistributedDataParallel": "fl.train(…, distributed=True), or fl.distributed.DistributedOptimizer(rule)",
    "DataParallel": "fl.train(…, distributed=True)",
    "pmap": "Move to each device by itself, as lesson 11 does",
    "tree_map": "fl.fmap(f, model)",
    "tree_leaves": "fl.leaves(model)",
    "manual_seed set_seed": "fl.seed(number)",
    "PRNGKey": "fl.seed(number), or rng=np.random.default_rng(number)",
    "device": 'fl.gpu_device() or fl.get_device("CPU"); fl.device_of(x) says where x is',
    "device_put to": "fl.gpu(x), fl.cpu(x)",
    "is_available": 'fl.functional("CUDA")',
    "synchronize": "fl.cuda.synchronize()",
    "optim": "The rules are in fl itself: fl.Adam, fl.Descent",
    "SGD sgd": "fl.Descent(eta), with momentum fl.Momentum(eta, rho)",
    "adam ADAM": "fl.Adam(eta)",
    "adamw": "fl.AdamW(eta, decay=…)",
    "Optimizer": "a rule such as fl.Adam(), given to state = fl.setup(rule, model)",
    "RMSprop": "fl.RMSProp",
    "Adagrad": "fl.AdaGrad",
    "Adadelta": "fl.AdaDelta",
    "Adamax": "fl.AdaMax",
    "clip_grad_norm_ clip_by_global_norm": "fl.clip_grad_norm(grads, max_norm), which gives new ones, and the norm",
    "clip_grad_value_": "fl.OptimiserChain(fl.ClipGrad(delta), rule)",
    "requires_grad_": "fl.freeze(state.layers[0]), which leaves out that part of a model",
    "apply_updates": "fl.update(state, model, grads)",
    "chain": "fl.OptimiserChain(…) for rules, fl.Chain(…) for layers",
    "lr_scheduler": "fl.train(…, schedule=fl.cosine(0.01, 1000)), or fl.adjust(state, eta)",
    "StepLR": "fl.step_decay(eta, every), which counts steps, not epochs",
    "ExponentialLR": "fl.exponential_decay(eta, factor), which counts steps, not epochs",
    "CosineAnnealingLR": "fl.cosine(eta, steps), which counts steps, not epochs",
    "OneCycleLR": "fl.one_cycle(eta, steps)",
    "LambdaLR": "any function of the step: fl.train(…, schedule=lambda step: …)",
    "ReduceLROnPlateau": "fl.plateau together with fl.adjust",
    "MSELoss mse_loss": "fl.mse(prediction, target), a function",
    "L1Loss l1_loss": "fl.mae(prediction, target), a function",
    "SmoothL1Loss HuberLoss": "fl.huber_loss(prediction, target)",
    "CrossEntropyLoss cross_entropy": "fl.logitcrossentropy(scores, target), a function",
    "nll_loss NLLLoss": "fl.logitcrossentropy(scores, target), without log_softmax before it",
    "BCELoss binary_cross_entropy": "fl.binarycrossentropy(prediction, target)",
    "BCEWithLogitsLoss binary_cross_entropy_with_logits": "fl.logitbinarycrossentropy(scores, target)",
    "KLDivLoss": "fl.kldivergence(prediction, target)",
    "categorical_crossentropy sparse_categorical_crossentropy": "fl.crossentropy(prediction, target)",
    "ReLU": "fl.relu, a function: fl.Dense(9, 3, fl.relu)",
    "Softplus": "fl.softplus, a function",
    "Identity": "a function, lambda x: x",
    "Tanh": "np.tanh, a function",
    "Sigmoid": "fl.sigmoid, a function",
    "GELU": "fl.gelu, a function, the tanh form of it",
    "Softmax": "fl.softmax, a function",
    "leaky_relu LeakyReLU": "fl.leakyrelu, a function",
    "log_softmax": "fl.logsoftmax",
    "silu SiLU": "fl.swish, a function",
    "Conv1d": "fl.Conv((3,), inputs, outputs); sequences are (N, T, features)",
    "Conv2d Conv2D": "fl.Conv((3, 3), inputs, outputs); pictures are (N, H, W, C)",
    "ConvTranspose2d": "fl.ConvTranspose",
    "MaxPool2d MaxPooling2D": "fl.MaxPool((2, 2))",
    "Dropout2d": "fl.Dropout(p, dims=(0, -1)), for pictures (N, H, W, C)",
    "interpolate": "fl.Upsample(mode, scale=…), a layer",
    "AvgPool2d": "fl.MeanPool((2, 2))",
    "AdaptiveAvgPool2d": "fl.AdaptiveMeanPool",
    "Flatten": "fl.flatten, a function",
    "BatchNorm1d BatchNormalization": "fl.BatchNorm(features)",
    "BatchNorm2d": "fl.BatchNorm(channels)",
    "MultiheadAttention": "fl.MultiHeadAttention(features), in whose mask True means look; bias=True adds biases",
    "TransformerEncoderLayer": "one of your own, of fl.MultiHeadAttention, fl.LayerNorm and fl.Dense",
    "TensorDataset": "a tuple of arrays, as in fl.DataLoader((x, y), batchsize=32)",
    "Dataset": "anything with __len__ and __getitem__",
    "random_split": "fl.splitobs(data, at=0.8, shuffle=True)",
    "one_hot to_categorical": "fl.onehotbatch(labels, classes)",
    "Subset": "fl.getobs(data, index)",
    "pad_sequence": "np.pad, which makes each as long as the longest",
    "state_dict": "fl.state(model)",
    "load_state_dict": "fl.loadmodel(model, state)",
    "summary": "fl.explain(model), or print(model)",
    "fit": "fl.train(loss, model, data, state, epochs)",
    "model": "a model of your own, such as fl.Chain(fl.Dense(…), …)",
    "evaluate": "Call the model: fl.accuracy(model(x), y)",
    "predict": "Call the model: model(x)",
    "eval": "nothing: a model is in its test mode outside of fl.gradient; fl.testmode(model) for good",
    "vjp": "the gradient of a sum: fl.gradient(lambda x: np.sum(g * f(x)), x)",
    "jacrev": "fl.jacobian(f, x)",
    "update!": "fl.update",
    "train!": "fl.train",
    "pullback": "fl.withgradient",
}

# What may be asked of a layer.
OF_A_MODEL = {
    "parameters named_parameters": "Write fl.trainables(model) for the arrays, each with its place",
    "to cuda mps": "Write model = fl.gpu(model), which gives a copy on the GPU",
    "cpu": "Write model = fl.cpu(model), which gives a copy on the CPU",
    "train": "nothing: a layer is in its training mode inside fl.gradient; fl.trainmode(model) for good",
    "eval": "nothing: a layer is in its test mode outside of fl.gradient; fl.testmode(model) for good",
    "zero_grad": "nothing: fl.gradient gives new gradients each time",
    "forward predict": "Call the model: model(x)",
    "state_dict": "fl.state(model)",
    "load_state_dict": "fl.loadmodel(model, state)",
}

# Keywords of others.
KEYWORDS = {
    "lr learning_rate": "eta",
    "momentum": "rho, in fl.Momentum(eta, rho)",
    "nesterov": "fl.Nesterov(eta, rho)",
    "betas": "beta",
    "eps": "epsilon",
    "alpha": "rho",
    "weight_decay": "decay, in fl.AdamW, or fl.OptimiserChain(fl.WeightDecay(decay), rule)",
    "params": "nothing: the model goes to fl.setup(rule, model)",
    "batch_size": "batchsize",
    "num_workers": "parallel=True",
    "drop_last": "partial=False",
    "pin_memory": "fl.gpu(loader)",
    "collate_fn": "collate",
    "in_features input_size": "the first argument, as in Dense(inputs, outputs) and LSTM(inputs, outputs)",
    "out_features units hidden_size": "the second argument, as in Dense(inputs, outputs) and LSTM(inputs, outputs)",
    "device": "Move it: fl.gpu(…)",
    "dtype": "fl.f64(…), or Dense.of(weight, bias)",
    "use_bias": "bias",
    "num_epochs": "epochs",
    "optimizer": "opt_state, which fl.setup(rule, model) gives",
    "dim dims": "axis",
    "reduction": "agg, with np.mean or np.sum",
    "in_channels": "the second argument, as in Conv((3, 3), inputs, outputs)",
    "out_channels filters": "the third argument, as in Conv((3, 3), inputs, outputs)",
    "kernel_size pool_size": "the first argument, as in Conv((3, 3), inputs, outputs) and MaxPool((2, 2))",
    "padding": "pad",
    "strides": "stride",
    "num_features normalized_shape": "the first argument, as in BatchNorm(features) and LayerNorm(features)",
    "batch_first": "nothing: a batch of sequences is always (N, T, features)",
    "num_embeddings": "the first argument, as in Embedding(vocabulary, features)",
    "embedding_dim": "the second argument, as in Embedding(vocabulary, features)",
    "embed_dim": "the first argument, as in MultiHeadAttention(features)",
    "num_heads": "nheads",
    "dropout": "dropout_prob, in MultiHeadAttention; else a layer fl.Dropout(p)",
    "scale_factor": "scale",
    "callback metrics validation_data": "callbacks, a list of functions of the history",
    "argnums": "nothing: there is a gradient for each argument after f",
}

# What is left out by those who know layers that find out their input's size.
_BOTH = "A layer is given both sizes, as in {}: it doesn't find out the first from the data"
LEFT_OUT = {
    "outputs": _BOTH.format("Dense(inputs, outputs)"),
    "features": _BOTH.format("Embedding(vocabulary, features)"),
}

NAMES, OF_A_MODEL, KEYWORDS = (
    {name: here for names, here in table.items() for name in names.split()} for table in (NAMES, OF_A_MODEL, KEYWORDS)
)


def hint(name: str, table: dict[str, str] = NAMES) -> str:
    """What to write for a name of other libraries, to stand after an error's own words; '' if it is none of them.

    >>> hint("Linear")
    '. Here it is fl.Dense(inputs, outputs)'
    >>> hint("no_grad")
    '. Not needed here: only what runs inside fl.gradient is differentiated'
    """
    return f". {sentence(table[name])}" if name in table else ""


def sentence(here: str) -> str:
    """An entry of the tables as a sentence. One that begins with a capital letter is a sentence already."""
    if here.startswith("nothing: "):
        return f"Not needed here: {here.removeprefix('nothing: ')}"
    return here if here[0].isupper() else f"Here it is {here}"


class Elsewhere:
    """A name of another library in a class of ours: asking an object for it says what it's called here.

    With a ``__getattr__`` that does the same for all names, Python would take longer for every attribute.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            return self
        said = f"{type(x).__name__!r} object has no attribute {self.name!r}{hint(self.name, OF_A_MODEL)}"
        raise AttributeError(said, name=self.name, obj=x)
