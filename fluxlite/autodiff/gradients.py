"""`gradient`: the function gets a copy of each argument, with tracked arrays in place of its parameters (`Marked`).

Then `pull_back` goes back from the loss, and the gradients take the argument's structure. What the function assigned to
its copy, such as a running mean, is written to the object itself (`keep_state`). Flux's older styles, `param` with
`back` and ``gradient(f, params(model))``, are in `older_styles.py`.
"""

import functools
import types
from collections.abc import Callable
from operator import is_
from typing import Any

import numpy as np

from ..arrays import astype, on_card_of, read_only_types, refuse_tensor
from ..messages import Readable, explained, in_words, warn
from ..tree.contract import Automatic, attributes, functor, is_leaf, kind_of, put_attribute, this_thread, trainable
from ..tree.flat import ALSO_NUMBERS, Attribute, Flat, KeyPath, flatten
from ..tree.ties import HERE, card_getters, copy_of, is_array, is_trainable_array, same_view
from ..tree.walks import check_open, fmap, nodes, on_first_card_of, type_of_parts
from ..unreached import is_new, say_what_is_not_trained
from .backward import pull_back
from .tracked import Level, TrackedArray, as_base_class, can_be_frozen, numbers, plain


def gradient(f: Callable, *args: Any) -> Any:
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


def withgradient(f: Callable, *args: Any) -> tuple[Any, Any]:
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
    if len(args) == 1 and hasattr(type(args[0]), "withgradient"):  # the implicit style: params(model)
        return args[0].withgradient(f)
    level = new_level()
    marked: list[Marked] = []
    stand_ins, gradients = [], []
    try:
        for number, argument in enumerate(args):
            marked.append(Marked(argument, level, number))
            stand_ins.append(marked[-1].stand_in)
        with on_first_card_of(args) if card_getters else HERE:  # for what `f` itself computes with NumPy
            value = run_in_training(f, *stand_ins)
            plain_value = untracked(value, level)  # first, since the backward pass clears the calls
            totals = totals_of(value, level)
            given: set[int] = set()  # whose memory was given away: no two gradients share any
            for one in marked:
                gradients.append(one.gradient(totals, given))
    finally:
        level.close()
    keep_state(marked)
    return plain_value, tuple(gradients)


def stop_gradient(x: Any) -> Any:
    """`x`, an array or a model, as a constant: no gradient flows through it, not even an outer call's.

    JAX: ``stop_gradient``, Zygote: ``ignore_derivatives``.

    >>> gradient(lambda x: x * stop_gradient(x), 3.0)
    (3.0,)
    """
    return plain(x) if is_array(x) or type(x) is TrackedArray else fmap(plain, x)


# -- there: what f gets --------------------------------------------------------------------------------------------


