"""The tape that is drawn is the one that `back` walks."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.lesson14.tape import growing_tape, tape


@pytest.fixture
def w():
    return fl.param(np.array([0.5, -1.0]))


def relative(entries):
    """The entries as text, numbered from 1, in whatever program they were made."""
    numbers = {f"#{entry.number}": f"#{i}" for i, entry in enumerate(entries, 1)}
    return [f"{e.function}({', '.join(numbers.get(o, o) for o in e.operands)})" for e in entries]


def test_functions_and_operands_in_the_order_of_the_call(w):
    x = np.array([1.0, 2.0])
    loss = np.sum(np.concatenate([x - w, x, w])[1:] * 2.0)
    assert relative(tape(loss)) == [
        "param()",
        "np.subtract(array, #1)",
        "np.concatenate(#2, array, #1)",
        "fluxlite.getitem(#3, slice(1,)",
        "np.multiply(#4, 2.0)",
        "np.sum(#5)",
    ]


def test_a_result_used_twice_is_one_entry_and_one_not_used_is_none(w):
    h = np.tanh(w)
    np.exp(h)
    assert relative(tape(h * h)) == ["param()", "np.tanh(#1)", "np.multiply(#2, #2)"]


def test_what_back_has_cleared(w):
    h = np.tanh(w)
    fl.back(np.sum(h))
    assert relative(tape(h)) == ["cleared by back()"]


def test_numbers_inside_a_gradient():
    seen = []

    def f(x):
        y = x * 3.0 + 1.0
        seen.extend(relative(tape(y)))
        return y

    fl.gradient(f, 2.0)
    assert seen == ["tracked from the start()", "np.multiply(#1, 3.0)", "np.add(#2, 1.0)"]


def test_prints_one_entry_in_each_line(w):
    lines = repr(tape(np.tanh(w))).splitlines()
    assert lines[0] == f"#{w.number} param" and lines[1].endswith(f" np.tanh(#{w.number})")


def test_only_what_is_tracked():
    with pytest.raises(TypeError, match="takes results that are tracked, got ndarray"):
        tape(np.ones(2))


def test_the_picture_has_a_column_for_each_line(w, monkeypatch):
    pytest.importorskip("matplotlib")
    seen = []
    monkeypatch.setattr("fluxlite_course.lesson14.tape.show", lambda figure, sentence: seen.append(figure) or sentence)
    b = fl.param(np.array(0.1))
    h = w + b
    sentence = growing_tape({"w, b": (w, b), "h = w + b": h, "np.sum(h)": np.sum(h)})
    assert sentence.startswith("The tape after each line has 2, 3, 4 entries;")
    texts = seen[0].axes[0].texts
    new = [text.get_text() for text in texts if text.get_weight() == "bold"]
    assert [text.split(" ", 1)[-1].split("(")[0] for text in new] == ["param", "param", "add", "sum", "back"]
    assert {"w, b", "h = w + b", "np.sum(h)"} <= {text.get_text() for text in texts}
