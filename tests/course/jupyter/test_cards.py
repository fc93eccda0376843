"""The picture of how a GPU is chosen: what is drawn is what happens, and the sentence says it."""

import fluxlite as fl
from fluxlite_course.lesson16.pictures import QUESTIONS, decision


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
