"""The wall's server: the teacher's pages and their data, and one address at which labs are heard. Plain HTTP.

Two secrets open it. The teacher's is random, comes with the first visit and then stays in a cookie, as Jupyter's does;
without it, there's no page, no style sheet and no data. The class's is the code on the wall: with it a lab may send,
and gets back no more than its number. All else is answered with an empty *not found*.
"""

import asyncio
import ipaddress
import json
import secrets
import socket
import tempfile
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tornado import httpserver, web

from fluxlite.words import many

from ..handins import LARGEST_ZIP
from . import folder, view
from .hearing import LARGEST
from .room import Refused, Room

PAGES = Path(__file__).with_name("page")
# What is served, and as what. Nothing else is, whatever lies in the folder.
FILES = {
    "": ("wall.html", "text/html"),
    "desk": ("desk.html", "text/html"),
    "wall.css": ("wall.css", "text/css"),
    "shared.js": ("shared.js", "text/javascript"),
    "wall.js": ("wall.js", "text/javascript"),
    "desk.js": ("desk.js", "text/javascript"),
}
LAB_HEADER = "Fluxlite-Lab"  # a lab's secret
MOST_CONNECTIONS = 400
PATIENCE = 20.0  # seconds that a page's request for news waits
TOGETHER = 0.1  # seconds: news that come together are told together
SLOWEST = 10.0  # seconds that headers or a body may take
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
# What the teacher can ask for, by the name that the page sends.
DEEDS: dict[str, Callable[[Room, Any], Any]] = {
    "go": lambda room, to: room.go(str(to)),
    "step": lambda room, by: room.step(1 if by == 1 else -1),
    "show": lambda room, what: room.show(str(what)),
    "name": lambda room, number: room.show_name(int(number)),
    "remove": lambda room, number: room.remove(int(number)),
    "letters": lambda room, sheet: room.put_letters(str(sheet["text"])[:40], str(sheet["name"])[:100]),
}


class Wall:
    """A room with a server. `address` is where it listens; `keep` writes the room into a file, and returns its name."""

    def __init__(self, room: Room, address: str, keep: Callable[[Room], str]) -> None:
        self.room = room
        self.address = address
        self.keep = keep
        self.join = ""  # what learners give to `join`; empty if they needn't
        self.port = 0
        self.token = secrets.token_hex(16)
        self.once = secrets.token_hex(16)  # for the browser that we open: other users may see what it was asked to open
        self.cookie = secrets.token_hex(16)
        self.version = 0
        self._news = asyncio.Event()
        self._closing = False
        room.changed = self._change

    def listen(self, port: int) -> None:
        """Begin to listen, at any free port for 0. Raises `OSError` if the address or the port can't be had."""
        handlers: Any = [
            (r"/hear/([A-Za-z]{1,20})", Hear),
            (r"/(data)", Data),
            (r"/(do)", Do),
            (r"/(hand-in)", HandIn),
            (r"/([a-z.]*)", Page),
        ]
        application = web.Application(
            [(path, handler, {"wall": self}) for path, handler in handlers],
            default_handler_class=Nothing, default_handler_args={"wall": self}, log_function=lambda handler: None,
        )  # fmt: skip
        self._server = Server(
            application, max_header_size=8_000, max_body_size=LARGEST, max_buffer_size=4 * LARGEST,
            body_timeout=SLOWEST, idle_connection_timeout=2 * PATIENCE,
        )  # fmt: skip
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        listening = socket.create_server((self.address, port), family=family)
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        self.join = self.invitation
        self._server.add_sockets([listening])

    async def close(self) -> None:
        """Stop listening, and end what waits."""
        self._closing = True
        self._change()
        self._server.stop()
        await self._server.close_all_connections()

    @property
    def place(self) -> str:
        """The address and the port, as in a link."""
        if ":" in self.address:
            return f"[{self.address}]:{self.port}"
        return f"{self.address}:{self.port}"

    @property
    def invitation(self) -> str:
        """What a learner gives to `join`."""
        return f"{self.place}/{self.room.code}"

    def may_enter(self, token: str) -> bool:
        """Whether this is the teacher's token. The one for the browser that we open is good for one visit."""
        if secrets.compare_digest(token.encode(), self.once.encode()):
            self.once = secrets.token_hex(16)
            return True
        return secrets.compare_digest(token.encode(), self.token.encode())

    def is_named(self, host: str) -> bool:
        """Whether a request's Host may be ours: our name, localhost, or an IP address.

        A page from elsewhere whose name suddenly leads here has a name, and is refused.
        """
        name = host.rpartition(":")[0] if host.endswith(f":{self.port}") else host
        name = name.strip("[]").lower()
        if name in (self.address.lower(), "localhost"):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    async def news(self, since: int) -> None:
        """Wait until there's something that a page with version `since` hasn't got; not for ever."""
        if self.version == since and not self._closing:
            try:
                await asyncio.wait_for(self._news.wait(), PATIENCE)
            except TimeoutError:
                return
        if not self._closing:
            await asyncio.sleep(TOGETHER)

    def _change(self) -> None:
        self.version += 1
        self._news.set()  # those who wait are woken
        self._news = asyncio.Event()


class Server(httpserver.HTTPServer):
    """Takes no more than so many connections at once, so that nobody uses up the computer's."""

    def handle_stream(self, stream: Any, address: Any) -> None:
        if len(self._connections) >= MOST_CONNECTIONS:
            stream.close()
            return
        super().handle_stream(stream, address)


