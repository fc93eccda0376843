"""Bad arguments: the errors are clear, the judge of them is strict, and thousands of calls neither hang nor die."""

import inspect
import sys
from pathlib import Path

import arguments
import numpy as np
import pytest
from arguments import judge, run, summary
from bad_arguments import BAD, TARGETS, Thing
from inside import in_words

import fluxlite as fl

CALLS = 1200

# -- what was unclear -----------------------------------------------------------------------------------------------

x = np.ones((2, 3), np.float32)

UNCLEAR = [
    (lambda: fl.simulate_gpu(2**40), ValueError, "simulate_gpu\\(count\\) takes at most 1,024 GPUs, got 1099511627776"),
    (lambda: fl.simulate_gpu(memory="1GB"), TypeError, "memory=…\\), in bytes, is a whole number, got '1GB'"),
    (lambda: fl.simulate_gpu(memory=float("nan")), TypeError, "memory=….* is a whole number, got nan"),
    (lambda: fl.move(x, None), TypeError, "move\\(x, device\\) takes an array, a device .*; device=None"),
    (lambda: fl.rule(np.cbrt, lambda g, out, x: g, add_into=3), TypeError, "add_into=…\\) is a function, got 3"),
    (lambda: fl.astype(x, "z"), TypeError, "astype\\(x, dtype\\) .*; dtype='z': data type 'z' not understood"),
    (lambda: fl.scatter_add(np.ones(3), [7], np.ones(1)), IndexError, "scatter_add\\(.*index=a list.* out of bounds"),
    (lambda: fl.crossentropy(None, None), TypeError, "crossentropy\\(prediction, target\\) takes two arrays"),
    (lambda: fl.calibrate({}), KeyError, "calibrate\\(recorded\\) .*got recorded=a dict"),
    (lambda: fl.glorot_uniform(), TypeError, "as in glorot_uniform\\(5, 10\\), got none"),
    (lambda: fl.getitem(x, 9), IndexError, "getitem\\(x, index\\) .*index=9: index 9 is out of bounds"),
    (lambda: fl.jacobian(range(5), None), TypeError, "jacobian\\(f, …\\): f is a function, got a range"),
    (lambda: fl.batch(float("nan")), TypeError, "batch\\(observations\\) takes several of them, .*got nan"),
    (lambda: fl.get_device("CPU", {}), TypeError, "get_device\\(backend, idx\\): idx is a whole number, got a dict"),
    (lambda: fl.softmax(x, "a"), TypeError, "softmax\\(x, axis\\) takes .*got x=an array of float32, .*; axis='a'"),
    (lambda: fl.cpu(x, 3), TypeError, "dtype=… is a type of numbers, such as np.float16, or None, got 3"),
    (lambda: fl.fmap(3, x), TypeError, "function=… is a function, got 3"),
    (lambda: fl.KeyPath(("a",)).get({"b": 1}), KeyError, "KeyPath.get\\(tree\\) takes a tree with something"),
    (lambda: fl.Chain(fl.Dense(3, 2))["x"], TypeError, "Chain\\[index\\] takes the place of a layer, .*got index='x'"),
    (lambda: fl.allowscalar("no"), TypeError, "allowscalar\\(allow\\) is True or False, got 'no'"),
    (lambda: fl.Seconds("1", "measured"), TypeError, "Seconds\\(value, kind\\) takes a number of seconds, got '1'"),
    # arguments that aren't there
    (lambda: fl.Conv(), TypeError, "^Conv\\(\\) is missing 3 .*; write Conv\\(kernel, inputs, outputs\\)$"),
    (lambda: fl.LSTMCell.of(x), TypeError, "^LSTMCell.of\\(\\) is missing .* 'Wh'; write LSTMCell.of\\(Wi, Wh\\)"),
    (lambda: fl.sparse_init(2, 3), TypeError, "'sparsity'; write sparse_init\\(\\*shape, sparsity=…\\)"),
    # arguments that are too many, or have another name
    (lambda: fl.MaxPool((2, 2), 1), TypeError, "^MaxPool\\(\\) takes 2 .*; write MaxPool\\(kernel, stride=…"),
    (lambda: fl.MultiHeadAttention(8, 2), TypeError, "^Multi.* takes 2 .*; write MultiHeadAttention\\(dims, nheads=…"),
    (lambda: fl.LSTM(2, 3, num_layers=2), TypeError, "^LSTM\\(.*: LSTMCell\\(\\) got an unexpected .*'num_layers'"),
    # layers
    (lambda: fl.CrossCor((3, 0), 1, 2), ValueError, "CrossCor\\(kernel\\) is at least 1, got 0"),
    (lambda: fl.BatchNorm(3, affine=x), TypeError, "BatchNorm\\(affine=…\\) is True or False, got an array"),
    (lambda: fl.Dropout(0.5, dims=3.5), TypeError, "Dropout\\(p, dims\\) takes .*; dims=3.5: 'float' object"),
    (lambda: fl.MultiHeadAttention(8, dropout_prob="a"), TypeError, "dropout_prob=….* is a probability, got str 'a'"),
    (lambda: fl.Upsample(x), ValueError, 'mode is "nearest" or "bilinear"'),
    (lambda: fl.LSTMCell(3, 2)(x, ...), TypeError, "LSTMCell\\(3 => 2\\) takes a state of two arrays, .*got ellipsis"),
    (lambda: fl.LayerNorm(3)([[1], [2, 3]]), TypeError, "^LayerNorm\\(3\\) takes an array, got a list"),
    (lambda: fl.trainmode(fl.Dropout(0.5))(BAD["deep"]()), TypeError, "takes an array of floating-point"),
    # and what's around them
    (lambda: fl.outputsize(fl.Dense(2, 3), (2,), dtype={1}), TypeError, "dtype=… is a type of numbers, .*got a set"),
    (lambda: fl.gradient(fl.getitem, np.ones(2), 7.0), TypeError, "^fluxlite.getitem has no derivative .* index"),
    (lambda: fl.lecun_normal(3, gain=np.ones(2)), TypeError, "^lecun_normal\\(shape, gain\\) takes sizes"),
    (lambda: fl.getobs(x, 7), IndexError, "getobs\\(data, index\\) takes .*there is no observation 7"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "words"), UNCLEAR, ids=[words for *_, words in UNCLEAR])
