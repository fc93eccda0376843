"""Arrays are read-only while `gradient` runs, and writable afterwards, wherever Ctrl-C comes."""

import itertools
import sys

import numpy as np
import pytest
from inside import Level

import fluxlite as fl


def interrupted(run, wanted):
    """Call ``run()``, and stop it at an instruction of those that freeze and thaw. Whether there was such a one."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if frame.f_code.co_filename != sys.modules[Level.__module__].__file__:
            return None
        frame.f_trace_opcodes = True
        if event in ("opcode", "call"):
            count += 1
            if count == wanted:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys._getframe().f_trace_opcodes = True  # Python 3.12 wants to know before settrace
    sys.settrace(trace)
    try:
        run()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def of_a_function(w, view):
    fl.gradient(lambda w: np.sum(w * view), w)


def of_an_inner_function(w, view):
    fl.gradient(lambda w: np.sum(w * fl.gradient(lambda v: np.sum(v * w * view), view)[0]), w)


def of_all_elements(w, view):
    fl.jacobian(lambda w: w * view[0], w[0])


def of_a_models_own_arrays(w, view):
    model = fl.Dense(3, 2)
    model.weight = w
    fl.gradient(lambda: np.sum(model(view)), fl.params(model))


@pytest.mark.parametrize("step", [of_a_function, of_an_inner_function, of_all_elements, of_a_models_own_arrays])
def test_arrays_are_writable_after_ctrl_c_at_any_instruction(step):
    for wanted in itertools.count(1):
        w = np.ones((2, 3), np.float32)
        view = np.arange(6, dtype=np.float32).reshape(3, 2).T
        goes_on = interrupted(lambda w=w, view=view: step(w, view), wanted)
        assert w.flags.writeable and view.flags.writeable and view.base.flags.writeable
        if not goes_on:
            break
    assert wanted > 50
