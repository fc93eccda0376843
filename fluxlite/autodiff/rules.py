"""The table of derivatives: for each function, how the gradient flows back through it.

An entry is a `Derivative`, made with `rule`: one pullback for each operand of the function. Those of NumPy's functions
and of ``arrays.py`` are in `derivatives/`, others next to their function; a learner adds one with a single line.
"""

import contextlib
import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..annotations import Array
from ..array_kinds import can_freeze, is_plain
from ..arrays import are_half, narrow, wide
from ..tree.ties import is_tracked
from ..words import explained

Pullback = Callable[..., Any]


@dataclass(eq=False)
class Derivative:
    """How the gradient flows back through one function: a pullback for each operand.

    From the result's gradient, the result and the function's own arguments, a pullback makes the operand's gradient: a
    new array, or the one it was given.
    """

    pullbacks: tuple[Pullback | None, ...]  # by the operand's position; None where it has no derivative
    names: tuple[str, ...]  # of the function's arguments, as the first pullback has them
    most_positional: int
    operand_count: int  # how many may also come by their names
    pullback_of_each: Callable | None = None  # in place of `pullbacks`: it also gets the operand's position
    sequence: bool = False  # the first argument is a list of operands, as in np.concatenate([x, y])
    add_into: Callable | None = None
    forward: Callable | None = None  # this and the next are for recurrent layers: see `rule_for_each`
    shared: Callable | None = None

    def pullback_for(self, position: int) -> Pullback | None:
        """The pullback for the operand at `position`; None if it has no derivative."""
        if self.pullback_of_each is not None:
            return functools.partial(self.pullback_of_each, position)
        if position < len(self.pullbacks):
            return self.pullbacks[position]
        return None


RULES: dict[Callable, Derivative] = {}
COMPOSED: dict[Callable, Callable] = {}  # composed of other functions: tracked arrays call those instead
# The same, for calls with keywords that the function's rule doesn't know.
COMPOSED_FOR_KEYWORDS: dict[Callable, Callable] = {}
PLAIN: set[Callable] = set()  # results that don't depend smoothly on the arguments: they're just computed
# Methods of ufuncs that are functions by themselves.
METHODS: dict[tuple[np.ufunc, str], Callable] = {
    (np.add, "reduce"): np.sum, (np.multiply, "reduce"): np.prod, (np.maximum, "reduce"): np.max,
    (np.minimum, "reduce"): np.min, (np.add, "accumulate"): np.cumsum, (np.multiply, "accumulate"): np.cumprod,
}  # fmt: skip


@explained("a function, and a pullback for each operand")
def rule(function: Callable, *pullbacks: Pullback | None, add_into: Callable | None = None) -> None:
    """Enter the derivative of `function`: for each operand ``pullback(g, out, *arguments)``, or None.

    `function` is one of NumPy's, or your own marked `primitive`. `g` is the gradient of the loss with respect to the
    result `out`, and has its shape; `arguments` are those of the call, under the names that the function gives them.
    What is returned is the operand's gradient, in its shape. Written in NumPy calls (or primitives), it works on every
    device, and for second derivatives. ``add_into(total, g, out, *arguments)`` adds the first operand's gradient into
    `total` in place, for a function that reads a part of it (Zygote: ``@adjoint``; ChainRules: ``rrule``).

    A pullback may not change `g` in place, since other operands' gradients need it: write ``g = g * …``.

    Raises `TypeError` for a function that's neither NumPy's nor a `primitive`; in use, `ValueError` for a wrong shape,
    and for a `g` that's changed in place. CuPy's arrays can't be made read-only, so there nothing says so.

    >>> @fl.primitive
    ... def cube(x):
    ...     return x**3
    >>> rule(cube, lambda g, out, x: g * 3 * x**2)
    >>> fl.gradient(lambda x: np.sum(cube(x)), np.array([1.0, 2.0]))
    (array([ 3., 12.]),)
    """
    _check_pullbacks(function, pullbacks)
    # NumPy's functions, and what `primitive` has wrapped; nothing else hands its call to a tracked array.
    if not isinstance(function, (np.ufunc, type(np.sum))) and not hasattr(function, "__wrapped__"):
        what = f"{name_of(function)} is neither a function of NumPy's nor a primitive"
        raise TypeError(f"{what}: write @fluxlite.primitive above it")
    given = [pullback for pullback in pullbacks if pullback is not None]
    for pullback in given:
        if len(parameter_names(pullback, 0)[0]) < 2 and parameter_names(pullback, 2)[1] < 2:
            write = f"write fluxlite.rule({name_of(function)}, lambda g, out, x: …)"
            raise TypeError(f"a pullback of {name_of(function)} takes g, out and the arguments of the call: {write}")
    names, most = parameter_names(given[0], 2)
    if not given[0].__module__.startswith(f"{__package__.partition('.')[0]}."):  # ours are tested
        pullbacks = tuple([_with_check(function, position, pullback) for position, pullback in enumerate(pullbacks)])
    RULES[function] = Derivative(pullbacks, names, most, len(pullbacks), add_into=add_into)


