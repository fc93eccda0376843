"""`captured`: the first calls of a step are recorded, until two runs in a row agree; later ones replay them."""

import functools
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from ..autodiff.modes import gradient_calls
from ..helping import AsWritten
from ..messages import notice
from ..words import check_callable, check_whole
from .checking import checked_call
from .places import Place
from .plan import MISSED, Plan
from .program import CaptureError, Program
from .recording import Recording
from .signature import Given, signature

_MOST_PLANS = 8  # plans of one step: a smaller last batch and a validation batch are calls of another shape
_MANY = 10  # captures after which it says what keeps changing
_MOST_RUNS = 3  # recorded ones: if the last two of them don't agree either, it gives up


class _ThisThread(threading.local):
    is_recording = False


_this_thread = _ThisThread()


class _Tries(NamedTuple):
    """The recorded runs with one signature that haven't led to a replay yet."""

    runs: int
    latest: Program | None  # what the latest one did
    carried: list[Place]  # to which the step assigns other arrays
    held: list  # arguments that can't be held weakly


class Off:
    """What `captured.off` gives: at the end of a ``with`` block, captured steps run as they did before `off`."""

    def __init__(self, switch: "Switch", was_off: bool) -> None:
        self._switch = switch
        self._was_off = was_off

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        self._switch.is_off = self._was_off


class Switch:
    """Whether captured steps run as they're written: from `off` until `on`, or the end of a ``with`` block."""

    is_off = os.environ.get("FLUXLITE_CAPTURED", "") == "0"

    def off(self) -> Off:
        """Let all captured steps run as they're written: for a debugger, or to compare. FLUXLITE_CAPTURED=0 does so."""
        was_off = self.is_off
        self.is_off = True
        return Off(self, was_off)

    def on(self) -> None:
        """End `off`."""
        self.is_off = False


SWITCH = Switch()


