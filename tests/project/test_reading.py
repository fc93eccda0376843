"""The page that leads through the library: its code runs, and what it names is there. And the links of our pages."""

import ast
import contextlib
import io
import json
import posixpath
import re
import sys
from pathlib import Path

import pytest

import fluxlite as fl

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "docs" / "site"), str(ROOT)]

from making.links import PAGES, slug  # noqa: E402

PAGE = ROOT / "docs" / "site" / "pages" / "read-in-an-evening.md"
TEXT = PAGE.read_text(encoding="utf-8")


def printed():
    """What each block of code prints, in order. They go on from one another."""
    found, names = [], {"__name__": "evening"}
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, f"{PAGE.name}, block {number}", "exec"), names)
        found.append(out.getvalue())
    return found


@pytest.mark.usefixtures("the_table_as_it_was")
def test_the_code_of_the_evening_runs_and_shows_what_its_about():
    fl.seed(0)
    with fl.pretend(), fl.simulate_gpu(False):  # as on a machine without a GPU
        _, tree, remembers, layers, devices, step = printed()
    assert "layers[0].weight" in tree and tree.endswith("\n3 6\n")
    assert remembers == "(6.0,)\n"
    assert "Line" in layers
    assert re.search(r"host to device +4 ", devices), devices
    losses = [float(loss) for loss in step.split()]
    assert losses[0] > losses[1] > losses[2]


def names_in(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_what_the_evening_names_is_where_it_says():
    gone = []
    for file, name in re.findall(r"`([\w/]+\.py)(?::(\w+))?`", TEXT):
        path = next((path for path in (ROOT / "fluxlite" / file, ROOT / file) if path.exists()), None)
        if file == "__init__.py":
            continue
        if path is None:
            gone.append(f"there is no {file}")
        elif name and name not in names_in(path):
            gone.append(f"{name} is not in {file}")
    assert gone == [], f"{PAGE.name} leads there: say where it is now"


# -- links -----------------------------------------------------------------------------------------------------------

OURS = [*PAGES, *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs/site/pages").rglob("*.md")))]

# Pages that nobody reads in the repository: what they lead to are pages of the site, under the site's names.
SITE_ONLY = ("docs/site/pages/index.md", "docs/site/pages/explore/index.md")


def anchors(path):
    """The anchors of a page or a lesson, as GitHub makes them of its headings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return {slug(heading) for heading in re.findall(r"^#+ (.*)", text, re.MULTILINE)}


def dead_links(source, text):
    """The links in a page that lead to no file or heading of the repository, but for pages that `make site` makes."""
    text = re.sub(r"^```.*?^```|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        file = ROOT / posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else ROOT / source
        if source in SITE_ONLY and path.endswith(".ipynb"):
            file = ROOT / "notebooks" / posixpath.basename(path)  # the site has the lessons in a folder of its own
        elif re.match(r"\w+:", target) or (source in SITE_ONLY and not path.startswith("../../../")):
            continue
        if source.startswith("docs/site/pages/") and path.startswith("api/"):  # the reference
            continue
        if not file.exists() or (anchor and file.suffix in (".md", ".ipynb") and slug(anchor) not in anchors(file)):
            yield target


@pytest.mark.parametrize("page", OURS)
def test_every_link_to_a_page_of_ours_leads_to_its_heading(page):
    dead = list(dead_links(page, (ROOT / page).read_text(encoding="utf-8")))
    assert dead == [], f"{page} has links that lead nowhere: say where it is now"


def test_planted_links_that_lead_nowhere_are_found():
    text = "[a](docs/gone.md), [b](docs/adding.md#a-card), [c](docs/adding.md#a-cart), [d](#here), `[e](x)`"
    assert list(dead_links("CONTRIBUTING.md", text)) == ["docs/gone.md", "docs/adding.md#a-cart", "#here"]
    text = "[a](../lessons/08-inside-a-gpu.ipynb#1--the-chip), [b](../lessons/08-inside-a-gpu.ipynb#1--the-ship)"
    assert list(dead_links("docs/site/pages/explore/index.md", text)) == [
        "../lessons/08-inside-a-gpu.ipynb#1--the-ship"
    ]
    # The others are read in the repository too, from the README on. There the site's names lead nowhere.
    text = "[a](../../../notebooks/SIMULATED.md), [b](simulated.md), [c](install.md#windows), [d](install.md#window)"
    assert list(dead_links("docs/site/pages/stable.md", text)) == ["simulated.md", "install.md#window"]
