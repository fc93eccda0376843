"""Pictures of several GPUs, and of how one is chosen: what is drawn is what happened, and the sentence says it."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.messages import DeviceError
from fluxlite_course.lesson12.pictures import cards
from fluxlite_course.lesson16.pictures import QUESTIONS, decision


def texts(scene):
    """What a picture writes, besides its sentence."""
    return {part.text for part in scene.picture.parts() if part.text}


@pytest.fixture
def devices():
    with fl.simulate_gpu(3):
        yield fl.cuda.devices()


def test_copies_of_one_way_are_one_arrow(devices):
    model, x = fl.Dense(2, 3), np.ones(2, np.float32)
    with fl.receipt() as r:
        model0 = devices[0](model)
        model2 = devices[2](model0)
        back = devices[0](devices[2](devices[0](x)))
        print(model2.weight)
        on_host = fl.cpu(back)
    scene = cards(r, model=model, model0=model0, model2=model2, on_host=on_host)
    assert repr(scene) == (
        "3 copies, 44 bytes, from the host to card 0; 3 copies, 44 bytes, from card 0 to card 2; "
        "1 copy, 8 bytes, from card 2 to card 0; 1 copy, 24 bytes, implicit, from card 2 to the host; "
        "1 copy, 8 bytes, from card 0 to the host. On the host: model, on_host. On card 0: model0. On card 2: model2."
    )
    assert {"0 → 2", "2 → 0", "3 copies", "44 bytes", "24 bytes, implicit"} <= texts(scene)
    assert {"host", "card 1", "model2", "Dense, 36 bytes", "on_host", "float32 (2,)"} <= texts(scene)


def test_a_copy_beside_itself_crosses_nothing(devices):
    x = devices[1](np.ones((4, 2), np.float32))
    with fl.receipt() as r:
        x[:2] = x[2:]
        with devices[1]:
            x + x
    assert r.device_to_device.count == 1
    assert repr(cards(r)) == "Nothing was copied."
    assert not any("cop" in text for text in texts(cards(r)))


def test_a_pretended_card_is_drawn_too():
    with fl.pretend(CUDA=2):
        first, second = fl.get_device("CUDA", 0), fl.get_device("CUDA", 1)
        with fl.receipt() as r:
            second(first(np.ones(2, np.float32)))
        assert repr(cards(r)).endswith("1 copy, 8 bytes, from card 0 to card 1.")


def test_what_cannot_be_drawn_says_so(devices):
    with fl.receipt() as r:
        both = [devices[0](np.ones(2, np.float32)), np.ones(2)]
    with pytest.raises(DeviceError, match=r"\[0\] is on Simulated:0, \[1\] is on CPU"):
        cards(r, both=both)
    with fl.pretend(), pytest.raises(ValueError, match="there is none"):
        cards(r)


def test_the_picture_of_the_decision_has_every_question():
    scene = decision()
    for question, said in zip(QUESTIONS, scene.sentences):
        assert f"{question.about}: {question.asked} Yes: {question.answer}" in said
    assert "Yes" not in scene.sentences[-1] and scene.sentences[-1].endswith("the CPU.")
    assert QUESTIONS[-1].about == ", ".join(fl.supported_devices()[:-1])


def test_the_questions_are_those_that_get_device_asks():
    """From the last to the first: each that is answered with yes counts more than those below it."""
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
