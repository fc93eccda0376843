"""gpu(x) and cpu(x): what moves, what stays the same object, which messages appear, what raises."""

import collections
import io
import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from inside import device_of
from kinds import EVERYWHERE, GPUS, f32

from fluxlite import functor, gradient, notices, reset_notices
from fluxlite.devices import CPU, cpu, gpu


@functor
@dataclass
class Pair:
    first: object
    second: object


@dataclass
class Unregistered:
    weight: object
    name: str = "net"


# -- containers, models, leaves ----------------------------------------------------------------------


@pytest.mark.on(*EVERYWHERE)
def test_containers_and_models_move_and_the_original_stays(device):
    Point = collections.namedtuple("Point", "x y")
    original = {"a": [f32(2), (f32(3), Point(f32(1), "y"))], "m": Pair(f32(2, 2), [Pair(f32(1), 3)])}
    there = device(original)
    assert type(there["a"][1][1]).__name__ == "Point" and there["a"][1][1].y == "y" and there["m"].second[0].second == 3
    arrays = [there["a"][0], there["a"][1][0], there["a"][1][1].x, there["m"].first, there["m"].second[0].first]
    assert [device_of(x) for x in arrays] == [device] * 5
    assert type(original["m"].first) is np.ndarray and original["m"] is not there["m"]
    assert type(cpu(there)["m"].second[0].first) is np.ndarray


@pytest.mark.on(*EVERYWHERE)
def test_what_has_no_place_passes(device):
    for x in (3, 2.5, 1j, "text", b"bytes", None, range(3), slice(2), np.float64(2), np.tanh, len, int, np,
              io.StringIO(), np.dtype("f4"), np.random.default_rng(0), True, Ellipsis):  # fmt: skip
        assert device(x) is x
    assert notices() == []
    x = device(f32(3))  # it's there already
    assert device(x) is x and device.receive(x) is x and device({"x": x})["x"] is x
    assert cpu(h := np.ones(3)) is h