def test_what_was_unclear(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_switches_and_counts_may_be_numpys():
    with fl.allowscalar(np.True_):
        assert fl.RMSProp(centred=np.False_) and fl.AdamW(couple=1)
    assert len(list(fl.DataLoader(x, shuffle=np.True_))) == 2
    with fl.simulate_gpu(np.int64(3), memory=np.int64(2**20)) as device:
        assert device.memory().capacity == 2**20
    with fl.simulate_gpu(True), fl.simulate_gpu(False):
        assert fl.gpu_device() is None


@pytest.mark.parametrize("size", [2**33, 2**60])
def test_what_the_card_cannot_hold_is_out_of_memory_wherever_it_comes_from(size):
    with pytest.raises(MemoryError, match=r"T4\) is out of memory: [0-9,]+ bytes asked for"):
        fl.estimate(lambda x: np.zeros_like(x, shape=(size,)) + 1, x, shapes_only=True)


def test_a_card_named_like_a_tag_is_drawn():
    card = fl.calibrate({"card": "<b>", "measurements": [{"what": "launch", "repeats": [1e-5]}]})
    assert "simulated (&lt;b&gt;)" in fl.estimate(lambda x: x + 1, x, like=card).receipt.plot().svg


def test_preferences_nested_too_deep_are_no_preference(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FLUXLITE_PROJECT", str(tmp_path))
    (tmp_path / "LocalPreferences.toml").write_text("a=" + "[" * 5000 + "]" * 5000)
    assert fl.gpu_name() == "CPU" or fl.functional(fl.gpu_name())
    assert "so there is no preference: its parts are nested too deep" in capsys.readouterr().err
    with pytest.raises(ValueError, match="LocalPreferences.toml is not valid TOML"):
        fl.gpu_backend("CPU")


# -- errors that are told again -------------------------------------------------------------------------------------


def test_the_error_of_the_callers_function_stays_as_it_is():
    def wrong(a):
        raise AttributeError("mine")

    class Mine(fl.Dense):
        def __init__(self, table):
            super().__init__(*table["sizes"])

    with pytest.raises(AttributeError, match="^mine$"):
        fl.mse(x, x, wrong)
    with pytest.raises(TypeError, match="^unsupported operand"):
        fl.primitive(lambda a: a**3)(None)
    with pytest.raises(KeyError, match="^'sizes'$"):
        Mine({})
    with pytest.raises(TypeError, match=r"^Dense\(\) is missing .*; write Dense\(inputs, outputs\)"):
        Mine({"sizes": (2,)})


def test_the_cause_is_kept():
    with pytest.raises(TypeError, match=r"^relu\(x\) takes an array or a number, got x=None: ") as found:
        fl.relu(None)
    assert isinstance(found.value.__cause__, TypeError) and found.value.__cause__ is not found.value


@pytest.mark.parametrize(("value", "words"), [
    (None, "None"), ("a" * 99, "'aaaa"), (x, "an array of float32, shape (2, 3)"), (int, "the class int"),
    (Thing(), "a Thing"), (2**80, "an int"), (("a", 2), "('a', 2)"), (BAD["deep"](), "a list"),
])  # fmt: skip
def test_a_value_in_words(value, words):
    assert in_words(value).startswith(words) and len(in_words(value)) < 50


# -- the judge ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("error", "kind"), [
    (TypeError("softmax(x, axis): axis is a whole number, got 'text'"), "clear"),
    (TypeError("axis must be an integer"), "clear"),
    (TypeError("softmax takes a whole number, got 'text'"), "clear"),
    (TypeError("softmax can't do that"), "unclear"),  # the function, but not what it got
    (TypeError("got 'text'"), "unclear"),  # what it got, but not where
    (TypeError("'str' object cannot be interpreted as an integer"), "unclear"),
    (TypeError("the taxis are late"), "unclear"),  # no word of its own
    (AttributeError("'str' object has no attribute 'axis'"), "internal"),
    (KeyError("axis"), "internal"), (IndexError("axis out of range"), "internal"),
    (UnboundLocalError("axis"), "internal"),
    (RecursionError("maximum recursion depth exceeded"), "unclear"), (SystemError("axis"), "unclear"),
])  # fmt: skip
def test_the_judge(error, kind):
    given = {"x": np.ones(2), "axis": "text"}
    assert judge("softmax", given, {"axis": "text"}, _plain(error)).kind == kind


