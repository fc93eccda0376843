"""`ElementwiseKernel`, and what it shares with `ReductionKernel`: parameters, types, outputs, the launch."""

import functools
import math
import re
from typing import Any, NamedTuple

import numpy as np

from .. import dispatch
from ..device import current
from ..memory import Stored
from ..places import one_device
from ..refusals import SCALARS
from ..shapes import Formula
from .numbers import SIZE
from .parse import Node, Parser
from .places import ALL, Indexer, Own, Raw, Variable
from .threads import Threads


class Parameter(NamedTuple):
    """One of a kernel's parameters, such as ``raw T x``. Its type is a dtype, or a letter that stands for one."""

    name: str
    type: Any
    raw: bool
    is_const: bool


def parameters(text: str, is_const: bool) -> tuple[Parameter, ...]:
    found = []
    for part in text.strip().split(",") if text else ():
        words = part.split()
        if len(words) < 2:
            raise Exception(f"Syntax error: {part}")
        *before, kind, name = words
        if unknown := set(before) - {"raw", "_non_const"}:
            raise Exception(f'Unknown keyword "{min(unknown)}"')
        dtype = kind if len(kind) == 1 else np.dtype(kind)
        found.append(Parameter(name, dtype, "raw" in before, is_const and "_non_const" not in before))
    return tuple(found)


class Kernel:
    """What elementwise kernels and reductions have in common. `parts` are its pieces of C, by name."""

    run: Any

    def __init__(self, in_params: str, out_params: str, name: str, options: tuple, parts: dict[str, Any]) -> None:
        if not re.match("^[a-zA-Z_][a-zA-Z_0-9]*$", name):
            raise ValueError(f'Invalid kernel name: "{name}"')
        self.name = self.__name__ = name
        self.options, self.parts = options, parts
        self.in_params, self.out_params = parameters(in_params, True), parameters(out_params, False)
        self.params, self.nin, self.nout = self.in_params + self.out_params, len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout

    @functools.cached_property
    def program(self) -> tuple[dict[str, list[Node]], Parser]:
        """The trees of its parts, made at the first call, when CuPy compiles it."""
        parser = Parser([*(p.type for p in self.params if isinstance(p.type, str)), "_type_reduce"])
        return {part: parser.program(text, part) for part, text in self.parts.items()}, parser

    def check_arguments(self, args: tuple) -> tuple[Any, list[Any]]:
        """The device that computes, and the arguments as NumPy arrays and numbers."""
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(
                f"Wrong number of arguments for {self.name!r}. It must be either {self.nin} or {self.nargs} (with "
                f"outputs), but given {len(args)}."
            )
        device: Any = None
        for place, x in enumerate(args):
            if isinstance(x, Stored):
                device = one_device(device, x)
            elif not isinstance(x, SCALARS):
                raise TypeError(f"Unsupported type {type(x)}")
            elif place >= self.nin:
                raise TypeError("Output arguments type must be cupy.ndarray")
        values = [x.host_values if isinstance(x, Stored) else x for x in args]
        return current() if device is None else device.begin(), values

    def resolve_types(self, values: list[Any]) -> dict[str, np.dtype]:
        """What each letter stands for: the type of the arrays that have it. Outputs come before inputs."""
        types: dict[str, Any] = {}
        given = list(zip(self.params, values))
        for p, x in given[self.nin :] + given[: self.nin]:
            if isinstance(x, np.ndarray):
                if isinstance(p.type, str):
                    wanted = types.setdefault(p.type, x.dtype)
                else:
                    wanted = p.type
                if wanted != x.dtype:
                    raise TypeError(f"Type is mismatched. {p.name} {x.dtype} {wanted}")
        if unknown := {p.type for p in self.params if isinstance(p.type, str)} - set(types):
            raise KeyError(f"{min(unknown)}: no array says which type it is")
        return types

    def make_outputs(self, device: Any, args: tuple, shape: tuple[int, ...], types: dict) -> list[Any]:
        """The outputs among the arguments, if they have this shape, or new ones."""
        made = list(args[self.nin :])
        if not made:
            return [dispatch.empty(np.empty, (shape, types.get(p.type, p.type)), {}, device) for p in self.out_params]
        if any(not p.raw and x.shape != shape for p, x in zip(self.out_params, made)):
            raise ValueError("Out shape is mismatched")
        return made

    def bind(self, p: Parameter, x: Any, types: dict, shape: tuple[int, ...]) -> Any:
        """What the parameter's name means to the threads."""
        if not isinstance(x, np.ndarray):
            number = x.item() if isinstance(x, np.integer) else x  # it has to fit, as a Python number has
            return Variable(np.array(number, types.get(p.type, p.type)), p.is_const)
        if p.raw:
            return Raw(p.name, x, shape, p.is_const)
        return Own(x, shape, p.is_const)

    def start(self, device: Any, types: dict, values: list[Any], *rest: Any) -> None:
        """Run it, unless we compute only shapes: then it reads and writes everything once."""
        if device.instead is None:
            dispatch.quiet.run(self.run, device, types, values, *rest)
        else:
            device.instead(Formula(self.run, None), device, types, values, *rest)
            arrays = [x for x in values if isinstance(x, np.ndarray)]
            device.launch(self.name, sum(x.nbytes for x in arrays), max(x.size for x in arrays))

    def count_launch(self, device: Any, threads: Threads, names: dict[str, Any], count: int = 1) -> None:
        """One launch. An element counts once, however often threads use it: after that, it's in the card's cache."""
        arrays = [x for x in names.values() if isinstance(x, (Own, Raw))]
        moved = sum(min(x.read_bytes, x.nbytes) + min(x.written_bytes, x.nbytes) for x in arrays)
        card = device.settings[0]
        rates = {"e": card.float16, "d": card.float64, "D": card.float64}  # work counts in float32's
        work = sum(steps * card.float32 / rates.get(kind, card.float32) for kind, steps in threads.work.items())
        device.launch(self.name, moved, work, "f", count)


