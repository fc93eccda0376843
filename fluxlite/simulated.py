"""The simulated GPU's own names, for a program that asks what an array or a device is."""

from simgpu import OutOfMemoryError as OutOfMemoryError
from simgpu import SimulatedArray as SimulatedArray
from simgpu import preset as preset

from .devices.simulated import SimulatedDevice as SimulatedDevice
