"""Work that is done ahead of its use, in the order in which it is asked for, by a thread in the background."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

Job = Callable[[], Any]
ROOM = 4  # so many results wait at most
_PATIENCE = 1.0  # seconds: who interrupts because a job hangs wants out


def done_ahead(jobs: Iterator[Job]) -> Iterator[Any]:
    """The results of `jobs`, in order; while one is used a thread works on the next ones.

    An exception in a job, or in `jobs`, comes out in its turn, with its traceback, and ends it all. When the results
    are no longer wanted the thread ends, after the job that it is at.

    >>> list(done_ahead(iter([lambda: "a", lambda: "b"])))
    ['a', 'b']
    """
    worker = _Worker(jobs)
    try:
        while worker.has_next():
            yield worker.next()
    finally:
        worker.stop()


class _Worker:
    """Starts a thread when there is room for results; it ends when there is none.

    So none is left waiting where nobody comes for the results any more, not even while the traceback of an interrupt
    keeps the whole loop alive.
    """

    def __init__(self, jobs: Iterator[Job]) -> None:
        self._jobs = jobs
        self._ready: deque[tuple[Any, BaseException | None]] = deque()
        self._changed = threading.Condition()  # guards what is below
        self._thread: threading.Thread | None = None
        self._finished = False

    def has_next(self) -> bool:
        """Waits until a result is there; False when there will be none."""
        with self._changed:
            if self._thread is None and not self._finished and len(self._ready) <= ROOM // 2:
                self._thread = threading.Thread(target=self._work, name="fluxlite batches", daemon=True)
                self._thread.start()
            while not self._ready and not self._finished:
                self._changed.wait()
            return bool(self._ready)

    def next(self) -> Any:
        with self._changed:
            result, error = self._ready.popleft()
        if error is None:
            return result
        try:
            raise error
        finally:
            del error  # or the traceback would hold this frame, and this frame the traceback

    def stop(self) -> None:
        with self._changed:
            self._finished = True
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_PATIENCE)

    def _work(self) -> None:
        while self._goes_on():
            outcome = self._outcome()
            with self._changed:
                if outcome is not None:
                    self._ready.append(outcome)
                self._finished |= outcome is None or outcome[1] is not None
                self._changed.notify_all()

    def _goes_on(self) -> bool:
        with self._changed:
            if self._finished or len(self._ready) >= ROOM:
                self._thread = None  # said under the lock: `has_next` then knows that it has to start another
                return False
            return True

    def _outcome(self) -> tuple[Any, BaseException | None] | None:
        try:
            job = next(self._jobs, None)
            return None if job is None else (job(), None)
        except BaseException as error:  # whatever it is, it belongs to whoever wants the result
            return None, error
