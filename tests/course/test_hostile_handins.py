"""A hundred hand-ins made to do harm, of 40 kinds: one look at the class reads the others, and names every one."""

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

ROOT = Path(__file__).parents[2]
MEGABYTE = 1_000_000


def packed(files, method=zipfile.ZIP_DEFLATED):
    """A zip file in memory, given its contents as pairs, or by name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive, warnings.catch_warnings(action="ignore"):  # of doubles
        for name, content in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, content)
    return file.getvalue()


def handin(name, checks="right", folder="", **about):
    """What `handin` packs, by name in the zip file."""
    record = {"checks": {"03.1": checks}, "learner": {"id": str(hash(name))}}
    return {
        f"{folder}handin.json": json.dumps({"name": name, "time": "1", **about}),
        f"{folder}progress.json": json.dumps(record),
    }


def record(name, content):
    return packed({**handin(name), "progress.json": content})


STORED = zipfile.ZIP_STORED


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
CONTENTS = {
    "bomb": lambda token: BOMB,
    "lie": lambda token: field(BOMB, b"PK\x01\x02", 24, "<I", 900),
    "inside": lambda token: packed({"a/x.zip": ZEROS}),
    "stored": lambda token: packed({"y.zip": packed({"x.zip": ZEROS[: 60 * MEGABYTE]}, STORED)}, STORED),
    "several": lambda token: packed({f"{i}.zip": packed({"x.zip": ZEROS[: 5 * MEGABYTE]}) for i in range(20)}),
    "deep": lambda token: nested(packed({"x.zip": ZEROS[:MEGABYTE]}), 5),
    "matryoshka": lambda token: nested(packed(handin("Inner")), 6),
    "lzma": lambda token: packed({"handin.json": ZEROS[:MEGABYTE]}, zipfile.ZIP_LZMA),
    "bzip": lambda token: packed({"handin.json": ZEROS[:MEGABYTE]}, zipfile.ZIP_BZIP2),
    "entries": lambda token: with_entries(100_000),
    "overlap": lambda token: with_entries(5_000),
    "flood": lambda token: packed({f"{i}.zip": b"no zip" for i in range(5_000)}),
    "crowd": lambda token: packed([one for i in range(500) for one in handin(f"{token} {i}", folder=f"{i}/").items()]),
    "twice": lambda token: packed([*handin("First").items(), *handin(token).items()]),
    "text": lambda token: b"PK, but no zip file",
    "empty": lambda token: b"",
    "nothing": lambda token: packed({}),
    "half": lambda token: packed(handin("Half"))[:200],
    "end": lambda token: b"PK\x05\x06" + bytes(18),
    "index": lambda token: field(packed(handin("Index")), b"PK\x05\x06", 12, "<I", 0xFFFFFFFE),
    "offset": lambda token: field(packed(handin("Offset")), b"PK\x05\x06", 16, "<I", 0xFFFFFFF0),
    "long": lambda token: field(packed(handin(token)), b"PK\x01\x02", 20, "<I", 0xFFFFFFF0),
    "locked": lambda token: field(packed(handin("Locked")), b"PK\x01\x02", 8, "<H", 1),
    "check": lambda token: field(packed(handin("Check")), b"PK\x01\x02", 16, "<I", 1),
    "climb": lambda token: packed(handin("Climb", folder="../../")),
    "json": lambda token: record("Json", "[" * 200_000),
    "digits": lambda token: record("Digits", '{"checks": ' + "9" * 200_000 + "}"),
    "kinds": lambda token: record("Kinds", '{"checks": [[[], 2]], "guesses": null, "learner": 3}'),
    "nobody": lambda token: packed({"handin.json": '{"name": null}'}),
    "ids": lambda token: record(token, json.dumps({"checks": {f"{i}.\x1b[1m": "right" for i in range(5_000)}})),
    "words": lambda token: packed(handin(token, checks={"right": "\x1b[2J"})),
    "escape": lambda token: packed(handin(f"{token}\x1b]0;owned\x07\x1b[2J\x9b1A")),
    "row": lambda token: packed(handin(f"{token}\nEve             ++++ 60\r")),
    "endless": lambda token: packed(handin(f"{token} " + "x" * 15_000)),
    "accents": lambda token: packed(handin(token + "\u0301\u0323" * 7_000)),
    "bidi": lambda token: packed(handin(f"{token}\u202e\u2066\u200b\u3164\ufe0f")),
    "formula": lambda token: packed(handin(f'=HYPERLINK("http://x") {token}'[:11] + token)),
    "someone": lambda token: packed(handin("Ada", place="Colab", time="9999")),
}


def others(folder, token):
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
    elif kind == "cellar":
        place = folder / token
        for _ in range(60):
            place /= "x"
        place.mkdir(parents=True)


OTHERS = ["pipe", "socket", "zero", "outside", "circle", "folder", "sparse", "screen", "cellar"]

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
        (folder / f"{name}.zip").write_bytes(packed(handin(name)))
    (folder.parent / "other.zip").write_bytes(packed(handin("Outside")))
    kinds = [*CONTENTS, *OTHERS]
    tokens = [f"{kinds[i % len(kinds)]}-{i // len(kinds)}" for i in range(100)]
    for token in tokens:
        kind = token.partition("-")[0]
        if kind in CONTENTS:
            (folder / f"{token}.zip").write_bytes(CONTENTS[kind](token))
        else:
            others(folder, token)
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
    from fluxlite.course.handins import collect

    learners = {f"Learner {i:02}": packed(handin(f"Learner {i:02}")) for i in range(30)}
    for number, hostile in enumerate(("inside", "several", "flood", "crowd", "entries", "bomb", "deep")):
        learners[f"Learner {4 * number:02}"] = CONTENTS[hostile](hostile)
    files = {f"{name}_{i}_assignsubmission_file/x.zip": content for i, (name, content) in enumerate(learners.items())}
    (tmp_path / "all.zip").write_bytes(packed(files))
    found, remarks = collect(tmp_path)
    honest = {name for i, name in enumerate(learners) if i % 4 or i >= 28}
    assert honest <= {one.name for one in found}
    hostile = {f"all.zip/{file}" for i, file in enumerate(files) if i % 4 == 0 and i < 28}
    named = {"/".join(file.split("/")[:3]) for file in [one.file for one in remarks] + [one.files[0] for one in found]}
    assert hostile <= named
    (crowd,) = [one.words for one in remarks if one.file.endswith("Learner 12_12")]
    assert crowd.startswith("has hand-ins with ") and ": crowd 0, crowd 1, crowd 10, crowd 100, crowd 101 and" in crowd
