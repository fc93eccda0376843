"""What layers for pictures and sequences have in common: sizes for each axis, padding, and checks of the input."""

from typing import Any

from ..arguments import check_whole, in_words
from ..errors import ShapeError
from ..tree.walks import KeyPath
from .inputs import no_array

Pads = tuple[tuple[int, int], ...]


class SamePad:
    """Padding that keeps the size, or the size divided by the stride, rounded up (Flux: ``SamePad``).

    A `ConvTranspose` makes its input larger by the stride. Where the padding is odd, there's one more in front.
    """

    def __repr__(self) -> str:
        return "SamePad()"


def window_size(what: str, size: Any) -> tuple[int, ...]:
    """The size of the windows, as a tuple."""
    if not isinstance(size, (tuple, list)) or not size:
        raise TypeError(f"{what} is (3, 3) for pictures or (3,) for sequences, got {in_words(size)}")
    return each_axis(what, size, len(size))


def each_axis(what: str, value: Any, dims: int, least: int = 1) -> tuple[int, ...]:
    """`value` for each of `dims` axes: a number counts for all."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims
    for number in values:
        check_whole(what, number, least)
    if len(values) != dims:
        raise ValueError(f"{what} is a number, or {dims}, one for each axis of the window, got {value!r}")
    return tuple(map(int, values))


def pads_of(what: str, pad: Any, extent: tuple[int, ...]) -> Pads:
    """The padding before and after, for each axis of windows of this `extent`; for one number, two, or four."""
    if isinstance(pad, SamePad) or pad is SamePad:
        return tuple(((size - 1) - (size - 1) // 2, (size - 1) // 2) for size in extent)
    dims = len(extent)
    if isinstance(pad, (tuple, list)) and len(pad) == 2 * dims:
        flat = each_axis(what, pad, 2 * dims, 0)
        return tuple(zip(flat[::2], flat[1::2]))
    return tuple((size, size) for size in each_axis(what, pad, dims, 0))


def option(name: str, values: tuple, usual: Any) -> str:
    """How a layer's text names one of its settings; one number if it's the same for all axes."""
    if values and type(values[0]) is tuple:
        symmetric = all(before == after for before, after in values)
        values = tuple(before for before, _ in values) if symmetric else tuple(size for pair in values for size in pair)
    same = all(value == values[0] for value in values)
    return "" if values == usual or same and values[0] == usual else f", {name}={values[0] if same else values}"


# -- inputs ----------------------------------------------------------------------------------------------------------

_KINDS = {1: ("sequences", "sequence", "T"), 2: ("pictures", "picture", "H, W")}


def check_shape(layer: Any, x: Any, dims: int | None = None, features: int | None = None) -> None:
    """Raise `InputError` for what is no array, `ShapeError` for one of other axes or other features."""
    shape = getattr(x, "shape", None)
    if shape is None:
        raise no_array(layer._name(), x)
    dims = max(len(shape), 3) - 2 if dims is None else dims
    if len(shape) == dims + 2 and (features is None or shape[-1] == features):
        return
    many, one, axes = _KINDS.get(dims, ("arrays", "array", ", ".join(f"size{i}" for i in range(dims))))
    last = "features" if features is None else features
    hint = ""
    if len(shape) == dims + 2 and shape[1] == features:
        hint = f"; this looks like (N, C, {axes}): np.moveaxis(x, 1, -1) puts the features last"
    elif len(shape) == dims + 1 and features in (None, shape[-1]):
        hint = f"; one {one} alone is x[None]"
    elif len(shape) == dims + 1 and features == 1:
        hint = "; x[..., None] has an axis for the one feature"
    raise ShapeError(KeyPath(), f"{layer._name()} takes {many} of shape (N, {axes}, {last}), got shape {shape}{hint}")


def check_places(layer: Any, x: Any, places: tuple[int, ...], extent: tuple[int, ...]) -> None:
    """Raise `ShapeError` if not even one window fits into `x`."""
    if any(count < 1 for count in places):
        what = f"no window of {extent} fits into {x.shape[1:-1]}, of an input of shape {x.shape}; pad it"
        raise ShapeError(KeyPath(), f"{layer._name()}: {what}")
