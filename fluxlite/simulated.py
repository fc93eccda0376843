"""The simulated GPU's own names, for a program that asks what an array or a device is."""

from .devices.simulated import OutOfMemoryError as OutOfMemoryError
from .devices.simulated import SimulatedArray as SimulatedArray
from .devices.simulated import SimulatedDevice as SimulatedDevice
from .devices.simulated import preset as preset
