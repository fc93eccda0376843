"""What an expression of C is, and C's rules for types: which type two operands have, and what becomes what."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...kernels import numbers
from ...kernels.parse import Pointer, c_name, no_translation
from ...kernels.preprocess import CompileException
from ..lanes import FUNCTION, OPERATION, Lanes, Mask
from ..memory import Ref, as_index
from ..types import BOOL, SIZE, same

Run = Callable[[Lanes, Mask], Any]


class Array(NamedTuple):
    """An array of C: its elements' type, and the length of each axis."""

    of: Any
    lengths: tuple[int, ...]
    is_const: bool = False

    def __str__(self) -> str:
        return f"{c_name(self.of)}{''.join(f'[{n}]' for n in self.lengths)}"


class StructType(NamedTuple):
    """A struct whose fields are numbers, or structs."""

    name: str
    fields: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return self.name

    def place(self, name: str, line: Any) -> int:
        """The number of this field."""
        for k, (own, _) in enumerate(self.fields):
            if own == name:
                return k
        raise CompileException(f"{self.name} has no field {name}: {line}")


@dataclass(slots=True)
class Term:
    """What each thread computes: its type, and how to get it. If it's known before the launch, `known` is the number.

    Of a pointer, `origin` names the parameters and the variables that it comes from.
    """

    type: Any
    run: Run
    known: Any = None
    origin: frozenset = frozenset()
    waits: bool = False  # as `flow.py` asks: C's warps don't take turns


NULL = Ref(None, 0, 0)  # type: ignore[arg-type]


def known(number: Any) -> Term:
    """A number that's known before the launch."""
    return Term(number.dtype, lambda lanes, mask: number, number)


def dtype_in_memory(kind: Any) -> np.dtype:
    """How this type lies in memory."""
    if isinstance(kind, StructType):
        return np.dtype([(name, dtype_in_memory(part)) for name, part in kind.fields], align=True)
    if isinstance(kind, Pointer):
        return np.dtype("uint64")
    if isinstance(kind, Array):
        return dtype_in_memory(kind.of)
    return kind


def size_of(kind: Any, line: Any) -> int:
    if isinstance(kind, Array):
        return int(np.prod(kind.lengths)) * size_of(kind.of, line)
    if kind is None:
        raise CompileException(f"void has no size: {line}")
    return dtype_in_memory(kind).itemsize


def from_memory(value: Any, kind: Any) -> Any:
    """What a thread holds of a struct that it has read: a tuple of its fields."""
    if isinstance(kind, StructType):
        return tuple([from_memory(value[name], part) for name, part in kind.fields])
    return value


def to_memory(value: Any, kind: Any) -> Any:
    if not isinstance(kind, StructType):
        return value
    parts = [to_memory(part, own) for part, (_, own) in zip(value, kind.fields)]
    made = np.empty(np.broadcast_shapes(*[np.shape(part) for part in parts]), dtype_in_memory(kind))
    for (name, _), part in zip(kind.fields, parts):
        made[name] = part
    return made


def computed(kind: Any, parts: Sequence[Term], compute: Callable[..., Any], cost: int | None = OPERATION) -> Term:
    """What `compute` makes of the parts' values. If they're all known, it's known, too."""
    if all(part.known is not None for part in parts) and isinstance(kind, np.dtype):
        with np.errstate(all="ignore"):
            return known(numbers.cast(np.asarray(compute(*[part.known for part in parts])), kind)[()])
    runs = [part.run for part in parts]
    if cost is None:
        return Term(kind, lambda lanes, mask: compute(*[run(lanes, mask) for run in runs]))
    if len(runs) == 2:
        first, second = runs

        def run_two(lanes: Lanes, mask: Mask) -> Any:
            mask.spend(cost)
            return compute(first(lanes, mask), second(lanes, mask))

        return Term(kind, run_two)

    def run(lanes: Lanes, mask: Mask) -> Any:
        mask.spend(cost)
        return compute(*[one(lanes, mask) for one in runs])

    return Term(kind, run)


def is_pointer(term: Term) -> bool:
    return isinstance(term.type, (Pointer, Array))


def decayed(term: Term) -> Term:
    """An array as a pointer to its first element."""
    if not isinstance(term.type, Array):
        return term
    of, lengths, is_const = term.type
    to = Array(of, lengths[1:]) if len(lengths) > 1 else of
    return replace(term, type=Pointer(to, is_const))


def converted(term: Term, to: Any, line: Any, is_asked: bool = False) -> Term:
    """`term` as this type: by itself, or with `is_asked`, since a cast says so. Raises `CompileException`."""
    kind = term.type
    if isinstance(to, Pointer):
        return _to_pointer(decayed(term), to, line, is_asked)
    if same(kind, to):
        return term
    if isinstance(to, np.dtype) and isinstance(kind, np.dtype):
        if kind.kind == "c" and to.kind not in "cb":
            raise CompileException(f"a complex number doesn't become {c_name(to)} by itself: {line}")
        return computed(to, [term], lambda value: numbers.cast(value, to), None)
    if same(to, BOOL) and is_pointer(term):
        return computed(BOOL, [decayed(term)], lambda ref: np.bool_(ref.part is not None))
    if to is None:
        return replace(term, type=None)
    raise CompileException(f"{c_name(kind)} doesn't become {c_name(to)}: {line}")


