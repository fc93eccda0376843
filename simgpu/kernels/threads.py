"""All threads of a kernel at once: we compute each node of its tree with arrays that have an element for each thread.

A value is an array with the shape of the launch, or a NumPy number if all threads have the same. A *mask* says which
threads take part: `ALL`, `NONE`, or an array of booleans. So an ``if`` runs both branches, each with its own threads,
and a loop goes on until the last thread has left it.
"""

import copy
import math
from collections import ChainMap
from typing import Any, NamedTuple

import numpy as np

from . import numbers
from .numbers import SIZE, alike, cast, common
from .parse import Deduced, Function, Named, Node, Pointer, Reference, no_translation
from .preprocess import CompileException

_MOST_ROUNDS = 1_000_000
_ZERO = SIZE.type(0)
ALL, NONE = np.True_, np.False_


class Variable:
    """A name for which each thread has a value of its own."""

    value: Any

    def __init__(self, value: Any, is_const: bool = False) -> None:
        self.dtype, self.is_const = value.dtype, is_const
        self.write(ALL, value)

    def read(self, mask: Any) -> Any:
        return self.value

    def write(self, mask: Any, value: Any) -> None:
        if mask is not ALL:
            value = np.where(mask, value, self.value)
        self.value = value if value.base is None else value.copy()  # a view of an argument may change


class Own(Variable):
    """An argument of which each thread has one element."""

    read_bytes = written_bytes = 0

    def __init__(self, values: np.ndarray, shape: Any, is_const: bool) -> None:
        self.dtype, self.nbytes, self.is_const = values.dtype, values.nbytes, is_const
        if values.shape != shape:
            self.value = np.broadcast_to(values, shape)
        else:
            self.value = values.view()

    def read(self, mask: Any) -> Any:
        self.read_bytes = self.nbytes
        return self.value

    def write(self, mask: Any, value: Any) -> None:
        self.written_bytes = self.nbytes
        np.copyto(self.value, value, where=mask)


class Raw:
    """An argument of which a thread takes elements by number."""

    read_bytes = written_bytes = 0

    def __init__(self, name: str, values: np.ndarray, shape: Any, is_const: bool) -> None:
        self.name, self.threads, self.is_const = name, shape, is_const
        self.dtype, self.nbytes, self.shape = values.dtype, values.nbytes, values.shape
        self.values = values.reshape(-1) if values.flags.c_contiguous else values

    def parts(self) -> "Raw":
        """Complex numbers as real ones, two for each."""
        if not self.values.flags.c_contiguous:
            raise NotImplementedError(f"the parts of {self.name}, whose elements don't lie beside each other")
        found = copy.copy(self)
        found.values = self.values.view(self.values.real.dtype)
        found.dtype = found.values.dtype
        found.shape = found.values.shape
        return found


class Element:
    """An element of a raw array, with a number for each thread."""

    def __init__(self, raw: Raw, number: Any, line: str) -> None:
        self.raw, self.line, self.dtype, self.is_const = raw, line, raw.dtype, raw.is_const
        self.number = number if raw.shape else _ZERO  # an array without axes has one element, whatever the number

    def read(self, mask: Any) -> Any:
        where = self._where(mask)
        self.raw.read_bytes += self._bytes(mask)
        return self.raw.values[where]

    def write(self, mask: Any, value: Any, ufunc: Any = None) -> None:
        """If several threads write to one element, one of them wins. With a `ufunc` such as np.add, all count."""
        here: Any = ... if mask is ALL else mask
        *where, value = [np.broadcast_to(part, self.raw.threads)[here] for part in (*self._where(mask), value)]
        self.raw.written_bytes += self._bytes(mask)
        if ufunc is None:
            self.raw.values[tuple(where)] = value
        else:
            ufunc.at(self.raw.values, tuple(where), value)

    def _bytes(self, mask: Any) -> int:
        is_one = mask is ALL or np.ndim(self.number) == 0
        return self.dtype.itemsize * int(np.size(self.number) if is_one else np.count_nonzero(mask))

    def _where(self, mask: Any) -> tuple:
        """The index that NumPy takes. Raises `IndexError` if an active thread's is outside."""
        raw, number, size = self.raw, self.number, self.raw.values.size
        outside = (number < 0) | (number >= size)
        if np.any(outside & mask):
            i = int(np.argmax(np.broadcast_to(outside & mask, raw.threads)))
            raise IndexError(
                f"{raw.name}[{np.broadcast_to(number, raw.threads).flat[i]}] is outside, {raw.name} has {size:,} "
                f"elements: i = {i}, {self.line}. A GPU doesn't check, and uses what else is in its memory"
            )
        if np.any(outside):
            number = np.where(outside, 0, number)
        if raw.values.ndim == 1:
            return (number,)
        return np.unravel_index(number, raw.shape)


