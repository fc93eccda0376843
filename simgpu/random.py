"""CuPy's `random`. The values are NumPy's, not cuRAND's. What a card launches and waits for is counted as in CuPy.

The same seed gives what `numpy.random` gives, rounded to float32 if that's asked for. Parameters that a distribution
can't have raise `ValueError`, as in NumPy. On a card, most of them give numbers without meaning.

>>> seed(0)
>>> rand(2)
array([0.5488135 , 0.71518937])  # Simulated:0
>>> default_rng(0).integers(10, size=3)
array([8, 6, 5])  # Simulated:0
"""

import functools
import operator
import os
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any, NamedTuple

import numpy as np

from .clocks import DRAW
from .creation import asarray
from .device import current
from .indexing import write
from .launches import Commands
from .memory import Stored
from .places import values_on
from .refusals import SCALARS
from .shapes import Formula, reserve_zeros
from .surface import getter, lister
from .words import word_set


class Row(NamedTuple):
    """A distribution's parameters, and what CuPy does for it."""

    parameters: str
    dtype: Any
    kernels: int  # of a RandomState; 0 if it lacks this one
    newer: int = 0  # the same of a Generator
    reads: int = 0  # how often a RandomState reads a parameter from the card: "synchronize!" in its source


DISTRIBUTIONS = {
    "beta": Row("a b", float, 1, 1), "binomial": Row("n p", int, 1, 1), "chisquare": Row("df", float, 1, 3),
    "dirichlet": Row("alpha", float, 3, 3), "exponential": Row("scale=1", float, 6, 2, 1),
    "f": Row("dfnum dfden", float, 1, 9), "gamma": Row("shape scale=1", float, 2, 2),
    "geometric": Row("p", int, 1, 1), "gumbel": Row("loc=0 scale=1", float, 2),
    "hypergeometric": Row("ngood nbad nsample", int, 1, 1), "laplace": Row("loc=0 scale=1", float, 2),
    "logistic": Row("loc=0 scale=1", float, 6), "lognormal": Row("mean=0 sigma=1", float, 1),
    "logseries": Row("p", int, 5, 1, 2), "multinomial": Row("n pvals", int, 12, 0, 2),
    "multivariate_normal": Row("mean cov", float, 4), "negative_binomial": Row("n p", int, 11, 0, 3),
    "noncentral_chisquare": Row("df nonc", float, 5, 0, 2), "noncentral_f": Row("dfnum dfden nonc", float, 7, 0, 3),
    "normal": Row("loc=0 scale=1", float, 1), "pareto": Row("a", float, 6), "poisson": Row("lam=1", int, 1, 1),
    "power": Row("a", float, 11, 7, 1), "random": Row("", float, 0, 1), "random_sample": Row("", float, 2),
    "rayleigh": Row("scale=1", float, 7, 0, 1), "standard_cauchy": Row("", float, 6),
    "standard_exponential": Row("", float, 3, 1), "standard_gamma": Row("shape", float, 1, 1),
    "standard_normal": Row("", float, 1, 1), "standard_t": Row("df", float, 1),
    "triangular": Row("left mode right", float, 9, 0, 3), "uniform": Row("low=0 high=1", float, 3, 4),
    "vonmises": Row("mu kappa", float, 1), "wald": Row("mean scale", float, 4), "weibull": Row("a", float, 7, 0, 1),
    "zipf": Row("a", int, 3, 0, 1),
}  # fmt: skip
_AS_NUMBERS = word_set("gumbel lognormal normal uniform")  # a RandomState makes no arrays of their parameters
_WITH_DTYPE = word_set("beta random standard_exponential standard_gamma standard_normal uniform")  # in a Generator
_WITH_OUT = word_set("random standard_exponential standard_gamma standard_normal")  # in a Generator, too
_VECTORS = word_set("dirichlet multinomial multivariate_normal")  # each draw is a vector, with an axis of its own
_CHECKS = {"check_valid": "ignore", "tol": 1e-8, "method": "cholesky"}  # of multivariate_normal, in CuPy's order


def _values_of(device: Any, x: Any) -> np.ndarray:
    """A parameter's values. A host array or a list is copied to the device, as a side effect."""
    if isinstance(x, Stored):
        return values_on(device, x)
    if not isinstance(x, SCALARS):
        device.upload(np.asarray(x), explicit=False)
    return np.asarray(x)


def _draw(draw: Callable, params: Sequence, size: Any, dtype: Any, commands: Commands, /, **more: Any) -> Any:
    """What ``draw(*params, size=size, **more)`` gives, as a new array on the current card, with its kernels counted."""
    device, name = current(), draw.__name__
    if device.lanes.is_capturing and isinstance(draw.__self__, np.random.RandomState):  # type: ignore[attr-defined]
        device.lanes.refuse(DRAW)
    plain = [_values_of(device, x) for x in params]

    def drawn(*plain: Any) -> np.ndarray:
        return np.asarray(draw(*plain, size=size, **more)).astype(dtype, copy=False)

    def zeros(*plain: Any) -> np.ndarray:  # shapes are known without drawing
        vector = plain[-1].shape[-1:] if name in _VECTORS else ()
        if size is None:
            shape = np.broadcast_shapes(*(x.shape for x in plain))
        else:
            shape = (*np.atleast_1d(size).tolist(), *vector)
        return reserve_zeros(shape, dtype)

    if device.instead is None:
        values = drawn(*plain)
    else:
        values = device.instead(Formula(drawn, zeros), *plain)
    device.issue(name, commands, values.nbytes, 8, 10 * values.size, values.dtype.char)
    return device.new(values)


