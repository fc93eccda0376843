"""What `import fluxlite` costs on top of `import numpy`: fresh processes, taking turns."""

from __future__ import annotations

import os
import subprocess
import sys

from .harness import ROOT, Judgement, judge, quartiles, text_table

AT_FIRST_USE = {"matplotlib", "IPython", "cupy", "mlx", "torch", "importlib.metadata"}
ROUNDS = 11  # at least: starting a process varies more than a loop does

# It imports only `sys` and `time`, which Python has loaded anyway. So nothing that the module needs is loaded before
# the clock starts. /proc exists on Linux only; elsewhere memory stays unknown.
CHILD = """
import sys, time
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
try:
    resident = int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0]) / 1000
except OSError:
    resident = -1
print(seconds * 1000, resident, *sys.modules)
"""


def import_once(module: str) -> tuple[float, float, set[str]]:
    """Import one module in a fresh process: milliseconds, megabytes in use, and which modules are loaded."""
    # As for a user: Python keeps compiled modules, and the warm-up makes them.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", CHILD.format(module=module)]
    said = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    milliseconds, resident, *loaded = said.split()
    return float(milliseconds), float(resident), set(loaded)


def report(rounds: int) -> list[Judgement]:
    rounds = max(rounds, ROUNDS)
    names = ("numpy", "fluxlite")
    for module in names:
        import_once(module)  # writes the .pyc files and fills the disk cache
    turns = [[import_once(module) for module in names] for _ in range(rounds)]
    lines = [["import", "statement ms", "quartiles", "resident MB"]]
    medians = []
    for module, taken in zip(names, zip(*turns)):
        (low, inside, high), (_, resident, _) = (quartiles([one[part] for one in taken]) for part in (0, 1))
        medians.append((inside, resident))
        about = f"{resident:.1f}" if resident > 0 else "unknown"
        lines.append([module, f"{inside:.1f}", f"{low:.1f} to {high:.1f}", about])
    # NumPy may load some of them itself.
    by_numpy, by_us = (loaded for _, _, loaded in turns[0])
    early = sorted(AT_FIRST_USE & by_us - by_numpy)
    print(f"Import: measured, {rounds} alternating rounds, a fresh process each")
    print(text_table(lines))
    print(f"loaded already by import fluxlite, of {', '.join(sorted(AT_FIRST_USE))}: {', '.join(early) or 'none'}\n")
    milliseconds, megabytes = (ours - base for base, ours in zip(*medians))
    return [
        judge("import fluxlite: at most NumPy + 15 ms", milliseconds, 15, "{:+.1f} ms"),
        judge("import fluxlite: at most NumPy + 4 MB", megabytes if medians[0][1] > 0 else None, 4, "{:+.1f} MB"),
        judge("import fluxlite: optional libraries loaded", len(early), 0, "{:.0f}"),
    ]
