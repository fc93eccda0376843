"""The guide's examples of arrays and models on a GPU, and the table of which test shows which example.

Examples of choosing a device are in `test_choosing.py` and `test_preferences.py`, of several devices in
`test_several_gpus.py`.
"""

import ast
from pathlib import Path

import numpy as np
import pytest

import fluxlite as fl

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def on_a_simulated_GPU():
    with fl.simulate_gpu():
        yield


def on_gpu(x):
    return fl.device_of(x) == fl.require_gpu()


def test_S1_7_and_S3_2_the_basic_example():
    """W and b moved, x and y moved: the same predict and loss as on the CPU, and a gradient on the GPU."""
    rng = np.random.default_rng(0)
    W, b, x, y = (rng.random(shape) for shape in ((2, 5), 2, 5, 2))

    def loss(W, b, x, y):
        return np.sum((W @ x + b - y) ** 2)

    on_cpu = loss(W, b, x, y)
    W, b, x, y = map(fl.cu, (W, b, x, y))
    assert W.dtype == np.float32 and on_gpu(loss(W, b, x, y))
    np.testing.assert_allclose(fl.cpu(loss(W, b, x, y)), on_cpu, rtol=1e-5)
    assert all(map(on_gpu, fl.gradient(loss, W, b, x, y)))


def test_S1_8_and_S3_3_fmap_cu_over_a_layer_and_a_chain():
    """S3-3 calls `d` where it means `m`; S1-8 is the corrected version."""
    d = fl.fmap(fl.cu, fl.Dense(10, 5, fl.σ))
    assert on_gpu(d.weight) and on_gpu(d(fl.cu(np.ones(10))))
    m = fl.fmap(fl.cu, fl.Chain(fl.Dense(10, 5, fl.σ), fl.Dense(5, 2), fl.softmax))
    out = m(fl.cu(np.ones(10)))
    assert on_gpu(out) and fl.cpu(out).shape == (2,) and fl.cpu(out).sum() == pytest.approx(1)


def test_S1_9_and_S3_4_and_S3_R2_gpu():
    m = fl.gpu(fl.Dense(10, 5))
    assert repr(m).startswith("Dense(10 => 5)      # 55 parameters")
    x = fl.gpu(np.random.default_rng(0).random(10))
    assert on_gpu(x) and x.dtype == np.float32 and on_gpu(m(x)) and m(x).shape == (5,)


def test_S1_10_and_S3_5_and_S3_R1_cpu():
    """The values come back, but not the precision that `gpu` reduced."""
    before = np.random.default_rng(0).random(10)
    x = fl.cpu(fl.gpu(before))
    assert type(x) is np.ndarray and x.dtype == np.float32
    np.testing.assert_array_equal(x, before.astype(np.float32))


def test_S3_R3_cu_converts_as_the_guide_says():
    """F11: Float64 and complex128 become half as wide. Half precision, integers and ranges don't change."""
    kinds = {"f8": "f4", "c16": "c8", "f2": "f2", "i8": "i8", "b1": "b1"}
    assert {kind: fl.cu(np.ones(2, kind)).dtype.str[1:] for kind in kinds} == kinds
    assert fl.cu([range(1, 4), np.ones(1)])[0] == range(1, 4)


def test_S1_15_and_S3_11_a_model_goes_back_before_it_is_saved():
    model = fl.gpu(fl.Chain(fl.Dense(3, 2)))
    back = fl.cpu(model)
    assert type(back.layers[0].weight) is np.ndarray and on_gpu(model.layers[0].weight)


def test_S3_R9_time_waits_before_and_after_and_says_what_was_asked_of_the_gpu(capsys):
    """F49: earlier work doesn't count, and the time is that of the sum, not of launching it."""
    device, x = fl.require_gpu(), fl.cu(np.ones((2048, 2048), np.float32))
    earlier = x @ x
    device.synchronize()
    ordered = fl.clock()
    earlier = earlier @ x
    ordered = fl.clock() - ordered
    capsys.readouterr()
    y = fl.cuda.time(lambda: earlier @ x)
    out = capsys.readouterr().out
    assert y.shape == (2048, 2048) and "launches          1: matmul 1" in out and "simulated (NVIDIA T4)" in out
    with fl.receipt() as r:
        fl.cuda.sync(lambda: earlier @ x)
    assert f"{r.seconds}" in out and r.seconds > 100 * ordered


def test_F19_a_device_is_called_like_a_function():
    device = fl.get_device()
    assert on_gpu(device(np.ones(2))) and all(map(on_gpu, map(device, [np.ones(2), np.ones(3)])))


def test_F44_the_same_code_for_any_backend():
    for situation in ({"CUDA": 1}, {"AMDGPU": 1}, {"Metal": 1}, {}):
        with fl.pretend(**situation):
            device = fl.get_device()
            model, x = device((fl.Dense(2, 3), np.ones(2, np.float32)))
            assert fl.device_of(model(x)) == device


# -- the table ----------------------------------------------------------------------------------------------------

