"""`gradient`: the function gets a copy of each argument, with tracked arrays in place of its parameters (`Marked`).

Then `pull_back` goes back from the loss, and the gradients take the argument's structure. What the function assigned to
its copy, such as a running mean, is written to the object itself (`state.py`). Flux's older styles, `param` with
`back` and ``gradient(f, params(model))``, are in `older_styles.py`.
"""

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..annotations import Array, T, Tree
from ..array_kinds import can_freeze, is_plain, several_cards
from ..arrays import astype, on_card_of, refuse_tensor
from ..helping import Readable
from ..tree.contract import functor, is_leaf, kind_of
from ..tree.flat import ALSO_NUMBERS, KeyPath, Made, flatten
from ..tree.ties import HERE, copy_of, is_array, is_trainable_array, view_as
from ..tree.unreached import note_first_meeting, say_what_is_not_trained
from ..tree.walks import check_open, fmap, on_first_card_of, type_of_parts
from ..words import explained, in_words
from .backward import pull_back
from .freezing import Level, is_frozen
from .modes import gradient_calls
from .state import Snapshot, keep_state, snapshots_of
from .tracked import TrackedArray, as_base_class, call_numbers, plain


def gradient(f: Callable, *args: Tree) -> Any:
    """The gradients of the number ``f(*args)``: a tuple, one for each argument (Flux, Zygote: ``gradient``).

    An argument is an array, a Python number, a model, or a tuple, list or dict of such. Its gradient has its
    structure: an array's is a new array of the same shape, dtype and memory order; a model's a `Gradient` with
    the same attribute names; None stands where nothing flows, for integer and boolean arrays, for functions, and for
    numbers inside a model. A parameter at several places of a model has its whole gradient at the first.
    A complex argument is an error.

    `f` may return ``(loss, extra, …)``; see `withgradient`. Raises `TypeError` if the loss isn't one number, or on a
    function that has no derivative rule.

    While `f` runs, layers such as `Dropout` and `BatchNorm` are in training, and in test mode again afterwards: there's
    no ``model.train()`` as in PyTorch. That's so for every model that `f` uses, such as a GAN's critic in the
    generator's loss. ``with testmode(teacher):`` inside `f` makes an exception.

    NumPy's and simulated arrays that `f` computes with are read-only meanwhile: changing one would make the gradient
    wrong, and raises at that line. (Not CuPy's; and a view made earlier, or ``np.add.at``, can still write.)

    >>> gradient(lambda x, y: x**2 * y, 3.0, 2.0)
    (12.0, 9.0)
    >>> gradient(lambda w: np.sum(np.tanh(w)), np.zeros(2))
    (array([1., 1.]),)
    """
    return withgradient(f, *args)[1]


def withgradient(f: Callable, *args: Tree) -> tuple[Any, Any]:
    """``(value, gradients)``: what `f` returned, as plain values, and the gradients (Flux: ``withgradient``).

    When `f` returns a tuple ``(loss, extra, …)``, the first is differentiated, and all come out.

    >>> withgradient(lambda x: (x**2, "also returned"), 3.0)
    ((np.float64(9.0), 'also returned'), (6.0,))
    """
    if not callable(f):
        what = "gradient(f, …) and withgradient(f, …) take a function, as in gradient(lambda w: …, w)"
        raise TypeError(f"{what}, got: {type(f).__name__}")
    if not args:
        what = "gradient(f, *args) also takes the arguments of f, and got none: write gradient(lambda w: …, w)"
        raise TypeError(f"{what}, or, for a function that reaches the model by itself, gradient(f, params(model))")
    if len(args) == 1 and hasattr(type(args[0]), "withgradient"):
        params: Any = args[0]  # the implicit style: params(model)
        return params.withgradient(f)
    level = new_level()
    marked: list[Marked] = []
    stand_ins: list = []
    gradients: list = []
    snapshots: list[Snapshot] = []
    try:
        for number, argument in enumerate(args):
            one = Marked(argument, level, number)
            marked.append(one)
            stand_ins.append(one.stand_in)
            snapshots += one.snapshots
        with on_first_card_of(args) if several_cards else HERE:  # for what `f` itself computes with NumPy
            value = run_in_training(f, *stand_ins)
            plain_value = untrack(value, level)  # first, since the backward pass clears the calls
            totals = totals_of(value, level)
            given: set[int] = set()  # whose memory was given away: no two gradients share any
            for one in marked:
                gradients.append(one.gradient(totals, given))
    finally:
        level.close()
    keep_state(snapshots)
    return plain_value, tuple(gradients)


