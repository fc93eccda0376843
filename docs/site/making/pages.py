"""The pages that Sphinx reads: those in `docs/site/pages`, the repository's own, the lessons, the reference."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
from pathlib import Path

import fluxlite
from tools import coming_from_page, listed, notebooks

from . import lessons, reference
from .house import every_file, with_sources
from .links import PAGES, ROOT, on_site, page_of, section

HERE = Path(__file__).resolve().parents[1]
# <!-- README.md: The first network --> in a page of ours stands for that section of that file.
_TAKEN = re.compile(r"^<!-- ([\w./]+\.md): (.+) -->$", re.MULTILINE)


def read(path: str) -> str:
    """A file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def filled(text: str, page: str) -> str:
    """A page of ours with what it takes from the repository's files."""

    def taken(match: re.Match[str]) -> str:
        file, what = match.groups()
        return on_site(part(read(file), what), file, page).strip()

    # On GitHub these links lead out of the folder of our pages, to a file of the repository.
    text = re.sub(r"\]\(\.\./\.\./\.\./[^)]+\)", lambda link: on_site(link[0], f"docs/site/pages/{page}", page), text)
    return _TAKEN.sub(taken, text)


def part(text: str, what: str) -> str:
    """A section of a page, or its *introduction*, which is what's above them.

    >>> part("# fluxlite\\n\\nWhat it is.\\n\\n## B", "introduction")
    '\\nWhat it is.\\n\\n'
    """
    above = re.split(r"^## ", text.partition("\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return above if what == "introduction" else section(text, what)


def own(folder: Path) -> None:
    """Copy `docs/site/pages`, each page with what it takes from the repository."""
    for path in sorted((HERE / "pages").rglob("*")):
        target = folder / path.relative_to(HERE / "pages")
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            page = target.relative_to(folder).as_posix()
            text = reference.with_names(filled(path.read_text(encoding="utf-8"), page))
            target.write_text(text, encoding="utf-8")
        elif path.is_file():
            shutil.copyfile(path, target)


def of_the_repository(folder: Path) -> None:
    """Copy the repository's pages that aren't in parts on others, and the picture."""
    for file, page in PAGES.items():
        if file not in ("README.md", "examples/README.md", "docs/house.md"):
            (folder / page).parent.mkdir(exist_ok=True)
            text = on_site(read(file), file, page)
            # A box to tick is for paper. On a page it would be a control without a name, for those who can't see it.
            (folder / page).write_text(text.replace("- [ ] ", "- ☐ "), encoding="utf-8")
    (folder / "docs").mkdir()
    shutil.copyfile(ROOT / "docs" / "race.gif", folder / "docs" / "race.gif")
    shutil.copytree(ROOT / "notebooks" / "learner", folder / "learner")
    (folder / "coming-from.md").write_text(coming_from_page.page(), encoding="utf-8")
    without = folder / "without.md"
    text = without.read_text(encoding="utf-8")
    cells = listed.on_page(listed.read_list())
    without.write_text(text.replace("<!-- cells that do otherwise -->", cells), encoding="utf-8")


def how_it_works(folder: Path) -> None:
    """The page for readers of the source: the house, and every file."""
    page = folder / "how-it-works.md"
    house = with_sources(on_site(read("docs/house.md").partition("\n")[2], "docs/house.md", page.name))
    text = page.read_text(encoding="utf-8").replace("<!-- the house -->", house)
    page.write_text(text.replace("<!-- every file -->", every_file()), encoding="utf-8")
    evening = folder / "read-in-an-evening.md"
    evening.write_text(with_sources(evening.read_text(encoding="utf-8")), encoding="utf-8")


# What a docstring says of a name elsewhere, as in "(Flux: ``update!``)".
_ELSEWHERE = re.compile(r"(Flux|Zygote|Functors|Optimisers\.jl|MLUtils|CUDA\.jl)[\w, ]*: ``([^`]+)``")


def from_flux(folder: Path) -> None:
    """The page for those who know Flux: which names differ, and which don't, as the docstrings say."""
    same, rows = [], []
    for name in fluxlite.__all__:
        found = _ELSEWHERE.search(inspect.getdoc(getattr(fluxlite, name)) or "")
        if found is None or inspect.ismodule(getattr(fluxlite, name)):
            continue
        library, theirs = found.groups()
        if theirs == name:
            same.append(f"`{name}`")
        else:
            rows.append(f"| `{theirs}` | {library} | `fl.{name}` |")
    page = folder / "from-flux.md"
    text = page.read_text(encoding="utf-8").replace("<!-- the same names -->", ", ".join(same) + ".")
    table = "\n".join(["| there | in | here |", "|---|---|---|", *rows])
    page.write_text(text.replace("<!-- names that differ -->", table), encoding="utf-8")


def examples(folder: Path) -> None:
    """A page for each example, and the list of them."""
    index, programs = read("examples/README.md"), sorted((ROOT / "examples").glob("*.py"))
    (folder / "examples").mkdir()
    ordered = sorted(programs, key=lambda path: index.index(f"]({path.name})"))
    names = "\n".join(path.stem for path in ordered)
    tree = f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    page = page_of("examples/README.md")
    (folder / page).write_text(on_site(index, "examples/README.md", page) + tree, encoding="utf-8")
    for path in programs:
        (folder / page_of(f"examples/{path.name}")).write_text(example(path.name, path.read_text(encoding="utf-8")))


def example(name: str, source: str) -> str:
    """An example's page: what it's for, and the program.

    >>> print(example("xor.py", '\\"\\"\\"XOR, by a network.\\"\\"\\"\\n\\nimport sys\\n'))
    # xor.py
    <BLANKLINE>
    XOR, by a network.
    <BLANKLINE>
    ```python
    import sys
    ```
    <BLANKLINE>
    Run it: `python examples/xor.py`. [All examples](index.md)
    <BLANKLINE>
    """
    tree = ast.parse(source)
    text = ast.get_docstring(tree) or ""
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
    run = f"Run it: `python examples/{name}`. [All examples](index.md)"
    return f"# {name}\n\n{text}\n\n```python\n{code}\n```\n\n{run}\n"


# Pages with a lesson's scene: the title, the lesson's file, the call whose scene it is, and what it shows.
EXPLORE = {
    "race": (
        "A race", "00-start-here", "race(",
        "One step of training: the CPU computes, one operation after the other. For the GPU, Python only gives orders, "
        "and giving an order takes longer than carrying it out. Move the time, or let it run.",
    ),
    "timeline": (
        "Which lines wait", "05-waiting-for-the-gpu", "lanes(each",
        "A loop that reads a number in each of its 20 steps. The host asks the GPU for work and goes on, until it "
        "needs the number: then it waits. Drag on the picture, and point at a box.",
    ),
    "crossover": (
        "When does a GPU win?", "06-cpu-against-gpu", "crossover_explorer(",
        "One step of training, for networks from 8 to 4,096 wide. Left of the crossing the CPU is faster, right of it "
        "the GPU. Choose what each step does besides computing.",
    ),
    "tape": (
        "The tape", "14-under-the-hood", "tape(f",
        "What a gradient keeps of a function: one entry for each operation. In the backward pass, it goes through the "
        "entries from last to first, and each hands its gradient to what it was made from.",
    ),
    "microscope": (
        "The microscope", "08-inside-a-gpu", "microscope(",
        "A kernel, line by line: the lanes of a warp, which of them sit out, and where in memory they go.",
    ),
    "busiest": (
        "Who's the busiest?", "15-several-machines", "busiest(",
        "A step of training on one card or several: the host gives orders, the cards compute, the network carries the "
        "gradients. One of them is the busiest, and the others wait for it. Turn the knobs.",
    ),
}  # fmt: skip


def explore(folder: Path) -> None:
    """A page for each scene of `EXPLORE`."""
    for name, (title, lesson, call, about) in EXPLORE.items():
        after = f"[Lesson {lesson[:2]}](../lessons/{lesson}.ipynb) explains it. [More to look at](index.md)"
        text = f"# {title}\n\n{about}\n\n~~~~{{raw}} html\n{scene(lesson, call)}\n~~~~\n\n{after}\n"
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def scene(lesson: str, call: str) -> str:
    """A scene as its lesson stores it. Raises `LookupError` if no cell of the lesson shows it."""
    for cell in notebooks.read(notebooks.NOTEBOOKS / f"{lesson}.ipynb")["cells"]:
        for output in cell.get("outputs", []):
            shown = output.get("data", {}).get("text/html", "")
            if call in cell["source"] and "fluxlite-packed" in shown:
                return shown
    raise LookupError(f"no cell of {lesson} shows the scene of {call}")


def write(folder: Path) -> None:
    """Write every page into `folder`, a new one."""
    folder.mkdir(parents=True)
    own(folder)
    of_the_repository(folder)
    how_it_works(folder)
    from_flux(folder)
    examples(folder)
    explore(folder / "explore")
    lessons.write_all(folder / "lessons")
    reference.write(folder / "api")
