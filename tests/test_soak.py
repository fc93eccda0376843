"""A few rounds of the soak, and that it would notice what's left over. ``nox -s soak`` takes ten minutes."""

import os
import threading
from pathlib import Path

import pytest
import soak

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system has no /proc")


def test_nothing_is_left_over_after_a_few_rounds():
    before, after, rounds = soak.soak(0, 5, warm_up=3)
    assert rounds == 5 and [line for line in soak.verdict(before, after) if not line.startswith("memory")] == []
    assert after["objects"] - before["objects"] < 100  # memory is only compared after many rounds


LEAKS = {
    # A share of what there is: after thousands of tests, a process has grown so large that 10 MB go unnoticed.
    "memory": lambda kept: kept.append(bytes(range(256)) * max(40_000, soak.resident() // 256 // 50)),
    "threads": lambda kept: threading.Thread(target=kept[0].wait, daemon=True).start(),
    "open files": lambda kept: kept.append(os.fdopen(os.open(os.devnull, os.O_RDONLY))),
}


@pytest.mark.parametrize("name, leak", LEAKS.items(), ids=LEAKS)
def test_what_is_left_over_is_noticed(name, leak):
    kept = [threading.Event()]
    try:
        before, after, _ = soak.soak(0, 10, lambda folder, number: leak(kept), warm_up=1)
        assert [line.partition(":")[0] for line in soak.verdict(before, after)] == [name]
    finally:
        kept[0].set()
        for file in kept[1:]:
            getattr(file, "close", int)()
