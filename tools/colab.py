"""The learners' lessons as they run on Colab: with its versions, and with nothing of fluxlite installed beforehand.

    python tools/colab.py [NN ...]      all lessons, or those of these numbers

Makes .venv-colab with the packages below. Each lesson then runs there, alone in an empty folder. The first one installs
fluxlite by its own first cell, as if it were published, from an archive of this folder. Needs the network.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import notebooks  # noqa: E402

VENV = ROOT / ".venv-colab"
# As a runtime of Colab in 2026 has them, with Python 3.12; what is not named here is as new as it can be.
VERSIONS = ("ipython==7.34.0", "ipykernel==6.17.1", "ipywidgets==7.7.1", "numpy==2.0.2", "matplotlib==3.10.0",
            "safetensors", "tqdm")  # fmt: skip
PARTS = ("fluxlite", "notebooks", "tools", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")

# Runs in .venv-colab: a notebook from top to bottom, and what its checks said.
RUN = """
import json, re, sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
said = "".join(output.get("text", "") for output in outputs)
print(json.dumps(re.findall(r"^(\\d\\d\\.\\d+)  (right|not right|not yet|stopped)\\b", said, re.MULTILINE)))
"""


def environment() -> Path:
    """Colab's packages in an environment without fluxlite; the path of its Python."""
    python = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"making {VENV.name}: {', '.join(VERSIONS)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *VERSIONS, "nbclient"], check=True)
    subprocess.run([*pip, "uninstall", "--yes", "fluxlite"], check=True)
    return python


def archive(folder: Path) -> Path:
    """This folder as GitHub packs it: a zip file with one folder inside."""
    for part in PARTS:
        source, copy = ROOT / part, folder / "fluxlite-main" / part
        copy.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
        else:
            shutil.copy(source, copy)
    return Path(shutil.make_archive(str(folder / "fluxlite"), "zip", folder, "fluxlite-main"))


def run(python: Path, lesson: Path, package: Path) -> bool:
    """Run one lesson alone in an empty folder; whether it came to its end."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder, lesson.name)
        # As it will be when the project is published, but with this archive.
        digest = hashlib.sha256(package.read_bytes()).hexdigest()
        place = notebooks.Place("NAME/fluxlite", "v0", f"{package.as_uri()}#sha256={digest}")
        copy = notebooks.for_learners(notebooks.read(lesson), lesson.name, place)
        here.write_text(notebooks.text(copy), encoding="utf-8")
        # Neither this folder on Python's path nor somebody's own record of progress: Colab has none of them.
        clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FLUXLITE_PROGRESS")}
        ran = subprocess.run([python, "-c", RUN, here], cwd=folder, env=clean, capture_output=True, text=True)
    if ran.returncode:
        print(f"{lesson.name}: {ran.stderr[-3000:]}", flush=True)
        return False
    verdicts = json.loads(ran.stdout)
    print(f"{lesson.name}: ran to its end, {len(verdicts)} checks", flush=True)
    return all(word == "not yet" for _, word in verdicts)


def main(numbers: list[str]) -> int:
    python = environment()
    with tempfile.TemporaryDirectory() as folder:
        package = archive(Path(folder))
        results = [run(python, path, package) for path in notebooks.lessons(numbers)]
    listing = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True).stdout
    had = [line for line in listing.splitlines() if line in VERSIONS or line.startswith("fluxlite==")]
    print(f"{sum(results)} of {len(results)} lessons, with {', '.join(had)} and Python {sys.version.split()[0]}")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
