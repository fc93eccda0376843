"""``import simgpu as cp``: CuPy's names, keywords and refusals."""

import inspect
import operator

import numpy as np
import pytest

import simgpu as cp
from simgpu import functions


@pytest.fixture
def x():
    return cp.asarray(np.arange(6.0).reshape(2, 3))


def test_every_name_of_cupy_is_there_or_said_to_be_missing():
    cupy = pytest.importorskip("cupy")
    found = {}
    for prefix, module in (("", cupy), ("linalg.", cupy.linalg), ("fft.", cupy.fft)):
        for name in dir(module):
            if name[0] == "_" or name in ("annotations", "config"):
                continue
            try:
                operator.attrgetter(prefix + name)(cp)
            except NotImplementedError:
                continue  # it names what's missing
            except AttributeError:
                found[prefix + name] = "unknown"
    assert found == {}


def test_names_that_cupy_lacks_are_lacking_here():
    with pytest.raises(AttributeError, match="'block', and nor has CuPy"):
        cp.block  # noqa: B018
    with pytest.raises(NotImplementedError, match="cupy.byte_bounds isn't simulated: CuPy has it"):
        cp.byte_bounds  # noqa: B018
    with pytest.raises(NotImplementedError, match="cupy._binary isn't simulated: CuPy has it"):
        cp._binary  # noqa: B018
    assert not hasattr(cp.linalg, "vecdot") and not hasattr(cp, "byte_bounds")


def test_dir_and_import_star_give_cupys_names_alone():
    names: dict = {}
    exec("from simgpu import *", names)
    assert {"arange", "result_type", "linalg", "ndarray", "pi"} <= names.keys() == {*dir(cp), "__builtins__"}
    assert not {"receipt", "PRESETS", "calibrate", "devices", "SimulatedArray", "block", "surface"} & names.keys()
    assert cp.receipt and cp.PRESETS  # they're there for those who ask
    linalg: dict = {}
    exec("from simgpu.linalg import *", linalg)
    assert {"inv", "det", "solve", "norm", "LinAlgError"} <= linalg.keys() and "get" not in linalg


def test_whether_memory_is_shared_to_the_byte_or_by_its_ends():
    x = cp.arange(10)
    assert not cp.shares_memory(x[::2], x[1::2]) and not cp.shares_memory(x[::2], x[1::2], "MAY_SHARE_EXACT")
    assert cp.shares_memory(x[::2], x[1::2], "MAY_SHARE_BOUNDS") and cp.may_share_memory(x[::2], x[1::2])
    assert not cp.shares_memory(x[:5], x[5:], max_work="MAY_SHARE_BOUNDS") and cp.shares_memory(x[:5], x[4:])
    with pytest.raises(NotImplementedError, match="integer `max_work`"):
        cp.shares_memory(x, x[1:], 1)
    with pytest.raises(NotImplementedError, match="`max_work` is `None`"):
        cp.may_share_memory(x, x, 1)


def test_libraries_know_an_array_by_its_interface():
    x = cp.arange(12, dtype="f").reshape(3, 4)
    with cp.receipt() as r:
        whole, part = x.__cuda_array_interface__, x[1:, ::2].__cuda_array_interface__
    assert not r.launches and not r.synchronizations
    assert whole["shape"] == (3, 4) and whole["typestr"] == "<f4" and whole["descr"] == [("", "<f4")]
    assert whole["strides"] is None and part["strides"] == (16, 8) and whole["version"] == 3 and whole["stream"] == 1
    assert part["data"] == (whole["data"][0] + 16, False) and cp.zeros(0).__cuda_array_interface__["data"] == (0, False)
    with cp.cuda.Stream() as stream:
        assert x.__cuda_array_interface__["stream"] == stream.ptr
    assert hasattr(x, "__cuda_array_interface__") and not hasattr(x.get(), "__cuda_array_interface__")


# -- DLPack ----------------------------------------------------------------------------------------------------------


def test_dlpack_copies_to_the_host_and_waits():
    x = cp.arange(3.0)
    assert x.__dlpack_device__() == (2, 0)
    with cp.receipt() as r:
        values = np.from_dlpack(x, device="cpu") if hasattr(np, "unstack") else to_host(x)  # unstack: NumPy 2.1
    assert values.tolist() == [0, 1, 2] and (r.device_to_host.explicit, r.synchronizations) == (1, 1)
    with pytest.raises(ValueError, match="without copy"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="device='cpu'"):
        np.from_dlpack(x)
    with pytest.raises(BufferError, match="unsupported device"):
        x.__dlpack__(dl_device=(2, 5))


