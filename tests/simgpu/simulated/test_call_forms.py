"""Each NumPy function that CuPy has, called in every form: by position, by name, mixed, with `out`, on shapes alone.

Each form gives NumPy's value, and asks the simulated GPU for the same.
"""

import inspect
import itertools

import numpy as np
import numpy.fft  # noqa: F401  (its functions are known to NumPy only then)
import pytest
from inside import Stored
from numpy.testing.overrides import get_overridable_numpy_array_functions

from fluxlite import receipt
from fluxlite.simulated import costs, dispatch, kernels, shapes, surface

FUNCTIONS = {surface.name_of(f): f for f in get_overridable_numpy_array_functions() if not surface.is_lacking(f)}
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

# With their names, in NumPy's order. `x` is 3 by 4, `y` 4 by 3, `v` a vector; `s` is square, `i` indices, `m` a mask.
ALL_CALLS = """
all(a=x, axis=0)
allclose(a=x, b=x, rtol=1e-3)
amax(a=x, axis=0)
amin(a=x, axis=1)
angle(z=x, deg=True)
any(a=x, axis=0)
append(arr=x, values=x, axis=0)
apply_along_axis(func1d=np.sort, axis=0, arr=x)
apply_over_axes(func=np.sum, a=x, axes=[0])
argmax(a=x, axis=0)
argmin(a=x, axis=1)
argpartition(a=v, kth=1, axis=0)
argsort(a=x, axis=0)
argwhere(a=m)
around(a=x, decimals=1)
array2string(a=v, max_line_width=60)
array_equal(a1=x, a2=x, equal_nan=False)
array_equiv(a1=x, a2=x)
array_repr(arr=v, max_line_width=60)
array_split(ary=x, indices_or_sections=2, axis=1)
array_str(a=v, max_line_width=60)
astype(x, np.float64)
atleast_1d(*[v])
atleast_2d(*[v])
atleast_3d(*[v])
average(a=x, axis=0, weights=x)
average(a=x, axis=1)
bincount(x=i, weights=w, minlength=9)
broadcast_arrays(*[x, v])
broadcast_to(array=v, shape=(3, 4))
can_cast(from_=np.float32, to=np.float64)
choose(a=i, choices=[v[:3], v[1:]])
clip(a=x, a_min=-1, a_max=1)
column_stack(tup=[x, x])
common_type(*[x, x])
compress(condition=v > 0, a=x, axis=1)
concatenate(arrays=[x, x], axis=1)
convolve(a=v, v=w, mode='same')
copy(a=x, order='C')
copyto(dst=x, src=v)
corrcoef(x=x, y=x)
correlate(a=v, v=w, mode='same')
count_nonzero(a=x, axis=0)
cov(m=x, y=x)
cross(a=y, b=y, axisa=1)
cumprod(a=x, axis=0)
cumsum(a=x, axis=0)
cumsum(a=v)
cumulative_prod(x=x, axis=0)
cumulative_sum(x=x, axis=0)
delete(arr=x, obj=1, axis=0)
diag(v=v, k=1)
diag(v=s, k=1)
diag_indices_from(arr=s)
diagflat(v=v, k=1)
diagonal(a=x, offset=1)
diff(a=x, n=2, axis=1)
digitize(x=v, bins=edges, right=True)
dot(a=x, b=y)
dsplit(ary=x[None], indices_or_sections=2)
dstack(tup=[x, x])
ediff1d(ary=v, to_end=None)
einsum(*['ij,jk->ik', x, y])
einsum(*['ij->j', x])
empty_like(prototype=x, dtype=np.float64)
expand_dims(a=x, axis=1)
extract(condition=m, arr=x)
fft.fft(a=x, n=4, axis=0)
fft.fft2(a=x, s=(2, 2), axes=(0, 1))
fft.fftn(a=x, s=(2, 2), axes=(0, 1))
fft.fftshift(x=x, axes=0)
fft.hfft(a=x, n=4, axis=0)
fft.ifft(a=x, n=4, axis=0)
fft.ifft2(a=x, s=(2, 2), axes=(0, 1))
fft.ifftn(a=x, s=(2, 2), axes=(0, 1))
fft.ifftshift(x=x, axes=0)
fft.ihfft(a=x, n=4, axis=0)
fft.irfft(a=x, n=4, axis=0)
fft.irfft2(a=x, s=(2, 2), axes=(0, 1))
fft.irfftn(a=x, s=(2, 2), axes=(0, 1))
fft.rfft(a=x, n=4, axis=0)
fft.rfft2(a=x, s=(2, 2), axes=(0, 1))
fft.rfftn(a=x, s=(2, 2), axes=(0, 1))
fill_diagonal(a=s, val=7)
fix(x=x)
flatnonzero(a=x)
flip(m=x, axis=0)
fliplr(m=x)
flipud(m=x)
full_like(a=x, fill_value=3, dtype=np.int32)
gradient(f=v)
histogram(a=v, bins=4, range=(-2, 2))
histogram2d(x=v, y=v, bins=4)
histogramdd(sample=y, bins=3)
hsplit(ary=x, indices_or_sections=2)
hstack(tup=[x, x])
i0(x=x)
imag(val=x)
inner(a=x, b=x)
interp(x=v, xp=edges, fp=edges, left=0)
intersect1d(ar1=i, ar2=i)
isclose(a=x, b=x, rtol=1e-3)
iscomplex(x=x)
iscomplexobj(x=x)
isin(element=i, test_elements=i)
isneginf(x=x)
isposinf(x=x)
isreal(x=x)
isrealobj(x=x)
ix_(*[i, i])
kron(a=x, b=s)
lexsort(keys=x)
lib.stride_tricks.sliding_window_view(x=x, window_shape=2, axis=1)
linalg.cholesky(a=s)
linalg.cond(x=s, p=2)
linalg.cross(x1=y, x2=y)
linalg.det(a=s)
linalg.eig(a=s)
linalg.eigh(a=s, UPLO='L')
linalg.eigvals(a=s)
linalg.eigvalsh(a=s, UPLO='L')
linalg.inv(a=s)
linalg.lstsq(a=y, b=v, rcond=None)
linalg.matmul(x1=x, x2=y)
linalg.matrix_power(a=s, n=2)
linalg.matrix_rank(A=s, tol=1e-3)
linalg.matrix_transpose(x)
linalg.norm(x=x, ord=1, axis=0)
linalg.norm(x=x, keepdims=True)
linalg.pinv(a=x, rcond=1e-5)
linalg.qr(a=y, mode='reduced')
linalg.slogdet(a=s)
linalg.solve(a=s, b=s)
linalg.svd(a=x, full_matrices=False)
linalg.tensorinv(a=s, ind=1)
linalg.tensorsolve(a=s, b=s[0])
linspace(start=x, stop=x, num=3)
logspace(start=x, stop=x, num=3)
matrix_transpose(x)
max(a=x, axis=0)
may_share_memory(a=x, b=x)
mean(a=x, axis=0)
median(a=x, axis=0)
meshgrid(*[v, v])
min(a=x, axis=0)
min_scalar_type(a=x)
moveaxis(a=x, source=0, destination=1)
nan_to_num(x=x, copy=True, nan=1.0)
nanargmax(a=x, axis=0)
nanargmin(a=x, axis=0)
nancumprod(a=x, axis=0)
nancumsum(a=x, axis=0)
nanmax(a=x, axis=0)
nanmean(a=x, axis=0)
nanmedian(a=x, axis=0)
nanmin(a=x, axis=0)
nanprod(a=x, axis=0)
nanstd(a=x, axis=0)
nansum(a=x, axis=0)
nanvar(a=x, axis=0)
ndim(a=x)
nonzero(a=x)
ones_like(a=x, dtype=np.float64)
outer(a=v, b=v)
packbits(a=m, axis=0)
pad(array=x, pad_width=1)
pad(array=x, pad_width=1, mode='constant', constant_values=2)
partition(a=v, kth=1, axis=0)
percentile(a=x, q=30, axis=0)
piecewise(x=v, condlist=[v > 0], funclist=[1])
place(arr=x, mask=m, vals=v)
poly(seq_of_zeros=v)
polyadd(a1=v, a2=v)
polyfit(x=v, y=v, deg=1)
polymul(a1=v, a2=v)
polysub(a1=v, a2=v)
polyval(p=v, x=x)
prod(a=x, axis=0)
ptp(a=x, axis=0)
put(a=x, ind=i[:2], v=v[:2])
put_along_axis(arr=x, indices=i[:, None], values=x[:, :1], axis=1)
putmask(a=x, mask=m, values=v)
quantile(a=x, q=0.3, axis=0)
ravel(a=x, order='C')
ravel_multi_index(multi_index=(i, i), dims=(9, 9))
real(val=x)
real_if_close(a=x, tol=100)
repeat(a=x, repeats=2, axis=0)
reshape(x, (4, 3))
resize(a=x, new_shape=(2, 2))
result_type(*[x, x])
roll(a=x, shift=1, axis=0)
rollaxis(a=x, axis=1, start=0)
roots(p=v)
rot90(m=x, k=1)
round(a=x, decimals=1)
searchsorted(a=edges, v=v, side='right')
select(condlist=[m], choicelist=[x], default=3)
setdiff1d(ar1=i, ar2=i[:1])
setxor1d(ar1=i, ar2=i[:1])
shape(a=x)
shares_memory(a=x, b=x)
sinc(x=x)
size(a=x, axis=0)
sort(a=x, axis=0)
sort_complex(a=v)
split(ary=x, indices_or_sections=2, axis=1)
squeeze(a=x[None], axis=0)
stack(arrays=[x, x], axis=1)
std(a=x, axis=0)
sum(a=x, axis=0)
swapaxes(a=x, axis1=0, axis2=1)
take(a=x, indices=i, axis=0)
take(a=x, indices=i)
take_along_axis(arr=x, indices=i[:, None], axis=1)
tensordot(a=x, b=y, axes=1)
tile(A=x, reps=2)
trace(a=x, offset=1)
transpose(a=x, axes=(1, 0))
trapezoid(y=x, x=None, dx=2.0)
tril(m=x, k=1)
tril_indices_from(arr=s, k=1)
trim_zeros(filt=v, trim='f')
triu(m=x, k=1)
triu_indices_from(arr=s, k=1)
union1d(ar1=i, ar2=i)
unique(ar=i)
unique_all(i)
unique_counts(i)
unique_inverse(i)
unique_values(i)
unpackbits(a=b, axis=0)
unravel_index(indices=i, shape=(3, 3))
unwrap(p=v, discont=None, axis=0)
vander(x=v, N=3)
var(a=x, axis=0)
vdot(a=x, b=x)
vsplit(ary=x, indices_or_sections=3)
vstack(tup=[x, x])
where(condition=m, x=x, y=v)
where(condition=m)
zeros_like(a=x, dtype=np.float64)
""".strip().splitlines()
CALLS = [line for line in ALL_CALLS if line.partition("(")[0] in FUNCTIONS]  # not every NumPy has each


