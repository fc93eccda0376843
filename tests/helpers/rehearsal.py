"""A rehearsal of an NVIDIA GPU, on a computer without one: the real CuPy over a fake driver.

``pytest -m cuda`` starts it where there's no card. CuPy is compiled code, in modules that find each other's functions
in tables of C pointers, ``__pyx_capi__``. Before CuPy is imported, we put functions of ours into the table of its
module for CUDA's runtime: how many cards there are, which is the current one, memory, copies, streams and events.
Everything above is CuPy's own: arrays, dispatch, checks, its memory pools, and every decision to launch a kernel.

What we fake:
- Memory is host memory, filled with the bits of NaN so that nobody takes it for zeros. There are `CARDS` cards, without
  access to each other's memory.
- Work on the default stream is done at once. Copies on other streams are *late*: they're made when something waits for
  them. Code that forgets to wait reads NaN, so a missing wait shows. `log` has everything in its order.
- A kernel is compiled by NVRTC where that's installed, which finds what a card's compiler would refuse. Then it's
  answered by its name, with NumPy (`rehearsed_kernels.py`). So are products, in place of cuBLAS, and sums, in place of
  CUB. A kernel of `cupy.fuse` does what CuPy noted for it (`rehearsed_fused.py`).

Here the rehearsal stops. It says nothing about time, and nothing about what a compiled kernel computes, only about what
was asked of it. Kernels that have no answer, CuPy's precompiled libraries (cuSOLVER, cuFFT, cuRAND, sorting by Thrust)
and CUDA's errors are not faked: a test that needs them skips itself with ``not rehearsed: NAME``. Random
numbers come from NumPy's Philox, whose values differ from cuRAND's. Nothing here knows a driver's version, a card's
limits, or what two streams really do at the same time.
"""

import ctypes
import itertools
import os
import re
import sys
import threading
import time
from collections import deque

import numpy as np

CARDS = 2
CAPABILITY = (7, 5)  # a T4's
CAPACITY = 1 << 30

log = []  # (what, …) in the order in which CuPy asked for it


class State(threading.local):
    """CUDA's current device. Each thread has its own."""

    device = 0


class Streams:
    """What waits in each stream, and in which stream an event was recorded. The default stream, 0, never waits."""

    def __init__(self):
        self.queues, self.recorded, self.times = {}, {}, {}

    def add(self, stream, work):
        if stream == 0:
            work()
        else:
            self.queues.setdefault(stream, deque()).append(work)

    def record(self, event, stream):
        self.recorded[event], self.times[event] = stream, time.perf_counter()
        if stream:
            self.queues.setdefault(stream, deque()).append(event)

    def is_done(self, event):
        return event not in self.queues.get(self.recorded.get(event, 0), ())

    def catch_up(self, stream, event=None):
        """Do what waits in a stream, up to an event."""
        queue = self.queues.get(stream, ())
        while queue and (event is None or event in queue):
            work = queue.popleft()
            if callable(work):
                work()

    def wait(self, event):
        if not self.is_done(event):
            self.catch_up(self.recorded[event], event)

    def all(self):
        for stream in self.queues:
            self.catch_up(stream)


state, streams = State(), Streams()
_handles = itertools.count(0x1000)
_blocks = {}  # address: the bytes there, and on which card


def _malloc(nbytes):
    block = np.full(nbytes + 256, 0xFF, np.uint8)
    _blocks[block.ctypes.data] = block, state.device
    log.append(("allocate", nbytes, state.device))
    return block.ctypes.data


def _free(address):
    streams.all()  # as cudaFree does
    _blocks.pop(address, None)


def _pin(nbytes, flags):
    block = np.full(nbytes + 256, 0xFF, np.uint8)
    _blocks[block.ctypes.data] = block, None
    return block.ctypes.data


def _copy(to, source, nbytes, kind, stream):
    log.append(("copy", nbytes, {1: "in", 2: "out", 3: "within", 4: "between"}.get(kind, kind), stream))
    streams.add(stream, lambda: ctypes.memmove(to, source, nbytes))


def _fill(address, value, nbytes, stream):
    log.append(("memset", nbytes, stream))
    streams.add(stream, lambda: ctypes.memset(address, value, nbytes))


def _new(*settings):
    return next(_handles)


def _record(event, stream):
    log.append(("record", event, stream))
    streams.record(event, stream)


def _stream_waits(stream, event):
    log.append(("wait", stream, event))
    if stream == 0:  # another stream is late itself, and after all that the event marks
        streams.wait(event)
    else:
        streams.add(stream, lambda: streams.wait(event))


def _program_waits(*stream):
    log.append(("synchronize", *stream))
    if stream:  # the default one never waits, and doesn't wait for the others
        streams.catch_up(*stream)
    else:
        streams.all()


def _program_waits_for(event):
    log.append(("synchronize event", event))
    streams.wait(event)


def _nothing(*_):
    return None


