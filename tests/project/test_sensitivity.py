"""The table of what would change if a guessed figure were off by two is what `estimate` says today."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import sensitivity  # noqa: E402


@pytest.mark.slow
def test_the_page_is_what_the_program_writes():
    written = sensitivity.FILE.read_text(encoding="utf-8")
    assert written == sensitivity.document(), "python -m benchmarks.sensitivity --write"
