"""Jupyter trusts what we ship, where `lab` handed it out, and nothing that anyone has changed."""

import json

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from fluxlite_course.kit import trust
from fluxlite_course.kit.copies import hand_out, learner_folder, renew
from fluxlite_course.kit.trust import sign_lessons

NAME = "03-how-a-model-learns.ipynb"


@pytest.fixture
def account(tmp_path, monkeypatch):
    """The folder of an account's Jupyter."""
    folder = tmp_path / "home" / "jupyter"
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(folder))
    return folder


def is_trusted(account, notebook):
    """What a Jupyter that starts now says about a notebook."""
    notary = NotebookNotary(data_dir=str(account))
    try:
        return notary.check_signature(nbformat.read(notebook, as_version=4))
    finally:
        notary.store.close()


def test_every_copy_is_trusted_as_it_is_handed_out_also_one_made_later(account, tmp_path):
    sign_lessons()
    hand_out(tmp_path)
    renew(tmp_path / NAME)
    found = sorted(tmp_path.glob("*.ipynb"))
    assert len(found) > 10 and all(is_trusted(account, copy) for copy in found)


def test_another_account_trusts_it_once_its_own_lab_has_started(account, tmp_path, monkeypatch):
    sign_lessons()
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(other))
    assert not is_trusted(other, learner_folder() / NAME)
    sign_lessons()
    assert is_trusted(other, learner_folder() / NAME)


BAD = {"output_type": "display_data", "data": {"text/html": "<script>bad()</script>"}, "metadata": {}}
CHANGES = {
    "text": lambda notebook: notebook["cells"][0].update(source="# mine"),
    "another output": lambda notebook: guess_in(notebook).update(outputs=[BAD]),
    "another text in an output": lambda notebook: guess_in(notebook)["outputs"][0].update(text="Run rm -r."),
    "an output of a cell that ran": lambda notebook: guess_in(notebook).update(outputs=[BAD], execution_count=1),
    "metadata": lambda notebook: notebook["metadata"].update(widgets={"state": {}}),
    "metadata of a cell": lambda notebook: guess_in(notebook)["metadata"].update(tags=["mine"]),
}


def guess_in(notebook):
    return next(cell for cell in notebook["cells"] if cell.get("outputs"))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_copy_that_was_changed_is_not_signed(account, tmp_path, change):
    hand_out(tmp_path)
    notebook = json.loads((tmp_path / NAME).read_text(encoding="utf-8"))
    change(notebook)
    (tmp_path / NAME).write_text(json.dumps(notebook), encoding="utf-8")
    sign_lessons()
    assert not is_trusted(account, tmp_path / NAME)
    assert is_trusted(account, tmp_path / "00-start-here.ipynb")


def test_what_lab_leaves_of_a_copy_with_another_output_is_trusted_only_if_it_is_ours_again(account, tmp_path):
    sign_lessons()
    hand_out(tmp_path)
    for ran in (1, None):
        notebook = json.loads((tmp_path / NAME).read_text(encoding="utf-8"))
        guess_in(notebook).update(outputs=[BAD], execution_count=ran)
        (tmp_path / NAME).write_text(json.dumps(notebook), encoding="utf-8")
        hand_out(tmp_path)
        assert is_trusted(account, tmp_path / NAME) == ("bad()" not in (tmp_path / NAME).read_text(encoding="utf-8"))
    assert (tmp_path / NAME).read_bytes() == (learner_folder() / NAME).read_bytes()


def test_it_is_done_once_and_again_for_another_version(account, tmp_path, monkeypatch):
    shipped = tmp_path / "shipped"
    hand_out(shipped)
    sign_lessons(shipped)
    done = []
    monkeypatch.setattr(trust, "_sign", lambda contents, place: done.append(place))
    sign_lessons(shipped)
    assert done == []
    (shipped / NAME).write_bytes((shipped / "00-start-here.ipynb").read_bytes())
    sign_lessons(shipped)
    assert done == [account]


@pytest.mark.parametrize("fails", ["no folder", "no database", "no SQLite"])
def test_where_nothing_can_be_signed_the_lab_starts_all_the_same(account, fails, monkeypatch, fill_the_disk):
    account.parent.mkdir()
    if fails == "no folder":
        account.touch()
    elif fails == "no database":
        monkeypatch.setattr("nbformat.sign.sqlite3.connect", lambda *_, **__: 1 / 0)
    else:
        monkeypatch.setattr("nbformat.sign.sqlite3", None)
    sign_lessons()
    assert not (account / "fluxlite-signed").exists()


def test_no_copy_needs_a_signature_to_become_trusted(tmp_path):
    """Jupyter signs what a learner saves if no output is left that it mistrusts: so half a lesson is enough."""
    hand_out(tmp_path)
    notary = NotebookNotary(data_dir=str(tmp_path), db_file=":memory:")
    assert all(notary.check_cells(nbformat.read(copy, as_version=4)) for copy in tmp_path.glob("*.ipynb"))
    notary.store.close()
