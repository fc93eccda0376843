"""Bytecode in archives of Python, so that a browser doesn't compile all that it imports. Runs in Pyodide."""

from __future__ import annotations

import py_compile
import tempfile
import warnings
import zipfile
from pathlib import Path, PurePosixPath

FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # a zip file's; with the time of the build, each build would be another one


def put_bytecode(archive: str, keep_sources: bool) -> None:
    """Change the file `archive`, a wheel or zip file: modules become bytecode. Their sources go, or stay beside it.

    Where the sources go, the tests of a package go, too.
    """
    compiled = Path(archive).with_suffix(".compiled")
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(compiled, "w") as new:
        for name in old.namelist():
            if "/tests/" in name and not keep_sources:
                continue
            content = old.read(name)
            code = b""
            if name.endswith(".py") and "-" not in name:  # scripts of a wheel are in NAME-VERSION.data
                code = bytecode(content, name)
            if code:
                write(new, _cached(name) if keep_sources else f"{name}c", code)
            if not code or keep_sources:
                write(new, name, content)
    compiled.replace(archive)


def bytecode(source: bytes, name: str) -> bytes:
    """A module's bytecode, which Python takes without a look at its source. Empty where it can't be compiled."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # others' code
        module = Path(folder, "module.py")
        module.write_bytes(source)
        try:
            py_compile.compile(str(module), f"{module}c", name, doraise=True, invalidation_mode=mode)
        except py_compile.PyCompileError:  # a template, or a test of what Python refuses
            return b""
        return Path(f"{module}c").read_bytes()


def write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, FIRST_DAY), content, zipfile.ZIP_DEFLATED)


def _cached(name: str) -> str:
    path = PurePosixPath(name)
    return str(path.parent / "__pycache__" / f"{path.stem}.cpython-312.pyc")
