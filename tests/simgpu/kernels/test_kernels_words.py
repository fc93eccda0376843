"""More of what errors say: indices from the end, rows and columns, lists, and how a kernel is asked for its figures."""

import numpy as np
import pytest
from test_kernels_advice import PART, I, kernel_of, launched  # noqa: F401
from test_kernels_run import escaped

import fluxlite as fl
from fluxlite.cuda import jit

pytestmark = pytest.mark.usefixtures("simulated")

OUTSIDE = [
    ("out[0] = x[-1]", "doesn't count from the end. Write x[x.size - 1]."),
    ("out[0] = z[0, -2]", "Write z[0, z.shape[1] - 2]."),
    (PART + "part[-1] = 0.0", "Write part[32 - 1]."),
    ("i = jit.grid(1)\nif i - 1 >= 0:\n    out[i] = x[i - 1]", "write i = int(jit.grid(1))"),
]


@pytest.mark.parametrize(("body", "words"), OUTSIDE)
def test_an_index_below_zero(body, words, kernel_of):  # noqa: F811
    with pytest.raises(jit.OutOfBounds, match=escaped(words)) as error:
        launched(kernel_of(body), 1, 32)
    assert "Guard" not in str(error.value)  # none would help, or it stands there


REFUSED = {
    "row = 1\nz[row * 8 + 2] = 0.0": "z has 2 axes: write z[row, 2]",
    "row = 1\nout[0] = z[2 + 8 * row]": "z has 2 axes: write z[row, 2]",
    "row = 1\nout[0] = z[2 + row * z.shape[1]]": "z has 2 axes: write z[row, 2]",
    "row = 1\nout[0] = x[0, row]": "x has 1 axis: write x[row]",
    "row = 1\nout[0] = x[row, 0]": "x has 1 axis: write x[row]",
    "part = [0.0] * 128": "lists: write jit.shared_memory(np.float32, 128), which all.*or one variable for each",
    "part = [0.0, 1.0]": "lists: take one variable for each number",
    "i = 1\ns = z[i, :] @ z[:, i]": "loop, for k in range(z.shape[1]): s += z[i, k] * z[k, i]",
    "s = z @ z": "a kernel has no @: write a loop",
    "part = np.zeros(34, np.float32)": "which all threads of the block share; a thread's own numbers are variables",
    "i = jit.grid()": "write jit.grid(1)",
    "i = jit.gridsize()": "write jit.gridsize(1)",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_to_write_instead(body, kernel_of):  # noqa: F811
    with pytest.raises(jit.Refused, match=escaped(REFUSED[body])):
        launched(kernel_of(body), 1, 4)


def test_figures_before_a_launch_and_after_one_that_raised(kernel_of):  # noqa: F811
    import pydoc

    kernel = kernel_of(I + "out[i] = x[i]")
    assert repr(kernel.figures).startswith("kernel wrong: no launch on a simulated GPU has finished yet. First launch")
    assert "bank conflicts: how often" in pydoc.render_doc(kernel.figures, renderer=pydoc.plaintext)
    with pytest.raises(AttributeError, match="First launch it"):
        _ = kernel.figures.sectors
    launched(kernel, 1, 32)
    assert kernel.figures.sectors == 8
    with pytest.raises(jit.OutOfBounds):
        launched(kernel, 2, 32)
    assert repr(kernel.figures) == "kernel wrong: the latest launch raised OutOfBounds, so there are no figures of it."
    with pytest.raises(RuntimeError, match="the latest launch raised OutOfBounds"):
        fl.explain(kernel)


def test_a_kernel_has_no_other_settings(kernel_of):  # noqa: F811
    kernel = kernel_of("out[0] = 1.0")
    with pytest.raises(AttributeError, match="a kernel has no watch. Did you mean watched?"):
        kernel.watch = (0, 1)
    with pytest.raises(AttributeError, match="a kernel has no blocks: watched and most_rounds can be set"):
        kernel.blocks = 3
    kernel.watched, kernel.most_rounds = None, 10


def test_how_a_trace_is_asked_for(kernel_of):  # noqa: F811
    kernel = kernel_of("s = 1.0")
    write = "wrong.trace(1, 32, (x, z, col, out))"
    x = fl.gpu(np.ones(4, np.float32))
    for given in ((), (x,), (x, x), (x, x, x, x)):
        with pytest.raises(TypeError, match=escaped(f"a trace has its arguments in parentheses: write {write}")):
            kernel.trace(*given)
    assert repr(kernel.trace) == f"<trace of wrong: {write} launches it, and gives what one warp touched>"
    assert repr(kernel.trace(2, 64, (x, x, x, x), 1, 1)) == "Warp 1 of block 1 touches no memory."
