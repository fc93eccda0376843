"""A browser's files have no locks. The site's service worker has one, for the record that all tabs write."""

from __future__ import annotations

import time

import js

BUSY = 423
TAKEN = 200


class Timeout(TimeoutError):
    """Another tab has had the lock all the time."""


class UnixFileLock:
    """The lock of this site; there's one, whatever the `path`."""

    def __init__(self, path: object) -> None:
        self._path = path
        self._ticket = ""

    def acquire(self, timeout: float = 20.0, poll_interval: float = 0.02) -> None:
        """Take the lock. Raises `Timeout`, or `NotImplementedError` where the service worker doesn't answer."""
        end = time.monotonic() + timeout
        while not self._ticket:
            status, text = ask("take")
            if status == TAKEN:
                self._ticket = text
            elif status != BUSY:
                raise NotImplementedError(f"this page has no service worker, it got {status}")
            elif time.monotonic() > end:
                raise Timeout(f"{self._path} is locked by another tab")
            else:
                time.sleep(poll_interval)

    def release(self) -> None:
        """Give the lock back."""
        ask(self._ticket)
        self._ticket = ""


class WindowsFileLock:
    """What `FileLock` is on Windows, and never here."""


FileLock = UnixFileLock


def ask(word: str) -> tuple[int, str]:
    """Send a word to the site's service worker, and wait for its answer: a status and a text."""
    site = str(js.location.href).partition("/extensions/")[0]
    request = js.XMLHttpRequest.new()
    request.open("POST", f"{site}/api/lock", False)
    request.send(word)
    return request.status, request.responseText