def to_host(x):
    """As `np.from_dlpack` asks for it, since NumPy 2.1."""

    class Exported:
        def __dlpack__(self, stream=None):
            return x.__dlpack__(dl_device=(1, 0))

        def __dlpack_device__(self):
            return 1, 0

    return np.from_dlpack(Exported())


def test_dlpack_takes_arrays_of_the_same_gpu_alone():
    x = cp.arange(3.0)
    y = cp.from_dlpack(x)
    y[0] = 7
    assert float(x[0]) == 7 and float(cp.from_dlpack(x, copy=True)[0]) == 7
    with pytest.raises(TypeError, match="CPU arrays cannot be directly imported"):
        cp.from_dlpack(np.ones(2))
    with pytest.raises(NotImplementedError, match="does not support device"):
        cp.from_dlpack(x, device="cpu")
    with pytest.raises(TypeError, match="an array of another library, got 3"):
        cp.from_dlpack(3)


@pytest.mark.parametrize(
    ("call", "asked"),  # kernels, memsets
    [
        (lambda: cp.zeros((2, 3)), (0, 1)),
        (lambda: cp.ones(3, np.float32), (1, 0)),
        (lambda: cp.full((2,), 7), (1, 0)),
        (lambda: cp.empty(3), (0, 0)),
        (lambda: cp.arange(5), (1, 0)),
        (lambda: cp.linspace(0, 1, 5), (2, 0)),
        (lambda: cp.eye(3), (1, 1)),
        (lambda: cp.array(1.0), (1, 0)),
        (lambda: cp.add(1, 2), (1, 0)),
    ],
)
def test_new_arrays_are_made_there_without_an_upload(call, asked):
    with cp.receipt() as r:
        made = call()
    assert isinstance(made, cp.ndarray) and (r.launches, r.memsets, r.host_to_device.count) == (*asked, 0)


def test_values_of_the_host_are_copied():
    with cp.receipt() as r:
        x = cp.array([[1, 2], [3, 4]], np.float32, order="F")
    assert (r.launches, r.host_to_device.explicit) == (0, 1) and x.dtype == np.float32 and x.flags.f_contiguous


def test_lists_of_device_arrays_are_joined_there(x):
    with cp.receipt() as r:
        losses = cp.array([x.sum(), x.max()])
    assert r.host_to_device.count == 0 and losses.get().tolist() == [15.0, 5.0]
    assert cp.array([[x, x]]).shape == (1, 2, 2, 3)


def test_an_array_of_an_array_is_a_copy_unless_asked_otherwise(x):
    assert cp.asarray(x) is x and cp.array(x) is not x and cp.array(x, copy=False) is x
    assert cp.array(x, np.float32).dtype == np.float32


def doubled_above_1(v):
    return v * 2 if v > 1 else 0.0


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda x: cp.reshape(x, newshape=(3, 2)), lambda x: x.reshape(3, 2)),
        (lambda x: cp.concatenate(tup=[x, x]), lambda x: np.concatenate([x, x])),
        (lambda x: cp.argmax(x, 1, np.int32), lambda x: x.argmax(1).astype(np.int32)),
        (lambda x: cp.flip(a=x, axis=1), lambda x: np.flip(x, 1)),
        (lambda x: cp.take_along_axis(x, cp.argsort(x, 1), axis=1), lambda x: np.sort(x, 1)),
        (lambda x: cp.linalg.matrix_power(M=x @ x.T, n=2), lambda x: np.linalg.matrix_power(x @ x.T, 2)),
        (lambda x: cp.alltrue(x), np.all),
        (lambda x: cp.r_[7, x[0]], lambda x: np.r_[7, x[0]]),
        (lambda x: cp.c_[x[0], x[1]], lambda x: np.c_[x[0], x[1]]),
        (lambda x: cp.histogram(x=x, bins=3)[0], lambda x: np.histogram(x, 3)[0]),
        (lambda x: cp.add(x, 1, x), lambda x: x + 1),
        (lambda x: cp.divmod(x, 2)[1], lambda x: x % 2),
        (lambda x: cp.add.reduce(x, 1), lambda x: x.sum(1)),
        (lambda x: cp.atleast_2d([1, 2]), lambda x: np.array([[1, 2]])),
        (lambda x: cp.mgrid[:2, :3], lambda x: np.mgrid[:2, :3]),
        (lambda x: cp.mgrid[[slice(2), slice(1, 4)]], lambda x: np.mgrid[:2, 1:4]),
        (lambda x: cp.vectorize(doubled_above_1)(x), lambda x: np.where(x > 1, x * 2, 0)),
    ],
)
def test_cupys_keywords_give_numpys_values(x, call, wanted):
    expected = wanted(x.get())
    made = call(x)
    np.testing.assert_allclose(made.get(), expected)
    assert made.dtype == expected.dtype


