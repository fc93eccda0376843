"""Record a GPU: the measurements for `fluxlite.calibrate`, and the times that lessons show as *recorded*.

        python -m benchmarks.record [FILE] [--repeats 9]            a GPU; FILE is fluxlite_course/recorded/CARD.json
        python -m benchmarks.record FILE --simulated "NVIDIA T4"    a simulated card, to try this program
        python -m benchmarks.record --launches                      what lines ask of a card, next to the table

This hasn't run on a real GPU yet. On simulated cards it has: there, the record gives the card's preset back.

The record has two lists. ``"measurements"`` is for `calibrate`, so ``calibrate(json.load(file))`` works directly.
``"lessons"`` has the rest: training steps, waits, and one product's times. Entries look like those of `record_cpu`: all
repeats, with their median and quartiles.
"""

from __future__ import annotations

import argparse
import datetime
import json
import operator
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fluxlite as fl
from fluxlite.devices.cupy.device import CupyDevice
from fluxlite.simulated import SimulatedDevice
from fluxlite.writing import write_whole
from fluxlite_course.crossing import BATCHES, SIZES, arrays
from fluxlite_course.sine_wave import training_step

from . import launches
from .harness import ROOT, in_a_process, processor, quartiles

HOW = (
    "Seconds. Each repeat: wait for the device, mark the start in its work, run once, mark the end; the card tells the "
    "time between the marks; two runs before do not count. Launches: the host's time, the mean of many in a row. "
    "Library: the same for a small product. First use: the first call of a function less its second, for functions "
    "that nothing had used; on a real GPU in a program of its own, loaded from CuPy's cache on disk, or compiled. "
    "Copies with pinned true: from or to memory that was pinned before."
)
RECORDED = ROOT / "fluxlite_course" / "recorded"
FIRST = (np.sinh, np.cosh, np.arctan, np.arcsinh, np.log1p, np.expm1, np.cbrt)
TOO_LONG = 0.3  # if one product takes this many seconds, skip larger ones
Entry = dict[str, Any]
Run = Callable[[], Any]


class Plan(NamedTuple):
    """What to measure, and how often. Arrays and copies are in bytes."""

    repeats: int = 9
    launches: int = 100  # in a row: few enough that the GPU's queue doesn't make the host wait
    warm_up: float = 1.0  # seconds: an idle card starts at a lower clock rate
    elementwise: tuple[int, ...] = tuple(2**n for n in range(12, 29, 2))
    copies: tuple[int, ...] = (4, *(2**n for n in range(12, 29, 4)))
    products: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
    dtypes: tuple[str, ...] = ("float16", "float32", "float64")
    hidden: tuple[int, ...] = SIZES
    batches: tuple[int, ...] = BATCHES
    clocks: int = 2048  # the size of the product that's timed in three ways


# -- one measurement ----------------------------------------------------------------------------------------------


def clock_of(device: Any) -> Callable[[], float]:
    """The clock to time a device with. On a real one, `fl.clock` first asks which device is in use: that takes time."""
    return fl.clock if isinstance(device, SimulatedDevice) else time.perf_counter


def once(device: Any, run: Run) -> tuple[float, float]:
    """The seconds until ``run()`` was requested, and until it was done."""
    clock = clock_of(device)
    device.synchronize()
    start, watch = clock(), device.stopwatch()
    result = run()
    asked = clock()
    watch.stop()
    done = watch.seconds()
    del result  # freeing its memory isn't part of the time
    return asked - start, done


def timed(device: Any, run: Run, repeats: int) -> tuple[list[float], list[float]]:
    """The seconds until it was requested, and until it was done, for each repeat, after a warm-up."""
    once(device, run)
    once(device, run)
    asked, done = zip(*(once(device, run) for _ in range(repeats)))
    return list(asked), list(done)


def entry(repeats: list[float], **what: Any) -> Entry:
    """A measurement as it appears in the file."""
    low, middle, high = map(_rounded, quartiles(repeats))
    return {**what, "repeats": list(map(_rounded, repeats)), "median": middle, "quartiles": [low, high]}


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.4g}")


