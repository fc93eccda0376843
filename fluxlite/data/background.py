"""Work that a background thread does ahead of its use, in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

Job = Callable[[], Any]
ROOM = 4  # at most this many results wait
_PATIENCE = 1.0  # seconds: if you interrupt because a job hangs, you want to get out


def done_ahead(jobs: Iterator[Job]) -> Iterator[Any]:
    """The results of `jobs`, in order. While you use one, a thread works on the next.

    An exception in a job, or in `jobs`, is raised when its turn comes, with its traceback, and ends everything. When
    you stop asking for results, the thread ends after its current job.

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
    """Starts a thread when there's room for results. The thread ends when there's none.

    So no thread is left waiting when the results aren't wanted any more, not even while the traceback of an interrupt
    keeps the whole loop alive.
    """

    def __init__(self, jobs: Iterator[Job]) -> None:
        self._jobs = jobs
        self._ready: deque[tuple[Any, BaseException | None]] = deque()
        self._changed = threading.Condition()  # guards the fields below
        self._thread: threading.Thread | None = None
        self._finished = False

    def has_next(self) -> bool:
        """Wait until there's a result. False if there won't be one."""
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
            del error  # otherwise the traceback would hold this frame, and this frame the traceback

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
                self._thread = None  # set under the lock, so that `has_next` knows to start another
                return False
            return True

    def _outcome(self) -> tuple[Any, BaseException | None] | None:
        try:
            job = next(self._jobs, None)
            return None if job is None else (job(), None)
        except BaseException as error:  # any exception is passed on to the loop that wants the result
            return None, error
