"""Reading hand-ins, from any folder in any zip file, whatever the file contains.

And a hundred made to do harm, of 40 kinds: one look at the class reads the others, and names every one.
"""

import io
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import unicodedata
import warnings
import zipfile
from pathlib import Path

import pytest

from fluxlite_course.kit import progress
from fluxlite_course.kit.handins import Handin, by_learner, collect

ROOT = Path(__file__).parents[2]
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


def collected(folder):
    """The hand-ins found, and the remarks as lines."""
    found, remarks = collect(folder)
    return found, list(map(str, remarks))


def names(folder):
    """The hand-ins found, after checking that there are no remarks."""
    found, to_say = collected(folder)
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
    """Safari unpacks what it downloads, and some learners pack in another way: they were missing, unnoticed."""
    (tmp_path / "handin-Ada").mkdir()
    for name, content in contents("Ada").items():
        (tmp_path / "handin-Ada" / name).write_text(content)
    (tmp_path / "handin-Bob.RAR").write_bytes(b"Rar!")
    (tmp_path / "notes.txt").write_text("bring chalk")
    assert collected(tmp_path) == ([], [
        "handin-Bob.RAR: only zip files are read: ask for the one that fluxlite handin made",
        "handin-Ada: an unpacked hand-in is not counted: zip this folder again, or keep the zip file",
    ])  # fmt: skip


def test_the_zip_file_of_a_moodle_course(tmp_path):
    files = {
        "Ada Lovelace_12345_assignsubmission_file/handin-Ada.zip": packed(contents("Ada")),
        "Bob_12346_assignsubmission_file/again.zip": packed({"Bob/handin-Bob.zip": packed(contents("Bob"))}),
        "Eva_12348_assignsubmission_file_handin-Eva.zip": packed(contents("Eva")),
        "Eva_12348_assignsubmission_file_03-your-own-model.ipynb": "{}",
        **contents("Cem", folder="Cem_12347_assignsubmission_file/"),
        "Dan_2_assignsubmission_file/photo.jpg": "x",
        "Dan_2_assignsubmission_onlinetext/onlinetext.html": "x",
        "Fay_3_assignsubmission_file/handin-Fay.zip": b"PK no zip",
    }
    (tmp_path / "all.zip").write_bytes(packed(files))
    found, (broken, nothing) = collected(tmp_path)
    assert sorted(one.name for one in found) == ["Ada", "Bob", "Cem", "Eva"]
    assert nothing == "all.zip/Dan_2: no hand-in is in it"
    assert broken.startswith("all.zip/Fay_3_assignsubmission_file/handin-Fay.zip: cannot be read (")


def test_the_place_of_each_hand_in_is_told(tmp_path):
    (tmp_path / "all.zip").write_bytes(
        packed(contents("Ada", folder="a/") | {"b/Bob.zip": packed(contents("Bob"))} | contents("Cem"))
    )
    found, _ = collected(tmp_path)
    assert [one.files for one in found] == [("all.zip/a",), ("all.zip/b/Bob.zip",), ("all.zip",)]


# -- what counts ------------------------------------------------------------------------------------------------------


def test_only_what_a_lesson_writes_counts_and_the_rest_is_named(tmp_path):
    checks = {"03.1": "right", "99.1": "right", "03.99": "right", "03.2": "perfect", "03.3": "stopped"}
    guesses = {"03-A": "a", "03-B": "z", "03-Z": "a"}
    (tmp_path / "Ada.zip").write_bytes(packed(contents("Ada", checks, guesses)))
    ((one,), lines) = collected(tmp_path)
    assert one.checks == {"03.1": "right", "03.3": "stopped"} and one.guesses == {"03-A": "a"}
    assert lines == ["Ada.zip: has what no lesson writes: 03-B, 03-Z, 03.2, 03.99, 99.1; not counted"]
    (tmp_path / "Ada.zip").write_bytes(packed(contents("Ada", {f"99.{i}\x1b[31m": "right" for i in range(9)})))
    _, (line,) = collected(tmp_path)
    assert line.endswith("and 4 more; not counted") and line.isprintable()