class ElementwiseKernel(Kernel):
    """A kernel that computes each element with a piece of C (`cupy.ElementwiseKernel`).

    `in_params` and `out_params` name arrays and numbers: ``"float32 x, T y, raw T z"``. A letter stands for one type
    everywhere. If an array is ``raw``, the C chooses its elements: ``z[i + 1]``. We translate the C to NumPy at the
    first call. What can't be translated raises `NotImplementedError`, with the line.

    >>> import numpy as np
    >>> import simgpu
    >>> squared = simgpu.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared")
    >>> squared(simgpu.asarray(np.arange(4, dtype=np.float32)), 1)
    array([1., 0., 1., 4.], dtype=float32)  # Simulated:0
    """

    def __init__(
        self, in_params: str, out_params: str, operation: str, name: str = "kernel", reduce_dims: bool = True,
        preamble: str = "", no_return: bool = False, return_tuple: bool = False, *, loop_prep: str = "",
        after_loop: str = "", options: tuple = (),
    ) -> None:  # fmt: skip
        parts = {"preamble": preamble, "loop_prep": loop_prep, "operation": operation, "after_loop": after_loop}
        super().__init__(in_params, out_params, name, options, parts)
        self.reduce_dims, self.no_return, self.return_tuple = reduce_dims, no_return, return_tuple
        if "i" in [p.name for p in self.params]:
            raise ValueError("Can not use 'i' as a parameter name")
        if len({p.name for p in self.params}) < len(self.params):
            raise ValueError(f"two parameters have one name: {in_params}, {out_params}")

    def __call__(self, *args: Any, size: int = -1, block_size: int = 128, stream: Any = None) -> Any:
        """Launch it. Arrays broadcast; if all are raw, `size` says how many elements there are.

        The last arguments may be the outputs, otherwise they're new. Returns the output, or a tuple of several.
        """
        if block_size <= 0:
            raise ValueError("block_size must be greater than zero")
        device, values = self.check_arguments(args)
        plain = [x for p, x in zip(self.params, values) if isinstance(x, np.ndarray) and not p.raw]
        if plain and size != -1:
            raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
        if not plain and size == -1:
            raise ValueError("Loop size is undecided.")
        if plain:
            shape = np.broadcast_shapes(*[x.shape for x in plain])
        else:
            shape = (size,)
        types = self.resolve_types(values)
        if len(args) == self.nin and size == -1 and any(p.raw for p in self.out_params):
            raise ValueError("Output array size is Undecided")
        made = self.make_outputs(device, args, shape, types)
        if math.prod(shape):
            self.start(device, types, values[: self.nin] + [x.host_values for x in made], shape)
        if self.no_return:
            return None
        if self.nout == 1 and not self.return_tuple:
            return made[0]
        return tuple(made)

    def run(self, device: Any, types: dict, values: list[Any], shape: tuple[int, ...]) -> None:
        parts, parser = self.program
        threads = Threads(shape, types, parser.functions)
        names = {p.name: self.bind(p, x, types, shape) for p, x in zip(self.params, values)}
        # For CuPy's threads, arrays that lie in one piece have one axis, unless they have to keep their shape.
        is_flat = self.reduce_dims and all(x.value.flags.c_contiguous for x in names.values() if isinstance(x, Own))
        if {"i", "_ind"} & parser.words:
            i = np.arange(math.prod(shape), dtype=SIZE).reshape(shape)
            names["_ind"] = Indexer((i.size,) if is_flat else shape, i)
        for p, x in zip(self.params, values):
            if f"_raw_{p.name}" in parser.words and isinstance(x, np.ndarray) and not p.raw:
                names[f"_raw_{p.name}"] = Raw(p.name, np.broadcast_to(x, shape), shape, p.is_const)
        threads.run_together(ALL, parts["preamble"])
        threads.names = threads.outer.new_child(names)  # functions in the preamble don't see these
        threads.run_together(ALL, parts["loop_prep"])
        if "i" in parser.words:
            names["i"] = Variable(i)
        threads.run_together(ALL, parts["operation"] + parts["after_loop"])
        self.count_launch(device, threads, names)