def filled(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """A host array of random numbers. A GPU that multiplies zeros needs less power, and so runs faster.

    In a large array they repeat, which saves the time to draw them.
    """
    numbers = np.random.default_rng(1).standard_normal(min(2**20, int(np.prod(shape))), np.float32)
    return np.resize(numbers / np.sqrt(shape[-1]), shape).astype(dtype)


def fits(device: Any, nbytes: int) -> bool:
    """Whether there's room for this many bytes, with some to spare."""
    free = device.memory().free
    return free is None or 2 * nbytes < free


# -- for `calibrate` ----------------------------------------------------------------------------------------------


def launches_in_a_row(device: Any, plan: Plan) -> Iterator[Entry]:
    """The host's time for a launch of CuPy's own, and for one of a library: cuBLAS."""
    x = device.upload(filled((16, 16)))
    for what, call in (("launch", operator.add), ("library", operator.matmul)):

        def run(call: Callable = call) -> None:
            for _ in range(plan.launches):
                call(x, x)

        asked, _ = timed(device, run, plan.repeats)
        yield entry([seconds / plan.launches for seconds in asked], what=what)


def first_uses(device: Any) -> list[float]:
    """For some unused functions: how many seconds longer the first call took than the second."""
    with device:
        x = device.upload(filled((16,)))
        once(device, lambda: x + x)  # the very first call of all does other things too
        return [once(device, lambda: f(x))[1] - once(device, lambda: f(x))[1] for f in FIRST]  # noqa: B023


def first_uses_apart() -> tuple[list[float], list[float]]:
    """The same in two programs in a row, with a new cache for CuPy: kernels loaded from it, and kernels compiled."""
    code = "import json, fluxlite as fl, benchmarks.record as r; print(json.dumps(r.first_uses(fl.require_gpu())))"
    with tempfile.TemporaryDirectory() as folder:
        compiled, loaded = (json.loads(in_a_process(code, CUPY_CACHE_DIR=folder)) for _ in range(2))
    return loaded, compiled


def elementwise(device: Any, plan: Plan) -> Iterator[Entry]:
    """The sum of two arrays, which moves three times the bytes of one."""
    for nbytes in plan.elementwise:
        if fits(device, 3 * nbytes):
            x, y = (device.upload(filled((nbytes // 4,))) for _ in range(2))
            _, done = timed(device, lambda: x + y, plan.repeats)  # noqa: B023
            yield entry(done, what="elementwise", bytes=3 * nbytes)


def products(device: Any, plan: Plan) -> Iterator[Entry]:
    for dtype in plan.dtypes:
        for n in plan.products:
            if not fits(device, 3 * n * n * np.dtype(dtype).itemsize):
                break
            x = device.upload(filled((n, n), dtype))
            _, done = timed(device, lambda: x @ x, plan.repeats)  # noqa: B023
            yield entry(done, what="product", n=n, dtype=dtype)
            if statistics.median(done) > TOO_LONG:
                break


def copies(device: Any, plan: Plan) -> Iterator[Entry]:
    for nbytes in plan.copies:
        if not fits(device, 2 * nbytes):
            continue
        host = filled((nbytes // 4,))
        there = device.upload(host)
        pageable = {"in": lambda: device.upload(host), "out": lambda: device.download(there)}  # noqa: B023
        for pinned, ways in ((False, pageable), (True, _pinned(device, host))):
            for way, run in ways.items():
                _, done = timed(device, run, plan.repeats)
                yield entry(done, what="copy", bytes=nbytes, pinned=pinned, way=way)


def _pinned(device: Any, host: np.ndarray) -> dict[str, Run]:
    """Copies from and to memory that was pinned in advance: `copy_in_pinned` would copy to such memory first."""
    if isinstance(device, SimulatedDevice):
        return {"in": lambda: device.copy_in_pinned(host, is_pinned=True)}
    import cupy
    import cupyx

    memory = cupyx.empty_pinned(host.shape, host.dtype)
    memory[...] = host
    there, stream = cupy.empty(host.shape, host.dtype), cupy.cuda.get_current_stream()
    return {
        "in": lambda: there.set(memory, stream=stream),
        "out": lambda: there.get(stream=stream, out=memory, blocking=False),
    }


# -- for lessons --------------------------------------------------------------------------------------------------


def steps(device: Any, plan: Plan) -> Iterator[Entry]:
    """A training step, as `fluxlite_course.crossing` estimates it. Copying the loss waits, so that's a single time."""
    for batch in plan.batches:
        for hidden in plan.hidden:
            host = [filled(array.shape, array.dtype) for array in arrays(hidden, batch)]
            if not fits(device, 3 * sum(array.nbytes for array in host)):
                continue
            x, y, *model = (device.upload(array) for array in host)
            what = {"what": "training step", "hidden": hidden, "batch": batch, "dtype": "float32"}
            _, done = timed(device, lambda: _with_copies(*host[:2], *model), plan.repeats)  # noqa: B023
            yield entry(done, **what, copies=True, wait=True)
            asked, done = timed(device, lambda: training_step(x, y, *model, rate=0.0), plan.repeats)  # noqa: B023
            yield entry(done, **what, copies=False, wait=True)
            yield entry(asked, **what, copies=False, wait=False)


def _with_copies(x: np.ndarray, y: np.ndarray, *model: Any) -> Any:
    loss, _ = training_step(fl.gpu(x), fl.gpu(y), *model, rate=0.0)  # a rate of 0 takes the same work
    return fl.cpu(loss)


def clocks(device: Any, plan: Plan) -> Iterator[Entry]:
    """One product, timed in three ways."""
    host = filled((plan.clocks, plan.clocks))
    x = device.upload(host)
    what = {"what": "product", "n": plan.clocks, "dtype": "float32"}
    asked, done = timed(device, lambda: x @ x, plan.repeats)

    def with_copies() -> Any:
        there = fl.gpu(host)
        return fl.cpu(there @ there)

    yield entry(done, **what, clock="waited for")
    yield entry(asked, **what, clock="asked for")
    yield entry(timed(device, with_copies, plan.repeats)[1], **what, clock="with copies")


def waits(device: Any, plan: Plan) -> Iterator[Entry]:
    """Waiting for an idle GPU, and reading a number that's ready."""
    number = device.upload(filled((1,)))
    yield entry(timed(device, lambda: None, plan.repeats)[1], what="wait")
    yield entry(timed(device, lambda: device.download(number), plan.repeats)[1], what="read a number")


# -- the whole record ---------------------------------------------------------------------------------------------


def provenance(device: Any) -> dict[str, Any]:
    """What was measured, when and with what. It says nothing about whose machine it is."""
    return {
        **_card(device),
        "host": processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "fluxlite": fl.__version__,
        "made_by": "python -m benchmarks.record",
    }


def _card(device: Any) -> dict[str, Any]:
    if isinstance(device, SimulatedDevice):
        like = device.settings[0]
        about = {"memory": device.memory().capacity, "multiprocessors": like.multiprocessors, "preset": like.version}
        return {"card": like.name, "kind": "simulated", **about}
    found = {"card": device.name, "kind": "recorded"}
    if not isinstance(device, CupyDevice):
        return {**found, "backend": device.backend}
    import cupy

    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(device.index)
    return {
        **found,
        "memory": properties["totalGlobalMem"],
        "multiprocessors": properties["multiProcessorCount"],
        "driver": driver(),
        "cuda": _version(runtime.runtimeGetVersion()),
        "cuda_of_driver": _version(runtime.driverGetVersion()),
        "cupy": cupy.__version__,
    }


def _version(number: int) -> str:
    """12090 is 12.9."""
    return f"{number // 1000}.{number % 1000 // 10}"


def driver() -> str:
    """The NVIDIA driver's version. Empty if it's unknown."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.partition("\n")[0].strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def warm_up(device: Any, plan: Plan) -> None:
    x, clock = device.upload(filled((plan.clocks, plan.clocks))), clock_of(device)
    end = clock() + plan.warm_up
    while clock() < end:
        once(device, lambda: x @ x)


def record(device: Any, plan: Plan | None = None) -> dict[str, Any]:
    """The whole record of a device."""
    plan = plan or Plan()
    # Before anything else is used.
    loaded, compiled = first_uses_apart() if isinstance(device, CupyDevice) else (first_uses(device), [])
    found: dict[str, list[Entry]] = {"measurements": [], "lessons": []}
    for name, uses, what in (("measurements", loaded, "first use"), ("lessons", compiled, "first use, compiled")):
        above = [seconds for seconds in uses if seconds > 0]  # not so if a function had been used after all
        found[name] += [entry(above, what=what)] if above else []
    with device:
        warm_up(device, plan)
        for measure in (launches_in_a_row, elementwise, products, copies):
            found["measurements"] += measure(device, plan)
        for measure in (waits, clocks, steps):
            found["lessons"] += measure(device, plan)
    return {**provenance(device), "how": HOW, **found}


# -- the file -----------------------------------------------------------------------------------------------------


def text(record: dict[str, Any]) -> str:
    """A record as JSON with one measurement per line."""
    parts = []
    for name, value in record.items():
        if isinstance(value, list):
            rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
            parts.append(f" {json.dumps(name)}: [\n{rows}\n ]")
        else:
            parts.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def default_file(card: str) -> Path:
    """Where a card's record belongs: ``NVIDIA H200`` in ``nvidia-h200.json``."""
    return RECORDED / f"{re.sub(r'[^a-z0-9]+', '-', card.lower()).strip('-')}.json"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record", description="record a GPU's times")
    parser.add_argument("file", type=Path, nargs="?", help="the JSON file to write")
    parser.add_argument("--simulated", nargs="?", const="NVIDIA T4", metavar="CARD", help="a simulated card instead")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--launches", action="store_true", help="count what lines ask of a card, and record nothing")
    options = parser.parse_args(arguments)
    if options.simulated is not None and options.file is None:
        parser.error("a simulated record does not belong with the recorded ones: name a file for it")
    try:
        if options.launches:
            return launches.report(fl.require_gpu())
        found = _recorded(options.simulated, Plan(repeats=options.repeats))
    except (RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    path = options.file or default_file(found["card"])
    write_whole(path, text(found).encode("utf-8"))
    print(f"wrote {path}: {found['card']}, {found['kind']}")
    return 0


def _recorded(simulated: str | None, plan: Plan) -> dict[str, Any]:
    if simulated is not None:
        # Only shapes are computed, so it takes seconds.
        made = fl.estimate(lambda: record(fl.gpu_device(), plan), like=simulated, shapes_only=True, first_use=True)
        return dict(made.result)
    device = fl.require_gpu()
    if isinstance(device, SimulatedDevice):
        raise ValueError(f"{device!r} is a {device.name}: nothing can be recorded on it; --simulated allows it")
    return record(device, plan)


if __name__ == "__main__":
    sys.exit(main())
