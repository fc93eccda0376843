"""NVIDIA's compiler without an NVIDIA GPU: CuPy's translation of a kernel, compiled for a card."""

import glob
import importlib.util
import os
import re


def why_not():
    """Why kernels can't be compiled here, or an empty text."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy isn't installed: make test EXTRAS=rehearsal"
    try:
        from cupy_backends.cuda.libs import nvrtc

        nvrtc.getVersion()
    except Exception as error:
        return f"NVIDIA's compiler isn't installed: {error}"
    return "" if _headers() else "CUDA's headers aren't installed: nvidia-cuda-runtime-cu12"


def _headers():
    import cupy

    site = os.path.dirname(os.path.dirname(cupy.__file__))
    return [folder for folder in glob.glob(f"{site}/nvidia/*/include") if os.path.exists(f"{folder}/cuda_fp16.h")]


_INCLUDES = """#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
#include <cupy/float16.cuh>
"""


def together(transpiled):
    """Several kernels as one text, each in a namespace: their helpers may have the same names."""
    parts = []
    for name, result in transpiled.items():
        code = re.sub(r"^#include.*$", "", result.code, flags=re.MULTILINE)
        parts.append(f"namespace in_{name} {{\n{code}\n}}\n")
    return _INCLUDES + "\n".join(parts)


def compiled(text, options, arch):
    """The compiled kernels for a card such as ``"75"``. Raises `RuntimeError` with the compiler's words."""
    import cupy
    from cupy_backends.cuda.libs import nvrtc

    cupys = os.path.join(os.path.dirname(cupy.__file__), "_core", "include")
    folders = [cupys, *(f"{cupys}/cupy/_cccl/{name}" for name in ("libcudacxx", "thrust", "cub")), *_headers()]
    program = nvrtc.createProgram(text, "kernels.cu", (), ())
    more = ("--device-as-default-execution-space", "-DCUPY_USE_JITIFY=0", f"-arch=sm_{arch}")
    try:
        nvrtc.compileProgram(program, (*options, *more, *(f"-I{folder}" for folder in folders)))
        return nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError:
        raise RuntimeError(nvrtc.getProgramLog(program)) from None
    finally:
        nvrtc.destroyProgram(program)