class Marked:
    """An argument on its way into `f`: its `stand_in`, with tracked arrays for the parameters, and what they are."""

    __slots__ = ("stand_in", "flat", "tracked", "held")  # held: (number, copy, its __dict__, what it held) of objects

    def __init__(self, argument: Any, level: Level, number: int = 0):
        self.flat: Any = None
        self.tracked: list = []
        self.held: list = []
        if type(argument) is np.ndarray and argument.dtype.kind == "f":  # which needs no walk
            level.freeze(argument)
            self.stand_in = TrackedArray(argument, level)
            return
        if isinstance(argument, (complex, np.complexfloating)) or is_array(argument) and argument.dtype.kind == "c":
            what = f"argument {number} of gradient is {in_words(argument)}, and complex numbers can't be differentiated"
            raise TypeError(f"{what}: give z.real and z.imag, or, if it's constant, use it in f without giving it")
        flat = self.flat = flatten(argument)
        hides: Any = False  # whether a class or function, seen for the first time, may hold arrays
        try:
            for x, trains in zip(flat.leaves, flat.trains):
                tracked, kind = x, x.__class__
                if kind is np.ndarray and trains and x.dtype.kind == "f":
                    level.freeze(x)
                    tracked = TrackedArray(x, level)
                elif kind is types.FunctionType:
                    hides |= trains and not str(x.__module__).startswith(_OURS) and is_new(x)
                elif kind not in _CONSTANTS:
                    tracked = track(x, level, trains)
                    hides |= trains and kind not in _NUMBERS and is_new(x)
                self.tracked.append(tracked)
        except (TypeError, RuntimeError) as error:
            check_open(flat, [len(self.tracked)])
            error.add_note(f"{flat.paths()[len(self.tracked)] or 'an argument'} of gradient")
            raise
        if hides:  # perhaps arrays that the walk doesn't reach
            say_what_is_not_trained(argument, "gets no gradient", again=False)
        made = flat.results(self.tracked)
        self.stand_in = made[flat.root]
        number = 0  # what the copies hold now: it shows `keep_state` what `f` has assigned
        for x, kind, _, _, _, same, trains in flat.recipe:
            number -= 1
            copy = made[number]
            if same is not None or type(copy) is not type(x):  # (a rule of your own may rebuild another type)
                continue
            if kind.is_plain:
                self.held.append((number, copy, copy.__dict__, copy.__dict__.copy()))
                if copy.__dict__.get("active", copy) is None:  # a mode, which `functor` didn't see in the class
                    type(x).active = Automatic()
            elif not (kind.is_box and trains == ALSO_NUMBERS or isinstance(x, _UNCHANGING)):  # of data: no state
                self.held.append((number, copy, None, held_by(copy).copy()))

    def gradient(self, totals: dict[TrackedArray, Any], given: set[int]) -> Any:
        """What the backward pass brought, in the structure of the argument; `given` is whose memory was given away."""
        if self.flat is None:
            return as_gradient(self.stand_in.value, totals.get(self.stand_in), given)
        found: list = []
        for x, tracked in zip(self.flat.leaves, self.tracked):
            g = None if tracked is x else totals.get(tracked)
            found.append(None if g is None else as_gradient(tracked.value, g, given))
        for place, leaf in self.flat.moved.items():  # it stands at a later place, which may hold W.T
            if found[leaf] is not None:
                found[leaf] = same_view(self.flat.at(place), self.flat.leaves[leaf], found[leaf])
        return self.flat.beside(found, _combine)


_CONSTANTS = {type(None), str, bool, bytes, type, np.ufunc, np.dtype, type(len)}
_NUMBERS = {np.ndarray, int, float}
_OURS = __package__.partition(".")[0] + "."  # the library's own functions hold no arrays
_UNCHANGING = (tuple, functools.partial, types.MethodType)


def track(x: Any, level: Level, trains: int = ALSO_NUMBERS) -> Any:
    """A leaf as it stands in what `f` gets: tracked, if it has a gradient."""
    kind = type(x)
    if kind is int or kind is float or isinstance(x, np.floating):
        return TrackedArray(float(x) if kind is int else x, level) if trains == ALSO_NUMBERS else x
    if kind is TrackedArray:
        x.check_open()
    elif not is_trainable_array(x):
        refuse_tensor("gradient", x)
        return x
    if not trains or x.dtype.kind != "f":
        return x
    if can_be_frozen(x):
        level.freeze(x)
    return TrackedArray(as_base_class(x), level)


def run_in_training(f: Callable, *args: Any) -> Any:
    """``f(*args)``, with the layers in training. If it changes a read-only array, NumPy can't say why it is one."""
    this_thread.gradients += 1
    try:
        return f(*args)
    except ValueError as error:
        if "read-only" in str(error) and _INSTEAD not in str(error):
            error.args = (f"{error}: {_INSTEAD}",)
        raise
    finally:
        this_thread.gradients -= 1


_INSTEAD = (
    "an array that a gradient was computed with stays as it is until gradient is done, or the gradient would be wrong. "
    "State is assigned instead: self.c = self.c + 1, or c = c + 1; parameters are changed by update, after gradient"
)


def new_level() -> Level:
    """A level for one call. From the first one on, the usual derivatives are in the table."""
    _fill_table()
    return Level(next(numbers))


@functools.cache
def _fill_table() -> None:
    from . import derivatives  # noqa: F401  (only a program that differentiates needs to load it)


# -- and back: what comes out --------------------------------------------------------------------------------------


