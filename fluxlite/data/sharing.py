"""A batch for several workers: each takes some of its rows, one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from .loader import DataLoader, cut
from .moved import MovedLoader
from .observations import numobs, part


def shares(data: Any, worker: int, workers: int, skip: int = 0) -> Iterator[tuple[Any, int, int]]:
    """For each batch of an epoch: this worker's rows of it, or None; how many they are; how many the batch has.

    Of n rows, worker r of w has those from ``r * n // w`` up to ``(r + 1) * n // w``. A loader only makes these.

    >>> [share for share in shares([np.arange(3), np.arange(1)], 0, 2)]
    [(array([0]), 1, 3), (None, 0, 1)]
    """
    loader = _loader(data)
    if loader is None:
        whole = data.batches(skip) if hasattr(data, "batches") else itertools.islice(data, skip, None)
        for batch in whole:
            start, stop = cut(_rows(batch), worker, workers)
            yield part(batch, slice(start, stop)) if stop > start else None, stop - start, _rows(batch)
        return
    own = data.batches(skip, (worker, workers))
    for rows in loader.sizes(skip):
        start, stop = cut(rows, worker, workers)
        yield next(own) if stop > start else None, stop - start, rows


def signature(data: Any) -> str | None:
    """How many rows each batch has, in words. None if only an epoch can tell."""
    loader = _loader(data)
    if loader is not None:
        sizes = list(loader.sizes())
    elif isinstance(data, (list, tuple)):
        sizes = [_rows(batch) for batch in data]
    else:
        return f"{len(data)} batches" if hasattr(data, "__len__") else None
    runs = [(rows, len(list(group))) for rows, group in itertools.groupby(sizes)]
    return f"{len(sizes)} batches, of {', '.join(f'{rows} rows ({times}x)' for rows, times in runs)}"


def _loader(data: Any) -> DataLoader | None:
    """The loader that makes these batches, perhaps to be moved by others."""
    while isinstance(data, MovedLoader):
        data = data.loader
    return data if isinstance(data, DataLoader) else None


def _rows(batch: Any) -> int:
    try:
        return numobs(batch)
    except (TypeError, ValueError) as error:
        error.add_note("each worker takes some rows of every batch, so a batch has to be made of rows")
        raise
