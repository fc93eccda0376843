"""Each NumPy function that CuPy has, called in every form: by position, by name, mixed, with `out`, on shapes alone.

Each form gives NumPy's value, and asks the simulated GPU for the same.
"""

import inspect
import itertools
import re

import numpy as np
import numpy.fft  # noqa: F401  (its functions are known to NumPy only then)
import pytest
from inside import Stored
from numpy.testing.overrides import get_overridable_numpy_array_functions

from fluxlite import receipt
from simgpu import dispatch, launches, meta, refusals, shapes, tries
from simgpu.words import word_set

FUNCTIONS = {refusals.name_of(f): f for f in get_overridable_numpy_array_functions() if not refusals.is_lacking(f)}
FUNCTIONS = {name: f for name, f in FUNCTIONS.items() if "._" not in name}

# Not called here.
LEFT_OUT = {
    "make arrays of host values, with like=": (
        "arange array asanyarray asarray ascontiguousarray asfortranarray empty eye frombuffer fromfile fromfunction "
        "fromiter fromstring full genfromtxt identity loadtxt ones require tri zeros"
    ),
    "write files": "save savetxt savez savez_compressed",
    "are isin by an older name, up to NumPy 2.3": "in1d",
}

# What they're called with. `x` is 3 by 4, `y` 4 by 3, `v` a vector; `s` is square, `i` indices, `m` a mask.
ALL_CALLS = """
(x, axis=0)  all amax any argmax argsort count_nonzero cumprod cumsum cumulative_prod cumulative_sum flip max mean
    median min nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar
    prod ptp size sort std sum var
(x, x, rtol=0.001)  allclose isclose
(x, axis=1)  amin argmin average expand_dims
(x, deg=True)  angle
(x, x, axis=0)  append
(np.sort, axis=0, arr=x)  apply_along_axis
(np.sum, x, axes=[0])  apply_over_axes
(v, kth=1, axis=0)  argpartition partition
(m)  argwhere where
(x, decimals=1)  around round
(v, max_line_width=60)  array2string array_repr array_str
(x, x, equal_nan=False)  array_equal
(x, x)  array_equiv common_type corrcoef cov inner may_share_memory result_type shares_memory vdot
(x, indices_or_sections=2, axis=1)  array_split split
(x, np.float64)  astype
(v)  atleast_1d atleast_2d atleast_3d cumsum gradient poly roots sort_complex
(x, axis=0, weights=x)  average
(i, w, minlength=9)  bincount
(x, v)  broadcast_arrays copyto
(v, shape=(3, 4))  broadcast_to
(np.float32, to=np.float64)  can_cast
(i, choices=x[:2, :3])  choose
(x, a_min=-1, a_max=1)  clip
([x, x])  column_stack dstack hstack vstack
(v > 0, x, axis=1)  compress
([x, x], axis=1)  concatenate stack
(v, w, mode='same')  convolve correlate
(x, order='C')  copy ravel
(y, y, axisa=1)  cross
(x, obj=1, axis=0)  delete
(v, k=1)  diag diagflat
(s, k=1)  diag tril_indices_from triu_indices_from
(s)  diag_indices_from linalg.cholesky linalg.det linalg.eig linalg.eigvals linalg.inv linalg.slogdet
(x, offset=1)  diagonal trace
(x, n=2, axis=1)  diff
(v, edges, right=True)  digitize
(x, y)  dot linalg.matmul
(x[None], indices_or_sections=2)  dsplit
(v, to_end=None)  ediff1d
('ij,jk->ik', x, y)  einsum
('ij->j', x)  einsum
(x, dtype=np.float64)  empty_like ones_like zeros_like
(m, x)  extract
(x, n=4, axis=0)  fft.fft fft.hfft fft.ifft fft.ihfft fft.irfft fft.rfft
(x, s=(2, 2), axes=(0, 1))  fft.fft2 fft.fftn fft.ifft2 fft.ifftn fft.irfft2 fft.irfftn fft.rfft2 fft.rfftn
(x, axes=0)  fft.fftshift fft.ifftshift
(s, val=7)  fill_diagonal
(x)  fix flatnonzero fliplr flipud i0 imag iscomplex iscomplexobj isneginf isposinf isreal isrealobj lexsort
    linalg.matrix_transpose matrix_transpose min_scalar_type ndim nonzero real shape sinc
(x, fill_value=3, dtype=np.int32)  full_like
(v, bins=4, range=(-2, 2))  histogram
(v, v, bins=4)  histogram2d
(y, bins=3)  histogramdd
(x, indices_or_sections=2)  hsplit
(v, edges, edges, left=0)  interp
(i, i)  intersect1d isin ix_ union1d
(x, s)  kron
(x, window_shape=2, axis=1)  lib.stride_tricks.sliding_window_view
(s, p=2)  linalg.cond
(y, y)  linalg.cross
(s, UPLO='L')  linalg.eigh linalg.eigvalsh
(y, v, rcond=None)  linalg.lstsq
(s, n=2)  linalg.matrix_power
(s, tol=0.001)  linalg.matrix_rank
(x, ord=1, axis=0)  linalg.norm
(x, keepdims=True)  linalg.norm
(x, rcond=1e-05)  linalg.pinv
(y, mode='reduced')  linalg.qr
(s, s)  linalg.solve
(x, full_matrices=False)  linalg.svd
(s, ind=1)  linalg.tensorinv
(s, b=s[0])  linalg.tensorsolve
(x, x, num=3)  linspace logspace
(v, v)  meshgrid outer polyadd polymul polysub
(x, source=0, destination=1)  moveaxis
(x, copy=True, nan=1.0)  nan_to_num
(m, axis=None)  packbits
(x, pad_width=1)  pad
(x, pad_width=1, mode='constant', constant_values=2)  pad
(x, q=30, axis=0)  percentile
(v, condlist=[v > 0], funclist=[1])  piecewise
(x, m, v)  place putmask
(v, v, deg=1)  polyfit
(v, x)  polyval
(x, ind=i[:2], v=v[:2])  put
(x, i[:, None], values=x[:, :1], axis=1)  put_along_axis
(x, q=0.3, axis=0)  quantile
((i, i), dims=(9, 9))  ravel_multi_index
(x, tol=100)  real_if_close
(x, repeats=2, axis=0)  repeat
(x, (4, 3))  reshape
(x, new_shape=(2, 2))  resize
(x, shift=1, axis=0)  roll
(x, axis=1, start=0)  rollaxis
(x, k=1)  rot90 tril triu
(edges, v, side='right')  searchsorted
([m], [x], default=3)  select
(i, ar2=i[:1])  setdiff1d setxor1d
(x[None], axis=0)  squeeze
(x, axis1=0, axis2=1)  swapaxes
(x, i, axis=0)  take
(x, i)  take
(x, i[:, None], axis=1)  take_along_axis
(x, y, axes=1)  tensordot
(x, reps=2)  tile
(x, axes=(1, 0))  transpose
(x, x=None, dx=2.0)  trapezoid
(v, trim='f')  trim_zeros
(i)  unique unique_all unique_counts unique_inverse unique_values
(b, axis=None)  unpackbits
(i, shape=(3, 3))  unravel_index
(v, discont=None, axis=0)  unwrap
(v, N=3)  vander
(x, indices_or_sections=3)  vsplit
(m, x, v)  where
"""
ALL_CALLS = re.sub(r"\n +", " ", ALL_CALLS).strip().splitlines()
ALL_CALLS = [name + call for call, _, names in (line.partition("  ") for line in ALL_CALLS) for name in names.split()]
BY_POSITION = word_set("unique_all unique_counts unique_inverse unique_values")  # whatever their signatures say
CALLS = [line for line in ALL_CALLS if line.partition("(")[0] in FUNCTIONS]  # not every NumPy has each


