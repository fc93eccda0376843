"""Whether a kind of device, or one of its parts, can be used. NVIDIA's and AMD's GPUs share their code."""

import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from inside import BACKENDS, DeviceID, several_cards, usable
from inside import device as cuda

import fluxlite as fl
from fluxlite import functional


class Trouble(Exception):
    """Like CuPy's errors: the text starts with the error's name."""


class FakeCuPyDevice:
    """Like CuPy's: the object doesn't store which device is current."""

    def __init__(self, cupy, index):
        self.cupy, self.index = cupy, index
        self.use = lambda: cupy.used.append(index)

    def __enter__(self):
        self.cupy.entered.append(self.index)

    def __exit__(self, *_):
        self.cupy.left.append(self.index)


class FakeArray:
    """The array on which `functional` tries a kernel and a product; either may be broken."""

    def __init__(self, host, broken):
        self.host, self.broken = host, broken

    def __add__(self, other):
        return self.computed("kernel", self.host + other.host)

    def __matmul__(self, other):
        return self.computed("product", self.host @ other.host)

    def computed(self, what, result):
        if what in self.broken:
            raise self.broken[what]
        return FakeArray(result, self.broken)


class FakeCuPy:
    """The parts of CuPy that asking for devices needs, for either maker, on a computer without a GPU."""

    ndarray = FakeArray

    def __init__(self, is_hip, cards=(), error="", driver=0, version="14.2.0", **broken):
        self.entered, self.left, self.used = [], [], []
        self.__version__, self.broken, self.cards, self.error = version, broken, cards, error
        runtime = SimpleNamespace(
            is_hip=is_hip, getDeviceCount=self.count, driverGetVersion=lambda: driver,
            getDeviceProperties=lambda index: {"name": cards[index].encode()},
        )  # fmt: skip
        self.cuda = SimpleNamespace(runtime=runtime, Device=lambda index: FakeCuPyDevice(self, index))

    def count(self):
        if self.error:
            raise Trouble(self.error)
        return len(self.cards)

    def array(self, x, order="K"):
        return FakeArray(x, self.broken)

    def asnumpy(self, x):
        return x.host


@pytest.fixture
def with_cupy(monkeypatch):
    """With this CuPy instead of the installed one; None means no CuPy."""

    def put(fake):
        real = importlib.util.find_spec
        spec = fake and SimpleNamespace(origin=None)  # it doesn't say which package it's from
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: spec if name == "cupy" else real(name))
        monkeypatch.setitem(sys.modules, "cupy", fake)
        forget()
        return fake

    def forget():
        for cached in (usable.usable, cuda.cupy_device):
            cached.cache_clear()

    yield put
    monkeypatch.undo()
    forget()
    several_cards.clear()


# -- functional -----------------------------------------------------------------------------------------------------


def test_functional_is_true_or_says_what_is_missing():
    with fl.pretend(CUDA="functional"):
        assert fl.cuda.functional() and repr(fl.cuda.functional()) == "True" == repr(functional("CPU"))
    with fl.pretend(CUDA="no driver"):
        answer = fl.cuda.functional()
        assert not answer and "NVIDIA driver" in answer.reason and repr(answer) == f"False: {answer.reason}"
    assert bool(fl.cuda.functional()) == bool(functional("CUDA"))
    with fl.pretend(Metal="functional"):
        assert fl.metal.functional() and [repr(d) for d in fl.metal.devices()] == ["Metal:0 (pretended)"]
    with fl.pretend(), pytest.raises(RuntimeError, match="no Apple GPU to use. MLX is not installed"):
        fl.metal.device()


# -- both makers' CuPy --------------------------------------------------------------------------------------------


def test_an_AMD_GPU_on_CuPy_for_ROCm(with_cupy):
    cupy = with_cupy(FakeCuPy(is_hip=True, cards=["AMD Instinct MI300X", "AMD Radeon"]))
    assert functional("AMDGPU") and not functional("CUDA")
    told = 'CuPy for NVIDIA is not installed: pip install "cupy-cuda12x[ctk]"'
    assert functional("CUDA").reason == told
    first, second = BACKENDS["AMDGPU"].devices()
    assert (first.backend, first.name, repr(second)) == ("AMDGPU", "AMD Instinct MI300X", "AMDGPU:1")
    assert first.deviceID == DeviceID("HIPDevice", 0, "AMD Instinct MI300X")
    assert first is fl.get_device() is fl.get_device("AMDGPU", 0) and fl.gpu_name() == "AMDGPU"
    cupy.entered.clear(), cupy.left.clear()
    second.upload(np.ones(2))
    second.use()
    assert cupy.entered == cupy.left == cupy.used == [1]
    assert repr(fl.amdgpu.devices()) == "2 devices:\n0. AMD Instinct MI300X\n1. AMD Radeon"


