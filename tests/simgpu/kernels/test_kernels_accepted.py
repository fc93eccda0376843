"""The simulated GPU takes what cupyx.jit takes, and refuses what it refuses."""

import importlib.util
import itertools
import sys

import numpy as np
import nvrtc
import pytest
import snippets
from inside import types

import fluxlite as fl
from fluxlite.cuda import jit

REFUSED = {**snippets.NO, **snippets.NVRTC, **{name: body for name, (body, _) in snippets.STRICTER.items()}}
needs_cupy = pytest.mark.skipif(bool(nvrtc.why_not()), reason=nvrtc.why_not())


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """All snippets as kernels of a module: a kernel's text has to be in a file."""
    path = tmp_path_factory.mktemp("snippets") / "snippets_as_kernels.py"
    path.write_text(snippets.module_text({**snippets.YES, **REFUSED}), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    yield lambda name: getattr(module, f"kernel_{name}")
    del sys.modules[path.stem]


@pytest.fixture(autouse=True)
def warps_of_32(monkeypatch):
    """For shuffles, CuPy asks the driver how many threads a warp has, and here is none."""
    if not nvrtc.why_not():
        import cupy

        monkeypatch.setattr(cupy._core, "_get_warpsize", lambda: 32)
        monkeypatch.setattr(cupy._core, "_full_mask", lambda: 0xFFFFFFFF)


def arguments():
    x = np.arange(1, 9, dtype="f")
    return x, np.ones((4, 4), "f"), np.arange(8, dtype="i"), np.ones(4), np.zeros(8, "f"), 8


def on_device():
    return [fl.gpu(x, dtype=None) if isinstance(x, np.ndarray) else x for x in arguments()]


@pytest.mark.parametrize("name", snippets.YES)
def test_accepted(name, kernels, simulated):
    kernels(name)[1, snippets.THREADS.get(name, 1)](*on_device())


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, kernels, simulated):
    with pytest.raises(jit.Refused, match=f"kernel kernel_{name}|kernel around|kernel mixed"):
        kernels(name)[1, 1](*on_device())


def test_the_table_is_large():
    assert len(snippets.YES) + len(snippets.NO) + len(snippets.NVRTC) >= 80


@needs_cupy
def test_cupyx_takes_and_refuses_the_same(kernels):
    from fluxlite.cuda import compiled

    def is_taken(name):
        try:
            return bool(compiled.transpiled(kernels(name), arguments()).code)
        except jit.Refused:
            return False

    assert [name for name in snippets.NO if is_taken(name)] == []
    assert [name for name in (*snippets.YES, *snippets.NVRTC, *snippets.STRICTER) if not is_taken(name)] == []


@needs_cupy
@pytest.mark.parametrize("arch", ["75", "90"])
def test_nvidias_compiler_takes_all_of_them(arch, kernels):
    from fluxlite.cuda import compiled

    found = {name: compiled.transpiled(kernels(name), arguments()) for name in snippets.YES}
    assert nvrtc.compiled(nvrtc.together(found), found["map"].options, arch)


@needs_cupy
def test_nvidias_compiler_refuses_these(kernels):
    from fluxlite.cuda import compiled

    for name in snippets.NVRTC:
        found = compiled.transpiled(kernels(name), arguments())
        with pytest.raises(RuntimeError, match="error"):
            nvrtc.compiled(nvrtc.together({name: found}), found.options, "75")


def kernels_of_the_tests():
    """Every kernel of the other tests, with arguments."""
    import sine_wave
    import test_kernels_figures as figures
    import test_kernels_gradients as gradients
    import test_kernels_run as runs

    found = {case[0].name: (case[0], case[3]) for case in (*runs.RIGHT, *runs.MISTAKES)}
    found["transposed"] = runs.puzzles.transposed, (runs.A, runs.A, 33)
    found["positives"] = runs.puzzles.positives, (runs.X, runs.X, np.zeros(1, np.int32))
    x = runs.X
    found["training"] = sine_wave.training, (x, x, runs.A, runs.A, x, 200, 0.1)
    ints, doubles, cube = np.zeros(8, np.int32), np.zeros(8), np.zeros((2, 2, 2), np.float32)
    for kernel, args in [
        (figures.strided, (x, x, 2)), (figures.shared_strided, (x, 2)), (figures.shared_doubles, (doubles,)),
        (figures.parted, (x, x)), (figures.by_warps, (x, x)), (figures.along_rows, (runs.A, runs.A)),
        (figures.along_columns, (runs.A, runs.A)), (figures.counted, (x, x)), (figures.counted_by_blocks, (x, x)),
        (gradients.swish_kernel, (x, x)), (gradients.swish_slope_kernel, (doubles, doubles, doubles)),
        (runs.scaled, (x, x)), (runs.c_numbers, (ints, doubles)), (runs.in_three, (cube, cube)),
        (runs.mixed, (x, ints.astype(np.int16))), (runs.square_of_one, (np.zeros((), np.float32),)),
    ]:  # fmt: skip
        found[kernel.name] = kernel, args
    return {name: (kernel, [x if type(a) is object else a for a in args]) for name, (kernel, args) in found.items()}


@needs_cupy
@pytest.mark.parametrize("arch", ["75", "90"])
def test_nvidias_compiler_takes_the_kernels_of_the_tests(arch):
    from fluxlite.cuda import compiled

    found = {name: compiled.transpiled(kernel, args) for name, (kernel, args) in kernels_of_the_tests().items()}
    assert len(found) > 40
    assert nvrtc.compiled(nvrtc.together(found), found["training"].options, arch)


@needs_cupy
def test_the_cuda_c_of_a_kernel():
    kernel, args = kernels_of_the_tests()["guarded"]
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
