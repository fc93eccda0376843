"""What the site's pages are made of: lessons to read, docstrings, links. None of it needs Sphinx."""

import doctest
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from inside import coming_from

import fluxlite

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "docs" / "site"), str(ROOT)]

from making import docstrings, lessons, links, reference  # noqa: E402

from tools import coming_from_page, notebooks  # noqa: E402

LESSONS = [path.name for path in notebooks.lessons()]
MODULES = [path.stem for path in (ROOT / "docs" / "site" / "making").glob("[a-z]*.py")]


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_the_makers_docstrings(module):
    assert doctest.testmod(importlib.import_module(f"making.{module}")).failed == 0


# -- lessons ------------------------------------------------------------------------------------------------------


def cell(source, *outputs, type="code", id="c"):
    made = {"cell_type": type, "id": id, "metadata": {}, "source": source}
    return {**made, "outputs": list(outputs), "execution_count": None} if type == "code" else made


def printed(text):
    return {"output_type": "stream", "name": "stdout", "text": text}


def for_readers(*cells):
    lesson = {"cells": [cell("# 02 · A title\nText", type="markdown"), *cells], "metadata": {}}
    return lessons.for_readers(lesson, "02-models-that-move.ipynb")["cells"][1:]


def test_a_solution_is_folded_with_its_output_and_its_check():
    solved = cell("x = 1\n### BEGIN SOLUTION\nx = 2\nx\n### END SOLUTION", printed("2"))
    starter, fold, solution, check, end = for_readers(solved, cell('check("02.2", x)', printed("right")))
    assert starter["source"] == f"x = 1\n{notebooks.STUB}" and starter["outputs"] == []
    assert fold["source"] == '<details class="folded"><summary>One solution to 02.2</summary>'
    assert solution["source"] == "x = 1\nx = 2\nx" and solution["outputs"] == [printed("2")]
    assert check["outputs"] == [printed("right")] and end["source"] == "</details>"


def test_a_solution_without_a_check_is_an_error():
    with pytest.raises(ValueError, match="02-models-that-move.ipynb has a solution without a check"):
        for_readers(cell("### BEGIN SOLUTION\nx = 2\n### END SOLUTION"))


@pytest.mark.parametrize("name", LESSONS)
def test_no_lesson_shows_a_solution_a_guess_or_an_answer_unasked(name):
    lesson = notebooks.read(notebooks.NOTEBOOKS / name)
    made = lessons.for_readers(lesson, name)["cells"]
    solutions = [notebooks.solution(found) for each in lesson["cells"] if each["cell_type"] == "code"
                 for found in notebooks.SOLUTION.finditer(each["source"])]  # fmt: skip
    page = "\n".join(each["source"] if each["cell_type"] == "markdown" else f"```{each['source']}```" for each in made)
    shown = re.sub(r"<details class=\"folded\">.*?\n</details>", "", page, flags=re.DOTALL)
    code = "\n".join(re.findall("```(.*?)```", shown, re.DOTALL))
    alone = sum(notebooks.is_alone(lesson["cells"], at) for at in range(len(lesson["cells"])))
    assert solutions and code.count(notebooks.STUB) == len(solutions) - alone
    assert "SOLUTION" not in code
    assert 'answer("' not in code and 'check("' not in code
    assert all(line.strip() in page for solution in solutions for line in solution.splitlines())
    count, expected = (sum(len(each.get("outputs", ())) for each in cells) for cells in (made, lesson["cells"]))
    assert count == expected > 0


# -- links --------------------------------------------------------------------------------------------------------


def test_links_lead_to_the_sites_pages():
    text = "[a](../README.md), [b](02-models-that-move.ipynb#What-functor-gives), [c](https://fluxml.ai), `[d](x.md)`"
    made = links.on_site(text, "notebooks/TEACHING.md", "teaching.md")
    assert made == (
        "[a](index.md), [b](lessons/02-models-that-move.ipynb#what-functor-gives), [c](https://fluxml.ai), `[d](x.md)`"
    )


def test_a_link_to_a_file_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match=r"README.md links to gone.md, and there is no gone.md"):
        links.on_site("[a](gone.md)", "README.md", "index.md")


# -- names of other libraries ---------------------------------------------------------------------------------------


def test_the_page_for_users_of_other_libraries_has_a_whole_row_for_every_entry():
    """Each row has two cells; code is closed; and no underscores are left for Markdown to make bold."""
    rows = [line for line in coming_from_page.page().splitlines() if line.startswith("| `")]
    tables = [table for _, table, _ in coming_from_page.SECTIONS]
    assert tables == [table for name, table in vars(coming_from).items() if name.isupper()]
    assert len(rows) == sum(map(len, tables))
    assert "| `model.cuda` | Write `model = fl.gpu(model)`, which gives a copy on the GPU |" in rows
    for row in rows:
        assert len(re.split(r"(?<!\\)\|", row)) == 4, row
        plain = re.sub(r"`[^`]+`", "", row)
        assert "`" not in plain and "__" not in plain and "(N" not in plain and "fl." not in plain, row
        for code in re.findall(r"`([^`]+)`", row):
            assert all(code.count(a) == code.count(b) for a, b in ("()", "[]")), row
            assert not code.endswith((",", ";", ":", ".", " ")), row


# -- the reference ------------------------------------------------------------------------------------------------


def test_each_page_of_the_reference_has_a_file_of_its_own():
    files = [page.file for page in reference.pages()]
    assert len(files) == len(set(files)), "one page is written over another"


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
