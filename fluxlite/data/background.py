"""Work that a background thread does ahead of its use, in order.

A process that forks has the thread only in its parent. So a fork waits until no job is being done, and the child's
loop goes on with a thread of its own. Where no thread can be started, the jobs are done when their turn comes.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

Job = Callable[[], Any]
ROOM = 4  # at most this many results wait
_PATIENCE = 1.0  # seconds: if you interrupt, or fork, because a job hangs, you want to get out


def done_ahead(jobs: Iterator[Job]) -> Iterator[Any]:
    """The results of `jobs`, in order. While you use one, a thread works on the next.

    An exception in a job, or in `jobs`, is raised when its turn comes, with its traceback, and ends everything. When
    you stop asking for results, the thread ends after its current job. Raises `RuntimeError` in a process that was
    forked during a job that takes long, since it can't go on there.

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
        self._finished = self._cut_off = False
        self.set_up()
        with _forking:
            _workers.add(self)

    def set_up(self) -> None:
        """Without a thread: at the start, and in the child of a fork, whose locks nobody would open."""
        self._changed = threading.Condition()  # guards the fields
        self.busy = threading.RLock()  # held while a job is being done, which may itself fork
        self._thread: threading.Thread | None = None

    def has_next(self) -> bool:
        """Wait until there's a result. False if there won't be one."""
        with self._changed:
            if self._thread is None and not self._finished and len(self._ready) <= ROOM // 2:
                self._start()
            while not self._ready and not self._finished and self._thread is not None:
                self._changed.wait()
        if not self._ready and not self._finished:  # there's no thread to be had
            self._work_once()
        return bool(self._ready)

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="fluxlite batches", daemon=True)
        self._thread = thread
        try:
            thread.start()
        except RuntimeError:  # there are as many as the system allows
            self._thread = None

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
        if thread is not None:
            with contextlib.suppress(RuntimeError):  # it's this one, or an interrupt came before it had begun
                thread.join(_PATIENCE)

    def _work(self) -> None:
        while self._work_once():
            pass

    def _work_once(self) -> bool:
        """Do a job, if there's one, and room for its result."""
        with self.busy:
            if not self._goes_on():
                return False
            outcome = self._outcome()
            with self._changed:
                if outcome is not None:
                    self._ready.append(outcome)
                self._finished |= outcome is None or outcome[1] is not None
                self._changed.notify_all()
            return True

    def _goes_on(self) -> bool:
        with self._changed:
            if self._finished or len(self._ready) >= ROOM:
                self._thread = None  # set under the lock, so that `has_next` knows to start another
                self._changed.notify_all()
                return False
            return True

    def _outcome(self) -> tuple[Any, BaseException | None] | None:
        try:
            if self._cut_off:
                raise RuntimeError(
                    "this process was forked while a background thread prepared a batch, which can't go on here: begin "
                    "the epoch anew in this process, or use DataLoader(…, parallel=False)"
                )
            job = next(self._jobs, None)
            return None if job is None else (job(), None)
        except BaseException as error:  # any exception is passed on to the loop that wants the result
            return None, error

    def after_fork(self, was_idle: bool) -> None:
        """In the child, where no other thread is."""
        self.set_up()
        self._cut_off = not was_idle


# -- forks ----------------------------------------------------------------------------------------------------------

_workers: weakref.WeakSet[_Worker] = weakref.WeakSet()
_forking = threading.RLock()
_held: list[_Worker] = []  # those whose thread waits for the end of the fork


def _before_fork() -> None:
    _forking.acquire()
    for worker in list(_workers):
        if worker.busy.acquire(timeout=_PATIENCE):
            _held.append(worker)


def _after_in_parent() -> None:
    while _held:
        _held.pop().busy.release()
    _forking.release()


def _after_in_child() -> None:
    global _forking
    for worker in list(_workers):
        worker.after_fork(worker in _held)
    _held.clear()
    _forking = threading.RLock()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
