"""Captured steps on a GPU: each call stays as it is, buffers stay where they are, and a replay is one order.

1. `CapturedOnDevice` stands in for arrays of a device that has graphs (``ArrayKind.graph``).
2. `DevicePlan`: first the host's numbers and the random numbers, then all calls between ``order.begin()`` and
   ``order.end()``. Inputs are copied to where the graph reads them, and results out of it, by a launch each.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..array_kinds import ArrayKind, array_kind, register
from ..arrays import device_of
from .functions import check_function, traits_of
from .liveness import Liveness
from .memory import arrays_in, fingerprint, on_device, root_of, values_of
from .optimizing import take_captured_step
from .plan import Plan
from .program import Call, Number, Program, refusal
from .recorded import (
    MADE_LIKE,
    QUESTIONS,
    CapturedArray,
    answer,
    call_into,
    change,
    name_of,
    record_in_place,
    refusing,
    replaced,
    several,
    stand_ins_on_devices,
    to_notes,
    to_values,
    without_out,
    wrap,
)
from .writer import Writer, check_alike

_ON_THE_HOST = ("ufunc", "reduce", "scalar", "read", "compute", "store")  # kinds that a device's calls never have


def to_device_values(x: Any) -> Any:
    """The arguments of a call, as `to_values` gives them; arrays of shape () on the host go to a device as numbers."""
    return replaced(x, _device_value_of)


def _device_value_of(x: Any) -> Any:
    if isinstance(x, CapturedArray) and isinstance(x.value, np.ndarray) and x.value.ndim == 0:
        return x.value[()]
    return to_values(x)


def _call(program: Program, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """``function(*args, **kwargs)``, noted."""
    program.check_thread()
    values = to_device_values(args)
    keywords = to_device_values(kwargs)
    program.check_unchanged(values, keywords)
    result = function(*values, **keywords)
    return _receive(program, Call("copied", function, to_notes(args), to_notes(kwargs)), values, result)


def _receive(program: Program, noted: Call, values: tuple, result: Any) -> Any:
    """The result as the step gets it: views of an argument, or new buffers, which each replay fills."""
    results = result if isinstance(result, (tuple, list)) else (result,)
    if not all(map(on_device, results)):
        raise refusal(f"{name_of(noted.function)}, which gives no array of the GPU,")
    roots = {id(root_of(x)) for x in arrays_in(values)}
    views = [id(root_of(x)) in roots for x in results]
    if not all(views):
        noted.kind = "copied" if results[0] is result else "several"
        buffers = tuple([program.new(x) for x in results])
        noted.out = buffers[0] if noted.kind == "copied" else buffers
        program.add(noted)
    made = [wrap(program, x) for x in results]
    if results[0] is result:
        return made[0]
    return several(result, made)


class CapturedOnDevice(CapturedArray):
    """An array of a device in a step that's being captured."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if any(hasattr(type(x), "__primitive__") for x in inputs):
            return NotImplemented
        if method == "at":
            change(self.program, ufunc.at, inputs, to_values(inputs[0]))
            return None
        function = ufunc
        if method != "__call__":
            function = getattr(ufunc, method)
        if out and isinstance(out[0], CapturedOnDevice):
            return call_into(self.program, function, inputs, kwargs, out[0], "out")
        return _call(self.program, function, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if any(hasattr(kind, "__primitive__") for kind in types):
            return NotImplemented
        self.program.check_thread()
        check_function(function, args, kwargs)
        if function in MADE_LIKE:
            kwargs = {key: value for key, value in kwargs.items() if key != "like"}
            function = functools.partial(function, like=self.value)
        record = _way_of(function)
        return record(self.program, function, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        _refuse_masks(index)
        return _call(self.program, operator.getitem, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_masks(index)
        if is_same_memory(self, index, value):  # ``x[i] -= y`` has done it already
            return
        change(self.program, operator.setitem, (self, index, value), self.value)

    def fill(self, value: Any) -> None:
        self[...] = value

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True
    ) -> Any:  # as on a GPU, neither casting nor subok
        keywords = {"casting": casting, "subok": subok, "copy": copy}
        return _call(self.program, type(self.value).astype, (self, dtype, order), keywords)

    def copy(self, order: Any = "C") -> Any:
        return _call(self.program, type(self.value).copy, (self, order), {})

    def flatten(self, order: Any = "C") -> Any:
        return _call(self.program, type(self.value).flatten, (self, order), {})

    def __pow__(self, other: Any) -> Any:
        return _call(self.program, operator.pow, (self, other), {})

    get = refusing("a copy to the host (fl.cpu(x), x.get())", "Return it, and copy it after the call")
    host_values = property(get)
    device = property(lambda self: self.value.device)


def _record_function(program: Program, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    args, kwargs, out = without_out(function, args, kwargs)
    if out is not None:
        return call_into(program, function, args, kwargs, out, "out")
    return _call(program, function, args, kwargs)


def _way_of(function: Any) -> Callable:
    """How a function is recorded, as in `recorded.py`."""
    if function in QUESTIONS:
        return answer
    if traits_of(function).assigns:
        return record_in_place
    return _record_function


def _refuse_masks(index: Any) -> None:
    for part in index if type(index) is tuple else (index,):
        if isinstance(part, (CapturedArray, np.ndarray)) and part.dtype == bool:
            raise refusal("x[mask], the shape of whose result depends on values,", "np.where keeps the shape")


def is_same_memory(x: CapturedOnDevice, index: Any, value: Any) -> bool:
    """Whether ``x[index] = value`` would write an array onto itself."""
    if not isinstance(value, CapturedOnDevice) or not is_basic(index):
        return False
    part, new = values_of(x.value[index]), values_of(value.value)
    return part.__array_interface__ == new.__array_interface__


def is_basic(index: Any) -> bool:
    """Whether it's numbers and slices, so that reading gives a view."""
    parts = index if type(index) is tuple else (index,)
    return all(part is None or part is ... or isinstance(part, (int, np.integer, slice)) for part in parts)


# -- what our own functions ask of an array --------------------------------------------------------------------------


def _launch(function: Any, args: tuple) -> Any:
    """Several calls as one launch: what the array's library makes of `function` is noted as one call."""
    program = next(x.program for x in args if isinstance(x, CapturedOnDevice))
    program.check_thread()
    values = to_device_values(args)
    arrays = arrays_in(values)
    kind: Any = array_kind(arrays[0])
    program.check_unchanged(values)
    for x in arrays:
        program.undoing.note_array(x)
    before = [fingerprint(values_of(x)) for x in arrays]
    result = kind.launch(function, values)
    if result is None:
        changed = tuple(arrays)
    else:
        changed = tuple([x for x, bytes_before in zip(arrays, before) if fingerprint(values_of(x)) != bytes_before])
    call = Call("in place", kind.launch, (function, to_notes(args)), changes=changed)
    if result is None:
        program.add(call)
        return None
    return _receive(program, call, values, result)


def _add_at(total: CapturedOnDevice, index: Any, values: Any) -> None:
    kind: Any = array_kind(total.value)
    change(total.program, kind.add_at, (total, index, values), total.value)


def _draw(like: CapturedOnDevice, shape: tuple[int, ...], rng: Any) -> Any:
    """What `drawn_like` gives: each replay asks the device for its generator."""
    if rng is not None:
        raise refusal("a draw on the host, which would go to the GPU in a copy,", "Leave out rng: then the GPU draws")
    program = like.program
    device = device_of(like)
    program.undoing.note_generator(device.rng)
    buffer = program.new(device.rng.random(shape, dtype=np.float32))
    program.add(Call("draw", _draw_into, (device, shape), out=buffer))
    return wrap(program, buffer)


def _draw_into(device: Any, shape: tuple[int, ...], out: Any) -> None:
    values_of(out)[...] = values_of(device.rng.random(shape, np.float32))


def _device_of(x: CapturedOnDevice) -> Any:
    return device_of(x.value)


def _address(x: CapturedOnDevice) -> int:
    return values_of(x.value).__array_interface__["data"][0]


def _on_record(x: CapturedOnDevice) -> None:
    kind: Any = array_kind(x.value)
    kind.on_record(x.value)


register(
    CapturedOnDevice,
    ArrayKind(
        device_of=_device_of,
        address=_address,
        add_at=_add_at,
        can_freeze=True,
        launch=_launch,
        on_record=_on_record,
        take_step=take_captured_step,
        draw=_draw,
    ),
)


# -- the replay ------------------------------------------------------------------------------------------------------


class LeftInPlace:
    """A layout that moves nothing: a graph's kernels have their addresses in them."""

    def __init__(self, program: Program, calls: list[Call]) -> None:
        roots = {id(root_of(x)): root_of(x) for call in calls for x in (*call.reads(), *call.writes())}
        self.size = self.unshared = sum(x.nbytes for key, x in roots.items() if key in program.owned)
        for x in [x for call in calls for x in call.writes() if program.owns(x)]:
            root_of(x).flags.writeable = True  # what a gradient has computed is read-only, and each replay writes it
            values_of(x).flags.writeable = True

    def at(self, x: Any) -> Any:
        return x


class DeviceWriter(Writer):
    """Statements for a device: each call gives a new array, whose values go into the call's buffer."""

    def plain_statement(self, call: Call) -> str:
        if call.kind == "order":
            return f"{self.name(call.function)}({', '.join(map(self._argument, call.args))})"
        if call.kind in _ON_THE_HOST or not any(map(on_device, (*call.reads(), *call.writes()))):
            return super().plain_statement(call)
        function = self.name(call.function, "f")
        given = [self._argument(x) for x in call.args]
        given += [f"{key}={self._argument(x)}" for key, x in call.kwargs.items()]
        if call.kind == "in place":
            return f"{function}({', '.join(given)})"
        if call.kind in ("out", "draw"):
            return f"{function}({', '.join([*given, f'out={self.name(call.out)}'])})"
        return f"put({self.name(call.out)}, {function}({', '.join(given)}))"

    def is_checked(self, call: Call) -> bool:
        """A graph has no call whose shape depends on values: that's refused while the step is recorded."""
        return False

    def _argument(self, x: Any) -> str:
        if isinstance(x, np.ndarray) and x.ndim == 0:  # a number, which goes to the device with its kernel
            return f"{self.name(x)}[()]"
        if type(x) is tuple:
            return f"({''.join(f'{self._argument(part)}, ' for part in x)})"
        if type(x) is list:
            return f"[{', '.join(map(self._argument, x))}]"
        return self.name(x)


def put(out: Any, made: Any) -> None:
    """The values of a call's result go where they were at the capture. On a card, the kernel writes them there."""
    if isinstance(out, tuple):
        for one, other in zip(out, made):
            put(one, other)
        return
    check_alike(out, made)
    values = values_of(made)
    if values is not values_of(out):
        np.copyto(values_of(out), values)


def _share(x: Any, y: Any) -> bool:
    if isinstance(x, np.generic) or isinstance(y, np.generic):  # a number is nobody's memory
        return False
    return np.may_share_memory(values_of(x), values_of(y))


class DevicePlan(Plan):
    """A replay on a device: the numbers go there in one copy, and all calls are one order."""

    def arrange(self, program: Program, calls: list[Call]) -> list[Call]:
        """The host's numbers first, then the draws, then what the graph has."""
        kind: Any = program.kind_of_device
        self.order = kind.graph(program.device)
        numbers = [call for call in calls if call.kind in ("read", "compute", "store")]
        draws = [call for call in calls if call.kind == "draw"]
        rest = [call for call in calls if call not in numbers and call not in draws]
        sent: dict[Any, Any] = {}
        for call in rest:
            if any(map(on_device, (*call.reads(), *call.writes()))):
                found = [*call.numbers(), *[x for x in call.reads() if isinstance(x, np.ndarray)]]
                sent |= {id(x): x for x in found if isinstance(x, (Number, np.ndarray))}
        upload = [Call("order", self.order.upload, tuple(sent.values()))] if sent else []
        begin = Call("order", self.order.begin, ())
        end = Call("order", self.order.end, ())
        return [*numbers, *draws, *upload, begin, *rest, end]

    def lay_out(self, program: Program, liveness: Liveness) -> Any:
        return LeftInPlace(program, self.calls)

    def writer_for(self, layout: Any, given: dict[int, str]) -> Writer:
        writer = DeviceWriter(layout, given)
        writer.space["put"] = put
        return writer

    def finish_writing(self) -> None:
        self.space["share"] = _share
        replay = self.run
        order = self.order

        def run(args: tuple, kwargs: dict[str, Any]) -> Any:
            with order.device:
                try:
                    return replay(args, kwargs)
                finally:
                    order.stop()

        self.run = run


stand_ins_on_devices.append(CapturedOnDevice)
