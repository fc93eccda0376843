"""A wall that's open, on a free port of this computer, and requests to it as anyone may send them."""

import asyncio
import http.client
import json
import threading
import time

from fluxlite_course.kit.wall.room import Room
from fluxlite_course.kit.wall.server import Wall

PATIENCE = 60  # seconds, the longest: a machine that does other work as well is slow, not wrong


class Visitor:
    """Sends requests to a wall, with the teacher's cookie or without it."""

    def __init__(self, port, code=""):
        self.port = port
        self.code = code
        self.cookie = ""

    def request(self, method, path, body=None, **headers):
        """The answer's status, its headers, and its body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie and "Cookie" not in sent:
            sent["Cookie"] = self.cookie
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def enter(self, token):
        """Come with the teacher's token, and get the cookie."""
        status, headers, _ = self.request("GET", f"/?token={token}")
        assert (status, headers["Location"]) == (302, "/")
        self.cookie = headers["Set-Cookie"].partition(";")[0]

    def send(self, secret, code=None, **message):
        """Send what a lab sends; the answer's status."""
        return self.request("POST", f"/hear/{code or self.code}", json.dumps(message), Fluxlite_Lab=secret)[0]

    def shown(self, since=-1):
        """What the teacher's pages show, as soon as it isn't that of version `since`."""
        status, _, body = self.request("GET", f"/data?desk=1&since={since}")
        assert status == 200
        return json.loads(body)

    def do(self, deed, what=None):
        """Ask for what only the teacher may ask for."""
        body = json.dumps({"do": deed, "with": what})
        status, _, said = self.request("POST", "/do", body, Content_Type="application/json")
        return status, json.loads(said)["said"]

    def until(self, condition):
        """What the pages show as soon as `condition` holds for it."""
        end = time.monotonic() + PATIENCE
        shown = self.shown()
        while not condition(shown):
            assert time.monotonic() < end, shown
            shown = self.shown(shown["version"])
        return shown


class Opened:
    """A wall in this process, whose server has a thread of its own. It ends with the block.

    It has a code of its own, unless one is given: who knows that may send as soon as the wall listens.
    """

    def __init__(self, lesson="", port=0, code=""):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.room = Room(lesson)
        self.room.code = code or self.room.code
        self.kept = []
        self.wall = Wall(self.room, "127.0.0.1", self._keep)
        self.call(self.wall.listen, port)

    def _keep(self, room):
        self.kept.append(room.record())
        return "a file"

    def call(self, function, *arguments):
        """Call it where the server runs."""

        async def called():
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result()

    @property
    def visitor(self):
        """Someone who knows the code, and no more."""
        return Visitor(self.wall.port, self.room.code)

    @property
    def teacher(self):
        visitor = self.visitor
        visitor.enter(self.wall.token)
        return visitor

    def close(self):
        asyncio.run_coroutine_threadsafe(self.wall.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def counts(shown):
    """How many guessed what, on the page."""
    return {option["letter"]: option["count"] for option in shown["question"]["options"]}


def who(shown):
    """The names of the guests."""
    return [guest["label"] for guest in shown["list"]]
