"""CuPy's functions out of SciPy's: what's on a GPU is computed by SciPy, counted, and comes back on the GPU.

A table of `tables/` has a row for each function:

takes      the parameters of CuPy's function, in order; those after * go by name only
launches   how many kernels a call is; or a word of `COUNTS`, for what depends on the arguments
known      whether that was read in CuPy's source (``where`` says at which line), or is guessed
reads      how many bytes the host reads, and waits for
lists      CuPy moves lists and host arrays to the GPU by itself. Without it, they're refused, as CuPy refuses them
host       its results are numbers of the host
"""

import functools
import importlib
import inspect
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import fusion
from ...device import current
from ...functions import ufunc
from ...launches import Commands
from ...memory import LACKING_DTYPES, Stored, root_of
from ...places import current_card, device_among, one_device
from ...polynomials import poly1d
from ...refusals import refusal
from ...surface import attribute_error, getter
from ...words import Unsupported, word_set

# What's always the host's: no array of a GPU is expected there, and a host array isn't refused.
OF_HOST = word_set("""
    axes axis s n size sigma order shape shift zoom mode cval origin origin1 origin2 angle reshape output_shape offset
    norm type fs nperseg noverlap nfft N Wn M num up down deg shape structure_shape iterations sampling x_range
    spacing truncate radius connectivity rank sizes border_value width height distance threshold prominence plateau_size
""")


class Row(NamedTuple):
    """What a table says of one function, or of a method."""

    name: str
    takes: tuple[str, ...]
    launches: int | str
    known: str
    where: str = ""
    reads: int = 0
    lists: bool = False
    host: bool = False

    @property
    def positional(self) -> tuple[str, ...]:
        if "*" in self.takes:
            return self.takes[: self.takes.index("*")]
        return tuple(name for name in self.takes if name[0] != "*")

    @property
    def waits(self) -> tuple[int, ...]:
        """The bytes of each read that the host waits for, as in `Commands`."""
        if self.reads:
            return (self.reads,)
        return ()


class Wrapped:
    """Something on a GPU that isn't an array, such as a sparse matrix: it has a counterpart in SciPy."""

    def scipys(self) -> Any:
        """The counterpart, whose arrays are the host's."""
        raise NotImplementedError

    def stored(self) -> Iterator[Stored]:
        """The arrays of the GPU that it's made of."""
        raise NotImplementedError


# How what SciPy returns becomes ours: each takes the value, the call, and a list for new memory. It returns None if the
# value is none of its own.
WRAPPERS: list[Callable[[Any, Any, list], Any]] = []


# -- From a GPU to SciPy, and back -----------------------------------------------------------------------


class Call:
    """One call: its device, and the arrays that it was given."""

    def __init__(self, name: str, args: tuple, kwargs: dict) -> None:
        self.name = name
        self.found: dict[int, Stored] = {}
        self.read: list[Stored] = []  # also those inside of sparse matrices
        self.device: Any = None
        self._look_at((*args, *kwargs.values()))
        if self.device is None:
            self.device = current()

    def _look_at(self, values: Any) -> None:
        for x in values:
            if isinstance(x, Stored):
                self._note(x)
            elif isinstance(x, Wrapped):
                for part in x.stored():
                    self._note(part)
            elif isinstance(x, (list, tuple)):
                self._look_at(x)

    def _note(self, x: Stored) -> None:
        self.device = one_device(self.device, x)
        self.found[id(x.host_values)] = x
        self.read.append(x)

    def plain(self, x: Any) -> Any:
        """`x` with what's on a GPU as SciPy takes it."""
        if isinstance(x, Stored):
            return x.host_values
        if isinstance(x, Wrapped):
            return x.scipys()
        if isinstance(x, poly1d):
            return np.poly1d(x.coeffs.host_values)
        if isinstance(x, (list, tuple)):
            parts = [self.plain(part) for part in x]
            if hasattr(x, "_fields"):
                return type(x)(*parts)
            return type(x)(parts)
        return x

    def callback(self, function: Callable) -> Callable:
        """A program's function, which gets arrays of the GPU where SciPy calls it with its own."""

        def called(*args: Any, **kwargs: Any) -> Any:
            return self.plain(function(*map(self.ours, args), **kwargs))

        return called

    def compute(self, function: Callable, *args: Any, **kwargs: Any) -> Any:
        """What SciPy makes of plain arguments, as it is."""
        self.device = self.device.begin()
        if self.device.instead is not None:
            return self.device.instead(function, *args, **kwargs)
        # Not by `device.compute`, since SciPy may call functions that compute here, too.
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    def ours(self, result: Any, made: list[Any] | None = None) -> Any:
        """What SciPy returned, with arrays of the GPU in place of its own. New memory goes into `made`."""
        made = [] if made is None else made
        if id(result) in self.found:
            return self.found[id(result)]
        if isinstance(result, (np.ndarray, np.generic)):
            return self.array(np.asarray(result), made)
        if type(result) is dict:
            return {key: self.ours(value, made) for key, value in result.items()}
        if isinstance(result, (list, tuple)):
            parts = [self.ours(part, made) for part in result]
            if hasattr(result, "_fields"):
                return type(result)(*parts)
            return type(result)(parts)
        for wrapper in WRAPPERS:
            if (found := wrapper(result, self, made)) is not None:
                return found
        if type(result).__name__ == "Bunch" and type(result).__module__.startswith("scipy."):
            for key, value in vars(result).items():
                setattr(result, key, self.ours(value, made))
        return result

    def array(self, values: np.ndarray, made: list[Any]) -> Any:
        """These values as an array of the GPU: the argument whose values they are, a view of one, or a new one."""
        if id(values) in self.found:
            return self.found[id(values)]
        if values.dtype.char in LACKING_DTYPES:
            return values
        root = root_of(values)
        for x in self.found.values():
            if x.buffer.root is root:
                return x.in_same_memory(values)  # type: ignore[attr-defined]
        made.append(values)
        return current_card(self.device).new(values)

    def count(self, commands: Commands, made: list[Any]) -> None:
        """Record what the call asked for."""
        nbytes = sum([x.host_values.nbytes for x in self.read]) + sum([x.nbytes for x in made])
        largest = max([x.host_values.size for x in self.read] + [x.size for x in made], default=1)
        kind = made[0].dtype.char if made else "f"
        self.device.issue(self.name, commands, nbytes, made[0].nbytes if made else 0, float(largest), kind)


