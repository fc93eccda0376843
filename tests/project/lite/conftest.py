"""The lessons in a browser tab, from a site that ``make lite`` made: FLUXLITE_LITE names its folder.

`nox -s lite` makes one whose files are all local, and runs these tests.
"""

import contextlib
import functools
import http.server
import os
import threading
from pathlib import Path

import browsers
import pytest

SITE = os.environ.get("FLUXLITE_LITE", "")


class Counting(http.server.SimpleHTTPRequestHandler):
    """Sends files, and counts their bytes."""

    sent = 0

    def copyfile(self, source, outputfile):
        data = source.read()
        Counting.sent += len(data)
        outputfile.write(data)

    def log_message(self, *words):
        pass


class Site:
    """A folder's files at an address, which can go away, and come back."""

    def __init__(self, folder, path=""):
        self.folder = folder
        self._path = path
        self._port = 0
        self.start()

    @property
    def address(self):
        return f"{self.origin}/{self._path}"

    @property
    def origin(self):
        return f"http://127.0.0.1:{self._port}"

    def start(self):
        handler = functools.partial(Counting, directory=str(self.folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self._port), handler)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="session")
def folder():
    if not SITE:
        pytest.skip("FLUXLITE_LITE names no site that make lite made")
    return Path(SITE)


@pytest.fixture
def site(folder):
    served = Site(folder)
    yield served
    served.stop()


@pytest.fixture(scope="module")  # Playwright doesn't start twice at once
def chromium(folder):  # first: without a site, no event loop of Playwright's stays in this process
    with browsers.chromium() as starter:
        yield starter


class Visit:
    """A person's browser, with a profile that stays; what it asked for in vain, and what of another host."""

    def __init__(self, chromium, profile, width=1400):
        size = {"width": width, "height": 900}
        self._profile = profile
        self.browser = chromium.launch_persistent_context(
            profile, executable_path=browsers.CHROMIUM, args=browsers.OPTIONS, viewport=size, accept_downloads=True
        )
        self.elsewhere = []
        self.missing = []
        self.browser.on("request", self._note)
        self.browser.on("response", self._note_missing)

    def _note(self, request):
        if not request.url.startswith(("http://127.0.0.1:", "http://localhost:", "data:", "blob:", "chrome:")):
            self.elsewhere.append(request.url)

    def _note_missing(self, answer):
        if answer.status == 404:
            self.missing.append(answer.url)

    def kill_tabs(self):
        """End the processes of all tabs at once, as a phone does that needs the memory."""
        psutil = pytest.importorskip("psutil", reason="psutil is not installed")
        for process in psutil.process_iter(["cmdline"]):
            if f"--user-data-dir={self._profile}" in (process.info["cmdline"] or []):
                for child in process.children(recursive=True):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        if "--type=renderer" in child.cmdline():
                            child.kill()

    def close(self):
        with contextlib.suppress(Exception):  # a tab that was killed can't be closed
            self.browser.close()


@pytest.fixture
def visit(chromium, tmp_path):
    """Begin a visit; two of one name are one person's, one after the other. None asks another host, or in vain."""
    visits = []

    def begin(person="", **options):
        visits.append(Visit(chromium, tmp_path / f"profile {person}", **options))
        return visits[-1]

    yield begin
    for one in visits:
        one.close()
    assert [one.elsewhere for one in visits] == [[] for _ in visits]
    assert [one.missing for one in visits] == [[] for _ in visits]
