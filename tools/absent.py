"""A Python like a browser's: no threads, no processes, no sockets, fewer packages, and not much memory.

`take_away` does that to the process that calls it, for good. What it takes was looked up in Pyodide 0.27, which is
what a browser has: the errors are those that Pyodide raises, and the modules those that aren't there.
"""

from __future__ import annotations

import _thread
import errno
import importlib
import importlib.metadata
import sys
import threading
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

MEMORY = 2**30  # bytes that a program may have, besides what's mapped when it begins

# Packages that have no wheel for a browser, or that we do without there.
PACKAGES = {"cupy", "filelock", "ipykernel", "ml_dtypes", "mlx", "mpi4py", "safetensors"}
# What Pyodide's standard library lacks of CPython's.
STANDARD = {
    "_curses", "_hashlib", "_lzma", "_multiprocessing", "_posixshmem", "_sqlite3", "_ssl", "_uuid", "curses", "dbm",
    "ensurepip", "fcntl", "grp", "lzma", "pty", "pwd", "readline", "resource", "sqlite3", "ssl", "syslog", "termios",
    "tty", "turtle", "venv",
}  # fmt: skip


class Finder:
    """One of Python's finders, which doesn't find what's gone."""

    def __init__(self, finder: Any, gone: set[str]):
        self.finder = finder
        self.gone = gone

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] in self.gone:
            return None
        return self.finder.find_spec(name, path, target)

    def find_distributions(self, *context: Any) -> Iterable[importlib.metadata.Distribution]:
        """Packages that are installed, for `importlib.metadata`."""
        find = getattr(self.finder, "find_distributions", None)
        found = find(*context) if find else []
        return [one for one in found if one.name not in self.gone]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


def no_thread() -> Exception:
    return RuntimeError("can't start new thread")


def no_process() -> Exception:
    return OSError(errno.ENOTSUP, "there are no processes here")


def no_socket() -> Exception:
    return OSError(errno.ENOTSUP, "there are no sockets here")


# Python tells its audit hooks before it does one of these. What a hook raises is raised in its place. It tells of
# threads only since 3.12, so `refuse_threads` takes their functions, too.
REFUSED = {
    "_thread.start_new_thread": no_thread,
    "_thread.start_joinable_thread": no_thread,
    "subprocess.Popen": no_process,
    "os.exec": no_process,
    "os.fork": no_process,
    "os.forkpty": no_process,
    "os.posix_spawn": no_process,
    "os.spawn": no_process,
    "os.startfile": no_process,
    "os.system": no_process,
    "socket.__new__": no_socket,
}


def refuse(event: str, arguments: tuple) -> None:
    """Python's audit hook: raise for what a browser doesn't let a program do."""
    if event in REFUSED:
        raise REFUSED[event]()


def refuse_threads() -> None:
    """Take the place of the functions with which `threading` starts a thread."""

    def start(*arguments: Any, **keywords: Any) -> None:
        raise no_thread()

    for module in (_thread, threading):
        for name in ("start_new_thread", "_start_new_thread", "start_joinable_thread", "_start_joinable_thread"):
            if hasattr(module, name):
                setattr(module, name, start)


MAPPED = Path("/proc/self/statm")  # where Linux says how many pages this process has mapped


def can_limit_memory() -> bool:
    """Whether the system knows what a process has mapped, and can limit it."""
    return MAPPED.exists()


def limit_memory(allowed: int) -> None:
    """Let this process map that many bytes more than it has mapped so far.

    The limit is on addresses (RLIMIT_AS), not on memory in use: in a browser, what's mapped is taken. What the
    interpreter and its libraries have mapped until now isn't counted.
    """
    import resource

    pages = int(MAPPED.read_text().split()[0])
    _, highest = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + allowed, highest))


def take_away(memory: int = MEMORY) -> None:
    """From now on this process lacks what a browser lacks, and has that much memory, where it can be limited.

    Import first what's to run the program, since that may need some of it.
    """
    if can_limit_memory():
        limit_memory(memory)
    gone = PACKAGES | STANDARD
    for name in list(sys.modules):
        if name.partition(".")[0] in gone:
            del sys.modules[name]
    sys.meta_path[:] = [Finder(finder, gone) for finder in sys.meta_path]
    importlib.invalidate_caches()
    refuse_threads()
    sys.addaudithook(refuse)
