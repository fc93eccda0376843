"""Errors that name the place in a model: ``layers[0].weight is on CPU, the input is on Simulated:0``."""

from typing import Any

from .arrays import device_of
from .autodiff.tracked import CLOSED, TrackedArray, plain
from .tree.ties import is_array
from .tree.walks import KeyPath, nodes


class LayerError(Exception):
    """Something went wrong at `path` in a model; each layer around it puts its own step in front."""

    between = ": "

    def __init__(self, path: KeyPath, what: str):
        super().__init__(path, what)
        self.path, self.what = path, what

    def __str__(self) -> str:
        return f"{self.path}{self.between}{self.what}" if self.path else self.what

    def within(self, *steps: Any) -> "LayerError":
        """The same error, seen from one level further out."""
        return type(self)(KeyPath(steps) + self.path, self.what)


class DeviceError(LayerError, TypeError):
    """Two arrays are on different devices."""

    between = " "


class ShapeError(LayerError, ValueError):
    """An input does not fit a layer."""


class InputError(LayerError, TypeError):
    """An input is not an array of floating-point numbers."""


class ClosedError(LayerError, RuntimeError):
    """An array of a layer is left over from a gradient call that has ended."""

    between = " "


def left_over(layer: Any) -> ClosedError | None:
    """The error if `layer` holds a tracked array whose gradient call has ended."""
    for path, leaf in nodes(layer):
        if type(leaf) is TrackedArray and not leaf.level.is_open:
            return ClosedError(path, CLOSED)
    return None


def other_device(layer: Any, x: Any) -> DeviceError | None:
    """The error to raise if an array of `layer` isn't where the input `x` is; asked only after an error."""
    x = plain(x)
    for path, leaf in nodes(layer) if is_array(x) else ():
        leaf = plain(leaf)
        if is_array(leaf) and device_of(leaf) != device_of(x):
            return apart(path, device_of(leaf), device_of(x))
    return None


def apart(path: KeyPath, where: Any, here: Any) -> DeviceError:
    """The error for the layer's array at `path`, which is on the device `where`, while the input is `here`."""
    to_a_gpu = f"model = {mover(here)}(model)" if where.backend == "CPU" else f"x = {mover(where)}(x)"
    return DeviceError(path, f"is on {where}, the input is on {here}; move one of them: {to_a_gpu}")


def mover(device: Any) -> str:
    """What a program writes to move an array to `device`: ``gpu`` for a first card, others by their number."""
    if device.backend == "CPU":
        return "cpu"
    return "gpu" if device.index == 0 else f"get_device({device.backend!r}, {device.index})"


def mixed_devices(what: str, **arrays: Any) -> DeviceError | None:
    """The error for `what` was to be computed from two arrays, given by name, on two devices; None if it is one."""
    found = {name: device_of(plain(x)) for name, x in arrays.items() if is_array(plain(x))}
    if len(set(found.values())) < 2:
        return None
    places = ", ".join(f"{name} is on {device}" for name, device in found.items())
    first = next(iter(found.values()))
    other = next(name for name, device in found.items() if device != first)
    return DeviceError(KeyPath(), f"{what}: {places}; move one of them: {other} = {mover(first)}({other})")
