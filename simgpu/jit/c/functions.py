"""CUDA's own functions and names: barriers, shuffles, votes, vectors, complex numbers, and C's functions of numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels import numbers
from ...kernels.parse import Node, Pointer, c_name, no_translation
from ...kernels.preprocess import CompileException, unescaped
from ...words import many, word_set
from ..errors import KernelError, OutOfBounds, StuckBarrier
from ..lanes import BARRIER, FUNCTION, OPERATION, SHUFFLE, WARP, Lanes, Mask
from ..memory import as_index
from ..names import FULL_WARP, check_givers, check_width, givers_of, of_lanes
from ..types import INT, UINT
from ..warps import check_part
from .places import InMemory, Place, Registers
from .source import VECTORS, CSite
from .terms import StructType, Term, computed, converted, decayed, is_pointer, known, truth

MOST_PRINTED = 64  # lines of one printf
Build = Callable[..., Term]
BUILTINS: dict[str, Build] = {}
_QUICK = word_set("min max abs fabsf fabs fminf fmaxf fmin fmax fmaf fma fdimf fdim")  # one operation or two, no more


def inside(lanes: Lanes, mask: Mask, index: Any, length: int, name: str, site: CSite) -> Any:
    """An index along an axis of an array, of this length. Raises `OutOfBounds`."""
    at = as_index(index)
    if isinstance(at, int):
        if 0 <= at < length:
            return index
        bad, first = mask.on, at
    else:
        if at.min() >= 0 and at.max() < length:
            return index
        bad = mask.on & ((at < 0) | (at >= length))
        if not bad.any():
            return index
        first = int(np.broadcast_to(at, bad.shape).ravel()[bad.argmax()])
    what = f"{name} has {length:,} elements along this axis, 0 to {length - 1:,}; index {first:,} is outside."
    raise site.wrong(OutOfBounds, what, "A GPU doesn't check.", lanes.first_of(bad))


def address_in_memory(t: Any, place: Place, line: Any) -> Term:
    """A pointer that's an element of an array: of a thread's own one."""
    find, load = place.find, place.load

    def run(lanes: Lanes, mask: Mask) -> Any:
        to = find(lanes, mask)
        if type(getattr(to, "part", None)) is not Registers:
            raise no_translation(line, "a pointer in memory")
        return load(lanes, mask, to)

    return Term(place.type, run, None, place.origin)


def builtin(*names: str) -> Callable[[Build], Build]:
    """What translates a call of these functions of CUDA: it gets the translation, the line, the name, the arguments."""

    def note(build: Build) -> Build:
        BUILTINS.update((name, build) for name in names)
        return build

    return note


def _values(t: Any, line: Any, name: str, args: list[Node], least: int, most: int | None = None) -> list[Term]:
    if not least <= len(args) <= (most or least):
        takes = many(least, "argument")
        if most:
            takes = f"{least} or {many(most, 'argument')}"
        raise CompileException(f"{name} takes {takes}, got {len(args)}: {line}")
    return [decayed(t.value(arg)) for arg in args]


def of_numbers(t: Any, line: Any, name: str, terms: list[Term]) -> Term:
    """C's functions of numbers, such as ``expf``."""
    for term in terms:
        if not isinstance(term.type, np.dtype):
            raise CompileException(f"{name} takes numbers, got {c_name(term.type)}: {line}")
    try:
        with np.errstate(all="ignore"):
            kind = numbers.call(name, [np.ones(1, term.type) for term in terms]).dtype
    except KeyError:
        raise no_translation(line, f"the function {name}") from None
    except (TypeError, ValueError, IndexError) as error:
        raise CompileException(f"{name}: {error}: {line}") from None
    cost = OPERATION if name in _QUICK else FUNCTION
    return computed(kind, terms, lambda *values: numbers.cast(numbers.call(name, list(values)), kind), cost)


# -- Barriers and fences ---------------------------------------------------------------------------


