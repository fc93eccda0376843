"""``fluxlite wall``: what it says when it opens, what it can't do, and what is left when it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from course.open_wall import PATIENCE, Visitor

from fluxlite.__main__ import main
from fluxlite_course.kit.ready import this_python
from fluxlite_course.kit.wall.opening import how_to_join

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["not-there"], "not-there isn't a folder"),
        (["--lesson", "99"], "no lesson '99'"),
        (["--address", "0.0.0.0"], "name one address"),
        (["--address", "192.0.2.77"], "192.0.2.77, port 8787, can't be had"),
        (["--address", "192.0.2.77"], "if the port is taken, --port 8788 takes another"),
        (["--port", "TAKEN"], "Is another wall open? --port "),
    ],
)
def test_what_it_cannot_do_it_says_in_a_sentence(arguments, said, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["wall", "--no-browser", *(port if one == "TAKEN" else one for one in arguments)]) == 1
    printed = capsys.readouterr()
    assert said in printed.err and printed.err.count("\n") == 1 and printed.out == ""
    assert os.listdir(tmp_path) == []


def test_without_a_network_it_says_what_an_address_looks_like(capsys, monkeypatch):
    def connect(self, address):
        raise OSError("Network is unreachable")

    monkeypatch.setattr("socket.socket.connect", connect)
    assert main(["wall", "--no-browser", "--address", "0.0.0.0"]) == 1
    assert "--address 192.168.…" in capsys.readouterr().err


def test_without_tornado_it_says_who_brings_it(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["wall"]) == 1
    assert "tornado is missing" in capsys.readouterr().err


def own_browser(folder):
    """A program that leaves a file beside itself if it's asked to open a page."""
    browser = folder.with_name(f"{folder.name}-browser")
    browser.write_text('#!/bin/sh\ntouch "$0-was-asked"\n')
    browser.chmod(0o700)
    return browser


def open_wall(folder, *arguments):
    """The program, and what it printed at first."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "BROWSER": str(own_browser(folder))}
    command = [sys.executable, "-m", "fluxlite", "wall", "--no-browser", "--port", "0", *arguments]
    program = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    said = ""
    for line in program.stdout:
        said += line
        if line.startswith(("Guesses are read", f"    {this_python()} -m fluxlite wall --address ", "Does nobody")):
            return program, said
    raise AssertionError(said)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C by a signal")
@pytest.mark.parametrize("keep", [False, True])
def test_at_the_end_all_is_forgotten_unless_it_is_kept(keep, tmp_path):
    program, said = open_wall(tmp_path, *["--keep", "kept.json"] * keep, "--lesson", "2")
    port, code = re.search(r'join\("127\.0\.0\.1:(\d+)/([A-Z]{6})"\)', said).groups()
    visitor = Visitor(int(port), code)
    visitor.enter(re.search(r"token=(\w+)", said)[1])
    assert visitor.send("a" * 32, name="Zoë", guesses={"02-A": "c"}) == 200
    assert visitor.shown()["place"]["id"] == "02-A"
    program.send_signal(signal.SIGINT)
    rest, _ = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0
    assert not list(tmp_path.parent.glob(f"{tmp_path.name}-browser-was-asked"))
    if keep:
        (guest,) = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))["guests"]
        assert (guest["label"], guest["guesses"]) == ("Zoë", {"02-A": "c"})
        assert (tmp_path / "kept.json").stat().st_mode & 0o077 == 0 and "with names" in rest
    else:
        assert "forgotten" in rest and os.listdir(tmp_path) == []


def test_over_a_folder_nobody_has_to_join(tmp_path):
    (tmp_path / "ada").mkdir()
    record = {"guesses": {"02-A": "c"}, "learner": {"id": "1", "edition": "3"}}
    (tmp_path / "ada" / "progress.json").write_text(json.dumps(record))
    program, said = open_wall(tmp_path, ".", "--lesson", "02")
    try:
        assert "join" not in said
        link = re.search(r"127\.0\.0\.1:(\d+)/\?token=(\w+)", said)
        visitor = Visitor(int(link[1]))
        visitor.enter(link[2])
        shown = visitor.until(lambda shown: shown["guests"] == 1)
        assert (shown["list"][0]["label"], shown["list"][0]["now"], shown["join"]) == ("ada", "c", "")
    finally:
        program.kill()
        program.communicate()


def test_on_a_hub_learners_join_the_hub(tmp_path, monkeypatch):
    class Asked:
        address = "127.0.0.1"
        folder = tmp_path

    assert how_to_join(Asked, "x") == ""
    monkeypatch.setenv("FLUXLITE_HAND_INS", str(tmp_path / "teacher"))
    assert how_to_join(Asked, "x") == "hub"
    Asked.address = "192.168.1.17"
    assert how_to_join(Asked, "x") == "x"
