"""What Apple's GPUs, NVIDIA's and the simulated one have in common: what they say, and what costs a wait.

It's the simulated one's, which follows CuPy. Here it learns fluxlite's names, and which device is in use.
"""

import sys

from simgpu import lines, place
from simgpu.host_reads import HostReads as HostReads
from simgpu.lines import users_line as users_line
from simgpu.random import CountedGenerator as CountedGenerator
from simgpu.rules import SCALARS as SCALARS
from simgpu.rules import one_number as one_number
from simgpu.rules import refusal as refusal
from simgpu.words import WRITE

from .base import gpu_in_use

WRITE.update({"to the host": "cpu", "to the GPU": "fl.gpu", "for a GPU": "fl.simulate_gpu()"})
place.in_use.append(lambda: gpu_in_use[0]())
lines.leave_out(sys.modules["fluxlite"])
