"""What a learner costs on a hub: memory and processor time, measured on real servers, printed for docs/hub/README.md.

    nox -s hub_costs            every lesson; six minutes
    nox -s hub_costs -- 05 14   some
    nox -s hub_costs -- class   thirty servers at once, three kernels, and the wall; five minutes, and 6 GB of memory

One learner at a time, each lesson with its solutions, in a fresh kernel. Memory is what Linux says of the processes, in
MB, a million bytes. `class` also says what a process has to itself together with its share of what others have too:
added up, that's what one machine needs. Put the table and the advice into docs/hub/README.md, the advice into
TEACHING.md, and what `class` says into docs/hub/README.md.
"""

import math
import os
import re
import statistics
import sys
import tempfile
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from running import ROOT, Hub, Learner, Session, TeachersWall, a_hub, missing, wait_until

WALL_LESSON = "04-sine-wave-rnn.ipynb"
KERNELS = 3  # of the class that `class` starts; the other learners' servers are idle
WATCH = 30  # seconds for which the wall is watched
LEARNERS, OPEN, CORES = 30, 3, 8  # a class; notebooks that one has open, without closing any; a server's cores
ROOM = 1.3  # for what a learner tries: The Littlest JupyterHub's own advice is 20 to 40 %


def memory(process: int) -> tuple[int, int]:
    """What a process has in memory, now and at its highest, in MB."""
    said = dict(re.findall(r"^(\w+):\s+(\d+) kB$", Path(f"/proc/{process}/status").read_text(), re.MULTILINE))
    return round(int(said["VmRSS"]) * 1024 / 1e6), round(int(said["VmHWM"]) * 1024 / 1e6)


def seconds(process: int) -> float:
    """The processor time of a process so far, with that of the children that it waited for."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def lesson(learner: Learner, path: Path) -> tuple[int, int, float, float]:
    """Run a solved lesson in a learner's server: its kernel's MB, now and at most; its seconds, the longest cell's."""
    copy = learner.course / f"solved-{path.name}"
    copy.write_bytes(path.read_bytes())
    session = learner.open(copy.name)
    process = int(session.printed("import os; print(os.getpid())"))
    clock = [seconds(process)]
    errors = session.run_all(after_each=lambda: clock.append(seconds(process)))
    assert not errors, f"{path.name}: {errors}"
    session.save()
    found = (*memory(process), clock[-1], max(after - before for before, after in zip(clock, clock[1:])))
    session.close()
    return found


def advice(lessons: dict[str, tuple[int, int, float, float]], server: int, parts: int) -> list[str]:
    """What to order for a class. It's in the same lesson at the same time, and each has left others open."""
    number, peak = max(((name, one[1]) for name, one in lessons.items()), key=lambda one: one[1])
    slowest, cell = max(((name, one[3]) for name, one in lessons.items()), key=lambda one: one[1])
    usual = math.ceil(statistics.median(one[0] for one in lessons.values()))
    together = math.ceil((LEARNERS * (server + peak + usual) + parts + 2000) / 1000)  # 2 GB for all else
    guarantee = 50 * math.ceil((server + peak) / 50)
    limit = 250 * math.ceil(ROOM * (server + peak + (OPEN - 1) * usual) / 250)
    most = max(one[2] for one in lessons.values())
    return [
        f"- **Memory: {together} GB for {LEARNERS} learners** on one machine. It's enough even if all are in lesson "
        f"{number} at once, which takes {peak} MB, and each has left another lesson open.",
        f"- **Guarantee {guarantee} MB to each, and limit each to {limit} MB.** The limit leaves room for two lessons "
        "left open, and for trying things.",
        f"- **Processor: {CORES} cores.** The longest cell takes {cell:.1f} s of one core (lesson {slowest}). If all "
        f"{LEARNERS} press Shift+Enter at once, {CORES} cores need {LEARNERS * cell / CORES:.0f} s for it. A whole "
        f"lesson computes for at most {most:.0f} s: nearly all the time, learners read.",
    ]


