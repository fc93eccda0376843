"""Some hundred random programs against PyTorch; without it, against finite differences. Thousands: noxfile.py."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import random_checks
from inside import (
    RULES,
    derivatives,  # noqa: F401  (fills the table of rules)
    plain,
    rule,
)
from random_checks import REFERENCE, Wrong, by_differences, by_gradient, by_torch, checked, torch
from random_programs import LAYOUTS, MODELS, NAMES, WRITTEN, Leaf, Program, Step, operations, random_program, run
from vocabulary import OPERATIONS

SEEDS = range(200 if torch else 100)


@pytest.mark.parametrize("start", SEEDS[::50])
def test_gradients_of_random_programs(start):
    drawn_again = sum(checked(seed).seed[1] for seed in range(start, start + 50))
    assert drawn_again <= 2, "most programs should say something"


@pytest.mark.skipif(not torch, reason="the tests above did that")
def test_gradients_are_those_of_finite_differences():
    for seed in range(1000, 1020):
        checked(seed, by_differences)


# -- what is tried -----------------------------------------------------------------------------------------------------


def test_a_seed_decides_the_program():
    for seed in range(20):
        assert str(random_program(seed, 0)) == str(random_program(seed, 0)) != str(random_program(seed, 1))


def test_the_vocabulary_is_used():
    assert len(OPERATIONS) > 200
    assert len({entry[0] for entry in OPERATIONS}) == len(OPERATIONS), "an entry that is there twice"
    used = {step.entry for seed in SEEDS for step in random_program(seed, 0).steps}
    assert len(used) > 0.8 * len(OPERATIONS)


def test_everything_is_mixed():
    programs = [random_program(seed, 0) for seed in SEEDS]
    leaves = [leaf for program in programs for leaf in program.leaves]
    assert {program.model for program in programs} == {"", *MODELS}
    assert {leaf.precision for leaf in leaves} == {"single", "double"}
    assert {leaf.layout for leaf in leaves} == set(LAYOUTS)
    assert {n for leaf in leaves for n in leaf.values.shape} >= {0, 1, 2, 3, 4}
    assert sum(program.mixes() for program in programs) > len(programs) / 2
    used = {text for program in programs if program.model for text in operations(program.model)}
    assert any(text.text.startswith("model.seen") for text in used)
    ways = {way for program in programs for way in random_checks.styles(program)}
    assert len(ways) == 6, "gradient, withgradient, back, params; gradient and back for second gradients"


@pytest.mark.skipif(not torch, reason="needs PyTorch")
def test_what_float32_cannot_compute_is_recognized():
    x = Leaf("x", "x", np.array([0.3, 0.7]), "single", "")
    steps = [Step("v0", "np.sin(x * 1e5)", "torch.sin(x * 1e5)", frozenset("x"), "")]
    assert by_torch(Program((0, 0), [x], steps=steps, results=["v0"])) is None
    steps = [Step("v0", "np.sin(x)", "torch.sin(x)", frozenset("x"), "")]
    assert by_torch(Program((0, 0), [x], steps=steps, results=["v0"])) is not None


# -- faults are found --------------------------------------------------------------------------------------------------


def refused():
    """What is said of the first wrong program."""
    with pytest.raises(Wrong) as caught:
        for seed in range(400):
            checked(seed, REFERENCE)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "pullback", "words"),
    [
        (np.arctan, lambda g, out, x: g / (1 + abs(x)), "off by"),
        (np.arcsinh, lambda g, out, x: g / plain(np.hypot(1, x)), "second"),  # the first derivative is right
        (np.roll, lambda g, out, a, shift, axis=None: np.roll(g, shift, axis), "off by"),
        (np.cbrt, lambda g, out, x: g.nothing, "AttributeError"),
    ],
)
def test_a_wrong_rule_is_found(monkeypatch, function, pullback, words):
    monkeypatch.setitem(RULES, function, RULES[function])
    rule(function, pullback)
    text = refused()
    assert words in text and f"np.{function.__name__}(" in text
    lines = text[text.index("def program") :].splitlines()
    assert len(lines) <= 12, "what the wrong value doesn't need is left out"
    assert run("\n".join(lines).strip(), NAMES | WRITTEN | {"c": np.ones(2)})  # and what is left can be run


def test_state_that_gets_lost_is_found(monkeypatch):
    monkeypatch.setattr("fluxlite.autodiff.gradients.keep_state", lambda arguments, marked: None)
    assert "model.seen: off by" in refused()


def test_a_broken_tie_is_found(monkeypatch):
    monkeypatch.setattr("fluxlite.autodiff.marking.parameter_key", lambda array: ("object", id(array)))
    assert "tied" in refused()


# -- mistakes are named ------------------------------------------------------------------------------------------------

MISTAKES = {
    "np.i0({x})": (TypeError, r"^np\.i0 has no derivative rule"),
    "np.sum({x}, out=np.zeros(()))": (TypeError, r"^the derivative rule of np\.sum does not know the keyword 'out'"),
    "np.add({x}, 1, out=np.zeros(np.shape({x})))": (TypeError, r"\(out=, \+=\)"),
    "{x}[...] = 1.0": (TypeError, r"^x\[i\] = y changes x in place"),
    "t = {x}; t += 1": (TypeError, r"^x \+= y .* changes x in place"),
    "float(np.sum({x}))": (TypeError, r"^float\(x\)"),
    "np.asarray({x})": (TypeError, r"np\.asarray"),
    "np.array([{x}, {x}])": (TypeError, r"list of tracked arrays"),
    "format({x}, '.2f')": (TypeError, r"^printing a tracked array in a format"),
    "range({x})": (TypeError, r"as an index or a count"),
    "np.sum({x}).item()": (TypeError, r"^x\.item\(\)"),
    "np.sum({x}).tolist()": (TypeError, r"^x\.tolist\(\)"),
    "pickle.dumps({x})": (TypeError, r"^pickling"),
    "copy.deepcopy({x})": (TypeError, r"copy\.deepcopy"),
    "np.matmul({x}, np.ones((7, 9, 5)))": (ValueError, r"^matmul"),
    "np.concatenate([np.ravel({x}), np.ones((2, 2))])": (ValueError, r"number of dimensions"),
    "np.einsum('ijklmn->i', {x})": (ValueError, r"^einst"),
    "np.sum({x}, axis=7)": (ValueError, r"axis 7 is out of bounds"),
    "{x}.nonsense": (AttributeError, r"nonsense"),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_named_wherever_it_is(text):
    kind, words = MISTAKES[text]
    rng = np.random.default_rng(len(text))
    for seed in range(8):
        program = random_program(seed, 0)
        arrays = [leaf.place for leaf in program.leaves if leaf.layout in list(LAYOUTS)[:5]]
        if not arrays:
            continue
        wrong = Step("a mistake", text.format(x=rng.choice(arrays)), "", frozenset(), "")
        place = int(rng.integers(len(program.steps)))
        spoiled = replace(program, steps=[*program.steps[:place], wrong, *program.steps[place:]])
        f = run(spoiled.text(), NAMES | WRITTEN | {"c": program.constant, "pickle": pickle, "copy": copy})
        arguments = program.arguments()
        with pytest.raises(kind, match=words):
            by_gradient(program, f, arguments)
        if program.model == "with state":
            assert np.all(arguments[-1].seen == 0.5), "state is kept only after success"
        by_gradient(program, program.compiled(), arguments)  # nothing is left behind
