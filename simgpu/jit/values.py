"""What an expression of a kernel is: something known before the launch, or a value that each thread computes."""

import ast
import operator
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import arithmetic
from ..lines import warn_at_call
from ..values import FORMULAS
from ..words import word_set
from .advice import UNSIGNED, hint, one_element
from .errors import Problem
from .lanes import FUNCTION, OPERATION, Lanes, Mask
from .types import BOOL, ArrayType, Tuple, held_as, is_number, number_as, signature, signature_with_result, type_of

Run = Callable[[Lanes, Mask], Any]
Waiting = Generator[None, None, Any]  # yields where another warp may come first, and returns a result


class Name:
    """One of cupyx.jit's names, which means something only inside a kernel. `names.py` has all of them."""

    wanted = ""

    def __init__(self, name: str, text: str) -> None:
        self.name = self.__name__ = name
        self.__doc__ = text

    def __repr__(self) -> str:
        return f"jit.{self.name}"


class Known(NamedTuple):
    """A number, a module, a function: the kernel is compiled with it."""

    obj: Any


class Value(NamedTuple):
    """What each thread computes: its type, and how to get it. If it's an array, `origin` names the arguments that it
    may be a part of, and `node` is its place in the text. If it `waits`, `run` is a generator: see `Waiting`."""

    type: Any
    run: Run
    origin: frozenset[str] = frozenset()
    node: Any = None
    waits: bool = False


Expression = Known | Value
Step = Value  # of no type: `run` returns the threads that go on, or None if all do


def computed(kind: Any, parts: Sequence[Value], compute: Callable[..., Any]) -> Value:
    """What ``compute(lanes, mask, *values)`` makes of the values of its parts. It waits if one of them does."""
    runs = [part.run for part in parts]
    if any(part.waits for part in parts):
        return Value(kind, _after(parts, compute), waits=True)
    if len(runs) == 1:
        (first,) = runs
        return Value(kind, lambda lanes, mask: compute(lanes, mask, first(lanes, mask)))
    return Value(kind, lambda lanes, mask: compute(lanes, mask, *[run(lanes, mask) for run in runs]))


def accessed(kind: Any, parts: Sequence[Value], access: Callable[..., Any]) -> Value:
    """What ``access(lanes, mask, *values)`` gives, which touches memory. Another warp may come first."""
    return Value(kind, _after(parts, access, is_access=True), waits=True)


def _after(
    parts: Sequence[Value], compute: Callable[..., Any], cost: int | None = None, is_access: bool = False
) -> Run:
    """What computes the parts, some of which wait, and then the value. The cost is spent first, as without waiting."""
    runs = [(part.run, part.waits) for part in parts]

    def run(lanes: Lanes, mask: Mask) -> Waiting:
        if cost is not None:
            mask.spend(cost)
        values = []
        for part, waits in runs:
            if waits:
                value = yield from part(lanes, mask)
            else:
                value = part(lanes, mask)
            values.append(value)
        if is_access and lanes.gives_way and lanes.rng.random() < lanes.gives_way:
            yield
        return compute(lanes, mask, *values)

    return run


def waiting(x: Value) -> Callable[[Lanes, Mask], Waiting]:
    """What computes `x` as a generator, even if nothing in it waits."""
    if x.waits:
        return x.run
    return _after([x], lambda lanes, mask, value: value)


def run_to_end(steps: Waiting) -> None:
    """Run it in one go: with all threads in step, nothing has to wait."""
    for _ in steps:
        pass


def as_value(x: Expression) -> Value:
    """`x` as something that a thread computes with. Raises `Problem` for a string, a module and the like."""
    if isinstance(x, Value):
        return x
    if isinstance(x.obj, tuple):
        return pack([as_value(Known(part)) for part in x.obj])
    if isinstance(x.obj, Name):
        raise Problem(f"{x.obj!r} alone isn't a number{x.obj.wanted}")
    if not is_number(x.obj):
        what = f"{_describe(x.obj)} isn't a number, and a thread computes only with numbers"
        raise Problem(what, NotImplementedError)
    kind = type_of(x.obj)
    number = held_as(kind).type(number_as(x.obj, kind))
    return Value(kind, lambda lanes, mask: number)


def _describe(x: Any) -> str:
    return f"{type(x).__name__} {getattr(x, '__name__', repr(x))[:40]}"


def pack(parts: Sequence[Value]) -> Value:
    """Several values in one, such as the index ``i, j``."""
    types = Tuple(tuple(part.type for part in parts))
    return computed(types, parts, lambda lanes, mask, *values: values)


def scalar_type(x: Expression) -> np.dtype:
    """The type of a number. Raises `Problem` for arrays and the rest."""
    if isinstance(x, Known):
        return as_value(x).type
    if isinstance(x.type, ArrayType):
        if x.node is None:
            whole = "this is a whole array: write x[i]"
        else:
            whole = one_element(x.node, x.type.ndim)
        raise Problem(f"a thread computes with one number at a time, and {whole}")
    if not isinstance(x.type, np.dtype):
        raise Problem(f"a thread computes with one number at a time, and this gives {x.type}")
    return x.type