# -- A function of a table -----------------------------------------------------------------------------------


def _axes(args: dict) -> int:
    """How many axes a filter goes along."""
    axes = args.get("axes")
    if axes is not None:
        return max(1, np.size(axes))
    return max(1, np.ndim(next(iter(args.values()))))


def _means(args: dict) -> int:
    """Along each axis a kernel. Before it, one makes the weights, for each different size."""
    return _axes(args) + np.unique(args.get("size", 3)).size


def _uploads(count: int, weights: int, kernels: int) -> Commands:
    """So many kernels, after the weights were copied there so many times."""
    return Commands(kernels, uploads=(8 * weights,) * count)


def _gaussian(args: dict) -> Commands:
    """Along each axis a kernel, and weights from the host."""
    axes = 1 if "axis" in args else _axes(args)
    reach = int(args.get("truncate", 4.0) * float(np.max(args["sigma"])) + 0.5)
    return _uploads(axes, 2 * reach + 1, axes)


def _separable(args: dict) -> int:
    """Along each axis a kernel; with a footprint, one for all."""
    if args.get("footprint") is not None or args.get("structure") is not None:
        return 3
    return _axes(args)


def _interpolated(args: dict) -> int:
    """One kernel; before it, for splines of order 2 and more, a copy and a filter along each axis."""
    if (args.get("order") or 3) > 1 and args.get("prefilter", True):
        return 2 + max(1, np.ndim(next(iter(args.values()))))
    return 1


def _joined(args: dict) -> Commands:
    """Zeros, and a copy of each array."""
    return Commands(len(args), memsets=1)


COUNTS: dict[str, Callable[[dict], Any]] = {
    "one for each axis": _axes, "zeros, and one for each array": _joined,
    "one for each axis, and one for each size": _means,
    "one for each axis, and weights from the host": _gaussian,
    "one for each axis, or three with a footprint": _separable,
    "one for each axis, and three weights from the host": lambda args: _uploads(1, 3, 2 * _axes(args) - 1),
    "one for each axis, and weights twice": lambda args: _uploads(2, 3, max(1, np.ndim(args["input"]))),
    "one, after a spline filter": _interpolated,
}  # fmt: skip


def function_of(module: str, row: Row, scipys: Callable) -> Callable:
    """CuPy's function of this row."""
    name = f"{module}.{row.name}"
    parameters = _parameters(scipys)
    positional = row.positional
    takes_others = any(given.startswith("**") for given in row.takes)

    if any(given[0] == "*" and len(given) > 1 and given[1] != "*" for given in row.takes):
        return _of_any_number(name, row, scipys)

    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(positional):
            raise TypeError(f"{row.name}() takes at most {len(positional)} arguments by position, got {len(args)}")
        if not takes_others and (unknown := kwargs.keys() - set(row.takes)):
            raise TypeError(f"{row.name}() takes no keyword {min(unknown)!r} (CuPy's has none)")
        given = dict(zip(positional, args))
        if twice := given.keys() & kwargs.keys():
            raise TypeError(f"{row.name}() got {min(twice)!r} twice: by position and by name")
        given |= kwargs
        call = Call(name, args, kwargs)
        check(row, given, call.device)
        plain = {key: call.plain(x) for key, x in given.items()}
        for key in CALLBACKS & plain.keys():
            if callable(plain[key]):
                plain[key] = call.callback(plain[key])
        result = call.compute(_by_name(scipys, parameters, positional), plain)
        made: list[Any] = []
        if row.host:
            wrapped = result
        else:
            wrapped = call.ours(result, made)
        call.count(_commands(row, plain), made)
        return wrapped

    function.__name__ = function.__qualname__ = row.name
    function.__module__ = f"simgpu.cupyx.scipy.{module}"
    function.__doc__ = (
        f"SciPy's `{scipys.__name__}`, for arrays on a GPU: `cupyx.scipy.{name}`.\n\n"
        f"Launches: {row.launches}, {row.known}."
    )
    function.__signature__ = _signature(row, scipys)  # type: ignore[attr-defined]
    return function


