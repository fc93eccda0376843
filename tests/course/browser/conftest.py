"""A real browser for the tests of this folder. Where there's none, they skip themselves."""

import pytest
from front_ends import BROWSER


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("there is no Chromium here")
    with playwright.sync_playwright() as started:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        chromium = started.chromium.launch(executable_path=BROWSER, args=options)
        yield chromium
        chromium.close()
