"""Jupyter's trust: the films of a notebook play only where Jupyter knows that nobody else wrote what's stored in it.

Jupyter keeps, for each account, a signature of each notebook whose outputs were all made there. We add those of the
lessons as we ship them. A signature is one of the content, so a copy is trusted as long as it's what we ship. With
another output in it, wherever that's from, it has another signature: we never vouch for it.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fluxlite.writing import write_whole

from . import course
from .copies import fresh_copies

_SIGNED = "fluxlite-signed"  # a file next to Jupyter's signatures: the hash of the lessons that are signed


def sign_lessons(source: Path | None = None, target: Path = Path()) -> None:
    """Have this account's Jupyter trust the lessons of the folder `source`, by default ours, as they are handed out.

    A shorter course in the folder `target` has copies of its own.

    It's done once for an account and a version, since loading Jupyter's notary takes a second. In a full or read-only
    home, or without SQLite, the lessons stay unsigned, and no error says so. That costs only a mark in JupyterLab's
    status bar: a copy has no HTML until it's run, so Jupyter trusts it as soon as it's saved.
    """
    with contextlib.suppress(Exception):  # whatever it is, of the disk, of SQLite, of Jupyter: the lab has to start
        from jupyter_core.paths import jupyter_data_dir

        contents = list(fresh_copies(course.lessons_in(target), source).values())
        hashes = [hashlib.sha256(content).digest() for content in contents]
        mark = hashlib.sha256(b"".join(hashes)).hexdigest().encode()
        place = Path(jupyter_data_dir())
        kept = place / _SIGNED
        if kept.is_file() and kept.read_bytes() == mark:
            return
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sign(contents, place)
        write_whole(kept, mark)


def _sign(contents: Sequence[bytes], place: Path) -> None:
    """Sign notebooks with the account's secret, which is in the folder `place`. Raises whatever went wrong."""
    import nbformat

    notebooks = [nbformat.reads(content.decode(), as_version=4) for content in contents]  # as Jupyter reads them
    with _notary(place) as notary:
        for notebook in notebooks:
            notary.sign(notebook)
    with _notary(place) as another:  # where the disk fails it, a notary remembers until it ends, and doesn't complain
        if not all(map(another.check_signature, notebooks)):
            raise OSError(f"the signatures aren't kept in {place}")


@contextlib.contextmanager
def _notary(place: Path) -> Iterator[Any]:
    from nbformat.sign import NotebookNotary

    notary = NotebookNotary(data_dir=str(place))
    try:
        yield notary
    finally:
        notary.store.close()