def _commands(row: Row, given: dict) -> Commands:
    """What a call with these arguments asks for."""
    found = row.launches if isinstance(row.launches, int) else COUNTS[row.launches](given)
    if isinstance(found, Commands):
        return found
    return Commands(found, reads=row.waits)


def _of_any_number(name: str, row: Row, scipys: Callable) -> Callable:
    """CuPy's function that takes any number of arrays, such as `block_diag`."""

    def function(*arrays: Any) -> Any:
        call = Call(name, arrays, {})
        made: list[Any] = []
        result = call.ours(call.compute(scipys, *[call.plain(x) for x in arrays]), made)
        call.count(_commands(row, dict(enumerate(arrays))), made)
        return result

    function.__name__ = function.__qualname__ = row.name
    function.__doc__ = f"SciPy's `{scipys.__name__}`, for arrays on a GPU: `cupyx.scipy.{name}`."
    return function


def _parameters(scipys: Callable) -> list[str] | None:
    """The names of SciPy's parameters, or None if it doesn't tell."""
    try:
        found = inspect.signature(scipys).parameters.values()
    except ValueError:
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY) for p in found):
        return None
    return [p.name for p in found if p.kind != p.VAR_KEYWORD]


def _by_name(scipys: Callable, parameters: list[str] | None, positional: tuple[str, ...]) -> Callable:
    """Calls SciPy's function with the arguments in a dict. What only CuPy's takes, such as a plan, is left out."""

    @functools.wraps(scipys)
    def called(given: dict[str, Any]) -> Any:
        if parameters is None:
            count = next((i for i, name in enumerate(positional) if name not in given), len(positional))
            first = [given.pop(name) for name in positional[:count]]
            return scipys(*first, **given)
        # A parameter may have another name in SciPy: then it's the one in the same place.
        named = {}
        for name, x in given.items():
            if name not in parameters and name in positional[:2]:
                name = parameters[positional.index(name)]
            if name in parameters or name not in ONLY_CUPYS:
                named[name] = x
        return scipys(**named)

    return called


# Functions of the program, which SciPy calls.
CALLBACKS = word_set("derivative derivative2 func detrend comparator")
# What CuPy's functions take and SciPy's don't, and what changes no value.
ONLY_CUPYS = word_set("plan texture_memory float64_coords block_params float64_distances adaptive_index_dtype nyq")


def _signature(row: Row, scipys: Callable) -> inspect.Signature | None:
    """CuPy's parameters, with SciPy's defaults."""
    try:
        theirs = inspect.signature(scipys).parameters
    except ValueError:
        theirs = {}  # type: ignore[assignment]
    found: list[inspect.Parameter] = []
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    has_default = False
    for name in row.takes:
        if name == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif name.startswith("**"):
            found.append(inspect.Parameter(name[2:], inspect.Parameter.VAR_KEYWORD))
        else:
            default = theirs[name].default if name in theirs else inspect.Parameter.empty
            if default is inspect.Parameter.empty and has_default:
                default = None
            has_default = has_default or default is not inspect.Parameter.empty
            found.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(found)


def check(row: Row, given: dict[str, Any], device: Any) -> None:
    """Raises `TypeError` for a host array, and for a list in the place of the first array, if CuPy refuses them."""
    if row.lists:
        return
    for name, x in given.items():
        if name in OF_HOST:
            continue
        if isinstance(x, np.ndarray) and (x.ndim or name == row.takes[0]):
            raise refusal(_Named(row.name), x, device, alone=True)
    for name in ("labels", "index"):
        if isinstance(given.get(name), (list, tuple)):
            raise refusal(_Named(row.name), given[name], device, alone=True)
    first = given.get(row.takes[0]) if row.takes else None
    if isinstance(first, (list, tuple)) and row.takes[0] not in OF_HOST and device_among(first) is None:
        raise Unsupported(str(refusal(_Named(row.name), first, device, alone=True)))


class _Named:
    def __init__(self, name: str) -> None:
        self.__name__ = name


