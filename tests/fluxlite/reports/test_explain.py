"""`explain`: what it shows of a model, that it counts rightly, and that it copies nothing and waits for nothing."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pytest
from inside import DrawnRow, as_html, as_text
from inside import explanation_described as described
from kinds import f32

from fluxlite import Chain, Dense, explain, functor, gpu, receipt, simulate_gpu
from fluxlite.devices import devices


class Unregistered:
    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, x):
        return x * self.gamma


@functor(children=("actor",))
@dataclass
class ActorCritic:
    actor: object
    critic: object
    name: str = "pair"


@functor(trainable=("head",))
@dataclass
class Agent:
    body: object
    head: object


def line(model, path):
    """The line for the thing at `path`."""
    (found,) = [text for text in repr(explain(model)).split("\n") if text.lstrip("├└│ ").startswith(f"{path} ")]
    return found


def test_every_place_of_a_chain():
    model = Chain(Dense(4, 3, np.tanh), np.tanh)
    assert repr(explain(model)) == (
        "Chain                       C CPU\n"
        "└ layers                    C CPU  tuple of 2\n"
        "  ├ layers[0]               C CPU  Dense\n"
        "  │ ├ layers[0].weight      C CPU  float32 (3, 4): 48 bytes; moves, trains\n"
        "  │ ├ layers[0].bias        C CPU  float32 (3,): 12 bytes; moves, trains\n"
        "  │ └ layers[0].activation         function tanh\n"
        "  └ layers[1]                      function tanh\n"
        "\n"
        "2 arrays can move: 60 bytes on CPU.\n"
        "15 of 15 numbers in them train (parameters)."
    )


def test_a_moved_part_and_the_totals():
    simulate_gpu()
    found = explain(Chain(Dense(4, 3), gpu(Dense(3, 2))))
    assert found.arrays == 4 and found.parameters == 23 and found.bytes == {"CPU": 60, "Simulated:0": 32}
    text = repr(found)
    assert text.startswith("Chain                       C+G CPU, Simulated:0\n")
    assert "layers[1].weight      G Simulated:0         float32 (2, 3)" in text
    assert "4 arrays can move: 60 bytes on CPU, 32 bytes on Simulated:0." in text


WEIGHT = f32(2)


def reads_a_global(x):
    return x * WEIGHT


def reads_an_attribute(model):
    return model.WEIGHT


def places():
    """A model, a place in it, and what stands there."""
    W, layer, shared, captured = f32(2, 3), Dense(2, 2), f32(3), f32(3)
    tied = {"a": W, "b": W.T, "c": W[:], "d": Dense.of(W)}
    shut = Chain(Unregistered([f32(2), f32(3)]), Dense(1, 1))
    methods = [Unregistered(f32(2)).__call__, Dense(2, 2).__call__]
    subset = ActorCritic(f32(2), f32(3))
    subset.added_later = Agent([f32(4)], 1)
    agent = Agent([f32(2), shared, np.arange(3)], shared)
    closure = [lambda x: x * captured]
    return [
        (tied, "['b']", "tied to ['a'], transposed"),
        (tied, "['c']", "tied to ['a']: one array"),
        (tied, "['d'].weight", "tied to ['a']: one array"),
        (Chain(layer, layer), "layers[1]", "Dense: the same object as layers[0]"),
        (shut, "layers[0]", "Unregistered object, a shut box: Unregistered is not registered. Write @functor above"),
        (shut, "layers[0].gamma[1]", "float32 (3,): 12 bytes; stays"),
        (methods, "[0]", "method __call__ of a Unregistered, a shut box"),
        (methods, "[1].__self__.weight", "moves, trains"),
        ([{Unregistered(f32(2))}], "[0]", "set of 1, a shut box: it is in a set"),
        (subset, "actor", "8 bytes; moves, trains"),
        (subset, "critic", "float32 (3,), left out: 12 bytes; stays; not one of ActorCritic's children"),
        (subset, "name", "text 'pair': not one of ActorCritic's children"),
        (subset, "added_later", "Agent, left out: not one of ActorCritic's children"),
        (subset, "added_later.body[0]", "stays"),
        (agent, "body[0]", "moves, does not train: Agent does not name it trainable"),
        (agent, "body[1]", "moves, trains"),  # by its other place
        (agent, "body[2]", "moves, does not train: it holds int64"),
        (closure, "[0]", "function <lambda>"),
        (closure, "[0].captured", "12 bytes; stays; <lambda> captured captured, and no walk enters functions"),
        ([np.array(["a"]), f32(1)], "[0]", "can't move: a GPU holds numbers and booleans"),
    ]


@pytest.mark.parametrize("model, path, text", places())
def test_what_stands_at_a_place(model, path, text):
    assert text in line(model, path)


def test_what_it_counts():
    W = f32(2, 3)
    for model, arrays, parameters, size in [
        ({"a": W, "b": W.T, "c": W[:], "d": Dense.of(W)}, 1, 6, 24),
        (Agent([f32(2), np.arange(3)], f32(3)), 3, 3, 44),
    ]:
        found = explain(model)
        assert (found.arrays, found.parameters, found.bytes) == (arrays, parameters, {"CPU": size})
    assert "3 of 8 numbers in them train (parameters)." in repr(found)
    model = [Unregistered([f32(2), f32(3)]), Unregistered("no arrays")]
    found = explain(model)
    assert found.arrays == 0 and found.shut == ["[0].gamma[0]", "[0].gamma[1]"]
    assert "2 arrays out of reach, no move goes there: 20 bytes on CPU." in repr(found)
    assert line(model, "[1]").endswith("  Unregistered object")


def test_globals_that_a_function_reads():
    text = repr(explain([reads_a_global, lambda x: reads_a_global(x) * WEIGHT, np.tanh]))
    assert "float32 (2,), out of reach: 8 bytes; stays; reads_a_global reads the global WEIGHT" in text
    assert text.count("reads the global") == 2 and "global" not in repr(explain(reads_an_attribute))


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (None, "None"),
        (np.float32(1), "number np.float32(1.0)"),
        ("a" * 100, "text 'aaaaaaaaaaaa...aaaaaaaaaaaaa'"),
        (len, "function len"),
        (partial(len, []), "partial"),
        (OrderedDict(a=1), "OrderedDict of 1"),
        (namedtuple("Point", "x y")(1, 2), "Point"),
        (np.random.default_rng(0), "Generator object"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_things_are_called(x, words):
    assert described(x) == words
    assert repr(explain(x)).startswith(words)


def test_nothing_is_copied_and_nothing_waits():
    simulate_gpu(2)
    first, second = devices()
    model = Chain(first(Dense(4, 3)), Unregistered(second(f32(2))))
    with second, receipt() as r:
        found = explain(model)
        repr(found), found._repr_html_()
    simulate_gpu(False)
    repr(explain(model))
    assert (r.launches, r.synchronizations, r.device_to_host.count) == (0, 0, 0)


class Checker(HTMLParser):
    """Fails on tags that are not closed, and on what could run or load something."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        assert tag in {"div", "p", "br", "details", "summary", "ul", "li", "code", "b"}
        assert {name for name, _ in attributes} <= {"style", "open"}
        assert all("url" not in (value or "") for _, value in attributes)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def words_of(page):
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    return " ".join("".join(checker.text).split())