def _check_pullbacks(function: Callable, pullbacks: tuple[Pullback | None, ...]) -> None:
    """Raises `TypeError` if there's no pullback, or one that isn't a function."""
    given = [pullback for pullback in pullbacks if pullback is not None]
    wanted = f"the rule of {name_of(function)} needs a function for each operand, such as lambda g, out, x: …"
    if not given:
        raise TypeError(f"{wanted}; got none")
    for pullback in given:
        if not hasattr(inspect.unwrap(pullback), "__code__"):
            raise TypeError(f"{wanted}; got {type(pullback).__name__}")


def _with_check(function: Callable, position: int, pullback: Pullback | None) -> Pullback | None:
    """`pullback`, whose result is looked at: without a sum over a broadcast axis, NumPy would broadcast it too.

    It may not change `g` in place, which other operands' gradients need. That raises, but for CuPy's arrays: they
    can't be made read-only.
    """
    if pullback is None:
        return None

    @functools.wraps(pullback)
    def checked(g: Array, out: Array, *arguments: Any, **keywords: Any) -> Any:
        with _read_only(g, name_of(function)):
            piece = pullback(g, out, *arguments, **keywords)
        _make_writable(piece, g)
        wanted = getattr(arguments[position], "shape", ())
        got = () if isinstance(piece, (int, float)) else getattr(piece, "shape", None)
        if got != wanted:
            raise ValueError(_wrong_result(function, position, pullback, piece, got, wanted))
        return piece

    return checked


@contextlib.contextmanager
def _read_only(g: Any, name: str) -> Iterator[None]:
    """`g` can't be changed in this block, where its library has such a flag."""
    freezes = can_freeze(g) and g.flags.writeable
    if freezes:
        g.flags.writeable = False
    try:
        yield
    except ValueError as error:
        if "read-only" in str(error):
            error.add_note(f"the rule of {name} may not change g in place, since others need it: g = g * …, not g *= …")
        raise
    finally:
        if freezes:
            g.flags.writeable = True


def _make_writable(piece: Any, g: Any) -> None:
    """A view of `g`, made while that was read-only, can be changed again."""
    base = piece
    while base is not None and base is not g:
        base = getattr(base, "base", None)
    if base is g and piece is not g and can_freeze(piece):
        piece.flags.writeable = True


def _wrong_result(
    function: Callable, position: int, pullback: Pullback, piece: object, got: tuple | None, wanted: tuple
) -> str:
    """What to say of a pullback that gives a `piece` of shape `got`, or None if it has no shape."""
    if piece is None:
        what = "NoneType as the gradient"
        hint = ". Does its function end with return? An operand without a derivative has None as its pullback"
    elif got is None:
        what = f"{type(piece).__name__} as the gradient"
        hint = ""
    else:
        what = f"a gradient of shape {got}"
        hint = ". Where an operand was broadcast, its gradient is summed"
    operand = dict(enumerate(parameter_names(pullback, 2)[0])).get(position, f"number {position}")
    return f"the rule of {name_of(function)} gives {what} for {operand}, of shape {wanted}{hint}"


