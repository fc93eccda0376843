"""Kernels written by hand, on the simulated GPU: all threads go through the function together, line by line.

Read `types.py` and `values.py` (C's numbers), `source.py` (a kernel's text), `flow.py` (branches and loops),
`translate.py` (what each line does with all threads), `names.py` (what each of cupyx.jit's names does), `lanes.py` (the
threads), `memory.py` and `races.py` (who touched what), then `launch.py`. What it costs is in `figures.py`, what an
error says in `errors.py` and `advice.py`, and what you can look at in `tracing.py`. `orders.py` runs warps in another
order; with all of this, `checking.py` explains wrong numbers. A program meets `kernel.py`, and `compiled.py` on a real
GPU. `warps.py` has barriers of a part of a warp; `vectorized.py` makes a kernel of a function of numbers,
`cupy.vectorize`. Kernels in C, `RawKernel`, are translated in `c/`, for the same threads.

>>> import numpy as np
>>> from simgpu import asarray, jit
>>> @jit.rawkernel()
... def doubled(x, out):
...     i = int(jit.grid(1))
...     if i < x.size:
...         out[i] = x[i] * 2
>>> x = asarray(np.arange(3, dtype=np.float32))
>>> out = np.zeros_like(x)
>>> doubled[1, 32](x, out)
>>> print(out)
[0. 2. 4.]
"""

from .checking import check
from .errors import *  # noqa: F403
from .kernel import Kernel, rawkernel
from .names import *  # noqa: F403
from .names import __all__ as _NAMES

# Without the errors: `help(jit)` would say of each what any exception can do. They're jit.OutOfBounds and so on.
__all__ = ["rawkernel", "Kernel", "check", *_NAMES]