def _to_pointer(term: Term, to: Pointer, line: Any, is_asked: bool) -> Term:
    if isinstance(term.type, np.dtype):
        if term.known is not None and term.known == 0:
            return Term(to, lambda lanes, mask: NULL)
        if is_asked:
            raise no_translation(line, "a number as a pointer")
    elif isinstance(term.type, Pointer):
        own, wanted = term.type.to, to.to
        stays_const = to.is_const or not term.type.is_const
        if is_asked or stays_const and (same(own, wanted) or wanted is None):
            return replace(term, type=to)
        if own is None and stays_const:
            raise CompileException(f"void* doesn't become {to} by itself, write ({to})…: {line}")
    raise CompileException(f"{c_name(term.type)} doesn't become {c_name(to)}: {line}")


def truth(term: Term, line: Any) -> Term:
    return converted(decayed(term), BOOL, line)


_QUICK: dict[str, Callable] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_COMPARES = ("<", ">", "<=", ">=", "==", "!=")


def _number(term: Term, line: Any) -> np.dtype:
    if not isinstance(term.type, np.dtype):
        raise CompileException(f"{c_name(term.type)} where a number should be: {line}")
    return term.type


def unary(sign: str, term: Term, line: Any) -> Term:
    if sign == "!":
        return computed(BOOL, [truth(term, line)], np.logical_not)
    kind = numbers.common(_number(term, line))
    if sign == "~" and kind.kind not in "iu":
        raise CompileException(f"~ takes whole numbers, got {c_name(kind)}: {line}")
    return computed(kind, [converted(term, kind, line)], numbers.UNARY[sign])


def binary(sign: str, x: Term, y: Term, line: Any) -> Term:
    """``x + y`` and its like, for numbers and for pointers."""
    x, y = decayed(x), decayed(y)
    if is_pointer(x) or is_pointer(y):
        return _with_pointers(sign, x, y, line)
    if sign in ("<<", ">>"):
        kind = numbers.common(_number(x, line))
        _number(y, line)
    else:
        kind = numbers.common(_number(x, line), _number(y, line))
    if kind.kind in "fc" and sign in ("%", "&", "|", "^", "<<", ">>"):
        raise CompileException(f"{sign} takes whole numbers, got {c_name(x.type)} and {c_name(y.type)}: {line}")
    parts = [converted(x, kind, line), converted(y, kind, line)]
    result = BOOL if sign in _COMPARES else kind
    cost = FUNCTION if sign in "/%" else OPERATION
    if kind.kind == "f" and sign == "/":
        return computed(result, parts, operator.truediv, cost)
    return computed(result, parts, _QUICK.get(sign, numbers.BINARY[sign]), cost)


def elements(kind: Any) -> int:
    """How many elements of memory one of this type has."""
    if isinstance(kind, Array):
        return int(np.prod(kind.lengths))
    return 1


def moved(pointer: Term, index: Term, line: Any, sign: int = 1) -> Term:
    """``p + i``."""
    if pointer.type.to is None:
        raise CompileException(f"arithmetic with void*: {line}")
    if _number(index, line).kind not in "iub":
        raise CompileException(f"{c_name(index.type)} as an index: {line}")
    step = elements(pointer.type.to) * sign
    base, by = pointer.run, index.run
    if index.known is not None:
        steps = int(index.known) * step

        def run_known(lanes: Lanes, mask: Mask) -> Any:
            ref = base(lanes, mask)
            return Ref(ref.part, 0, ref.offset + steps)

        return Term(pointer.type, run_known, None, pointer.origin)

    def run(lanes: Lanes, mask: Mask) -> Any:
        ref = base(lanes, mask)
        offset = as_index(by(lanes, mask))
        return Ref(ref.part, 0, ref.offset + (offset if step == 1 else offset * step))

    return Term(pointer.type, run, None, pointer.origin)


def _with_pointers(sign: str, x: Term, y: Term, line: Any) -> Term:
    if sign in "+-" and is_pointer(x) and isinstance(y.type, np.dtype):
        return moved(x, y, line, 1 if sign == "+" else -1)
    if sign == "+" and is_pointer(y):
        return moved(y, x, line)
    if isinstance(x.type, np.dtype):
        x = converted(x, y.type, line)
    if isinstance(y.type, np.dtype):
        y = converted(y, x.type, line)
    if sign == "-" and same(x.type.to, y.type.to):
        each = elements(x.type.to)
        return computed(SIZE, [x, y], lambda a, b: np.int64(1) * (a.offset - b.offset) // each)
    if sign in ("==", "!="):
        return computed(BOOL, [x, y], lambda a, b: _QUICK[sign](_is_same(a, b), True))
    if sign in _COMPARES:
        return computed(BOOL, [x, y], lambda a, b: np.bool_(True) & _QUICK[sign](a.offset, b.offset))
    raise CompileException(f"{sign} with {c_name(x.type)} and {c_name(y.type)}: {line}")


def _is_same(a: Any, b: Any) -> Any:
    if a.part is not b.part:
        return np.bool_(False)
    return np.bool_(True) & (a.offset == b.offset)