def test_files_of_one_learner_are_taken_together_and_others_are_not():
    def one(name, time, checks, file, **more):
        return Handin(name, time, checks, {"03-A": time}, files=(file,), **more)

    taken = by_learner([
        one("Ada", "2", {"03.1": "not right", "03.2": "right"}, "b", learner="x"),
        one("ada", "1", {"03.1": "right"}, "a", learner="x"),
        one("Ada", "1", {"03.1": "right"}, "c", learner="y"),  # another Ada
        one("Ada", "1", {}, "d"),  # without a record, so we can't know
        one("Bob", "1", {}, "e", learner="x"),  # two learners on one computer
        one("Ada", "2", {"04.1": "right"}, "f", learner="z", place="Colab"),
        one("Ada", "1", {"03.1": "right"}, "g", learner="w", place="Colab"),
    ])  # fmt: skip
    assert [(each.name, each.files) for each in taken] == [
        ("Ada", ("a", "b")),
        ("Ada", ("c",)),
        ("Ada", ("d",)),
        ("Ada", ("g", "f")),
        ("Bob", ("e",)),
    ]
    assert taken[0].checks == {"03.1": "right", "03.2": "right"} and taken[0].guesses == {"03-A": "2"}
    assert taken[3].checks == {"03.1": "right", "04.1": "right"}
    assert taken[0].replaced == ("03-A",) and taken[1].replaced == ()


# -- a hundred made to do harm, of 40 kinds ---------------------------------------------------------------------------

MEGABYTE = 1_000_000
STORED = zipfile.ZIP_STORED


def record(name, content):
    return packed({**contents(name), "progress.json": content})


def nested(content, times):
    for _ in range(times):
        content = packed({"inner.zip": content})
    return content


def with_entries(count, name=b"handin.json"):
    """A zip file whose list of contents names one member many times."""
    first = packed({name.decode(): '{"name": "Many", "time": "1"}'})
    start, end = first.index(b"PK\x01\x02"), first.index(b"PK\x05\x06")
    entries = first[start:end] * count
    last = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, min(count, 65535), min(count, 65535), len(entries), start, 0)
    return first[:start] + entries + last


def field(content, mark, offset, form, value):
    """A zip file with a number in it changed."""
    at = content.rindex(mark) + offset
    return content[:at] + struct.pack(form, value) + content[at + struct.calcsize(form) :]


ZEROS = bytes(64 * MEGABYTE)
BOMB = packed({"handin.json": ZEROS})

# What is in each kind of file, for the token that it has to be named by.
HOSTILE = {
    "bomb": lambda token: BOMB,
    "lie": lambda token: field(BOMB, b"PK\x01\x02", 24, "<I", 900),
    "inside": lambda token: packed({"a/x.zip": ZEROS}),
    "stored": lambda token: packed({"y.zip": packed({"x.zip": ZEROS[: 60 * MEGABYTE]}, STORED)}, STORED),
    "several": lambda token: packed({f"{i}.zip": packed({"x.zip": ZEROS[: 5 * MEGABYTE]}) for i in range(20)}),
    "deep": lambda token: nested(packed({"x.zip": ZEROS[:MEGABYTE]}), 5),
    "matryoshka": lambda token: nested(packed(contents("Inner")), 6),
    "lzma": lambda token: packed({"handin.json": ZEROS[:MEGABYTE]}, zipfile.ZIP_LZMA),
    "bzip": lambda token: packed({"handin.json": ZEROS[:MEGABYTE]}, zipfile.ZIP_BZIP2),
    "entries": lambda token: with_entries(100_000),
    "overlap": lambda token: with_entries(5_000),
    "flood": lambda token: packed({f"{i}.zip": b"no zip" for i in range(5_000)}),
    "crowd": lambda token: packed([x for i in range(500) for x in contents(f"{token} {i}", folder=f"{i}/").items()]),
    "twice": lambda token: packed([*contents("First").items(), *contents(token).items()]),
    "text": lambda token: b"PK, but no zip file",
    "empty": lambda token: b"",
    "nothing": lambda token: packed({}),
    "half": lambda token: packed(contents("Half"))[:200],
    "end": lambda token: b"PK\x05\x06" + bytes(18),
    "index": lambda token: field(packed(contents("Index")), b"PK\x05\x06", 12, "<I", 0xFFFFFFFE),
    "offset": lambda token: field(packed(contents("Offset")), b"PK\x05\x06", 16, "<I", 0xFFFFFFF0),
    "long": lambda token: field(packed(contents(token)), b"PK\x01\x02", 20, "<I", 0xFFFFFFF0),
    "locked": lambda token: field(packed(contents("Locked")), b"PK\x01\x02", 8, "<H", 1),
    "check": lambda token: field(packed(contents("Check")), b"PK\x01\x02", 16, "<I", 1),
    "climb": lambda token: packed(contents("Climb", folder="../../")),
    "json": lambda token: record("Json", "[" * 200_000),
    "digits": lambda token: record("Digits", '{"checks": ' + "9" * 200_000 + "}"),
    "list": lambda token: packed({"handin.json": "[1]"}),
    "nameless": lambda token: packed({"handin.json": "{}"}),
    "else": lambda token: packed({"a.txt": "x"}),
    "kinds": lambda token: record("Kinds", '{"checks": [[[], 2]], "guesses": null, "learner": 3}'),
    "nobody": lambda token: packed({"handin.json": '{"name": null}'}),
    "ids": lambda token: record(token, json.dumps({"checks": {f"{i}.\x1b[1m": "right" for i in range(5_000)}})),
    "words": lambda token: packed(contents(token, {"03.1": {"right": "\x1b[2J"}})),
    "escape": lambda token: packed(contents(f"{token}\x1b]0;owned\x07\x1b[2J\x9b1A")),
    "row": lambda token: packed(contents(f"{token}\nEve             ++++ 60\r")),
    "endless": lambda token: packed(contents(f"{token} " + "x" * 15_000)),
    "accents": lambda token: packed(contents(token + "\u0301\u0323" * 7_000)),
    "bidi": lambda token: packed(contents(f"{token}\u202e\u2066\u200b\u3164\ufe0f")),
    "formula": lambda token: packed(contents(f'=HYPERLINK("http://x") {token}'[:11] + token)),
    "someone": lambda token: packed(contents("Ada", place="Colab", time="9999")),
}


