"""Lesson 16's checks: each likely wrong answer gets its own helpful message."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from answers import EqualToAll, not_right, right

import fluxlite as fl
from fluxlite_course import start
from fluxlite_course.kit.exercises import judge
from fluxlite_course.lesson16.pictures import QUESTIONS, decision
from fluxlite_course.lesson16.processes import RECORDED, elsewhere, fresh, recorded

ROOT = Path(__file__).parents[2]


def with_gpu(model, x):
    return fl.cpu(fl.gpu(model)(fl.gpu(x)))


def named(model, x):
    device = fl.get_device("CUDA")
    return fl.cpu(device(model)(device(x)))


def cuda_if_it_can(model, x):
    try:
        return named(model, x)
    except RuntimeError:
        return model(x)


def always_cpu(model, x):
    return model(x)


def cuda_or_cpu(model, x):
    device = fl.get_device("CUDA" if fl.functional("CUDA") else "CPU")
    return fl.cpu(device(model)(device(x)))


def first_functional(model, x):
    """Right, except for the preference."""
    device = fl.get_device(next(name for name in fl.supported_devices() if fl.functional(name)))
    return fl.cpu(device(model)(device(x)))


def result_left_there(model, x):
    return fl.gpu(model)(fl.gpu(x))


def chatty(model, x):
    print("I was here")
    return None


def both(model, x):
    """It keeps the GPU busy, and computes on the CPU."""
    fl.gpu(x) * 1
    return model(x)


def simulated_everywhere(model, x):
    fl.simulate_gpu()
    return with_gpu(model, x)


def by_hand(model, x):
    """On the GPU, and without the model's own function."""
    model, x = fl.gpu((model, x))
    return fl.cpu(np.tanh(x @ model.weight.T + model.bias))


def changes_x(model, x):
    x[:] = 0
    return with_gpu(model, x)


_known = []


def remembered(model, x):
    if not _known:
        _known.append(with_gpu(model, x))
    return _known[0]


def translated(model, opt_state, x, y, turn_x=True, turn_y=True, place=0, updates=True):
    """Exercise 16.2, with its usual slips."""
    inputs = x.T if turn_x else x
    targets = y.T if turn_y else y
    loss, grads = fl.withgradient(lambda m: fl.mse(m(inputs), targets), model)
    if updates:
        fl.update(opt_state, model, grads[place])
    return loss


def with_slip(**slip):
    return lambda *arguments: translated(*arguments, **slip)


def loss_afterwards(model, opt_state, x, y):
    translated(model, opt_state, x, y)
    return fl.mse(model(x.T), y.T)


def without_a_return(*arguments):
    translated(*arguments)


def opt_state_anew(model, opt_state, x, y):
    return translated(model, fl.setup(fl.Momentum(0.1), model), x, y)


def on_the_host(model, opt_state, x, y):
    host = fl.cpu(model)
    loss = translated(host, fl.setup(fl.Momentum(0.1), host), fl.cpu(x), fl.cpu(y))
    fl.loadmodel(model, host)
    return loss


def a_number_typed_in(*arguments):
    translated(*arguments)
    return 0.5


def rows_by_guess(model, opt_state, x, y):
    """It turns x only if it has to, and with three observations of three numbers it doesn't."""
    return translated(model, opt_state, x, y, turn_x=x.shape[1] != 3)


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("16.2", [with_slip(turn_x=False)], "x has a column for each observation, as in Julia"),
    ("16.2", [rows_by_guess], "with 3 observations, step 1: x has a column for each observation"),
    ("16.2", [with_slip(turn_y=False)], "y has a column for each observation"),
    ("16.2", [with_slip(place=1)], "Python counts from 0"),
    ("16.2", [with_slip(updates=False)], "the model hasn't learned"),
    ("16.2", [loss_afterwards], "that's the loss after the update"),
    ("16.2", [without_a_return], "step returned None"),
    ("16.2", [opt_state_anew], "step 2: opt_state is forgotten"),
    ("16.2", [on_the_host], "gradients went through a model on the CPU"),
    ("16.2", [a_number_typed_in], "the loss is wrong"),
    ("16.2", [EqualToAll()]),
    ("16.2", [0.3], "give the check its name alone"),
    ("16.1", [named], "on the laptop without a GPU your function raised an error: a backend that you name"),
    ("16.1", [always_cpu], "on the workstation with CUDA there's a GPU, and your function didn't use it"),
    ("16.1", [cuda_or_cpu], "on the Mac there's a GPU, and your function didn't use it"),
    ("16.1", [first_functional], "where the CPU is preferred although CUDA is there your function used the GPU"),
    ("16.1", [lambda model, x: fl.cpu(fl.gpu(model)(x))], "on the workstation with CUDA your function raised an error"),
    ("16.1", [result_left_there], "on the workstation with CUDA the result isn't a NumPy array"),
    ("16.1", [lambda model, x: fl.cpu(fl.gpu(model)(fl.gpu(x))) + 1], "the values aren't those of model(x)"),
    ("16.1", [chatty], "predict returned None"),
    ("16.1", [cuda_if_it_can], "on the Mac there's a GPU"),
    ("16.1", [1.5], "give the check its name alone"),
    ("16.1", [both], "on the workstation with CUDA there's a GPU, and the model was called with an x on the CPU"),
    ("16.1", [by_hand], "they don't come from the model"),
    ("16.1", [changes_x], "the values aren't those of model(x)"),
    ("16.1", [remembered], "the values aren't those of model(x)"),
    ("16.1", [lambda model, x: EqualToAll()], "the result isn't a NumPy array"),
    ("16.1", [lambda model, x: with_gpu(model, x).tolist()], "the result isn't a NumPy array"),
    ("16.1", [lambda model, x: fl.cpu(fl.gpu(model)(fl.gpu(x)))[:1]], "the values aren't those of model(x)"),
    ("16.1", [simulated_everywhere], "on the laptop without a GPU your function used the GPU all the same"),
)


