"""The notebooks as documents: nbval runs them, this reads them."""

import pkgutil
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted(page for folder in ("notebooks", "examples", "site/pages") for page in (ROOT / folder).rglob("*.md"))
NAME = re.compile(r"(?<![\w.])(?:fl|fluxlite)\.([^\W\d]\w*)(?:\.([^\W\d]\w*))?")


def cells(path):
    return nbformat.read(path, as_version=4).cells


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_as_run_from_top_to_bottom_without_errors(path):
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_picture_has_an_alternative_text_and_says_the_same_below(path):
    for cell in cells(path):
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            assert "image/png" not in data, "a bare picture: show(figure, sentence) gives it a text"
            page = data.get("text/html", "")
            for alternative in re.findall(r'<img alt="([^"]*)"', page):
                assert alternative and f">{alternative}</figcaption>" in page


def test_links_between_notebooks_lead_somewhere():
    for path in NOTEBOOKS:
        for cell in cells(path):
            assert ".ipynb#" not in cell["source"], "Notebook 7 leaves the heading away"
            for target in re.findall(r"\]\(([^)#]+\.ipynb)\)", cell["source"]):
                assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_every_name_of_fluxlite_that_a_page_mentions_is_there():
    texts = {path.name: "\n".join(cell["source"] for cell in cells(path)) for path in NOTEBOOKS}
    texts |= {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
    unknown = []
    for page, text in texts.items():
        for names in NAME.findall(text):
            try:
                pkgutil.resolve_name("fluxlite." + ".".join(filter(None, names)))
            except (AttributeError, ImportError):
                unknown.append((page, *names))
    assert unknown == []
