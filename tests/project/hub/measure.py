"""What a learner costs on a hub: memory and processor time, measured on real servers. It writes hub/costs.json.

    nox -s hub_costs            every lesson; half an hour
    nox -s hub_costs -- 05 14   some

One learner at a time, each lesson with its solutions, in a fresh kernel. Memory is what Linux says of the processes.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy
from running import ROOT, Hub, Learner, a_hub, missing, wait_until

import fluxlite
from fluxlite.writing import write_whole

FILE = ROOT / "hub" / "costs.json"
HOW = (
    "MB are a million bytes; seconds are processor time of the kernel. `resident` is VmRSS, `own` is RssAnon (what is"
    " no file that others share), `peak` is VmHWM. Each lesson is run with its solutions, in a fresh kernel of one "
    "learner's server, over its websocket, with OPENBLAS_NUM_THREADS=1. `server` is the learner's server after that."
)


def memory(process: int) -> dict[str, int]:
    """What a process has in memory, in MB."""
    said = dict(re.findall(r"^(\w+):\s+(\d+) kB$", Path(f"/proc/{process}/status").read_text(), re.MULTILINE))
    names = {"resident": "VmRSS", "own": "RssAnon", "peak": "VmHWM"}
    return {name: round(int(said[key]) * 1024 / 1e6) for name, key in names.items()}


def seconds(process: int) -> float:
    """The processor time of a process so far, with that of the children that it waited for."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def lesson(hub: Hub, learner: Learner, path: Path) -> dict[str, Any]:
    """Run a solved lesson in a learner's server, and end its kernel."""
    copy = learner.course / f"solved-{path.name}"
    copy.write_bytes(path.read_bytes())
    session = learner.open(copy.name)
    process = int(session.printed("import os; print(os.getpid())"))
    clock = [seconds(process)]
    errors = session.run_all(after_each=lambda: clock.append(seconds(process)))
    assert not errors, f"{path.name}: {errors}"
    session.save()
    server = hub.server(learner.name)
    assert server
    found = {"kernel": memory(process), "server": memory(server), "seconds": round(clock[-1], 1)}
    found["longest cell"] = round(max(after - before for before, after in zip(clock, clock[1:])), 1)
    (open_one,) = [one["id"] for one in learner.ask("GET", "sessions") if one["path"] == copy.name]
    session.close()
    learner.ask("DELETE", f"sessions/{open_one}")
    print(path.name, found, flush=True)
    return found


def machine() -> dict[str, Any]:
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    packages = ("jupyterhub", "jupyterlab", "jupyter_server", "ipykernel", "matplotlib")
    return {
        "cpu": cpu[1] if cpu else platform.machine(), "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}", "date": datetime.date.today().isoformat(),
        "python": platform.python_version(), "numpy": numpy.__version__, "fluxlite": fluxlite.__version__,
        **{name: version(name) for name in packages},
    }  # fmt: skip


def main(numbers: list[str]) -> None:
    if why := missing():
        sys.exit(why)
    paths = [
        path for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")) if not numbers or path.name[:2] in numbers
    ]
    known = json.loads(FILE.read_text(encoding="utf-8")) if numbers and FILE.exists() else {"lessons": {}}
    with tempfile.TemporaryDirectory() as folder, a_hub(Path(folder, "hub")) as hub:
        idle = {}
        for path in paths:
            name = f"learner{path.name[:2]}"  # a fresh server each: what one lesson leaves behind isn't the next one's
            hub.api("POST", f"users/{name}")
            hub.spawn(name)
            learner = Learner(hub, name)
            wait_until(learner.answers, f"{name}'s server doesn't answer")
            server = hub.server(name)
            assert server
            idle = memory(server)
            known["lessons"][path.name[:2]] = lesson(hub, learner, path)
            hub.api("DELETE", f"users/{name}/server")
        parts = {name: memory(one.pid) for name, one in hub.running.items()}
    content = {"how": HOW, "machine": machine(), "idle server": idle, **parts, "lessons": known["lessons"]}
    write_whole(FILE, (json.dumps(content, indent=1) + "\n").encode())


if __name__ == "__main__":
    main(sys.argv[1:])
