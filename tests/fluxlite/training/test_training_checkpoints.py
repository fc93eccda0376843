"""What goes wrong around a checkpoint loses no training: full disks, other files, callbacks that raise."""

import os
import subprocess
import sys

import numpy as np
import pytest
import trainings
from trainings import BATCHES, EPOCHS, make

import fluxlite as fl

posix = pytest.mark.skipif(os.name == "nt", reason="limits and modes are those of POSIX")


def small(path, epochs=1, **options):
    """A training of two batches an epoch."""
    model = {"w": np.zeros(1)}
    loss = lambda m, x: np.sum((m["w"] - x) ** 2)  # noqa: E731
    return fl.train(loss, model, [1.0, 2.0], fl.setup(fl.Descent(0.1), model), epochs, checkpoint=path, **options)


def epochs_of(path):
    return fl.load(path)["run"]["epoch"]


FULL = """
import resource, sys
import numpy as np
import fluxlite as fl

path, epochs, full, room = sys.argv[1], *map(int, sys.argv[2:])


def disk(history):
    size = 1000 if full <= history.epochs < room else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


model = {"w": np.zeros(1000)}
loss = lambda m, x: np.sum((m["w"] - x) ** 2)
opt_state = fl.setup(fl.Descent(0.1), model)
history = fl.train(loss, model, [1.0, 2.0], opt_state, epochs, checkpoint=path, callbacks=[disk])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(history.epochs, history.steps, len(history.losses), history.stopped)
"""


def on_a_disk_that_is_full(path, *arguments):
    """A file may not get larger than 1,000 bytes, from the end of epoch `full` to that of epoch `room`."""
    command = [sys.executable, "-c", FULL, str(path), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert sorted(os.listdir(path.parent)) in ([path.name], [])
    return (result.stderr + result.stdout).splitlines()


@posix
def test_a_full_disk_ends_no_training_and_is_tried_again(path):
    said = on_a_disk_that_is_full(path, 6, 2, 5)
    assert len(said) == 2 and "run.safetensors wasn't written" in said[0] and "File too large" in said[0]
    assert "It's tried again after each epoch" in said[0] and said[1] == "6 12 12 False"
    assert epochs_of(path) == 6


def test_what_no_file_can_hold_is_said_before_the_training(path):
    model = {"w": np.zeros(1), "when": np.array(["2020-01-01"], "M8[D]")}
    loss = lambda m, x: np.sum(m["w"])  # noqa: E731
    calls = []
    with pytest.raises(TypeError, match=r"model\['when'\] is a ndarray of datetime64\[D\], which a safetensors file"):
        fl.train(loss, model, [1.0], fl.setup(fl.Descent(0.1), model), checkpoint=path, callbacks=[calls.append])
    assert not calls and not path.exists()


def test_a_file_that_is_there_is_replaced_only_if_you_ask_for_it(path):
    path.write_text("my notes")
    with pytest.raises(ValueError, match="run.safetensors is there: resume=True goes on with it, overwrite=True"):
        small(path, 5)
    assert path.read_text() == "my notes"
    small(path, 5, overwrite=True)
    assert small(path, 7, resume=True).epochs == 7 and epochs_of(path) == 7
    small(path, 2, overwrite=True)
    assert epochs_of(path) == 2


class Mine(Exception):
    pass


def interrupted(path, where, step, error=Mine, kind="cpu", **options):
    """What a callback, or each_step, raises after so many steps, as it comes out of the training."""

    def f(history):
        if history.steps == step:
            raise error

    model, opt_state, data = make(kind)
    options |= {"callbacks": [f]} if where == "callback" else {"each_step": f}
    with pytest.raises((Mine, KeyboardInterrupt, StopIteration)) as raised:
        fl.train(trainings.loss, model, data, opt_state, EPOCHS, checkpoint=path, **options)
    return raised.value


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return trainings.run(tmp_path_factory.mktemp("whole") / "run", "")[0]


@pytest.mark.parametrize("error", [Mine("no"), KeyboardInterrupt(), StopIteration()])
@pytest.mark.parametrize("where, step", [("callback", 2 * BATCHES), ("each_step", 1), ("each_step", 7)])
def test_what_was_done_before_a_function_raised_is_in_the_file(path, whole, where, step, error):
    """Before, a callback that raised lost its epoch, and each_step lost all since the last one."""
    history = interrupted(path, where, step, error).history
    assert history.steps == len(history.losses) == step and history.stopped
    assert history.reason == f"stopped by {type(error).__name__}"
    run = fl.load(path)["run"]
    assert run["epoch"] * BATCHES + run["step"] == step and run["losses"].tolist() == history.losses
    assert trainings.run(path, "resume", seed=100)[0] == whole


@pytest.mark.parametrize("where, steps", [("loss", 1), ("data", 2)])
def test_errors_of_the_loss_and_the_data_have_the_history_too(where, steps):
    def f():
        raise Mine

    def data():
        yield from [1.0, 2.0]
        f()

    model = {"w": np.zeros(1)}
    loss = lambda m, x: f() if where == "loss" and x == 2.0 else np.sum(m["w"] - x)  # noqa: E731
    with pytest.raises(Mine) as raised:
        fl.train(loss, model, data(), fl.setup(fl.Descent(0.1), model))
    assert raised.value.history.steps == len(raised.value.history.losses) == steps


DAMAGE = {
    "no run": lambda found: found.pop("run"),
    "a run of another kind": lambda found: found.update(run=3),
    "no epoch": lambda found: found["run"].pop("epoch"),
    "no model": lambda found: found.pop("model"),
    "no callbacks": lambda found: found.pop("callbacks"),
    "callbacks of another kind": lambda found: found.update(callbacks={"0": {"count": "1"}}),
    "half a number of steps": lambda found: found["run"].update(step=0.5),
    "more steps than an epoch has": lambda found: found["run"].update(step=3),
    "fewer epochs than losses": lambda found: found["run"].update(epoch=1),
    "losses of another type": lambda found: found["run"].update(losses=np.ones(4, np.float32)),
    "losses in a table": lambda found: found["run"].update(epoch_losses=np.ones((2, 1))),
    "no seconds": lambda found: found["run"].update(seconds=None),
    **{f"no {name}": lambda found, name=name: found["run"].pop(name) for name in ("losses", "batches", "optimizer")},
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_run_that_train_did_not_write_is_refused_by_name(path, damage):
    """And nothing is half resumed."""
    small(path, 2)
    found = fl.load(path)
    damage(found)
    fl.save(path, **found)
    with pytest.raises(ValueError, match="run.safetensors wasn't written by train"):
        small(path, 3, resume=True)
