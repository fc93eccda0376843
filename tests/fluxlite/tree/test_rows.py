"""The rows of a model, by which layers print and `explain` draws."""

import numpy as np
from inside import root_row

import fluxlite as fl


@fl.functor(trainable=("head",))
class Agent:
    def __init__(self, body, head):
        self.body, self.head = body, head


def all_rows(row):
    yield row
    for part in row.rows():
        yield from all_rows(part)


def test_each_place_has_a_row_even_where_a_thing_is_met_again():
    layer, W = fl.Dense(2, 2), np.ones((2, 3))
    model = [layer, layer, W, {"tied": W.T}, ()]
    rows = {str(row.path): row for row in all_rows(root_row(model))}
    inside = ["weight", "bias", "activation"]
    assert list(rows) == [
        "", "[0]", *[f"[0].{name}" for name in inside], "[1]", *[f"[1].{name}" for name in inside],
        "[2]", "[3]", "[3]['tied']", "[4]",
    ]  # fmt: skip
    assert all(row.x is row.path.get(model) or path == "[3]['tied']" for path, row in rows.items())
    for first, again in (("[0]", "[1]"), ("[0].weight", "[1].weight"), ("[2]", "[3]['tied']")):
        assert rows[first].first_place == rows[again].first_place == rows[first].number
    assert rows["[2]"].leaf == rows["[3]['tied']"].leaf and rows["[2]"].number != rows["[3]['tied']"].number
    assert rows["[0]"].leaf is None and rows["[4]"].leaf is not None and rows["[4]"].rows() == []


def test_a_row_says_which_class_leaves_it_out_of_training():
    layer = fl.Dense(1, 1)
    rows = {str(row.path): row for row in all_rows(root_row([layer, Agent(layer, layer), Agent([Agent(1, 2)], 3)]))}
    left_out = {path: row.left_out_by for path, row in rows.items() if row.path and path.endswith(("weight", "head"))}
    assert left_out == {
        "[0].weight": None, "[1].head": None, "[1].body.weight": Agent, "[1].head.weight": None,
        "[2].head": None, "[2].body[0].head": Agent,
    }  # fmt: skip
