"""Reading hand-ins, from any folder in any zip file. What can't be read is named, and the others are read."""

import io
import json
import struct
import warnings
import zipfile

import pytest

from fluxlite_course.kit import progress
from fluxlite_course.kit.handins import Handin, by_learner, collect

RIGHT = {"03.1": "right"}


def packed(files, method=zipfile.ZIP_DEFLATED):
    """A zip file in memory, given its contents as pairs, or by name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive, warnings.catch_warnings(action="ignore"):  # of doubles
        for name, content in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, content)
    return file.getvalue()


def contents(name, checks=RIGHT, guesses=(), folder="", **about):
    """What `handin` packs, by name in the zip file."""
    learner = {"id": str(hash(name)), "edition": progress.EDITION}
    record = {"checks": checks, "guesses": dict(guesses), "learner": learner}
    return {
        f"{folder}03-your-own-model.ipynb": "{}",
        f"{folder}handin.json": json.dumps({"name": name, "time": "1", **about}),
        f"{folder}progress.json": json.dumps(record),
    }


def names(folder):
    """The hand-ins found, after checking that there are no remarks."""
    found, to_say = collect(folder)
    assert to_say == []
    return [one.name for one in found]


# -- where a hand-in may be -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "files",
    [
        contents("Ada", folder="handin-Ada/"),
        contents("Ada", folder="handin-Ada\\"),
        contents("Ada", folder="my-course/handin-Ada/") | {"__MACOSX/my-course/handin-Ada/._handin.json": "\x00"},
        {"my-course/handin-Ada.ZIP": packed(contents("Ada")), "my-course/notes.txt": "", "my-course/": ""},
        {"again.zip": packed({"handin-Ada/handin-Ada.zip": packed(contents("Ada"))})},
    ],
)
def test_a_hand_in_that_was_zipped_again_is_found(files, tmp_path):
    (tmp_path / "group 1").mkdir()
    (tmp_path / "group 1" / "Ada.ZIP").write_bytes(packed(files))
    assert names(tmp_path) == ["Ada"]


def test_a_hand_in_that_is_no_zip_file_is_named(tmp_path):
    """Safari unpacks what it downloads, and some learners pack in another way: nobody noticed what was missing."""
    (tmp_path / "handin-Ada").mkdir()
    for name, content in contents("Ada").items():
        (tmp_path / "handin-Ada" / name).write_text(content)
    (tmp_path / "notes.txt").write_text("bring chalk")
    (tmp_path / "photos.zip").write_bytes(packed({"photo.jpg": "x"}))
    (tmp_path / "link.zip").symlink_to(tmp_path / "photos.zip")
    assert collect(tmp_path) == ([], [
        "handin-Ada/handin.json: an unpacked hand-in isn't counted: zip its folder again, or keep the zip file",
        "photos.zip: there's no hand-in in it",
    ])  # fmt: skip


def test_the_zip_file_of_a_moodle_course(tmp_path):
    files = {
        "Ada Lovelace_12345_assignsubmission_file/handin-Ada.zip": packed(contents("Ada")),
        "Bob_12346_assignsubmission_file/again.zip": packed({"Bob/handin-Bob.zip": packed(contents("Bob"))}),
        "Eva_12348_assignsubmission_file_handin-Eva.zip": packed(contents("Eva")),
        "Eva_12348_assignsubmission_file_03-your-own-model.ipynb": "{}",
        **contents("Cem", folder="Cem_12347_assignsubmission_file/"),
        "Fay_3_assignsubmission_file/handin-Fay.zip": b"PK no zip",
    }
    (tmp_path / "all.zip").write_bytes(packed(files))
    found, (broken,) = collect(tmp_path)
    assert sorted(one.name for one in found) == ["Ada", "Bob", "Cem", "Eva"]
    assert broken.startswith("all.zip/Fay_3_assignsubmission_file/handin-Fay.zip: can't be read (")


def test_the_place_of_each_hand_in_is_named(tmp_path):
    (tmp_path / "all.zip").write_bytes(
        packed(contents("Ada", folder="a/") | {"b/Bob.zip": packed(contents("Bob"))} | contents("Cem"))
    )
    found, _ = collect(tmp_path)
    assert [one.files for one in found] == [("all.zip/a",), ("all.zip/b/Bob.zip",), ("all.zip",)]


# -- what counts ------------------------------------------------------------------------------------------------------


def test_only_what_a_lesson_writes_counts(tmp_path):
    checks = {"03.1": "right", "99.1": "right", "03.99": "right", "03.2": "perfect", "03.3": "stopped"}
    guesses = {"03-A": "a", "03-B": "z", "03-Z": "a"}
    (tmp_path / "Ada.zip").write_bytes(packed(contents("Ada", checks, guesses)))
    ((one,), []) = collect(tmp_path)
    assert one.checks == {"03.1": "right", "03.3": "stopped"} and one.guesses == {"03-A": "a"}


def test_a_hand_in_of_0_2_is_refused_by_name(tmp_path):
    old = json.dumps({"checks": {"03.1": "right"}, "learner": {"id": "x"}})
    (tmp_path / "Ada.zip").write_bytes(packed({**contents("Ada"), "progress.json": old}))
    words = "Ada.zip: can't be read (it's from fluxlite 0.2, whose lessons have other numbers); ask for it again"
    assert collect(tmp_path) == ([], [words])


def test_files_of_one_learner_are_combined_and_others_are_not():
    def one(name, time, checks, file, learner=""):
        return Handin(name, time, checks, {"03-A": time}, learner, (file,))

    taken = by_learner([
        one("Ada", "2", {"03.1": "not right", "03.2": "right"}, "b", "x"),
        one("ada", "1", {"03.1": "right"}, "a", "x"),
        one("Ada", "1", {"03.1": "right"}, "c", "y"),  # another Ada
        one("Bob", "1", {}, "e", "x"),  # two learners on one computer
        one("Cem", "2", {"04.1": "right"}, "f"),  # two sessions on Colab
        one("Cem", "1", {"03.1": "right"}, "g"),
    ])  # fmt: skip
    files = [(each.name, each.files) for each in taken]
    assert files == [("Ada", ("a", "b")), ("Ada", ("c",)), ("Bob", ("e",)), ("Cem", ("g", "f"))]
    assert taken[0].checks == {"03.1": "right", "03.2": "right"} and taken[0].guesses == {"03-A": "2"}
    assert taken[3].checks == {"03.1": "right", "04.1": "right"}


# -- made to do harm --------------------------------------------------------------------------------------------------

ZEROS = bytes(65_000_000)


def field(content, mark, offset, form, value):
    """A zip file with a number in it changed."""
    at = content.rindex(mark) + offset
    return content[:at] + struct.pack(form, value) + content[at + struct.calcsize(form) :]


HOSTILE = {
    "bomb": packed({"handin.json": ZEROS}),
    "lie": field(packed({"handin.json": ZEROS}), b"PK\x01\x02", 24, "<I", 900),  # it says that it's small
    "inside": packed({"a/x.zip": ZEROS}),
    "half": packed(contents("Half"))[:200],
    "locked": field(packed(contents("Locked")), b"PK\x01\x02", 8, "<H", 1),
    "json": packed({**contents("Json"), "progress.json": "[" * 200_000}),
    "list": packed({"handin.json": "[1]"}),
    "kinds": packed({**contents("Kinds"), "progress.json": '{"checks": [[[], 2]], "guesses": null, "learner": 3}'}),
    "flood": packed({f"{i}/handin.json": "{}" for i in range(5_000)}),
    "text": b"PK, but no zip file",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_was_made_to_do_harm_is_named_and_the_others_are_read(kind, tmp_path):
    (tmp_path / f"{kind}.zip").write_bytes(HOSTILE[kind])
    (tmp_path / "zoe.zip").write_bytes(packed(contents("Zoë\x1b[2J\n")))
    (zoe,), remarks = collect(tmp_path)
    assert zoe.name == "Zoë [2J" and remarks and len(remarks) <= 2_001
    assert all(line.startswith(f"{kind}.zip") and line.isprintable() for line in remarks)
