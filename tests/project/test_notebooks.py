"""The notebooks as documents: nbval runs them, this reads them. And the README: its code runs, what it names exists."""

import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import fluxlite as fl
from tools import notebooks as tool

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted(page for folder in ("notebooks", "examples", "docs/site") for page in (ROOT / folder).rglob("*.md"))
NAME = re.compile(r"(?<![\w.])(?:fl|fluxlite)\.([^\W\d]\w*)(?:\.([^\W\d]\w*))?")


def cells(path):
    return nbformat.read(path, as_version=4).cells


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_as_run_from_top_to_bottom_without_errors(path):
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert not [output for cell in code for output in cell["outputs"] if output["output_type"] == "error"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_picture_has_an_alternative_text(path):
    for cell in cells(path):
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            assert "image/png" not in data, "a bare picture: show(figure, sentence) gives it a text"
            page = data.get("text/html", "")
            for tag in re.findall("<img [^>]*>|<svg [^>]*>", page):
                assert re.search('(?:alt|aria-label)="[^"]', tag), tag[:200]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_and_its_scenes_are_small_enough_to_carry_around(path):
    assert path.stat().st_size <= 400_000
    for cell in cells(path):
        for output in cell.get("outputs", []):
            page = output.get("data", {}).get("text/html", "")
            assert "fluxlite-packed" not in page or len(page) <= 60_000, cell["source"]


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


def test_the_example_prints_what_stands_below_it(capsys):
    ((example, printed),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
    with fl.pretend():  # as on a machine without a GPU
        exec(compile(example, "README.md", "exec"), {})
    said = capsys.readouterr()
    assert said.err + said.out == printed  # a terminal shows both


def test_the_readme_has_the_figures_of_the_pages_it_links():
    pages = ROOT / "docs" / "site" / "pages"
    table = (pages / "cupy-tests.md").read_text(encoding="utf-8")
    passed, share = re.search(r"\*\*all\*\* \| (\d+) \| \d+ \| ([\d.]+) %", table).groups()
    assert f"{int(passed):,} of [CuPy's own tests]" in README and f"{float(share):.0f} % of those that apply" in README
    (copies,) = re.findall(r"makes ([\d,]+) hidden copies", README)
    assert f"  {copies}  " in (pages / "your-cupy-tests.md").read_text(encoding="utf-8")


def test_every_file_that_it_links_to_is_there():
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if not target.startswith("http")]
    assert targets and [target for target in targets if not (ROOT / target).exists()] == []


def test_minutes_are_those_of_the_lessons():
    page = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| \[\d\d .*?\]\(([^)]+)\) \| (\d+) \|", page, re.MULTILINE))
    texts = {path.name: path.read_text(encoding="utf-8") for path in NOTEBOOKS if path.name != "words.ipynb"}
    assert listed == {name: re.search(r"(\d+) minutes", text)[1] for name, text in texts.items()}


class Runner:
    """Stands for nbclient: every cell prints that it ran."""

    def __init__(self, notebook, **settings):
        self.notebook = notebook

    def execute(self, env):
        for cell in self.notebook.cells:
            cell.outputs = [nbformat.v4.new_output("stream", text="ran\n")]


@pytest.mark.parametrize(("beginning", "texts"), [("", ["ran\n", "ran\n"]), ("show(", ["stored\n", "ran\n"])])
def test_what_a_cell_shows_can_be_stored_alone(beginning, texts, tmp_path, monkeypatch):
    monkeypatch.setattr("nbclient.NotebookClient", Runner)
    path = tmp_path / "99-a.ipynb"
    made = [nbformat.v4.new_code_cell(text) for text in ("measure()", "show(1)")]
    for cell in made:
        cell.outputs = [nbformat.v4.new_output("stream", text="stored\n")]
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    tool.run(path, beginning)
    assert [cell.outputs[0].text for cell in cells(path)] == texts
    with pytest.raises(ValueError, match=r"99-a.ipynb has no cell that begins with draw\("):
        tool.run(path, "draw(")


@pytest.mark.slow
def test_a_new_lesson_passes_its_tests_at_once(tmp_path):
    """``make lesson ARGS=99``, in a copy of the repository."""
    skipped = shutil.ignore_patterns(".*", "build", "__pycache__", "benchmarks")
    copy = shutil.copytree(ROOT, tmp_path / "copy", ignore=skipped)
    tests = ["test_lesson99.py", "test_lessons.py", "test_teaching.py", "../project/test_notebooks.py"]
    for command in (
        ["tools/lesson.py", "99", "A", "title"],
        ["-m", "pytest", "--nbval", "--nbval-current-env", "-q", "notebooks/99-a-title.ipynb"],
        ["-m", "pytest", "-p", "no:nbval", "-q", *(f"tests/course/{test}" for test in tests)],
    ):
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        ran = subprocess.run([sys.executable, *command], cwd=copy, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
