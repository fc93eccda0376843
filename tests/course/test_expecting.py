"""Deliberate errors: shown if they appear, an AssertionError if they don't."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course import expect_error


def divide(a, b):
    return a / b


def test_the_message_is_printed(capsys):
    with expect_error(ZeroDivisionError, "division"):
        divide(1, 0)
    assert capsys.readouterr().out == "ZeroDivisionError: division by zero\n"


def test_with_the_way_to_it(capsys):
    with expect_error(ZeroDivisionError, "division", traceback=True):
        divide(1, 0)
    first, *steps, last = capsys.readouterr().out.splitlines()
    assert first == "Traceback (most recent call last):" and last == "ZeroDivisionError: division by zero"
    assert [step.strip() for step in steps[1::2]] == ["divide(1, 0)", "return a / b"]
    assert steps[2].endswith("of this cell, in divide")


def test_steps_inside_the_library_are_left_out(capsys):
    with fl.simulate_gpu(), expect_error(TypeError, "is on CPU", traceback=True):
        divide(fl.cu(np.ones(2)), np.ones(2))
    out = capsys.readouterr().out
    assert "fluxlite" not in out.partition("TypeError")[0] and "  … and more, inside the library\n" in out


def test_steps_in_another_file_are_said_to_be_elsewhere(capsys):
    def source(text):
        space = {"divide": divide}
        exec(compile(text, "<another cell>", "exec"), space)
        return space["f"]

    with expect_error(ZeroDivisionError, "division", traceback=True):
        source("def f():\n    return divide(1, 0)")()
    assert "line 2 of another cell, in f" in capsys.readouterr().out


@pytest.mark.parametrize("traceback", [True, False])
def test_no_error_or_another_one_is_not_what_was_expected(traceback):
    with pytest.raises(AssertionError, match="nothing was raised"), expect_error(ValueError, "x", traceback):
        pass
    with pytest.raises(ZeroDivisionError), expect_error(ValueError, "x", traceback):
        divide(1, 0)
    wrong_words = pytest.raises(AssertionError, match="expected to say 'modulo'")
    with wrong_words, expect_error(ZeroDivisionError, "modulo", traceback):
        divide(1, 0)
