"""Dispatch over CuPy without a GPU: real `cupy.ndarray`s over the host's memory.

Operators, NumPy's protocols, views, strides and addresses work on them. Only kernels, copies and printing need a GPU.
With a real GPU, no test here may launch a kernel, since it would read memory that isn't the GPU's.
"""

import inspect

import numpy as np
import pytest
from inside import array_kind, device_of, is_array, parameter_key, view_as

import fluxlite as fl
from fluxlite import fmap, is_leaf

cupy = pytest.importorskip("cupy")


def over_host_memory(x):
    memory = cupy.cuda.UnownedMemory(x.ctypes.data, x.nbytes, x, device_id=0)
    pointer = cupy.cuda.MemoryPointer(memory, 0)
    return cupy.ndarray(x.shape, x.dtype, memptr=pointer, strides=x.strides)


@pytest.fixture
def host():
    return np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def x(host):
    return over_host_memory(host)


def test_views_and_strides_are_numpys(x, host):
    for a, b in [(x.T, host.T), (x[:, 1:], host[:, 1:]), (x[::-1], host[::-1]), (x.reshape(3, 2), host.reshape(3, 2)),
                 (np.broadcast_to(x, (4, 2, 3)), np.broadcast_to(host, (4, 2, 3))), (x[1, 2], host[1:, 2:].reshape(())),
                 (np.split(x, 3, axis=1)[2], np.split(host, 3, axis=1)[2]),
                 (np.expand_dims(x, 1), np.expand_dims(host, 1))]:  # fmt: skip
        assert type(a) is cupy.ndarray
        assert (a.shape, a.strides) == (b.shape, b.strides)
        assert array_kind(a).address(a) == array_kind(b).address(b)
        assert a.base is x
    with pytest.raises(IndexError):
        x[2]


def test_a_simulated_array_refuses_where_cupy_refuses(x, simulated):
    y = simulated(np.ones((2, 3), np.float32))
    for refused in (lambda a: np.block([a, a]), lambda a: np.maximum.reduce(a), lambda a: np.multiply.at(a, 0, 1.0),
                    lambda a: np.clip(a, min=0), lambda a: np.add(a, a, order="C"), lambda a: np.add(a, a, subok=True),
                    lambda a: np.array([a, a]), lambda a: hash(a), lambda a: bool(a), lambda a: a[2],
                    lambda a: iter(a[0, 0]),
                    lambda a: np.ones(3, like=a), lambda a: np.eye(3, like=a), lambda a: np.full(3, 1.0, like=a),
                    lambda a: len(a[0, 0]), lambda a: [1][a[0, 0]], lambda a: a @ np.ones((3, 1), np.float32),
                    lambda a: a.dot(np.ones((3, 1), np.float32))):  # fmt: skip
        kinds = []
        for array in (x, y):
            with pytest.raises((TypeError, ValueError, IndexError, NotImplementedError)) as caught:
                refused(array)
            kinds.append(caught.type)
        assert kinds[0] is kinds[1]


# -- what fluxlite asks of an array ---------------------------------------------------------------------


def test_fluxlite_knows_cupys_arrays(x):
    assert is_array(x) and is_leaf(x)
    device = device_of(x)
    assert (device.backend, device.index, repr(device)) == ("CUDA", 0, "CUDA:0")
    assert array_kind(x).address(x) == x.data.ptr
    assert device.receive(x) is x


@pytest.mark.parametrize(("name", "args"), [("eye", (3,)), ("ones", (3,)), ("full", (3, 1.0)), ("arange", (3,))])
def test_what_is_made_like_a_tracked_array_cupy_makes(x, monkeypatch, name, args):
    """Without the ``device=`` that NumPy adds, which CuPy's functions don't take."""
    signature = inspect.signature(getattr(cupy, name))
    monkeypatch.setattr(cupy, name, lambda *args, **keywords: signature.bind(*args, **keywords))
    w = fl.param(x)
    assert getattr(np, name)(*args, like=w).args[: len(args)] == args


def test_ties_and_walks(x):
    assert parameter_key(x) == parameter_key(x.T) != parameter_key(x[:, :2])
    assert view_as(x, like=x.T, of=x).strides == x.T.strides
    seen = []
    walked = fmap(lambda leaf: seen.append(leaf) or leaf, {"W": x, "again": [x], "T": x.T})
    assert len(seen) == 1 and walked["again"][0] is x
    assert walked["T"].strides == x.T.strides and walked["T"].data.ptr == x.data.ptr


def test_a_model_can_be_explained_and_printed_without_its_values(x):
    model = fl.Chain(fl.Dense.of(x), fl.Dense.of(x.T), fl.Dense.of(x[:, :2]), fl.Dense(2, 2))
    text = repr(fl.explain(model))
    assert "layers[0].weight      G CUDA:0         float32 (2, 3): 24 bytes; moves, trains" in text
    assert "tied to layers[0].weight, transposed" in text
    assert "40 bytes on CUDA:0, 24 bytes on CPU" in text
    assert repr(model).endswith("parameters in all, on CUDA:0 and CPU")