def stop_gradient(x: T) -> T:
    """`x`, an array or a model, as a constant: no gradient flows through it, not even an outer call's.

    JAX: ``stop_gradient``, Zygote: ``ignore_derivatives``.

    >>> gradient(lambda x: x * stop_gradient(x), 3.0)
    (3.0,)
    """
    if is_array(x) or type(x) is TrackedArray:
        return plain(x)
    return fmap(plain, x)


# -- there: what f gets --------------------------------------------------------------------------------------------


class Marked:
    """An argument on its way into `f`: its `stand_in`, with tracked arrays for the parameters, and what they are."""

    __slots__ = ("stand_in", "flat", "tracked", "snapshots")

    def __init__(self, argument: Any, level: Level, number: int = 0):
        self.flat: Any = None  # a `Flat`; None for a single array
        self.tracked: list = []  # a leaf of `flat` each, tracked if it has a gradient
        self.snapshots: list[Snapshot] = []
        if is_plain(argument) and argument.dtype.kind == "f":  # which needs no walk
            level.freeze(argument)
            self.stand_in = TrackedArray(argument, level)
            return
        _refuse_complex(argument, number)
        flat = self.flat = flatten(argument)
        may_hide_arrays = self._track_leaves(level)
        if may_hide_arrays:
            say_what_is_not_trained(argument, "gets no gradient", again=False)
        made = flat.results(self.tracked)  # a tied W.T is a recorded transposition of the tracked W: see `view_as`
        self.stand_in = made[flat.root]
        self.snapshots = snapshots_of(flat, made)

    def _track_leaves(self, level: Level) -> bool:
        """Fill `tracked`. True if there's a class or function, seen for the first time, that may hold arrays."""
        flat = self.flat
        found_new = False
        try:
            for x, may_train in zip(flat.leaves, flat.may_train):
                kind = x.__class__
                if kind is np.ndarray and may_train and x.dtype.kind == "f":
                    level.freeze(x)
                    self.tracked.append(TrackedArray(x, level))
                    continue
                if kind in _CONSTANTS or kind is types.FunctionType:
                    tracked = x
                else:
                    tracked = track(x, level, may_train)
                if may_train and _may_hide_arrays(x, kind) and note_first_meeting(x):
                    found_new = True
                self.tracked.append(tracked)
        except (TypeError, RuntimeError) as error:
            place = len(self.tracked)
            check_open(flat, [place])
            error.add_note(f"{flat.paths()[place] or 'an argument'} of gradient")
            raise
        return found_new

    def gradient(self, totals: dict[TrackedArray, Any], given: set[int]) -> Any:
        """What the backward pass brought, in the structure of the argument; `given` is whose memory was given away."""
        if self.flat is None:
            return as_gradient(self.stand_in.value, totals.get(self.stand_in), given)
        found: list = []
        for x, tracked in zip(self.flat.leaves, self.tracked):
            if tracked is x:
                found.append(None)
            else:
                found.append(as_gradient(tracked.value, totals.get(tracked), given))
        for leaf, place in self.flat.trainable_later.items():  # it stands at a later place, which may hold W.T
            if found[leaf] is not None:
                found[leaf] = view_as(found[leaf], like=self.flat.at(place), of=self.flat.leaves[leaf])
        return self.flat.tree_at_first_places(found, _combine)


_CONSTANTS = {type(None), str, bool, bytes, type, np.ufunc, np.dtype, type(len)}
_NUMBERS = {np.ndarray, int, float}
_OURS = __package__.partition(".")[0] + "."  # the library's own functions hold no arrays


