"""Functions that put elements elsewhere: every rule of fluxlite/autodiff/derivatives/shaping.py."""

# ruff: noqa: B023  (functions made in a loop are used in the same turn)
import numpy as np
from gradcheck import Call
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from operands import arrays, axis_of, calls, one_of, shapes


def fixed(shape, *args, **kwargs):
    """Calls with one array of this shape, or of drawn ones, and the same further arguments every time."""
    return calls(lambda draw, function: Call(function, draw(arrays(shape)), *args, **kwargs))


def with_axis(least=1, **keywords):
    """``f(x, axis)`` and ``f(x, axis=…)`` with further keywords."""

    @calls
    def draw_call(draw, function):
        x = draw(arrays(shapes(least)))
        more = {name: draw(values) for name, values in keywords.items()}
        return Call(function, x, **more, axis=draw(axis_of(x.shape)))

    return draw_call


@calls
def reshape_calls(draw, function):
    """To one axis, to the same elements along other axes; with -1 where it says what is meant."""
    x = draw(arrays(shapes(0, 3, 1)))
    divisor = draw(st.sampled_from([d for d in range(1, x.size + 1) if x.size % d == 0]))
    shape = draw(st.sampled_from([-1, (-1,), (divisor, -1), (x.size // divisor, divisor), (1, *x.shape, 1)]))
    return Call(function, x, shape, **draw(st.sampled_from([{}, {"order": "F"}, {"order": "C"}])))


@calls
def transpose_calls(draw, function):
    x = draw(arrays(shapes(0)))
    axes = draw(st.permutations(range(x.ndim)))
    axes = [i - x.ndim if draw(st.booleans()) else i for i in axes]
    return draw(st.sampled_from([Call(function, x), Call(function, x, tuple(axes)), Call(function, x, axes=axes)]))


@calls
def two_axes_calls(draw, function):
    x = draw(arrays(shapes(1)))
    return Call(function, x, draw(axis_of(x.shape)), draw(axis_of(x.shape)))


@calls
def moveaxis_calls(draw, function):
    x = draw(arrays(shapes(2)))
    source, destination = (draw(st.permutations(range(x.ndim)))[:2] for _ in range(2))
    return Call(function, x, source, [i - x.ndim for i in destination])


@calls
def rollaxis_calls(draw, function):
    x = draw(arrays(shapes(1)))
    return Call(function, x, draw(axis_of(x.shape)), draw(st.integers(-x.ndim, x.ndim)))


@calls
def flip_calls(draw, function):
    x = draw(arrays(shapes(1)))
    axis = draw(st.one_of(st.none(), axis_of(x.shape), hnp.valid_tuple_axes(x.ndim)))
    return draw(st.sampled_from([Call(function, x), Call(function, x, axis), Call(function, x, axis=axis)]))


@calls
def rot90_calls(draw, function):
    x = draw(arrays(shapes(2)))
    first, second = draw(st.permutations(range(-x.ndim, 0)))[:2]
    return Call(function, x, k=draw(st.integers(-3, 5)), axes=(first, second))


@calls
def roll_calls(draw, function):
    x = draw(arrays(shapes(1)))
    shift = st.integers(-4, 4)
    return draw(st.sampled_from([
        Call(function, x, draw(shift)),
        Call(function, x, draw(shift), draw(axis_of(x.shape))),
        Call(function, x, (draw(shift), draw(shift)), axis=(0, -1)),
        Call(function, x, [draw(shift), draw(shift)], axis=(0, 0)),
        Call(function, x, draw(shift), axis=(0, -1)),
    ]))  # fmt: skip


@calls
def squeeze_calls(draw, function):
    shape = draw(st.sampled_from([(1, 2, 1), (1,), (2, 3), (1, 1), (0, 1)]))
    ones = [i for i, n in enumerate(shape) if n == 1]
    axis = draw(st.sampled_from([None, *ones, *(i - len(shape) for i in ones), tuple(ones)]))
    return Call(function, draw(arrays(shape)), axis)


@calls
def expand_calls(draw, function):
    x = draw(arrays(shapes(0)))
    return Call(function, x, draw(st.sampled_from([0, -1, x.ndim, (0, 1), (-1, 0)])))


@calls
def broadcast_calls(draw, function):
    together = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=3, min_side=0, max_side=3))
    return Call(function, draw(arrays(together.input_shapes[0])), together.result_shape)


@calls
def several_calls(draw, function):
    """Functions of several arrays."""
    count = draw(st.integers(1, 3))
    return Call(function, *(draw(arrays(shapes(), which=i)) for i in range(count)))


@calls
def broadcast_arrays_calls(draw, function):
    together = draw(hnp.mutually_broadcastable_shapes(num_shapes=3, min_dims=0, max_dims=3, min_side=0, max_side=3))
    return Call(function, *(draw(arrays(s, which=i)) for i, s in enumerate(together.input_shapes)))


def lists_of_arrays(*possible, **keywords):
    """Calls with a list or tuple of arrays, of one of the possible combinations of shapes."""

    @calls
    def draw_call(draw, function):
        chosen = draw(st.sampled_from(possible))
        operands = draw(st.sampled_from([list, tuple]))([draw(arrays(s, which=i)) for i, s in enumerate(chosen)])
        return Call(function, operands, **keywords)

    return draw_call


@calls
def concatenate_calls(draw, function):
    shape = draw(shapes(1))
    axis = draw(axis_of(shape))
    of_shapes = []
    for _ in range(draw(st.integers(1, 3))):
        of_shapes.append(list(shape))
        of_shapes[-1][axis] = draw(st.integers(0, 3))
    return Call(function, [draw(arrays(tuple(s), which=i)) for i, s in enumerate(of_shapes)], axis=axis)


@calls
def stack_calls(draw, function):
    shape = draw(shapes(0))
    operands = [draw(arrays(shape, which=i)) for i in range(draw(st.integers(1, 3)))]
    return Call(function, operands, axis=draw(st.integers(-len(shape) - 1, len(shape))))


@calls
def append_calls(draw, function):
    x, y = draw(arrays((2, 3))), draw(arrays((1, 3), which=1))
    return draw(st.sampled_from([Call(function, x, y), Call(function, x, y, axis=0), Call(function, x, y, axis=-2)]))


def cuts(axis=None, least=1, equal=False):
    """Cuts into so many parts, or at places; these may lie outside."""

    @calls
    def draw_call(draw, function):
        shape = draw(shapes(least, 3, 1, 2))
        length_axis = axis(len(shape)) if axis else draw(axis_of(shape))
        number = draw(st.integers(1, 3))
        shape = list(shape)
        shape[length_axis] = number * draw(st.integers(0, 2)) + (0 if equal else draw(st.integers(0, 1)))
        where = draw(st.sampled_from([number, [1], [0, 2], (1, 1, 3), np.array([2])]))
        x = draw(arrays(tuple(shape)))
        return Call(function, x, where) if axis else Call(function, x, where, axis=length_axis)

    return draw_call


@calls
def repeat_calls(draw, function):
    x = draw(arrays(shapes(0)))
    axis = draw(st.one_of(st.none(), axis_of(x.shape))) if x.ndim else None
    length = x.size if axis is None else x.shape[axis]
    each = np.random.default_rng(length).integers(0, 4, length)
    return Call(function, x, draw(st.sampled_from([0, 1, 2, 3, np.int64(2), each, each.tolist(), [2]])), axis)


@calls
def pad_calls(draw, function):
    x = draw(arrays(shapes(1, 3, 2)))
    width = draw(st.sampled_from([0, 1, 4, (2, 1), [(1, 2)], [(i, 2 - i) for i in range(x.ndim)]]))
    constant = [{}, {"mode": "constant", "constant_values": 2.5}, {"constant_values": (1, 2)}]
    copied = [{"mode": mode} for mode in ("edge", "reflect", "symmetric", "wrap")]
    return Call(function, x, width, **draw(st.sampled_from(constant + copied)))


@calls
def take_calls(draw, function):
    x = draw(arrays(shapes(1, 3, 1)))
    axis = draw(st.one_of(st.none(), axis_of(x.shape)))
    length = x.size if axis is None else x.shape[axis]
    place = st.integers(-length, length - 1)
    several = np.array(draw(st.lists(place, max_size=5)), int)
    indices = draw(st.sampled_from([several, several.tolist() or [0], draw(place), several[None], (0, 0)]))
    return Call(function, x, indices, axis=axis)


@calls
def take_along_calls(draw, function):
    x = draw(arrays(shapes(1, 3, 1)))
    axis = draw(st.one_of(st.none(), axis_of(x.shape)))
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    if axis is None:
        return Call(function, x, rng.integers(0, x.size, 4), None)
    shape = list(x.shape)
    shape[axis] = draw(st.integers(0, 4))
    return Call(function, x, rng.integers(-x.shape[axis], x.shape[axis], shape), axis)


@calls
def partition_calls(draw, function):
    """Only what is certain is compared: NumPy doesn't say where the elements besides `kth` go."""
    x = draw(arrays(shapes(1, 3, 1)))
    axis = draw(st.one_of(st.none(), axis_of(x.shape)))
    kth = draw(st.integers(0, (x.size if axis is None else x.shape[axis]) - 1))
    return Call(lambda x: np.take(function(x, kth, axis=axis), kth, axis=axis), x)


@calls
def sort_calls(draw, function):
    x = draw(arrays(shapes(1)))
    return Call(function, x, *draw(st.sampled_from([(), (draw(axis_of(x.shape)),), (None,)])))


any_shape, matrix = shapes(), shapes(2, 4, 0, 3)
repetitions = st.sampled_from([0, 1, 2, (2,), (1, 2), (2, 1, 3), np.array([2, 2]), np.int64(2)])

TABLE = [
    (np.reshape, reshape_calls),
    (np.ravel, one_of(fixed(any_shape), fixed(any_shape, order="F"))),
    (np.expand_dims, expand_calls),
    (np.squeeze, squeeze_calls),
    (np.broadcast_to, broadcast_calls),
    (np.atleast_1d, several_calls),
    (np.atleast_2d, several_calls),
    (np.atleast_3d, several_calls),
    (np.broadcast_arrays, broadcast_arrays_calls),
    (np.transpose, transpose_calls),
    (np.matrix_transpose, fixed(matrix)),
    (np.swapaxes, two_axes_calls),
    (np.moveaxis, moveaxis_calls),
    (np.moveaxis, two_axes_calls),
    (np.rollaxis, rollaxis_calls),
    (np.flip, flip_calls),
    (np.fliplr, fixed(matrix)),
    (np.flipud, fixed(shapes(1))),
    (np.rot90, rot90_calls),
    (np.roll, roll_calls),
    (np.concatenate, concatenate_calls),
    (np.concatenate, lists_of_arrays([(2, 3), (), (2,)], [(0,), (2, 1)], axis=None)),
    (np.stack, stack_calls),
    (np.vstack, lists_of_arrays([(2,), (2,)], [(2,), (3, 2)], [(), ()], [(2, 1, 2), (1, 1, 2)], [(0, 2), (2,)])),
    (np.hstack, lists_of_arrays([(2,), (3,)], [(), (2,)], [(2, 1), (2, 3)], [(2, 1, 2), (2, 2, 2)])),
    (np.dstack, lists_of_arrays([(2,), (2,)], [(), ()], [(2, 3), (2, 3, 2)], [(2, 1, 1), (2, 1, 0)])),
    (np.column_stack, lists_of_arrays([(2,), (2,)], [(2,), (2, 3)], [(3, 1), (3,)])),
    (np.append, append_calls),
    (np.array_split, cuts()),
    (np.split, cuts(equal=True)),
    (np.hsplit, cuts(lambda ndim: 0 if ndim == 1 else 1, equal=True)),
    (np.vsplit, cuts(lambda ndim: 0, least=2, equal=True)),
    (np.dsplit, cuts(lambda ndim: 2, least=3, equal=True)),
    (np.repeat, repeat_calls),
    (np.tile, calls(lambda draw, function: Call(function, draw(arrays(shapes())), draw(repetitions)))),
    (np.pad, pad_calls),
    (np.take, take_calls),
    (np.take_along_axis, take_along_calls),
    (np.sort, sort_calls),
    (np.partition, partition_calls),
    (np.tril, fixed((3, 3))),
    (np.tril, one_of(fixed(matrix, 1), fixed(matrix, k=-1))),
    (np.triu, fixed((3, 3))),
    (np.triu, one_of(fixed(matrix, 1), fixed(matrix, k=-1))),
    (np.diff, fixed((3, 4))),
    (np.diff, with_axis(n=st.integers(0, 3))),
]

# MLX has no such functions, signs of its own for the vectors, or no GPU for them.
NOT_ON_METAL = [np.partition, np.roll]
