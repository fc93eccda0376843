"""Loaders where processes fork and end, and interrupts come in crowds: never a program that hangs.

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
def test_a_child_of_an_epoch_goes_on_with_it_and_so_does_its_parent():
    """The parent's thread isn't there: the child would wait for ever for what it should bring."""
    said = said_by("""
        for when in (0, 1, 3):
            loader = iter(fl.DataLoader(list(range(60)), batchsize=3, parallel=True, collate=False))
            begun = [next(loader) for _ in range(when)]
            print(said_by_child(lambda: len(list(loader))))
            print(said_by_child(lambda: loader.close()))
            print(said_by_child(lambda: len(list(fl.DataLoader(np.arange(10), parallel=True)))))
            print(len(list(loader)))
    """)
    assert said == ["20", "None", "10", "20", *["19", "None", "10", "19"], *["17", "None", "10", "17"]]


@forks
def test_a_child_that_was_forked_while_a_batch_was_made_raises():
    """Nobody could finish that batch."""
    said = said_by("""
        begun, go_on = threading.Event(), threading.Event()
        def slow(i):
            if i == 1:
                begun.set()
                go_on.wait()
            return i
        loader = iter(fl.DataLoader(fl.mapobs(slow, list(range(3))), parallel=True, collate=False))
        print(next(loader))
        begun.wait()
        print(said_by_child(lambda: len(list(loader))))
        go_on.set()
        print(list(loader))
    """)
    refused = "RuntimeError: this process was forked in the middle of an epoch, whose thread isn't here"
    assert said == ["[0]", refused, "[[1], [2]]"]


def test_a_program_that_keeps_an_unfinished_epoch_ends():
    assert said_by("""
        loader = iter(fl.DataLoader(list(range(1000)), parallel=True, collate=False))
        print(next(loader), flush=True)
    """) == ["[0]"]


def test_a_program_ends_though_a_batch_hangs():
    assert said_by("""
        hanging = fl.mapobs(lambda i: i if i < 1 else threading.Event().wait(), list(range(5)))
        print(next(iter(fl.DataLoader(hanging, parallel=True, collate=False))))
    """) == ["[0]"]
