"""Kernels by hand, with the names of ``cupyx.jit``: a function that many threads run at the same time.

On an NVIDIA GPU, the function becomes CUDA C. On a simulated GPU, all threads run here, and whatever a GPU would
silently do wrong raises a ``jit.KernelError``: an index outside of an array, a data race, a barrier that some threads
miss. ``help(jit.Kernel)`` says how to look into a kernel, ``help(jit.grid)`` and the others below what they do.

>>> from fluxlite.cuda import jit
>>> @jit.rawkernel()
... def doubled(x, out):
...     i = int(jit.grid(1))  # the number of this thread
...     if i < x.size:        # there may be more threads than elements
...         out[i] = x[i] * 2
>>> with fl.simulate_gpu():
...     x = fl.gpu(np.arange(3, dtype=np.float32))
...     out = np.zeros_like(x)
...     doubled[1, 32](x, out)      # one block of 32 threads
...     print(out)
[ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
[0. 2. 4.]

A number written in a kernel is a C number: ``0.5`` is a float32, ``1`` an int32. `grid` and ``threadIdx.x`` are
unsigned, so ``i - 1`` in thread 0 is 4,294,967,295: begin with ``int(jit.grid(1))``. A kernel calls NumPy's
functions of numbers (``np.tanh``), ``min``, ``max``, ``len``, and your own under ``@rawkernel(device=True)``. It has no
derivative: put it in a function under ``@fl.primitive``, and give that one a derivative with `fl.rule`.
"""

from simgpu.jit import *  # noqa: F403
from simgpu.jit import Kernel
from simgpu.jit import __all__ as _NAMES
from simgpu.jit.compiled import HOMES
from simgpu.jit.errors import *  # noqa: F403

from ..devices import simulated as simulated  # it says which names of fluxlite's an error advises

__all__ = [*_NAMES]  # without the errors, as in simgpu.jit


def _check_untracked(kernel: str, name: str, x: object) -> None:
    if hasattr(type(x), "__primitive__"):
        raise TypeError(
            f"kernel {kernel}: {name} is tracked for a gradient, and a kernel has no derivative. Call it in a "
            "function under @fl.primitive, and give that a fl.rule."
        )


Kernel.checks.append(_check_untracked)
HOMES.append(__name__)
