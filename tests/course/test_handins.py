"""Reading hand-ins, from any folder in any zip file. What can't be read is named, and the others are read."""

import io
import json
import shutil
import struct
import warnings
import zipfile
from pathlib import Path

import pytest
from peaks import peak_of

from fluxlite_course.kit import editions, exercises, progress
from fluxlite_course.kit.classroom import handin
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
    (tmp_path / "Bob.rar").write_bytes(b"Rar!")
    (tmp_path / "again.zip").write_bytes(packed({"Cem/x.zip": packed({"photo.jpg": "x"}), "Dua/dua.7z": "7z"}))
    (tmp_path / "by hand.zip").write_bytes(packed({"Eva/progress.json": "{}", "Eva/03-your-own-model.ipynb": "{}"}))
    (tmp_path / "hidden.zip").write_bytes(packed(contents("Fay", folder="./.Fay/")))
    assert collect(tmp_path) == ([], [
        "Bob.rar: only zip files are read: ask for the one that handin made",
        "again.zip/Cem/x.zip: there's no hand-in in it",
        "again.zip/Dua/dua.7z: only zip files are read: ask for the one that handin made",
        "by hand.zip/Eva/progress.json: it isn't counted without the handin.json that handin packs with it",
        "hidden.zip/./.Fay/handin.json: what's hidden, with a dot before its name, isn't counted",
        "link.zip: can't be read (it's a link, or not an ordinary file); ask for it again",
        "photos.zip: there's no hand-in in it",
        "handin-Ada/handin.json: an unpacked hand-in isn't counted: zip its folder again, or keep the zip file",
    ])  # fmt: skip


def test_what_lies_beside_a_hand_in_needs_no_words(tmp_path):
    """A learner who zips the whole folder packs more than handin does."""
    beside = {"my-course/data/digits.zip": packed({"digits.csv": "1"}), "my-course/data/story.txt.gz": "x"}
    own = {"my-course/progress.json": "{}", "my-course/handin-Ada.zip": packed(contents("Ada"))}
    (tmp_path / "Ada.zip").write_bytes(packed(own | beside))
    (tmp_path / "Bob.zip").write_bytes(packed(contents("Bob", folder="./my-course/") | beside))
    assert names(tmp_path) == ["Ada", "Bob"]


def test_beside_the_hand_ins_of_others_it_does(tmp_path):
    """Canvas, and Moodle without folders, put the files of all learners side by side."""
    files = {
        "lovelaceada_LATE_1_2_handin-Ada.zip": packed(contents("Ada")),
        "bob_3_4_handin-Bob.7z": "7z",
        "cem_5_6_handin-Cem.zip.crdownload": "half of it",
        "dua_7_8_photos.zip": packed({"photo.jpg": "x"}),
        "eva_9_10_handin-Eva.zip": packed(contents("Eva")),
        "Fay_11_assignsubmission_file_essay.odt": "",
    }
    (tmp_path / "all.zip").write_bytes(packed(files))
    (tmp_path / "course.zip").write_bytes(packed({f"course/{name}": content for name, content in files.items()}))
    found, remarks = collect(tmp_path)
    assert [one.name for one in found] == ["Ada", "Eva"] * 2
    for place in ("all.zip", "course.zip/course"):
        assert [one for one in remarks if one.startswith(place)] == [
            f"{place}/dua_7_8_photos.zip: there's no hand-in in it",
            f"{place}/bob_3_4_handin-Bob.7z: only zip files are read: ask for the one that handin made",
            f"{place}/cem_5_6_handin-Cem.zip.crdownload: only zip files are read: ask for the one that handin made",
            f"{place}/Fay_11: there's no hand-in in it",
        ]