class CapturedStep:
    """What `captured` returns: call it like the step itself. ``step.eager`` is the step."""

    is_a_captured_step = True

    def __init__(self, step: Callable, check: int) -> None:
        self.__qualname__ = type(step).__name__  # a partial has no name of its own
        functools.update_wrapper(self, step, updated=())  # its attributes: see __getattr__
        self.eager = step
        self.check = check
        self._lock = threading.RLock()  # two threads would write into the same buffers
        self.plans: dict[Any, Plan] = {}  # the latest last
        self._latest: Plan | None = None
        self._tries: dict[Any, _Tries] = {}  # by signature; the latest last
        self._captures = 0
        self._calls = 0

    def clear(self) -> None:
        """Forget what was recorded, and free its memory. The next call records again."""
        with self._lock:
            self.plans.clear()
            self._latest = None
            self._tries.clear()
            self._captures = 0

    def explain(self) -> str:
        """What was recorded: for each signature, the calls, the buffers and their bytes, and the replay itself."""
        if not self.plans:
            return AsWritten(f"{self!r} has no replay yet: it records in its first calls")
        return AsWritten("\n\n".join(plan.described() for plan in self.plans.values()))

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        """As a method, the step gets its object as its first argument."""
        if owner is None:
            return self
        return types.MethodType(self, owner)

    def __getattr__(self, name: str) -> Any:
        """What the step itself has, but for what we have under that name."""
        if name.startswith("__") or name == "eager":
            raise AttributeError(name)
        return getattr(self.eager, name)

    def __repr__(self) -> str:
        return f"captured({self.__qualname__})"

    def __deepcopy__(self, memo: dict) -> "CapturedStep":
        return CapturedStep(self.eager, self.check)  # functions aren't copied either; the copy records for itself

    def __reduce__(self) -> Any:
        module = sys.modules.get(getattr(self, "__module__", ""))
        if getattr(module, self.__qualname__, None) is self:  # under a decorator: pickle finds it by name
            return self.__qualname__
        return captured, (self.eager, self.check)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if SWITCH.is_off or _this_thread.is_recording or gradient_calls.open:
            return self.eager(*args, **kwargs)
        with self._lock:
            latest = self._latest
            if latest is None or self.check:
                return self._replay_or_record(args, kwargs)
            try:
                result = latest.run(args, kwargs)
            except BaseException as error:
                self._note_line(latest, error)
                raise
            if result is MISSED:
                return self._replay_or_record(args, kwargs)
            return result

    def _note_line(self, plan: Plan, error: BaseException) -> None:
        """Below an error in a replay stands the line of the step that it comes from."""
        line = plan.line_of(error)
        if line:
            error.add_note(f"in a replay of {self.__qualname__}: {line}")

    def _replay_or_record(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A call that's not like the latest: replay another plan, or record one."""
        given = Given()
        key = signature((args, kwargs), given)
        arrays, others = given.arrays, given.others
        plan = self.plans.get(key)
        if plan is None:
            return self._record(key, args, kwargs, others)
        self._calls += 1
        try:
            if self.check and self._calls % self.check == 0:
                result = checked_call(self, plan, arrays, others, args, kwargs)
            else:
                result = plan.run(args, kwargs)
        except BaseException as error:
            self._note_line(plan, error)
            raise
        if result is MISSED:  # something that it found outside has been replaced
            self._forget(key)
            self._tries[key] = _Tries(0, None, plan.carried, plan.held)
            return self._record(key, args, kwargs, others)
        self.plans[key] = self.plans.pop(key)  # the latest stands last
        self._latest = plan
        return result

    def _forget(self, key: Any) -> None:
        if self.plans.pop(key, None) is self._latest:
            self._latest = None
        self._tries.pop(key, None)

    def _record(self, key: Any, args: tuple, kwargs: dict[str, Any], others: list) -> Any:
        """Run the step as it's written, and note what it does. Then there are three ways to go on."""
        tries = self._tries.get(key)
        if tries is None:
            tries = _Tries(0, None, [], self._forget_with(others, key))
        recording = Recording(self.eager, args, kwargs, others, tries.latest, tries.carried)
        try:
            result = self._run(recording)
            self._go_on(key, recording, tries)
            return result
        except BaseException:
            self._forget(key)
            if not recording.has_failed:  # then it's given up, or Ctrl-C came: all is as before this call
                recording.undo()
            raise

    def _run(self, recording: Recording) -> Any:
        try:
            try:
                _this_thread.is_recording = True
                return recording.run()
            finally:
                _this_thread.is_recording = False
        finally:  # once more, since Ctrl-C may have come just before that line
            _this_thread.is_recording = False

    def _go_on(self, key: Any, recording: Recording, tries: _Tries) -> None:
        """After a run: replay from now on, record the next call too, or give up, with a `CaptureError`."""
        runs = tries.runs
        if not recording.newly_rebound():  # else the next run is the first of its kind
            runs += 1
            if tries.latest is not None:
                difference = recording.difference()
                if not difference:
                    recording.write_back()
                    self._replay_from_now_on(key, recording, tries.held)
                    return
                if runs >= _MOST_RUNS:
                    raise CaptureError(difference)
        recording.write_back()
        self._try_again(key, _Tries(runs, recording.program, [*tries.carried, *recording.to_carry()], tries.held))

    def _replay_from_now_on(self, key: Any, recording: Recording, held: list) -> None:
        """It did what it did the time before, and so will the next calls with this signature."""
        self._tries.pop(key, None)
        plan = recording.plan()
        if len(self.plans) >= _MOST_PLANS:
            self._forget(next(iter(self.plans)))
        self.plans[key] = plan
        self._latest = plan
        plan.held = held
        self._captures += 1
        if self._captures == _MANY:
            self._say_what_changes()

    def _forget_with(self, others: list, key: Any) -> list:
        """When one of these arguments goes, so does what was recorded with it. Those that can't be held weakly."""
        held = []
        for x in others:
            try:
                weakref.finalize(x, _forget_of, weakref.ref(self), key)
            except TypeError:  # a slice, say, or an object with slots
                held.append(x)
        return held

    def _try_again(self, key: Any, tries: _Tries) -> None:
        """It ran for the first time, or not as the time before: the next call is recorded too."""
        self._tries[key] = tries
        if len(self._tries) > _MOST_PLANS:
            self._forget(next(iter(self._tries)))
            self._say_what_changes()

    def _say_what_changes(self) -> None:
        """Something in its signature is another one at each call."""
        notice(
            ("captured often", self.eager),
            f"{self.__qualname__} is captured again and again, and each capture takes longer than a call. "
            "Numbers that change are best given as arrays, such as np.float32(rate)",
        )


def _forget_of(step: Any, key: Any) -> None:
    one = step()
    if one is not None:
        one._forget(key)


def captured(step: Any = None, check: int = 0) -> Any:
    """`step`, recorded in its first calls and replayed in later ones (CUDA.jl: ``@captured``; JAX: ``jit``).

    A whole training step, forward, backward and update, becomes one order: on a CPU a list of NumPy's calls into
    buffers that are laid out once, on a GPU one launch. It computes what the step computes, bit for bit, without the
    Python between the calls. Arrays and NumPy's numbers among the arguments are inputs. Python's numbers, texts,
    shapes and types are part of what's recorded: another one is recorded by itself.

    Models, an optimizer's state and other arrays that the step finds outside are used where they are, and changed in
    place. If one is replaced, the step is recorded again. Reading a value (``float(x)``, ``if x:``, printing) raises
    `CaptureError`, and so does all that a replay would repeat wrongly. With ``check=100``, each hundredth call also
    runs as written, on the same numbers, and raises `CaptureError` if anything differs.

    On a simulated GPU, a replay is one launch of a graph, which stands for what CUDA can do. Inputs and results are
    copied by a launch each, random numbers are drawn before it, and what an optimizer computes on the host goes there
    in one copy. What a graph can't have raises `CaptureError`: copies to the GPU, reading and waiting. Arrays of CuPy
    are refused, since CuPy refuses cuBLAS, and so each product, while a stream captures.

    >>> model = fl.Dense(2, 1)
    >>> state = fl.setup(fl.Descent(0.1), model)
    >>> @captured
    ... def step(x, y):
    ...     loss, (grads,) = fl.withgradient(lambda m: fl.mse(m(x), y), model)
    ...     fl.update(state, model, grads)
    ...     return loss
    >>> x, y = np.ones((4, 2), np.float32), np.zeros((4, 1), np.float32)
    >>> losses = [step(x, y) for _ in range(5)]  # the first two are recorded, the others replayed
    >>> bool(losses[4] < losses[0])
    True
    """
    if step is None:
        return functools.partial(captured, check=check)
    check_callable("captured(step): the step", step)
    check_whole("captured(step, check): check", check)
    if isinstance(step, CapturedStep):
        step = step.eager
    return CapturedStep(step, check)


captured.off = SWITCH.off  # type: ignore[attr-defined]
captured.on = SWITCH.on  # type: ignore[attr-defined]