# -- Classes -----------------------------------------------------------------------------------------------


class Proxy(Wrapped):
    """An object of SciPy's, whose arrays are on a GPU. It has SciPy's attributes and methods."""

    _scipys_class: type
    _name = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        call = Call(self._name, args, kwargs)
        named = {key: call.plain(x) for key, x in kwargs.items()}
        self._object = call.compute(self._scipys_class, *[call.plain(x) for x in args], **named)
        self._device = call.device
        if type(self._object) is not self._scipys_class:  # as `lti`, which makes what its arguments say
            self.__class__ = proxy_of(self._name.rpartition(".")[0], type(self._object))
        call.count(Commands(1), [])

    def scipys(self) -> Any:
        return self._object

    def stored(self) -> Iterator[Stored]:
        return iter(())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._object, name)
        if inspect.ismethod(value) or inspect.isbuiltin(value):
            return self._method(name, value)
        return self._wrapped(value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._object, name, Call(name, (value,), {}).plain(value))

    def _wrapped(self, value: Any) -> Any:
        call = Call(self._name, (), {})
        call.device = self._device
        return call.ours(value)

    def _method(self, name: str, method: Callable) -> Callable:
        def called(*args: Any, **kwargs: Any) -> Any:
            call = Call(f"{self._name}.{name}", args, kwargs)
            named = {key: call.plain(x) for key, x in kwargs.items()}
            made: list[Any] = []
            result = call.ours(call.compute(method, *[call.plain(x) for x in args], **named), made)
            call.count(Commands(1), made)
            return result

        return called

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._method("call", self._object.__call__)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{self._name} on {self._device}>"


_proxies: dict[type, Any] = {}


def proxy_of(module: str, scipys: type) -> Any:
    """CuPy's class in the place of this one of SciPy's, and of those that it's made of."""
    if scipys not in _proxies:
        bases = tuple(proxy_of(module, base) for base in scipys.__bases__ if base.__module__.startswith("scipy."))
        parts = {"_scipys_class": scipys, "_name": f"{module}.{scipys.__name__}", "__doc__": ""}
        parts["__doc__"] = (
            f"SciPy's `{scipys.__name__}`, with arrays on a GPU: `cupyx.scipy.{module}.{scipys.__name__}`."
        )
        parts["__module__"] = f"simgpu.cupyx.scipy.{module}"
        _proxies[scipys] = type(scipys.__name__, bases or (Proxy,), parts)
    return _proxies[scipys]


def _wrap_object(value: Any, call: Call, made: list[Any]) -> Any:
    """An object of SciPy's as one of ours, if we know its class."""
    known = next((_proxies[kind] for kind in type(value).__mro__ if kind in _proxies), None)
    if known is None:
        return None
    found: Any = object.__new__(proxy_of(known._name.rpartition(".")[0], type(value)))
    found._object, found._device = value, call.device
    return found


WRAPPERS.append(_wrap_object)


# -- A module of CuPy's ------------------------------------------------------------------------------------


@functools.cache
def table(name: str) -> dict[str, Any]:
    """One of the tables: its ``functions`` as `Row`, ``ufuncs`` and ``classes`` as sets of names."""
    found = tomllib.loads(Path(__file__).with_name("tables").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    rows = {}
    for key, cells in found.get("functions", {}).items():
        rows[key] = Row(key, **(cells | {"takes": tuple(cells["takes"].split())}))
    methods = {key: Row(key, (), **cells) for key, cells in found.get("methods", {}).items()}
    names = {kind: word_set(found.get(kind, "")) for kind in ("ufuncs", "classes")}
    return {"functions": rows, "methods": methods, **names}


def finder(module: str, scipys: str, computes: dict[str, Callable] | None = None) -> Callable[[str], Any]:
    """The ``__getattr__`` of one of our modules: finds a name in its table, and what computes it in SciPy.

    `computes` has what computes a name in the place of SciPy's function.
    """
    theirs = importlib.import_module(scipys)
    rows = table(module.rpartition(".")[2])
    inside = module.partition("scipy.")[2]

    def find(name: str) -> Any:
        value: Any = (computes or {}).get(name, getattr(theirs, name, None))
        if name in rows["ufuncs"] and isinstance(value, np.ufunc):
            value = _element_by_element(value)
        elif name in rows["functions"] and value is not None:
            value = function_of(inside, rows["functions"][name], value)
        elif name in rows["classes"] and value is not None:
            if not issubclass(value, Warning):
                value = proxy_of(inside, value)
        else:
            raise attribute_error(module, name)
        setattr(sys.modules[module], name, value)
        return value

    return getter(module, find)


@functools.cache
def _element_by_element(scipys: np.ufunc) -> ufunc:
    fusion.ELEMENT_BY_ELEMENT.add(scipys.__name__)
    return ufunc(scipys)