def operands():
    x = np.array([[1.5, -2, 0, 3], [0.25, 1, -1, 2], [-0.5, 0, 4, 1]], np.float32)
    return {
        "x": x, "y": x.T.copy(), "v": x[0].copy(), "w": np.array([1, 0.5, 2], np.float32), "m": x > 0,
        "s": x @ x.T + np.eye(3, dtype=np.float32), "i": np.array([0, 1, 1]), "b": np.array([3, 9], np.uint8),
        "edges": np.array([-1, 0, 1, 2], np.float32),
    }  # fmt: skip


def asked(line, there=lambda x: x):
    """The function of a line, its arguments, and those with names, which are as many as can be."""
    name, _, arguments = line.partition("(")
    names = {"np": np, "_": lambda *a, **k: (a, k), **{k: there(x) for k, x in operands().items()}}
    args, kwargs = eval(f"_({arguments}", names)
    known = list(itertools.takewhile(lambda p: p.kind is not p.VAR_POSITIONAL, parameters_of(FUNCTIONS[name])))
    if len(args) <= len(known) and name not in BY_POSITION:
        args, kwargs = (), {**dict(zip([p.name for p in known], args)), **kwargs}
    return FUNCTIONS[name], args, kwargs


def parameters_of(function):
    """Its parameters, if NumPy tells them."""
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:
        return []


