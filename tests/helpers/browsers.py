"""Chromium and Firefox for tests, where there's one. Without it, they skip themselves."""

import contextlib
import shutil
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@contextlib.contextmanager
def chromium():
    """Playwright's starter of Chromium, whose `launch` takes ``executable_path=CHROMIUM, args=OPTIONS``."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as started:
        yield started.chromium


@contextlib.contextmanager
def firefox():
    """Firefox itself, not Playwright's build of it, driven by WebDriver BiDi."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("firefox") or shutil.which("firefox-esr")
    if path is None:
        pytest.skip("there is no Firefox here")
    with playwright.sync_playwright() as started:
        browser = started.firefox.launch(channel="moz-firefox", executable_path=path)
        yield browser
        browser.close()


def serious(page, inside="html"):
    """What axe-core finds that keeps someone from using a page, or a part of it: what it is, and where first."""
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    page.evaluate(Path(axe.__file__).with_name("axe.min.js").read_text("utf-8"))
    found = page.evaluate("inside => axe.run(inside, {resultTypes: ['violations']})", inside)["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")]