def operands():
    x = np.array([[1.5, -2, 0, 3], [0.25, 1, -1, 2], [-0.5, 0, 4, 1]], np.float32)
    return {
        "x": x, "y": x.T.copy(), "v": x[0].copy(), "w": np.array([1, 0.5, 2], np.float32), "m": x > 0,
        "s": x @ x.T + np.eye(3, dtype=np.float32), "i": np.array([0, 1, 1]), "b": np.array([3, 9], np.uint8),
        "edges": np.array([-1, 0, 1, 2], np.float32),
    }  # fmt: skip


def asked(line, there=lambda x: x):
    """The function of a line, its arguments, and those with names."""
    name, _, arguments = line.partition("(")
    args, kwargs = eval(
        f"_({arguments}", {"np": np, "_": lambda *a, **k: (a, k), **{k: there(x) for k, x in operands().items()}}
    )
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
    refused = surface.refused_keywords(function)
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
ANY_VALUE = surface.names("empty_like linalg.eig linalg.eigh linalg.svd linalg.qr array_repr array_str array2string")


@pytest.fixture(autouse=True)
def all_is_understood(monkeypatch):
    """What counting a call doesn't understand isn't left out, but raises."""

    def strictly(default, entry, *args, **kwargs):
        return entry(*args, **kwargs)

    monkeypatch.setattr(kernels, "understood", strictly)
    monkeypatch.setattr(costs, "understood", strictly)


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
        if surface.name_of(function) not in ANY_VALUE:
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


