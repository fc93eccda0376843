"""The wall's server, by requests as anyone on the network may send them."""

import contextlib
import io
import json
import socket
import zipfile

import pytest
from course.open_wall import Opened, Visitor, counts, who

from fluxlite_course.kit.wall import letters, server

ADA, EVE = "a" * 32, "e" * 32
PATHS = ["/", "/desk", "/wall.css", "/wall.js", "/desk.js", "/shared.js", "/data", "/data?desk=1", "/do", "/hand-in"]
ELSEWHERE = ["/wall.html", "/../server.py", "/%2e%2e/server.py", "/page/wall.html", "/static/", "/hear", "/hear/",
             "/robots.txt", "/.wall.json", "//", "/data/", "/favicon.ico", "/wall.css/../../room.py"]  # fmt: skip


@pytest.fixture(scope="module")
def opened():
    with Opened("02") as wall:
        yield wall


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "NONSENSE"])
def test_without_the_teachers_secret_there_is_nothing(opened, method):
    stranger = opened.visitor
    before = json.dumps(opened.room.record())
    for path in [*PATHS, *ELSEWHERE]:
        cookie = f"fluxlite-wall-{opened.wall.port}={'0' * 32}"
        status, headers, body = stranger.request(method, path, "{}" if method == "POST" else None, Cookie=cookie)
        assert (status in (404, 405), body) == (True, b""), (method, path)
        assert "Set-Cookie" not in headers
    for token in ("0", opened.room.code, opened.wall.token[:-1], "%C3%A9", "%00"):
        assert stranger.request("GET", f"/?token={token}")[0] == 404
    for cookie in ("", "fluxlite-wall-1=1", "; ; =", "\x7f", f"{'a' * 3_000}={opened.wall.cookie}"):
        status, _, body = stranger.request(method, "/data", Cookie=cookie)
        assert (status in (400, 404, 405), body) == (True, b"")
    assert json.dumps(opened.room.record()) == before


def test_the_teacher_gets_the_pages_and_nothing_else(opened):
    teacher = opened.teacher
    for path in PATHS[:8]:
        status, headers, body = teacher.request("GET", path)
        assert status == 200 and body
        assert headers["Cache-Control"] == "no-store" and "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Server"] is None
    for path in ELSEWHERE:
        assert teacher.request("GET", path)[0] in (404, 405)


def test_the_link_that_our_browser_opens_is_good_once(opened):
    once = opened.wall.once
    visitor = opened.visitor
    visitor.enter(once)
    assert visitor.shown()["place"]["lesson"] == "02"
    assert opened.visitor.request("GET", f"/?token={once}")[0] == 404
    opened.teacher.shown()  # the printed one stays


def test_a_lab_sends_and_the_teacher_sees(opened):
    visitor, teacher = opened.visitor, opened.teacher
    assert visitor.send(ADA, name="<script>alert(1)</script>", guesses={"02-A": "c"}) == 200
    shown = teacher.until(lambda shown: who(shown))
    assert who(shown) == ["<script>alert(1)</script>"[:30]] and counts(shown)["c"] == 1
    status, _, body = visitor.request("POST", f"/hear/{opened.room.code}", "{}", Fluxlite_Lab=ADA)
    assert status == 200 and list(json.loads(body)) == ["guest"]  # no more than its number
    assert visitor.send(ADA, code="ABCDEF" if opened.room.code != "ABCDEF" else "GHJKLM") == 403
    assert visitor.request("GET", f"/hear/{opened.room.code}")[0] == 405


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Host": "", "Origin": "http://"},
    ],
)
def test_pages_from_elsewhere_are_refused_even_with_the_secrets(opened, headers):
    """A page that a learner or the teacher has open; and one whose name suddenly leads to this address."""
    before = opened.teacher.shown()
    for visitor, method, path in (
        (opened.teacher, "GET", "/"),
        (opened.teacher, "GET", "/data"),
        (opened.teacher, "POST", "/do"),
        (opened.visitor, "POST", f"/hear/{opened.room.code}"),
        (opened.visitor, "GET", f"/?token={opened.wall.token}"),
    ):
        more = {"Fluxlite_Lab": EVE, "Content_Type": "application/json"}
        status, answered, body = visitor.request(method, path, '{"do": "step", "with": 1}', **more, **headers)
        assert status == 403 and body == b"" and "Set-Cookie" not in answered, path
    assert opened.teacher.shown() == before


def test_the_teachers_own_page_may_ask_and_only_with_json(opened):
    teacher = opened.teacher
    own = {"Origin": f"http://127.0.0.1:{opened.wall.port}"}
    step = '{"do": "step", "with": 1}'
    assert teacher.request("POST", "/do", step, Content_Type="text/plain", **own)[0] == 415
    assert teacher.request("POST", "/do", step, Content_Type="application/json", **own)[0] == 200
    assert teacher.shown()["place"]["id"] == "02-C"
    for deed, what in (("go", "99-A"), ("go", None), ("name", "x"), ("remove", 99), ("letters", "x"), ("nonsense", 1),
                       ("letters", {"text": "AAAA-AAAB", "name": ""}), ("step", [])):  # fmt: skip
        status, said = teacher.do(deed, what)
        assert (status == 400 and said != "") or deed == "step", deed
    assert teacher.request("POST", "/do", "[1", Content_Type="application/json")[0] == 400
    teacher.do("go", "02-A")
    assert teacher.shown()["place"]["id"] == "02-A"