def _refuse_complex(argument: Tree, number: int) -> None:
    is_complex_array = is_array(argument) and argument.dtype.kind == "c"
    if is_complex_array or isinstance(argument, (complex, np.complexfloating)):
        what = f"argument {number} of gradient is {in_words(argument)}, and complex numbers can't be differentiated"
        raise TypeError(f"{what}: give z.real and z.imag, or, if it's constant, use it in f without giving it")


def _may_hide_arrays(x: Tree, kind: type) -> bool:
    """Whether a leaf may hold arrays that no walk reaches: an object of an unregistered class, or a function."""
    if kind is types.FunctionType:
        return not str(x.__module__).startswith(_OURS)
    return kind not in _CONSTANTS and kind not in _NUMBERS


def track(x: Any, level: Level, may_train: int = ALSO_NUMBERS) -> Any:
    """A leaf as it stands in what `f` gets: tracked, if it has a gradient."""
    kind = type(x)
    if kind is int or kind is float or isinstance(x, np.floating):
        if may_train != ALSO_NUMBERS:
            return x
        if kind is int:
            x = float(x)
        return TrackedArray(x, level)
    if kind is TrackedArray:
        x.check_open()
    elif not is_trainable_array(x):
        refuse_tensor("gradient", x)
        return x
    if not may_train or x.dtype.kind != "f":
        return x
    if can_freeze(x):
        level.freeze(x)
    return TrackedArray(as_base_class(x), level)


def run_in_training(f: Callable, *args: Tree) -> Any:
    """``f(*args)``, with the layers in training. If it changes a read-only array, NumPy can't say why it is one."""
    gradient_calls.open += 1
    try:
        return f(*args)
    except ValueError as error:
        if "read-only" in str(error) and _INSTEAD not in str(error):
            error.args = (f"{error}: {_INSTEAD}",)
        raise
    finally:
        gradient_calls.open -= 1


_INSTEAD = (
    "an array that a gradient was computed with stays as it is until gradient is done, or the gradient would be wrong. "
    "State is assigned instead: self.c = self.c + 1, or c = c + 1; parameters are changed by update, after gradient"
)


def new_level() -> Level:
    """A level for one call. From the first one on, the usual derivatives are in the table."""
    _fill_table()
    return Level(next(call_numbers))


@functools.cache
def _fill_table() -> None:
    from . import derivatives  # noqa: F401  (only a program that differentiates needs to load it)


# -- and back: what comes out --------------------------------------------------------------------------------------


def totals_of(value: Any, level: Level) -> dict[TrackedArray, Any]:
    """For each thing tracked on `level`, the gradient of the loss that `f` returned."""
    loss = value
    if isinstance(value, tuple) and value:
        loss = value[0]
    _check_one_number(loss)
    if type(loss) is not TrackedArray or loss.level is not level:
        return {}  # it doesn't depend on the arguments
    one = plain(loss.value)
    if isinstance(one, (np.generic, float)):
        return pull_back(loss, type(one)(1))
    with on_card_of(one):
        return pull_back(loss, np.ones_like(one))


def _check_one_number(loss: object) -> None:
    if loss is None:
        raise TypeError("the loss must be one number, of shape (), got None. Does the function return it?")
    shape = getattr(loss, "shape", None)
    if shape is None:
        is_one = type(loss) in (int, float, TrackedArray)
    else:
        is_one = shape == () and type(loss) is not np.bool_
    if is_one:
        return
    got = f"shape {shape}" if shape else f"a {type(loss).__name__}"
    raise TypeError(f"the loss must be one number, of shape (), got {got}. Take its sum or mean")


