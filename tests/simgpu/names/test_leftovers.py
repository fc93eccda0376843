"""Names of CuPy's that few programs use, each as CuPy has it."""

import warnings

import numpy as np
import pytest

import simgpu as cp
from simgpu import cupyx
from simgpu.cuda import runtime


def test_on_the_way_to_the_device():
    assert cp.require(np.arange(3), np.float32).dtype == np.float32
    x = cp.arange(6)
    assert cp.require(x) is x and cp.require(x, requirements="O") is not x
    for wrong in ("W", "C", "F"):  # CuPy 14 takes neither order
        with pytest.raises(ValueError, match="requirements|order must be"):
            cp.require(x, requirements=[wrong])
    assert cp.asarray_chkfinite([1, 2]).tolist() == [1, 2]
    with pytest.raises(ValueError, match="must not contain Infs or NaNs"):
        cp.asarray_chkfinite([1, np.inf])
    assert cp.asfarray([1, 2]).dtype == cp.asfarray([1, 2], np.int8).dtype == np.float64
    assert [i.tolist() for i in cp.mask_indices(3, cp.triu, 1)] == [[0, 0, 1], [1, 2, 2]]
    assert cp.msort(cp.asarray([[3, 1], [2, 4]])).tolist() == [[2, 1], [3, 4]]


def test_memoize_remembers_until_it_is_cleared():
    asked = []
    function = cp.memoize(for_each_device=True)(lambda *x, **more: asked.append(x))
    for _ in range(2):
        function(1), function(2, a=3)
    assert asked == [(1,), (2,)]
    cp.clear_memo()
    function(1)
    assert asked == [(1,), (2,), (1,)]


def test_what_numpy_2_gave_up():
    assert cp.issubclass_(bool, int) and not cp.issubclass_(3, int)
    assert cp.obj2sctype(cp.zeros(1)) is np.float64 and cp.obj2sctype("no such", 3) == 3
    assert cp.issubsctype(np.int8, np.integer) and cp.sctype2char(np.float32) == "f"
    assert cp.issctype(np.int8) and not cp.issctype(3) and not cp.issctype(object)
    for name in ("find_common_type", "disp", "safe_eval", "set_string_function", "get_array_wrap"):
        with pytest.raises(RuntimeError, match="removed in NumPy v2"):
            getattr(cp, name)()


def test_what_a_program_runs_on(capsys):
    cp.show_config()
    assert "simulated NVIDIA T4" in capsys.readouterr().out
    assert cupyx.get_runtime_info().cupy_version == cp.__version__
    assert cp.cuda.get_local_runtime_version() == runtime.runtimeGetVersion()


def test_figures_of_a_card():
    known = cp.cuda.Device(0).attributes
    assert known["MultiProcessorCount"] == 40 and known["MaxThreadsPerMultiProcessor"] == 1024
    assert runtime.deviceGetAttribute(runtime.cudaDevAttrMaxThreadsPerBlock, 0) == known["MaxThreadsPerBlock"] == 1024
    assert runtime.getDeviceProperties(0)["maxGridSize"] == (2**31 - 1, 65535, 65535)
    assert (runtime.memcpyHostToDevice, runtime.hostAllocMapped, runtime.streamNonBlocking) == (1, 2, 1)
    with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorInvalidValue"):
        runtime.deviceGetAttribute(0, 0)
    with pytest.raises(NotImplementedError, match="PciBusId isn't known"):
        runtime.deviceGetAttribute(runtime.cudaDevAttrPciBusId, 0)


def test_a_stream_of_another_library():
    stream = cp.cuda.Stream(non_blocking=True)
    with pytest.warns(DeprecationWarning, match="from_external"):
        same = cp.cuda.ExternalStream(stream.ptr)
    with same:
        assert cp.cuda.get_current_stream() == stream
    assert cp.cuda.Stream.from_external(stream) == stream and stream.__cuda_stream__() == (0, stream.ptr)
    with pytest.raises(TypeError, match="__cuda_stream__"):
        cp.cuda.Stream.from_external(3)


def test_an_allocator_for_a_block():
    before = cp.cuda.get_allocator()
    with cp.cuda.using_allocator():
        assert cp.cuda.get_allocator() is None
    assert cp.cuda.get_allocator() == before


def test_the_cache_of_plans_keeps_its_limits():
    config = cp.fft.config
    config.set_plan_cache_size(3)
    assert config.get_plan_cache_size() == config.get_plan_cache().get_size() == 3
    assert config.get_plan_cache().get_curr_size() == 0 and config.get_plan_cache_max_memsize() == -1
    with pytest.raises(ValueError, match="from 0, or -1"):
        config.set_plan_cache_max_memsize(-2)
    config.set_plan_cache_size(16)


def test_draws_into_an_array():
    draw, like = cp.random.default_rng(0), cp.random.default_rng(0)
    out = cp.zeros((2, 3))
    assert draw.random(out=out) is out and out.tolist() == like.random((2, 3)).tolist()
    assert draw.standard_normal(size=(2, 3), out=out) is out
    assert draw.standard_gamma(2.0, out=out) is out and draw.standard_exponential(out=out, method="inv") is out
    for error, wrong in ((TypeError, {"dtype": np.float32}), (ValueError, {"size": 6})):
        with pytest.raises(error, match="wrong type|must match out.shape"):
            draw.random(out=out, **wrong)
    assert 1 <= int(cp.random.random_integers(3)) <= 3


def test_repeat_is_benchmark_under_its_old_name():
    from simgpu.cupyx import time

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        times = time.repeat(cp.zeros, (3,), n_repeat=2)
    assert times.cpu_times.shape == (2,) and "cupyx.profiler.benchmark" in str(found[0].message)
