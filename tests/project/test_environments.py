"""An environment apart from .venv is made once, and has a Python and a pip of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from environments import environment, pip  # noqa: E402


@pytest.mark.slow
def test_an_environment_is_made_once(tmp_path, capsys):
    folder = tmp_path / "apart"
    python = environment(folder, ", of which there's one")
    assert capsys.readouterr().out == "making apart, of which there's one\n"
    command = [python, "-c", "import sys; print(sys.prefix)"]
    prefix = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(prefix).resolve() == folder.resolve()

    (folder / "left here").write_text("")
    assert environment(folder, ", of which there's one") == python
    assert (folder / "left here").exists() and capsys.readouterr().out == ""

    pip(python, "check")
    with pytest.raises(subprocess.CalledProcessError):
        pip(python, "install", "--no-index", "fluxlite-is-not-there")
