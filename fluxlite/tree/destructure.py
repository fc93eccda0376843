"""All that trains in a model as one vector, and back."""

from collections.abc import Callable

import numpy as np

from ..annotations import Array, Model
from ..words import explained
from .flat import flatten
from .ties import copy_of, is_array, on_card_of, view_as
from .walks import fmap, on_first_card_of, parameters


@explained()
def destructure(model: Model) -> tuple[Array, Callable[[Array], Model]]:
    """All trainable numbers of `model` as one vector, and the function that makes a model from such a vector.

    Ties are in it once. Returns ``(vector, restructure)``: `vector` has shape ``(P,)`` and the arrays' common dtype;
    ``restructure(vector)`` restores shapes, dtypes and ties, and can be differentiated; inside `gradient` the vector
    is tracked too (Flux: ``destructure``). Each model that it makes has its own copy of what doesn't train, such as a
    running mean, as it was at `destructure`; only a layer's random generator is the same one, so that it goes on.
    Raises `ValueError` for a vector of another length.

    >>> vector, restructure = destructure({"W": np.ones((2, 2)), "b": np.zeros(2)})
    >>> vector
    array([1., 1., 1., 1., 0., 0.])
    >>> restructure(vector * 3)["W"]
    array([[3., 3.],
           [3., 3.]])
    """
    flat = flatten(fmap(lambda leaf: leaf, model))  # the model may get other arrays later
    found = parameters(flat)
    trained = {leaf for _, leaf in found}
    # What doesn't train, such as a running mean: as it is now, since loadmodel changes the model's own.
    others = {number: copy_of(x) for number, x in enumerate(flat.leaves) if is_array(x) and number not in trained}
    arrays = [flat.at(place) for place, _ in found]
    ends = np.cumsum([array.size for array in arrays]).tolist()
    with on_first_card_of(arrays):
        if arrays:
            vector = np.concatenate([np.ravel(array) for array in arrays])
        else:
            vector = np.zeros(0, np.float32)

    def restructure(new: Array) -> Model:
        if getattr(new, "shape", None) != vector.shape:
            if hasattr(new, "shape"):
                got = f"shape {new.shape}"
            else:
                got = f"a {type(new).__name__}: np.asarray(x) makes one"
            raise ValueError(f"this model is made from a vector of shape {vector.shape}, got {got}")
        made = list(flat.leaves)
        for number, x in others.items():
            made[number] = copy_of(x)
        with on_card_of(new):
            for (_, leaf), x, end in zip(found, arrays, ends):
                part = np.reshape(new[end - x.size : end], x.shape).astype(x.dtype)
                made[leaf] = view_as(part, like=flat.leaves[leaf], of=x)
            return flat.results(made)[flat.root]

    return vector, restructure
