"""What `import fluxlite` costs on top of `import numpy`: fresh processes, taking turns."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass

from .harness import ROOT, Judgement, judge, quartiles, text_table

MORE_SECONDS, MORE_BYTES = 0.015, 4e6  # allowed on top of NumPy
AT_FIRST_USE = ("matplotlib", "IPython", "cupy", "mlx", "torch", "importlib.metadata")
ROUNDS = 11  # at least: starting a process varies more than a loop does

# It imports only `sys` and `time`, which Python has loaded anyway. So nothing that the module needs is loaded before
# the clock starts. /proc exists on Linux only; elsewhere memory stays unknown.
CHILD = """
import sys, time
before = set(sys.modules)
start, cpu = time.perf_counter(), time.process_time()
import {module}
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
loaded = sorted(set(sys.modules) - before)
try:
    status = open("/proc/self/status").read()
    resident = int(status.split("VmRSS:")[1].split()[0]) * 1024
except OSError:
    resident = -1
print(seconds, cpu, resident, *loaded)
"""


@dataclass(frozen=True)
class Import:
    wall: float  # seconds for the whole process
    inside: float  # seconds for the import statement
    cpu: float  # seconds that the processor worked for us; on a busy machine the rest is waiting
    resident: float  # bytes, -1 where unknown
    loaded: frozenset[str]


def import_once(module: str) -> Import:
    """Import one module in a fresh process that starts in the repository."""
    start = time.perf_counter()
    # As for a user: Python keeps compiled modules, and the warm-up makes them.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD.format(module=module)],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    wall = time.perf_counter() - start
    inside, cpu, resident, *loaded = done.stdout.split()
    return Import(wall, float(inside), float(cpu), float(resident), frozenset(loaded))


def too_early(loaded: frozenset[str], by_numpy: frozenset[str]) -> list[str]:
    """The libraries that should wait for their first use but were loaded, except those that NumPy loads itself."""
    return [name for name in AT_FIRST_USE if name in loaded and name not in by_numpy]


def report(rounds: int) -> list[Judgement]:
    rounds = max(rounds, ROUNDS)
    imports: dict[str, list[Import]] = {"numpy": [], "fluxlite": []}
    for module in imports:
        import_once(module)  # writes the .pyc files and fills the disk cache
    for _ in range(rounds):
        for module, taken in imports.items():
            taken.append(import_once(module))
    lines = [["import", "statement ms", "quartiles", "of it CPU ms", "process ms", "resident MB"]]
    medians = {}
    for module, taken in imports.items():
        low, inside, high = quartiles([one.inside for one in taken])
        cpu = quartiles([one.cpu for one in taken])[1]
        wall = quartiles([one.wall for one in taken])[1]
        resident = quartiles([one.resident for one in taken])[1]
        medians[module] = inside, resident
        lines.append([
            module, f"{inside * 1e3:.1f}", f"{low * 1e3:.1f} to {high * 1e3:.1f}", f"{cpu * 1e3:.1f}",
            f"{wall * 1e3:.1f}", f"{resident / 1e6:.1f}" if resident > 0 else "unknown",
        ])  # fmt: skip
    early = too_early(imports["fluxlite"][0].loaded, imports["numpy"][0].loaded)
    print(f"Import: measured, {rounds} alternating rounds, a fresh process each")
    print(text_table(lines))
    print(f"loaded already by import fluxlite, of {', '.join(AT_FIRST_USE)}: {', '.join(early) or 'none'}\n")
    seconds, resident = (ours - base for ours, base in zip(medians["fluxlite"], medians["numpy"]))
    megabytes = resident / 1e6 if medians["numpy"][1] > 0 else None
    return [
        judge("import fluxlite: at most NumPy + 15 ms", seconds * 1e3, MORE_SECONDS * 1e3, "{:+.1f} ms"),
        judge("import fluxlite: at most NumPy + 4 MB", megabytes, MORE_BYTES / 1e6, "{:+.1f} MB"),
        judge("import fluxlite: optional libraries loaded", len(early), 0, "{:.0f}"),
    ]
