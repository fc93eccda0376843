"""A stopped training that goes on gives, bit for bit, what it would have given; also in another process."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trainings
from trainings import BATCHES, EPOCHS, make, run

import fluxlite as fl
from fluxlite.devices import CPU

KINDS = ["cpu", "cpu parallel", "gpu", "gpu parallel"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The fingerprints of the runs that weren't stopped."""
    found = {}
    for kind in KINDS:
        with fl.simulate_gpu(False):
            found[kind] = run(tmp_path_factory.mktemp("whole") / "run.safetensors", "", kind=kind)[0]
    return found


def in_a_process_of_its_own(path, how, step=0, kind="cpu", seed=0, status=0):
    arguments = [str(x) for x in (trainings.__file__, path, how, step, kind, seed)]
    result = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    assert result.returncode == status, result.stderr
    return json.loads(result.stdout.splitlines()[-1]) if status == 0 else None


@pytest.mark.parametrize("kind, how", [*((kind, "stop") for kind in KINDS), ("cpu", "interrupt")])
def test_stopped_after_a_step_and_resumed_by_others(path, whole, kind, how):
    """The resumed run begins with another model, another order and other random numbers: the file has it all."""
    for step in (1, BATCHES, BATCHES + 3):
        path.unlink(missing_ok=True)
        history = run(path, how, step, kind)[1]
        assert history.stopped and history.steps == step
        assert history.reason == {"stop": "stopped by each_step", "interrupt": "interrupted"}[how]
        found, history = run(path, "resume", kind=kind, seed=100)
        assert found == whole[kind] and not history.stopped and history.reason == "", f"after step {step}"


def test_stopped_again_and_again(path, whole):
    for step in range(1, EPOCHS * BATCHES, 2):
        model, opt_state, data = make(seed=step - 1)
        fl.train(trainings.loss, model, data, opt_state, EPOCHS, each_step=lambda h, step=step: h.steps == step,
                 checkpoint=path, resume=True)  # fmt: skip
    assert run(path, "resume", seed=100)[0] == whole["cpu"]


def test_killed_after_an_epoch_and_resumed_in_another_process(path, whole):
    """Killed in batch 2 of epoch 3: this epoch's steps are lost, and done again in the same way."""
    in_a_process_of_its_own(path, "kill", 2 * BATCHES + 2, "gpu parallel", status=7)
    result = in_a_process_of_its_own(path, "resume", 0, "gpu parallel", 100)
    assert result == {"fingerprint": whole["gpu parallel"], "steps": EPOCHS * BATCHES, "stopped": False}


@pytest.mark.parametrize(("callback", "eta"), [(fl.early_stopping, 1.1), (fl.plateau, 0.0)])
def test_what_callbacks_remember_goes_on(path, callback, eta):
    """A loss that rises, or stays: 4 epochs are enough, also if another call made the first of them."""

    def trained(stop, resume=False):
        model = {"w": np.ones(1)}
        opt_state = fl.setup(fl.Descent(eta), model)
        return fl.train(lambda m, x: np.sum(m["w"] ** 2), model, [1.0, 1.0], opt_state, 9, checkpoint=path,
                        callbacks=[print, callback(3)], each_step=lambda h: h.steps == stop, resume=resume,
                        overwrite=not resume)  # fmt: skip

    for stop in (0, 1, 4, 7):
        trained(stop)
        history = trained(0, resume=True)
        assert (history.epochs, history.reason) == (4, callback(3).reason)


def test_it_says_where_it_goes_on(path, whole, capsys):
    assert run(path, "resume")[0] == whole["cpu"] and path.exists(), "without a file it starts from the beginning"
    for step, text in ((3, "after batch 3 of epoch 1"), (5, "after epoch 1"), (12, "after batch 2 of epoch 3")):
        run(path, "stop", step)
        assert capsys.readouterr().err == ""
        run(path, "resume")
        assert capsys.readouterr().err == f"[ Info: resuming run.safetensors {text}\n"


