"""A processor that doesn't exist: products, exp, tanh and their like end in other last digits than here.

    pytest -p tools.last_digits …                    the tests as they run on it
    python -m nox -s "processors(other digits)"      the lessons too

Real processors differ in exactly these functions (the others, + - * / and sqrt, are the same everywhere). So a test
or a cell that fails here would fail on some machine, also one that we don't have. After each of them the last two bits
of the result are cleared: that changes 0.06492145 to 0.06492144, and training does the rest.

It acts where fluxlite calls NumPy, inside gradients and on the simulated GPU. What a lesson computes with plain NumPy
alone stays as it is; for that there are the sessions with other kernels in `noxfile.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DIFFERS = {
    np.matmul, np.dot, np.vdot, np.inner, np.tensordot, np.einsum, np.convolve, np.power, np.exp, np.exp2, np.expm1,
    np.log, np.log2, np.log10, np.log1p, np.logaddexp, np.logaddexp2, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh,
    np.arcsin, np.arccos, np.arctan, np.arctan2, np.arcsinh, np.arccosh, np.arctanh, np.cbrt, np.hypot,
    np.linalg.inv, np.linalg.solve, np.linalg.det, np.linalg.cholesky, np.linalg.svd, np.linalg.eigh, np.linalg.qr,
}  # fmt: skip
_BITS = {np.dtype(np.float32): np.uint32, np.dtype(np.float64): np.uint64}


def other(x: Any) -> Any:
    """`x` with other last digits; the same for the same `x`, so that what is repeated is repeated."""
    if isinstance(x, (np.float32, np.float64)):
        return other(np.array(x))[()]
    if isinstance(x, (tuple, list)):
        for part in x:
            other(part)
    elif isinstance(x, np.ndarray) and x.dtype in _BITS and x.base is None:  # a view (of einsum) was not computed
        was_writeable = x.flags.writeable
        x.flags.writeable = True
        bits = x.view(_BITS[x.dtype])
        bits &= ~_BITS[x.dtype](3)
        x.flags.writeable = was_writeable
    return x


def differently(run: Callable) -> Callable:
    """``run(function, *args)``, with other last digits where processors differ."""
    return lambda function, *args, **keywords: (
        other(run(function, *args, **keywords)) if function in DIFFERS else run(function, *args, **keywords)
    )


def install() -> None:
    """From now on fluxlite computes on that processor."""
    from fluxlite.autodiff import derivatives, rules, tracked  # noqa: F401  (the first fills the table of the second)
    from simgpu import dispatch

    different = {id(rule) for function, rule in rules.RULES.items() if function in DIFFERS}
    remember, begin = tracked.TrackedArray.__init__, dispatch._Quiet.__init__

    def remember_other(self: Any, value: Any, level: Any, call: Any = None) -> None:
        remember(self, other(value) if call and id(call[0]) in different else value, level, call)

    def begin_other(self: Any) -> None:
        begin(self)
        self.run = differently(self.run)

    tracked.TrackedArray.__init__ = remember_other  # type: ignore[method-assign]
    dispatch._Quiet.__init__ = begin_other  # type: ignore[method-assign]
    dispatch.quiet = dispatch._Quiet()


def kernels_too(folder: Path) -> dict[str, str]:
    """The environment in which notebooks' kernels compute like that, too: `folder` has a startup file for IPython."""
    startup = folder / "profile_default" / "startup" / "00-last-digits.py"
    startup.parent.mkdir(parents=True, exist_ok=True)
    startup.write_text("__import__('last_digits').install()\n", encoding="utf-8")
    return {"IPYTHONDIR": str(folder), "PYTHONPATH": str(Path(__file__).parent)}


def pytest_configure() -> None:
    """As a plugin of pytest."""
    install()


def pytest_collection_modifyitems(items: list) -> None:
    for item in items:
        if "another_process" in item.name:
            item.add_marker(pytest.mark.skip(reason="another process computes with this machine's own digits"))