def test_the_teacher_moderates_keeps_and_types_letters():
    with Opened("02") as opened:
        visitor, teacher = opened.visitor, opened.teacher
        visitor.send(ADA, name="Ada", guesses={"02-A": "c"})
        visitor.send(EVE, name="Rude", guesses={"02-A": "c"})
        teacher.do("show", "names")
        teacher.do("name", 2)
        assert teacher.shown()["question"]["options"][2]["names"] == ["Ada", "guest 2"]
        teacher.do("remove", 2)
        assert visitor.send(EVE, guesses={"02-A": "c"}) == 403
        teacher.do("show", "door")
        assert visitor.send("b" * 32) == 403
        paper = letters.write(7, "02", {"02-A": "b"})
        assert teacher.do("letters", {"text": paper.lower(), "name": "Bob"}) == (200, "Bob: 1 guess")
        assert who(teacher.shown()) == ["Ada", "Bob"]
        assert opened.kept == []
        assert teacher.do("keep") == (200, "Kept, with names, in a file")
        assert [guest["label"] for guest in opened.kept[0]] == ["Ada", "Bob"]
        assert ADA not in json.dumps(opened.kept)


def hand_in(**content):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in content.items():
            archive.writestr(f"{name}.json", json.dumps(text))
    return packed.getvalue()


def test_a_hand_in_is_read_from_the_desk():
    with Opened("02") as opened:
        teacher = opened.teacher
        good = hand_in(handin={"name": "Ada", "time": "1"}, progress={"guesses": {"02-A": "c"}})
        for content, said in ((good, "Read: Ada."), (b"no zip file", "Read: nothing."), (good, "Read: Ada.")):
            sent = {"Content_Type": "application/zip"}
            status, _, body = teacher.request("POST", "/hand-in?name=handin-Ada.zip", content, **sent)
            assert status == 200 and json.loads(body)["said"].startswith(said)
        assert counts(teacher.shown())["c"] == 1 and who(teacher.shown()) == ["Ada"]
        assert "handin-Ada.zip: can't be read" in teacher.shown()["remarks"][0]["why"]
        assert opened.visitor.request("POST", "/hand-in", good, Content_Type="application/zip")[0] == 404


def test_of_many_hand_ins_in_one_file_five_are_named():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in "ABCDEFG":
            one = hand_in(handin={"name": name, "time": name}, progress={"guesses": {"02-A": "c"}})
            archive.writestr(f"{name}.zip", one)
    with Opened("02") as opened:
        sent = {"Content_Type": "application/zip"}
        _, _, body = opened.teacher.request("POST", "/hand-in?name=all.zip", packed.getvalue(), **sent)
        assert json.loads(body)["said"] == "Read: A, B, C, D, E."
        assert counts(opened.teacher.shown())["c"] == 7


def test_what_is_too_long_is_not_read_and_what_is_half_sent_holds_nobody_up(opened):
    visitor, teacher = opened.visitor, opened.teacher
    try:
        status = visitor.request("POST", f"/hear/{opened.room.code}", b"9" * 5_000_000, Fluxlite_Lab=EVE)[0]
        assert status == 400
    except OSError:  # the wall has hung up before all was sent
        pass
    teacher.until(lambda shown: any("16,000 bytes" in one["why"] for one in shown["remarks"]))
    with socket.create_connection(("127.0.0.1", opened.wall.port)) as half:
        half.sendall(b"POST /hear/ABCDEF HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        with socket.create_connection(("127.0.0.1", opened.wall.port)) as nonsense:
            nonsense.sendall(b"\x16\x03\x01 not HTTP at all\r\n\r\n")
            assert b"200" not in nonsense.recv(100)
        assert visitor.send(ADA, guesses={"02-A": "c"}) == 200


def test_of_many_connections_at_once_only_so_many_are_held(monkeypatch):
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 20)
    with Opened("02") as opened:
        held = [socket.create_connection(("127.0.0.1", opened.wall.port)) for _ in range(60)]
        for one in held[20:]:
            with contextlib.suppress(ConnectionResetError):
                assert one.recv(1) == b""  # the wall has hung up
        for one in held:
            one.close()
        sent = 0
        while sent != 200:  # as soon as the wall has noticed that they're gone
            with contextlib.suppress(OSError):
                sent = opened.visitor.send(ADA)


def test_news_comes_when_there_is_some(opened):
    visitor, teacher = opened.visitor, opened.teacher
    version = teacher.shown()["version"]
    visitor.send("c" * 32, name="Grace")
    status, _, body = teacher.request("GET", f"/data?desk=1&since={version}")
    shown = json.loads(body)
    assert status == 200 and shown["version"] > version and "Grace" in who(shown)
    assert teacher.request("GET", "/data?since=x")[0] == 400


def test_when_it_ends_nothing_is_left():
    opened = Opened()
    port = opened.wall.port
    opened.close()
    with pytest.raises(OSError):
        Visitor(port).request("GET", "/")