def test_what_was_unpacked_is_looked_at_as_well(tmp_path):
    for name, content in {
        "Ada_1_assignsubmission_file_/handin-Ada.zip": packed(contents("Ada")),
        "Ada_1_assignsubmission_file_/progress.json": b"{}",
        "Bob_2_assignsubmission_file_/essay.odt": b"",
        "Cem_3_assignsubmission_file_/progress.json": b"{}",
        "Dua_4_assignsubmission_file_/handin-Dua.zip.txt": b"",
        "handin-list.csv": b"",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    found, remarks = collect(tmp_path)
    assert [one.name for one in found] == ["Ada"] and remarks == [
        "Bob_2: there's no hand-in in it",
        "Cem_3_assignsubmission_file_/progress.json: "
        "it isn't counted without the handin.json that handin packs with it",
        "Dua_4_assignsubmission_file_/handin-Dua.zip.txt: only zip files are read: ask for the one that handin made",
    ]


NO_HAND_IN = "only zip files are read: ask for the one that handin made"


def test_a_notebook_or_a_picture_that_was_handed_in_instead_is_named(tmp_path):
    """Nobody noticed that Dora was missing: she had handed in her notebook, and the class had one learner fewer."""
    for name, content in {
        "Ada.zip": packed(contents("Ada")),
        "dora.IPYNB": b"{}",
        "eva.docx": b"",
        "class.csv": b"",
        ".ipynb_checkpoints/dora.ipynb": b"{}",
        "Fay/b/01.ipynb": b"{}",
        "Fay/b/02.ipynb": b"{}",
        "Gil/handin-Gil.zip": packed(contents("Gil")),
        "Gil/01.ipynb": b"{}",
        "Gil/pictures/1.png": b"",
        "Hal_1_assignsubmission_file_/hal.ipynb": b"{}",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(content)
    found, remarks = collect(tmp_path)
    assert [one.name for one in found] == ["Ada", "Gil"] and remarks == [
        "Hal_1: there's no hand-in in it",
        f"dora.IPYNB: {NO_HAND_IN}",
        f"eva.docx: {NO_HAND_IN}",
        f"Fay/b/01.ipynb: {NO_HAND_IN}",
    ]


@pytest.mark.parametrize("folder", ["", "course/"])
def test_so_is_one_among_the_files_of_a_class(folder, tmp_path):
    files = {
        "ada_1_handin-Ada.zip": packed(contents("Ada")),
        "bob_2_handin-Bob.zip": packed(contents("Bob")),
        "dora_3_00-start-here.ipynb": "{}",
        "eva_4_photo.JPG": "",
        "Fay/01.ipynb": "{}",
        "Fay/02.ipynb": "{}",
        "Gil/handin-Gil.zip": packed(contents("Gil") | {"pictures/1.png": ""}),
        "Gil/01.ipynb": "{}",
        ".ipynb_checkpoints/dora.ipynb": "{}",
    }
    (tmp_path / "all.zip").write_bytes(packed({f"{folder}{name}": content for name, content in files.items()}))
    found, remarks = collect(tmp_path)
    assert [one.name for one in found] == ["Ada", "Bob", "Gil"] and remarks == [
        f"all.zip/{folder}dora_3_00-start-here.ipynb: {NO_HAND_IN}",
        f"all.zip/{folder}eva_4_photo.JPG: {NO_HAND_IN}",
        f"all.zip/{folder}Fay/01.ipynb: {NO_HAND_IN}",
    ]


def test_a_learners_own_folder_may_be_looked_at(tmp_path):
    """It has notebooks, and the hand-in that was made of them."""
    for name, content in contents("Ada").items():
        (tmp_path / name).write_text(content)
    (tmp_path / "handin.json").unlink()
    (tmp_path / "handin-Ada.zip").write_bytes(packed(contents("Ada")))
    assert names(tmp_path) == ["Ada"]


def test_folders_that_lie_too_deep_are_named(tmp_path):
    deep = tmp_path / "/".join(["a"] * 40)
    deep.mkdir(parents=True)
    (deep / "Ada.zip").write_bytes(packed(contents("Ada")))
    found, (remark,) = collect(tmp_path)
    assert not found and "at most 30 may lie in each other" in remark


def test_the_zip_file_of_a_moodle_course(tmp_path):
    files = {
        "Ada Lovelace_12345_assignsubmission_file/handin-Ada.zip": packed(contents("Ada")),
        "Bob_12346_assignsubmission_file/again.zip": packed({"Bob/handin-Bob.zip": packed(contents("Bob"))}),
        "Eva_12348_assignsubmission_file_handin-Eva.zip": packed(contents("Eva")),
        "Eva_12348_assignsubmission_file_03-your-own-model.ipynb": "{}",
        **contents("Cem", folder="Cem_12347_assignsubmission_file/"),
        "Fay_3_assignsubmission_file/handin-Fay.zip": b"PK no zip",
        "Gil_4_assignsubmission_file/essay.odt": "",
    }
    (tmp_path / "all.zip").write_bytes(packed(files))
    found, (broken, missing) = collect(tmp_path)
    assert missing == "all.zip/Gil_4: there's no hand-in in it"
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
    (one,), (remark,) = collect(tmp_path)
    assert remark == "Ada.zip: no lesson writes what it has for 03-B, 03-Z, 03.2, 03.99, 99.1; that isn't counted"
    assert one.checks == {"03.1": "right", "03.3": "stopped"} and one.guesses == {"03-A": "a"}


# Each was packed by that version's own `handin`; what's right, or was tried, and what's guessed.
PACKED_BY = {
    "0.2": ({"01.3": "right", "02.2": "right", "04.2": "stopped", "08.3": "not right"}, {}),
    "0.3": ({"00.1": "right", "01.3": "right", "02.2": "right", "04.2": "stopped", "08.3": "not right"},
            {"00-A": "a", "03-A": "c"}),
}  # fmt: skip


@pytest.mark.parametrize("version", PACKED_BY)
def test_what_another_version_packed_is_read(version, tmp_path):
    shutil.copy(Path(__file__).parent / "hand_ins" / f"{version}.zip", tmp_path)
    (one,), remarks = collect(tmp_path)
    assert (one.checks, one.guesses) == PACKED_BY[version] and one.name == "Ada"
    lost = "what it has for exercises that are still there is counted, and 00-A, 00.1, 02.4, 03-A aren't"
    assert remarks == ([f"0.2.zip: it's from fluxlite 0.2; {lost}"] if version == "0.2" else [])


@pytest.mark.parametrize(("checks", "lost"), [(["02.4"], "02.4 isn't"), (["02.4", "99.1"], "02.4, 99.1 aren't")])
def test_what_of_0_2_does_not_count_is_named(checks, lost, tmp_path):
    record = {"checks": dict.fromkeys(["01.1", *checks], "right"), "guesses": {}, "learner": {"id": "1"}}
    files = contents("Ada") | {"progress.json": json.dumps(record)}
    (tmp_path / "Ada.zip").write_bytes(packed(files))
    (one,), (remark,) = collect(tmp_path)
    assert one.checks == {"01.1": "right"} and remark.endswith(f"is counted, and {lost}")


def test_what_this_version_packs_is_read(own_progress, tmp_path):
    checks, guesses = PACKED_BY["0.3"]
    for part, words in (("checks", checks), ("guesses", guesses)):
        for id, word in words.items():
            progress.keep(part, id, word)
    handin("Ada", tmp_path)
    (one,), remarks = collect(tmp_path)
    assert (one.checks, one.guesses, remarks) == (checks, guesses, [])


def test_each_exercise_of_0_2_is_at_most_one_of_ours():
    ours = {id for number in exercises.folders() for id in exercises.in_lesson(number)}
    assert set(editions.NOW.values()) <= ours and len(set(editions.NOW.values())) == len(editions.NOW)


@pytest.mark.parametrize("record", [{"checks": 3}, {"guesses": []}, {"checks": {"01.1": ["right"]}}])
def test_a_record_of_0_2_that_is_none_is_named(record, tmp_path):
    old = json.dumps(record | {"learner": {"id": "x"}})
    (tmp_path / "Ada.zip").write_bytes(packed({**contents("Ada"), "progress.json": old}))
    found, remarks = collect(tmp_path)
    assert remarks and not any(one.checks for one in found)


def test_files_of_one_learner_are_combined_and_others_are_not():
    def one(name, time, checks, file, learner=""):
        return Handin(name, time, checks, {"03-A": time}, learner, (file,))

    taken = by_learner([
        one("Ada", "2", {"03.1": "not right", "03.2": "right"}, "b", "x"),
        one("ada", "1", {"03.1": "right"}, "a", "x"),
        one("Ada", "1", {"03.1": "right"}, "c", "y"),  # another Ada
        one("Bob", "1", {}, "e", "x"),  # two learners on one computer
        one("Zoe\u0308", "1", {}, "h"),  # one computer writes it as two letters, another as one
        one("ZO\u00cb", "2", {}, "i"),
        one("Cem", "2", {"04.1": "right"}, "f"),  # two sessions on Colab
        one("Cem", "1", {"03.1": "right"}, "g"),
    ])  # fmt: skip
    files = [(each.name, each.files) for each in taken]
    assert files == [
        ("Ada", ("a", "b")),
        ("Ada", ("c",)),
        ("Bob", ("e",)),
        ("Cem", ("g", "f")),
        ("ZO\u00cb", ("h", "i")),
    ]
    assert taken[0].checks == {"03.1": "right", "03.2": "right"} and taken[0].guesses == {"03-A": "2"}
    assert taken[3].checks == {"03.1": "right", "04.1": "right"}


# -- made to do harm --------------------------------------------------------------------------------------------------

ZEROS = bytes(8_000_000)


def field(content, mark, offset, form, value):
    """A zip file with a number in it changed."""
    at = content.rindex(mark) + offset
    return content[:at] + struct.pack(form, value) + content[at + struct.calcsize(form) :]


def listed_again(content, times):
    """A zip file whose list has its first entry many times."""
    at = content.index(b"PK\1\2")
    (length,) = struct.unpack_from("<H", content, at + 28)
    entries = content[at : at + 46 + length] * times
    return content[:at] + entries + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, times, times, len(entries), at, 0)


def nested(deep):
    content = packed(contents("Deep"))
    for _ in range(deep):
        content = packed({"a.zip": content}, zipfile.ZIP_STORED)
    return content


def in_progress(text):
    return packed({**contents("Json"), "progress.json": text}, zipfile.ZIP_STORED)


LOCAL, ENTRY, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
ONE = packed(contents("One"))
# What it is, and the words, with figures where there's a bound, that name it.
HOSTILE = {
    "bomb": (packed({"handin.json": ZEROS}), "bytes are unpacked"),
    "lie": (field(packed({"handin.json": ZEROS}), ENTRY, 24, "<I", 900), "bytes are unpacked"),
    "bzip2": (packed({"handin.json": ZEROS}, zipfile.ZIP_BZIP2), "packed with method 12"),
    "lzma": (packed({"handin.json": ZEROS}, zipfile.ZIP_LZMA), "packed with method 14"),
    "inside": (packed({"a/x.zip": ZEROS}), "inside.zip/a/x.zip: can't be read (it's too large"),
    "deep": (nested(5), "deep.zip/a.zip/a.zip/a.zip: at most 2 zip files"),
    "tiny": (packed({"a.zip": packed({f"{i}": "" for i in range(4_000)}, 0)}), "members, too many for its size"),
    "again": (listed_again(packed({"handin.json": "{}"}), 500), "lies over another member"),
    "half": (ONE[:200], "its end is missing"),
    "cut": (ONE[:-9], "its end is missing"),
    "more": (ONE + b"more", "it has 4 bytes after its end"),
    "locked": (field(ONE, ENTRY, 8, "<H", 1), "locked with a password"),
    "size": (field(ONE, ENTRY, 24, "<I", 900), "its zip file says 900"),
    "packed": (field(ONE, ENTRY, 20, "<I", 9_000), "lies over another member"),
    "place": (field(ONE, ENTRY, 42, "<I", 2**32 - 1), "isn't where the list of members says"),
    "64": (field(field(ONE, ENTRY, 42, "<I", 2**32 - 1), ENTRY, 30, "<H", 9), "list of members is damaged"),
    "name": (field(ONE, LOCAL, 30, "<H", 0), "another at its own place"),
    "many": (field(ONE, END, 10, "<H", 9), "its end says 9"),
    "end": (field(ONE, END, 12, "<I", 2**32 - 2), ""),
    "checksum": (field(ONE, ENTRY, 16, "<I", 1), "its checksum"),
    "double": (packed([*contents("A").items(), ("handin.json", "{}")]), "2 handin.json and 1 progress.json"),
    "json": (in_progress("[" * 900_000), "900,000 lists and objects"),
    "number": (in_progress('{"checks": ' + "9" * 900_000 + "}"), "4300 digits"),
    "list": (packed({"handin.json": "[1]"}), "isn't what handin writes"),
    "kinds": (in_progress('{"checks": [[[], 2]], "guesses": null, "learner": 3}'), "isn't a record of progress"),
    "text": (b"PK, but no zip file", "it isn't a zip file"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_was_made_to_do_harm_is_named_and_the_others_are_read(kind, tmp_path):
    content, words = HOSTILE[kind]
    (tmp_path / f"{kind}.zip").write_bytes(content)
    (tmp_path / "zoe.zip").write_bytes(packed(contents("Zoë\x1b[2J\n")))
    found, remarks = collect(tmp_path)
    assert found[-1].name == "Zoë [2J" and peak_of(lambda: collect(tmp_path)) < 5_000_000
    assert any(words in line for line in remarks) or not words
    assert all(line.startswith(f"{kind}.zip") and line.isprintable() for line in remarks)


@pytest.mark.parametrize("way", ["zip files", "folders"])
@pytest.mark.parametrize("place", ["content", "list"])
def test_one_wrong_byte_in_a_class_costs_no_more_than_one_learner(way, place, tmp_path):
    """And never without a word. Each byte of Bob's part is changed, in turn."""
    files = {}
    for name in ("Ada", "Bob", "Cem"):
        files |= (
            {f"{name}/{name}.zip": packed(contents(name))} if way == "zip files" else contents(name, folder=f"{name}/")
        )
    good = packed(files, zipfile.ZIP_STORED)
    mark = LOCAL if place == "content" else ENTRY
    begins = [at for at in range(len(good)) if good[at : at + 4] == mark]
    named = 30 if place == "content" else 46
    begin, end = (next(at for at in begins if good[at + named :].startswith(name)) for name in (b"Bob/", b"Cem/"))
    for at in range(begin, end, 3):
        content = bytearray(good)
        content[at] ^= 0x80
        (tmp_path / "class.zip").write_bytes(content)
        found, remarks = collect(tmp_path)
        read = {one.name for one in found}
        assert read >= {"Ada", "Cem"}
        assert "Bob" in read or remarks


def test_a_class_of_any_size_is_read_whatever_one_of_them_is(tmp_path):
    files = {}
    for i in range(1_200):
        files |= contents(f"L{i}", folder=f"L{i}/")
    bombs = {"L7.zip": packed({"handin.json": ZEROS}), "L8.zip": packed({f"{i}/handin.json": "{}" for i in range(900)})}
    (tmp_path / "class.zip").write_bytes(packed(bombs | files))
    found, remarks = collect(tmp_path)
    assert len(found) == 1_200 and len(remarks) >= 2
    assert all(line.startswith(("class.zip/L7.zip", "class.zip/L8.zip")) for line in remarks)


def test_a_hand_in_without_a_record_is_named(tmp_path):
    files = contents("Ada")
    del files["progress.json"]
    (tmp_path / "Ada.zip").write_bytes(packed(files))
    (one,), remarks = collect(tmp_path)
    assert one.name == "Ada" and remarks == ["Ada.zip: it has no progress.json, so no guess and no check is counted"]


def test_two_learners_who_got_one_folder_keep_a_record_each(tmp_path):
    both = [*contents("Ada", folder="a/").items(), *contents("Bob", {"03.2": "right"}, folder="a/").items()]
    (tmp_path / "class.zip").write_bytes(packed(both))
    found, remarks = collect(tmp_path)
    assert [(one.name, one.checks) for one in found] == [("Ada", RIGHT), ("Bob", {"03.2": "right"})] and not remarks
