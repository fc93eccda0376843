"""Apple GPUs, through MLX. `device.py` and all below import it; this module says whether they can."""

import functools
import importlib.util

from ..base import Device, Functional


@functools.cache
def metal_functional() -> Functional:
    if importlib.util.find_spec("mlx") is None:
        return Functional("MLX is not installed: pip install mlx", installed=False)
    try:
        from mlx.core import metal

        return Functional("" if metal.is_available() else "MLX runs here on the CPU: Metal needs an Apple computer")
    except Exception as error:  # a broken installation can raise anything
        return Functional(f"MLX is installed and can't be imported: {error}")


def metal_devices() -> list[Device]:
    if not metal_functional():
        return []
    from .device import metal_device

    return [metal_device()]
