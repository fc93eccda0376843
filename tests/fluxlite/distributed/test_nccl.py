"""What is asked of CuPy and NCCL for a sum over two cards: rehearsed, with an acted NCCL, by ``pytest -m cuda``."""

import ctypes
import sys
import types

import numpy as np
import pytest
import rehearsal
from inside import begin_sum

import fluxlite as fl

pytestmark = pytest.mark.cuda


class Pair:
    """Two workers; only this one is there."""

    rank, size, world = 0, 2, None

    def __init__(self, other_card):
        self.other_card, self.links = other_card, {}

    def same(self, value, root=0):
        return value

    def all(self, value):
        return [value, (value[0], self.other_card, value[2])]


class Communicator:
    """Adds up, late, what two workers have: both have the same."""

    def __init__(self, size, unique_id, rank):
        assert (size, unique_id, rank) == (2, "id", 0)

    def allReduce(self, source, target, count, kind, operation, stream):
        assert source == target and (kind, operation) == ("float32", "sum")
        memory = np.ctypeslib.as_array(ctypes.cast(source, ctypes.POINTER(ctypes.c_float)), (count,))
        rehearsal.streams.add(stream, lambda: np.multiply(memory, 2, out=memory))


@pytest.fixture
def card(monkeypatch):
    if not rehearsal.is_on():
        pytest.skip("NCCL was not run on a real GPU: it takes two cards and two workers")
    import cupy

    names = {f"NCCL_{name}": name.lower() for name in ("SUM", "MIN", "MAX", "FLOAT32", "FLOAT64")}
    acted = types.SimpleNamespace(
        available=True, get_unique_id=lambda: "id", NcclCommunicator=Communicator, **names
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "cupy.cuda.nccl", acted)
    monkeypatch.setattr(cupy.cuda, "nccl", acted, raising=False)
    fl.reset_notices()
    return fl.get_device("CUDA", 0)


def test_a_sum_comes_after_what_computes_it_and_before_what_needs_it(card):
    x, workers = card(np.arange(4, dtype=np.float32)), Pair(1)
    assert fl.cpu(begin_sum(workers, x)()).tolist() == [0, 2, 4, 6]
    assert type(workers.links[card]) is Communicator


def test_each_worker_of_a_computer_takes_a_card_of_its_own(card, monkeypatch):
    from fluxlite.distributed import world

    monkeypatch.setattr("platform.node", lambda: "a")
    for rank, taken, hosts in ((1, 1, "aa"), (2, 0, "bba"), (2, 0, "aaa"), (0, 0, "aaa")):
        group = types.SimpleNamespace(rank=rank, all=lambda host, hosts=hosts: list(hosts))
        with card:
            world._take_a_card(group)
            assert fl.gpu_device().index == taken
