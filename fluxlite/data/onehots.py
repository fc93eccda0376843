"""Labels as rows of zeros with a single one, and back. A classification loss compares scores with these rows."""

import reprlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..annotations import Array
from ..arrays import device_of, on_card_of
from ..helping import NOT_GIVEN
from ..tree.ties import is_array
from ..words import explained


@explained("a label, and all labels")
def onehot(label: Any, labels: Iterable, default: Any = NOT_GIVEN) -> Array:
    """A float32 array of shape ``(K,)``: 1 where `label` is in the K `labels`, otherwise 0 (Flux: ``onehot``).

    Raises `ValueError` for an unknown label, unless there's a `default`, which is used instead.

    >>> onehot("b", ["a", "b", "c"])
    array([0., 1., 0.], dtype=float32)
    """
    return onehotbatch(label, labels, default)


@explained("labels as data, and all labels")
def onehotbatch(data: Any, labels: Iterable, default: Any = NOT_GIVEN) -> Array:
    """A float32 array of shape ``(N, K)``: the `onehot` of each of `data`'s N elements (Flux: ``onehotbatch``).

    `data` is a list of labels or an array of any shape. `labels` are numbers, such as ``range(10)``, or text.
    On a GPU, without a `default`, the program waits to check that all labels are known.

    >>> onehotbatch([2, 0], range(3))
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    known = _known(labels)
    if not is_array(data):
        dtype = None
        if known.dtype == object:
            dtype = object
        data = np.array(data, dtype=dtype)
    device = device_of(data)
    as_data = known
    if known.dtype.kind == data.dtype.kind == "f":  # a device may have no float64
        as_data = known.astype(data.dtype)
    there = device.receive(as_data)
    with on_card_of(data):
        hits = data[..., None] == there
        found = np.any(hits, axis=-1)
        if default is NOT_GIVEN:
            if not bool(np.all(found)):
                unknown = device.download(data)[~device.download(found)].tolist()
                raise _unknown(unknown[0], known)
            return hits.astype(np.float32)
        if default not in known.tolist():
            raise _unknown(default, known)
        takes_default = np.logical_and(~found[..., None], device.receive(known == default))
        return np.logical_or(hits, takes_default).astype(np.float32)


def _unknown(label: object, known: np.ndarray) -> ValueError:
    return ValueError(f"{label!r} isn't among the labels {reprlib.repr(known.tolist())}")


@explained("an array of scores, and perhaps labels")
def onecold(y: Array, labels: Iterable | None = None) -> Array:
    """The label with the highest score in each row of `y`, of shape ``(…, K)`` (Flux: ``onecold``).

    Without `labels` it's positions, 0 to K-1. They and numbers are on `y`'s device, text is on the host.

    >>> scores = np.array([[0.1, 0.7, 0.2], [0.8, 0.1, 0.1]])
    >>> onecold(scores), onecold(scores, ["a", "b", "c"])
    (array([1, 0]), array(['b', 'a'], dtype='<U1'))
    """
    if not is_array(y):
        y = np.asarray(y)
    if not y.ndim:
        raise ValueError("onecold(y): y has a score for each label along its last axis, got a single number")
    with on_card_of(y):
        places = np.argmax(y, axis=-1)
        device = device_of(y)
        if labels is None:
            return places
        known = _known(labels)
        if len(known) != y.shape[-1]:
            raise ValueError(f"onecold(y, labels): y has scores of {y.shape[-1]} labels, got {len(known)} labels")
        if known.dtype.kind in "OSU":  # text, which only the host has
            return known[device.download(places)]
        return np.take(device.receive(known), places)


def _known(labels: Iterable) -> np.ndarray:
    """The labels as an array on the host. With one twice, a row would have two ones."""
    known = np.asarray(labels)
    if known.dtype.kind in "SU" and known.ndim == 1 and not all(isinstance(label, (str, bytes)) for label in labels):
        known = np.array(labels, dtype=object)  # a mix of numbers and text, which NumPy would turn into text
    if known.dtype.kind == "i" and not is_array(labels):
        known = known.astype(np.int64)  # in a browser, NumPy takes 32 bits for Python's numbers
    if known.ndim != 1 or not known.size or len(set(known.tolist())) < known.size:
        raise ValueError(f"labels are different from each other, in a list or an array in a fixed order; got {labels}")
    return known