def share(process: int) -> float:
    """A process's own memory and its share of what it shares with others, in MB."""
    said = Path(f"/proc/{process}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+) kB$", said, re.MULTILINE)[1]) * 1024 / 1e6


def a_learner(hub: Hub, name: str) -> Learner:
    """A learner whose server runs."""
    hub.api("POST", f"users/{name}")
    hub.spawn(name)
    learner = Learner(hub, name)
    wait_until(learner.answers, f"{name}'s server doesn't answer")
    return learner


def on_the_wall(learner: Learner) -> tuple[Session, int]:
    """A learner runs lesson 04 and joins the wall; their session, and the kernel's process."""
    session = learner.open(WALL_LESSON)
    session.run_all()  # with nothing solved, as a learner who only reads
    said = session.printed('from fluxlite_course import join; join("hub"); guess("04-A", "b")')
    assert "You've joined" in said
    return session, int(session.printed("import os; print(os.getpid())"))


def a_class() -> None:
    """Thirty servers, three of them with a kernel, and the wall: what they take, and what thirty kernels would."""
    with tempfile.TemporaryDirectory() as folder, a_hub(Path(folder, "hub")) as hub:
        names = [f"learner{k:02}" for k in range(LEARNERS)]
        with ThreadPoolExecutor(2) as pool:
            learners = list(pool.map(lambda name: a_learner(hub, name), names))
        hub.spawn(hub.teacher)
        wall = TeachersWall(hub)
        kernels = [process for _, process in map(on_the_wall, learners[:KERNELS])]
        begun = seconds(wall.process)
        time.sleep(WATCH)
        spent = seconds(wall.process) - begun
        servers = [hub.server(name) or 0 for name in names]
        parts = {name: one.pid for name, one in hub.running.items()} | {"the teacher's server": hub.server(hub.teacher)}
        groups = {"servers": servers, "kernels": kernels, "wall": [wall.process]}
        groups |= {name: [process or 0] for name, process in parts.items()}
        total = dict.fromkeys(("all of each", "its share"), 0.0)
        for name, group in groups.items():
            whole, shares = [memory(one)[0] for one in group], [share(one) for one in group]
            print(f"{name}: {len(group)}, {sum(whole):.0f} MB, at most {max(whole)} each; shares {sum(shares):.0f} MB")
            total["all of each"] += sum(whole) + (name == "kernels") * (LEARNERS - KERNELS) * max(whole)
            total["its share"] += sum(shares) + (name == "kernels") * (LEARNERS - KERNELS) * max(shares)
        print(f"With {LEARNERS} kernels, extrapolated from {KERNELS}: {total['all of each'] / 1000:.1f} GB, by shares "
              f"{total['its share'] / 1000:.1f} GB. The wall computed for {spent:.1f} s of {WATCH} s.")  # fmt: skip
        wall.end()


def main(numbers: list[str]) -> None:
    if why := missing():
        sys.exit(why)
    if numbers == ["class"]:
        a_class()
        return
    paths = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
    found, servers = {}, []
    with tempfile.TemporaryDirectory() as folder, a_hub(Path(folder, "hub")) as hub:
        for path in (path for path in paths if not numbers or path.name[:2] in numbers):
            name = f"learner{path.name[:2]}"  # a fresh server each: what one lesson leaves behind isn't the next one's
            learner = a_learner(hub, name)
            found[path.name[:2]] = now, peak, time, cell = lesson(learner, path)
            print(f"| {path.name[:2]} | {now} | {peak} | {time:.0f} s | {cell:.1f} s |", flush=True)
            servers.append(memory(hub.server(name) or 0)[0])
            hub.api("DELETE", f"users/{name}/server")
        parts = {name: memory(one.pid)[0] for name, one in hub.running.items()}
    print(f"Besides kernels, each learner has a server of {max(servers)} MB. MB once, for all: {parts}.")
    for item in advice(found, max(servers), sum(parts.values())):
        print(textwrap.fill(item, 120, subsequent_indent="  "))


if __name__ == "__main__":
    main(sys.argv[1:])
