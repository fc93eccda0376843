"""Every rule of NumPy's functions on a simulated GPU and on MLX, against the same rule on the CPU, in float64.

It needs no function and no keyword that CuPy lacks. What MLX lacks is refused by its name.
"""

import contextlib

import numpy as np
import pytest
from gradcheck import Call, assert_close, parts_of
from hypothesis import assume, given
from hypothesis import strategies as st
from inside import lies_alike, plain
from operands import fewer_examples
from tables import NOT_ON_METAL, OF_NUMPY, ids

import fluxlite as fl

COUNTS = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.repeat, np.tile)


def with_the_rest(call, there):
    """The call with its indices and masks, which are no operands, on the device; counts stay on the host."""

    def placed(x):
        if isinstance(x, np.ndarray) and x.dtype.kind != "f" and call.function is np.repeat:
            return x.tolist()  # of a host's arrays, CuPy takes no counts
        if isinstance(x, np.ndarray) and x.dtype.kind != "f" and call.function not in COUNTS:
            return there(x)
        return type(x)(map(placed, x)) if type(x) in (list, tuple) else x

    return Call(call.function, *placed(call.args), **{name: placed(x) for name, x in call.kwargs.items()})


def weighted_sum(f, there=lambda x: x):
    """`f` followed by a sum with fixed weights, which `there` puts where the operands are."""

    def loss(*operands):
        rng = np.random.default_rng(5)
        results = [part for part in parts_of(f(*operands)) if plain(part).dtype.kind == "f"]
        return sum(np.sum(part * there(rng.uniform(0.5, 1.5, np.shape(plain(part))))) for part in results)

    return loss


def needs_what_metal_lacks(call):
    """Keywords of NumPy's that MLX doesn't take, and functions inside."""
    if call.function in (np.var, np.std, np.nanvar, np.nanstd):
        return call.kwargs.get("ddof") == 0.5
    if call.function is np.clip:
        has_no_bounds = all(bound is None for bound in call.args[1:])
        return has_no_bounds and np.size(call.args[0]) > 0  # empty arrays go through the host
    if call.function is np.pad:
        return isinstance(call.kwargs.get("constant_values"), tuple)
    if call.function is np.repeat:
        return np.ndim(call.args[1]) > 0 and np.size(call.args[0]) > 0
    if call.function is np.linalg.matrix_power:
        return call.args[1] < 0
    return call.function is np.linalg.norm and call.args[1:2] in (("nuc",), (2,), (-2,)) and np.size(call.args[2]) == 2


def needs_broadcasting(a, b):
    """Whether there's another number of matrices than of right sides."""
    return b.ndim > 1 and a.shape[:-1] != b.shape[:-1]


@contextlib.contextmanager
def saying_where(table):
    """An error says where to enter a function that MLX lacks."""
    try:
        yield
    except TypeError as error:
        if "for arrays on Metal" in str(error):
            where = f"NOT_ON_METAL of tests/fluxlite/autodiff/tables/{table}.py"
            error.add_note(f"If MLX has no such function, enter it in {where}")
        raise


@pytest.mark.on("Simulated", "Metal")
@pytest.mark.parametrize("table, function, calls_of", OF_NUMPY, ids=ids(OF_NUMPY))
@fewer_examples
@given(st.data())
def test_rule(device, table, function, calls_of, data):
    call = data.draw(calls_of(function))
    assume(call.function is function or function is not np.average)  # not with weights of its own, on the host
    on_metal = device.backend == "Metal"
    there = lambda x: device(x, dtype=None)  # noqa: E731
    on_device, operands = with_the_rest(call, there), list(map(there, call.operands))
    if on_metal and (function in NOT_ON_METAL or needs_what_metal_lacks(call)):
        with pytest.raises((TypeError, ValueError), match=r"np\.[\w.]+( does not exist|,) for arrays on Metal"):
            fl.gradient(weighted_sum(on_device, there), *operands)
        return
    if function is np.linalg.solve and needs_broadcasting(*call.args):
        with pytest.raises(ValueError, match="solve on a GPU takes"):  # CuPy broadcasts no stacks of matrices
            fl.gradient(weighted_sum(on_device, there), *operands)
        return
    tolerance = 1e-6 if on_metal else 1e-9
    with fl.receipt() as seen, saying_where(table):
        gradients = fl.gradient(weighted_sum(on_device, there), *operands)
    if table == "windows" and not on_metal:
        assert seen.host_to_device.implicit == seen.device_to_host.implicit == seen.synchronizations == 0
    wanted_ones = fl.gradient(weighted_sum(call), *call.operands)
    for operand, got, wanted in zip(operands, gradients, wanted_ones, strict=True):
        assert (type(got) is type(there(np.ones(1)))) == (wanted is not None)
        if wanted is not None:
            assert got.size == 0 or not on_metal or lies_alike(got, operand)  # in its argument's memory order
            assert_close(fl.cpu(got), wanted, tolerance, "gradient")
    if on_metal and function is np.pad and call.kwargs.get("mode") in ("reflect", "symmetric", "wrap"):
        if np.size(call.args[0]) > 0:  # composed of others inside of a gradient, and lacking outside
            with pytest.raises(TypeError, match=r"np\.pad, for arrays on Metal"):
                on_device(*operands)
        return
    if on_metal:  # outside of a gradient, CuPy lacks some functions that are composed of others inside
        for got, wanted in zip(parts_of(on_device(*operands)), parts_of(call(*call.operands)), strict=True):
            assert got.dtype == wanted.dtype
            assert_close(fl.cpu(got), wanted, tolerance, "value")