def untrack(value: Any, level: Level) -> Any:
    """What `f` returned, as plain values that share no memory with its arguments."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([untrack(part, level) for part in value])
    if kind is TrackedArray:
        return _untrack_array(value, level)
    if not is_leaf(value):
        if kind_of(kind).is_container:
            return fmap(lambda leaf: untrack(leaf, level), value)
        # An object, such as the model: what doesn't train is the argument's own.
        return fmap(lambda leaf: copy_of(leaf) if is_array(leaf) else untrack(leaf, level), value)
    if is_frozen(value):
        return copy_of(value)  # it was computed with, and may be the `data` of something tracked
    return value


def _untrack_array(tracked: TrackedArray, level: Level) -> Any:
    """The value inside, if it belongs to this `level`: writable, and no memory of an argument's."""
    if tracked.level is not level:
        return tracked  # it belongs to an outer gradient
    inner = tracked.value
    if isinstance(inner, (np.generic, float)) or not is_array(inner):
        return inner
    if tracked.call is None or inner.base is not None:
        return copy_of(inner)  # it is, or views, an argument of `f`
    _, arguments, _, _ = tracked.call
    if any(inner is argument for argument in arguments):
        return copy_of(inner)
    if can_freeze(inner):
        inner.flags.writeable = True
    return inner


class Record(metaclass=Readable):
    """A tree beside a registered object: the same attribute names, other values; a `Chain`'s also by index.

    A path, such as ``("layers", 0, "weight")`` or one of `trainables`, leads to what's there.
    """

    def __init__(self, /, **fields: Any) -> None:
        self.__dict__.update(fields)

    @explained("the place of a layer, a slice or a path")
    def __getitem__(self, index: int | slice | tuple) -> Any:
        if isinstance(index, tuple):
            return KeyPath(index).get(self)
        if "layers" not in self.__dict__:
            raise TypeError(f"this {type(self).__name__} has no layers to index; it has {', '.join(self.__dict__)}")
        return self.__dict__["layers"][index]

    def __repr__(self) -> str:
        fields = [f"{name}={value!r}" for name, value in self.__dict__.items()]
        return f"{type(self).__name__}({', '.join(fields)})"


@functor
class Gradient(Record):
    """The gradient of a registered object: the same attribute names, None where nothing flowed.

    >>> Gradient(weight=np.ones(2), bias=None)
    Gradient(weight=array([1., 1.]), bias=None)
    """


def _combine(branch: Made, parts: list) -> Tree:
    """The gradient of what stands at a branch, made from those of its parts."""
    if branch.kind.is_container:
        return branch.make(branch.x, branch.names, parts)
    if branch.names is None:
        return type_of_parts(branch.x)(parts)
    made = object.__new__(Gradient)
    made.__dict__ = dict(zip(branch.names, parts))
    return made


def as_gradient(like: Any, g: Any, given: set[int]) -> Any:
    """`g` as the gradient of `like`: of its shape, dtype and memory order, writable, sharing memory with nothing."""
    if g is None:
        return None
    if type(g) is TrackedArray:
        if is_number(like) or g.dtype == like.dtype:
            return g
        return astype(_real(g), like.dtype)
    if type(like) is not np.ndarray:
        like = plain(like)  # perhaps tracked by an outer gradient, on which this one doesn't depend
        if is_number(like):
            return type(like)(_real(g))
    owner = g
    if getattr(g, "base", None) is not None:
        owner = g.base
    if not (_may_be_given(g, owner, given) and g.strides == like.strides and g.dtype == like.dtype):
        with on_card_of(like):
            owner = np.empty_like(like)
            owner[...] = _real(g)
        g = owner
    given.add(id(owner))
    return g


def _may_be_given(g: Array, owner: Array, given: set[int]) -> bool:
    """Whether `g`, which is or views `owner`, is ours alone, so that the program may have it."""
    if id(owner) in given or not is_array(owner):
        return False
    if is_frozen(g):
        return False  # an operand or a result, which the program may see, or a broadcast one
    # A view comes back through a transposition or a reshape. It has to be of all of an array made on the way.
    return owner is g or owner.size == g.size


def is_number(x: object) -> bool:
    return type(x) in (int, float) or isinstance(x, np.floating)


def _real(g: Any) -> Any:
    if getattr(g, "dtype", None) is not None and g.dtype.kind == "c":
        raise TypeError("complex numbers can't be differentiated: compute with the real and the imaginary part")
    return g
