"""The simulated GPU takes what cupyx.jit takes, and refuses what it refuses."""

import itertools

import numpy as np
import nvrtc
import puzzles
import pytest
import snippets
from inside import types

import fluxlite as fl
from fluxlite.cuda import jit

REFUSED = {**snippets.NO, **snippets.NVRTC, **snippets.STRICTER}
NAMES = {body: f"kernel_{number}" for number, body in enumerate([*snippets.YES, *REFUSED])}
needs_cupy = pytest.mark.skipif(bool(nvrtc.why_not()), reason=nvrtc.why_not())


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Gives the kernel with this body."""
    text = snippets.HEAD + "\n\n".join(snippets.text_of(body, name) for body, name in NAMES.items())
    module = snippets.imported(tmp_path_factory.mktemp("snippets") / "snippets_as_kernels.py", text)
    return lambda body: getattr(module, NAMES[body])


@pytest.fixture(autouse=True)
def warps_of_32(monkeypatch):
    """For shuffles, CuPy asks the driver how many threads a warp has, and here is none."""
    if not nvrtc.why_not():
        import cupy

        monkeypatch.setattr(cupy._core, "_get_warpsize", lambda: 32)
        monkeypatch.setattr(cupy._core, "_full_mask", lambda: 0xFFFFFFFF)


def on_device():
    return [fl.gpu(x, dtype=None) if isinstance(x, np.ndarray) else x for x in snippets.arguments()]


@pytest.mark.parametrize("body", snippets.YES)
def test_accepted(body, kernels, simulated):
    kernels(body)[1, 32 if "shfl" in body else 1](*on_device())


@pytest.mark.parametrize("body", REFUSED)
def test_refused_with_what_to_write_instead(body, kernels, simulated, capsys):
    capsys.readouterr()
    with pytest.raises(jit.Refused, match=snippets.escaped(REFUSED[body])) as error:
        kernels(body)[1, 1](*on_device())
    assert any(f"kernel {name}, line " in str(error.value) for name in (NAMES[body], "around", "mixed"))
    assert not capsys.readouterr().out


def transpiled(kernel, arguments):
    from simgpu.jit import compiled

    return compiled.transpile(kernel, arguments)


@needs_cupy
def test_cupyx_takes_and_refuses_the_same(kernels):
    def is_taken(body):
        try:
            return bool(transpiled(kernels(body), snippets.arguments()).code)
        except jit.Refused:
            return False

    assert [body for body in snippets.NO if is_taken(body)] == []
    assert [body for body in (*snippets.YES, *snippets.NVRTC, *snippets.STRICTER) if not is_taken(body)] == []


@needs_cupy
@pytest.mark.parametrize("arch", ["75", "90"])
def test_nvidias_compiler_takes_all_of_them(arch, kernels):
    found = {NAMES[body]: transpiled(kernels(body), snippets.arguments()) for body in snippets.YES}
    found |= {kernel.name: transpiled(kernel, args) for kernel, _, _, args, _ in puzzles.RIGHT}
    assert nvrtc.compiled(nvrtc.together(found), found["guarded"].options, arch)


@needs_cupy
def test_nvidias_compiler_refuses_these(kernels):
    for body in snippets.NVRTC:
        found = transpiled(kernels(body), snippets.arguments())
        with pytest.raises(RuntimeError, match="error"):
            nvrtc.compiled(nvrtc.together({"it": found}), found.options, "75")


@needs_cupy
def test_the_cuda_c_of_a_kernel():
    kernel, _, _, args, _ = puzzles.RIGHT[1]
    assert "__global__ void guarded" in kernel.cuda_c(*args)


@needs_cupy
@pytest.mark.parametrize("name", list(types.SIGNATURES) if not nvrtc.why_not() else [])
def test_types_of_functions(name):
    """For all types of operands, the same function of C as CuPy takes, or none."""
    import ast

    import cupy
    from cupyx.jit import _cuda_typerules

    operators = {"not": ast.Not, "smaller": ast.Lt}
    ufunc = _cuda_typerules.get_ufunc("cuda", operators[name]) if name in operators else getattr(cupy, name)
    # CuPy lists these for complex numbers too, and NVIDIA's compiler has no such functions.
    complex_ones = "" if name in ("arctan2", "copysign", "hypot", "nextafter") else "FD"
    for letters in itertools.product("?bBhHiIlLqQefd" + complex_ones, repeat=ufunc.nin):
        kinds = [np.dtype(letter) for letter in letters]
        found = _cuda_typerules.guess_routine(ufunc, tuple(kinds), None, "cuda")
        usable = found is not None and found.error_func is None and found.routine.startswith("out0 = ")
        wanted = ([*map(np.dtype, found.in_types)], np.dtype(found.out_types[0])) if usable else None
        assert types.signature(name, kinds) == wanted, letters
