"""Memory that a step frees stays in the process for the next step, where Linux's C library would give it back."""

import os
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")

# Twenty arrays of 4 MB, as a tape has them. It prints how often the system had to give a page to a later step.
PROGRAM = """
import resource
import numpy as np
import fluxlite

def step():
    return len([np.ones(2**20, np.float32) for _ in range(20)])

def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

step()
before = pages()
for _ in range(5):
    step()
print((pages() - before) / 5)
"""
PAGES = 20 * 2**22 / 4096  # of the arrays; or fewer, where the system gives larger pages


def pages_asked_for(**chosen):
    unset = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=unset | chosen, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def test_a_step_reuses_what_the_step_before_freed():
    assert pages_asked_for() < PAGES / 100


def test_what_you_chose_for_the_c_library_stays():
    assert pages_asked_for(MALLOC_TRIM_THRESHOLD_="100000") > 20