def _attribute(which, card):
    return {75: CAPABILITY[0], 76: CAPABILITY[1], 16: 40, 10: 32}.get(which, 1024)


def _properties(card):
    return {
        "name": b"rehearsed card", "major": CAPABILITY[0], "minor": CAPABILITY[1], "multiProcessorCount": 40,
        "warpSize": 32, "totalGlobalMem": CAPACITY, "maxThreadsPerBlock": 1024, "sharedMemPerBlock": 49152,
    }  # fmt: skip


RUNTIME = {
    "getDeviceCount": lambda: CARDS, "getDevice": lambda: state.device, "getDeviceProperties": _properties,
    "setDevice": lambda card: setattr(state, "device", card), "deviceGetAttribute": _attribute,
    "deviceCanAccessPeer": lambda a, b: 0, "runtimeGetVersion": lambda: 12090, "driverGetVersion": lambda: 12090,
    "_getCUDAMajorVersion": lambda: 12, "_ensure_context": _nothing, "deviceSynchronize": _program_waits,
    "malloc": _malloc, "free": _free, "hostAlloc": _pin, "freeHost": _free, "pointerGetMemoryType": lambda p: 0,
    "memGetInfo": lambda: (CAPACITY - sum(len(b) for b, card in _blocks.values() if card == state.device), CAPACITY),
    "memcpyAsync": _copy, "memsetAsync": _fill, "memcpy": lambda to, source, n, kind: _copy(to, source, n, kind, 0),
    "memset": lambda address, value, n: _fill(address, value, n, 0),
    "streamCreate": _new, "streamCreateWithFlags": _new, "streamCreateWithPriority": _new, "streamDestroy": _nothing,
    "streamSynchronize": _program_waits, "streamQuery": _nothing, "streamWaitEvent": _stream_waits,
    "streamIsCapturing": lambda stream: 0,
    "eventCreate": _new, "eventCreateWithFlags": _new, "eventDestroy": _nothing, "eventRecord": _record,
    "eventElapsedTime": lambda start, end: 1e3 * (streams.times[end] - streams.times[start]),
    "eventQuery": lambda event: 0 if streams.is_done(event) else 600, "eventSynchronize": _program_waits_for,
}  # fmt: skip
DRIVER = {
    "moduleLoadData": lambda cubin: next(_handles), "moduleUnload": _nothing, "get_build_version": lambda: "12090",
}  # fmt: skip

_KINDS = {
    "PyObject *": ctypes.py_object, "intptr_t": ctypes.c_ssize_t, "size_t": ctypes.c_size_t, "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint, "float": ctypes.c_float, "cudaMemcpyKind": ctypes.c_int,
}  # fmt: skip
_kept = []  # what C points to


def _act(module, name, function):
    """Let CuPy call `function` where it would call this function of `module`, from compiled code and from Python."""
    capi = ctypes.pythonapi
    get_name, new = capi.PyCapsule_GetName, capi.PyCapsule_New
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    signature = get_name(module.__pyx_capi__[name])
    result, arguments = re.fullmatch(r"(.*?) ?\((.*)\)", signature.decode()).groups()
    given = [] if arguments == "void" else [part.strip() for part in arguments.split(",")]
    count = sum("__pyx" not in part for part in given)  # Cython's own ones come last
    plain = [part.replace(" __pyx_skip_dispatch", "") for part in given]
    kinds = [ctypes.c_void_p if "struct" in part else _KINDS[part] for part in plain]
    pointer = ctypes.PYFUNCTYPE(_KINDS[result], *kinds)(lambda *all: function(*all[:count]))
    text = ctypes.create_string_buffer(signature)
    _kept.extend([pointer, text])
    address = ctypes.cast(pointer, ctypes.c_void_p)
    module.__pyx_capi__[name] = new(address, ctypes.cast(text, ctypes.c_char_p), None)
    setattr(module, name, function)


def start():
    """From now on CuPy has `CARDS` cards, in this process. Raises `RuntimeError` if CuPy is imported already."""
    if "cupy" in sys.modules:
        raise RuntimeError("a rehearsal begins before CuPy is imported")
    os.environ.pop("CUPY_ACCELERATORS", None)  # CuPy's default on NVIDIA's GPUs is CUB
    from cupy_backends.cuda.api import driver, runtime

    for name, function in RUNTIME.items():
        _act(runtime, name, function)
    for name, function in DRIVER.items():
        _act(driver, name, function)
    import rehearsed_kernels
    from inside import usable

    rehearsed_kernels.act()
    usable.nvidia_driver = lambda: True  # fluxlite looks for its library before it imports CuPy


def can_start():
    """Whether this computer has CuPy, and no driver for an NVIDIA GPU: a real one needs no rehearsal."""
    import importlib.util

    from inside import usable

    return importlib.util.find_spec("cupy") is not None and not usable.nvidia_driver()


def is_on():
    return bool(_kept)
