"""What a learner has written never disappears from their folder, whatever is updated and reset."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxlite_course.kit import copies
from fluxlite_course.kit.copies import fingerprint, hand_out, renew

NAME = "03-x.ipynb"


def notebook(*sources, version="1.0"):
    cells = [{"cell_type": "code", "source": [source], "outputs": []} for source in sources]
    made = {"cells": cells, "metadata": {}, "nbformat": 4}
    made["metadata"]["fluxlite"] = {"version": version, "sources": fingerprint(made), "lesson": "03"}
    return made


def write(path, content):
    path.write_text(json.dumps(content))


def sources(path):
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


@pytest.fixture
def folders(tmp_path):
    source, target = tmp_path / "source", tmp_path / "my-course"
    source.mkdir()
    write(source / NAME, notebook("start"))
    hand_out(target, source)
    return source, target


def written(target, text):
    path = target / NAME
    content = json.loads(path.read_text())
    content["cells"][0]["source"] = [text]
    content["cells"][0]["outputs"] = ["an output"]
    write(path, content)


def test_a_copy_is_made_where_there_is_none(folders):
    source, target = folders
    assert (target / NAME).read_bytes() == (source / NAME).read_bytes()
    assert hand_out(target, source) == []


def test_one_that_was_only_run_is_replaced_by_a_newer_version(folders):
    source, target = folders
    content = json.loads((target / NAME).read_text())
    content["cells"][0]["outputs"] = ["42"]
    write(target / NAME, content)
    write(source / NAME, notebook("new start", version="1.1"))
    assert hand_out(target, source) == [f"{NAME} is new, version 1.1; yours was as it was handed out."]
    assert sources(target / NAME) == ["new start"]


def test_one_with_work_in_it_stays_and_the_newer_lies_beside_it(folders):
    source, target = folders
    written(target, "my answer")
    assert hand_out(target, source) == []
    write(source / NAME, notebook("new start", version="1.1"))
    assert hand_out(target, source) == ["03-x.v1.1.ipynb is new. 03-x.ipynb has your work in it and stays as it is."]
    assert sources(target / NAME) == ["my answer"] and sources(target / "03-x.v1.1.ipynb") == ["new start"]
    assert hand_out(target, source) == []


HTML = {"output_type": "display_data", "data": {"text/html": "<b>a question</b>"}, "metadata": {}}


@pytest.mark.parametrize(("ran", "text"), [(None, "start"), (1, "start"), (None, "my answer")])
def test_what_stands_below_cells_that_nobody_ran_is_what_we_show_there_now(folders, ran, text):
    """0.3.0 showed HTML there, for which Jupyter trusted none of the copy."""
    source, target = folders
    content = json.loads((target / NAME).read_text())
    content["cells"][0] |= {"source": [text], "outputs": [HTML], "execution_count": ran}
    write(target / NAME, content)
    before = (target / NAME).read_bytes()
    assert hand_out(target, source) == []
    is_theirs = ran is not None or text != "start"
    assert (target / NAME).read_bytes() == (before if is_theirs else (source / NAME).read_bytes())


NO_CELLS = '{"metadata": {"fluxlite": {"sources": "x", "version": "0.9"}}}'


@pytest.mark.parametrize("content", ["[]", '{"metadata": {"fluxlite": 3}}', NO_CELLS])
def test_a_file_that_is_no_notebook_of_ours_stays(folders, content):
    source, target = folders
    (target / NAME).write_text(content)
    hand_out(target, source)
    assert (target / NAME).read_text() == content and sources(target / "03-x.v1.0.ipynb") == ["start"]


TORN = ["no notebook", '{"cells": [{"source": ["my answer', "\0" * 900, "[" * 100_000]


@pytest.mark.parametrize("content", TORN, ids=["text", "half", "zeros", "deep"])
def test_a_torn_notebook_is_replaced_and_what_is_left_of_it_is_kept(folders, content):
    source, target = folders
    for number in (1, 2):
        (target / NAME).write_text(content + " " * number)
        (line,) = hand_out(target, source)
        assert line == (
            f"03-x.ipynb can't be read any more. It's fresh now, and the old one is kept as 03-x.torn-{number}.ipynb."
        )
        assert (target / f"03-x.torn-{number}.ipynb").read_text() == content + " " * number
    assert sources(target / NAME) == ["start"] and hand_out(target, source) == []


def test_what_is_no_file_stays_and_keeps_no_other_lesson_back(folders):
    source, target = folders
    write(source / "00.ipynb", notebook("a"))
    write(source / "02.ipynb", notebook("a"))
    (target / "00.ipynb").mkdir(parents=True)
    (target / "01.ipynb").symlink_to(target / "nowhere")
    write(source / "01.ipynb", notebook("a"))
    said = hand_out(target, source)
    assert [line.partition(",")[0] for line in said] == ["00.ipynb is a folder", "01.ipynb is a folder"]
    assert (target / "02.ipynb").exists() and not (target / "nowhere").exists()


@pytest.mark.parametrize("do", [hand_out, lambda folder, source: renew(folder / NAME, source)], ids=["lab", "reset"])
def test_a_full_disk_tears_no_notebook(folders, do, fill_the_disk):
    source, target = folders
    (target / NAME).unlink()
    fill_the_disk()
    with pytest.raises(OSError, match="No space left"):
        do(target, source)
    assert list(target.iterdir()) == []


def test_reset_keeps_what_was_there_under_another_name(folders):
    source, target = folders
    written(target, "first try")
    assert renew(target / NAME, source).name == "03-x.mine-1.ipynb"
    written(target, "second try")
    assert renew(target / NAME, source).name == "03-x.mine-2.ipynb"
    found = {path.name: sources(path) for path in target.iterdir()}
    assert found == {
        NAME: ["start"], "03-x.mine-1.ipynb": ["first try"], "03-x.mine-2.ipynb": ["second try"]
    }  # fmt: skip


steps = st.lists(st.sampled_from(["edit", "update", "reset", "lab", "edit the newer"]), max_size=12)


def story(folder, steps):
    """Run these steps; return the texts that a learner saved, and everything in the folder at the end."""
    source, target = folder / "source", folder / "my-course"
    source.mkdir()
    write(source / NAME, notebook("start"))
    hand_out(target, source)
    saved, number = set(), 0
    for number, step in enumerate(steps):
        if step in ("edit", "edit the newer"):
            found = sorted(target.glob("*.ipynb"), key=lambda path: (".v" in path.name, path.name))
            path = found[-1] if step == "edit the newer" else target / NAME
            content = json.loads(path.read_text())
            # A cell of the learner's own, below: earlier cells stay theirs when they go on.
            content["cells"].append({"cell_type": "code", "source": [f"mine {number}"], "outputs": []})
            write(path, content)
            saved.add(f"mine {number}")
        elif step == "update":
            write(source / NAME, notebook(f"start {number}", version=f"1.{number}"))
            hand_out(target, source)
        elif step == "reset":
            copies.renew(target / NAME, source)
        else:
            hand_out(target, source)
    return saved, {text for path in target.iterdir() for text in sources(path)}


@given(steps)
def test_no_text_that_a_learner_saved_ever_disappears(steps):
    with tempfile.TemporaryDirectory() as folder:
        saved, there = story(Path(folder), steps)
    assert saved <= there