def test_a_run_that_is_finished(path, whole, capsys, monkeypatch):
    run(path, "")
    monkeypatch.setattr(trainings, "loss", lambda *args: 1 / 0)
    found, history = run(path, "resume", seed=100)
    assert found == whole["cpu"] and not history.stopped and history.steps == EPOCHS * BATCHES
    assert capsys.readouterr().err == (
        "[ Info: run.safetensors is from a run that is finished, after epoch 3: nothing is left to do\n"
    )


def snapshot(*trees):
    return [x.tolist() if isinstance(x, np.ndarray) else x for x in fl.leaves(trees) if not callable(x)]


def other(model=None, rule=None, data=None):
    """The run with another model, rule or data."""
    usual = make()
    model = model or usual[0]
    return model, fl.setup(rule or fl.Adam(0.05), model), data or usual[2]


ONES = np.ones((18, 3), np.float32)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"model": fl.Chain(fl.Dense(3, 7), fl.Dense(7, 1))}, r"model\.layers\[0\]\.weight"),
        ({"rule": fl.Adam(0.01)}, r"from another run, rule: there it.s Adam\(eta=0\.05.*here Adam\(eta=0\.01"),
        ({"rule": fl.Descent(0.05)}, r"rule: there it.s Adam.*here Descent"),
        ({"data": fl.DataLoader((ONES, ONES[:, :1]), 6, shuffle=True)}, "batches an epoch: there it's 5, here 3"),
        ({"data": [(ONES[:1], ONES[:1, :1])] * 5}, "a generator, data.rng: there it.s True, here False"),
    ],
)
def test_another_run_is_refused_and_nothing_is_changed(path, others, message):
    run(path, "stop", BATCHES + 2)
    model, opt_state, data = other(**others)
    rng = getattr(data, "rng", None)
    before = snapshot(model, opt_state), rng and rng.bit_generator.state, CPU.rng.bit_generator.state
    contents = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        fl.train(trainings.loss, model, data, opt_state, EPOCHS, checkpoint=path, resume=True)
    assert (snapshot(model, opt_state), rng and rng.bit_generator.state, CPU.rng.bit_generator.state) == before
    assert path.read_bytes() == contents


def test_on_another_device_it_goes_on_too(path):
    """A GPU was there yesterday: the parameters come, another device's random numbers can't be the same."""
    with fl.simulate_gpu():
        run(path, "stop", 7, "gpu")
    history = run(path, "resume", seed=100)[1]
    assert history.steps == EPOCHS * BATCHES and np.isfinite(history.losses).all()


def test_it_is_written_after_each_epoch_and_when_stopped_and_not_with_a_loss_that_is_no_number(path, monkeypatch):
    import fluxlite.saving.checkpoint

    written, save = [], fluxlite.saving.checkpoint.save

    def noting(file, **values):
        written.append((values["run"]["epoch"], values["run"]["step"]))
        save(file, **values)

    monkeypatch.setattr(fluxlite.saving.checkpoint, "save", noting)
    for step, expected in ((0, [(1, 0), (2, 0), (3, 0)]), (7, [(1, 0), (1, 2)]), (10, [(1, 0), (2, 0)])):
        written.clear()
        run(path, "stop", step)
        assert written == expected, "at the end of an epoch once"
    written.clear()
    monkeypatch.setattr(trainings, "loss", lambda m, x, y: fl.mse(m(x), y) * (np.nan if len(written) else 1))
    with pytest.raises(FloatingPointError):
        run(path, "")
    assert written == [(1, 0)]


def test_the_file_is_an_ordinary_one(path):
    """It can be loaded into a model alone, with `load`."""
    model, opt_state, data = make()
    history = fl.train(trainings.loss, model, data, opt_state, 2, checkpoint=path)
    other = make(seed=100)[0]
    found = fl.load(Path(path), model=other)
    assert snapshot(other) == snapshot(model) and found["run"]["losses"].tolist() == history.losses