# For each of the guide's features, the test that shows it, or where it will be shown.
FEATURES = {
    "F1": "test_backends.py::test_F1",
    "F2": "test_backends.py::test_F2",
    "F3": "test_backends.py::test_F3",
    "F4": "test_backends.py::test_S1_1",
    "F5": "test_backends.py::test_S1_2",
    "F6": "test_backends.py::test_S1_3",
    "F7": "test_preferences.py::test_S1_4",
    "F8": "test_preferences.py::test_S1_6",
    "F9": "test_choosing.py::test_S1_27",
    "F10": "test_several_gpus.py::test_S1_17",
    "F11": "test_guide.py::test_S3_R3",
    "F12": "test_guide.py::test_S1_7",
    "F13": "test_tree.py::test_an_unregistered_object_stays_as_it_is",
    "F14": "test_tree.py::test_functor_of_an_object_takes_it_apart",
    "F15": "test_tree.py::test_a_subset_changes_only_its_fields",
    "F16": "test_selection.py::test_without_a_gpu_gpu_gives_its_argument",
    "F17": "test_guide.py::test_S1_10",
    "F18": "test_moving.py::test_containers_and_models_move",
    "F19": "test_guide.py::test_F19",
    "F20": "test_guide.py::test_S1_9",
    "F21": "test_loaders.py::test_F21",
    "F22": "test_loaders.py::test_S1_11",
    "F23": "test_loaders.py::test_all_ways_give_equal_batches",
    "F24": "test_loaders.py::test_S1_14",
    "F25": "test_loaders.py::test_S3_9",
    "F26": "test_loaders.py::test_S3_10",
    "F27": "test_loaders.py::test_S1_11",
    "F28": "test_older_styles.py::test_the_implicit_style_gives",
    "F29": "test_guide.py::test_S1_15",
    "F30": "test_saving.py::test_F30",
    "F31": "test_choosing.py::test_without_a_preference_the_first",
    "F32": "test_several_gpus.py::test_device_objects_are_complete",
    "F33": "test_choosing.py::test_S1_19",
    "F34": "test_choosing.py::test_S1_21",
    "F35": "test_choosing.py::test_F35",
    "F36": "test_choosing.py::test_S1_29",
    "F37": "test_several_gpus.py::test_S1_23",
    "F38": "test_choosing.py::test_F38",
    "F39": "test_several_gpus.py::test_S1_25",
    "F40": "test_several_gpus.py::test_S1_25",
    "F41": "test_several_gpus.py::test_S1_25",
    "F42": "test_choosing.py::test_S1_27",
    "F43": "test_preferences.py::test_S1_20",
    "F44": "test_guide.py::test_F44",
    "F45": "test_loaders.py::test_F45",
    "F46": "test_scalars.py::test_F46",
    "F47": "test_several_gpus.py::test_S3_R8",
    "F48": "test_several_gpus.py::test_S3_R10",
    "F49": "test_guide.py::test_S3_R9",
    "F50": "test_rnn.py::test_after_200_epochs",
    "F51": "test_older_styles.py::test_the_descent_step_of_the_blog",
    "F52": "test_older_styles.py::test_a_state_that_was_walked_through_has_to_be_detached",
    "F53": "test_selection.py::test_without_a_gpu_gpu_gives_its_argument",
    "F54": "test_rnn.py::test_after_200_epochs",
    "F55": "later: the lesson that measures",
    "F56": "test_rnn.py::test_after_200_epochs",
}
# The guide's examples that are shown outside the device tests.
EXAMPLES_ELSEWHERE: dict[str, str] = {}
EXAMPLES = [f"S1_{i}" for i in range(1, 31)] + [f"S3_{i}" for i in range(1, 15)] + [f"S3_R{i}" for i in range(1, 11)]


def names_in(file):
    tree = ast.parse(next((ROOT / "tests").rglob(file)).read_text("utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def test_the_table_has_every_feature_and_its_tests_exist():
    assert list(FEATURES) == [f"F{i}" for i in range(1, 57)]
    for feature, owner in FEATURES.items():
        if not owner.startswith("later: "):
            file, beginning = owner.split("::")
            assert any(f"{name}_".startswith(f"{beginning}_") for name in names_in(file)), f"{feature}: {owner} is gone"


def test_every_example_is_shown_by_a_test_of_its_name_or_said_to_be_elsewhere():
    names = [name for path in (ROOT / "tests").rglob("test_*.py") for name in names_in(path.name)]
    shown = {example for example in EXAMPLES for name in names if example in _ids(name)}
    assert shown | set(EXAMPLES_ELSEWHERE) == set(EXAMPLES) and not shown & set(EXAMPLES_ELSEWHERE)


def _ids(name):
    """The examples that a test's name starts with: test_S1_17_and_S3_13_minus_one shows S1_17 and S3_13."""
    words = name.split("_")[1:]
    found = []
    while words[:1] and words[0] in ("S1", "S3"):
        found.append("_".join(words[:2]))
        words = words[3:] if words[2:3] == ["and"] else words[2:]
    return found


def test_the_table_notices_what_is_missing():
    assert _ids("test_S1_17_and_S3_13_minus_one_hides_all") == ["S1_17", "S3_13"]
    assert _ids("test_S3_R7_the_current_device") == ["S3_R7"] and _ids("test_numbers_S1_4") == []
