"""A real browser for the tests of this folder. Where there's none, they skip themselves."""

import pytest
from browsers import CHROMIUM, OPTIONS, chromium


@pytest.fixture(scope="module")
def browser():
    with chromium() as starter:
        started = starter.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield started
        started.close()