@pytest.mark.on(*GPUS)
def test_types_on_the_way_to_a_gpu(device):
    narrower = {"float64": "float32", "complex128": "complex64"}
    for before in ("float64", "complex128", "float32", "float16", "complex64", "int64", "int32", "uint8", "bool"):
        x = np.array([0, 1, 1]).astype(before)
        there = device(x)
        assert there.dtype == cpu(there).dtype == narrower.get(before, before)
        if (device.backend, before) != ("Metal", "complex128"):  # MLX doesn't have it
            assert device(x, dtype=None).dtype == before
        assert cpu(there).tolist() == x.tolist() and device(there) is there
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if device.backend != "Metal":
        assert device(np.ones(2, ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16


@pytest.mark.on(*EVERYWHERE)
def test_a_type_that_is_asked_for(device):
    moved = device([np.ones(2), f32(2), np.ones(2, np.int32), np.ones(2, np.complex64)], dtype=np.float16)
    assert [x.dtype.name for x in moved] == ["float16", "float16", "int32", "complex64"]


def test_precision_is_mentioned_once(simulated):
    gpu([np.ones(2), np.ones(3)])
    gpu(np.ones(2, np.complex128))
    (line,) = notices()
    assert "float64 arrays become float32" in line
    reset_notices()
    gpu([f32(2), np.ones(2, int), 2.0, np.float64(3)])
    gpu(np.ones(2), dtype=None)
    cpu(np.ones(2))
    assert notices() == []


@pytest.mark.on(*GPUS)
def test_arrays_of_other_things_raise(device):
    others = np.array([{}, 1], dtype=object), np.array(["a"]), np.array(["2026"], "M8[Y]"), np.ones(2, np.longdouble)
    for x, kind in zip(others, ("dict", "str", "datetime64", "longdouble"), strict=True):
        with pytest.raises(TypeError, match=kind):
            device([f32(2), x])
        assert cpu(x) is x


def test_the_path_is_named_where_something_cannot_move(simulated):
    with pytest.raises(TypeError, match=r"generator at \[1\]\.first can't be moved: write map"):
        gpu((f32(2), Pair((x for x in [1]), None)))
    for endless in (iter([1]), itertools.count(), map(len, []), zip([1], [2])):
        with pytest.raises(TypeError, match="can't be moved"):
            gpu(endless)
    cycle = [f32(2)]
    cycle.append(cycle)
    with pytest.raises(ValueError, match=r"\[1\]"):
        gpu(cycle)


# -- ties and overlaps --------------------------------------------------------------------------------


@pytest.mark.on(*GPUS)
def test_ties_survive(device):
    W = f32(2, 3)
    there = device({"embed": W, "out": W.T, "again": [W]})
    there["embed"][0, 1] = 7
    assert float(there["out"][1, 0]) == 7 and there["again"][0] is there["embed"]
    back = cpu(there)
    back["out"][2, 1] = 9
    assert back["embed"][1, 2] == 9 and back["again"][0] is back["embed"]
    assert notices() == []


def test_arrays_that_overlap_part_and_that_is_said_in_one_line(simulated):
    W = f32(4, 3)
    model = {"all": W, "top": W[:2], "flat": W.reshape(-1), "other": f32(2)}
    there = gpu(model)
    there["all"][...] = 5
    assert cpu(there["top"]).max() == 1
    gpu(model)
    (said,) = notices()
    assert "['all'] and ['top'] share memory, as 2 more pairs do, and no longer do after the move" in said
    series = f32(9)
    gpu([(series[i : i + 3], series[i + 1 : i + 4]) for i in range(5)])
    assert "[0][0] and [0][1] share memory, as 8 more pairs do" in notices()[1]


# -- what can't be entered ---------------------------------------------------------------------------


def test_an_unregistered_object_stays_and_that_is_said(simulated):
    model = [f32(1), Unregistered(f32(2))]
    for _ in range(2):
        there = gpu(model)
    assert there[1] is model[1] and type(there[1].weight) is np.ndarray
    (line,) = notices()
    assert line.startswith("[ Info: [1].weight was not moved to Simulated:0: Unregistered is not registered.")
    assert "Write @functor above class Unregistered" in line


def test_a_class_defined_again_is_reported_as_that(simulated):
    for slots in (False, True):

        @dataclass(slots=slots)
        @functor
        class Again:
            weight: object

        gpu(Again(f32(2)))
        assert bool(notices()) == slots
    assert "class Again was defined again" in notices()[0] and "slots=True" in notices()[0]


WEIGHT = f32(2)
DEEP = {"layers": [Pair(f32(2), None)]}


def reads_a_global(x):
    return [WEIGHT * value for value in x]


def reads_it_inside(x):
    return (lambda y: DEEP["layers"][0].first + y)(x)


def reads_no_arrays(x):
    return np.tanh(x) + len(EVERYWHERE)


def test_globals_do_not_move_and_that_is_said(simulated):
    for function in (reads_a_global, reads_a_global, reads_it_inside, reads_no_arrays):
        assert gpu(function) is function
    gpu([reads_no_arrays, np.tanh])
    first, second = notices()
    assert "reads_a_global reads the global WEIGHT" in first and "argument" in first and "DEEP" in second


@pytest.mark.on(*GPUS)
def test_what_a_function_captured_stays_and_that_is_said(device):
    W = f32(2)
    assert device_of(device(lambda x: W * x)(2)) != device and "W was not moved to" in notices()[0]


def test_moves_of_tracked_arrays_go_through_the_primitive(simulated):
    calls = []

    class Tracked:
        dtype = np.dtype("float64")

        def __primitive__(self, function, args, kwargs):
            calls.append((function.__name__, *args[1:]))
            return "moved"

    assert gpu([Tracked()]) == ["moved"] and CPU(Tracked()) == "moved"
    assert calls == [("move", simulated, np.dtype("float32")), ("move", CPU, None)]


@pytest.mark.on(*GPUS)
def test_a_sum_of_the_host_moves_within_a_gradient(device):
    """NumPy's sums aren't arrays but scalars; their gradient comes back to the host."""
    x = device(np.arange(3, dtype=np.float32))
    (g,) = gradient(lambda x: device(np.sum(cpu(x) ** 2)) * 3, x)
    np.testing.assert_allclose(cpu(g), [0, 6, 12])
    assert device_of(g) == device