def test_html_says_what_the_text_says():
    simulate_gpu()
    model = Chain(Dense(4, 3), gpu(Dense(3, 2)), Unregistered(f32(2)))
    words = words_of(explain(model)._repr_html_())
    assert "layers[0].weight C CPU float32 (3, 4): 48 bytes; moves, trains" in words
    assert "layers[1].weight G Simulated:0 float32 (2, 3): 24 bytes" in words
    assert "layers[2] C CPU Unregistered object, a shut box: Unregistered is not registered." in words
    assert "1 array out of reach" in words


def test_html_is_escaped():
    page = explain({"<script>alert(1)</script>": "<img src=x onerror=y> & more"})._repr_html_()
    assert "['<script>alert(1)</script>'] text '<img src" in words_of(page)


def test_a_large_tree_opens_two_levels_and_the_way_to_all_shut_boxes():
    def deep(shut):
        return DrawnRow(
            "",
            "list",
            rows=[DrawnRow("", "list", rows=[DrawnRow("", "list", shut=shut, rows=[DrawnRow("", "number")])])],
        )

    page = as_html(DrawnRow("", "list", rows=[deep(shut=i == 3) for i in range(40)]), [])
    assert page.count("<details open") == 1 + 40 + 2 and page.count("<details") == 1 + 3 * 40
    assert as_text(DrawnRow("", "list"), []) == "list\n"