@builtin("__syncthreads")
def _syncthreads(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    site = t.site(line)
    return Term(None, lambda lanes, mask: lanes.barrier(mask, site))


@builtin("__syncthreads_count", "__syncthreads_and", "__syncthreads_or")
def _syncthreads_with(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    site, test = t.site(line), truth(_values(t, line, name, args, 1)[0], line).run

    def run(lanes: Lanes, mask: Mask) -> Any:
        seen = np.broadcast_to(np.asarray(test(lanes, mask)) & mask.on, lanes.shape)
        lanes.barrier(mask, site)
        count = seen.sum(1, keepdims=True)
        if name == "__syncthreads_count":
            return count.astype(np.int32)
        if name == "__syncthreads_or":
            return (count > 0).astype(np.int32)
        return (count == np.broadcast_to(mask.on, lanes.shape).sum(1, keepdims=True)).astype(np.int32)

    return Term(INT, run)


@builtin("__syncwarp")
def _syncwarp(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    site = t.site(line)
    given = _values(t, line, name, args, 0, 1)
    if not given or given[0].known is not None and int(given[0].known) & FULL_WARP == FULL_WARP:
        return Term(None, lambda lanes, mask: lanes.warp_barrier(mask, site))
    bits = converted(given[0], UINT, line).run
    return Term(None, lambda lanes, mask: lanes.part_barrier(mask, bits(lanes, mask), site))


@builtin("__threadfence", "__threadfence_block", "__threadfence_system")
def _fence(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    """Writes are seen in order here anyway."""
    return Term(None, lambda lanes, mask: mask.spend(BARRIER))


# -- Shuffles and votes: other lanes of the warp ----------------------------------------------------

_SHUFFLED = {"__shfl_sync": "", "__shfl_up_sync": "_up", "__shfl_down_sync": "_down", "__shfl_xor_sync": "_xor"}


def _together(t: Any, given: Term, line: Any, what: str) -> Callable[[Lanes, Mask], None]:
    """What checks that all lanes come that the mask of a shuffle or a vote names."""
    site = t.site(line)
    if given.known is not None and int(given.known) & FULL_WARP == FULL_WARP:

        def check_whole(lanes: Lanes, mask: Mask) -> None:
            if mask.count == lanes.alive:
                return
            if (stuck := lanes.stuck_in_warp(mask)) is not None:
                here, missing = stuck
                text = f"the mask names all lanes, and {missing} doesn't come here."
                raise site.wrong(StuckBarrier, text, f"Put {what} where all threads of a warp pass.", here)

        return check_whole
    bits = converted(given, UINT, line).run

    def check(lanes: Lanes, mask: Mask) -> None:
        check_part(lanes, mask, bits(lanes, mask), site)

    return check


@builtin(*_SHUFFLED)
def _shuffle(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    bits, value, by, *rest = _values(t, line, name, args, 3, 4)
    check = _together(t, bits, line, "the shuffle")
    kind = numbers.common(value.type) if value.type.kind in "biu?" else value.type
    if not isinstance(kind, np.dtype) or kind.kind not in "iuf":
        raise CompileException(f"{name} doesn't take {c_name(value.type)}: {line}")
    run_value, run_by = converted(value, kind, line).run, converted(by, INT, line).run
    width = converted(rest[0] if rest else known(np.int32(WARP)), INT, line).run
    site, way = t.site(line), _SHUFFLED[name]

    def run(lanes: Lanes, mask: Mask) -> Any:
        mask.spend(SHUFFLE)
        check(lanes, mask)
        size = np.asarray(width(lanes, mask)).astype(np.int64)
        check_width(lanes, mask, size, site)
        come = givers_of(lanes, way, run_by(lanes, mask), size)
        check_givers(lanes, mask, come, site)
        return of_lanes(np.asarray(run_value(lanes, mask)), come)

    return Term(kind, run)


@builtin("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__ballot", "__any", "__all")
def _without_mask(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    raise CompileException(f"{name} is gone since CUDA 9 on newer cards: write {name}_sync with a mask: {line}")


@builtin("__ballot_sync", "__any_sync", "__all_sync")
def _vote(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    bits, test = _values(t, line, name, args, 2)
    check, run_test = _together(t, bits, line, "the vote"), truth(test, line).run

    def run(lanes: Lanes, mask: Mask) -> Any:
        mask.spend(SHUFFLE)
        check(lanes, mask)
        on = np.broadcast_to(mask.on, lanes.shape).reshape(lanes.blocks, -1, WARP)
        seen = np.broadcast_to(np.asarray(run_test(lanes, mask)), lanes.shape).reshape(on.shape) & on
        if name == "__ballot_sync":
            found = (seen.astype(np.uint32) << np.arange(WARP, dtype=np.uint32)).sum(2, dtype=np.uint32)
        elif name == "__any_sync":
            found = seen.any(2).astype(np.int32)
        else:
            found = (seen | ~on).all(2).astype(np.int32)
        return np.repeat(found, WARP, 1)

    return Term(UINT if name == "__ballot_sync" else INT, run)


@builtin("__activemask")
def _activemask(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    def run(lanes: Lanes, mask: Mask) -> Any:
        on = np.broadcast_to(mask.on, lanes.shape).reshape(lanes.blocks, -1, WARP)
        return np.repeat((on.astype(np.uint32) << np.arange(WARP, dtype=np.uint32)).sum(2, dtype=np.uint32), WARP, 1)

    return Term(UINT, run)


# -- Memory ----------------------------------------------------------------------------------------


@builtin("__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv")
def _load(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    (pointer,) = _values(t, line, name, args, 1)
    if not is_pointer(pointer):
        raise CompileException(f"{name} takes a pointer, got {c_name(pointer.type)}: {line}")
    return InMemory(pointer, t.site(line)).read()


@builtin("sincos", "sincosf", "__sincosf", "sincospi", "sincospif")
def _sincos(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    x, *pointers = _values(t, line, name, args, 3)
    kind = np.dtype("float32" if name.endswith("f") else "float64")
    if name in ("sincos", "sincospi") and pointers[0].type == Pointer(np.dtype("float32")):  # C++ has these, too
        kind = np.dtype("float32")
    places = [InMemory(converted(pointer, Pointer(kind), line), t.site(line)) for pointer in pointers]
    run = converted(x, kind, line).run
    for place in places:
        t.program.stored |= place.origin

    def store(lanes: Lanes, mask: Mask) -> None:
        mask.spend(FUNCTION)
        value = run(lanes, mask)
        if "pi" in name:
            value = value * kind.type(np.pi)
        for place, function in zip(places, (np.sin, np.cos)):
            place.store(lanes, mask, place.find(lanes, mask), function(value))

    return Term(None, store)


# -- Vectors and complex numbers -------------------------------------------------------------------


def _make_vector(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    dtype, count = VECTORS[name[5:]]
    kind = StructType(name[5:], tuple((axis, np.dtype(dtype)) for axis in "xyzw"[:count]))
    if len(args) != count:
        raise CompileException(f"{name} takes {many(count, 'argument')}, got {len(args)}: {line}")
    return t.struct_of(kind, args, line)


BUILTINS.update((f"make_{name}", _make_vector) for name in VECTORS)
_COMPLEX: dict[str, np.dtype] = {"f": np.dtype("complex64"), "": np.dtype("complex128")}


@builtin("make_cuComplex", "make_cuFloatComplex", "make_cuDoubleComplex")
def _make_complex(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    kind = np.dtype("complex128" if "Double" in name else "complex64")
    part = kind.type(0).real.dtype
    terms = [converted(term, part, line) for term in _values(t, line, name, args, 2)]
    return computed(kind, terms, lambda a, b: numbers.cast(a + b * np.complex64(1j), kind))


_CU_COMPLEX: dict[str, tuple[int, Callable]] = {
    "cuCadd": (2, np.add), "cuCsub": (2, np.subtract), "cuCmul": (2, np.multiply), "cuCdiv": (2, np.divide),
    "cuConj": (1, np.conj), "cuCabs": (1, np.abs), "cuCreal": (1, np.real), "cuCimag": (1, np.imag),
    "cuCfma": (3, lambda x, y, z: x * y + z),
}  # fmt: skip


@builtin(*_CU_COMPLEX, *(f"{name}f" for name in _CU_COMPLEX))
def _cu_complex(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    kind = _COMPLEX["f" if name.endswith("f") else ""]
    count, compute = _CU_COMPLEX[name.removesuffix("f")]
    terms = [converted(term, kind, line) for term in _values(t, line, name, args, count)]
    out = compute(*[np.ones(1, kind)] * count).dtype
    return computed(out, terms, compute)


@builtin("cuComplexFloatToDouble", "cuComplexDoubleToFloat")
def _cu_convert(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    kind = np.dtype("complex128" if name.endswith("ToDouble") else "complex64")
    return converted(_values(t, line, name, args, 1)[0], kind, line)


# -- Bits, and functions of certain types -----------------------------------------------------------------------------

_VIEWS = {
    "__float_as_int": "fi", "__int_as_float": "if", "__float_as_uint": "fI", "__uint_as_float": "If",
    "__double_as_longlong": "dq", "__longlong_as_double": "qd",
}  # fmt: skip


@builtin(*_VIEWS)
def _as_bits(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    of, to = map(np.dtype, _VIEWS[name])
    (x,) = _values(t, line, name, args, 1)
    return computed(
        to, [converted(x, of, line)], lambda value: np.ascontiguousarray(value).view(to).reshape(np.shape(value))[()]
    )


def _reversed_bits(x: Any) -> Any:
    found = np.zeros_like(x)
    for k in range(32):
        found |= (x >> np.uint32(k) & np.uint32(1)) << np.uint32(31 - k)
    return found


def _leading_zeros(x: Any) -> Any:
    bits = 8 * x.dtype.itemsize
    found = np.zeros(np.shape(x), np.int32)
    for k in range(bits):
        found = np.where(x >> x.dtype.type(k) != 0, k + 1, found)
    return (bits - found).astype(np.int32)[()]


def _first_bit(x: Any) -> Any:
    low = x & (~x + x.dtype.type(1))
    return np.where(x == 0, 0, 8 * x.dtype.itemsize - _leading_zeros(low)).astype(np.int32)[()]


# Functions of certain types: those of the operands, the result's, and what they compute.
_TYPED: dict[str, tuple[str, str, Callable]] = {
    "__clz": ("I", "i", _leading_zeros), "__clzll": ("Q", "i", _leading_zeros), "__ffs": ("I", "i", _first_bit),
    "__ffsll": ("Q", "i", _first_bit), "__brev": ("I", "I", _reversed_bits), "__popcll": ("Q", "i", np.bitwise_count),
    "__mul24": ("ii", "i", np.multiply), "__umul24": ("II", "I", np.multiply),
    "__mulhi": ("qq", "i", lambda x, y: x * y >> np.int64(32)),
    "__umulhi": ("QQ", "I", lambda x, y: x * y >> np.uint64(32)),
    "__umul64hi": ("QQ", "Q", lambda x, y: _high_half(x, y)),
    "__half2float": ("e", "f", np.positive), "__float2half": ("f", "e", np.positive),
    "__float2half_rn": ("f", "e", np.positive), "__int2float_rn": ("i", "f", np.positive),
    "__float2int_rn": ("f", "i", np.rint), "__float2int_rd": ("f", "i", np.floor),
    "__float2int_ru": ("f", "i", np.ceil), "__float2int_rz": ("f", "i", np.trunc),
    "lrint": ("d", "q", np.rint), "lrintf": ("f", "q", np.rint), "llrint": ("d", "q", np.rint),
    "__saturatef": ("f", "f", lambda x: np.fmin(np.fmax(x, np.float32(0)), np.float32(1))),
    "__fadd_rn": ("ff", "f", np.add), "__fmul_rn": ("ff", "f", np.multiply), "__dadd_rn": ("dd", "d", np.add),
    "__dmul_rn": ("dd", "d", np.multiply), "__frcp_rn": ("f", "f", np.reciprocal),
    "__fsub_rn": ("ff", "f", np.subtract),
    "__dsub_rn": ("dd", "d", np.subtract), "__ddiv_rn": ("dd", "d", np.true_divide),
    "__fdiv_rn": ("ff", "f", np.true_divide), "__fmaf_rn": ("fff", "f", lambda x, y, z: x * y + z),
    "exp10f": ("f", "f", lambda x: np.power(np.float32(10), x)), "exp10": ("d", "d", lambda x: np.power(10.0, x)),
    "nextafterf": ("ff", "f", np.nextafter), "nextafter": ("dd", "d", np.nextafter),
    "norm3df": ("fff", "f", lambda x, y, z: np.sqrt(x * x + y * y + z * z)),
}  # fmt: skip


def _high_half(x: Any, y: Any) -> Any:
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    middle = (x & low) * (y & low) >> half
    first = (x >> half) * (y & low) + middle
    second = (x & low) * (y >> half) + (first & low)
    return (x >> half) * (y >> half) + (first >> half) + (second >> half)


@builtin(*_TYPED)
def _typed(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    kinds, out, compute = _TYPED[name]
    terms = [converted(term, np.dtype(k), line) for k, term in zip(kinds, _values(t, line, name, args, len(kinds)))]
    to = np.dtype(out)
    return computed(to, terms, lambda *values: numbers.cast(np.asarray(compute(*values))[()], to))


# -- What a thread says ----------------------------------------------------------------------------


# One value in printf's text: signs and width, a length such as ll, and how it's written.
_FORMAT = re.compile(r"%([-+ #0]*(?:\*|\d*)(?:\.(?:\*|\d*))?)(?:hh?|ll?|[jztL])?([a-zA-Z%])")


@builtin("printf")
def _printf(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    if not args or args[0].kind != "text":
        raise no_translation(line, "printf without a text")
    text = unescaped(args[0].parts[0])
    terms = [decayed(t.value(arg)) for arg in args[1:]]
    writes = []  # how each value is written; a star takes one, too
    for way, letter in _FORMAT.findall(text):
        if letter not in "diuoxXcfFeEgG%":
            raise no_translation(line, f"printf's %{letter}")
        writes += ["d"] * way.count("*") + [letter] * (letter != "%")
    if len(writes) > len(terms):
        raise CompileException(f"printf's text takes {len(writes)} values, got {len(terms)}: {line}")
    text = _FORMAT.sub(r"%\1\2", text)
    runs = [term.run for term in terms]

    def run(lanes: Lanes, mask: Mask) -> Any:
        values = [lanes.select(mask, one(lanes, mask)) for one in runs]
        for k in range(min(mask.count, MOST_PRINTED)):
            print(text % tuple([_written(value[k], letter) for letter, value in zip(writes, values)]), end="")
        return np.int32(len(runs))

    return Term(INT, run)


def _written(value: Any, letter: str) -> Any:
    """A number as printf takes it: its bits, for %d with a sign, for %u and its like without."""
    if value.dtype.kind not in "iu":
        return value.item()
    bits = 8 * max(4, value.dtype.itemsize)
    number = int(value) % 2**bits
    if letter in "di" and number >= 2 ** (bits - 1):
        return number - 2**bits
    if letter == "c":
        return number % 256
    return number


@builtin("assert")
def _assert(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    site, test = t.site(line), truth(_values(t, line, name, args, 1)[0], line).run

    def run(lanes: Lanes, mask: Mask) -> None:
        wrong = mask.on & ~np.asarray(test(lanes, mask))
        if wrong.any():
            raise site.wrong(KernelError, "assert isn't true in this thread.", "", lanes.first_of(wrong))

    return Term(None, run)