def strange(folder, token):
    """What isn't a file, or is a strange one; by kind."""
    path = folder / f"{token}.zip"
    kind = token.partition("-")[0]
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "outside":
        path.symlink_to(folder.parent / "other.zip")
    elif kind == "circle":
        path.symlink_to(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(20_000 * MEGABYTE)
    elif kind == "screen":
        (folder / f"\x1b[2J\nEve  ++++ {token}.zip").write_bytes(b"no zip")


OTHERS = ["pipe", "socket", "zero", "outside", "circle", "folder", "sparse", "screen"]

LOOK = """
import sys
from pathlib import Path
from fluxlite.__main__ import main
status = main(["class", sys.argv[1]])
for line in Path("/proc/self/status").read_text().splitlines():
    if line.startswith("VmHWM"):
        print(line.split()[1], file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="has pipes, links and /proc")
def test_a_hundred_hostile_handins_are_all_named_and_cost_little(tmp_path, monkeypatch):
    with tempfile.TemporaryDirectory(dir=tmp_path) as place:  # some of them are large, and pytest would keep them
        look_at_a_hundred(Path(place, "class"), monkeypatch)


def look_at_a_hundred(folder, monkeypatch):
    folder.mkdir()
    monkeypatch.chdir(folder)  # a socket's path must be short
    for name in ("Ada", "Zoë"):
        (folder / f"{name}.zip").write_bytes(packed(contents(name)))
    (folder.parent / "other.zip").write_bytes(packed(contents("Outside")))
    kinds = [*HOSTILE, *OTHERS]
    tokens = [f"{kinds[i % len(kinds)]}-{i // len(kinds)}" for i in range(100)]
    for token in tokens:
        kind = token.partition("-")[0]
        if kind in HOSTILE:
            (folder / f"{token}.zip").write_bytes(HOSTILE[kind](token))
        else:
            strange(folder, token)
    seen = subprocess.run(
        [sys.executable, "-P", "-c", LOOK, str(folder)], capture_output=True, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert seen.returncode == 0, seen.stderr
    kilobytes = int(seen.stderr)
    assert len(kinds) >= 40 and [token for token in tokens if token not in seen.stdout] == []
    assert "Ada #1 " in seen.stdout and "\nZoë " in seen.stdout and "Outside" not in seen.stdout
    shown = seen.stdout.replace("\n", "")
    assert shown.isprintable() and not any(unicodedata.bidirectional(letter) == "RLO" for letter in shown)
    assert not any(line.startswith("Eve") for line in seen.stdout.splitlines())
    assert kilobytes < 300_000
    monkeypatch.undo()


def test_one_learner_cannot_keep_the_others_in_a_platforms_file_from_being_read(tmp_path):
    learners = {f"Learner {i:02}": packed(contents(f"Learner {i:02}")) for i in range(30)}
    for number, hostile in enumerate(("inside", "several", "flood", "crowd", "entries", "bomb", "deep")):
        learners[f"Learner {4 * number:02}"] = HOSTILE[hostile](hostile)
    files = {f"{name}_{i}_assignsubmission_file/x.zip": content for i, (name, content) in enumerate(learners.items())}
    (tmp_path / "all.zip").write_bytes(packed(files))
    found, remarks = collect(tmp_path)
    honest = {name for i, name in enumerate(learners) if i % 4 or i >= 28}
    assert honest <= {one.name for one in found}
    hostile = {f"all.zip/{file}" for i, file in enumerate(files) if i % 4 == 0 and i < 28}
    named = {"/".join(file.split("/")[:3]) for file in [one.file for one in remarks] + [one.files[0] for one in found]}
    assert hostile <= named
