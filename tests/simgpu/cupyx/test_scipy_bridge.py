"""`cupyx.scipy`: functions that SciPy computes, for arrays of a simulated GPU."""

import importlib

import numpy as np
import pytest

import simgpu as cp

scipy = pytest.importorskip("scipy", reason="cupyx.scipy is computed by SciPy, which isn't installed")

from simgpu.cupyx import scipy as cupyx_scipy  # noqa: E402
from simgpu.cupyx.scipy import bridge, fft, linalg, ndimage, signal, special  # noqa: E402
from simgpu.surface import cupys_names  # noqa: E402

MODULES = {
    "special": "special", "fft": "fft", "linalg": "linalg", "ndimage": "ndimage", "signal": "signal",
    "windows": "signal.windows", "sparse": "sparse", "csgraph": "sparse.csgraph", "stats": "stats",
    "fftpack": "fftpack", "interpolate": "interpolate", "spatial": "spatial", "distance": "spatial.distance",
}  # fmt: skip
X = np.random.default_rng(0).normal(size=(6, 8))


def same(ours, theirs, rtol=1e-12):
    """Whether a result is the same as SciPy's, and nothing of it is on the host."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            same(one, other)
        return
    assert isinstance(ours, cp.ndarray), type(ours)
    np.testing.assert_allclose(ours.get(), theirs, rtol, 1e-12)
    assert ours.dtype == np.asarray(theirs).dtype


CALLS = {
    "special.erf": (X,), "special.gammaln": (abs(X),), "special.zeta": (abs(X) + 2, abs(X) + 1),
    "special.logsumexp": (X, 0), "special.softmax": (X,),
    "fft.fft": (X, 5), "fft.rfftn": (X,), "fft.dct": (X, 2), "fft.idstn": (X,), "fft.fftshift": (X,),
    "linalg.toeplitz": (X[0],), "linalg.block_diag": (X, X[:2]), "linalg.expm": (X[:4, :4],), "linalg.lu": (X,),
    "ndimage.gaussian_filter": (X, 1.5), "ndimage.convolve": (X, X[:3, :3]), "ndimage.zoom": (X, 2),
    "ndimage.label": (X > 0,), "ndimage.binary_erosion": (X > -1,), "ndimage.distance_transform_edt": (X > 0,),
    "signal.convolve": (X, X), "signal.filtfilt": ([0.5, 0.5], [1.0], X), "signal.butter": (3, 0.2),
    "signal.welch": (X[0], 1.0, "hann", 8), "signal.find_peaks": (X[0],), "signal.windows.hann": (9,),
    "stats.zscore": (X,), "spatial.distance.cdist": (X, X),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_values_are_scipys_and_stay_on_the_gpu(name):
    module, _, function = name.rpartition(".")
    ours = getattr(importlib.import_module(f"simgpu.cupyx.scipy.{module}"), function)
    theirs = getattr(importlib.import_module(f"scipy.{module}"), function)
    args = CALLS[name]
    moved = [cp.asarray(x) if isinstance(x, (np.ndarray, list)) else x for x in args]
    with cp.receipt() as receipt:
        found = ours(*moved)
    assert receipt.launches >= 1 and receipt.synchronizations == 0
    wanted = theirs(*args)
    if name == "signal.find_peaks":
        found, wanted = found[0], wanted[0]
    if name == "ndimage.label":
        found, wanted = found[0], wanted[0]
    same(found, wanted)


def test_each_row_says_where_its_launches_come_from():
    for file, module in MODULES.items():
        rows = bridge.table(file)
        theirs = cupys_names(f"cupyx.scipy.{module}")
        assert rows["ufuncs"] <= theirs and rows["classes"] <= theirs
        for row in (*rows["functions"].values(), *rows["methods"].values()):
            assert row.known in ("from source", "guessed"), (file, row)
            assert bool(row.where) == (row.known == "from source"), (file, row)
            assert isinstance(row.launches, int) or row.launches in bridge.COUNTS, (file, row)
        assert rows["functions"].keys() <= theirs, (file, rows["functions"].keys() - theirs)


@pytest.mark.parametrize("module", MODULES.values())
def test_names_are_cupys(module):
    found = importlib.import_module(f"simgpu.cupyx.scipy.{module}")
    assert set(dir(found)) <= cupys_names(f"cupyx.scipy.{module}")
    with pytest.raises(AttributeError, match="and nor has CuPy"):
        _ = found.no_such_name


def test_what_is_on_the_host_is_refused():
    x = cp.asarray(X)
    for call in (
        lambda: special.erf(X), lambda: special.erf([1.0]), lambda: signal.convolve(x, X),
        lambda: ndimage.gaussian_filter(X, 1), lambda: ndimage.gaussian_filter([[1.0]], 1), lambda: fft.fft(X),
        lambda: linalg.lu_factor(X), lambda: ndimage.sum(x, cp.ones((6, 8), int), [1]),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"takes arrays on Simulated:0|Move it there first"):
            call()


def test_keywords_that_cupy_lacks_are_refused():
    with pytest.raises(TypeError, match="no keyword 'workers'"):
        fft.fft(cp.asarray(X), workers=2)
    with pytest.raises(TypeError, match="at most 4 arguments by position"):
        signal.convolve(cp.asarray(X), cp.asarray(X), "full", "auto", 1)


def test_an_argument_that_is_left_out_moves_no_other():
    sos = scipy.signal.butter(2, 0.3, output="sos")
    w, _ = signal.sosfreqz(cp.asarray(sos), fs=100)
    np.testing.assert_allclose(w.get(), scipy.signal.sosfreqz(sos, fs=100)[0])


def test_a_filter_goes_on_where_it_stopped():
    b, a, sos = *scipy.signal.butter(3, 0.3), scipy.signal.butter(3, 0.3, output="sos")
    x, wanted = cp.asarray(X), scipy.signal.lfilter(b, a, X)
    past = cp.zeros((6, 6))  # three inputs and three outputs
    first, past = signal.lfilter(cp.asarray(b), cp.asarray(a), x[:, :5], zi=past)
    second, _ = signal.lfilter(cp.asarray(b), cp.asarray(a), x[:, 5:], zi=past)
    np.testing.assert_allclose(cp.concatenate((first, second), 1).get(), wanted, 1e-9, 1e-12)
    past = cp.zeros((2, 6, 4))  # for each section two inputs and two outputs
    first, past = signal.sosfilt(cp.asarray(sos), x[:, :5], zi=past)
    second, _ = signal.sosfilt(cp.asarray(sos), x[:, 5:], zi=past)
    np.testing.assert_allclose(cp.concatenate((first, second), 1).get(), wanted, 1e-9, 1e-12)
    ones, start = cp.ones(20), signal.lfilter_zi(cp.asarray(b), cp.asarray(a))
    steady, _ = signal.lfilter(cp.asarray(b), cp.asarray(a), ones, zi=start)
    np.testing.assert_allclose(steady.get(), 1.0)
    steady, _ = signal.sosfilt(cp.asarray(sos), ones, zi=signal.sosfilt_zi(cp.asarray(sos)))
    np.testing.assert_allclose(steady.get(), 1.0)


def test_arrays_of_the_caller_are_written_to():
    x, out = cp.asarray(X), cp.zeros((6, 8))
    assert ndimage.gaussian_filter(x, 1, output=out) is out
    np.testing.assert_allclose(out.get(), scipy.ndimage.gaussian_filter(X, 1))


def test_special_functions_can_be_fused():
    @cp.fuse()
    def both(x):
        return special.erf(x) + special.expit(x)

    x = cp.asarray(X)
    both(x)
    with cp.receipt() as receipt:
        found = both(x)
    assert receipt.launches == 1
    np.testing.assert_allclose(found.get(), scipy.special.erf(X) + scipy.special.expit(X))


def test_a_filter_launches_a_kernel_for_each_axis_and_one_for_its_weights():
    x = cp.zeros((4, 4, 4))
    for axes, kernels in ((None, 4), ((0,), 2)):
        with cp.receipt() as receipt:
            ndimage.uniform_filter(x, 3, axes=axes)
        assert receipt.launches == kernels


def test_scipys_fft_takes_it_as_a_backend():
    import scipy.fft

    with scipy.fft.set_backend(fft, only=True), cp.receipt() as receipt:
        found = scipy.fft.fft(cp.asarray(X))
    assert receipt.launches == 1
    np.testing.assert_allclose(found.get(), np.fft.fft(X))


def test_a_plan_is_for_one_shape_and_type():
    x = cp.asarray(X, np.complex64)
    plan = fft.get_fft_plan(x, axes=1)
    with plan:
        np.testing.assert_allclose(fft.fft(x, plan=plan).get(), np.fft.fft(X.astype("F")), 1e-5, 1e-5)
    assert fft.get_fft_plan(x, shape=8, axes=1).shape == (*x.shape[:-1], 8)
    assert fft.get_fft_plan(cp.zeros((2, 3, 4), np.complex64)).axes == (-3, -2, -1)
    for wrong in ({"axes": (0, 1, 2, 3)}, {"axes": 2}, {"shape": (2,), "axes": (0, 1)}, {"value_type": "X"}):
        with pytest.raises(ValueError):
            fft.get_fft_plan(x, **wrong)


def test_a_programs_function_gets_arrays_of_the_gpu():
    kinds = []

    def second(input, axis, output, mode, cval):
        kinds.append(type(input))
        return ndimage.correlate1d(input, cp.asarray(np.array([1.0, -2.0, 1.0])), axis, output, mode, cval, 0)

    found = ndimage.generic_laplace(cp.asarray(X), second)
    np.testing.assert_allclose(found.get(), scipy.ndimage.laplace(X), 1e-12, 1e-12)
    assert set(kinds) == {cp.ndarray}
    total = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    windows = scipy.ndimage.uniform_filter(X, 3, mode="mirror") * 9
    np.testing.assert_allclose(ndimage.generic_filter(cp.asarray(X), total, 3, mode="mirror").get(), windows, 1e-9)


ROOT_MEAN_SQUARE = """extern "C" __global__ void rms(const double* x, int n, double* y) {
    double s = 0;
    for (int i = 0; i < n; ++i) s += x[i] * x[i];
    y[0] = sqrt(s / n);
}"""
RUNNING = """extern "C" __global__ void largest(const double* x, ptrdiff_t n, double* y, ptrdiff_t m) {
    for (int i = 0; i < m; ++i) {
        y[i] = x[i];
        for (int k = i; k < i + n - m + 1; ++k) y[i] = fmax(y[i], x[k]);
    }
}"""


@pytest.mark.parametrize("options", [{}, {"origin": 1, "mode": "wrap"}, {"mode": "constant", "cval": 2.0}])
def test_a_filter_with_a_kernel_of_the_programs(options):
    def rms(x):
        return np.sqrt((x * x).mean())

    raw = cp.RawKernel(ROOT_MEAN_SQUARE, "rms")
    reduction = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a / _in_ind.size())", "0", "rms")
    smaller = cp.ReductionKernel("X x", "Y y", "_raw_x[_in_ind.size() / 2] > x", "a + b", "y = a", "0", "smaller")
    x, wanted = cp.asarray(X), scipy.ndimage.generic_filter(X, rms, 3, **options)
    for kernel in (raw, reduction):
        with cp.receipt() as receipt:
            found = ndimage.generic_filter(x, kernel, 3, **options)
        np.testing.assert_allclose(found.get(), wanted, 1e-12)
        assert receipt.launches == 1 and "generic_9_rms" in str(receipt)
    shape = np.array([[0, 1, 0], [1, 1, 1], [0, 0, 1]], bool)
    found = ndimage.generic_filter(x, smaller, footprint=cp.asarray(shape), output="i4", **options)
    wanted = scipy.ndimage.generic_filter(X, lambda v: (v[len(v) // 2] > v).sum(), footprint=shape, **options)
    np.testing.assert_array_equal(found.get(), wanted)
    run, out = cp.RawKernel(RUNNING, "largest"), cp.zeros(X.shape, "f")
    assert ndimage.generic_filter1d(x, run, 3, 0, out, **options) is out
    np.testing.assert_allclose(out.get(), scipy.ndimage.maximum_filter1d(X, 3, 0, **options), 1e-6)


def test_a_filter_along_some_axes():
    x = cp.asarray(np.stack((X, 2 * X)))
    found = ndimage.generic_filter(x, cp.RawKernel(ROOT_MEAN_SQUARE, "rms"), (1, 3), axes=(1, 2))
    alone = ndimage.generic_filter(x[1], cp.RawKernel(ROOT_MEAN_SQUARE, "rms"), (1, 3))
    np.testing.assert_array_equal(found[1].get(), alone.get())


def test_a_filters_kernel_that_leaves_its_window():
    text = ROOT_MEAN_SQUARE.replace("i < n", "i <= n")
    with pytest.raises(cp.jit.OutOfBounds, match="window has 9 elements, 0 to 8; index 9") as caught:
        ndimage.generic_filter(cp.asarray(X), cp.RawKernel(text, "rms"), 3)
    assert caught.value.line == 3


def test_a_filter_takes_the_kernels_that_cupy_takes():
    double, x = cp.ElementwiseKernel("T x", "T y", "y = 2 * x", "double_it"), cp.asarray(X)
    total = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    with pytest.raises(TypeError, match="only ReductionKernel allowed"):
        ndimage.generic_filter(x, double, 3)
    for call in (lambda: ndimage.generic_filter(x, np.mean, 3), lambda: ndimage.generic_filter1d(x, total, 3)):
        with pytest.raises(TypeError, match="bad function type"):
            call()
    with pytest.raises(TypeError, match="Complex type not supported"):
        ndimage.generic_filter1d(x + 1j, cp.RawKernel(RUNNING, "largest"), 3)
    for call in (
        lambda: ndimage.generic_filter1d(x, cp.RawKernel(RUNNING, "largest"), 3, origin=2),
        lambda: ndimage.generic_filter(x, total, 3, origin=(0, -2)),
    ):
        with pytest.raises(ValueError, match="invalid origin"):
            call()


@pytest.mark.filterwarnings("ignore:wavelets:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:wavelets:UserWarning")
def test_the_transform_with_wavelets():
    """A row for each width: the data convolved with the wavelet, backwards and conjugated."""
    x = np.sin(np.arange(100.0))
    widths = [1, 4, 20]
    for wavelet, dtype in ((signal.ricker, np.float64), (signal.morlet2, np.complex128)):
        found = signal.cwt(cp.asarray(x), wavelet, widths)
        assert (found.shape, found.dtype) == ((3, 100), dtype)
        for row, width in zip(found.get(), widths):
            wave = wavelet(min(10 * width, 100), width).get().conj()[::-1]
            np.testing.assert_allclose(row, scipy.signal.convolve(x, wave, "same"), 1e-9, 1e-12)


def test_wavelets_say_that_they_will_go():
    with pytest.warns(cp.exceptions.VisibleDeprecationWarning, match="wavelets: SciPy gave them up"):
        signal.ricker(10, 1.0)


def test_an_objects_arrays_are_on_the_gpu():
    system = signal.lti([1.0, 2.0], [1.0, 3.0, 4.0])
    assert isinstance(system, signal.lti) and isinstance(system.num, cp.ndarray)
    found = system.to_ss().A
    np.testing.assert_allclose(found.get(), scipy.signal.lti([1.0, 2.0], [1.0, 3.0, 4.0]).to_ss().A)


def test_get_array_module():
    assert cupyx_scipy.get_array_module(cp.ones(2)) is cupyx_scipy
    assert cupyx_scipy.get_array_module(np.ones(2)) is scipy


def test_a_triangular_matrix_isnt_looked_through_and_goes_with_no_stack():
    a, nan = cp.asarray(np.tri(3)), cp.asarray(np.array([np.nan, 1, 2]))
    found = linalg.solve_triangular(a, nan, lower=True)
    assert np.isnan(found.get()).all()
    with pytest.raises(ValueError, match="incompatible dimensions"):
        linalg.solve_triangular(a, cp.ones((2, 3, 1)))
