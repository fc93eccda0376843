"""What Apple's GPUs, NVIDIA's and the simulated one have in common: what they say, and what costs a wait.

It's the simulated one's, which follows CuPy.
"""

import sys

from simgpu import lines
from simgpu.host_reads import HostReads as HostReads
from simgpu.lines import users_line as users_line
from simgpu.random import CountedGenerator as CountedGenerator
from simgpu.refusals import SCALARS as SCALARS
from simgpu.refusals import one_number as one_number
from simgpu.refusals import refusal as refusal

lines.leave_out(sys.modules["fluxlite"])
