"""Lesson 13, saving and sharing: checks."""

import numpy as np

import fluxlite as fl

from ..kit.exercises import brief, exercise
from ..kit.vocabulary import explaining, function, refuse, same, wrong_if
from .files import go_on, here, network, new_run, ten


def _same_state(one, other):
    """Whether two objects would be the same in a file, to the last bit."""
    found, wanted = (list(fl.leaves(fl.state(fl.cpu(each)))) for each in (one, other))
    return len(found) == len(wanted) and all(map(np.array_equal, found, wanted))


def _computes_the_same(one, other):
    return same(one(ten), other(ten)) and same(one(-2 * ten), other(-2 * ten))


@exercise("13.1", "a file of any size", look_at="load(path) without a target: what is in the file?")
def restore(restore):
    function(restore, "restore")
    for name, hidden in (("one", 5), ("another", 7)):  # names that don't tell the size
        path, saved = here(f"check-{name}.safetensors"), network(hidden, seed=100 + 3 * hidden)
        fl.save(path, model=saved, hidden=hidden)
        words = f"a file with hidden={hidden} doesn't fit into the model that you build"
        with explaining({"the source has shape": words}, f"Dense(64, {hidden}, …), Dense({hidden}, 10)"):
            model = restore(path)
        wrong_if(not isinstance(model, fl.Chain), "restore should return the model", brief(model), "a Chain")
        model = fl.cpu(model)
        words = "the model's numbers aren't those of the file: load(path, model=model)"
        wrong_if(not _same_state(model, saved), words)
        has_relu = _computes_the_same(model[0], saved[0])
        gives_same = _computes_the_same(model, saved)
        refuse({
            "the numbers are right, but the model computes something else. A file has no functions: where is relu?":
                not gives_same and not has_relu,
            "the numbers are right, and so is relu, but something else in the model computes, too": not gives_same,
        })  # fmt: skip
    return "files of two sizes are read, each into a model that fits"


@exercise("13.2", "a run goes on", look_at="section 3: the table of what is left out")
def take_up(take_up):
    function(take_up, "take_up")
    half, path = go_on(new_run(1), 1), here("check-half.safetensors")
    for done in (2, 5):  # as the file says; so the answer isn't a number that could be typed in
        fl.save(path, **half, epoch=done)
        run = new_run(2)
        epoch = take_up(path, **run)
        is_read = {name: _same_state(run[name], half[name]) for name in half}
        is_new = {name: _same_state(run[name], fresh) for name, fresh in new_run(2).items()}
        refuse({
            "the model that you got hasn't got the file's weights: load(path, model=model)": not is_read["model"],
            "the optimizer's memory that you got is still new: Adam has forgotten the past gradients":
                is_new["opt_state"],
            "the optimizer's memory that you got isn't the file's": not is_read["opt_state"],
            "the loader's generator is still new: the batches come in another order": is_new["loader"],
            "the loader's generator isn't as in the file: has the loader been used since?": not is_read["loader"],
            "it didn't return the number of epochs that are done": isinstance(epoch, bool) or not same(epoch, done),
        }, f"{brief(epoch)} was returned", f"{done}, and the file's contents in the objects themselves")  # fmt: skip
    return "model, memory and generator are the file's: the run goes on as if it had never stopped"