def accurate(pullback: Pullback | None, again: Callable | None = None) -> Any:
    """A pullback that's computed in float32 if the numbers are float16, in which a square may be too large or small.

    `again` is the function itself, to compute `out` again, too: near 1, a rounded one has lost what ``1 - out**2`` is.
    """
    if pullback is None:
        return None

    @functools.wraps(pullback)
    def computed(g: Array, out: Array, *operands: Any, **keywords: Any) -> Array:
        if not are_half(g, out, *operands):
            return pullback(g, out, *operands, **keywords)
        operands = tuple([wide(x) for x in operands])
        if again is None:
            out = wide(out)
        else:
            out = again(*operands, **keywords)
        return narrow(pullback(wide(g), out, *operands, **keywords))

    return computed


def accurate_rule(function: Callable, *pullbacks: Pullback | None, again: bool = False) -> None:
    """`rule` with pullbacks that are `accurate`."""
    function_again = function if again else None
    rule(function, *[accurate(pullback, function_again) for pullback in pullbacks])


def rule_for_each(function: Callable, pullback: Pullback, sequence: bool = False, **hooks: Callable) -> None:
    """`rule` for a function of any number of operands: ``pullback(position, g, out, *arguments)``.

    With `sequence`, the operands are in a list, which is the first argument.

    There are two `hooks`, for a function whose backward pass needs more than `out`, and computes something once for all
    operands. In a gradient call they run in this order:

    1. ``forward(*arguments)``, in place of the function, returns ``(out, kept)``.
    2. ``shared(g, kept, *arguments)``, once, returns what all pullbacks begin with. `kept` is None if an outer gradient
       watches.
    3. ``pullback(position, g, out, shared, kept, *arguments)``, for each operand that has a gradient, gets both.
    """
    before_the_arguments = ["position", "g", "out"]
    if hooks:
        before_the_arguments += ["shared", "kept"]
    names, most = parameter_names(pullback, len(before_the_arguments))
    by_name = 1 if sequence else 0
    RULES[function] = Derivative((), names, most, by_name, pullback_of_each=pullback, sequence=sequence, **hooks)


def composed(function: Callable, table: dict[Callable, Callable] = COMPOSED) -> Callable[[Callable], Callable]:
    """Above a function that says the same as `function`, composed of others."""

    def enter(same: Callable) -> Callable:
        table[function] = same
        return same

    return enter


composed_for_keywords = functools.partial(composed, table=COMPOSED_FOR_KEYWORDS)


def no_derivative(*functions: Callable) -> None:
    PLAIN.update(functions)


def load_rarer() -> bool:
    """Fill the table with what a network seldom needs; False if that was done before."""
    rarer = f"{__package__}.derivatives.rarer"
    if rarer in sys.modules:
        return False
    before = dict(RULES)
    importlib.import_module(rarer)
    RULES.update(before)  # what the program itself has entered stays
    return True


def zero_where(condition: Any, g: Any) -> Any:
    """``np.where(condition, 0, g)``, for plain arrays of one shape by `_keep_bits`."""
    if not _has_bits_for_each(condition, g):
        return np.where(condition, 0, g)
    return _keep_bits(g, condition.view(np.int8) - 1)


def zero_except_where(condition: Any, g: Any) -> Any:
    """``np.where(condition, g, 0)``, for plain arrays of one shape by `_keep_bits`."""
    if not _has_bits_for_each(condition, g):
        return np.where(condition, g, 0)
    return _keep_bits(g, np.negative(condition.view(np.int8)))


def _has_bits_for_each(condition: Any, g: Any) -> bool:
    """Whether both are plain arrays of one shape, of conditions, and of numbers for whose bits there's an integer."""
    are_plain = type(g) is type(condition) and is_plain(g) and g.dtype.kind == "f" and g.itemsize <= 8
    return are_plain and g.shape == condition.shape and condition.dtype == bool


def _keep_bits(g: Any, mask: Any) -> Any:
    """`g` where the int8 in `mask` is -1, which has all bits set; 0 where it's 0.

    `np.where` decides for each number by itself, and where the processor can't foresee the decision, as after a `relu`,
    that takes forty times as long.
    """
    bits = mask.astype(f"i{g.itemsize}")
    bits &= g.view(bits.dtype)
    return bits.view(g.dtype)


# -- a call, as a derivative has it -----------------------------------------------------------------------


