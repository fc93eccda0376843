"""JupyterLab or Notebook 7 over a folder with a learner's copies, as a learner has it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]
WAIT = 40  # seconds, the longest: a machine that does other work as well is slow, not wrong


@contextmanager
def served(module, app, home, settings, notebooks):
    """The address of a server, `module` of Jupyter, whose class is `app`; it ends with the block.

    `home` is an empty folder for all that it writes. `settings` are a front end's, and `notebooks` are the sources of
    cells of further notebooks, by name.
    """
    course = home / "my-course"
    if not course.exists():  # otherwise it is the next day
        shutil.copytree(ROOT / "notebooks" / "learner", course)
    for name, sources in notebooks.items():
        notebook(course / name, *sources)
    (home / "overrides.json").write_text(json.dumps(settings))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = {name: str(home / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    environment = {**os.environ, **folders, "IPYTHONDIR": str(home / "ipython"), "PYTHONPATH": str(ROOT)}
    environment.pop("FLUXLITE_PROGRESS", None)
    command = [sys.executable, "-m", module, "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={course}"]
    command += [f"--{app}.app_settings_dir={home}"]
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT, cwd=course)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(f"{address}/api") is not None, f"{module} does not answer")
        yield address
    finally:
        stop(server)


def stop(server):
    """End a server. One that waits for a kernel that was just starting doesn't end by itself."""
    server.terminate()
    try:
        server.wait(timeout=30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def notebook(path, *sources):
    """Write a notebook of these cells."""
    blank = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**blank, "id": f"c{i}", "source": source} for i, source in enumerate(sources)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    content = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content))


def answers(address):
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)
    except OSError:
        return None


def wait_for_kernel(page, address, name):
    """Wait until the notebook of this name has a kernel that the page knows.

    A cell that is run before starts a second kernel, or opens a dialog that asks for one.
    """

    def is_idle():
        sessions = answers(f"{address}/api/sessions") or []
        return any(s["path"] == name and s["kernel"]["execution_state"] == "idle" for s in sessions)

    wait_until(is_idle, f"{name} gets no kernel")
    shown = page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
    wait_until(shown.count, lambda: f"the page of {name} knows no kernel: {page.inner_text('body')}")


def wait_until(condition, complaint):
    """What `condition` returns once that's true."""
    end = time.monotonic() + WAIT
    while not (found := condition()):
        assert time.monotonic() < end, complaint() if callable(complaint) else complaint
        time.sleep(0.1)
    return found
