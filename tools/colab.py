"""Run the learners' lessons as they run on Colab: with its versions, each alone, in a folder of its own.

    python tools/colab.py [--kaggle] [NN ...]     all lessons, or those of these numbers

What we imitate: Colab's packages in an environment without fluxlite, the variable that it's known by, an archive
instead of the repository. The first cell installs. One more cell, as the lesson's box says, hands in. With --kaggle
it's the same as on Kaggle, whose image is made from Colab's. The packages are installed into .venv-colab, from the
network.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from environments import environment, pip  # noqa: E402

import notebooks  # noqa: E402

VENV = ROOT / ".venv-colab"
# As a runtime of Colab in 2026 has them, with Python 3.12; what is not named here is as new as it can be.
VERSIONS = ("ipython==7.34.0", "ipykernel==6.17.1", "ipywidgets==7.7.1", "numpy==2.0.2", "matplotlib==3.10.0",
            "safetensors", "tqdm")  # fmt: skip

# Runs in .venv-colab: a notebook from top to bottom, and what its checks said.
RUN = """
import json, re, sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
hand_in = '''from fluxlite_course.kit import progress
progress.keep("guesses", "00-A", "a")
%run -m fluxlite handin Ada Lovelace'''
notebook.cells.append(nbformat.v4.new_code_cell(hand_in))
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
said = "\\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)
print(json.dumps(re.findall(r"^(\\d\\d\\.\\d+)  (right|not right|not yet|stopped)\\b", said, re.MULTILINE)))
"""

# The variables that each place is known by.
KNOWN_BY = {"Colab": {"COLAB_RELEASE_TAG": "release"},
            "Kaggle": {"COLAB_RELEASE_TAG": "release", "KAGGLE_KERNEL_RUN_TYPE": "Interactive"}}  # fmt: skip


def as_on_colab() -> Path:
    """Colab's packages in an environment without fluxlite; the path of its Python."""
    python = environment(VENV, f": {', '.join(VERSIONS)}")
    pip(python, "install", *VERSIONS, "nbclient")
    pip(python, "uninstall", "--yes", "fluxlite")
    return python


def archive(folder: Path) -> Path:
    """This folder as GitHub packs it: a zip file with one folder inside, and in it what git keeps."""
    now = subprocess.run(["git", "stash", "create"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    packed = folder / "fluxlite.zip"
    command = ["git", "archive", "--prefix=fluxlite-main/", f"--output={packed}", now.strip() or "HEAD"]
    subprocess.run(command, cwd=ROOT, check=True)
    return packed


def run(python: Path, lesson: Path, package: Path, place: str = "Colab") -> bool:
    """Run one lesson alone in an empty folder, and hand in; whether it came to its end."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, "content")
        folder.mkdir()
        here = Path(root, lesson.name)  # not in the folder: there, the page keeps it
        # As it will be when the project is published, but with this archive.
        digest = hashlib.sha256(package.read_bytes()).hexdigest()
        published = notebooks.Place("NAME/fluxlite", "v0", f"{package.as_uri()}#sha256={digest}")
        copy = notebooks.for_learners(notebooks.read(lesson), lesson.name, published)
        here.write_text(notebooks.text(copy), encoding="utf-8")
        # Neither this folder on Python's path nor a learner's record of progress: they have none of them.
        ours = ("PYTHONPATH", "FLUXLITE_PROGRESS")
        env = {name: value for name, value in os.environ.items() if name not in ours} | KNOWN_BY[place]
        ran = subprocess.run([python, "-c", RUN, here], cwd=folder, env=env, capture_output=True, text=True)
        packed = (folder / "handin-Ada-Lovelace.zip").exists()
    if ran.returncode:
        print(f"{lesson.name}: {ran.stderr[-3000:]}", flush=True)
        return False
    verdicts = json.loads(ran.stdout)
    print(f"{lesson.name}: ran to its end, {len(verdicts)} checks; handed in: {packed}", flush=True)
    return packed and all(word == "not yet" for _, word in verdicts)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Run the learners' lessons as they run on Colab.", allow_abbrev=False)
    parser.add_argument("numbers", nargs="*", metavar="NN", help="which lessons; all if there are none")
    parser.add_argument("--kaggle", action="store_true", help="as on Kaggle")
    given = parser.parse_args(arguments)
    notebooks.check_numbers(parser, given.numbers)
    place = "Kaggle" if given.kaggle else "Colab"
    python = as_on_colab()
    with tempfile.TemporaryDirectory() as folder:
        package = archive(Path(folder))
        results = [run(python, path, package, place) for path in notebooks.lessons(given.numbers)]
    print(f"{sum(results)} of {len(results)} lessons, with {', '.join(VERSIONS)} and Python {sys.version.split()[0]}")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
