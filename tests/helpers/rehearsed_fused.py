"""What a kernel of `cupy.fuse` does in a rehearsal: the operations that CuPy noted for it, one after the other."""

import re

import numpy as np
import rehearsed_kernels
from rehearsed_kernels import host

_programs = {}  # by name: what CuPy noted, once for each combination of types


class Program:
    """The operations of one kernel, in CuPy's own words."""

    def __init__(self, history, kernel):
        self.parameters, self.constants, self.operations = history.param_list, history.local_list, history.op_list
        self.text = kernel.operation
        last = self.text.splitlines()[-1]
        self.results = [(int(to), int(source)) for to, source in re.findall(r"v(\d+) = v(\d+);", last)]

    def fits(self, source, arrays):
        types = [x.dtype for x in arrays] == [parameter.dtype for parameter in self.parameters]
        return types and self.text in source

    def run(self, arrays):
        memory = {parameter.index: x for parameter, x in zip(self.parameters, arrays)}
        values = {index: np.array(x) for index, x in memory.items()}
        values |= {x.index: np.asarray(x.const_value, x.dtype) for x in self.constants if x.const_value is not None}
        for operation in self.operations:
            count = len(operation.submodule.in_params)
            given = [values[x.index].astype(dtype) for x, dtype in zip(operation.args[:count], operation.dtypes)]
            made = _function(operation.submodule.name)(*given)
            for x, result in zip(operation.args[count:], made if isinstance(made, tuple) else [made]):
                values[x.index] = np.asarray(result).astype(x.dtype)
                if x.index in memory:
                    memory[x.index][...] = values[x.index]
        for to, source in self.results:
            memory[to][...] = values[source]


def _function(name):
    short = re.sub("^cupy_", "", name)
    if short.startswith("astype_") or short == "elementwise_copy":
        return lambda x: x
    return rehearsed_kernels.UFUNCS.get(short) or getattr(np, short)


def answer(name, source, args):
    """Do what the kernel with this text does. Gives whether it's one of `cupy.fuse`."""
    if name not in _programs:
        return False
    arrays = [host(x) for x in args[:-1]]
    with np.errstate(all="ignore"):
        next(program for program in _programs[name] if program.fits(source, arrays)).run(arrays)
    return True


def act():
    """Remember what `cupy.fuse` notes."""
    from cupy._core import fusion

    class History(fusion._FusionHistory):
        def get_fusion(self, function, args, name):
            kernel, keywords = super().get_fusion(function, args, name)
            _programs.setdefault(name, []).append(Program(self, kernel))
            return kernel, keywords

    fusion._FusionHistory = History
