"""The lessons in a browser tab, from a site that ``make lite`` made: FLUXLITE_LITE names its folder.

`nox -s lite` makes one whose files are all local, and runs these tests.
"""

import contextlib
import functools
import http.server
import os
import threading
from pathlib import Path

import pytest

SITE = os.environ.get("FLUXLITE_LITE", "")
CHROMIUM = next((path for path in ("/usr/bin/chromium", "/usr/bin/google-chrome") if Path(path).exists()), None)
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@contextlib.contextmanager
def served(folder):
    """The address of a folder's files."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def folder():
    if not SITE:
        pytest.skip("FLUXLITE_LITE names no site that make lite made")
    return Path(SITE)


@pytest.fixture(scope="session")
def address(folder):
    with served(folder) as found:
        yield found


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as started:
        yield started.chromium


class Visit:
    """A person's browser, with a profile that stays; what it asked for, and where it asked another host."""

    def __init__(self, chromium, profile, width=1400):
        size = {"width": width, "height": 900}
        self.browser = chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=OPTIONS, viewport=size, accept_downloads=True
        )
        self.elsewhere = []
        self.missing = []
        self.browser.on("request", self._note)
        self.browser.on("response", lambda answer: answer.status >= 400 and self.missing.append(answer.url))

    def _note(self, request):
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self.elsewhere.append(request.url)

    def close(self):
        self.browser.close()


@pytest.fixture
def visit(chromium, tmp_path):
    """Begin a visit; two of one name are one person's, one after the other."""
    visits = []

    def begin(person="", **options):
        visits.append(Visit(chromium, tmp_path / f"profile {person}", **options))
        return visits[-1]

    yield begin
    for one in visits:
        with contextlib.suppress(Exception):
            one.close()
