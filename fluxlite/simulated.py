"""The simulated GPU's own names, for a program that asks what an array or a device is."""

from .devices.simulated import OutOfMemoryError, SimulatedArray, SimulatedDevice, preset

__all__ = ["OutOfMemoryError", "SimulatedArray", "SimulatedDevice", "preset"]
