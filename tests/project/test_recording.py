"""Recording a GPU: the record of a simulated card gives that card again, and says how it was made."""

import ctypes
import itertools
import json
import platform
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import fluxlite as fl
from benchmarks import launches
from benchmarks import record as recording
from benchmarks.harness import ROOT
from fluxlite.devices.cupy.device import CUDADevice
from fluxlite_course import crossing
from fluxlite_course.crossing import BATCHES, SIZES
from simgpu.presets import PRESETS

pytestmark = pytest.mark.slow

T4 = "NVIDIA T4"
FIGURES = [
    name for name in PRESETS[T4]._fields[3:] if name not in ("tape", "start", "queue", "peers", "version", "source")
]
# What a CPU computes in a second or two, since a simulated GPU that's used normally computes values.
SMALL = recording.Plan(
    repeats=3, launches=10, warm_up=0.0, elementwise=(2**12, 2**20, 2**23), copies=(4, 2**12, 2**20, 2**24),
    products=(64, 256, 512), hidden=(8, 64), batches=(1, 4), clocks=256,
)  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The file that the program writes for a simulated card, with everything in it."""
    path = tmp_path_factory.mktemp("records") / "t4.json"
    assert recording.main([str(path), "--simulated", T4, "--repeats", "2"]) == 0
    return path


@pytest.fixture
def record(written):
    return json.loads(written.read_text(encoding="utf-8"))


def assert_near(found, card):
    for figure in FIGURES:
        assert getattr(found, figure) == pytest.approx(getattr(card, figure), rel=0.1), figure
    assert (found.memory, found.multiprocessors) == (card.memory, card.multiprocessors)


# -- the round trip ---------------------------------------------------------------------------------------------------


def test_what_is_recorded_of_a_simulated_card_is_the_card_again(record):
    # It starts from another card's figures, and none of them may remain.
    assert_near(fl.calibrate(record, like="A100"), PRESETS[T4])


def test_a_device_that_computes_is_recorded_like_any_other():
    with fl.simulate_gpu(like=T4) as device:
        found = recording.record(device, SMALL)
        # Products of size 512 can tell float16 from the floor only if we don't start from a much faster card.
        assert_near(fl.calibrate(found, like="GTX 1650"), PRESETS[T4])


# -- what lessons read ------------------------------------------------------------------------------------------------


def test_the_entries_are_read_by_the_reader_of_the_cpus_record(record, monkeypatch):
    as_cpus = {**record, "cpu": record["card"], "measurements": record["lessons"]}
    monkeypatch.setattr(crossing, "record", lambda name=None: as_cpus)
    for batch, size in itertools.product(BATCHES, SIZES):
        assert crossing.recorded("training step", hidden=size, batch=batch)
    for copies, wait in ((True, True), (False, True), (False, False)):
        time = crossing.recorded("training step", hidden=64, batch=4, copies=copies, wait=wait)
        assert float(time) == pytest.approx(crossing.simulated(64, 4, T4, copies, wait), rel=1e-3)


# -- what a record says of itself -------------------------------------------------------------------------------------


def test_a_simulated_record_says_so_and_nothing_of_whose_machine_it_is(record, written, monkeypatch):
    assert record["kind"] == "simulated" and record["card"] == T4 and record["preset"] == PRESETS[T4].version
    text = written.read_text(encoding="utf-8")
    assert not [place for place in (str(ROOT), str(Path.home()), str(written.parent)) if f"{place}/" in text]
    for module, name in ((platform, "node"), (socket, "gethostname"), (socket, "getfqdn")):
        monkeypatch.setattr(module, name, lambda: pytest.fail("the name of the host was asked for"))
    with fl.simulate_gpu() as device:
        assert recording.provenance(device)["fluxlite"] == fl.__version__


def test_of_a_real_card_driver_and_versions_are_said(monkeypatch):
    runtime = SimpleNamespace(
        getDeviceProperties=lambda index: {"totalGlobalMem": 16 * 2**30, "multiProcessorCount": 40},
        runtimeGetVersion=lambda: 12090, driverGetVersion=lambda: 13000,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime), __version__="14.2"))
    monkeypatch.setattr(recording, "driver", lambda: "580.65.06")
    found = recording.provenance(CUDADevice(0, "NVIDIA L4"))
    assert (found["card"], found["kind"], found["driver"]) == ("NVIDIA L4", "recorded", "580.65.06")
    assert (found["cuda"], found["cuda_of_driver"], found["cupy"]) == ("12.9", "13.0", "14.2")
    assert (found["memory"], found["multiprocessors"]) == (16 * 2**30, 40)


def test_on_a_real_card_first_uses_are_compiled_in_one_program_and_loaded_in_the_next(monkeypatch):
    caches = []

    def run(command, env, **settings):
        caches.append(env["CUPY_CACHE_DIR"])
        return SimpleNamespace(stdout=f"what is said before\n[{0.2 / len(caches)}]\n")

    monkeypatch.setattr(recording.subprocess, "run", run)
    assert recording.first_uses_apart() == ([0.1], [0.2])
    assert len(set(caches)) == 1 and not Path(caches[0]).exists()


# -- launches ---------------------------------------------------------------------------------------------------------

COPY_IN = launches._Copy(None, None, 16, 1)


def test_calls_of_cuda_are_counted_once_by_whichever_way():
    """An acted CUPTI calls back for each call of CUDA, before it and after it."""
    at_work, domains, runtime = [], [], launches._RUNTIME
    cupti = SimpleNamespace(
        cuptiSubscribe=lambda subscriber, callback, user: at_work.append(callback) or 0,
        cuptiEnableDomain=lambda enable, subscriber, domain: domains.append(domain.value) or 0,
        cuptiUnsubscribe=lambda subscriber: at_work.clear() or 0,
    )

    def does(name, domain=launches._DRIVER, parameters=None, inside=""):
        address = None if parameters is None else ctypes.addressof(parameters)
        for site in (0, 1):
            at_work[0](None, domain, 1, ctypes.pointer(launches._Call(site, name.encode(), address)))
            if site == 0 and inside:
                does(inside)

    with launches.Counted(cupti) as counted:
        does("cuLaunchKernel")  # CuPy's own kernels
        does("cudaLaunchKernel_v7000", runtime, inside="cuLaunchKernel")  # cuBLAS's and CUB's
        does("cudaMemsetAsync_v3020", runtime, inside="cuMemsetD8Async")
        does("cudaMemcpyAsync_v3020", runtime, COPY_IN, inside="cuMemcpyHtoDAsync_v2")
        does("cuMemcpyDtoHAsync_v2")
        does("cuMemcpyDtoDAsync_v2")
        does("cudaStreamSynchronize_v3020", runtime, inside="cuStreamSynchronize")
        does("cuLaunchHostFunc")
    assert counted.counts == (2, 1, 1, 1, 1) and at_work == [] and domains == [launches._DRIVER, runtime]


def test_without_cupti_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(launches.ctypes, "CDLL", lambda path: Path("/no such library").read_bytes())
    with pytest.raises(RuntimeError, match="pip install nvidia-cuda-cupti-cu12"):
        launches.cupti()
