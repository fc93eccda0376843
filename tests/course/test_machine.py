"""``%%machine``: its states say what the receipt says, its bars are the receipt's times, and a guess hides both."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.scenes.machine import GUESSES, machine
from simgpu.profile import duration

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


def written(scene):
    return [part.text for part in scene.picture.parts() if part.attributes.get("class") == "code"]


def test_a_short_cell_is_shown_with_a_bar_behind_the_line_that_runs_and_of_a_long_one_only_that_line(receipt):
    scene = machine(receipt, COPIES, LINES)
    assert [line.replace("\xa0", " ") for line in written(scene)] == COPIES.splitlines()
    (bar,) = [part for part in scene.picture.parts() if part.attributes.get("class") == "host faint glide"]
    assert bar.attributes["transform"][0] == "translate(0 0)" and bar.attributes["transform"][-1] == "translate(0 48)"
    (running,) = written(machine(receipt, COPIES + "\n" * 3 + "pass", LINES))
    shown = [line.replace("\xa0", " ") for line in running]
    assert shown[0] == COPIES.splitlines()[0] and shown[-1] == COPIES.splitlines()[-1]
    one_line = fl.estimate(lambda x: x + x, np.ones(4, np.float32)).receipt
    looks = [part.attributes.get("class") for part in machine(one_line, "y = x + x", [1]).picture.parts()]
    assert "code" not in looks


def test_there_are_memories_only_where_something_is_copied(receipt):
    assert "memory" in machine(receipt, COPIES, LINES).picture.markup(0)
    only = fl.estimate(lambda x: x + x, np.ones(4, np.float32)).receipt
    assert "memory" not in machine(only, "y = x + x", [1]).picture.markup(0)
    asked = machine(only, "y = x + x", [1], memories=True, used=(512, 1024)).picture
    assert "512 B in use before" in asked.markup(0) and "result of add" not in asked.markup(0)
    assert "1.02 kB in use after" in asked.markup(-1) and "result of add" in asked.markup(-1)


def test_what_is_to_come_is_there_from_the_beginning_faintly(receipt):
    scene = machine(receipt, COPIES, LINES)
    (faint,) = [part for part in scene.picture.parts() if part.tag == "g" and part.attributes.get("class") == "faint"]
    shadows = {part.attributes["class"]: part.attributes["d"].count("M") for part in faint.inside}
    boxes = [part for part in scene.picture.parts() if part.attributes.get("class") == "op compute"]
    assert shadows["op compute"] == sum(len(group.inside) for group in boxes) == 2
    assert not any(type(part.attributes["d"]) is not str for part in faint.inside)


def test_a_guess_hides_what_happens_until_it_is_made(receipt):
    scene = machine(receipt, COPIES, LINES, guess=True)
    times = len(machine(receipt, COPIES, LINES).sentences)
    assert set(scene.sentences[:times]) == {"Where does the first copy go? Click on an arrow, then press ▶."}
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
    told = [part["aria-label"] for part in drawn if "aria-label" in part]
    assert sum(words.startswith("graph of 3: ") for words in told) == 1
    (seams,) = [part["d"] for part in drawn if part.get("class") == "seams"]
    assert seams.count("M") == 2
    assert r.by_line()[0].launches == 3 and "test_machine.py" in r.by_line()[0].line
