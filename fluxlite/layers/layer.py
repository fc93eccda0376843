"""What the library's layers have in common: the frame around each call, what they take, and how their weights start.

The fields at the top of a layer are its tree, and its methods how it starts, computes and prints. `Scale` is short.
Yours are written as ours are: `Layer` and `layer` do the same in every file.
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np

from ..annotations import Array, Tree
from ..array_kinds import launcher_of, several_cards
from ..arrays import astype, by_element, device_of, identity, library_of, refuse_tensor, tensor_in_words
from ..autodiff.tracked import CLOSED, TrackedArray, plain
from ..coming_from import OF_A_MODEL, Elsewhere
from ..devices.seeds import WEIGHTS, next_generator
from ..helping import Readable
from ..messages import notice, said
from ..tree.contract import functor
from ..tree.flat import Attribute, KeyPath
from ..tree.ties import is_array, on_card_of
from ..tree.walks import nodes
from ..words import ClosedError, Function, InputError, LayerError, devices_differ_error, explained, in_words

Generator: TypeAlias = "np.random.Generator | None"  # in quotes: loading np.random takes longer than all of fluxlite
LAYERS = Attribute("layers")


class NamesElsewhere:
    """What other libraries call a model's methods. Whoever asks a layer for one reads what it's called here."""

    parameters = Elsewhere("parameters")
    named_parameters = Elsewhere("named_parameters")
    to = Elsewhere("to")
    cuda = Elsewhere("cuda")
    mps = Elsewhere("mps")
    cpu = Elsewhere("cpu")
    train = Elsewhere("train")
    eval = Elsewhere("eval")
    zero_grad = Elsewhere("zero_grad")
    forward = Elsewhere("forward")
    predict = Elsewhere("predict")
    state_dict = Elsewhere("state_dict")
    load_state_dict = Elsewhere("load_state_dict")

    def __dir__(self) -> list[str]:  # what an editor completes
        return [name for name in object.__dir__(self) if name not in OF_A_MODEL]


_NAMES_OF_0_3 = {"_sizes": "_arguments_text", "_options": "_options_text", "_why": "_explain_error"}


class Layer(NamesElsewhere, metaclass=Readable):
    """What our layers derive from, each with `layer` above it. Yours may, or be any class with ``@functor`` above it.

    To print, a layer has ``_arguments_text()``, the ``2 => 3`` of ``Dense(2 => 3)``, and perhaps ``_options_text()``,
    the ``, tanh`` after it. ``_explain_error(x)`` may return a better error, after one of a call.
    ``self._converted(x, self.weight)`` is `x` in the weight's type; it refuses integers.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Until 0.5, a layer of yours may have these methods, and call our layers', under the names of 0.3."""
        super().__init_subclass__(**keywords)
        own = dict(vars(cls))
        for old, new in _NAMES_OF_0_3.items():
            if new in own:
                setattr(cls, old, own[new])
            elif old in own:
                setattr(cls, new, own[old])
                text = f"{old}, as in {cls.__name__}, is {new} now. Its old name works until 0.5."
                notice(("moved", old), text)

    _in_lines = "never"  # whether it prints with a line for each part: "never", "if long" or "always"

    def _arguments_text(self) -> str:
        """What stands first in the brackets, and in errors: the ``2 => 3`` of ``Dense(2 => 3)``."""
        return ""

    def _options_text(self) -> str:
        """What else, if it isn't the usual: the ``, tanh`` of ``Dense(2 => 3, tanh)``."""
        return ""

    def _name(self) -> str:
        return f"{type(self).__name__}({self._arguments_text()})"

    def _call_text(self) -> str:
        """How you write it."""
        try:
            inside = (self._arguments_text() + self._options_text()).removeprefix(", ")
        except Exception:  # for a while, a model may hold anything in an array's place
            inside = "…"
        return f"{type(self).__name__}({inside})"

    def _explain_error(self, x: Any, *more: Any, **keywords: Any) -> LayerError | None:
        """After an error of a call with these arguments: what explains it, if the layer sees anything wrong."""
        why = misplaced(self, x)
        if why is None and getattr(x, "shape", None) is None:
            return self._no_array(x)
        return why

    _sizes = _arguments_text
    _options = _options_text
    _why = _explain_error

    def _no_array(self, x: Any) -> InputError:
        if library_of(x.__class__):
            got = tensor_in_words(x)
        else:
            got = f"{in_words(x)}; np.asarray(x) makes one"
        return InputError(KeyPath(), f"{self._name()} takes an array, got {got}")

    def _converted(self, x: Any, weight: Array) -> Any:
        """The input `x` in the type of a `weight` (Flux: ``_match_eltype``); a list of numbers has none."""
        if getattr(x, "dtype", None) is weight.dtype:
            return x
        is_float = weight.dtype.kind == "f"
        if type(x) in (list, tuple) and type(plain(weight)) is np.ndarray:
            numbers = np.asarray(x)
            if is_float and numbers.dtype.kind in "biuf":
                return numbers.astype(weight.dtype)
            return numbers
        if not is_float or not is_array(plain(x)) or x.dtype.name == weight.dtype.name:
            return x
        mine = weight.dtype.name
        its = x.dtype.name
        once = f"x.astype(np.{mine})"
        if x.dtype.kind == "c":
            raise InputError(KeyPath(), f"{self._name()} takes floating-point numbers, got {its}")
        if x.dtype.kind != "f":
            raise InputError(KeyPath(), f"{self._name()} takes floating-point numbers, got {its}; convert them: {once}")
        key = ("input of a layer", its, mine)
        if key not in said:
            text = f"{self._name()} computes in {mine} and converts its {its} input, at each call. {once} does it once."
            if its == "float64":
                text += "\nNumbers such as np.sqrt(64) are float64 too, and make arrays float64; math.sqrt(64) doesn't."
            notice(key, text)
        return astype(x, weight.dtype)

    def _check_array(self, name: str, x: Array, *shape: int | str) -> Array:
        """What `of` got, if it has this `shape`, in which a name stands for any length; else raises `ValueError`."""
        what = f"{type(self).__name__}.of: {name}"
        refuse_tensor(what, x)
        got = getattr(x, "shape", ())
        differs = any(size != n for size, n in zip(shape, got) if type(size) is not str)
        if differs or len(got) != len(shape):
            wanted = str(shape).replace("'", "")
            raise ValueError(f"{what} has shape {wanted}, got {in_words(x)}")
        return x

    def _check_bias(self, bias: Array | None, weight: Array, *shape: int) -> Array | None:
        """Like the `weight` in its type: two types in one layer would make all results the wider one."""
        if bias is None:
            return None
        self._check_array("bias", bias, *shape)
        both_float = bias.dtype.kind == "f" and weight.dtype.kind == "f"
        if both_float and bias.dtype != weight.dtype:
            return astype(bias, weight.dtype)
        return bias

    def _check_activation(self, activation: object) -> Callable:
        if not callable(activation):
            got = in_words(activation)
            raise TypeError(f"{type(self).__name__}'s activation is a function such as np.tanh, got {got}")
        return activation


