"""Lesson 13's checks: each likely wrong answer gets its own helpful message."""

import itertools
import json

import numpy as np
from answers import not_right, right
from safetensors.numpy import save_file

import fluxlite as fl
from fluxlite_course.lesson13.files import elsewhere, inside, parts


def restored(hidden=None, activation=fl.relu, filled=True, given=lambda model, contents: model):
    """An answer to 12.1; `hidden` is a size for all files."""

    def restore(path):
        contents = fl.load(path)
        size = contents["hidden"] if hidden is None else hidden
        model = fl.Chain(fl.Dense(64, size, activation), fl.Dense(size, 10))
        if filled:
            fl.load(path, model=model)
        return given(model, contents)

    return restore


def best_saved(better, given=lambda model, loss, best: loss, name="model", what=lambda model: model):
    """An answer to 12.2."""

    def save_best(path, model, loss, best):
        if better(loss, best):
            fl.save(path, **{name: what(model)})
            return given(model, loss, best)
        return best

    return save_best


def smaller(loss, best):
    return loss < best


def nothing_returned(path, model, loss, best):
    best_saved(smaller)(path, model, loss, best)


def last_returned(path, model, loss, best):
    best_saved(smaller)(path, model, loss, best)
    return loss


def taken_up(*names, given=lambda contents: contents["epoch"]):
    """An answer to 12.4 that loads only what's named."""

    def take_up(path, **targets):
        return given(fl.load(path, **{name: targets[name] for name in names}))

    return take_up


EVERYTHING = ("model", "opt_state", "loader")
test_a_wrong_answer_is_not_right_and_told_why = not_right(
    ("13.1", [restored(128)], "a file with hidden=5 does not fit into the model that you build"),
    ("13.1", [restored(given=lambda model, contents: None)], "restore should return the model"),
    ("13.1", [restored(given=lambda model, contents: contents["model"])], "restore should return the model"),
    ("13.1", [restored(filled=False)], "the numbers of the model are not those of the file"),
    ("13.1", [restored(activation=np.tanh)], "where is relu?"),
    ("13.2", [best_saved(lambda loss, best: True)], "the loss, 1.5, is not the smallest, but the file was written"),
    ("13.2", [best_saved(lambda loss, best: not loss >= best)], "the loss, nan, is not the smallest, but the file"),
    ("13.2", [best_saved(lambda loss, best: loss <= best)], "the loss, 1.0, is no smaller than the best so far"),
    ("13.2", [best_saved(lambda loss, best: loss > best)], "no file was written at the first loss"),
    ("13.2", [best_saved(lambda loss, best: best == np.inf)], "1.0, is the smallest so far, but the file was"),
    ("13.2", [nothing_returned], "save_best returned None"),
    ("13.2", [last_returned], "after a loss of 1.5 it didn't return the best"),
    ("13.2", [best_saved(smaller, given=lambda model, loss, best: best)], "after a loss of 2.0 it didn't return"),
    ("13.2", [best_saved(smaller, name="best")], "there is nothing called model"),
    ("13.3", [5, 17568], "W and W.T are a tie"),
    ("13.3", [5, 9384], "epoch is a number, no array"),
    ("13.3", [3, 8576], "losses are in the file, too"),
    ("13.3", [4, 8976], "losses were never moved to a GPU"),
    ("13.3", [4, 17952], "the model is float32"),
    ("13.3", [4, 1], "the bytes are not"),
    ("13.3", [7, 9376], "not that many arrays"),
    ("13.4", [taken_up("model", "loader")], "the optimizer's memory that you got is still new"),
    ("13.4", [taken_up("model", "opt_state")], "the loader's generator is still new"),
    ("13.4", [taken_up("opt_state", "loader")], "the model that you got hasn't got the file's weights"),
    ("13.4", [taken_up(*EVERYTHING, given=lambda contents: contents)], "dict: {'model'"),
)


def from_arrays(path):
    first, second = fl.load(path)["model"]["layers"]
    return fl.Chain(fl.Dense.of(first["weight"], first["bias"], fl.relu), fl.Dense.of(second["weight"], second["bias"]))


def with_fmin(path, model, loss, best):
    new = np.fmin(loss, best)
    if new != best:
        fl.save(str(path), model=model, best=float(new))
    return new


def by_names(path, **targets):
    fl.load(path, **targets)
    return fl.load(path)["epoch"]


test_right_answers_other_than_the_lessons_own = right(
    ("13.1", [from_arrays]),
    ("13.2", [with_fmin]),
    ("13.3", [np.int64(4), 9376.0]),
    ("13.4", [by_names]),
)


def test_a_program_that_runs_elsewhere_sees_no_gpu_and_says_its_errors_in_plain_letters(tmp_path):
    """Jupyter sets FORCE_COLOR for its kernels. Since Python 3.13, the line that the lesson shows would be coloured."""
    assert elsewhere("import os; print(os.environ['PYTHON_COLORS'])", tmp_path) == "0"
    assert elsewhere("import os; print(os.environ['CUDA_VISIBLE_DEVICES'])", tmp_path) == "-1"
    assert elsewhere("print('first'); raise ValueError('red?')", tmp_path) == "ValueError: red?"
    assert elsewhere("import os; print(os.getcwd())", tmp_path) == str(tmp_path.resolve())
    assert elsewhere("pass", tmp_path) == ""


def test_the_picture_of_a_file_shows_all_of_its_bytes_in_their_order(tmp_path):
    path = tmp_path / "a.safetensors"
    fl.save(path, model=fl.Chain(fl.Dense(64, 32), fl.Dense(32, 10)), losses=np.zeros(100))
    text = path.stat().st_size - (64 + 1) * 32 * 4 - (32 + 1) * 10 * 4 - 100 * 8
    found = parts(path)
    assert sorted(found[1:]) == [("layers[0]", 8320), ("layers[1]", 1320), ("losses", 800)]
    assert found[0] == ("text", text)
    assert inside(path).sentence.startswith(
        f"First {text:,} bytes of text with the names and shapes, then the numbers:"
    )


def test_the_picture_of_a_file_keeps_parts_apart_that_are_apart(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"layers[0].a": np.ones(4), "layers[1].a": np.ones(3), "layers[0].b": np.ones(2)}, path)
    stored = json.loads(path.read_bytes()[8 : parts(path)[0][1]])
    order = sorted(stored, key=lambda name: stored[name]["data_offsets"])
    assert [name for name, _ in parts(path)[1:]] == [k for k, _ in itertools.groupby(name[:9] for name in order)]
