"""What people who know PyTorch, Keras or JAX type first: it works, or the error says what it is called here."""

import re

import numpy as np
import pytest

import fluxlite as fl
from fluxlite import coming_from

MODEL = fl.Chain(fl.Dense(2, 3, np.tanh), fl.Dense(3, 1))
STATE = fl.setup(fl.Adam(), MODEL)


@pytest.mark.parametrize("name", coming_from.NAMES)
def test_a_name_of_another_library(name):
    if name in fl.__all__ or hasattr(fl, name):
        pytest.skip(f"fluxlite has a {name} of its own")
    with pytest.raises(AttributeError, match=rf"module 'fluxlite' has no attribute '{name}'\. [A-Z]"):
        getattr(fl, name)


def wanted(x, table):
    return [(x, name, table) for name in table if not hasattr(type(x), name) and name not in vars(x)]


@pytest.mark.parametrize(
    "x, name, table",
    [
        *wanted(MODEL, coming_from.OF_A_MODEL),
        *wanted(MODEL[0], coming_from.OF_A_MODEL),
        *wanted(fl.Adam(), coming_from.OF_AN_OPTIMIZER),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_an_attribute_of_another_library(x, name, table):
    with pytest.raises(AttributeError, match=rf"object has no attribute '{name}'\. [A-Z]"):
        getattr(x, name)


def test_attributes_of_a_tracked_array():
    def f(w):
        for name in coming_from.OF_AN_ARRAY:
            with pytest.raises(AttributeError, match=rf"no attribute '{name}'\. [A-Z]"):
                getattr(w, name)
        assert not hasattr(w, "__cuda_array_interface__") and not hasattr(w, "nothing")
        return w.sum()

    fl.gradient(f, np.ones(2))


def test_what_is_said_of_others_is_nothing_new():
    for x, name in [(fl, "Adan"), (MODEL, "wieght"), (fl.Adam(), "beeta"), (fl.param(np.ones(2)), "shap")]:
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'$"):
            getattr(x, name)
    assert not hasattr(MODEL, "__array__") and not hasattr(MODEL, "_own")


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: fl.Adam(lr=0.1), r"Adam has no 'lr'\. Here it is eta"),
        (lambda: fl.AdamW(weight_decay=0.1), r"AdamW has no 'weight_decay'\. Here it is decay"),
        (lambda: fl.RMSProp(alpha=0.9), r"RMSProp has no 'alpha'\. Here it is rho"),
        (lambda: fl.Descent(momentum=0.9), r"Descent has no 'momentum'\. Here it is rho, in fl.Momentum"),
        (lambda: fl.DataLoader(np.ones((4, 2)), batch_size=2), r"argument 'batch_size'\. Here it is batchsize"),
        (lambda: fl.DataLoader(np.ones((4, 2)), num_workers=2), r"'num_workers'\. Here it is parallel=True"),
        (lambda: fl.Dense(in_features=2, out_features=3), r"'in_features'\. Here it is the first argument"),
        (lambda: fl.train(fl.mse, MODEL, [], STATE, num_epochs=2), r"'num_epochs'\. Here it is epochs"),
        (lambda: fl.train(fl.mse, MODEL, [], STATE, verbose=2), r"unexpected keyword argument 'verbose'$"),
    ],
)
def test_a_keyword_of_another_library(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_an_error_inside_is_not_taken_for_a_wrong_keyword():
    def init(*shape, **keywords):
        return np.zeros(shape, lr=1)

    with pytest.raises(TypeError, match=r"'lr'$|lr.*$") as caught:
        fl.Dense(2, 3, init=init)
    assert "eta" not in str(caught.value)


def test_a_tensor_is_no_array():
    torch = pytest.importorskip("torch")
    for model in (MODEL, MODEL[0]):
        with pytest.raises(TypeError, match=r"takes an array, got a torch\.Tensor; np\.from_dlpack\(x\) makes an array"):
            model(torch.zeros(1, 2))
    np.testing.assert_array_equal(MODEL(np.asarray(torch.zeros(1, 2))), MODEL(np.zeros((1, 2), np.float32)))


def test_every_hint_names_what_there_is():
    for table in (coming_from.NAMES, coming_from.OF_A_MODEL, coming_from.OF_AN_ARRAY, coming_from.OF_AN_OPTIMIZER):
        for name, here in table.items():
            for found in re.findall(r"fl\.((?:cuda\.)?\w+)", here):
                if found in NOT_YET:
                    continue
                owner = fl.cuda if found.startswith("cuda.") else fl
                assert hasattr(owner, found.removeprefix("cuda.")), (name, found)


NOT_YET = {"cuda.jit"}