Class = TypeVar("Class", bound=type)


@overload
def layer(cls: Class) -> Class: ...
@overload
def layer(
    *, children: tuple[str, ...] | None = None, trainable: tuple[str, ...] | None = None
) -> Callable[[Class], Class]: ...
def layer(cls: Any = None, *, children: Any = None, trainable: Any = None) -> Any:
    """Above a class derived from `Layer`: the fields at its top are its tree, and errors name it (Flux: ``@layer``).

    It's `functor` above a dataclass that has an ``__init__`` of its own, and takes the same names. An error of
    ``__init__`` or ``of`` says what it was given, one of ``__call__`` what the layer was called with. A call computes
    on the card that holds its input. Raises `TypeError` above any other class: there, ``@functor`` is enough.

    >>> @layer
    ... class Scaled(Layer):
    ...     weight: np.ndarray
    ...     def __init__(self, features):
    ...         self.weight = np.ones(features, np.float32)
    ...     def __call__(self, x):
    ...         return self._converted(x, self.weight) * self.weight
    ...     def _arguments_text(self):
    ...         return str(len(self.weight))
    >>> Scaled(3)
    Scaled(3)      # 3 parameters
    """
    if cls is None:
        return lambda cls: _layer(cls, children, trainable)
    return _layer(cls, children, trainable)


def _layer(cls: Any, children: tuple[str, ...] | None, trainable: tuple[str, ...] | None) -> Any:
    if not isinstance(cls, type) or not issubclass(cls, Layer):
        raise TypeError(
            f"@layer stands above a class derived from Layer, got {in_words(cls)}; @functor is for any class"
        )
    own = vars(cls)
    if "__init__" in own:
        cls.__init__ = explained()(own["__init__"])  # type: ignore[method-assign]
    if isinstance(own.get("of"), classmethod):
        cls.of = classmethod(explained()(own["of"].__func__))  # type: ignore[attr-defined]
    if "__call__" in own:
        cls.__call__ = layer_call(own["__call__"])  # type: ignore[method-assign]
    return functor(dataclass(eq=False, repr=False, init=False)(cls), children, trainable)