class Indexer(NamedTuple):
    """``_ind``: the axes along which we count the threads, and each thread's number."""

    shape: tuple[int, ...]
    number: Any


class Threads:
    """One launch: what names mean, and how much the threads have computed.

    The method for a kind of node gets the mask of the active threads, and the node's parts. Those that start with
    `run_` return the mask of the threads that go on.
    """

    line, share = "", 1.0  # of the active threads

    def __init__(self, shape: tuple[int, ...], types: dict[str, Any], functions: dict[str, list[Function]]) -> None:
        self.shape, self.types, self.functions = shape, types, functions
        self.outer: ChainMap[str, Any] = ChainMap({}, numbers.CONSTANTS)  # what names mean in all functions
        self.names = self.outer  # and in what runs now
        self.work: dict[str, float] = {}  # operations, by the character of their type
        self.left: list[dict[str, Any]] = []  # for each loop, the threads that came to break, and to continue
        self.result: Any = None  # the variable with what the running function returns

    def dtype(self, kind: Any) -> np.dtype:
        if isinstance(kind, str):
            return self.types[kind]
        if isinstance(kind, Named) and kind.member == "value_type":  # of a complex number, its parts'
            return self.dtype(kind.name).type(0).real.dtype
        if isinstance(kind, Named) and kind.name == "complex":
            return np.result_type(self.dtype(kind.given[0]), np.complex64)
        if isinstance(kind, np.dtype):
            return kind
        raise no_translation(self.line, f"the type {kind}")

    def cast(self, value: Any, dtype: np.dtype) -> Any:
        if value.dtype.kind == "c" and dtype.kind not in "cb":
            raise CompileException(f"a complex number doesn't become {dtype} by itself: {self.line}")
        return cast(value, dtype)

    def count(self, kind: np.dtype, value: Any, steps: int = 1) -> Any:
        self.work[kind.char] = self.work.get(kind.char, 0) + steps * np.size(value) * self.share
        return value

    def run(self, node: Node | None, mask: Any) -> Any:
        if node is None or not mask.any():
            return mask
        self.line, self.share = node.line, np.count_nonzero(mask) / np.size(mask)
        if (method := getattr(self, f"run_{node.kind}", None)) is not None:
            return method(mask, *node.parts)
        self.target(node, mask)
        return mask

    def run_together(self, mask: Any, statements: list[Node]) -> Any:
        for statement in statements:
            mask = self.run(statement, mask)
        return mask

    def run_block(self, mask: Any, statements: list[Node]) -> Any:
        self.names = self.names.new_child()
        mask = self.run_together(mask, statements)
        self.names = self.names.parents
        return mask

    def run_if(self, mask: Any, test: Node, yes: Node, no: Node | None) -> Any:
        holds = self.test(test, mask)
        return self.run(yes, mask & holds) | self.run(no, mask & ~holds)

    def run_while(self, mask: Any, test: Node, body: Node, step: Node | None) -> Any:
        done: Any = NONE
        for _ in range(_MOST_ROUNDS):
            holds = self.test(test, mask)
            done, mask = done | mask & ~holds, mask & holds
            if not mask.any():
                return done
            self.left.append({"break": NONE, "continue": NONE})
            mask = self.run(body, mask)
            left = self.left.pop()
            done, mask = done | left["break"], mask | left["continue"]
            self.run(step, mask)
        raise RuntimeError(f"after {_MOST_ROUNDS:,} rounds this loop hasn't ended: {body.line}")

    def run_leave(self, mask: Any, word: str) -> Any:
        if self.left:  # outside a loop, the thread is done
            self.left[-1][word] = self.left[-1][word] | mask
        return NONE

    def run_return(self, mask: Any, value: Node | None) -> Any:
        if value is not None:
            self.store(self.result, self.value(value, mask), mask)
        return NONE

    def run_declare(self, mask: Any, kind: Any, name: str, first: Any, words: frozenset[str]) -> Any:
        """int x = 1.5 is int x = int(1.5), but a pointer or a reference is a place."""
        if "__shared__" in words:
            raise no_translation(self.line, "__shared__")
        if isinstance(first, list):
            first = first[0] if first else None
        if isinstance(kind, (Pointer, Reference)) and first is not None:
            found = self.target(first, mask)
        elif isinstance(kind, Deduced):
            found = self.value(first, mask)
        else:
            found = self.target(Node("cast", self.line, (kind, [] if first is None else [first])), mask)
        self.names[name] = Variable(found) if isinstance(found, (np.ndarray, np.generic)) else found
        return mask

    def run_array(
        self, mask: Any, kind: Any, name: str, lengths: list[Node | None], first: list[Node] | None, words: frozenset
    ) -> Any:
        """A thread's own array is a list of variables."""
        if "__shared__" in words or len(lengths) > 1:
            raise no_translation(self.line, "__shared__" if "__shared__" in words else "an array of several axes")
        values = [self.cast(self.value(node, mask), self.dtype(kind)) for node in first or []]
        count = len(values) if lengths[0] is None else int(self.value(lengths[0], mask))
        values += [self.dtype(kind).type(0)] * (count - len(values))
        self.names[name] = list(map(Variable, values))
        return mask

    def target(self, node: Node, mask: Any) -> Any:
        """What a node means: a place, an array, or a value."""
        before, self.line = self.line, node.line
        method = getattr(self, f"at_{node.kind}", None)
        if method is None:
            raise no_translation(node.line, node.kind)
        found = method(mask, *node.parts)
        self.line = before
        return found

    def value(self, node: Node, mask: Any) -> Any:
        found = self.target(node, mask)
        if hasattr(found, "read"):
            found = found.read(mask)
        if not isinstance(found, (np.ndarray, np.generic)):
            raise no_translation(node.line, "an array, a pointer or nothing as a number")
        return found

    def test(self, node: Node, mask: Any) -> Any:
        return cast(self.value(node, mask), np.dtype(bool))

    def at_number(self, mask: Any, number: Any) -> Any:
        return number

    def at_comma(self, mask: Any, first: Node, second: Node) -> Any:
        self.target(first, mask)
        return self.target(second, mask)

    def at_address(self, mask: Any, node: Node) -> Any:
        """What a pointer means here is the place itself."""
        return self.target(node, mask)

    at_deref = at_address

    def at_cast(self, mask: Any, kind: Any, parts: list[Node]) -> Any:
        if isinstance(kind, Pointer):
            return self.as_parts(self.target(parts[0], mask), kind)
        dtype, values = self.dtype(kind), [self.value(part, mask) for part in parts]
        if len(values) == 2 and dtype.kind == "c":
            return cast(values[0] + values[1] * np.complex64(1j), dtype)
        if values:
            return self.cast(values[0], dtype)
        return dtype.type(0)

    def as_parts(self, place: Any, kind: Pointer) -> Any:
        """A complex element as the first of its two parts."""
        dtype = self.dtype(kind.to)
        if not isinstance(place, Element) or place.dtype.kind != "c" or place.dtype.type(0).real.dtype != dtype:
            raise no_translation(self.line, f"a cast to {kind}")
        return Element(place.raw.parts(), place.number * 2, place.line)

    def at_unary(self, mask: Any, sign: str, node: Node) -> Any:
        if sign == "!":
            return ~self.test(node, mask)
        (value,) = alike(self.value(node, mask))
        return self.count(value.dtype, numbers.UNARY[sign](value))

    def at_binary(self, mask: Any, sign: str, left: Node, right: Node) -> Any:
        if sign == "+" and left.kind == "cast" and isinstance(left.parts[0], Pointer):
            place = self.target(left, mask)
            return Element(place.raw, place.number + cast(self.value(right, mask), SIZE), place.line)
        return self.compute(sign, self.value(left, mask), self.value(right, mask))

    def compute(self, sign: str, x: Any, y: Any) -> Any:
        if sign in ("<<", ">>"):
            kind = common(x.dtype)
        else:
            kind = common(x.dtype, y.dtype)
        if kind.kind in "fc" and sign in ("%", "&", "|", "^", "<<", ">>"):
            raise CompileException(f"{sign} takes whole numbers, got {x.dtype} and {y.dtype}: {self.line}")
        return self.count(kind, numbers.BINARY[sign](cast(x, kind), cast(y, kind)))

    def at_both(self, mask: Any, sign: str, left: Node, right: Node) -> Any:
        """``&&`` and ``||``: only the threads that still need the right side look at it."""
        first = self.test(left, mask)
        second = self.test(right, mask & (first if sign == "&&" else ~first))
        if sign == "&&":
            return first & second
        return first | second

    def at_conditional(self, mask: Any, test: Node, yes: Node, no: Node) -> Any:
        holds = self.test(test, mask)
        x, y = self.value(yes, mask & holds), self.value(no, mask & ~holds)
        x, y = (x, y) if x.dtype == y.dtype else alike(x, y)
        if np.ndim(holds):
            return np.where(holds, x, y)
        if holds:
            return x
        return y

    def at_assign(self, mask: Any, sign: str, left: Node, right: Node, gives_old: bool = False) -> Any:
        place, value = self.target(left, mask), self.value(right, mask)
        if not sign:
            return self.store(place, value, mask)
        old = place.read(mask)
        found = old.copy() if gives_old else None
        new = self.store(place, self.compute(sign, old, value), mask)
        if gives_old:
            return found
        return new

    def at_member(self, mask: Any, node: Node, name: str, args: list[Node]) -> Any:
        base = self.target(node, mask) if node.kind == "name" else None
        if name == "get" and isinstance(base, Indexer):
            return [Variable(np.asarray(place, SIZE)) for place in np.unravel_index(base.number, base.shape)]
        if name in ("size", "ndim", "shape") and isinstance(base, (Raw, Indexer)):
            sizes = {"size": math.prod(base.shape), "ndim": len(base.shape)}
            if name == "shape":
                return [Variable(SIZE.type(n), True) for n in base.shape]
            return SIZE.type(sizes[name])
        if name in ("real", "imag") and not args:
            return getattr(np, name)(self.value(node, mask))
        raise no_translation(self.line, f".{name}")

    def at_call(self, mask: Any, name: str, args: list[Node], given: tuple = ()) -> Any:
        if name in self.functions:
            several = self.functions[name]
            own = next((function for function in several if function.takes(len(args))), several[0])
            return self.call(own, mask, args)
        if name in numbers.ATOMIC:
            ufunc, place, value = numbers.ATOMIC[name], self.target(args[0], mask), self.value(args[1], mask)
            before = place.read(mask)
            if isinstance(place, Element):
                self.store(place, self.count(place.dtype, value), mask, ufunc)
            else:
                self.store(place, ufunc(before, value), mask)
            return None
        values = [self.value(arg, mask) for arg in args]
        try:
            value = numbers.call(name, values)
        except KeyError:
            raise no_translation(self.line, f"the function {name}") from None
        except (TypeError, ValueError) as error:
            raise CompileException(f"{name}: {error}: {self.line}") from None
        return self.count(common(*[x.dtype for x in values]), value, 10)

    def call(self, function: Function, mask: Any, args: list[Node]) -> Any:
        if not function.takes(len(args)):
            raise CompileException(f"{len(args)} arguments, but it takes {len(function.parameters)}: {self.line}")
        args = function.filled(args)
        types, scope = dict(self.types), {}
        letters = [name for name, _, _ in function.letters]
        for (kind, name), arg in zip(function.parameters, args):
            is_own = isinstance(kind, (Pointer, Reference))
            if is_own:
                kind = kind.to
            found = self.target(arg, mask) if is_own else self.value(arg, mask)
            if isinstance(kind, str) and kind in letters:
                types[kind] = found.dtype
            scope[name] = found if is_own else Variable(self.cast(found, self.dtype(types.get(kind, kind))))
        inner = copy.copy(self)  # a function has its own names, types, loops and result
        inner.names, inner.types, inner.left = self.outer.new_child(scope), types, []
        if function.returns is None:
            inner.result = None
        else:
            inner.result = Variable(inner.dtype(function.returns).type(0))
        inner.run(function.body, mask)
        if inner.result:
            return inner.result.value
        return None

    def at_name(self, mask: Any, name: str) -> Any:
        if name not in self.names:
            raise no_translation(self.line, f"the name {name}")
        return self.names[name]

    def at_index(self, mask: Any, base: Node, index: Node) -> Any:
        found, many = self.target(base, mask), self.target(index, mask) if index.kind == "name" else None
        if isinstance(many, list) and isinstance(found, Raw):  # a number for each axis
            steps = [SIZE.type(math.prod(found.shape[axis + 1 :])) for axis in range(len(many))]
            return Element(found, sum(cast(part.value, SIZE) * step for part, step in zip(many, steps)), self.line)
        number = cast(self.value(index, mask), SIZE)
        if isinstance(found, list):
            outside = (number < 0) | (number >= len(found))
            if (mask & outside).any():
                raise IndexError(f"an index is outside, there are {len(found)} elements: {self.line}")
            number = np.where(outside, 0, number)
            if number.ndim:
                return np.choose(number, [part.value for part in found])
            return found[int(number)]
        if not isinstance(found, (Raw, Element)):
            raise CompileException(f"only a raw array has elements to choose: {self.line}")
        raw, begin = (found.raw, found.number) if isinstance(found, Element) else (found, _ZERO)
        return Element(raw, begin + number, self.line)

    def store(self, place: Any, value: Any, mask: Any, *ufunc: np.ufunc) -> Any:
        if not hasattr(place, "write"):
            raise no_translation(self.line, "writing to this")
        if place.is_const:
            raise CompileException(f"a kernel can only write to its outputs: {self.line}")
        value = self.cast(value, place.dtype)
        place.write(mask, value, *ufunc)
        return value