def test_the_current_device_of_a_library_and_ours_change_together(with_cupy):
    cupy = with_cupy(FakeCuPy(is_hip=False, cards=["A", "B", "C"]))
    try:
        with fl.cuda.using(2) as device:
            assert device is fl.get_device("CUDA", 2)
            assert fl.cuda.device().index == 2 == cupy.entered[-1]
            fl.cuda.set_device(1)
            assert fl.cuda.device().index == 1 == cupy.used[-1]
        assert fl.cuda.device().index == 0 and cupy.left == [2]
    finally:
        fl.cuda.set_device(0)


NO_DEVICE = "cudaErrorNoDevice: no CUDA-capable device is detected"
NVRTC = "CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: cannot open shared object file"
MISSING = 'CuPy is not installed: pip install "cupy-cuda12x[ctk]", if this computer has an NVIDIA GPU'
A_CARD = {"cards": ["NVIDIA T4"]}


@pytest.mark.parametrize(
    ("fake", "reason"),
    [
        (None, MISSING),
        ({}, "CuPy finds no GPU"),
        (dict(error=NO_DEVICE), f"CuPy can't compute here: {NO_DEVICE}"),
        (A_CARD | dict(version="13.6.0"), "CuPy 13.6.0 is too old, fluxlite needs 14 or newer"),
        (A_CARD | dict(kernel=RuntimeError(NVRTC)), f"CuPy can't compute here: {NVRTC}"),
        (A_CARD | dict(kernel=Trouble("no kernel\nfor this")), "CuPy can't compute here: no kernel."),
    ],
)
def test_why_there_is_no_GPU(with_cupy, fake, reason):
    """Counting GPUs needs only the driver: plain `pip install cupy-cuda12x` counts them, and can't compute."""
    with_cupy(None if fake is None else FakeCuPy(False, **fake))
    answer = functional("CUDA")
    assert answer.reason.startswith(reason) and "\n" not in answer.reason and answer.installed == (fake is not None)
    assert ('"cupy-cuda12x[ctk]"' in answer.reason) == (fake is None or "can't" in reason)
    assert BACKENDS["CUDA"].devices() == BACKENDS["AMDGPU"].devices() == [] and fl.get_device() == fl.get_device("CPU")
    assert len(fl.cuda.devices()) == 0 and repr(fl.cuda.devices()) == f"0 devices: {answer.reason}"


@pytest.fixture
def package(monkeypatch, tmp_path):
    """With these CuPy packages installed but not imported, with or without NVIDIA's driver."""

    def put(*names, driver=False):
        (tmp_path / "cupy").mkdir()
        for name in names:
            (tmp_path / f"{name}.dist-info").mkdir()
        spec = SimpleNamespace(origin=str(tmp_path / "cupy" / "__init__.py"))
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
        monkeypatch.setattr(usable, "nvidia_driver", lambda: driver)
        monkeypatch.setitem(sys.modules, "cupy", None)  # its import fails

    return put


def test_a_CuPy_that_is_of_no_use_is_not_imported(package, monkeypatch):
    package("cupy_cuda12x-14.2.0")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    no_driver = "CuPy is installed, but there is no NVIDIA driver that it can use"
    assert usable.usable.__wrapped__("CUDA").reason == no_driver
    answer = usable.usable.__wrapped__("AMDGPU")
    assert answer.reason == "CuPy for AMD is not installed: pip install cupy-rocm-7-0" and not answer.installed


# It may have a GPU. We know nothing about AMD's driver. It's built from source: for which maker? Which of the two?
@pytest.mark.parametrize(
    ("names", "driver", "backend"),
    [
        ("cupy_cuda12x-14.2.0", True, "CUDA"), ("cupy_rocm_7_0-14.2.0", False, "AMDGPU"),
        ("cupy-14.2.0", False, "CUDA"), ("cupy_cuda12x-14.2.0 cupy_cuda13x-14.2.0", False, "CUDA"),
    ],
)  # fmt: skip
def test_a_CuPy_that_may_be_of_use_is_asked(package, names, driver, backend):
    package(*names.split(), driver=driver)
    assert usable.usable.__wrapped__(backend).reason.startswith("CuPy can't compute here: import of cupy halted")