def forms(function, args, kwargs):
    """The ways to call a function with these arguments: as many as can be by position, down to none, others by name."""
    if not parameters_of(function):
        return [((*args, *kwargs.values()), {})]
    by_position = [p for p in parameters_of(function) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    refused = refusals.refused_keywords(function)
    never = {p.name for p in by_position if p.kind is p.POSITIONAL_ONLY} | refused
    names = list(kwargs)
    most = sum(name == p.name for name, p in zip(names, by_position)) if not args else 0
    least = max([number for number, name in enumerate(names, 1) if name in never], default=0)
    counts = range(most, least - 1, -1)
    return [((*args, *map(kwargs.get, names[:n])), {k: kwargs[k] for k in names[n:]}) for n in counts]


def plain(result):
    """A result with NumPy arrays in place of ours, and how it's nested."""
    if isinstance(result, (tuple, list)):
        return [plain(part) for part in result]
    return result.get() if isinstance(result, Stored) else result


def same(found, right):
    if isinstance(right, list):
        assert len(found) == len(right)
        for one, other in zip(found, right):
            same(one, other)
    elif isinstance(right, (np.ndarray, np.generic, float)):
        assert np.shape(found) == np.shape(right) and np.result_type(found) == np.result_type(right)
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)
    else:
        assert found == right


# What isn't compared: memory that nobody has written, vectors that are right with either sign, words about a device.
ANY_VALUE = word_set("empty_like linalg.eig linalg.eigh linalg.svd linalg.qr array_repr array_str array2string")


@pytest.fixture(autouse=True)
def all_is_understood(monkeypatch):
    """What counting a call doesn't understand isn't left out, but raises."""

    def strictly(default, entry, *args, **kwargs):
        return entry(*args, **kwargs)

    monkeypatch.setattr(launches, "from_table", strictly)


def counted(function, args, kwargs):
    with receipt() as r:
        result = function(*args, **kwargs)
    copies = (r.device_to_device, r.host_to_device, r.device_to_host)
    return result, (r.launched, r.memsets, *((c.count, c.bytes) for c in copies))


def test_the_table_has_every_function():
    called = {line.partition("(")[0] for line in CALLS}
    left_out = set(" ".join(LEFT_OUT.values()).split())
    assert called & left_out == set()
    assert set(FUNCTIONS) - left_out == called


def on(device, line):
    return asked(line, lambda x: device(x, dtype=None) if isinstance(x, np.ndarray) else x)


@pytest.mark.parametrize("line", CALLS)
def test_all_forms_of_a_call_are_one(line, simulated):
    function, *given = asked(line)
    args, kwargs = forms(function, *given)[0]
    right, changed = plain(function(*args, **kwargs)), [x for x in args if isinstance(x, np.ndarray)]
    seen = []
    for number in range(len(forms(function, *given))):
        args, kwargs = forms(*on(simulated, line))[number]
        result, costs = counted(function, args, kwargs)
        if refusals.name_of(function) not in ANY_VALUE:
            same(plain(result), right)
        same([x.get() for x in (*args, *kwargs.values()) if isinstance(x, Stored)][: len(changed)], changed)
        seen.append(costs)
    assert len(seen) > 0 and seen == seen[:1] * len(seen)


