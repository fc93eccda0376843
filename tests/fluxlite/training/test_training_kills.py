"""Programs that are killed while they train with a checkpoint: nothing is torn, and nothing lost.

FLUXLITE_KILLS=200, which ``nox -s kills`` sets, kills so many in place of a dozen.
"""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
import trainings

import fluxlite as fl

KILLS = int(os.environ.get("FLUXLITE_KILLS", "12"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="kill -9 is that of POSIX")]

# At each step, it says how many epochs are complete: their checkpoint was written before this step began. It goes on
# from the file if there is one.
PROGRAM = """
import os, sys
import trainings

def say(history):
    os.write(1, b"%d\\n" % history.epochs)

model, opt_state, data = trainings.make(seed=int(sys.argv[2]))
history = trainings.fl.train(trainings.loss, model, data, opt_state, int(sys.argv[3]), each_step=say, progress=False,
                             checkpoint=sys.argv[1], resume=True)
print("fingerprint", trainings.fingerprint(model, opt_state, history))
"""


def started(path, seed, epochs):
    command = [sys.executable, "-c", PROGRAM, *map(str, (path, seed, epochs))]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)


def killed(path, wait):
    """How many epochs a training said were complete, before it was killed."""
    said = []
    with started(path, 100 if path.exists() else 0, 10**6) as process:
        while not said:
            line = process.stdout.readline()
            assert line, "the training ended by itself"
            said = [int(line)] if line[:-1].isdigit() else []  # it also says that it resumes
        time.sleep(wait)  # only picks the moment: nothing below depends on it
        process.send_signal(signal.SIGKILL)
        return max([*said, *map(int, process.stdout.read().split(b"\n")[:-1])])


def finished(path, seed, epochs):
    """What a training to the end of so many epochs comes to. In a process of its own: others may have other digits."""
    with started(path, seed, epochs) as process:
        return process.stdout.read().rpartition(b"fingerprint ")[2]


def check(path, done):
    """The file is whole: it has all complete epochs, and at most the one that ended meanwhile."""
    if not path.exists():
        assert done == 0
        return
    run = fl.load(path)["run"]
    assert run["epoch"] - done in (0, 1) and run["step"] == 0
    assert len(run["losses"]) == run["epoch"] * trainings.BATCHES


def test_nothing_is_torn_or_lost(tmp_path):
    path, chance = tmp_path / "run", random.Random(0)
    for _ in range(KILLS):
        check(path, killed(path, chance.uniform(0, 0.08)))
    print(f"{KILLS} kills")
    # What they trained together is what one training would have.
    epochs = fl.load(path)["run"]["epoch"] + 1
    assert finished(path, 100, epochs) == finished(tmp_path / "whole", 0, epochs)
    left = set(os.listdir(tmp_path)) - {"run", "whole"}
    assert all(name.startswith((".run.", ".tmp")) for name in left)  # our hidden files, and safetensors' own
