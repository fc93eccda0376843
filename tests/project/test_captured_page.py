"""The page about `captured`: its code runs, its replay is what's replayed, and each message in its tables is raised."""

import contextlib
import copy
import functools
import io
import os
import random
import re
import time
import types
from pathlib import Path

import numpy as np
import pytest

import fluxlite as fl

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "site" / "pages" / "captured.md"
TEXT = PAGE.read_text(encoding="utf-8")
CALLS = 5


def rows_below(heading):
    """The rows of the table below a heading, as lists of cells."""
    table = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.fixture(scope="module")
def printed():
    """What each block of code prints, in order. They go on from one another."""
    found, names = [], {"__name__": "page"}
    environment = dict(os.environ)
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, f"{PAGE.name}, block {number}", "exec"), names)
        found.append(out.getvalue())
    os.environ.clear()
    os.environ.update(environment)
    return found, names


def without_numbers(replay):
    """Names as ``a#``: their numbers depend on how many guards there are."""
    return re.sub(r"(?<=[a-z_])\d+", "#", replay)


def test_the_code_of_the_page_runs_and_shows_what_its_about(printed):
    (training, times, explained, check, _), names = printed
    first, last = re.findall(r"[\d.]+", training)
    assert float(last) < float(first) / 20
    assert re.findall(r"\d+ (µs a step, measured)", times) == ["µs a step, measured"] * 2
    assert len(names["step"].plans) == 1 and len(names["scale"].plans) == 1
    assert "a replay doesn't give what the step itself gives" in check
    shown = re.search(r"^```text\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)[1]
    same = without_numbers(shown) in without_numbers(explained)
    assert same, f"the page shows another replay: take the one that it prints now\n{explained}"


# -- what's refused ---------------------------------------------------------------------------------------------------

REFUSED = [row for row in rows_below("If it's refused") if row[0].startswith("`")]


def names_of_the_table():
    table = np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32)
    names = {"rng": np.random.default_rng(0), "box": types.SimpleNamespace(w=np.ones(3, np.float32)), "table": table}
    names |= {
        "numbers": iter([1.0] * 100),
        "kept": [],
        "copy": copy,
        "np": np,
        "fl": fl,
        "os": os,
        "random": random,
        "time": time,
    }
    return names


@pytest.mark.parametrize(("says", "message"), [row[:2] for row in REFUSED], ids=range(len(REFUSED)))
def test_each_message_of_the_table_is_raised(says, message, monkeypatch):
    names = names_of_the_table()
    x = names["table"][:6]
    expression = re.match("`(.*?)`", says)[1]
    step = fl.captured(eval(f"lambda x: {expression}", names))
    with pytest.raises(fl.CaptureError) as caught:
        for i in range(CALLS):
            monkeypatch.setenv("WAY", str(i % 2))
            step(x)
    assert message in str(caught.value)


INSTEAD = [
    lambda x: np.where(x.sum() > 0, x, -x),
    lambda x: np.where(x > 0, x, 0),
    lambda x: np.zeros_like(x, shape=(2, 3)),
    lambda x, rng=np.random.default_rng(0): x * rng.random(x.shape),  # noqa: B008
    lambda x, rng=np.random.default_rng(0): x * rng.random((1,)),  # noqa: B008
    lambda x, table=np.array([1, 2, 3]): table[np.argmax(x[0])],  # noqa: B008
]


@pytest.mark.parametrize("number", range(len(INSTEAD)))
def test_what_the_page_says_to_do_instead_is_captured(number):
    step = fl.captured(INSTEAD[number])
    x = names_of_the_table()["table"]
    for _ in range(CALLS):
        step(x)
    assert len(step.plans) == 1


# -- what else it says ------------------------------------------------------------------------------------------------

X = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)


def trained(rule):
    model = fl.Chain(fl.Dense(3, 4, np.tanh), fl.Dropout(0.5), fl.Dense(4, 2))
    state = fl.setup(rule, model)

    @fl.captured
    def step(x):
        loss, (grads,) = fl.withgradient(lambda m: np.mean(m(x) ** 2), model)
        fl.update(state, model, grads)
        return loss

    return step, model, state


