"""Four pages to explore without a kernel: the crossover, the timeline, the race and the tape.

``python -m fluxlite_course.pages FOLDER`` writes them. Each is one file that needs no other. To put one into a page
of yours, write ``EXPLORE["race"].alive().html()`` there.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from fluxlite.writing import write_whole

from ..draw.alive import Alive, page
from ..lesson06.explorer import alive_crossover
from . import programs

CARDS = ("GTX 1650", "NVIDIA T4", "RTX 4090", "A100", "H200")


class Explored(NamedTuple):
    """One of the pages: its title, the lesson that it's from, what it shows, and a function that makes its picture."""

    title: str
    lesson: str
    about: str
    alive: Callable[[], Alive]


EXPLORE = {
    "race": Explored(
        "A race",
        "00-start-here",
        "One step of training: the CPU computes, one operation after the other. For the GPU, Python only gives orders, "
        "and giving an order takes longer than carrying it out. Move the time, or let it run.",
        programs.race,
    ),
    "timeline": Explored(
        "Which lines wait",
        "06-waiting-for-the-gpu",
        "A loop that reads a number in each of its 20 steps. The host asks the GPU for work and goes on, until it "
        "needs the number: then it waits. Choose which events you see, and how many.",
        programs.timeline,
    ),
    "crossover": Explored(
        "When does a GPU win?",
        "07-cpu-against-gpu",
        "One step of training, for networks from 8 to 4,096 wide. Left of the crossing the CPU is faster, right of it "
        "the GPU. Choose a card, and what each step does besides computing.",
        lambda: alive_crossover(cards=CARDS),
    ),
    "tape": Explored(
        "The tape",
        "13-under-the-hood",
        "What a gradient keeps of each line of a program: one entry for each result. Then it goes through the entries "
        "from the top down, and each hands its gradient on to what it was made from.",
        programs.tape,
    ),
}


def whole_page(name: str, lessons: str = "", back: str = "") -> str:
    """One of the four as a page of its own. `lessons` is the address of the lessons' folder, `back` that of a list.

    Without them, the page has no links. Raises `ValueError` for a name that isn't in `EXPLORE`.

    >>> "<h1>The tape</h1>" in whole_page("tape")
    True
    """
    if name not in EXPLORE:
        raise ValueError(f"the pages are {', '.join(EXPLORE)}; there is none called {name!r}")
    title, lesson, about, alive = EXPLORE[name]
    links = []
    if lessons:
        links.append(f'<a href="{html.escape(lessons)}/{lesson}.html">Lesson {lesson[:2]} explains it</a>')
    if back:
        links.append(f'<a href="{html.escape(back)}">More to explore</a>')
    after = f"<p>{' · '.join(links)}</p>" if links else ""
    return page(title, alive(), before=f"<p>{html.escape(about)}</p>", after=after, head={"description": about})


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
