"""Wavelets, and the transform with them. SciPy gave them up, and so will CuPy: it warns at each call."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

from ....exceptions import VisibleDeprecationWarning
from ....functions import get, on_device
from ....lines import warn_at_call
from ..bridge import function_of, table

_convolve = function_of("signal", table("signal")["functions"]["convolve"], scipy.signal.convolve)


def _warn() -> None:
    text = "wavelets: SciPy gave them up with version 1.12, and CuPy plans to, since version 14"
    warn_at_call(text, VisibleDeprecationWarning)


def morlet(M: int, w: float = 5.0, s: float = 1.0, complete: bool = True) -> np.ndarray:
    """``exp(i w x) exp(-x² / 2) / π^(1/4)`` from -2π s to 2π s; `complete` takes its mean off."""
    _warn()
    x = np.linspace(-s * 2 * np.pi, s * 2 * np.pi, M)
    wave = np.exp(1j * w * x)
    if complete:
        wave -= np.exp(-0.5 * w**2)
    return wave * np.exp(-0.5 * x**2) * np.pi**-0.25


def morlet2(M: int, s: float, w: float = 5.0) -> np.ndarray:
    """``exp(i w x) exp(-x² / 2) / (π^(1/4) √s)``, where x is the distance from the middle, divided by s."""
    _warn()
    x = (np.arange(M) - (M - 1) / 2) / s
    return np.exp(1j * w * x) * np.exp(-0.5 * x**2) * np.pi**-0.25 * np.sqrt(1 / s)


def ricker(points: int, a: float) -> np.ndarray:
    """``2 / (√(3a) π^(1/4)) (1 - (x/a)²) exp(-(x/a)² / 2)``, where x is the distance from the middle."""
    _warn()
    x = ((np.arange(points) - (points - 1) / 2) / a) ** 2
    return 2 / (np.sqrt(3 * a) * np.pi**0.25) * (1 - x) * np.exp(-x / 2)


def qmf(hk: np.ndarray) -> np.ndarray:
    """The high-pass filter to a low-pass one: its numbers backwards, every second one with the other sign."""
    _warn()
    return hk[::-1] * (-1.0) ** np.arange(len(hk))


def cwt(data: Any, wavelet: Callable, widths: Any) -> Any:
    """The continuous wavelet transform: a row for each width, `data` convolved with ``wavelet(points, width)``.

    There are ten points for each step of the width, and at most as many as `data` has. A complex wavelet makes it
    complex128, any other one float64.
    """
    _warn()
    x = on_device(cwt, data)
    kind = np.complex128 if get("asarray")(wavelet(1, 1)).dtype.kind == "c" else np.float64
    output = get("empty")((len(widths), len(x)), kind)
    for place, width in enumerate(widths):
        points = min(10 * int(width), len(x))
        wave = get("conj")(wavelet(points, int(width)))[::-1]
        output[place] = _convolve(x, wave, mode="same")
    return output


COMPUTES: dict[str, Callable] = {"morlet": morlet, "morlet2": morlet2, "ricker": ricker, "qmf": qmf}