def shapes_in(result):
    if isinstance(result, (tuple, list)):
        return [shapes_in(part) for part in result]
    if isinstance(result, (str, type, np.dtype)):
        return type(result)
    return np.shape(result), result.dtype if hasattr(result, "dtype") else np.asarray(result).dtype


def takes_out(line):
    function, args, kwargs = asked(line)
    return "out" in {p.name for p in parameters_of(function)} - surface.refused_keywords(function)


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


def test_accounting_never_breaks_a_call(simulated, monkeypatch):
    """What it doesn't understand counts as one kernel, and as one operation per element."""
    monkeypatch.undo()

    def confused(*args, **kwargs):
        raise TypeError("what's that?")

    monkeypatch.setitem(kernels.KERNELS, "sort", confused)
    monkeypatch.setitem(costs._OPERATIONS, "sort", confused)
    result, counts = counted(np.sort, (simulated(np.array([2, 1])),), {})
    assert result.get().tolist() == [1, 2] and counts[0] == {"sort": 1}


def test_arrays_are_saved_by_name(simulated, tmp_path):
    np.savez(tmp_path / "x.npz", simulated(np.ones(2)), named=simulated(np.zeros(2)))
    with np.load(tmp_path / "x.npz") as found:
        assert (found["arr_0"].tolist(), found["named"].tolist()) == ([1, 1], [0, 0])
