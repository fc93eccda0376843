"""What a learner on a hub costs, from hub/costs.json: the figures in hub/README.md and TEACHING.md.

    python tools/hub_costs.py     puts them into both pages

`nox -s hub_costs` measures them anew.
"""

from __future__ import annotations

import json
import math
import re
import statistics
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "hub" / "costs.json"
PAGES = {"hub/README.md": "page", "notebooks/TEACHING.md": "in_short"}
BLOCK = re.compile(r"(<!-- costs: made by tools/hub_costs\.py -->\n\n).*?(\n<!-- end of costs -->\n)", re.DOTALL)
LEARNERS, OPEN, CORES = 30, 3, 8  # a class; notebooks that one has open, without closing any; a server's cores
WIDTH = 120  # of a line
ROOM = 1.3  # for what a learner tries: The Littlest JupyterHub's own advice is 20 to 40 %


def read() -> dict[str, Any]:
    """The figures: memory in MB, a million bytes, and seconds of processor time."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def server(costs: dict[str, Any]) -> int:
    """A learner's server, without kernels."""
    return max(one["server"]["resident"] for one in costs["lessons"].values())


def usual(costs: dict[str, Any]) -> int:
    """The kernel of a lesson in the middle."""
    return math.ceil(statistics.median(one["kernel"]["resident"] for one in costs["lessons"].values()))


def largest(costs: dict[str, Any]) -> tuple[str, int]:
    """The lesson whose kernel is largest at its highest, and how large."""
    return max(((n, one["kernel"]["peak"]) for n, one in costs["lessons"].items()), key=lambda one: one[1])


def guarantee(costs: dict[str, Any]) -> int:
    """What each learner has to have: a class is in the same lesson at the same time. In MB, a multiple of 50."""
    return 50 * math.ceil((server(costs) + largest(costs)[1]) / 50)


def limit(costs: dict[str, Any]) -> int:
    """What no learner may exceed: the largest lesson, others left open, and room. In MB, a multiple of 250."""
    needed = server(costs) + largest(costs)[1] + (OPEN - 1) * usual(costs)
    return 250 * math.ceil(ROOM * needed / 250)


def class_memory(costs: dict[str, Any]) -> int:
    """For a class on one machine, all in the largest lesson, with another left open; and 2 GB for all else. In GB."""
    parts = costs["hub"]["resident"] + costs["proxy"]["resident"]
    return math.ceil((LEARNERS * (server(costs) + largest(costs)[1] + usual(costs)) + parts + 2000) / 1000)


def slowest(costs: dict[str, Any]) -> tuple[str, float]:
    """The lesson with the longest cell, and its seconds."""
    return max(((n, one["longest cell"]) for n, one in costs["lessons"].items()), key=lambda one: one[1])


def page(costs: dict[str, Any]) -> str:
    """The table for hub/README.md, and what follows from it."""
    rows = [
        f"| {number} | {one['kernel']['resident']} | {one['kernel']['peak']} | {one['seconds']:.0f} s |"
        f" {one['longest cell']:.1f} s |"
        for number, one in sorted(costs["lessons"].items())
    ]
    measured, parts = costs["machine"], (costs["hub"]["resident"], costs["proxy"]["resident"])
    beside = (
        f"Beside its kernels each learner has a server of {server(costs)} MB. The hub takes {parts[0]} MB and the "
        f"proxy {parts[1]} MB, once."
    )
    how = (
        f"*Measured {measured['date']}, one learner at a time, each lesson with its solutions in a fresh kernel, "
        f"with `OPENBLAS_NUM_THREADS=1`. {measured['cpu']}, {measured['cores']} cores, shared with other work; "
        f"{measured['system']}, Python {measured['python']}, NumPy {measured['numpy']}, "
        f"JupyterHub {measured['jupyterhub']}, JupyterLab {measured['jupyterlab']}. A MB is a million bytes. What a "
        "process has in memory counts whole, even what it shares with others, so on one machine it's a little less. "
        "Seconds are of one core; yours may be quicker or slower.*"
    )
    head = ["| lesson | its kernel, MB | at its highest | computes for | longest cell |", "|---|---|---|---|---|"]
    lines = [*head, *rows, "", beside, "", *textwrap.wrap(how, WIDTH), "", *advice(costs)]
    return "\n".join(lines) + "\n"


def advice(costs: dict[str, Any]) -> list[str]:
    """What to order for a class."""
    number, peak = largest(costs)
    lesson, seconds = slowest(costs)
    together, most = LEARNERS * seconds / CORES, max(one["seconds"] for one in costs["lessons"].values())
    items = [
        f"- **Memory: {class_memory(costs)} GB for {LEARNERS} learners** on one machine. It's enough even if all are "
        f"in lesson {number} at once, which takes {peak} MB for a moment, and each has left another lesson open.",
        f"- **Guarantee {guarantee(costs)} MB to each, and limit each to {limit(costs)} MB.** The limit leaves room "
        "for two lessons left open, and to try things.",
        f"- **Processor: {CORES} cores.** The longest cell takes {seconds:.1f} s of one core (lesson {lesson}). If all "
        f"{LEARNERS} press Shift+Enter at once, {CORES} cores need {together:.0f} s for it. A whole lesson computes "
        f"for at most {most:.0f} s: nearly all the time, learners read.",
    ]
    return [line for item in items for line in textwrap.wrap(item, WIDTH, subsequent_indent="  ")]


def in_short(costs: dict[str, Any]) -> str:
    """The lines for TEACHING.md."""
    where = costs["machine"]
    measured = f"Measured {where['date']}: Python {where['python']}, JupyterHub {where['jupyterhub']}, {where['cpu']}."
    return "\n".join([*advice(costs), "", measured]) + "\n"


def with_figures(name: str, text: str, costs: dict[str, Any]) -> str:
    """A page with its figures made anew. Raises `ValueError` where their place is missing."""
    block = {"page": page, "in_short": in_short}[PAGES[name]](costs)
    made, places = BLOCK.subn(lambda match: f"{match[1]}{block}{match[2]}", text)
    if places != 1:
        raise ValueError(f"{name} needs the two lines <!-- costs: … --> and <!-- end of costs --> once")
    return made


def main() -> int:
    costs = read()
    for name in PAGES:
        path = ROOT / name
        path.write_text(with_figures(name, path.read_text(encoding="utf-8"), costs), encoding="utf-8")
    print(f"figures of {costs['machine']['date']}: limit {limit(costs)} MB, guarantee {guarantee(costs)} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
