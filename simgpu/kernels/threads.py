"""All threads of a kernel at once: we compute each node of its tree with arrays that have an element for each thread.

A value is an array with the shape of the launch, or a NumPy number if all threads have the same. A *mask* says which
threads take part: `ALL`, `NONE`, or an array of booleans. So an ``if`` runs both branches, each with its own threads,
and a loop goes on until the last thread has left it.
"""

import copy
import math
import operator
from collections import ChainMap
from collections.abc import Callable
from typing import Any

import numpy as np

from . import numbers, parse
from .numbers import SIZE, alike, cast, common
from .parse import Deduced, Function, Named, Node, Reference, no_translation
from .places import ALL, NONE, Address, Array, Element, Indexer, Own, Pointer, Raw, Row, Variable, choose_address
from .preprocess import CompileException

_MOST_ROUNDS = 1_000_000
_COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
_TRAITS: dict[str, Callable] = {
    "is_floating_point": lambda x: x.kind == "f", "is_integral": lambda x: x.kind in "iub",
    "is_signed": lambda x: x.kind in "if", "is_unsigned": lambda x: x.kind in "ub",
    "is_arithmetic": lambda x: x.kind in "iubf", "is_same": operator.eq,
}  # fmt: skip


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
            owner = self.dtype(kind.name)
            if owner.kind != "c":
                raise CompileException(f"{parse.c_name(owner)} has no type value_type: {self.line}")
            return owner.type(0).real.dtype
        if isinstance(kind, Named) and kind.name == "complex":
            return np.result_type(self.dtype(kind.given[0]), np.complex64)
        if isinstance(kind, Named) and kind.name.removesuffix("_t") == "conditional":
            test, yes, no = kind.given
            return self.dtype(yes if self.test(test, ALL) else no)
        if isinstance(kind, Named) and kind.name.removesuffix("_t") == "enable_if":
            return self.dtype(kind.given[1])
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
        if node.kind == "call" and node.parts[0] in numbers.ATOMIC and node.parts[0] not in self.functions:
            self.run_atomic(mask, *node.parts)
        else:
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

    def run_do(self, mask: Any, test: Node, body: Node) -> Any:
        done: Any = NONE
        for _ in range(_MOST_ROUNDS):
            self.left.append({"break": NONE, "continue": NONE})
            mask = self.run(body, mask)
            left = self.left.pop()
            done, mask = done | left["break"], mask | left["continue"]
            holds = self.test(test, mask)
            done, mask = done | mask & ~holds, mask & holds
            if not mask.any():
                return done
        raise RuntimeError(f"after {_MOST_ROUNDS:,} rounds this loop hasn't ended: {body.line}")

    def run_switch(self, mask: Any, value: Node, cases: list[tuple[Node | None, list[Node]]]) -> Any:
        """A thread begins at its case, and goes on through the next ones until it comes to a break."""
        chosen = self.value(value, mask)
        begins = [None if case is None else mask & (chosen == self.value(case, mask)) for case, _ in cases]
        others = mask
        for begin in begins:
            if begin is not None:
                others = others & ~begin
        if None in [case for case, _ in cases]:
            done: Any = NONE
        else:
            done = others
        self.names = self.names.new_child()
        self.left.append({"break": NONE})
        inside: Any = NONE
        for begin, (_, statements) in zip(begins, cases):
            inside = self.run_together(inside | (others if begin is None else begin), statements)
        self.names = self.names.parents
        return done | inside | self.left.pop()["break"]

    def run_leave(self, mask: Any, word: str) -> Any:
        for left in reversed(self.left):  # a switch isn't left by continue
            if word in left:
                left[word] = left[word] | mask
                break
        return NONE  # outside a loop, the thread is done

    def run_return(self, mask: Any, value: Node | None) -> Any:
        if value is not None:
            self.store(self.result, self.operand(value, mask), mask)
        return NONE

    def run_declare(self, mask: Any, kind: Any, name: str, first: Any, words: frozenset[str]) -> Any:
        """int x = 1.5 is int x = int(1.5), but a reference is a place."""
        if "__shared__" in words:
            raise no_translation(self.line, "__shared__")
        if isinstance(first, list):
            first = first[0] if first else None
        is_const = bool(words & {"const", "constexpr"})
        if isinstance(kind, parse.Pointer):
            address = None if first is None else self.pointer(first, mask)
            if address is not None and kind.is_const:
                address = address._replace(is_const=True)
            self.names[name] = Pointer(address)
        elif isinstance(kind, Reference) and first is not None:
            self.names[name] = self.target(first, mask)
        elif isinstance(kind, Deduced):
            found = self.operand(first, mask)
            self.names[name] = Pointer(found) if isinstance(found, Address) else Variable(found, is_const)
        else:
            found = self.target(Node("cast", self.line, (kind, [] if first is None else [first])), mask)
            self.names[name] = Variable(found, is_const)
        return mask

    def run_array(
        self, mask: Any, kind: Any, name: str, lengths: list[Node | None], first: list | None, words: frozenset
    ) -> Any:
        """A thread's own array, which begins with what's in the braces, and then zeros."""
        if "__shared__" in words:
            raise no_translation(self.line, "__shared__")
        counts = [len(first or []) if length is None else int(self.value(length, mask)) for length in lengths]
        is_const = bool(words & {"const", "constexpr"})
        array = Array(np.zeros(math.prod(counts), self.dtype(kind)), tuple(counts), self.shape, is_const)
        self.names[name] = array
        self._fill(array, first or [], mask)
        return mask

    def _fill(self, array: Any, first: list, mask: Any) -> None:
        for number, node in enumerate(first):
            place = array.part(SIZE.type(number), self.line)
            if isinstance(node, list):
                self._fill(place, node, mask)
            elif isinstance(place, Row):
                raise no_translation(self.line, "an array of several axes whose first values aren't in braces")
            else:
                place.write(ALL, self.cast(self.value(node, mask), array.dtype))

    def target(self, node: Node, mask: Any) -> Any:
        """What a node means: a place, an array, or a value."""
        before, self.line = self.line, node.line
        method = getattr(self, f"at_{node.kind}", None)
        if method is None:
            raise no_translation(node.line, node.kind)
        found = method(mask, *node.parts)
        self.line = before
        return found

    def operand(self, node: Node, mask: Any) -> Any:
        """A number, or an address: an array stands for that of its first element."""
        return self.read(self.target(node, mask), mask)

    def read(self, found: Any, mask: Any) -> Any:
        if isinstance(found, (Array, Row)):
            return found.address(self.line)
        if hasattr(found, "read"):
            return found.read(mask)
        return found

    def value(self, node: Node, mask: Any) -> Any:
        found = self.operand(node, mask)
        if not isinstance(found, (np.ndarray, np.generic)):
            raise no_translation(node.line, "an array, a pointer or nothing as a number")
        return found

    def pointer(self, node: Node, mask: Any) -> Address:
        found = self.operand(node, mask)
        if isinstance(found, Raw):
            raise CompileException(f"{found.name} is an array and no pointer, &{found.name}[0] is one: {node.line}")
        if not isinstance(found, Address):
            raise no_translation(node.line, "this as a pointer")
        return found

    def test(self, node: Node, mask: Any) -> Any:
        return cast(self.value(node, mask), np.dtype(bool))

    def at_number(self, mask: Any, number: Any) -> Any:
        return number

    def at_comma(self, mask: Any, first: Node, second: Node) -> Any:
        self.target(first, mask)
        return self.target(second, mask)

    def at_address(self, mask: Any, node: Node) -> Any:
        found = self.target(node, mask)
        if not hasattr(found, "address"):
            raise no_translation(self.line, "the address of this")
        return found.address(self.line)

    def at_deref(self, mask: Any, node: Node) -> Any:
        return self.pointer(node, mask).place(mask, self.line)

    def at_sizeof(self, mask: Any, what: Any) -> Any:
        if not isinstance(what, Node):
            return np.uint64(self.dtype(what).itemsize)
        found = self.target(what, mask)
        if isinstance(found, (Array, Row)):
            return np.uint64(math.prod(found.lengths) * found.dtype.itemsize)
        return np.uint64(self.read(found, mask).dtype.itemsize)

    def at_trait(self, mask: Any, name: str, given: tuple) -> Any:
        """What a type is, such as ``std::is_signed<T>::value``."""
        types = [self.dtype(kind) for kind in given]
        return np.bool_(_TRAITS[name](*types))

    def at_cast(self, mask: Any, kind: Any, parts: list[Node]) -> Any:
        if isinstance(kind, parse.Pointer):
            return self.cast_pointer(self.operand(parts[0], mask), kind)
        dtype, values = self.dtype(kind), [self.value(part, mask) for part in parts]
        if len(values) == 2 and dtype.kind == "c":
            return cast(values[0] + values[1] * np.complex64(1j), dtype)
        if values:
            return self.cast(values[0], dtype)
        return dtype.type(0)

    def cast_pointer(self, address: Any, kind: parse.Pointer) -> Address:
        """The same address, where something else is said to lie."""
        if not isinstance(address, Address):
            raise no_translation(self.line, f"a cast to {kind}")
        return address._replace(dtype=self.dtype(kind.to), is_const=kind.is_const)

    def at_unary(self, mask: Any, sign: str, node: Node) -> Any:
        if sign == "!":
            return ~self.test(node, mask)
        (value,) = alike(self.value(node, mask))
        return self.count(value.dtype, numbers.UNARY[sign](value))

    def at_binary(self, mask: Any, sign: str, left: Node, right: Node) -> Any:
        x, y = self.operand(left, mask), self.operand(right, mask)
        if isinstance(x, Address) or isinstance(y, Address):
            return self.compute_address(sign, x, y)
        for found, node in (x, left), (y, right):
            if not isinstance(found, (np.ndarray, np.generic)):
                raise no_translation(node.line, "an array, a pointer or nothing as a number")
        return self.compute(sign, x, y)

    def compute_address(self, sign: str, x: Any, y: Any) -> Any:
        """A pointer plus a number; the distance of two, in elements; and which one comes first."""
        if isinstance(x, Address) and isinstance(y, Address):
            if x.base is not y.base:
                raise no_translation(self.line, "pointers into two arrays")
            if sign == "-":
                return (x.offset - y.offset) // SIZE.type(x.dtype.itemsize)
            if sign in _COMPARISONS:
                return _COMPARISONS[sign](x.offset, y.offset)
        elif sign == "+":
            if isinstance(x, Address):
                return x.plus(y)
            return y.plus(x)
        elif sign == "-" and isinstance(x, Address):
            return x.plus(-cast(y, SIZE))
        raise no_translation(self.line, f"{sign} with a pointer")

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
        x, y = self.operand(yes, mask & holds), self.operand(no, mask & ~holds)
        if isinstance(x, Address) and isinstance(y, Address):
            return choose_address(holds, x, y)
        x, y = (x, y) if x.dtype == y.dtype else alike(x, y)
        if np.ndim(holds):
            return np.where(holds, x, y)
        if holds:
            return x
        return y

    def at_assign(self, mask: Any, sign: str, left: Node, right: Node, gives_old: bool = False) -> Any:
        value = self.operand(right, mask)  # C++ says that the right side comes first
        place = self.target(left, mask)
        if not sign:
            return self.store(place, value, mask)
        old = self.read(place, mask)
        if isinstance(old, Address):
            new = self.store(place, self.compute_address(sign, old, value), mask)
            if gives_old:
                return old
            return new
        found = old.copy() if gives_old else None
        new = self.store(place, self.compute(sign, old, value), mask)
        if gives_old:
            return found
        return new

    def at_member(self, mask: Any, node: Node, name: str, args: list[Node]) -> Any:
        base = self.target(node, mask) if node.kind == "name" else None
        if name == "get" and isinstance(base, Indexer):
            places = np.stack(np.unravel_index(base.number, base.shape)).astype(SIZE)
            array = Array(np.zeros(len(places), SIZE), (len(places),), self.shape, False)
            array.values = places.reshape(len(places), *self.shape)
            return array
        if name in ("size", "ndim", "shape", "strides") and isinstance(base, (Raw, Indexer)):
            if name == "size":
                return SIZE.type(math.prod(base.shape))
            if name == "ndim":
                return np.int32(len(base.shape))
            if name == "shape" or isinstance(base, Raw):
                numbers_of = np.array(getattr(base, name), SIZE)
                return Array(numbers_of, numbers_of.shape, self.shape, True)
        if name in ("real", "imag") and not args:
            return getattr(np, name)(self.value(node, mask))
        raise no_translation(self.line, f".{name}")

    def at_call(self, mask: Any, name: str, args: list[Node], given: tuple = ()) -> Any:
        if name in self.functions:
            return self.call(mask, name, args, given)
        if name in numbers.ATOMIC:
            return self.at_atomic(mask, name, args)
        if name in ("sincos", "sincosf", "__sincosf", "sincospi", "sincospif"):
            return self.write_both(mask, name, args)
        values = [self.value(arg, mask) for arg in args]
        try:
            value = numbers.call(name, values)
        except KeyError:
            raise no_translation(self.line, f"the function {name}") from None
        except (TypeError, ValueError) as error:
            raise CompileException(f"{name}: {error}: {self.line}") from None
        return self.count(common(*[x.dtype for x in values]), value, 10)

    def write_both(self, mask: Any, name: str, args: list[Node]) -> None:
        """``sincos(x, &s, &c)`` writes both to where the pointers point."""
        x, ending = self.value(args[0], mask), name.partition("sincos")[2]
        for kind, target in zip(("sin", "cos"), args[1:]):
            place = self.pointer(target, mask).place(mask, self.line)
            self.store(place, self.count(x.dtype, numbers.call(kind + ending, [x]), 10), mask)

    def run_atomic(self, mask: Any, name: str, args: list[Node], given: tuple = ()) -> None:
        """An atomic whose result nobody asks for: all threads at once."""
        ufunc = numbers.ATOMIC[name]
        place = self.pointer(args[0], mask).place(mask, self.line)
        if not isinstance(ufunc, np.ufunc) or not isinstance(place, Element):
            self.at_atomic(mask, name, args)
            return
        value = self.value(args[1], mask)
        self.store(place, self.count(place.dtype, value), mask, ufunc)

    def at_atomic(self, mask: Any, name: str, args: list[Node], given: tuple = ()) -> Any:
        """The value before. The threads go one after the other."""
        place = self.pointer(args[0], mask).place(mask, self.line)
        operands = [self.cast(self.value(arg, mask), place.dtype) for arg in args[1:]]
        self.refuse_const(place)
        compute = numbers.ATOMIC[name]
        self.count(place.dtype, operands[0])
        if isinstance(place, Element):
            return place.exchange(mask, compute, *operands)
        before = place.read(mask)
        place.write(mask, cast(np.asarray(compute(before, *operands))[()], place.dtype))
        return before

    def call(self, mask: Any, name: str, args: list[Node], given: tuple) -> Any:
        """Call a function of the preamble."""
        targets = [self.target(arg, mask) for arg in args]
        function, types = self.choose(name, targets, given)
        filled = function.filled(args)
        targets += [self.target(arg, mask) for arg in filled[len(args) :]]
        scope: dict[str, Any] = {}
        for (kind, parameter), found, arg in zip(function.parameters, targets, filled):
            if isinstance(kind, Reference) and self._is_that(kind.to, found, types):
                scope[parameter] = found
                continue
            if isinstance(kind, Reference):
                if not kind.is_const:
                    raise CompileException(f"a reference to {parse.c_name(kind.to)} takes no other type: {arg.line}")
                kind = kind.to
            value = self.read(found, mask)
            if isinstance(value, Address):
                scope[parameter] = Pointer(value)
            elif isinstance(kind, parse.Pointer) or not isinstance(value, (np.ndarray, np.generic)):
                raise no_translation(arg.line, "an array, a pointer or nothing as a number")
            else:
                scope[parameter] = Variable(self.cast(value, self._with(types).dtype(kind)))
        inner = self._with(types)  # a function has its own names, types, loops and result
        inner.names, inner.left = self.outer.new_child(scope), []
        for letter, kind, _ in function.letters:
            if kind is not None:
                inner.names[letter] = Variable(types[letter], True)
        if function.returns is None:
            inner.result = None
        elif isinstance(function.returns, (parse.Pointer, Deduced)):
            inner.result = Pointer(None)
        else:
            inner.result = Variable(inner.dtype(function.returns).type(0))
        inner.run(function.body, mask)
        if inner.result:
            return inner.result.read(mask)
        return None

    def _is_that(self, kind: Any, found: Any, types: dict[str, Any]) -> bool:
        """Whether a reference to this type means it, and not a copy."""
        if isinstance(kind, (parse.Pointer, Deduced)) or not hasattr(found, "dtype"):
            return True
        return self._with(types).dtype(kind) == found.dtype

    def _with(self, types: dict[str, Any]) -> "Threads":
        other = copy.copy(self)
        other.types = types
        return other

    def choose(self, name: str, targets: list[Any], given: tuple) -> tuple[Function, dict[str, Any]]:
        """The function that fits, as C++ overloads it, and what its template's letters stand for."""
        several = self.functions[name]
        if not any(function.takes(len(targets)) for function in several):
            takes = len(several[0].parameters)
            raise CompileException(f"{len(targets)} arguments, but it takes {takes}: {self.line}")
        best, least = None, None
        for function in several:
            types = self.letters_of(function, targets, given)
            if types is None or function.given:
                continue
            rank = self._distance(function, targets, types), bool(function.letters)
            if least is None or rank < least:
                best, least = (function, types), rank
        if best is None:
            raise CompileException(f"no function {name} takes these: {self.line}")
        return self._specialized(several, *best)

    def _distance(self, function: Function, targets: list[Any], types: dict[str, Any]) -> int:
        """How far its parameters' types are from what it gets."""
        inner, found = self._with(types), 0
        for (kind, _), x in zip(function.parameters, targets):
            to = getattr(kind, "to", kind)
            if hasattr(x, "dtype") and not isinstance(to, Deduced):
                found += numbers.distance(x.dtype, inner.dtype(to))
        return found

    def _specialized(
        self, several: list[Function], function: Function, types: dict[str, Any]
    ) -> tuple[Function, dict[str, Any]]:
        """What stands for this template with these letters, ``template <> … name<float>(…)``, if that's written."""
        letters = [types[letter] for letter, _, _ in function.letters]
        for one in several:
            own = [self.letter_value(kind) for kind in one.given]
            is_for_these = own and len(own) == len(letters) and all(map(_is_equal, own, letters))
            if is_for_these and one.takes_as_many(function):
                return one, types
        return function, types

    def letters_of(self, function: Function, targets: list[Any], given: tuple) -> dict[str, Any] | None:
        """What the letters of a function's template stand for. None if it doesn't take these."""
        if not function.takes(len(targets)):
            return None
        if not function.could_be_given(given):
            return None
        wanted = [self.letter_value(kind) for kind in given]
        types = dict(self.types)
        letters = [letter for letter, _, _ in function.letters]
        known = dict(zip(letters, wanted))
        for (kind, _), x in zip(function.parameters, targets):
            letter = getattr(kind, "to", kind)
            if isinstance(letter, str) and letter in letters:
                known.setdefault(letter, self.dtype_of(x))
        for letter, _, default in function.letters:
            if letter not in known:
                if default is None:  # nothing says what it is
                    return None
                known[letter] = self.letter_value(default)
        types |= known
        condition = function.returns
        is_bound = isinstance(condition, Named) and condition.name.removesuffix("_t") == "enable_if"
        if is_bound and not self._with(types).test(condition.given[0], ALL):
            return None
        return types

    def letter_value(self, given: Any) -> Any:
        """A type, or a number."""
        if isinstance(given, Node):
            return self.value(given, ALL)
        return self.dtype(given)

    def dtype_of(self, found: Any) -> Any:
        if isinstance(found, Pointer):
            found = found.read(ALL)
        return found.dtype

    def at_name(self, mask: Any, name: str) -> Any:
        if name not in self.names:
            raise no_translation(self.line, f"the name {name}")
        return self.names[name]

    def at_index(self, mask: Any, base: Node, index: Node) -> Any:
        found, many = self.target(base, mask), self.target(index, mask) if index.kind == "name" else None
        if isinstance(many, Array) and isinstance(found, Raw):  # a number for each axis
            return Element(found, self._number_of(found, many, mask), self.line)
        number = cast(self.value(index, mask), SIZE)
        if isinstance(found, Raw):
            return Element(found, number, self.line)
        if isinstance(found, (Array, Row)):
            return found.part(number, self.line)
        address = self.read(found, mask)
        if not isinstance(address, Address):
            raise CompileException(f"only an array or a pointer has elements to choose: {self.line}")
        return address.plus(number).place(mask, self.line)

    def _number_of(self, raw: Raw, places: Array, mask: Any) -> Any:
        """An element's number, from its place along each axis."""
        number: Any = SIZE.type(0)
        for axis, length in enumerate(raw.shape):
            place = places.part(SIZE.type(axis), self.line).read(mask)
            number = number * SIZE.type(length) + cast(place, SIZE)
        return number

    def refuse_const(self, place: Any) -> None:
        if not place.is_const:
            return
        if isinstance(place, (Own, Element)):
            raise CompileException(f"a kernel can only write to its outputs: {self.line}")
        raise CompileException(f"this is const, so it can't be changed: {self.line}")

    def store(self, place: Any, value: Any, mask: Any, *ufunc: np.ufunc) -> Any:
        if not hasattr(place, "write"):
            raise no_translation(self.line, "writing to this")
        self.refuse_const(place)
        if isinstance(place, Pointer) or isinstance(value, Address):
            if not (isinstance(place, Pointer) and isinstance(value, Address)):
                raise no_translation(self.line, "an array, a pointer or nothing as a number")
            place.write(mask, value)
            return value
        value = self.cast(value, place.dtype)
        place.write(mask, value, *ufunc)
        return value


def _is_equal(a: Any, b: Any) -> bool:
    """Whether two things that a template is given are the same: types, or numbers."""
    return isinstance(a, np.generic) == isinstance(b, np.generic) and bool(a == b)
