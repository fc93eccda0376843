"""`ReductionKernel`: map each element, combine two until one is left, and map that one."""

import math
from typing import Any

import numpy as np

from .. import launches
from ..lines import warn_at_call
from .blocks import as_given, uses_of_identity
from .elementwise import Kernel
from .numbers import SIZE
from .places import ALL, Indexer, Variable
from .threads import Threads


class NotNeutral(UserWarning):
    """A reduction begins with something that changes the result each time it's used."""


class ReductionKernel(Kernel):
    """A reduction with pieces of C (`cupy.ReductionKernel`).

    One piece maps each element, one combines ``a`` and ``b``, one writes the result ``a`` to an output. It begins with
    `identity`, or with 0. If that isn't neutral, the result is what a card's many threads make of it, and a warning
    says so. What can't be translated to NumPy raises `NotImplementedError`, with the line.

    >>> import numpy as np
    >>> import simgpu
    >>> norm = simgpu.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    >>> norm(simgpu.asarray(np.array([[3, 4], [6, 8]], np.float32)), axis=1)
    array([ 5., 10.], dtype=float32)  # Simulated:0
    """

    def __init__(
        self, in_params: str, out_params: str, map_expr: str, reduce_expr: str, post_map_expr: str, identity: Any,
        name: str = "reduce_kernel", reduce_type: str | None = None, reduce_dims: bool = True, preamble: str = "",
        options: tuple = (),
    ) -> None:  # fmt: skip
        self._repeatable: dict[Any, bool] = {}
        self.identity, self.reduce_type = "" if identity is None else str(identity), reduce_type
        parts = {"preamble": preamble, "identity": self.identity or "0", "map_expr": map_expr}
        parts |= {"reduce_expr": reduce_expr, "post_map_expr": post_map_expr}
        parts |= {"reduce_type": f"({reduce_type or '_type_reduce'})0"}
        super().__init__(in_params, out_params, name, options, parts)

    def __call__(
        self, *args: Any, out: Any = None, axis: Any = None, keepdims: bool = False, stream: Any = None
    ) -> Any:  # fmt: skip
        """Launch it along these axes, or along all. Returns the first output: `out`, one of `args`, or a new one."""
        if out is not None:
            if self.nout != 1:
                raise NotImplementedError("out= for several outputs: give them as the last arguments")
            if len(args) > self.nin:
                raise ValueError("cannot specify 'out' as both a positional and keyword argument")
            args = (*args, out)
        device, values = self.check_arguments(args)
        plain = [x for p, x in zip(self.in_params, values) if isinstance(x, np.ndarray) and not p.raw]
        if not plain:
            raise ValueError("Loop size is undecided.")
        shape, types = np.broadcast_shapes(*[x.shape for x in plain]), self.resolve_types(values)
        axes = range(len(shape)) if axis is None else axis
        axes = sorted(np.lib.array_utils.normalize_axis_tuple(axes, len(shape), "axis"))
        kept = tuple(1 if n in axes else length for n, length in enumerate(shape) if keepdims or n not in axes)
        made = self.make_outputs(device, args, kept, types)
        if not math.prod(kept):
            return made[0]
        if not self.identity and 0 in shape:
            raise ValueError(f"zero-size array to reduction operation {self.name} which has no identity")
        if axes != list(range(len(axes))) and any(p.raw for p in self.in_params):
            raise NotImplementedError("with a raw input, the axes to reduce are the first ones")
        for place, (p, x) in enumerate(zip(self.in_params, values)):
            if isinstance(x, np.ndarray) and not p.raw:
                values[place] = np.moveaxis(np.broadcast_to(x, shape), axes, range(len(axes)))
        self.start(device, types, values[: self.nin] + [x.host_values for x in made], axes)
        return made[0]

    def run(self, device: Any, types: dict, values: list[Any], axes: list[int]) -> None:
        """Reduce the first axes of the inputs: they were these in the arguments."""
        count = len(axes)
        parts, parser = self.program
        inputs, outputs = values[: self.nin], values[self.nin :]
        shape = next(x.shape for p, x in zip(self.in_params, inputs) if isinstance(x, np.ndarray) and not p.raw)
        kept, size = shape[count:], math.prod(shape)
        kind = types.get(self.out_params[0].type, self.out_params[0].type)
        threads = Threads(shape, {**types, "_type_reduce": kind}, parser.functions)
        names = {p.name: self.bind(p, x, types, shape) for p, x in zip(self.in_params, inputs)}
        if {"_j", "_in_ind"} & parser.words:
            j = np.arange(size, dtype=SIZE).reshape(shape)
            names |= {"_j": Variable(j), "_in_ind": Indexer((size,), j)}
        threads.run_together(ALL, parts["preamble"])
        known = threads.names = threads.outer.new_child(names)
        kind = threads.types["_type_reduce"] = self._value(threads, "reduce_type").dtype
        mapped = np.broadcast_to(threads.cast(self._value(threads, "map_expr"), kind), shape).reshape(-1, *kept)
        threads.shape = kept
        results = [(p, x if p.raw else x.reshape(kept)) for p, x in zip(self.out_params, outputs)]
        names |= {p.name: self.bind(p, x, types, kept) for p, x in results}
        names["_out_ind"] = Indexer((math.prod(kept),), np.arange(math.prod(kept)).reshape(kept))
        start = threads.cast(self._value(threads, "identity"), kind)
        times = 1
        if not self._can_be_repeated(threads, start):
            arrays = [x for p, x in zip(self.in_params, inputs) if isinstance(x, np.ndarray) and not p.raw]
            times = uses_of_identity(arrays, kept, axes, len(inputs) == self.nout == 1)
            self._warn_of_identity(times)
        mapped = np.concatenate([np.full((times, *kept), start), mapped])
        while len(mapped) > 1:  # the first half with the second, like the threads of a block
            half = len(mapped) // 2
            combined = self._combine(threads, mapped[:half], mapped[half : 2 * half])
            mapped = np.concatenate([np.broadcast_to(combined, (half, *kept)), mapped[2 * half :]])
        threads.names = known.new_child({"a": Variable(mapped[0])})
        threads.run_together(ALL, parts["post_map_expr"])
        # With one input and one output, CuPy reduces with CUB, as in `any`: two kernels for a whole array.
        kernels = 1
        if len(inputs) == self.nout == 1:
            kernels = launches.commands_of("any", (as_given(inputs[0], axes), tuple(axes)), {}).kernels
        self.count_launch(device, threads, names, kernels)

    def _combine(self, threads: Threads, a: Any, b: Any) -> Any:
        outer = threads.names
        threads.names = outer.new_child({"a": Variable(a), "b": Variable(b)})
        found = threads.cast(self._value(threads, "reduce_expr"), threads.types["_type_reduce"])
        threads.names = outer
        return found

    def _can_be_repeated(self, threads: Threads, start: Any) -> bool:
        """Whether it's the same if the identity is used once or often: combined with itself, it's itself."""
        key = start.dtype.char, start.tobytes()
        if key not in self._repeatable:
            before = dict(threads.work)
            twice = self._combine(threads, start, start)
            threads.work = before
            self._repeatable[key] = bool(np.array_equal(twice, start, equal_nan=start.dtype.kind in "fc"))
        return self._repeatable[key]

    def _warn_of_identity(self, times: int) -> None:
        if times == 1:
            return
        warn_at_call(
            f"{self.name}: its identity {self.identity} isn't neutral, and a card uses it {times:,} times for each of "
            "these results, since each thread of a block begins with it. How often depends on sizes, and on CuPy's "
            "version and settings, so don't count on the result. Take a neutral identity, such as 0 for a "
            f"+ b, and add the rest in the last piece: {self.parts['post_map_expr']} + {self.identity}.",
            NotNeutral,
        )

    def _value(self, threads: Threads, part: str) -> Any:
        return threads.value(self.program[0][part][0], ALL)
