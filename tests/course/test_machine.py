"""``%%machine``: its states say what the receipt says, its bars are the receipt's times, and a guess hides both."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.scenes.machine import GUESSES, machine
from simgpu.profile import bars_of, duration

COPIES = "W = fl.gpu(np.ones((200, 500), np.float32))\nh = np.tanh(W @ W.T)\nback = fl.cpu(h)"
LINES = [1, 2, 2, 3, 3]  # copy, matmul, tanh, copy back, the wait for it


@pytest.fixture
def receipt():
    fl.simulate_gpu(like="NVIDIA T4")
    exec(COPIES, {"fl": fl, "np": np})  # the first time, operations are loaded
    fl.cuda.synchronize()
    with fl.receipt() as found:
        exec(COPIES, {"fl": fl, "np": np})
    return found


def test_each_state_says_what_the_receipt_says(receipt):
    scene = machine(receipt, COPIES, LINES)
    copy, product, tanh, back, wait = receipt.timeline()
    assert "in line 1, the host asks: copy 400 kB; orders in the queue: 0; the GPU waits" in scene.sentences[0]
    for moment, works in ((copy, "copy 400 kB"), (product, "matmul"), (tanh, "tanh"), (back, "copy 160 kB")):
        assert scene.at(time=duration(moment.start)).endswith(f"the GPU works: {works}.")
    waiting = scene.at(time=duration(wait.asked))
    assert "in line 3, the host waits; orders in the queue: " in waiting
    assert scene.sentences[-1].endswith("the host is done; orders in the queue: 0; the GPU is done.")
    assert scene.settings[-1]["time"] == duration(receipt.seconds)


def test_the_lanes_bars_are_the_receipts_times(receipt):
    picture = machine(receipt, COPIES, LINES).picture
    drawn = [part.attributes for part in picture.parts() if str(part.attributes.get("class")).startswith("bar ")]
    bars = [bar for moment in receipt.timeline() for bar in bars_of(moment) if bar.end > bar.start]
    assert [bar.look for bar in bars] == [part["class"].split()[1] for part in drawn]
    whole, left, width = float(receipt.seconds), 104, 632 - 104
    for bar, part in zip(bars, drawn):
        assert part["x"] == pytest.approx(left + width * bar.start / whole, abs=0.1)
        assert part["width"] == pytest.approx(width * (bar.end - bar.start) / whole, abs=0.2)


def test_a_guess_hides_what_happens_until_it_is_made(receipt):
    scene = machine(receipt, COPIES, LINES, guess=True)
    times = len(machine(receipt, COPIES, LINES).sentences)
    assert set(scene.sentences[:times]) == {"Where does the first copy go? Click, then press ▶."}
    assert scene.sentences[times].startswith("✓ You're right. The first copy goes to the GPU. After 0 s")
    assert scene.sentences[-1].startswith("✗ Not this time. The first copy goes to the GPU.")
    assert "matmul" not in scene.picture.markup(0, hidden=False)
    before, *_, after = scene.picture.attributes["viewBox"]
    assert int(before.split()[3]) < int(after.split()[3]), "there is an empty band before the guess"
    picks = [part.attributes["data-pick"] for part in scene.picture.parts() if "data-pick" in part.attributes]
    assert picks == [f"0:{n}" for n in range(1, len(GUESSES))]


def test_a_long_cell_shows_its_first_events_and_stays_small():
    fl.simulate_gpu()
    x, w = fl.gpu((np.ones((8, 4)), np.ones((4, 4))))
    with fl.receipt() as r:
        for _ in range(25):
            x = np.tanh(x @ w)
            float(np.sum(x))
    scene = machine(r, "a\nb\nc", [2] * 1000, guess=True)
    left = len(r.timeline()) - 40
    assert scene.sentences[-1].endswith(f"The first 40 events; {left} more followed.")
    assert len(scene._repr_html_()) < 60_000


def test_a_graph_is_one_order_with_its_kernels_marked_inside():
    device = fl.simulate_gpu(like="NVIDIA T4").__enter__()
    step = fl.captured(lambda x: np.tanh(np.exp(x) + 1))
    x = fl.gpu(np.ones((4, 4), np.float32))
    for _ in range(3):
        step(x)
    device.synchronize()
    with fl.receipt() as r:
        step(x)
    moments = r.timeline()
    assert [moment.kind for moment in moments] == ["launch", "graph", *["in a graph"] * 3, "launch"]
    scene = machine(r, "y = step(x)", [1] * len(moments))
    assert any("the host asks: graph of 3" in said for said in scene.sentences)
    assert scene.at(time=duration(moments[2].start)).endswith("the GPU works: graph of 3.")
    drawn = [part.attributes for part in scene.picture.parts()]
    bars = [part for part in drawn if str(part.get("class")) == "bar work"]
    assert len(bars) == 3, "two copies and the graph"
    (seams,) = [part["d"] for part in drawn if str(part.get("d", "")).endswith("v5")]
    assert seams.count("M") == 2
    assert r.by_line()[0].launches == 3 and "test_machine.py" in r.by_line()[0].line
