"""Labels as rows of zeros with a single one, and back. A classification loss compares scores with these rows.

Flux has its own matrix type for this. It stores label numbers and shows booleans, and its observations are columns.
Here it's a plain float32 array with observations as rows, so you can pass it straight to a loss or a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import explained
from ..arrays import device_of, on_card_of
from ..tree.ties import is_array

_NONE = object()


@explained("a label, and all labels")
def onehot(label: Any, labels: Any, default: Any = _NONE) -> Any:
    """A float32 array of shape ``(K,)``: 1 where `label` is in the K `labels`, otherwise 0 (Flux: ``onehot``).

    Raises `ValueError` for an unknown label, unless there's a `default`, which is used instead.

    >>> onehot("b", ["a", "b", "c"])
    array([0., 1., 0.], dtype=float32)
    """
    return _encoded(label, labels, default, "onehot(label, labels)", 0)


@explained("labels as data, and all labels")
def onehotbatch(data: Any, labels: Any, default: Any = _NONE) -> Any:
    """A float32 array of shape ``(N, K)``: the `onehot` of each of `data`'s N elements (Flux: ``onehotbatch``).

    `data` is a list of labels or an array, of shape ``(N,)`` or with more axes. `labels` are numbers, such as
    ``range(10)``, or text. For an array on a GPU, the result is there too, and the program waits for it once, to check
    that all labels are known. With a `default` there's nothing to check, and no wait.

    Raises `ValueError` for a label that isn't in `labels`, unless there's a `default`, which is used instead.

    >>> onehotbatch([2, 0], range(3))
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    >>> onehotbatch(["b", "?"], ["a", "b", "other"], default="other")
    array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    with on_card_of(data):
        return _encoded(data, labels, default, "onehotbatch(data, labels)", 1)


@explained("an array of scores, and perhaps labels")
def onecold(y: Any, labels: Any = None) -> Any:
    """The label with the highest score in each row of `y`, of shape ``(…, K)`` (Flux: ``onecold``).

    Without `labels`, the result is positions, 0 to K-1, as integers on `y`'s device. With K numbers as `labels`, it's
    those, on the same device. With text, it's an array of text on the host, which takes a copy and a wait. If scores
    are equal, the first counts.

    Raises `ValueError` unless there are K labels.

    >>> scores = np.array([[0.1, 0.7, 0.2], [0.8, 0.1, 0.1]])
    >>> onecold(scores), onecold(scores, ["a", "b", "c"])
    (array([1, 0]), array(['b', 'a'], dtype='<U1'))
    """
    y = y if is_array(y) else np.asarray(y)
    if not y.shape:
        raise ValueError("onecold(y, labels): y holds a score for each label along its last axis, got a single number")
    with on_card_of(y):
        return _decoded(y, labels)


def _decoded(y: Any, labels: Any) -> Any:
    places = np.argmax(y, axis=-1)
    if labels is None:
        return places
    known = _known(labels, "onecold(y, labels)")
    if len(known) != y.shape[-1]:
        raise ValueError(f"onecold(y, labels): y has scores of {y.shape[-1]} labels, got {len(known)} labels")
    if not is_array(places):
        return known[places]
    device = device_of(places)
    return known[device.download(places)] if known.dtype.kind in "OSU" else np.take(device.receive(known), places)


def _known(labels: Any, what: str) -> np.ndarray:
    """The labels as an array on the host. Raises if a label appears twice."""
    if not isinstance(labels, (Sequence, np.ndarray)) or isinstance(labels, (str, bytes)):
        raise TypeError(
            f"{what}: labels are a list, tuple, range or array in a fixed order, got a {type(labels).__name__}"
        )
    known = np.asarray(labels)
    if known.dtype.kind in "SU" and not all(isinstance(label, (str, bytes)) for label in labels):
        known = np.array(labels, dtype=object)  # a mix of numbers and text, which NumPy would turn into text
    if known.ndim != 1 or not known.size:
        raise ValueError(f"{what}: labels are one after the other, and at least one, got shape {known.shape}")
    seen = known.tolist()
    twice = [label for label in seen if seen.count(label) > 1] if len(set(seen)) < len(seen) else []
    if twice:
        raise ValueError(f"{what}: the label {twice[0]!r} is there {seen.count(twice[0])} times")
    return known


def _encoded(data: Any, labels: Any, default: Any, what: str, axes: int) -> Any:
    known = _known(labels, what)
    if default is not _NONE and default not in known.tolist():
        raise ValueError(f"{what}: default={default!r} is not among the labels, {_few(known)}")
    if not is_array(data):
        data = np.array(data, dtype=object if known.dtype == object else None)
    if data.ndim < axes:
        raise ValueError(f"{what}: data has several labels, got one: {data}; of a single one there is onehot")
    hits = data[..., None] == _beside(data, known)
    if default is _NONE:
        _check_all(data, hits, known, what)
    else:
        nowhere = np.logical_not(np.any(hits, axis=-1, keepdims=True))
        hits = np.logical_or(hits, np.logical_and(nowhere, _beside(data, known == default)))
    return hits.astype(np.float32)


def _beside(data: Any, constants: np.ndarray) -> Any:
    """`constants` on `data`'s device, in a dtype that the device has."""
    if constants.dtype == np.float64 and data.dtype.kind == "f":
        constants = constants.astype(data.dtype)
    return device_of(data).receive(constants)


def _check_all(data: Any, hits: Any, known: np.ndarray, what: str) -> None:
    found = np.any(hits, axis=-1)
    if bool(np.all(found)):
        return
    device = device_of(data)
    unknown = device.download(data)[~device.download(found)].flat[0]
    raise ValueError(
        f"{what}: {np.asarray(unknown).item()!r} is not among the labels, {_few(known)}; default=… says what counts "
        "instead"
    )


def _few(known: np.ndarray) -> str:
    shown = known.tolist()
    return ", ".join(map(repr, shown if len(shown) <= 6 else [*shown[:3], "…", shown[-1]])).replace("'…'", "…")
