"""`check` finds the fault in a kernel, with the thread and the line that did it, and says so of a right one."""

import numpy as np
import pytest
from faults import FAULTS, numbers, zeros
from snippets import escaped, imported

import fluxlite as fl
import fluxlite.cuda.jit
from simgpu import jit


@pytest.fixture(params=FAULTS, ids=lambda fault: fault.name)
def fault(request):
    return request.param


def kernel_of(fault, folder, is_wrong):
    path = folder / f"{fault.name}_{is_wrong}.py"
    return getattr(imported(path, fault.text(is_wrong)), fault.name)


def test_a_planted_fault_is_found(fault, tmp_path):
    found = jit.check(kernel_of(fault, tmp_path, True), fault.against, **fault.options)
    assert not found and (type(found.error).__name__ if found.error else found.element) == fault.found
    assert (found.text or None, found.block and (found.block, found.thread)) == (fault.line, fault.place)
    assert all(n < found.size for n in found.sizes)
    if found.error is None:
        assert not np.isclose(found.wanted, found.got)
        how = "No thread has written it" if fault.line is None else f"in line {found.line}: {fault.line}"
        assert f"{found.element} should be {found.wanted} and is {found.got}" in repr(found) and how in repr(found)
    else:
        assert str(found.error).splitlines()[0] in repr(found)


def test_the_right_kernel_is_right(fault, tmp_path):
    found = jit.check(kernel_of(fault, tmp_path, False), fault.against, **fault.options)
    assert found and repr(found).startswith(f"{fault.name} is right with n = ")
    if "sizes" not in fault.options:
        assert {1, 2, 31, 32, 33} <= set(found.sizes) and max(found.sizes) > 46


@jit.rawkernel()
def doubled(x, out):
    i = int(jit.grid(1))
    if i < min(x.size, 31):
        out[i] = x[i] * 2


def test_no_size_below_the_one_that_is_found_is_wrong():
    found = jit.check(doubled, lambda x: x * 2)
    assert found.size == 32 and found.sizes == list(range(1, 32)) and found.count == 1
    assert (found.arrays["out"][:31] == found.arrays["x"][:31] * 2).all() and found.arrays["out"][31] == 0
    assert "with n = 32; right with n = 1 to 31." in repr(found)
    found = jit.check(doubled, lambda x: x * 2, sizes=[40, 7, 5, 6, 31, 500])
    assert found.size == 40 and found.sizes == [5, 6, 7, 31]


def test_the_thread_is_shown_line_by_line():
    found = jit.check(jitter, lambda x: x + 1, launch=8)
    assert (found.size, found.launch, found.block, found.thread) == (11, "jitter[2, 8]", (1,), (2,))
    shown = " | ".join(step.partition("    ")[2] for step in found.steps)
    got, wanted = found.got, found.got - 1
    assert shown == f"i = 10 | yes | x[10] = {got - 2} → value = {wanted} | yes | value = {got} | out[10] = {got}"


@jit.rawkernel()
def jitter(x, out):
    i = int(jit.grid(1))
    if i < x.size:
        value = x[i] + 1.0
        if i == 10:
            value += 1.0
        out[i] = value


@jit.rawkernel(device=True)
def of_the_device(x):
    return x


@jit.rawkernel()
def scaled(x, a, b, out):
    out[0] = x[0] * a + b


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: jit.check(lambda x: x, np.exp), TypeError, "check takes a kernel, a function under @jit.rawkernel()"),
    (lambda: jit.check(doubled, np.exp, sizes=[]), ValueError, "sizes has no size to try"),
    (lambda: jit.check(of_the_device, np.exp), TypeError, "check takes a kernel"),
    (lambda: jit.check(doubled, zeros(3)), TypeError, "is not a callable object"),
    (lambda: jit.check(doubled, lambda a, b, c: a), ValueError, "`against` takes a, b, c, and kernel doubled x, out: "),
    (lambda: jit.check(scaled, lambda x: x), ValueError, "takes a and b. Which numbers are they? arguments="),
    (lambda: jit.check(doubled, np.exp, arguments=lambda n: numbers(n)), TypeError,
     "kernel doubled(x, out) takes 2 arguments, and arguments(2) gives array("),
    (lambda: jit.check(doubled, np.exp, arguments=lambda n: (numbers(n), zeros(1))), ValueError,
     "`against` gives shape (2,) for out, which has shape (1,)"),
])  # fmt: skip
def test_a_wrong_call_says_what_is_wrong(call, error, words):
    with pytest.raises(error, match=escaped(words)):
        call()


def test_an_error_of_numpys_function_says_for_which_size():
    with pytest.raises(ZeroDivisionError) as error:
        jit.check(doubled, lambda x: x * (1 // (x.size - 7)), sizes=[7])
    assert error.value.__notes__ == ["That's in check, with n = 7."]


def test_fluxlite_has_it_too(simulated):
    assert fl.cuda.jit.check is jit.check
    with fl.simulate_gpu(like="A100"):
        found = fl.cuda.jit.check(doubled, lambda x: x * 2, sizes=[3])
    assert found and found.figures.card.name == "A100"
