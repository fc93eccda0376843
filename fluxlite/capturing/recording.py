"""One recorded run of a step: what it finds is replaced, it runs, and all is put back."""

import contextlib
import gc
import random
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .agreement import disagreement
from .interrupts import interrupt_of, uninterrupted
from .memory import own_copy, root_of, values_of
from .on_device import DevicePlan
from .overlaps import pairs_to_keep_apart
from .places import Place
from .plan import Plan, Results
from .program import CaptureError, Program, refusal, this_run
from .results import structure_of
from .search import reachable_places
from .signature import StandIns


class Recording:
    """A run of `step` with these arguments, compared with an `earlier` one. If it's refused, all is put back."""

    def __init__(
        self, step: Callable, args: tuple, kwargs: dict[str, Any], others: list, earlier: Program | None,
        carried: list[Place],
    ) -> None:  # fmt: skip
        self._step = step
        self._name = getattr(step, "__qualname__", type(step).__name__)  # a partial has none
        self._args = args
        self._kwargs = kwargs
        self._earlier = earlier
        self._given: list = []
        self._others = others
        self._carried = {place.which() for place in carried}
        self.program = Program()
        self.places: Any = None
        self._results: Any = None  # `Results`, after the run
        self._changed_containers: list[type] = []  # lists and dicts among the arguments
        self._lost: list[str] = []  # what the step has changed, and a replay wouldn't
        self._has_drawn = False  # from Python's random, or np.random
        self.has_failed = False  # by an error that was dealt with: all is as before, or as the step has left it
        if earlier is not None:
            self.program.watch(earlier)

    def run(self) -> Any:
        """Run the step; gives its result."""
        state = _state_of_pythons_generators()
        this_run.refused = None
        error_before = sys.exception()
        try:
            values = self._run_recorded()
            self._has_drawn = _state_of_pythons_generators() != state
            self._check()
        except BaseException as error:
            interrupt = interrupt_of(error, error_before)
            if interrupt is not None or isinstance(error, CaptureError):
                self.undo()
            else:  # the step's own: what it has done by then stays
                self.write_back()
            self.has_failed = True
            if interrupt is not None and interrupt is not error:
                raise interrupt from None
            raise
        self.places.found = {}  # a plan holds no arguments
        return self._results.structure.filled(values)

    def _run_recorded(self) -> list:
        places = self.places = reachable_places(self._step, self._others)
        places.carry(self._carried)
        stand_ins = StandIns(self.program)
        args, kwargs = stand_ins.of((self._args, self._kwargs))
        self._given = stand_ins.given
        containers = stand_ins.containers
        before = [_contents(x) for x in containers]
        try:
            places.put_stand_ins(self.program, stand_ins.of_another)
            with self._refusals():
                result = self._step(*args, **kwargs)
            return self._take_result(result)
        finally:
            after = [_contents(x) for x in containers]
            self._changed_containers = [type(x) for x, now, then in zip(containers, after, before) if now != then]
            self._lost = places.put_back(self.program, self._given)
            self.program.rebindings = places.rebindings

    def _refusals(self) -> Any:
        """On a device, what a graph can't have is refused while the step runs."""
        program = self.program
        if program.device is None:
            return contextlib.nullcontext()
        return program.kind_of_device.graph(program.device).refusing(_refuse)

    def _take_result(self, result: Any) -> list:
        """Take apart what the step gave: its structure, its arrays. Gives copies of these for whoever has called."""
        refused = this_run.refused or self.program.refused
        if refused is not None:  # the step has caught it
            raise refused
        outputs: list = []
        structure = structure_of(result, outputs, self.places.found)
        results = Results(structure, [x.value for x in outputs], [x.is_number for x in outputs])
        self.program.result = structure
        self._results = results
        return list(map(own_copy, results.arrays, results.are_numbers))

    def undo(self) -> None:
        """All is as before the run: after a refusal, or Ctrl-C, which may have come at any instruction."""
        with uninterrupted():
            if self.places is not None and not self.places.are_back:
                with contextlib.suppress(CaptureError):  # the step got half of the way
                    self.places.put_back(self.program, self._given)
            self.program.undoing.put_back()
            if self.places is not None:
                self.places.put_back_arrays()
                self.places.put_back_attributes()

    # -- what a replay would do otherwise ------------------------------------------------------------------------------

    def _check(self) -> None:
        """Raise for what a replay would do otherwise, now that the step has returned."""
        self._check_containers()
        self._check_nothing_is_kept()
        self.program.check_unchanged()
        if self._has_drawn and threading.active_count() == 1:  # with other threads, it may have been one of them
            raise CaptureError(self._words_for_draws())
        self._check_arguments()
        self._check_identities()

    def _check_containers(self) -> None:
        for kind in self._changed_containers:
            raise CaptureError(
                f"{self._name} changes a {kind.__name__} that it's called with: a replay wouldn't. Return "
                "what it's to hold"
            )

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
        for number, other in pairs_to_keep_apart(self.program, self.program.calls):
            x = self._given[number]
            if isinstance(x, np.generic):  # a number is nobody's memory
                continue
            if type(other) is int:
                other = self._given[other]
            if np.may_share_memory(values_of(x), values_of(other)):
                raise CaptureError(
                    f"{self._name}: {self._words_for_input(number)} shares memory with an array that "
                    "the step changes. Give it a copy: x.copy()"
                )

    def _check_identities(self) -> None:
        """A step that asks whether one array is another gets the wrong answer if an input is found elsewhere, too."""
        if not self.places.asks_for_identity:
            return
        elsewhere = self.places.ids_outside()
        for number, x in enumerate(self._given):
            if isinstance(x, np.generic):
                continue
            if id(x) in elsewhere:
                raise CaptureError(
                    f"{self._name} asks with `is` or `id`, and {self._words_for_input(number)} is an array that it "
                    "also finds elsewhere. Give it a copy: x.copy()"
                )
            elsewhere.add(id(x))

    def _words_for_input(self, number: int) -> str:
        x = self._given[number]
        for place in self.places.carried:
            if place.value is x:
                return f"what's at {place}"
        return f"an argument of shape {x.shape}"

    def _words_for_draws(self) -> str:
        return (
            f"{self._name} draws from Python's random or np.random, and a replay would repeat the "
            "numbers. Draw from rng = np.random.default_rng(), or give them as an argument"
        )

    # -- what the run has done, for the step ---------------------------------------------------------------------------

    def write_back(self) -> None:
        """Arguments that the step has changed in place get their new values."""
        changed = {id(root_of(x)) for call in self.program.calls for x in call.changes}
        for x, copy in zip(self._given, self.program.inputs):
            if id(root_of(copy)) in changed and not isinstance(x, np.generic):
                self.program.undoing.note_array(x)  # until the call is over, Ctrl-C takes that back
                x[...] = copy

    def newly_rebound(self) -> list[Place]:
        """The places to which this run has assigned another array, and which weren't carried."""
        rebound = [rebinding.place for rebinding in self.places.rebindings]
        return [place for place in rebound if place.which() not in self._carried]

    def to_carry(self) -> list[Place]:
        """What the next run has to carry, besides what this one has."""
        return [*self.newly_rebound(), *self.places.first_numbers]

    def difference(self) -> str:
        """What this run did otherwise than the earlier one, or a replay would, in words; '' if there's nothing."""
        assert self._earlier is not None
        if self._has_drawn:
            return f"{self._words_for_draws()}. If it's another thread that draws, give that one a generator of its own"
        if self._lost:
            return (
                f"{self._name} changes {', '.join(dict.fromkeys(self._lost[:4]))}: a replay wouldn't. "
                "Make it an array that's changed in place, or return it"
            )
        if self._earlier.result.terms() != self._results.structure.terms():
            return (
                f"{self._name} returns another number of Python's than the time before, or an array that it makes "
                "by itself, as np.zeros(3) does: a replay would repeat one. Return arrays that come from what the "
                "step has, as np.zeros_like(x, shape=3) does, and what else you need outside of the step"
            )
        return disagreement(self._earlier, self.program)

    def plan(self) -> Plan:
        kind: type[Plan] = Plan
        if self.program.device is not None:
            kind = DevicePlan
        return kind(self.program, self.places, (self._args, self._kwargs), self._results)


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
