"""A few rounds of the soak, and that it would notice what's left over. ``nox -s soak`` takes ten minutes."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import soak

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system has no /proc"),
]


def test_nothing_is_left_over_after_a_few_rounds():
    before, after, rounds = soak.soak(0, 5, warm_up=3)
    assert rounds == 5 and [line for line in soak.verdict(before, after) if not line.startswith("memory")] == []
    assert after["objects"] - before["objects"] < 100  # memory is only compared after many rounds


LEAKS = {
    "memory": lambda kept: kept.append(bytes(range(256)) * 40_000),
    "threads": lambda kept: threading.Thread(target=kept[0].wait, daemon=True).start(),
    "open files": lambda kept: kept.append(os.fdopen(os.open(os.devnull, os.O_RDONLY))),
}


@pytest.mark.parametrize("name", LEAKS)
def test_what_is_left_over_is_noticed(name):
    # In a process of its own: one that has run thousands of tests has free memory to give, and doesn't grow.
    done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [name]


def plant(name):
    """Print what the soak says when each round leaves something over."""
    kept = [threading.Event()]
    before, after, _ = soak.soak(0, 10, lambda folder, number: LEAKS[name](kept), warm_up=1)
    print("\n".join(soak.verdict(before, after)))
    kept[0].set()


if __name__ == "__main__":
    plant(sys.argv[1])
