"""Lesson 13's checks: each likely wrong answer gets its own helpful message."""

import copy
import re

import numpy as np
import pytest
from answers import EqualToAll, not_right, right

import fluxlite as fl
from fluxlite_course.lesson13 import flip, network, ten


def restored(hidden=None, activation=fl.relu, filled=True, given=lambda model, contents: model):
    """An answer to 13.1; `hidden` is a size for all files."""

    def restore(path):
        contents = fl.load(path)
        size = contents["hidden"] if hidden is None else hidden
        model = fl.Chain(fl.Dense(64, size, activation), fl.Dense(size, 10))
        if filled:
            fl.load(path, model=model)
        return given(model, contents)

    return restore


def taken_up(*names, given=lambda contents: contents["epoch"]):
    """An answer to 13.2 that loads only what's named."""

    def take_up(path, **targets):
        return given(fl.load(path, **{name: targets[name] for name in names}))

    return take_up


def nearly(model, contents):
    model[0].weight[2, 30] += 1e-6
    return model


def into_copies(path, **targets):
    return fl.load(path, **{**targets, "model": copy.deepcopy(targets["model"])})["epoch"]


def one_number_off(path, **targets):
    """In the middle of many, where printing leaves them out."""
    contents = fl.load(path, **targets)
    targets["model"][0].weight[16, 30] += 1
    return contents["epoch"]


EVERYTHING = ("model", "opt_state", "loader")


def size_in_the_name(path):
    """The file's name tells nothing of its size."""
    found = [int(number) for number in re.findall("[0-9]+", path.name)]
    return restored(found[-1] if found else 128)(path)


def and_looks_into_it(path, model, opt_state, loader):
    contents = fl.load(path, model=model, opt_state=opt_state, loader=loader)
    print(next(iter(loader)))
    return contents["epoch"]


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("13.1", [restored(128)], "a file with hidden=5 doesn't fit into the model that you build"),
    ("13.1", [restored(given=lambda model, contents: None)], "restore should return the model"),
    ("13.1", [restored(given=lambda model, contents: contents["model"])], "restore should return the model"),
    ("13.1", [restored(filled=False)], "the model's numbers aren't those of the file"),
    ("13.1", [restored(activation=np.tanh)], "where is relu?"),
    ("13.1", [1.5], "give the check its name alone"),
    ("13.1", [size_in_the_name], "doesn't fit into the model that you build"),
    ("13.1", [restored(5)], "a file with hidden=7 doesn't fit"),
    ("13.1", [restored(activation=np.abs)], "where is relu?"),
    ("13.1", [restored(activation=fl.leakyrelu)], "where is relu?"),
    ("13.1", [restored(given=lambda model, contents: fl.fmap(lambda x: x, model[:1]))], "aren't those of the file"),
    ("13.1", [restored(given=lambda model, contents: EqualToAll())], "restore should return the model"),
    ("13.1", [restored(given=lambda model, contents: fl.Chain(*model, fl.softmax))], "something else in the model"),
    ("13.1", [restored(given=nearly)], "the model's numbers aren't those of the file"),
    ("13.1", [lambda path: network(fl.load(path)["hidden"], seed=5)], "the model's numbers aren't those of the file"),
    ("13.2", [taken_up(*EVERYTHING, given=lambda contents: 2)], "it didn't return the number of epochs that are done"),
    ("13.2", [taken_up(*EVERYTHING, given=lambda contents: None)], "None was returned"),
    ("13.2", [taken_up(*EVERYTHING, given=lambda contents: EqualToAll())], "it didn't return the number of epochs"),
    ("13.2", [1.5], "give the check its name alone"),
    ("13.2", [into_copies], "the model that you got hasn't got the file's weights"),
    ("13.2", [one_number_off], "the model that you got hasn't got the file's weights"),
    ("13.2", [taken_up("model", "loader")], "the optimizer's memory that you got is still new"),
    ("13.2", [taken_up("model", "opt_state")], "the loader's generator is still new"),
    ("13.2", [and_looks_into_it], "has the loader been used since?"),
    ("13.2", [taken_up("opt_state", "loader")], "the model that you got hasn't got the file's weights"),
    ("13.2", [taken_up(*EVERYTHING, given=lambda contents: contents)], "dict: {'model'"),
)


def from_arrays(path):
    first, second = fl.load(path)["model"]["layers"]
    return fl.Chain(fl.Dense.of(first["weight"], first["bias"], fl.relu), fl.Dense.of(second["weight"], second["bias"]))


def by_names(path, **targets):
    fl.load(path, **targets)
    return fl.load(path)["epoch"]


def on_the_card(path):
    """The size from the shape of an array; the model on the GPU."""
    size = len(fl.load(path)["model"]["layers"][0]["bias"])
    model = fl.gpu(fl.Chain(fl.Dense(64, size, fl.relu), fl.Dense(size, 10)))
    fl.loadmodel(model, from_arrays(path))
    return model


def one_by_one(path, model, opt_state, loader):
    fl.load(path, loader=loader)
    fl.load(path, opt_state=opt_state)
    return np.float64(fl.load(path, model=model)["epoch"])


test_right_answers_other_than_the_lessons_own = right(
    ("13.1", [from_arrays]),
    ("13.1", [on_the_card]),
    ("13.1", [restored(activation=lambda x: np.maximum(x, 0))]),
    ("13.2", [one_by_one]),
    ("13.2", [taken_up(*EVERYTHING, given=lambda contents: np.array(contents["epoch"]))]),
    ("13.2", [by_names]),
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """The picture of a file, and the file's size."""
    path = tmp_path_factory.mktemp("files") / "a.safetensors"
    rng = np.random.default_rng(0)
    model = fl.Chain(fl.Dense(64, 32, fl.relu, rng=rng), fl.Dense(32, 10, rng=rng))
    fl.save(path, model=model)
    scene = flip(path, model, ten)
    assert np.array_equal(fl.load(path)["model"]["layers"][1]["weight"], model[1].weight)  # every bit is back
    return scene, path.stat().st_size


def test_the_picture_of_a_file_shows_all_of_its_bytes(scene):
    texts = [part.text for part in scene[0].picture.parts() if isinstance(part.text, str)]
    sizes = [int(text.split()[0].replace(",", "")) for text in texts if re.fullmatch(r"[\d,]+ bytes", text)]
    assert sum(sizes) == scene[1] and sorted(sizes)[:3] == [40, 128, scene[1] - 40 - 128 - 1280 - 8192]
    assert "layers[0].weight [32, 64]" in texts


def test_a_flipped_bit_changes_the_number_as_its_place_says(scene):
    said = [scene[0].at(bit=bit) for bit in ("sign", "exponent 1", "exponent 8", "fraction 1", "fraction 23")]
    before, after = np.array([re.match(r"(\S+) becomes (\S+)\. ", each).groups() for each in said], float).T
    assert after[0] == -before[0] and abs(after[1]) > 1e30 and after[4] == pytest.approx(before[4], rel=1e-3)
    assert min(abs(after[2] / before[2] - factor) for factor in (0.5, 2)) < 0.01