@pytest.mark.parametrize("line", CALLS)
def test_all_forms_have_these_shapes(line, simulated):
    function, *given = asked(line)
    args, kwargs = forms(function, *given)[0]
    right = shapes_in(function(*args, **kwargs))
    for number in range(len(forms(function, *given))):
        simulated.instead = None
        args, kwargs = forms(*on(simulated, line))[number]
        simulated.instead = shapes.outcome
        assert shapes_in(function(*args, **kwargs)) == right


# Their results have gaps in memory, which those without memory haven't.
WITH_GAPS = word_set("histogram2d histogramdd unravel_index")


@pytest.mark.parametrize("line", CALLS)
def test_arrays_without_memory_are_as_those_of_zeros(line, simulated, monkeypatch):
    seen = []
    for instead, small, kept in ((None, meta.SMALL, tries.KEPT), (shapes.outcome, 0, 1)):
        simulated.instead = instead
        monkeypatch.setattr(meta, "SMALL", small)
        monkeypatch.setattr(tries, "KEPT", kept)  # also lengths of 3 and 4 may stand for others
        asked_for = asked(line, lambda x: simulated(np.zeros_like(x), dtype=None) if isinstance(x, np.ndarray) else x)
        args, kwargs = forms(*asked_for)[0]
        try:
            result, costs = counted(function=asked_for[0], args=args, kwargs=kwargs)
            seen.append((shapes_in(result), strides_in(result), costs))
        except Exception as error:  # weights of 0, or a matrix that has no inverse
            seen.append((type(error), str(error)))
    assert len(seen[0]) == len(seen[1])
    if refusals.name_of(asked_for[0]) in WITH_GAPS:
        seen = [(shape, costs) for shape, _, costs in seen]
    assert seen[0] == seen[1]


def strides_in(result):
    if isinstance(result, (tuple, list)):
        return [strides_in(part) for part in result]
    return result.strides if isinstance(result, Stored) and result.size and result.flags.forc else None


def shapes_in(result):
    if isinstance(result, (tuple, list)):
        return [shapes_in(part) for part in result]
    if isinstance(result, (str, type, np.dtype)):
        return type(result)
    return np.shape(result), result.dtype if hasattr(result, "dtype") else np.asarray(result).dtype


def takes_out(line):
    function, args, kwargs = asked(line)
    return "out" in {p.name for p in parameters_of(function)} - refusals.refused_keywords(function)


@pytest.mark.parametrize("line", [line for line in CALLS if takes_out(line)])
def test_out_by_position_and_by_name(line, simulated):
    function, args, kwargs = asked(line)
    (args, kwargs), *_ = forms(function, args, kwargs)
    right, seen = np.asarray(function(*args, **kwargs)), []
    args, kwargs = forms(*on(simulated, line))[0]
    before = list(itertools.takewhile(lambda p: p.name != "out", parameters_of(function)[len(args) :]))
    for number in (1, 2):
        out = simulated(np.zeros_like(right), dtype=None)
        form = args, {**kwargs, "out": out}
        if number == 2 and "out" in dispatch.plan_of(function).after:
            form = (*args, *[kwargs.get(p.name, p.default) for p in before], out), {}
        result, costs = counted(function, *form)
        assert result is out
        same(out.get(), right)
        seen.append(costs)
    assert seen[0] == seen[1] and seen[0][0], "a call that writes to memory that's there is a call"


def test_arrays_are_saved_by_name(simulated, tmp_path):
    np.savez(tmp_path / "x.npz", simulated(np.ones(2)), named=simulated(np.zeros(2)))
    with np.load(tmp_path / "x.npz") as found:
        assert (found["arr_0"].tolist(), found["named"].tolist()) == ([1, 1], [0, 0])