def layer_call(call: Function) -> Function:
    """The frame around ``__call__`` that all layers share.

    It enters the card that holds the input, and refuses tensors of other libraries: they would often pass through
    NumPy's functions, and nothing would be trained. After an error it raises what the layer's `_explain_error` returns,
    or gives the error a note. So a layer checks its input only where NumPy would compute something wrong, with a
    `LayerError`.
    """

    @wraps(call)
    def framed(layer: Any, *inputs: Any, **keywords: Any) -> Any:
        x: Any = inputs[0] if inputs else next(iter(keywords.values()), None)  # or its only input has a name
        if type(x) is not np.ndarray and library_of(x.__class__):
            raise layer._no_array(x)
        try:
            if several_cards:  # with one card at most, an empty `with` would take 5 % of a small step
                one = x[0] if type(x) is tuple and x else x
                with on_card_of(one):
                    return call(layer, *inputs, **keywords)
            return call(layer, *inputs, **keywords)
        except (LayerError, RecursionError):
            raise
        except Exception as error:
            given = inputs or tuple(keywords.values())
            why = layer._explain_error(*inputs, **keywords) if given else None
            if why is not None:
                raise why from error
            if "in_layer" not in vars(error):  # which one inside has set
                vars(error)["in_layer"] = True
                words = ", ".join(map(in_words, given)) or "nothing"
                error.add_note(f"in {layer._name()}, called with {words}")
            raise

    return framed  # type: ignore[return-value]


def run_layer(layer: Callable, x: Any, *place: Hashable) -> Any:
    """``layer(x)``, of any layer or function, on the card that holds `x`. An error names its `place` in front."""
    try:
        if several_cards:
            with on_card_of(x):
                return layer(x)
        return layer(x)
    except LayerError as error:
        raise error.within(*place) from error.__cause__


def misplaced(layer: Tree, x: Any = None) -> LayerError | None:
    """After an error: is an array of `layer` left over from a gradient call, or not where the input `x` is."""
    here = device_of(plain(x)) if is_array(plain(x)) else None
    for path, leaf in nodes(layer):
        if type(leaf) is TrackedArray and not leaf.level.is_open:
            return ClosedError(path, CLOSED)
        if here is None or not is_array(plain(leaf)):
            continue
        where = device_of(plain(leaf))
        if where != here:
            return devices_differ_error(path, where, here)
    return None


def split_activation(size: tuple) -> tuple[tuple, Callable]:
    """The sizes, and the activation that may come last."""
    if size and callable(size[-1]):
        return size[:-1], size[-1]
    return size, identity


def activated(activation: Callable, y: Array, bias: Array | None) -> Array:
    """``activation(y + bias)``, on a GPU as one launch if we know the activation: others may print, or sum."""
    if bias is None:
        return activation(y)
    launch = launcher_of(y)
    if launch is not None and launcher_of(bias) is not None and _is_by_element(activation):
        return launch(_of_a_sum(activation), (y, bias))
    return activation(y + bias)


def _is_by_element(activation: Callable) -> bool:
    if type(activation) is np.ufunc:
        return activation.nin == activation.nout == 1
    return type(activation) is FunctionType and activation in by_element


@cache
def _of_a_sum(function: Callable) -> Callable:
    def of_a_sum(y: Array, bias: Array) -> Array:
        return function(y + bias)

    of_a_sum.__name__ = f"bias_{function.__name__}"
    return of_a_sum


initializer = explained("sizes, such as 5, 10, and perhaps a NumPy generator")


def start(init: Callable, outputs: int, inputs: int, rng: Generator = None, *, window: tuple[int, ...] = (),
          layer: str = "Dense", keyword: str = "init") -> Array:  # fmt: skip
    """A layer's first weights, of shape ``(outputs, inputs, *window)``: what `init` gives, and no float64."""
    shape = (outputs, inputs, *window)
    if rng is None:  # your own `init` needn't take one
        weight = init(*shape)
    else:
        weight = init(*shape, rng=rng)
    if not is_array(weight) or weight.dtype.kind != "f" or weight.shape != shape:
        wanted = f"{keyword}{shape} gives an array of floating-point numbers of that shape"
        raise ValueError(f"{layer}({keyword}=…): {wanted}, got {in_words(weight)}")
    if weight.dtype == np.float64:
        return astype(weight, np.float32)
    return weight


@initializer
def glorot_uniform(*shape: int, rng: Generator = None, gain: float = 1) -> np.ndarray:
    """Uniform in ``±gain * sqrt(6 / (inputs + outputs))`` (Flux: ``glorot_uniform``)."""
    return uniform(shape, rng, gain * math.sqrt(6 / max(sum(nfan(*shape)), 1)))


@initializer
def nfan(*shape: int) -> tuple[int, int]:
    """(inputs, outputs) that a weight of this shape connects (Flux: ``nfan``)."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return 1, shape[0]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def uniform(shape: tuple[int, ...], rng: Generator, limit: float) -> np.ndarray:
    return generator(rng).uniform(-limit, limit, shape).astype(np.float32)


def generator(rng: Generator) -> "np.random.Generator":
    return next_generator(WEIGHTS) if rng is None else rng