CALLS = {
    "sum": ([1, 2],), "max": ([1, 2],), "reshape": ([1, 2], (2, 1)), "take": ([1, 2], 0), "sort": ([1, 2],),
    "all": ([1, 2],), "cumsum": ([1, 2],), "stack": ([[1], [2]],), "where": ([True], 1, 2), "sin": ([1.0],),
    "add": ([1], [2]), "median": ([1, 2],), "unique": ([1, 1],), "dot": ([1], [2]), "einsum": ("i,i", [1], [2]),
    "argwhere": ([0, 1],), "polyval": ([1], 2), "linalg.norm": ([1.0],), "linalg.det": ([[1.0]],),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_lists_are_refused_as_cupy_refuses_them(name):
    """`TypeError`, or where CuPy calls a method of its argument, `AttributeError`. Many errors here are both."""
    is_by_method = name in ("sum", "max", "reshape", "take", "dot", "linalg.norm", "linalg.det", "unique", "where")
    with pytest.raises(AttributeError if is_by_method else TypeError, match="unsupported type"):
        functions.get(name)(*CALLS[name])


def test_a_host_array_beside_indices_of_a_device_is_refused_by_name(x):
    with pytest.raises(TypeError, match="take: one array is on Simulated:0 and another"):
        cp.take(np.arange(3), x.argmax(1))


def test_a_function_along_an_axis_gets_arrays_of_the_device(x):
    with cp.receipt() as r:
        total = cp.apply_along_axis(lambda row: cp.sum(row), 1, x)
    assert r.host_to_device.count == 0 and total.get().tolist() == [3, 12]
    assert cp.apply_over_axes(cp.sum, x, [0, 1]).get().tolist() == [[15]]
    view = cp.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))
    assert view.get().tolist() == [[0, 1], [1, 2]]


def test_get_array_module(x):
    assert cp.get_array_module(1, x) is cp and cp.get_array_module(np.ones(1)) is np


def test_small_functions_of_cupys():
    rows, columns = cp.mask_indices(3, cp.triu, 1)
    assert (rows.tolist(), columns.tolist()) == ([0, 0, 1], [1, 2, 2])
    assert cp.diagflat(3).tolist() == [[3]] and float(cp.kron(2, 3.0)) == 6
    assert cp.average(np.ones((2, 3)), weights=np.ones((2, 3))).get() == 1, "CuPy moves both to the device"
    assert cp.asarray_chkfinite([1.0]).tolist() == [1]
    with pytest.raises(ValueError, match="Infs or NaNs"):
        cp.asarray_chkfinite([np.nan])
    with pytest.raises(ValueError, match="bitorder"):
        cp.packbits(cp.arange(3), bitorder="ascendant")
    with pytest.raises(ValueError, match="5 elements"):
        cp.arange(5).searchsorted(cp.arange(3), sorter=cp.arange(1))
    with pytest.warns(DeprecationWarning, match="vstack"):
        assert cp.row_stack((cp.ones(2), cp.zeros(2))).tolist() == [[1, 1], [0, 0]]
    x = cp.ones((2, 2))
    assert cp.fft.fft2(x, axes=()) is x and cp.fft.fftn(x).shape == (2, 2)
    p = cp.poly1d(cp.ones(3))
    p.set(np.poly1d([1.0, 2.0, 3.0], variable="z"))
    assert p.variable == "z" and p.coeffs.tolist() == [1, 2, 3]
    assert cp.polyval(cp.zeros(0), cp.ones(3)).tolist() == [0, 0, 0]
    assert cp.add(p, 1).tolist() == [2, 3, 4] and cp.multiply(cp.ones(3), p).tolist() == [1, 2, 3]


def test_one_of_two_results_can_have_a_place(x):
    place = cp.zeros_like(x)
    whole, rest = cp.divmod(x, 2, place)
    assert whole is place and (rest == x % 2).all()
    whole, rest = cp.divmod(x, 2, out=(None, place))
    assert rest is place and (whole == x // 2).all()


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("sum", "a axis dtype out keepdims"), ("concatenate", "tup axis out dtype casting"), ("roll", "a shift axis"),
        ("flip", "a axis"), ("stack", "tup axis out dtype casting"), ("linalg.norm", "x ord axis keepdims"),
    ],
)  # fmt: skip
def test_signatures_have_cupys_parameters(name, parameters):
    if name == "concatenate" and np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("before NumPy 2.4, functions written in C don't tell")
    assert " ".join(inspect.signature(functions.get(name)).parameters) == parameters