def _plain(error):
    """Raised by a function that's neither fluxlite's nor the caller's."""
    code = compile("def f(error):\n    raise error", "/somewhere/else.py", "exec")
    place = {}
    exec(code, place)
    try:
        place["f"](error)
    except Exception as found:
        found.__traceback__ = found.__traceback__.tb_next
        return found


@pytest.mark.parametrize(("message", "names"), [
    ("data=…: a list", True), ("f(data, k): wrong", True), ("data is a list", True), ("the data type is odd", False),
    ("there's no data at all", False), ("metadata is a list", False),
])  # fmt: skip
def test_an_everyday_word_counts_only_as_the_name_of_an_argument(message, names):
    assert arguments.names_argument("data", message) is names


def test_an_error_of_the_callers_function_is_theirs():
    bad = {"agg": BAD["raises"]()}
    with pytest.raises(ValueError) as found:
        fl.mse(x, x, bad["agg"])
    assert judge("mse", {"prediction": x, **bad}, bad, found.value).kind == "theirs"


# -- the calls ------------------------------------------------------------------------------------------------------


def test_every_function_is_called_and_its_good_arguments_are_good(tmp_path):
    """Otherwise every error would be about another argument."""
    functions = {name: getattr(fl, name) for name in fl.__all__ if callable(getattr(fl, name))}
    names = {name for name, function in functions.items() if inspect.signature(function).parameters}
    assert names - {target.name for target in TARGETS} == {"TrackedArray"}
    call_each = "from bad_arguments import *\nfrom good_arguments import *\nfor t in TARGETS: t.call(fresh(t)); reset()"
    arguments.process(0, 0, tmp_path / "results", call_each)  # raises if one does


def test_calls_with_bad_arguments():
    """``nox -s arguments -- 20000`` makes more of them."""
    found = list(run(0, CALLS))
    kinds, lines = summary(found)
    assert len(found) == CALLS and kinds["clear"] > CALLS / 2
    assert kinds["hang"] + kinds["crash"] + kinds["internal"] == 0, "\n".join(lines)
    assert kinds["unclear"] <= 0.01 * len(found), "\n".join(lines)


PLANTED = """
import os, time
from bad_arguments import BAD, TARGETS, Target

def hangs(x): time.sleep(60)
def dies(x): os._exit(3)
def greedy(x): return bytearray(1 << 40)
def wordless(x): return [][3]
def fine(x): raise TypeError("fine(x) takes a number")

SECONDS = 0.5
TARGETS[:] = [Target(f.__name__, f) for f in (hangs, dies, greedy, wordless, fine)]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
def test_planted_faults_are_found():
    found = [verdict.kind for _, verdict in run(0, 5, PLANTED)]
    assert found == ["hang", "crash", "unclear", "internal", "clear"]
    kinds, lines = summary(list(run(2, 3, PLANTED)))
    assert kinds == {"unclear": 1, "internal": 1, "clear": 1} and "MemoryError" in lines[0] and "IndexError" in lines[1]


def test_a_call_can_be_made_again():
    """And it leaves your files alone."""
    number = next(n for n in range(len(TARGETS)) if TARGETS[n].name == "softmax")
    before = sorted(Path.cwd().iterdir())
    assert arguments.made(number) == arguments.made(number)
    assert sorted(Path.cwd().iterdir()) == before
