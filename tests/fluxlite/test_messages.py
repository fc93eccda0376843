"""Messages that appear once, and errors that name the place in a model."""

import importlib.util
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from inside import Attribute, messages, misplaced, notice, put_aside, warn, words

import fluxlite as fl
from fluxlite import KeyPath, notices, reset_notices


def test_once_per_key(capsys):
    notice("a", "first")
    notice("a", "not said")
    warn(("b", 1), "second")
    assert notices() == ["[ Info: first", "┌ Warning: second"]
    assert capsys.readouterr() == ("", "[ Info: first\n┌ Warning: second\n")
    reset_notices()
    assert notices() == []
    notice("a", "again")
    assert capsys.readouterr().err == "[ Info: again\n"


def test_a_programs_output_is_its_own_and_a_notebook_shows_messages_below_the_cell(capsys, monkeypatch):
    program = "import fluxlite as fl; fl.simulate_gpu(); fl.setup(fl.Adam(), {}); fl.get_device(verbose=True); print(1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, encoding="utf-8")
    assert done.stdout == "1\n" and done.stderr.count("[ Info: ") == 2 and "┌ Warning: setup found" in done.stderr
    monkeypatch.setattr(messages, "in_notebook", lambda: True)
    notice("c", "there")
    fl.gpu_backend("CPU")
    said = capsys.readouterr()
    assert said.out.startswith("[ Info: there\n┌ Info: New GPU backend set") and said.err == ""
    with put_aside() as kept:
        notice("d", "hidden")
    assert kept.getvalue() == "[ Info: hidden\n" and capsys.readouterr() == ("", "")


SHELLS = """
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

class Sending(DisplayPublisher):
    pass

def ipykernels():
    from ipykernel.zmqshell import ZMQInteractiveShell
    return ZMQInteractiveShell.__new__(ZMQInteractiveShell)  # to begin it takes a kernel

def anothers():
    return InteractiveShell(display_pub_class=Sending)

shells = {"terminal": InteractiveShell, "another": anothers, "ipykernel": ipykernels}
from fluxlite import messages
shell = shells[sys.argv[1]]()
sys.modules.pop("ipykernel", None)
messages.ipython = lambda: shell
print(messages.in_notebook())
"""


@pytest.mark.parametrize("kernel", ["terminal", "ipykernel", "another"])
def test_a_notebook_is_found_by_what_ipython_says_whatever_kernel_it_has(kernel, tmp_path):
    for needed in ("IPython", "ipykernel"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} isn't installed")
    command = [sys.executable, "-c", f"import sys\n{SHELLS}", kernel]
    done = subprocess.run(command, env={**os.environ, "IPYTHONDIR": str(tmp_path)}, capture_output=True, text=True)
    assert done.stdout == f"{kernel != 'terminal'}\n", done.stderr


# -- errors with a place ---------------------------------------------------------------------------------------------

DeviceError, InputError, ShapeError = words.DeviceError, words.InputError, words.ShapeError
PATH = KeyPath((Attribute("layers"), 0))


def test_the_place_stands_in_front_and_grows_from_further_out():
    assert [str(ShapeError(path, "takes …")) for path in (KeyPath(), PATH)] == ["takes …", "layers[0]: takes …"]
    error = DeviceError(KeyPath((Attribute("weight"),)), "is on CPU")
    outer = error.within(Attribute("layers"), 1).within(Attribute("layers"), "encoder")
    assert type(outer) is DeviceError and str(outer) == "layers['encoder'].layers[1].weight is on CPU"
    assert str(error) == "weight is on CPU"


def test_they_are_errors_of_the_kinds_that_python_knows_also_in_another_process():
    for kind, pythons in ((ShapeError, ValueError), (DeviceError, TypeError), (InputError, TypeError)):
        assert issubclass(kind, pythons) and issubclass(kind, words.LayerError)
    error = pickle.loads(pickle.dumps(ShapeError(PATH, "too wide")))
    assert type(error) is ShapeError and str(error) == "layers[0]: too wide"


def test_the_cause_is_kept_without_the_chains_in_between():
    with pytest.raises(ShapeError) as error:
        fl.Chain(fl.Chain(fl.Dense(3, 2)))(np.ones(4))
    assert "matmul" in str(error.value.__cause__) and error.value.__cause__.__cause__ is None


def test_misplaced_finds_the_first_array_that_is_elsewhere():
    with fl.simulate_gpu(2):
        one, two = fl.gpu(np.ones(2, np.float32)), np.ones(2, np.float32)
        assert misplaced({"a": one, "b": (one,)}, one) is None
        assert str(misplaced({"a": one, "b": (two,)}, one)).startswith("['b'][0] is on CPU, the input is on Simul")
        assert str(misplaced([one], two)).startswith("[0] is on Simulated:0, the input is on CPU")
        seen = []
        fl.gradient(lambda x: (seen.append(misplaced([one], x)), x.sum())[1], two)
        assert "the input is on CPU" in str(seen[0])
    assert misplaced([two], 3.0) is None and misplaced([two], None) is None and misplaced([], two) is None


@fl.functor
class Scale:
    def __init__(self):
        self.factor = np.ones(3, np.float32)

    def __call__(self, x):
        try:
            return x * self.factor
        except TypeError as error:
            raise misplaced(self, x) or error from error


def test_a_users_own_layer_is_named_too(simulated):
    with pytest.raises(TypeError, match=r"^layers\[1\]\.factor is on CPU, the input is on"):
        fl.Chain(np.tanh, Scale())(fl.gpu(np.ones(3, np.float32)))
