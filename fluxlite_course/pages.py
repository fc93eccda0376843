"""Four pages to explore without a kernel: the crossover, the timeline, the race and the tape.

``python -m fluxlite_course.pages FOLDER`` writes them. Each is one file that needs no other. To put one into a page
of yours, write ``EXPLORE["race"].scene().html()`` there. What runs in them is the lessons' own cells.
"""

import argparse
import html
import json
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fluxlite as fl
from fluxlite.writing import write_whole

from .kit.copies import learner_folder
from .lesson00.pictures import race
from .lesson06.explorer import crossover_explorer
from .lesson14.pictures import tape as tape_of
from .scenes import Scene, page
from .scenes.timeline import timeline as timeline_of

CARD = "NVIDIA T4"
CARDS = ("GTX 1650", CARD, "RTX 4090", "A100", "H200")


def functions(lesson: str, name: str) -> dict[str, Any]:
    """What the cell of a lesson that defines `name` has before its last lines, which run it.

    It runs under a cell's name, since a receipt names lines of a program, not of this library.
    """
    (path,) = learner_folder().glob(f"{lesson}-*.ipynb")
    cells = ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    code = next(cell for cell in cells if f"def {name}(" in cell).rpartition("\n\n\n")[0] + "\n"
    file = f"<ipython-input lesson {lesson}>"
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    names = {"np": np, "fl": fl}
    exec(compile(code, file, "exec"), names)
    return names


def timeline() -> Any:
    """Lesson 06: a loop that reads a number in each step, after a first use of each kernel."""
    steps, kept = functions("06", "steps")["steps"], []

    def both(x: Any, W: Any) -> None:
        steps(x, W, read_each=False)
        with fl.receipt() as each:
            steps(x, W, read_each=True)
        kept.append(each)

    matrices = np.random.default_rng(0).standard_normal((2, 640, 640), dtype=np.float32)
    fl.estimate(both, matrices[0], matrices[1] / 25, like=CARD)
    return timeline_of(kept[0], count=50)


def tape() -> Scene:
    """Lesson 13: five lines, the tape that they make, and the way back."""
    w, b = fl.param(np.array([0.5, -1.0])), fl.param(np.array(0.1))
    x = np.array([1.0, 2.0])
    h = w * x
    s = h + b
    y = np.tanh(s)
    loss = np.sum(y)
    return tape_of(
        {"w, b = param(…), …": (w, b), "h = w * x": h, "s = h + b": s, "y = np.tanh(s)": y, "loss = np.sum(y)": loss}
    )


class Explored(NamedTuple):
    """One of the pages: its title, the lesson that it's from, what it shows, and a function that makes its picture."""

    title: str
    lesson: str
    about: str
    scene: Callable[[], Scene]


EXPLORE = {
    "race": Explored(
        "A race", "00-start-here",
        "One step of training: the CPU computes, one operation after the other. For the GPU, Python only gives orders, "
        "and giving an order takes longer than carrying it out. Move the time, or let it run. "
        "Then train more waves at once.",
        race,
    ),
    "timeline": Explored(
        "Which lines wait", "06-waiting-for-the-gpu",
        "A loop that reads a number in each of its 20 steps. The host asks the GPU for work and goes on, until it "
        "needs the number: then it waits. Choose which events you see, and how many.",
        timeline,
    ),
    "crossover": Explored(
        "When does a GPU win?", "07-cpu-against-gpu",
        "One step of training, for networks from 8 to 4,096 wide. Left of the crossing the CPU is faster, right of it "
        "the GPU. Choose a card, and what each step does besides computing.",
        lambda: crossover_explorer(cards=CARDS),
    ),
    "tape": Explored(
        "The tape", "13-under-the-hood",
        "What a gradient keeps of each line of a program: one entry for each result. Then it goes through the entries "
        "from the top down, and each hands its gradient on to what it was made from.",
        tape,
    ),
}  # fmt: skip


def whole_page(name: str, lessons: str = "", back: str = "") -> str:
    """One of the four as a page of its own. `lessons` is the address of the lessons' folder, `back` that of a list.

    Without them, the page has no links. Raises `ValueError` for a name that isn't in `EXPLORE`.

    >>> "<h1>The tape</h1>" in whole_page("tape")
    True
    """
    if name not in EXPLORE:
        raise ValueError(f"the pages are {', '.join(EXPLORE)}; there is none called {name!r}")
    title, lesson, about, scene = EXPLORE[name]
    links = [f'<a href="{html.escape(lessons)}/{lesson}.html">Lesson {lesson[:2]} explains it</a>'] * bool(lessons)
    links += [f'<a href="{html.escape(back)}">More to explore</a>'] * bool(back)
    after = f"<p>{' · '.join(links)}</p>" if links else ""
    return page(title, scene(), before=f"<p>{html.escape(about)}</p>", after=after, head={"description": about})


def write_pages(folder: str | Path, lessons: str = "", back: str = "") -> list[Path]:
    """Write the four pages into a folder, which is made if it isn't there, and return their paths.

    It takes some seconds. `lessons` and `back` are as in `whole_page`.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.html" for name in EXPLORE]
    for path in paths:
        write_whole(path, whole_page(path.stem, lessons, back).encode())
    return paths


def main(arguments: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser("python -m fluxlite_course.pages", description="Writes four pages to explore.")
    parser.add_argument("folder", help="where to")
    parser.add_argument("--lessons", default="", help="the address of the lessons' folder, for a link in each page")
    parser.add_argument("--back", default="", help="the address of a page that lists them")
    asked = parser.parse_args(arguments)
    for path in write_pages(asked.folder, asked.lessons, asked.back):
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
