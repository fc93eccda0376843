"""`fuse`: a function of arrays whose elementwise calls become one launch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..arguments import check_callable
from ..arrays import fusing, on_card_of
from ..tree.ties import is_tracked


class Fused:
    """A function whose elementwise calls are one launch on a GPU. `fuse` makes it."""

    def __init__(self, function: Callable, name: str, code: Any = None) -> None:
        functools.update_wrapper(self, function)
        self.function, self.name = function, name
        self.code = code or getattr(function, "__code__", None)  # whose lines the errors name
        self.made: dict[Any, Any] = {}  # what a device or a derivative keeps for later calls

    def __repr__(self) -> str:
        return f"<fused {self.name}>"

    def another(self, key: Any, function: Callable, name: str = "") -> Fused:
        """A fused function that belongs to this one: a part of it, or its way back. It's made once for each `key`."""
        if key not in self.made:
            self.made[key] = Fused(function, name or self.name, self.code)
        return self.made[key]

    def __call__(self, *args: Any) -> Any:
        if not fusing:
            return self.function(*args)
        for x in args:
            plain = x
            while is_tracked(plain):
                plain = plain.value
            if type(plain) in fusing:
                break
        else:  # on the CPU, or inside of another fused function
            return self.function(*args)
        if any(map(is_tracked, args)):
            from .derivative import on_tape

            return on_tape(self, args)
        with on_card_of(plain):
            return fusing[type(plain)](self, args)


def fuse(*function: Any, kernel_name: str | None = None) -> Any:
    """Make one launch of a function's elementwise calls, on a GPU: ``@fuse`` above it (`cupy.fuse`).

    Without it, each ``+`` and each ``np.tanh`` of an array is a launch, which reads its operands from the card's memory
    and writes its result there. Fused, each number is read once, and what lies between stays in the processor. In
    CUDA.jl a broadcast with dots, ``tanh.(x .+ b)``, does the same.

    The function takes arrays of one device, and numbers. It gives an array, several in a tuple, or nothing: ``x += y``
    changes an argument in place. A result has the shape that all arguments have together, broadcast. What isn't
    computed element by element raises `TypeError` with its line: sums and products of matrices, ``x[i]``, ``x.T``, host
    arrays, and an ``if`` that asks for a value. On the CPU it's an ordinary function.

    The way back through it is one launch too; where an argument was broadcast, a sum follows. In a receipt it has the
    function's name, or `kernel_name`.

    >>> from fluxlite.cuda import fuse
    >>> @fuse
    ... def squared_difference(x, y):
    ...     return (x - y) ** 2
    >>> with fl.simulate_gpu():
    ...     x, y = fl.gpu((np.arange(3, dtype=np.float32), np.ones(3, np.float32)))
    ...     with fl.receipt() as r:
    ...         print(squared_difference(x, y))
    ...     print(r.launches)
    [ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.
    [1. 0. 1.]
    1
    """
    if kernel_name is not None and (not isinstance(kernel_name, str) or not kernel_name.isidentifier()):
        raise ValueError(f"fuse(kernel_name=…) is a name such as 'squared_difference', got {kernel_name!r}")
    if not function:
        return lambda f: fuse(f, kernel_name=kernel_name)
    if len(function) > 1:
        raise TypeError("fuse takes one function: write @fuse above it, or @fuse(kernel_name='…')")
    check_callable("fuse(function): the function", function[0])
    name = str(kernel_name or getattr(function[0], "__name__", ""))
    return Fused(function[0], name if name.isidentifier() else "fused")  # a lambda has no name of its own
