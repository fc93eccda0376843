"""``%%machine``: its states say what the receipt says, its bars are the receipt's times, and a guess hides both."""

import json
import sys

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
    with pytest.raises(ValueError, match="needs events of a simulated GPU"):
        with fl.receipt() as nothing:
            pass
        machine(nothing, "pass", [])


@pytest.fixture
def shell(monkeypatch, tmp_path):
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell puts its own there
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    shell.run_line_magic("load_ext", "fluxlite_course")
    shell.run_cell("import numpy as np; import fluxlite as fl")
    return shell


def test_the_magic_runs_the_cell_and_names_its_own_lines(shell, capsys):
    fl.simulate_gpu()
    shell.run_cell("def double(x):\n    y = 0\n    return x + x")
    scene = shell.run_cell("%%machine\na = fl.gpu(np.ones(3))\nb = double(a)\nprint('printed')\nb.shape").result
    assert shell.user_ns["b"].shape == (3,)
    assert "in line 2, the host asks: add" in " ".join(scene.sentences)
    out = capsys.readouterr().out
    assert "printed" in out and "(3,)" in out
    assert json.dumps(scene.data())


def test_the_magic_says_why_it_draws_nothing(shell, capsys):
    fl.simulate_gpu(False)
    assert shell.run_cell("%%machine\nc = 3\nc").result is None
    assert "Run fl.simulate_gpu(), and then this cell again." in capsys.readouterr().out
    fl.simulate_gpu()
    assert shell.run_cell("%%machine guess\nc = 4").result is None
    assert "asked nothing of the GPU" in capsys.readouterr().out
    failed = shell.run_cell("%%machine\nd = fl.gpu(np.ones(3))\nd + np.ones(3)")
    assert isinstance(failed.error_in_exec, TypeError) and failed.result is None
    assert "d + np.ones(3)" in capsys.readouterr().out
    shell.run_cell("%%machine slowly\nc = 5")
    assert "it's %%machine or %%machine guess" in capsys.readouterr().err
