"""The same kernels on an NVIDIA GPU, or in its rehearsal: NVIDIA's compiler sees them, and NumPy answers for one."""

import subprocess
import sys
import warnings

import numpy as np
import puzzles
import pytest
import rehearsal

import fluxlite as fl
from fluxlite.cuda import jit
from simgpu.outside import CompiledIn

RATE = 2.0


@jit.rawkernel(device=True)
def times(x, rate):
    return x * rate


@jit.rawkernel()
def rehearsed_scaled(x, out):
    i = jit.grid(1)
    if i < x.size:
        out[i] = times(np.maximum(x[i], -100.0), RATE)


@pytest.fixture
def cuda():
    """An NVIDIA GPU. In the rehearsal, the kernel above is answered."""
    from kinds import cuda_device

    device = cuda_device()
    rehearsed = None
    if "rehearsal" in sys.modules:
        import rehearsed_kernels as rehearsed

        def answer(args):
            x, out = map(rehearsed.host, args[:2])
            out[...] = x * RATE

        rehearsed.OTHERS["rehearsed_scaled"] = answer
    yield device
    if rehearsed:
        rehearsed.OTHERS.pop("rehearsed_scaled", None)


@pytest.mark.cuda
@pytest.mark.parametrize("launch", ["[]", "()"])
def test_a_kernel_runs_on_cuda(cuda, launch):
    x = fl.gpu(np.arange(100, dtype=np.float32))
    out = x * 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # cupyx.jit's that it's experimental
        if launch == "[]":
            rehearsed_scaled[4, 32](x, out)
        else:
            rehearsed_scaled((4,), (32,), (x, out))
    np.testing.assert_allclose(fl.cpu(out), np.arange(100) * 2)
    if "rehearsal" in sys.modules:
        import rehearsal

        launches = [entry for entry in rehearsal.log if entry[:2] == ("launch", "rehearsed_scaled")]
        assert launches[-1][3:] == ((4, 1, 1), (32, 1, 1))


@pytest.mark.cuda
def test_a_name_keeps_the_meaning_that_was_compiled_in_and_a_warning_says_so(cuda, monkeypatch):
    x = fl.gpu(np.arange(4, dtype=np.float32))
    out = x * 0
    monkeypatch.setitem(globals(), "RATE", 2.0)
    rehearsed_scaled[1, 32](x, out)
    monkeypatch.setitem(globals(), "RATE", 3.0)
    with pytest.warns(CompiledIn, match="RATE"):
        rehearsed_scaled[1, 32](x, out)
    if not rehearsal.is_on():  # which answers by today's RATE
        np.testing.assert_allclose(fl.cpu(out), np.arange(4) * 2.0)


@pytest.mark.cuda
def test_what_cupyx_refuses_is_refused_with_the_kernels_name(cuda):
    x = fl.gpu(np.arange(4, dtype=np.float32))
    with pytest.raises(jit.Refused, match="kernel wrong: cupyx.jit doesn't compile this"):
        wrong[1, 32](x)
    with pytest.raises(TypeError, match=r"out is on the host.*out = fl.gpu\(out\)"):
        rehearsed_scaled[1, 32](x, np.zeros(4, np.float32))


@jit.rawkernel()
def wrong(x):
    x[0] = [1.0, 2.0]


@pytest.mark.cuda
@pytest.mark.parametrize(("kernel", "blocks", "threads", "args", "wanted"), puzzles.RIGHT, ids=puzzles.name_of)
def test_the_puzzles_on_cuda(cuda, kernel, blocks, threads, args, wanted):
    np.testing.assert_allclose(puzzles.launched(kernel, blocks, threads, *args), wanted, rtol=1e-4, atol=1e-4)


def test_it_is_loaded_when_it_is_used():
    program = (
        "import sys, fluxlite as fl; fl.cuda.devices; before = set(sys.modules); fl.simulate_gpu(); "
        "fl.cuda.jit.rawkernel; "
        "assert not any(name == 'simgpu.arrays' or name.endswith('.jit') for name in before), before; "
        "assert 'cupyx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
