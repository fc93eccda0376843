"""One recorded run of a step: what it finds is replaced, it runs, and all is put back."""

import contextlib
import gc
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tree.ties import copy_of
from .agreement import disagreement, other_result
from .on_device import DevicePlan
from .plan import Plan, Results
from .program import CaptureError, Program, is_real_array, refusal, root_of, this_run, values_of
from .search import reachable_places
from .signature import filled, stand_ins, template


class Recording:
    """A run of `step` with these arguments, compared with an `earlier` one. If it's refused, all is put back."""

    def __init__(
        self, step: Callable, args: tuple, kwargs: dict[str, Any], others: list, earlier: Program | None
    ) -> None:
        self._step = step
        self._args = args
        self._kwargs = kwargs
        self._earlier = earlier
        self._given: list = []
        self._others = others
        self.program = Program()
        self.places: Any = None
        if earlier is not None:
            self.program.watch(earlier)

    def run(self) -> Any:
        """Run the step; gives its result."""
        program = self.program
        before = _state_of_pythons_generators()
        this_run.refused = None
        try:
            result = self._run_recorded()
            refused = this_run.refused or program.refused
            if refused is not None:  # the step has caught it
                raise refused
            outputs: list = []
            self._form = program.result = template(result, outputs)
            self._outputs = [x.value for x in outputs]
            self._are_numbers = [x.is_number for x in outputs]
            values = [x[()] if is_number else copy_of(x) for x, is_number in zip(self._outputs, self._are_numbers)]
            del result, outputs
            self._check_containers()
            self._check_nothing_is_kept()
            program.check_unchanged()
            if _state_of_pythons_generators() != before:
                raise CaptureError(
                    f"{name_of(self._step)} draws from Python's random or np.random, and a replay would repeat the "
                    "numbers. Draw from rng = np.random.default_rng(), or give them as an argument"
                )
            self._check_arguments()
        except CaptureError:
            program.undo()
            if self.places is not None:
                self.places.put_back_attributes()
            raise
        return filled(self._form, values)

    def _run_recorded(self) -> Any:
        places = self.places = reachable_places(self._step, self._others)
        self._containers: list = []
        args, kwargs = stand_ins((self._args, self._kwargs), self.program, self._given, self._containers)
        before = [_contents(x) for x in self._containers]
        try:
            places.put_stand_ins(self.program)
            with self._refusals():
                return self._step(*args, **kwargs)
        finally:
            after = [_contents(x) for x in self._containers]
            changed = [type(x) for x, now, then in zip(self._containers, after, before) if now != then]
            self._changed_containers = changed
            self._containers.clear()
            self._lost = places.put_back(self.program)

    def _refusals(self) -> Any:
        """On a device, what a graph can't have is refused while the step runs."""
        program = self.program
        if program.device is None:
            return contextlib.nullcontext()
        return program.kind_of_device.graph(program.device).refusing(_refuse)

    def _check_nothing_is_kept(self) -> None:
        if any(reference() is not None for reference, _ in self.program.alive):
            gc.collect()  # perhaps only a cycle holds it
        for reference, line in self.program.alive:
            if reference() is not None:
                raise CaptureError(
                    f"{line}: what's computed here is kept after the step, where a replay wouldn't change it. Return it"
                )

    def _check_arguments(self) -> None:
        """Two names for one piece of memory, of which one is changed, would be two pieces in a replay."""
        roots = {id(root): root for call in self.program.calls for root in map(root_of, call.changes)}
        outside = [root for key, root in roots.items() if key not in self.program.made]
        read = [x for call in self.program.calls for x in call.reads() if id(root_of(x)) not in self.program.made]
        for number, x in enumerate(self._given):
            others = list(outside)
            if id(root_of(self.program.inputs[number])) in roots:
                others += read
            for other, copy in enumerate(self.program.inputs):
                if other != number and id(root_of(copy)) in roots:
                    others.append(self._given[other])
            for y in others:
                if is_real_array(x) and np.may_share_memory(values_of(x), values_of(y)):
                    raise CaptureError(
                        f"{name_of(self._step)}: an argument of shape {x.shape} shares memory with an array that "
                        "the step changes. Give it a copy: x.copy()"
                    )

    def _check_containers(self) -> None:
        for kind in self._changed_containers:
            raise CaptureError(
                f"{name_of(self._step)} changes a {kind.__name__} that it's called with: a replay wouldn't. Return "
                "what it's to hold"
            )

    def write_back(self) -> None:
        """Arguments that the step has changed in place get their new values."""
        changed = {id(root_of(x)) for call in self.program.calls for x in call.changes}
        for x, copy in zip(self._given, self.program.inputs):
            if id(root_of(copy)) in changed and not isinstance(x, np.generic):
                x[...] = copy

    def trouble(self) -> str:
        """Why this run can't be replayed yet, in words; '' if it can."""
        if self._earlier is None:
            return "it has run once"
        if self._lost:
            return (
                f"{name_of(self._step)} changes {', '.join(dict.fromkeys(self._lost[:4]))}: a replay wouldn't. "
                "Make it an array that's changed in place, or return it"
            )
        if other_result(self._earlier.result, self.program.result):
            return (
                f"{name_of(self._step)} returns another number of Python's than the time before, and a replay would "
                "repeat one. Return arrays, and what else you need outside of the step"
            )
        return disagreement(self._earlier, self.program)

    def plan(self) -> Plan:
        results = Results(self._form, self._outputs, self._are_numbers)
        kind: type[Plan] = Plan
        if self.program.device is not None:
            kind = DevicePlan
        return kind(self.program, self.places, (self._args, self._kwargs), results)


def name_of(step: Callable) -> str:
    """Its name, in messages; a partial has none."""
    return getattr(step, "__qualname__", type(step).__name__)


def _contents(x: Any) -> list:
    """What's in a list or dict, by identity."""
    if isinstance(x, dict):
        return [(key, id(value)) for key, value in x.items()]
    return list(map(id, x))


def _refuse(what: str) -> None:
    raise refusal(f"{what} in the step", "Do it before the call, or after it")


def _state_of_pythons_generators() -> tuple:
    legacy: Any = np.random.get_state()  # noqa: NPY002  (to see whether the step uses it)
    name, keys, *rest = legacy
    return random.getstate(), name, keys.tobytes(), rest