class Handler(web.RequestHandler):
    """What all answers have in common: they aren't kept, framed or guessed at, and errors say a number only."""

    def initialize(self, wall: Wall) -> None:
        self.wall = wall

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Security-Policy", POLICY)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")

    def prepare(self) -> None:
        if not self.wall.is_named(self.request.host):
            raise web.HTTPError(HTTPStatus.FORBIDDEN)
        # Only pages send an Origin: ours, or one from elsewhere that a learner or the teacher has open.
        origin = self.request.headers.get("Origin")
        if origin is not None and origin != f"http://{self.request.host}":
            raise web.HTTPError(HTTPStatus.FORBIDDEN)

    def write_error(self, status_code: int, **about: Any) -> None:
        self.finish()

    def log_exception(self, *error: Any) -> None:
        if not isinstance(error[1], web.HTTPError):
            super().log_exception(*error)


class Nothing(Handler):
    """What isn't there."""

    def prepare(self) -> None:
        raise web.HTTPError(HTTPStatus.NOT_FOUND)


@web.stream_request_body
class Hear(Handler):
    """A lab's message, to the address that has the code in it. One that says it's too long isn't read."""

    def prepare(self) -> None:
        super().prepare()
        self._body: bytearray | None = bytearray()
        if int(self.request.headers.get("Content-Length") or 0) > LARGEST:
            self._body = None
            self.post(*self.path_args)

    def data_received(self, chunk: bytes) -> None:
        if self._body is not None:
            self._body += chunk

    def post(self, code: str) -> None:
        secret = self.request.headers.get(LAB_HEADER, "")
        address = str(self.request.remote_ip)
        try:
            guest = self.wall.room.hear(code, secret, self._body, address, time.monotonic())
        except Refused as refused:
            self.set_status(refused.status)
            self.finish({"why": str(refused)})
            return
        self.finish({"guest": guest.number})


class Teachers(Handler):
    """What only the teacher sees. For others it isn't there."""

    def prepare(self) -> None:
        super().prepare()
        cookie = self.get_cookie(self.cookie_name, "") or ""
        if not secrets.compare_digest(cookie.encode(), self.wall.cookie.encode()):
            raise web.HTTPError(HTTPStatus.NOT_FOUND)

    @property
    def cookie_name(self) -> str:
        """Cookies are for a host, whatever the port: so each wall has a name of its own."""
        return f"fluxlite-wall-{self.wall.port}"


class Page(Teachers):
    """A page, its style sheet or its script. With the token, the first visit gets the cookie."""

    def prepare(self) -> None:
        token = self.get_query_argument("token", "")
        if not token:
            super().prepare()
            return
        Handler.prepare(self)
        if not self.wall.may_enter(token):
            raise web.HTTPError(HTTPStatus.NOT_FOUND)
        self.set_cookie(self.cookie_name, self.wall.cookie, httponly=True, samesite="Strict", path="/")
        self.redirect(self.request.path)  # so that no projector shows the token

    def get(self, name: str) -> None:
        if name not in FILES:
            raise web.HTTPError(HTTPStatus.NOT_FOUND)
        file, kind = FILES[name]
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.finish((PAGES / file).read_bytes())


class Data(Teachers):
    """What a page shows, as soon as it's something new: ``/data?since=3``, and for the desk ``&desk=1``."""

    async def get(self, name: str) -> None:
        try:
            since = int(self.get_query_argument("since", "-1"))
        except ValueError:
            raise web.HTTPError(HTTPStatus.BAD_REQUEST) from None
        await self.wall.news(since)
        version = self.wall.version
        shown = view.on_the_wall(self.wall.room) | {"version": version, "join": self.wall.join}
        if self.get_query_argument("desk", ""):
            shown |= view.on_the_desk(self.wall.room)
        self.finish(shown)


@web.stream_request_body
class HandIn(Teachers):
    """A hand-in that the teacher gives to the desk, as from the lessons in a browser. Nothing in it is run."""

    def prepare(self) -> None:
        super().prepare()
        connection: Any = self.request.connection
        connection.set_max_body_size(LARGEST_ZIP)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115

    def data_received(self, chunk: bytes) -> None:
        self._file.write(chunk)

    async def post(self, name: str) -> None:
        if self.request.headers.get("Content-Type") != "application/zip":
            raise web.HTTPError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        called = self.get_query_argument("name", "")
        found, remarks = await asyncio.to_thread(folder.look_into, self._file, called)
        folder.take(self.wall.room, found, remarks)
        said = [f"Read: {', '.join(one.name for one in found[:5]) or 'nothing'}.", *(why for _, why in remarks[:2])]
        self.finish({"said": " ".join(said)})

    def on_finish(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


class Do(Teachers):
    """What the teacher asks for: ``{"do": "step", "with": 1}``. Only JSON, which no form of another page can send."""

    def post(self, name: str) -> None:
        if self.request.headers.get("Content-Type") != "application/json":
            raise web.HTTPError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        try:
            asked = json.loads(self.request.body)
            said = self._do(asked["do"], asked.get("with"))
        except (ValueError, TypeError, KeyError, AttributeError, OSError, Refused) as error:
            self.set_status(HTTPStatus.BAD_REQUEST)
            said = str(error)
        self.finish({"said": said})

    def _do(self, deed: str, what: Any) -> str:
        if deed == "keep":
            return f"Kept, with names, in {self.wall.keep(self.wall.room)}"
        found = DEEDS[deed](self.wall.room, what)
        if deed == "letters":
            return f"{found.label}: {many(len(found.guesses), 'guess', several='guesses')}"
        return ""