def cast(x: Expression, to: np.dtype, checked: bool = True) -> Value:
    """`x` as this type. Raises `Problem` if its kind would change, unless the program asks for that."""
    if isinstance(x, Known):
        if not is_number(x.obj):
            raise Problem(f"{_describe(x.obj)} isn't a number")
        try:
            return as_value(Known(number_as(x.obj, to)))
        except TypeError as error:
            raise Problem(f"{error}{hint(type_of(x.obj), to)}", OverflowError) from None
    kind = scalar_type(x)
    if kind == to:
        return x
    if checked and not np.can_cast(kind, to, "same_kind"):  # bool, uint, int, float, complex: only upwards
        raise Problem(f"{kind} doesn't become {to} by itself{hint(kind, to)}")
    if kind.kind == "c" and to.kind not in "cb":
        warn_at_call("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning)
    run = x.run
    if x.waits:
        return computed(to, [x], lambda lanes, mask, value: as_type(value, to))
    return Value(to, lambda lanes, mask: as_type(run(lanes, mask), to))


def as_type(value: Any, to: np.dtype) -> Any:
    to = held_as(to)
    if not isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)[()]
    if to.kind in "iu" and value.dtype.kind in "fc":
        return arithmetic.cast(value, to)[()]
    return value.astype(to)


_PLAIN = word_set("""
    add subtract multiply maximum minimum fmax fmin absolute negative positive less less_equal greater greater_equal
    equal not_equal logical_and logical_or logical_not logical_xor invert bitwise_and bitwise_or bitwise_xor left_shift
    right_shift square conjugate fabs sign signbit isnan isinf isfinite copysign bitwise_count floor ceil trunc rint
""")


def _integral_power(x: Any, y: Any) -> Any:
    of_minus_one = 1 - 2 * (y & 1)
    inverse = np.where(x == 1, 1, np.where(x == -1, of_minus_one, 0))
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0)))


# On single numbers, Python's operators are ten times as fast as NumPy's functions.
OPERATORS: dict[type, tuple[str, Callable]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("subtract", operator.sub), ast.Mult: ("multiply", operator.mul),
    ast.Div: ("true_divide", operator.truediv), ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("remainder", operator.mod), ast.Pow: ("power", operator.pow),
    ast.LShift: ("left_shift", operator.lshift), ast.RShift: ("right_shift", operator.rshift),
    ast.BitAnd: ("bitwise_and", operator.and_), ast.BitOr: ("bitwise_or", operator.or_),
    ast.BitXor: ("bitwise_xor", operator.xor), ast.Lt: ("less", operator.lt), ast.LtE: ("less_equal", operator.le),
    ast.Gt: ("greater", operator.gt), ast.GtE: ("greater_equal", operator.ge), ast.Eq: ("equal", operator.eq),
    ast.NotEq: ("not_equal", operator.ne), ast.USub: ("negative", operator.neg),
    ast.Invert: ("invert", operator.invert), ast.Not: ("not", operator.not_),
}  # fmt: skip
_FUNCTIONS: dict[str, Callable] = {
    **dict(OPERATORS.values()), "not": np.logical_not, "fix": np.trunc, "i0": np.i0, "sinc": np.sinc,
    "power": np.power, "invert": np.invert,  # Python's operators compute these differently
    **{ufunc.__name__: formula for ufunc, formula in FORMULAS.items()},  # a card, too
}  # fmt: skip
_ON_INTEGERS: dict[str, Callable] = {
    "power": _integral_power,
    **dict.fromkeys(("floor", "ceil", "trunc", "fix"), lambda x: x),
}  # fmt: skip


def apply(name: str, operands: Sequence[Expression], rule: str = "", gives: np.dtype | None = None) -> Value:
    """The function `name` of these operands, as the types that it takes, or that the function `rule` takes.

    If the program asks for a type of the result, `gives`, that decides.
    """
    types = [scalar_type(x) for x in operands]
    if gives is None:
        found = signature(rule or name, types)
    else:
        found = signature_with_result(name, gives)
    if found is None:
        raise Problem(f"{name} doesn't take {' and '.join(map(str, types))}")
    wanted, out = found
    try:
        parts = [cast(x, kind) for x, kind in zip(operands, wanted)]
    except Problem:
        if {kind.kind for kind in types} == {"i", "u"}:
            raise Problem(f"{' and '.join(map(str, types))} don't mix{UNSIGNED}") from None
        raise
    compute = _FUNCTIONS.get(name) or getattr(np, name)
    if name in _ON_INTEGERS and wanted[0].kind in "biu":
        if name == "power" and wanted[0].kind == "b":
            compute = np.logical_and
        else:
            compute = _ON_INTEGERS[name]
    cost = OPERATION if name in _PLAIN or name == "not" else FUNCTION
    held, runs = held_as(out), [part.run for part in parts]

    def run(lanes: Lanes, mask: Mask) -> Any:
        mask.spend(cost)
        value = compute(*[operand(lanes, mask) for operand in runs])
        if value.dtype == held:
            return value
        return as_type(value, held)

    def finish(lanes: Lanes, mask: Mask, *values: Any) -> Any:
        return as_type(compute(*values), held)

    if any(part.waits for part in parts):
        return Value(out, _after(parts, finish, cost), waits=True)
    return Value(out, run)


def is_true(x: Value) -> Value:
    return cast(x, BOOL, checked=False)
