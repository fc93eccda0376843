"""A class without a network: missing wheels show up here, not in the room, and the installer says what to do."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


house, installer = tool("wheelhouse"), tool("install_offline")


OUR = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def wheel(folder, name, version="1.0", tags="py3-none-any", python=">=3.11"):
    path = folder / f"{name}-{version}-{tags}.whl"
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: {python}\n"
        archive.writestr(f"{about}/METADATA", metadata)
        archive.writestr(f"{about}/WHEEL", f"Wheel-Version: 1.0\nTag: {tags}\n")
        archive.writestr(f"{about}/RECORD", "")
    return path


# -- constraints.txt ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", house.TARGETS)
def test_every_computer_gets_one_version_of_all_that_the_lessons_ask_for(target):
    system, _, python = target.rpartition("-")
    for version in (f"{python}.0", f"{python}.99"):
        pins = list(map(Requirement, house.pinned(system, version)))
        versions = {one.name: str(one.specifier).removeprefix("==") for one in pins}
        assert len(versions) == len(pins) and all(one.url is None for one in pins)
        for wanted in map(Requirement, OUR["dependencies"] + OUR["optional-dependencies"]["lab"]):
            if wanted.marker is None or wanted.marker.evaluate(house.environment(system, version)):
                assert versions[wanted.name] in wanted.specifier
        assert ("mpich" in versions) == (system != "windows")


def test_the_constraints_are_for_the_pythons_that_we_support():
    listed = [line.rpartition(" :: ")[2] for line in OUR["classifiers"] if "Python :: 3." in line]
    assert list(house.PYTHONS) == listed


def test_no_registry_and_no_machine_is_named_in_the_constraints():
    lines = house.CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins and [line for line in pins if not re.match(r"[a-z0-9-]+==[\w.]+( ; .+)?$", line)] == []
    assert [line for line in lines if "://" in line or line.startswith("-") or "/" in line] == []


# -- the wheels -----------------------------------------------------------------------------------------------------


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """A folder of wheels in place of the network, and constraints for them."""
    folder = tmp_path / "registry"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(house, "CONSTRAINTS", tmp_path / "constraints.txt")
    house.CONSTRAINTS.write_text(
        "# made by hand\nnumpy==2.4 ; python_full_version < '3.12'\nnumpy==2.5 ; python_full_version >= '3.12'\n"
        "pywinpty==3.0 ; os_name == 'nt'\n"
        "soup==2.0 ; python_full_version < '3.11.5'\nsoup==4.0 ; python_full_version >= '3.11.5'\n"
    )
    wheel(folder, "numpy", "2.4", "cp311-cp311-manylinux_2_28_x86_64")
    wheel(folder, "numpy", "2.5", "cp312-cp312-win_amd64")
    wheel(folder, "pywinpty", "3.0", "cp312-cp312-win_amd64")
    wheel(folder, "soup", "2.0")
    wheel(folder, "soup", "4.0", python=">=3.11.5")
    return folder


def downloaded(folder, target):
    house.download(folder, target)
    return sorted("-".join(path.name.split("-")[:2]) for path in folder.iterdir())


@pytest.mark.slow
def test_each_computer_gets_its_own_wheels(registry, tmp_path):
    """Those of Windows are asked for there only; where a package's version depends on Python's third number, both."""
    assert downloaded(tmp_path / "linux", "linux-3.11") == ["numpy-2.4", "soup-2.0", "soup-4.0"]
    assert downloaded(tmp_path / "windows", "windows-3.12") == ["numpy-2.5", "pywinpty-3.0", "soup-4.0"]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["linux-3.12", "windows-3.11", "macos-arm64-3.11"])
def test_a_missing_wheel_is_noticed_here_and_not_in_the_room(registry, tmp_path, target):
    with pytest.raises(RuntimeError, match=f"{target}: a wheel is missing"):
        house.download(tmp_path, target)


def test_an_unknown_target_is_named(tmp_path):
    with pytest.raises(ValueError, match="there is no target 'amiga-3.12'; there are linux-3.11"):
        house.download(tmp_path, "amiga-3.12")


# -- the installer --------------------------------------------------------------------------------------------------


def test_the_installer_needs_the_standard_library_only_and_starts_on_old_pythons():
    source = (ROOT / "tools" / "install_offline.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 4))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert names <= sys.stdlib_module_names and not any(isinstance(node, ast.JoinedStr) for node in ast.walk(tree))


def test_the_installer_says_what_helps(monkeypatch, tmp_path):
    assert "this is 3.9.6" in installer.unfit((3, 9, 6))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installer.unfit((3, 12, 1), ["no_such_module"]).endswith("this brings it: apt install python3.12-venv")
    (tmp_path / "sudo").touch(mode=0o755)
    assert installer.unfit((3, 12, 1), ["no_such_module"]).endswith("this brings it: sudo apt install python3.12-venv")
    assert installer.unfit(sys.version_info) == ""


def test_the_installer_alone_says_that_the_rest_is_missing(tmp_path):
    alone = tmp_path / "install_offline.py"
    alone.write_bytes((ROOT / "tools" / "install_offline.py").read_bytes())
    answer = subprocess.run([sys.executable, alone, tmp_path / "course"], capture_output=True, text=True)
    assert answer.returncode == 1 and "Copy the whole folder" in answer.stdout and not (tmp_path / "course").exists()


def test_which_computers_the_wheels_are_for():
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