def parameter_names(function: Callable, skip: int = 0) -> tuple[tuple[str, ...], int]:
    """The names of a Python function's parameters after the first `skip`, and how many may come by position."""
    code = inspect.unwrap(function).__code__
    names = code.co_varnames[skip : code.co_argcount + code.co_kwonlyargcount]
    if code.co_flags & inspect.CO_VARARGS:
        return names, 1000
    return names, code.co_argcount - skip


@dataclass(slots=True)
class Call:
    """A call of `function`, whose arguments are put where a derivative, or a composition, has them."""

    function: Callable
    args: Any
    kwargs: dict[str, Any]

    def arrange(self, names: tuple[str, ...], most_positional: int) -> None:
        """The first `most_positional` by position, the others by name, without those that only repeat a default.

        What's left over, and isn't among the `names`, is `unknown`.
        """
        if len(self.args) > most_positional:
            self._name_those_after(most_positional, names)
        if not self.kwargs.keys() <= set(names):
            self.kwargs = {key: x for key, x in self.kwargs.items() if key in names or not self._is_default(key, x)}

    def _name_those_after(self, most_positional: int, names: tuple[str, ...]) -> None:
        own_names = tuple(_defaults(self.function))
        if len(self.args) > len(own_names):
            only = f"takes only {', '.join(names[:most_positional])}" if names else "takes no operand"
            raise TypeError(f"the derivative rule of {name_of(self.function)} {only} by position")
        named = dict(zip(own_names[most_positional:], self.args[most_positional:]))
        self.args = self.args[:most_positional]
        self.kwargs = named | self.kwargs

    def _is_default(self, key: str, value: Any) -> bool:
        return value is _defaults(self.function).get(key, ...) or value is _SILENT.get(key, ...)

    def unknown_keyword(self, names: tuple[str, ...]) -> str | None:
        """The first keyword that isn't among the `names`; None if there's none."""
        for key in self.kwargs:
            if key not in names:
                return key
        return None

    def raise_unknown_keyword(self, names: tuple[str, ...]) -> NoReturn:
        """Raises `TypeError` for a keyword that isn't among the `names`."""
        knows = f"it knows {', '.join(names)}" if names else "it knows none"
        unknown = self.unknown_keyword(names)
        raise TypeError(
            f"the derivative rule of {name_of(self.function)} doesn't know the keyword {unknown!r}; "
            f"{knows}. Leave it out, or compute outside the gradient with x.data"
        )

    def take_operands(self, derivative: Derivative) -> None:
        """Put the operands that came by name at their positions; raises `TypeError` for a tracked one that's left."""
        operands = list(self.args)
        others = dict(self.kwargs)
        for name in derivative.names[len(operands) : derivative.operand_count]:
            if name not in others:
                break
            operands.append(others.pop(name))
        for name, value in others.items():
            if is_tracked(value):
                what = f"{name_of(self.function)} has no derivative with respect to its keyword {name}"
                raise TypeError(f"{what}: use its .data")
        self.args = operands
        self.kwargs = others


# The defaults of keywords that NumPy's signatures don't show.
_SILENT = {"out": None, "dtype": None, "where": True, "order": "K", "subok": True, "casting": "same_kind"}


@functools.cache
def _defaults(function: Callable) -> dict[str, Any]:
    """The names of a function's arguments, in order, with their default values."""
    try:
        return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    except ValueError:  # written in C, and says nothing about itself
        return {}


def name_of(function: Callable) -> str:
    """How a learner writes it: ``np.tanh``, ``np.linalg.inv``."""
    if isinstance(function, np.ufunc):
        return f"np.{function.__name__}"
    module = function.__module__.replace("numpy", "np").replace("fluxlite.arrays", "fluxlite")
    return f"{module}.{function.__qualname__}"


def refuse_operand(function: Callable, derivative: Derivative, position: int) -> NoReturn:
    """Raises `TypeError` for a tracked operand that has no pullback."""
    name: Any = f"number {position}"
    if position < len(derivative.names):
        name = derivative.names[position]
    what = f"{name_of(function)} has no derivative with respect to its argument {name}, which is tracked here"
    raise TypeError(f"{what}: use its .data, or compute it outside the gradient")
