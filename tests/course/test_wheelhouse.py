"""A class without a network: missing wheels show up here, not in the room, and the installer says what to do."""

import ast
import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


house, installer = tool("wheelhouse"), tool("install_offline")


def wheel(folder, name, version="1.0", tags="py3-none-any", requires=()):
    path = folder / f"{name}-{version}-{tags}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        lines = [f"Requires-Dist: {requirement}" for requirement in requires]
        metadata = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, ""])
        archive.writestr(f"{name}-{version}.dist-info/METADATA", metadata)
    return path


@pytest.fixture
def wheels(tmp_path):
    """What fluxlite needs, except what each test leaves out."""
    requires = ["numpy>=2.0", 'jupyterlab>=4; extra == "lab"', 'torch; extra == "bench"']
    wheel(tmp_path, "fluxlite", "0.1.0", requires=requires)
    windows = 'pywinpty; os_name == "nt"'
    wheel(tmp_path, "jupyterlab", "4.5", requires=[windows, 'tomli; python_version < "3.11"'])
    wheel(tmp_path, "numpy", "2.3", "cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64")
    return tmp_path


def missing(wheels, name):
    return house.missing(wheels, house.Target(name))


def test_nothing_is_missing_where_every_wheel_fits(wheels):
    assert missing(wheels, "linux-3.12") == []


def test_a_wheel_of_another_python_or_system_does_not_fit(wheels):
    assert missing(wheels, "linux-3.13") == ["numpy>=2.0"]
    assert missing(wheels, "macos-arm64-3.12") == ["numpy>=2.0"]
    wheel(wheels, "numpy", "2.3", "cp312-cp312-macosx_14_0_arm64")
    assert missing(wheels, "macos-arm64-3.12") == [] and missing(wheels, "macos-x86-3.12") == ["numpy>=2.0"]


def test_what_only_windows_needs_is_asked_for_there(wheels):
    wheel(wheels, "numpy", "2.3", "cp312-cp312-win_amd64")
    assert missing(wheels, "windows-3.12") == ["pywinpty"]


def test_a_wheel_that_is_too_old_does_not_count(wheels):
    next(wheels.glob("numpy*")).unlink()
    wheel(wheels, "numpy", "1.26", "cp312-cp312-manylinux_2_28_x86_64")
    assert missing(wheels, "linux-3.12") == ["numpy>=2.0"]


def test_an_unknown_target_is_named():
    with pytest.raises(ValueError, match="there is no target 'amiga-3.12'; there are linux-3.11"):
        house.Target("amiga-3.12")


# -- the installer --------------------------------------------------------------------------------------------------


def test_the_installer_needs_the_standard_library_only_and_starts_on_old_pythons():
    source = (ROOT / "tools" / "install_offline.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 4))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert names <= sys.stdlib_module_names and not any(isinstance(node, ast.JoinedStr) for node in ast.walk(tree))


def test_the_installer_says_what_helps():
    assert "this is 3.9.6" in installer.unfit((3, 9, 6))
    lacking = installer.unfit((3, 12, 1), ["no_such_module"])
    assert lacking.endswith("this brings it: sudo apt install python3.12-venv")
    assert installer.unfit(sys.version_info) == ""


def test_the_installer_alone_says_that_the_rest_is_missing(tmp_path):
    alone = tmp_path / "install_offline.py"
    alone.write_bytes((ROOT / "tools" / "install_offline.py").read_bytes())
    answer = subprocess.run([sys.executable, alone, tmp_path / "course"], capture_output=True, text=True)
    assert answer.returncode == 1 and "Copy the whole folder" in answer.stdout and not (tmp_path / "course").exists()


def test_wheels_for_another_system_are_reported(tmp_path):
    (tmp_path / "wheels").mkdir()
    (tmp_path / "install_offline.py").write_bytes((ROOT / "tools" / "install_offline.py").read_bytes())
    command = [sys.executable, tmp_path / "install_offline.py", tmp_path / "course"]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 1 and "Something is missing in 'wheels' for" in answer.stdout
    assert answer.stdout.startswith("Installing into ") and answer.stdout.endswith("needed for: nothing\n")


def test_for_whom_the_wheels_are():
    names = [
        "numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
        "numpy-2.5.5-cp312-cp312-macosx_14_0_arm64.whl",
        "numpy-2.5.5-cp312-cp312-macosx_14_0_x86_64.whl",
        "numpy-2.5.5-cp313-cp313-win_amd64.whl",
        "pyzmq-27-cp312-abi3-win_amd64.whl",
    ]
    assert installer.pythons(names) == ["Linux 3.11", "Windows 3.13", "macOS 3.12", "macOS arm64 3.12"]


@pytest.mark.parametrize("ready", [True, False])
def test_the_installer_checks_what_it_has_made(ready, tmp_path, monkeypatch, capsys):
    (tmp_path / "wheels").mkdir()
    monkeypatch.setattr(installer, "WHEELS", str(tmp_path / "wheels"))
    called = []

    def call(command, **options):
        called.append((command[1:4], options.get("cwd")))
        if command[1:3] == ["-m", "venv"]:
            (tmp_path / "course").mkdir()
        return 0 if ready or command[-1] != "check" else 1

    monkeypatch.setattr(installer.subprocess, "call", call)
    assert installer.main([str(tmp_path / "course")]) == (0 if ready else 1)
    assert called[-1] == (["-m", "fluxlite", "check"], str(tmp_path / "course"))
    assert ("Start the course with" in capsys.readouterr().out) == ready