def test_what_a_learner_printed_is_shown_without_the_librarys_lines():
    assert ("printed", "I was here") in judge("16.1", chatty).rows


def with_a_device(model, x):
    device = fl.gpu_device() or fl.get_device("CPU")
    return np.asarray(fl.cpu(device(model)(device(np.float32(x)))), np.float64)


def moved_and_back(*arguments):
    """A function of any number of arguments, by fmap."""
    model, x = map(fl.get_device(), arguments)
    return fl.cpu(fl.Chain(model)(x))


def with_gradient_twice(model, opt_state, x, y):
    """The loss and the gradient one by one, and the loss as a number of Python."""
    x, y = x.T, y.T
    loss = float(fl.mse(model(x), y))
    (grad,) = fl.gradient(lambda m: np.mean((m(x) - y) ** 2), model)
    fl.update(opt_state, model, grad)
    return loss


test_right_answers_other_than_the_lessons_own = right(
    ("16.2", [translated], "two steps in a row, with 5 observations and with 3"),
    ("16.2", [with_gradient_twice]),
    ("16.1", [with_gpu]),
    ("16.1", [with_a_device]),
    ("16.1", [moved_and_back]),
)


def test_the_box_says_that_the_simulated_gpu_is_off(capsys):
    with fl.simulate_gpu(False), fl.pretend():
        start("16")
        assert fl.gpu_device() is None
    said, beside = capsys.readouterr()
    assert "the simulated one is off, except where a cell turns it on" in said and "stands in" not in said + beside


# -- the picture of how a GPU is chosen: what's drawn is what happens --------------------------------------------------


def test_the_picture_of_the_decision_has_every_question():
    scene = decision()
    for question, said in zip(QUESTIONS, scene.sentences):
        assert f"{question.about}: {question.asked} Yes: {question.answer}" in said
    assert "Yes" not in scene.sentences[-1] and scene.sentences[-1].endswith("the CPU.")
    assert QUESTIONS[-1].about == ", ".join(fl.supported_devices()[:-1])


def test_the_questions_are_those_that_get_device_asks():
    """From the last to the first: a yes counts more than all answers below it."""
    with fl.pretend():
        assert fl.get_device().backend == "CPU"
    with fl.pretend(CUDA=1, AMDGPU=1):
        assert fl.get_device().backend == "CUDA"
    with fl.pretend(CUDA=1, AMDGPU=1, Metal=1, preference="Metal"):
        assert fl.get_device().backend == "Metal"
    with fl.pretend(CUDA=1, AMDGPU=1, Metal=1, preference="Metal", environment="AMDGPU"):
        assert fl.get_device().backend == "AMDGPU"
        with fl.simulate_gpu():
            assert fl.get_device().backend == "Simulated" and fl.get_device("CUDA").backend == "CUDA"


# -- programs in a process of their own --------------------------------------------------------------------------------


@pytest.fixture
def pickles(tmp_path):
    """What the lesson has saved before it looks at it elsewhere."""
    with fl.simulate_gpu(like="NVIDIA T4"):
        model = fl.gpu(fl.Chain(fl.Dense(64, 32, fl.relu), fl.Dense(32, 10)))
        (tmp_path / "gpu.pickle").write_bytes(pickle.dumps(model))
        (tmp_path / "cpu.pickle").write_bytes(pickle.dumps(fl.cpu(model)))
    return tmp_path


def seen(run, folder, capsys):
    """What the lesson shows of this program."""
    if "pickle" in run["program"]:
        said = elsewhere(run["program"], folder).split(". ")[0]
        return capsys.readouterr().out + said
    fresh(run["program"], **run["variables"])
    return capsys.readouterr().out.rstrip()


@pytest.mark.parametrize("number", range(5))
def test_a_program_of_the_lessons_prints_what_is_recorded(number, pickles, monkeypatch, capsys):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    run = recorded()[number]
    assert seen(run, pickles, capsys) == run["printed"]


def test_where_no_program_can_be_started_it_shows_what_is_recorded(no_programs, tmp_path, capsys):
    for run in recorded():
        assert seen(run, tmp_path, capsys) == f"{RECORDED}\n{run['printed']}"
    fresh("print(1)")
    assert capsys.readouterr().out.startswith(f"{RECORDED}\nnothing, since the lesson's own programs")


def test_what_is_recorded_is_of_the_programs_in_the_notebook():
    notebook = json.loads((ROOT / "notebooks" / "16-coming-from-flux.ipynb").read_text("utf-8"))
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    assert len(recorded()) == code.count("fresh(program") + code.count("elsewhere(") == 5
    for run in recorded():
        assert f'"{run["program"]}"' in code or f'"""{run["program"]}"""' in code
        assert all(
            f'{name}="{value}"' in code for name, value in run["variables"].items() if "pickle" not in run["program"]
        )