def totals_of(value: Any, level: Level) -> dict[TrackedArray, Any]:
    """For each thing tracked on `level`, the gradient of the loss that `f` returned."""
    loss = value[0] if isinstance(value, tuple) and value else value
    shape = getattr(loss, "shape", None)
    if shape or shape is None and type(loss) not in (int, float, TrackedArray) or type(loss) is np.bool_:
        if loss is None:
            raise TypeError("the loss must be one number, of shape (), got None. Does the function return it?")
        got = f"shape {shape}" if shape else f"a {type(loss).__name__}"
        raise TypeError(f"the loss must be one number, of shape (), got {got}. Take its sum or mean")
    if type(loss) is not TrackedArray or loss.level is not level:
        return {}  # it doesn't depend on the arguments
    one = plain(loss.value) if type(loss.value) is TrackedArray else loss.value
    if isinstance(one, (np.generic, float)):
        return pull_back(loss, type(one)(1))
    with on_card_of(one):
        return pull_back(loss, np.ones_like(one))


def untracked(value: Any, level: Level) -> Any:
    """What `f` returned, as plain values that share no memory with its arguments."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([untracked(part, level) for part in value])
    if kind is not TrackedArray:
        if not is_leaf(value):
            own = not kind_of(kind).is_box  # an object, such as the model: what doesn't train is the argument's own
            return fmap(lambda leaf: copy_of(leaf) if own and is_array(leaf) else untracked(leaf, level), value)
        # Read-only: it was computed with, and may be the `data` of something tracked.
        return copy_of(value) if kind in read_only_types and not value.flags.writeable else value
    if value.level is not level:
        return value  # it belongs to an outer gradient
    inner = value.value
    if isinstance(inner, (np.generic, float)) or not is_array(inner):
        return inner
    if value.call is None or inner.base is not None or any(inner is argument for argument in value.call[1]):
        return copy_of(inner)  # it is, or views, an argument of its call
    if type(inner) in read_only_types:
        inner.flags.writeable = True
    return inner


class Record(metaclass=Readable):
    """A tree beside a registered object: the same attribute names, other values; a `Chain`'s also by index.

    A path, such as ``("layers", 0, "weight")`` or one of `trainables`, leads to what's there.
    """

    def __init__(self, /, **fields: Any) -> None:
        self.__dict__.update(fields)

    @explained("the place of a layer, a slice or a path")
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            return KeyPath(index).get(self)
        if "layers" not in self.__dict__:
            raise TypeError(f"this {type(self).__name__} has no layers to index; it has {', '.join(self.__dict__)}")
        return self.__dict__["layers"][index]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


@functor
class Gradient(Record):
    """The gradient of a registered object: the same attribute names, None where nothing flowed.

    >>> Gradient(weight=np.ones(2), bias=None)
    Gradient(weight=array([1., 1.]), bias=None)
    """


def _combine(x: Any, kind: Any, names: Any, parts: list, make: Any) -> Any:
    """The gradient of `x`, made from those of its parts."""
    if kind.is_box:
        return make(x, names, parts)
    if names is None:
        return type_of_parts(x)(parts)
    made = object.__new__(Gradient)
    made.__dict__ = dict(zip(names, parts))
    return made


def as_gradient(like: Any, g: Any, given: set[int]) -> Any:
    """`g` as the gradient of `like`: of its shape, dtype and memory order, writable, sharing memory with nothing."""
    if type(g) is TrackedArray:
        return g if is_number(like) or g.dtype == like.dtype else astype(_real(g), like.dtype)
    if g is None:
        return None
    if type(like) is not np.ndarray:
        like = plain(like)  # perhaps tracked by an outer gradient, on which this one doesn't depend
        if is_number(like):
            return type(like)(_real(g))
    owner = g if getattr(g, "base", None) is None else g.base
    is_private = (type(owner) is np.ndarray or is_array(owner)) and id(owner) not in given
    # Read-only: an operand or a result, which the program may see, or a broadcast one.
    is_private = is_private and (type(g) not in read_only_types or g.flags.writeable)
    if owner is not g:  # back through a transposition or a reshape: a view, but of all of an array made on the way
        is_private = is_private and owner.size == g.size
    if not (is_private and g.strides == like.strides and g.dtype == like.dtype):
        with on_card_of(like):
            owner = np.empty_like(like)
            owner[...] = _real(g)
        g = owner
    given.add(id(owner))
    return g


def is_number(x: Any) -> bool:
    return type(x) in (int, float) or isinstance(x, np.floating)


def _real(g: Any) -> Any:
    if getattr(g, "dtype", None) is not None and g.dtype.kind == "c":
        raise TypeError("complex numbers can't be differentiated: compute with the real and the imaginary part")
    return g


# -- state: what f assigned to its copy of a model is written to the model itself, as plain values -------------------

_ABSENT = object()


def held_by(x: Any) -> Any:
    """What may change in `x`."""
    if isinstance(x, (list, dict)):
        return x
    return x.__dict__ if kind_of(type(x)).is_plain else attributes(x)


def keep_state(marked: list[Marked]) -> None:
    """Write what `f` assigned to its copies to the objects themselves; raises if that would replace a parameter."""
    changed = []
    for one in marked:
        for number, copy, fields, before in one.held:
            now = held_by(copy) if fields is None else fields
            values = (now, before) if type(before) is list else (now.values(), before.values())
            keys_too = len(now) == len(before) and (type(before) is list or [*now] == [*before])
            if not (keys_too and all(map(is_, *values))):
                changed.append((one.flat, number, now, before))
    if not changed:
        return
    known = {id(copy): one.flat.at(number) for one in marked for number, copy, *_ in one.held}
    writes = []
    for flat, number, now, before in changed:
        x = flat.at(number)
        if isinstance(x, (list, dict)):
            _say_that_it_is_lost(flat, number, x)
            continue
        for name in {**now, **before}:
            value, old = now.get(name, _ABSENT), before.get(name, _ABSENT)
            if value is not old:
                if any(branch.x is x and branch.trains for branch in flat.recipe):
                    _check_no_parameter(flat, number, name, old, "deleted" if value is _ABSENT else "replaced")
                writes.append((x, name, value if value is _ABSENT else detached(value, known)))
    for x, name, value in writes:
        if value is _ABSENT:
            object.__delattr__(x, name)
        else:
            put_attribute(x, name, value, name in getattr(x, "__dict__", ()))


def detached(value: Any, known: dict[int, Any]) -> Any:
    """`value` without tracking, and with the objects that the user knows, by id, in place of their copies."""
    if id(value) in known:
        return known[id(value)]
    if type(value) is TrackedArray:
        inner, computed = value, False
        while type(inner) is TrackedArray:
            inner, computed = inner.value, computed or inner.call is not None
        known[id(value)] = own = copy_of(inner) if computed and is_array(inner) else inner
        return own
    if is_leaf(value):
        return value
    return fmap(lambda leaf: detached(leaf, known), value, exclude=lambda x: id(x) in known or is_leaf(x))


def _check_no_parameter(flat: Flat, number: int, name: str, old: Any, what: str) -> None:
    """Raise if `old`, which is gone, is a parameter or has some: its gradient would have no place."""
    parts = trainable(flat.at(number))
    if isinstance(parts, dict) and name not in parts or all(type(node) is not TrackedArray for _, node in nodes(old)):
        return
    place = flat.paths()[number] + (Attribute(name),)
    raise TypeError(
        f"{place} {'is a parameter' if type(old) is TrackedArray else 'holds parameters'}, and was {what} inside a "
        "gradient call. Parameters are changed by update. If it's state and not a parameter, say what trains: "
        f"@functor(trainable=(…,)) above {type(flat.at(number)).__name__}"
    )


def _say_that_it_is_lost(flat: Flat, number: int, x: Any) -> None:
    kind, place = type(x).__name__, str(flat.paths()[number])
    it = f"self.{place.rpartition('.')[2].partition('[')[0] or 'seen'}"
    warn(
        ("changed in a copy", place, kind),
        f"{place}, {'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}, was changed inside a gradient call. "
        "It is a copy: the change is gone.\n"
        f"What is assigned stays: {it} = {f'{{**{it}, key: x}}' if isinstance(x, dict) else f'[*{it}, x]'}",
    )
