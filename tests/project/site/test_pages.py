"""What the site's pages are made of: lessons to read, docstrings, links. None of it needs Sphinx."""

import doctest
import importlib
import inspect
import sys
from pathlib import Path

import pytest

import fluxlite

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "site"), str(ROOT)]

from making import docstrings, lessons, links, reference  # noqa: E402

from tools import notebooks  # noqa: E402

LESSONS = [path.name for path in notebooks.lessons()]
MODULES = ["check", "docstrings", "house", "lessons", "links", "named", "pages", "reference", "sources"]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_the_makers_docstrings(module):
    assert doctest.testmod(importlib.import_module(f"making.{module}")).failed == 0
    assert len(MODULES) == len(list((ROOT / "site" / "making").glob("[a-z]*.py")))


# -- lessons ------------------------------------------------------------------------------------------------------


def cell(source, *outputs, type="code", id="c"):
    made = {"cell_type": type, "id": id, "metadata": {}, "source": source}
    return {**made, "outputs": list(outputs), "execution_count": None} if type == "code" else made


def printed(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


def for_readers(*cells):
    lesson = {"cells": [cell("# 03 · A title\nText", type="markdown"), *cells], "metadata": {}}
    return lessons.for_readers(lesson, "03-your-own-model.ipynb")["cells"][1:]


def unfolded(cells):
    """The cells outside of our folds."""
    shown, inside = [], False
    for each in cells:
        if each["source"].startswith('<details class="folded">'):
            inside = True
        if not inside:
            shown.append(each)
        if each["source"] == "</details>":
            inside = False
    assert not inside
    return shown


def test_a_solution_is_folded_with_its_output_and_its_check():
    solved = cell("x = 1\n### BEGIN SOLUTION\nx = 2\nx\n### END SOLUTION", printed("2"))
    starter, fold, solution, check, end = for_readers(solved, cell('check("03.1", x)', printed("right")))
    assert starter["source"] == f"x = 1\n{notebooks.STUB}" and starter["outputs"] == []
    assert fold["source"] == '<details class="folded"><summary>One solution to 03.1</summary>'
    assert solution["source"] == "x = 1\nx = 2\nx" and solution["outputs"] == [printed("2")]
    assert check["outputs"] == [printed("right")] and end["source"] == "</details>"


def test_a_guess_is_open_and_its_answer_is_folded():
    guess, shown, fold, answer, end = for_readers(
        cell('guess("03-A", "b")', printed("your guess is b")), cell("1 + 1", printed("2")),
        cell('answer("03-A")', printed("03-A  you guessed b, and it is b: so it is")),
    )  # fmt: skip
    assert guess["source"] == 'guess("03-A", ...)' and guess["outputs"] == []
    assert shown["outputs"] == [printed("2")]
    assert "The answer to 03-A" in fold["source"] and end["source"] == "</details>"
    assert answer["outputs"] == [printed("03-A  it is b: so it is")]
    assert answer["metadata"]["tags"] == ["remove-input"]  # the line says nothing to a reader


def test_a_widget_is_the_picture_that_it_shows_without_a_kernel():
    data = {lessons.WIDGET: {"model_id": "1"}, "text/html": "<p>", "text/plain": "p"}
    (shown,) = for_readers(cell("w", {"output_type": "display_data", "data": data, "metadata": {}}))
    assert shown["outputs"][0]["data"] == {"text/html": "<p>", "text/plain": "p"}


def test_a_solution_without_a_check_is_an_error():
    with pytest.raises(ValueError, match="03-your-own-model.ipynb has a solution without a check"):
        for_readers(cell("### BEGIN SOLUTION\nx = 2\n### END SOLUTION"))


@pytest.mark.parametrize("name", LESSONS)
def test_no_lesson_shows_a_solution_a_guess_or_an_answer_unasked(name):
    lesson = notebooks.read(notebooks.NOTEBOOKS / name)
    made = lessons.for_readers(lesson, name)["cells"]
    solutions = [notebooks.solution(found) for each in lesson["cells"] if each["cell_type"] == "code"
                 for found in notebooks.SOLUTION.finditer(each["source"])]  # fmt: skip
    shown = unfolded(made)
    code = "\n".join(each["source"] for each in shown if each["cell_type"] == "code")
    assert solutions and code.count(notebooks.STUB) == len(solutions)
    assert "SOLUTION" not in code and not notebooks.GUESS.search(code)
    assert 'answer("' not in code and 'check("' not in code
    everything = "\n".join(each["source"] for each in made)
    for solution in solutions:
        assert all(line.strip() in everything for line in solution.splitlines())
    # What the lesson prints is there, all of it but what guesses print.
    before = [each for each in lesson["cells"] if not notebooks.GUESS.search(each["source"])]
    assert _outputs(made) == _outputs(before) > 0


def _outputs(cells):
    return sum(len(each.get("outputs", ())) for each in cells)


# -- links --------------------------------------------------------------------------------------------------------


def test_links_lead_to_the_sites_pages():
    text = "[a](../README.md), [b](03-your-own-model.ipynb#What-functor-gives), [c](https://fluxml.ai), `[d](x.md)`"
    made = links.on_site(text, "notebooks/TEACHING.md", "teaching.md")
    assert made == (
        "[a](install.md), [b](lessons/03-your-own-model.ipynb#what-functor-gives), [c](https://fluxml.ai), `[d](x.md)`"
    )


def test_a_link_to_a_file_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match=r"README.md links to gone.md, and there is no gone.md"):
        links.on_site("[a](gone.md)", "README.md", "install.md")
    with pytest.raises(ValueError, match="tests/helpers/house.py has no page on the site"):
        links.on_site("[a](tests/helpers/house.py)", "README.md", "install.md")


# -- the reference ------------------------------------------------------------------------------------------------


def test_every_public_name_is_on_one_page():
    names = [name for module, name in reference.every_name() if module == "fluxlite"]
    modules = [name for name in fluxlite.__all__ if inspect.ismodule(getattr(fluxlite, name))]
    assert sorted(names + modules) == sorted(fluxlite.__all__)
    assert {f"fluxlite.{name}" for name in modules} <= set(reference.MODULES)


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("`gpu` moves `x`", ":py:obj:`gpu <fluxlite.gpu>` moves ``x``"),
        ("``code`` stays, `fl.gpu` links", "``code`` stays, :py:obj:`fl.gpu <fluxlite.gpu>` links"),
        ("two `x`s", "two ``x``\\ s"),
        ("a `state` that's an argument", "a ``state`` that's an argument"),
        (">>> f`x`", ">>> f`x`"),
    ],
)
def test_single_backticks_become_code_or_links(line, made):
    known = {"gpu": "fluxlite.gpu", "state": "fluxlite.state"}
    assert docstrings.as_rst([line], known, {"state"}) == [made]
