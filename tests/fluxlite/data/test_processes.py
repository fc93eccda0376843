"""Loaders where processes fork, threads can't be had, and interrupts come in crowds: never a program that hangs.

Each runs in a process of its own. Nothing depends on how long it takes: two minutes mean that it hangs.
"""

import os
import subprocess
import sys
import textwrap

import pytest

signals = pytest.mark.skipif(os.name == "nt", reason="there, signals don't go to a process by its number")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
HANGS = 120  # seconds

START = """
import os, signal, sys, threading, time
import numpy as np
import fluxlite as fl
from fluxlite.data import background

def said_by_child(f):
    # What f gives in a forked process, as a text.
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = str(f())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    text = os.fdopen(read).read()
    os.waitpid(child, 0)
    return text
"""


def said_by(program):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", START + textwrap.dedent(program)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=HANGS)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@forks
def test_a_child_goes_on_with_an_epoch_that_its_parent_began():
    """Its thread is the parent's alone: the child waited for ever for what it would bring. Also amid a job."""
    said = said_by("""
        def read(i):
            time.sleep(0.002)  # so that there's always a job
            return i

        for data in (list(range(60)), fl.mapobs(read, list(range(60)))):
            for when in (0, 1, 2, 3, 7, 19):
                loader = iter(fl.DataLoader(data, batchsize=3, parallel=True, collate=False))
                begun = [next(loader) for _ in range(when)]
                rest = lambda: [i for batch in loader for i in batch]
                print(said_by_child(rest) == str(rest()) == str(list(range(3 * when, 60))))
    """)
    assert said == ["True"] * 12


@forks
def test_a_job_that_takes_too_long_is_an_error_in_the_child():
    said = said_by("""
        background._PATIENCE = 0.1
        begun, goes_on = threading.Event(), threading.Event()

        def read(i):
            if i == 3:
                begun.set()
                goes_on.wait()
            return i

        loader = iter(fl.DataLoader(fl.mapobs(read, list(range(5))), parallel=True, collate=False))
        first = next(loader)
        begun.wait()
        rest = lambda: [batch[0] for batch in loader]
        print(said_by_child(rest))
        goes_on.set()
        print(rest())
    """)
    assert said[0].startswith("RuntimeError: this process was forked while a background thread prepared a batch")
    assert "begin the epoch anew in this process" in said[0] and said[1] == "[1, 2, 3, 4]"


@forks
def test_a_generator_that_the_thread_draws_from_can_be_used_in_the_child():
    """NumPy locks it for each draw. A fork in the middle of one left the child's locked for ever."""
    said = said_by("""
        rng = np.random.default_rng(0)
        noisy = fl.mapobs(lambda i: rng.random(200_000).sum() * 0 + i, list(range(200)))
        for batch in fl.DataLoader(noisy, batchsize=10, parallel=True, collate=False):
            print(said_by_child(lambda: rng.random() < 1))
    """)
    assert said == ["True"] * 20


@forks
def test_a_child_that_only_ends():
    """It gives up the loop, as every process does at its end: that waited for a lock of the parent's thread."""
    said = said_by("""
        for _ in range(10):
            loader = iter(fl.DataLoader(np.arange(1000), batchsize=1, parallel=True))
            next(loader)
            print(said_by_child(lambda: loader.close()))
            print(said_by_child(lambda: len(list(fl.DataLoader(np.arange(10), parallel=True)))))
    """)
    assert said == ["None", "10"] * 10


@forks
def test_jobs_that_fork_themselves():
    said = said_by("""
        forking = fl.mapobs(lambda i: int(said_by_child(lambda: i * i)), list(range(8)))
        print([batch[0] for batch in fl.DataLoader(forking, parallel=True, collate=False)])
        threading.Thread.start = None  # in this thread
        def no_thread(self):
            raise RuntimeError("can't start new thread")
        threading.Thread.start = no_thread
        print([batch[0] for batch in fl.DataLoader(forking, parallel=True, collate=False)])
    """)
    assert said == ["[0, 1, 4, 9, 16, 25, 36, 49]"] * 2


# A stack that no memory can hold: the system refuses the thread, as it does when there are too many.
NO_THREADS = "threading.stack_size(1 << 46)"


def test_no_threads_to_be_had():
    """'cannot join thread before it is started', it said. Also from the middle of an epoch on, and with an error."""
    said = said_by(f"""
        loader = iter(fl.DataLoader(np.arange(100), parallel=True))
        first = next(loader)
        {NO_THREADS}
        try:
            threading.Thread(target=print).start()
        except RuntimeError as error:
            print(error)
        print([batch.item() for batch in loader] == list(range(1, 100)))
        loader = fl.DataLoader(np.arange(12), batchsize=3, parallel=True)
        print([batch.tolist() for batch in loader])
        try:
            for batch in fl.DataLoader(fl.mapobs(lambda i: 6 // i, [2, 1, 0]), parallel=True, collate=False):
                print(batch)
        except ZeroDivisionError:
            print("as it should")
        threading.stack_size(0)
        print([batch.tolist() for batch in loader])
    """)
    if said[0] != "can't start new thread":
        pytest.skip("this system promises more memory than it has")
    batches = "[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]"
    assert said[1:] == ["True", batches, "[3]", "[6]", "as it should", batches]


@signals
def test_a_crowd_of_interrupts_ends_in_a_history_or_a_keyboard_interrupt():
    """At any moment, in each other's middle: in the training, the loader, its thread's end, and nested trainings."""
    said = said_by("""
        import random
        chance, over = random.Random(0), threading.Event()

        def crowd():  # often two soon after each other
            while not over.is_set():
                time.sleep(chance.choice([0.0001, 0.001, 0.01, 0.03]))
                os.kill(os.getpid(), signal.SIGINT)

        def read(i):
            time.sleep(0.0005)
            return np.asarray(i, np.float32)

        def trained(epochs, callbacks=()):
            model = {"w": np.zeros(1, np.float32)}
            data = fl.DataLoader(fl.mapobs(read, list(range(40))), batchsize=4, parallel=True)
            loss = lambda m, x: np.sum((m["w"] - x) ** 2) * 1e-4
            return fl.train(loss, model, data, fl.setup(fl.Descent(0.01), model), epochs, callbacks=callbacks)

        trained(1)  # what is loaded at its first use is there then
        signal.signal(signal.SIGINT, lambda *arguments: None)  # outside of trainings
        thread = threading.Thread(target=crowd, daemon=True)
        thread.start()
        ends = []
        for _ in range(100):
            try:
                ends.append(trained(10**6, [lambda history: trained(10**6).epochs < 0]).reason)
            except KeyboardInterrupt:
                ends.append("raised")
        print(sorted(set(ends)))
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(trained(2).steps)
    """)
    assert said == ["['interrupted', 'raised']", "20"]


@signals
def test_one_interrupt_ends_the_inner_training_and_the_outer():
    """Only the inner one ended. Its caller went on, for as long as it would."""
    said = said_by("""
        def trained(epochs, each_step):
            model = {"w": np.zeros(1)}
            loss = lambda m, x: np.sum((m["w"] - x) ** 2)
            return fl.train(loss, model, [1.0, 2.0], fl.setup(fl.Descent(0.01), model), epochs, each_step=each_step)

        inner = []
        def press(history):
            if history.steps == 3:
                signal.raise_signal(signal.SIGINT)
        def outer(history):
            if history.steps == 5:
                inner.append(trained(10, press))
            return history.steps > 100
        history = trained(1000, outer)
        print(inner[0].steps, inner[0].reason, history.steps, history.reason)
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    """)
    assert said == ["3 interrupted 5 interrupted", "True"]