def captures(step, *changes):
    """How many recordings there are after four calls, and after each change and four more."""
    found = []
    for change in (None, *changes):
        if change is not None:
            change()
        for _ in range(4):
            step(X)
        found.append(step._captures)
    return found


def test_a_rate_is_read_and_what_is_replaced_is_recorded_again():
    step, model, state = trained(fl.Adam(0.01))
    changes = [
        lambda: fl.adjust(state, 0.5),
        lambda: setattr(model.layers[0], "weight", model.layers[0].weight.copy()),
        lambda: fl.freeze(state.layers[0]),
        lambda: fl.testmode(model),
    ]
    assert captures(step, *changes) == [1, 1, 2, 3, 4]


def test_a_number_outside_that_changes_at_every_call_is_refused_at_the_third():
    own = types.SimpleNamespace(rate=1.0, array=np.ones((), np.float32))
    step = fl.captured(lambda x: x * own.rate)
    assert captures(step) == [1]
    for _ in range(2):
        own.rate /= 2
        step(X)
    own.rate /= 2
    with pytest.raises(fl.CaptureError, match=r"line \d+: it's called with 0\.125, and the time before with 0\.25"):
        step(X)
    instead = fl.captured(lambda x, rate: x * rate * own.array)
    for i in range(8):
        own.array[...] = i
        assert (instead(X, np.float32(i)) == X * np.float32(i) * np.float32(i)).all()
    assert instead._captures == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_clipnorm_raises_as_its_written_and_not_in_a_captured_step():
    step, _, _ = trained(fl.OptimiserChain(fl.ClipNorm(1.0), fl.Descent(0.1)))
    with pytest.raises(FloatingPointError):
        step.eager(X * np.float32(np.inf))
    step, _, _ = trained(fl.OptimiserChain(fl.ClipNorm(1.0), fl.Descent(0.1)))
    for _ in range(3):
        step(X)
    assert np.isnan(step(X * np.float32(np.inf)))


@pytest.mark.parametrize("rule", [fl.RAdam(0.01), fl.OptimiserChain(fl.AccumGrad(2), fl.Descent(0.1))], ids=str)
def test_two_optimizers_decide_by_a_count(rule):
    step, _, _ = trained(rule)
    with pytest.raises(fl.CaptureError, match="a decision"):
        step(X)


def test_training_stops_at_a_loss_that_isnt_a_number():
    model = fl.Dense(3, 1)
    data = [(X,)] * 5 + [(X * np.float32(np.nan),)]
    with pytest.raises(FloatingPointError):
        fl.train(lambda m, x: np.mean(m(x) ** 2), model, data, fl.setup(fl.Descent(0.1), model), captured=True)


def test_what_has_no_effect_on_the_results_happens_while_recording_only(capsys):
    step = fl.captured(lambda x: (print("hello"), x * 2)[1])
    for _ in range(5):
        step(X)
    assert capsys.readouterr().out == "hello\n" * 2


def test_results_are_yours_and_a_step_can_be_switched_off_and_forgotten():
    step = fl.captured(lambda x: x * 2)
    results = [step(X) for _ in range(4)]
    assert not any(np.shares_memory(results[-1], x) for x in results[:-1])
    step.clear()
    assert "no replay yet" in step.explain()
    with fl.captured.off():
        assert captures(step) == [0]
    assert captures(step) == [1]
    assert fl.gradient(lambda x: np.sum(step(x)), X)[0][0, 0] == 2


def test_every_name_of_the_last_table_is_there():
    step = fl.captured(lambda x: x, check=100)
    shown = [row[0] for row in rows_below("All of it in one table")]
    for name in re.findall(r"`step\.(\w+)", " ".join(shown)):
        assert hasattr(step, name)
    for name in re.findall(r"`fl\.([\w.]+)", " ".join(shown)):
        functools.reduce(getattr, name.split("."), fl)


@pytest.mark.on("Simulated")
def test_a_step_on_a_simulated_gpu_is_one_launch(device):
    step = fl.captured(lambda x: np.tanh(x * 2) + 1)
    for _ in range(3):
        step(device(X))
    x = device(X)
    with fl.receipt() as r:
        step(x)
    assert "1 graph" in str(r)