def _method(name: str, row: Row, is_newer: bool) -> Any:
    """A method of a RandomState or of a Generator, with CuPy's parameters."""
    more = _CHECKS if name == "multivariate_normal" else {}
    words = [word.partition("=") for word in row.parameters.split()]
    defaults: dict[str, Any] = {}
    for key, is_set, number in words:
        defaults[key] = float(number) if is_set else Parameter.empty
    defaults |= {"size": None, **more}
    if not is_newer or name in _WITH_DTYPE:
        defaults["dtype"] = row.dtype
    if is_newer and name == "standard_exponential":
        defaults["method"] = "inv"
    if is_newer and name in _WITH_OUT:
        defaults["out"] = None
    given = [Parameter(key, Parameter.POSITIONAL_OR_KEYWORD, default=x) for key, x in defaults.items()]
    signature = Signature(given)

    def method(self, *args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        params = [bound.arguments[key] for key, _, _ in words]
        dtype = np.dtype(bound.arguments.get("dtype") or row.dtype)
        if row.dtype is float and dtype.char not in "fd":
            raise TypeError("cupy.random only supports float32 and float64")
        for (key, _, _), x in zip(words, params):
            if is_newer and not isinstance(x, (Stored, int, float)):
                raise TypeError(f"{key} is required to be a cupy.ndarray or a scalar")
        numbers = [x for x in params if isinstance(x, SCALARS) and (is_newer or name not in _AS_NUMBERS)]
        zeros = sum(x == 0 for x in numbers)  # each number becomes an array, 0 by a memset
        if is_newer:
            kernels, reads = row.newer, 0
        else:
            kernels, reads = row.kernels, row.reads
        commands = Commands(kernels + len(numbers) - zeros, memsets=zeros, reads=(1,) * reads)
        passed = {key: bound.arguments[key] for key in more if key != "method"}  # NumPy has one method
        size, out = bound.arguments["size"], bound.arguments.get("out")
        if out is None:
            return _draw(getattr(self._numpys, name), params, size, dtype, commands, **passed)
        _check_out(dtype, size, out)
        made = _draw(getattr(self._numpys, name), params, out.shape, dtype, commands.and_kernels(1), **passed)
        write(out.device, out.host_values, ..., made.host_values)
        return out

    method.__name__ = name
    method.__doc__ = f"Draw an array on the device from NumPy's distribution `{name}`."
    return method


def _check_out(dtype: np.dtype, size: Any, out: Any) -> None:
    """Raises `TypeError` or `ValueError` unless a draw of this type and size can be written to `out`."""
    if out.dtype != dtype:
        raise TypeError(f"Supplied output array has the wrong type. Expected {dtype.name}, got {out.dtype.name}")
    if not out.flags.forc:
        raise ValueError("Supplied output array is not contiguous, writable or aligned.")
    if size is None:
        return
    shape = tuple(size) if np.iterable(size) else (size,)
    if out.shape != shape:
        raise ValueError("size must match out.shape when used together")


class RandomState:
    """`cupy.random.RandomState`: draws arrays on the current card. The values are those of NumPy's `RandomState`.

    Its methods take ``dtype=``: float32 or float64, or an integer type. `seed` is a whole number below 2**64, or an
    array. `method` would choose one of cuRAND's generators, and makes no difference here.
    """

    def __init__(self, seed: Any = None, method: Any = None) -> None:
        self.seed(seed)

    def seed(self, seed: Any = None) -> None:
        """Start again from `seed`, or from chance. Raises `TypeError` or `ValueError` if it isn't a seed."""
        if seed is not None and np.asarray(seed).dtype.kind not in "biu":
            raise TypeError("Seed must be an integer.")
        # NumPy's takes a larger seed only through a bit generator.
        is_large = isinstance(seed, int) and 2**32 <= seed < 2**64
        self._numpys = np.random.RandomState(np.random.MT19937(seed) if is_large else seed)

    def random_integers(self, low: int, high: int | None = None, size: Any = None) -> Any:
        """Whole numbers in [low, high], or [1, low]."""
        low, high = (1, low) if high is None else (low, high)
        return self.randint(low, high + 1, size)

    def rand(self, *size: int, dtype: Any = float) -> Any:
        return self.random_sample(size, dtype)  # type: ignore[attr-defined]

    def randn(self, *size: int, dtype: Any = float) -> Any:
        return self.normal(size=size, dtype=dtype)  # type: ignore[attr-defined]

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """Whole numbers in [low, high), or [0, low)."""
        low, high = (0, low) if high is None else (low, high)
        if all(isinstance(x, SCALARS) for x in (low, high)):
            count = int(high) - int(low)
        else:
            count = -1
        if count == 0:
            raise ValueError("low >= high")
        is_power = count > 0 and count & (count - 1) == 0  # otherwise some are drawn again, and the host reads how many
        commands = Commands(4) if is_power else Commands(7, reads=(4,))
        return _draw(self._numpys.randint, (low, high), size, dtype, commands, dtype=dtype)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Elements of `a`, or of ``range(a)``. As in CuPy, `size` is needed, and `p` goes with ``replace=True``."""
        if a is None or np.ndim(a) > 1:
            raise ValueError("a must be 1-dimensional or an integer")
        is_number = isinstance(a, (int, np.integer))
        if size is None or (p is not None and not replace) or np.ndim(a) == 0 and not is_number:
            raise NotImplementedError("as in CuPy, choice takes a size, an `a` with elements, and p only with replace")
        p = None if p is None else _values_of(current(), p)
        if p is not None:
            commands = Commands(11, reads=(1, 8))
        elif replace:
            commands = Commands(8, reads=(4,))
        else:
            commands = Commands(1)
        count = a if is_number else len(a)
        places = _draw(self._numpys.choice, (), size, np.int64, commands, a=count, replace=replace, p=p)
        if is_number:
            return places
        return asarray(a)[places]

    def permutation(self, a: Any) -> Any:
        """``range(a)`` in another order, or the rows of an array."""
        if isinstance(a, Stored):
            return a[self.permutation(len(a.host_values))]  # type: ignore[index]

        def permutation(size: Any) -> Any:
            return self._numpys.permutation(*size)

        return _draw(permutation, (), (operator.index(a),), np.int64, Commands(3))

    def shuffle(self, a: Any) -> None:
        """Put the rows of an array into another order, in place."""
        if not isinstance(a, Stored) or a.host_values.ndim == 0:
            raise TypeError("The array must be cupy.ndarray with at least one axis")
        write(a.device, a.host_values, ..., self.permutation(a).host_values)
        a.device.launch("setitem", 2 * a.host_values.nbytes)


class XORWOW:
    """What a `Generator` draws from: a state for each of many threads. The values are from NumPy's PCG64."""

    def __init__(self, seed: Any = None, *, size: int = -1) -> None:
        if isinstance(seed, np.random.SeedSequence):
            self._seed_seq = seed
        else:
            self._seed_seq = np.random.SeedSequence(seed)
        self._numpys = np.random.default_rng(self._seed_seq)
        device = current()
        nbytes = 48 * (8 * 256 * device.multiprocessors if size < 0 else size)
        device.memset("generator", nbytes)
        device.launch("generator", nbytes)


BitGenerator = MRG32k3a = Philox4x3210 = XORWOW  # CuPy's other kinds


class Generator:
    """`cupy.random.Generator`: ``default_rng(seed)``. The values are those of NumPy's ``default_rng(seed)``."""

    def __init__(self, bit_generator: XORWOW) -> None:
        self.bit_generator, self._numpys = bit_generator, bit_generator._numpys

    def integers(
        self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """Whole numbers in [low, high), or [0, low). With `endpoint`, the last one is included."""
        ends = (low,) if high is None else (low, high)
        return _draw(self._numpys.integers, ends, size, dtype, Commands(2), dtype=dtype, endpoint=endpoint)


for _name, _row in DISTRIBUTIONS.items():
    if _row.kernels:
        setattr(RandomState, _name, _method(_name, _row, is_newer=False))
    if _row.newer:
        setattr(Generator, _name, _method(_name, _row, is_newer=True))

# -- The module's functions, which draw from a state that each card has ------------------------------------

_states: dict[Any, RandomState] = {}
reset_states = _states.clear


def get_random_state() -> RandomState:
    """The state of the current card. Its first seed is CUPY_SEED in the environment, if that's set."""
    if current() not in _states:
        first = os.environ.get("CUPY_SEED")
        set_random_state(RandomState(None if first is None else int(first)))
    return _states[current()]


def set_random_state(rs: RandomState) -> None:
    if not isinstance(rs, RandomState):
        raise TypeError(f"Random state must be an instance of RandomState. Actual: {type(rs)}")
    _states[current()] = rs


def default_rng(seed: Any = None) -> Generator:
    """A `Generator` from a seed or a `BitGenerator`; a `Generator` is returned as it is."""
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, XORWOW) else XORWOW(seed))


def _function(name: str) -> Callable:
    @functools.wraps(getattr(RandomState, name))
    def function(*args, **kwargs):
        return getattr(get_random_state(), name)(*args, **kwargs)

    return function


globals().update({name: _function(name) for name in dir(RandomState) if not name.startswith("_")})
random = ranf = sample = globals()["random_sample"]
bytes = np.random.bytes  # on the host: as in CuPy


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
