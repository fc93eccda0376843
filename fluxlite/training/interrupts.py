"""Ctrl-C and the notebook's ■, made polite: the first asks to stop at a good moment, the second stops at once."""

import signal
import threading
from typing import Any


class Interrupts:
    """``with Interrupts() as interrupts:`` the first interrupt only sets ``interrupts.pressed``; the second raises.

    Where the signal is ignored, or not Python's to handle, and in other threads, everything stays as it is.
    """

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = None

    def __enter__(self) -> "Interrupts":
        before = signal.getsignal(signal.SIGINT)  # None, if the handler isn't Python's: it couldn't be put back
        if threading.current_thread() is threading.main_thread() and before not in (None, signal.SIG_IGN):
            self._before = before  # first: a signal may come between any two lines
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *exc_info: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: Any) -> None:
        if self.pressed:
            self.__exit__()  # here too: it may be there that this error is raised, before anything was done
            raise KeyboardInterrupt
        self.pressed = True
