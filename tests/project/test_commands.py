"""`make lab`, `make test`, conda and Binder: what they do besides installing. No network is used."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import bootstrap  # noqa: E402
import prepare  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
TARGETS = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
UV_LINE = "uv run --python 3.12 --extra lab python -m fluxlite lab"
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")


def script(path, text):
    """A program that is a shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


# --- Which Python ---


@pytest.mark.parametrize(
    ("programs", "in_apt", "command"),
    [
        ({"apt-get", "sudo"}, ["python3.11-venv", "python3.12-venv"], "sudo apt install python3.12-venv"),
        ({"apt-get"}, ["python3.12-venv"], "apt install python3.12-venv"),  # a container's root has no sudo
        ({"apt-get", "sudo"}, [], UV_LINE),
        ({"dnf", "sudo"}, [], "sudo dnf install python3.12"),
        ({"dnf"}, [], "dnf install python3.12"),
        ({"brew"}, [], "brew install python@3.13"),
    ],
)
def test_an_old_python_is_refused_with_the_one_command(monkeypatch, programs, in_apt, command):
    monkeypatch.setattr(bootstrap, "there", lambda program: program in programs)
    monkeypatch.setattr(bootstrap, "apt_pythons", lambda: in_apt)
    first, second = bootstrap.too_old((3, 9, 18), "python3 is 3.9.18").splitlines()
    assert first == "fluxlite needs Python 3.11 or newer; python3 is 3.9.18. This helps:"
    assert second.strip().split("  (uv is")[0] == command
    assert "this is Python 3.10.99" in bootstrap.too_old((3, 10, 99)) and not bootstrap.too_old((3, 11, 0))
    assert PROJECT["requires-python"] == ">=" + ".".join(map(str, bootstrap.OLDEST))


def test_the_first_program_can_be_read_by_the_oldest_pythons():
    tree = ast.parse((ROOT / "tools" / "bootstrap.py").read_text(encoding="utf-8"), feature_version=(3, 4))
    assert not any(isinstance(node, (ast.JoinedStr, ast.AnnAssign)) for node in ast.walk(tree))


def call_make(programs, *arguments, folder=None, **environment):
    """make, with only one folder's programs on the PATH; in a folder with nothing but the Makefile, so no .venv."""
    if folder is None:
        folder = programs / "nothing but the Makefile"
        folder.mkdir()
        shutil.copy(ROOT / "Makefile", folder)
    environment = {"PATH": str(programs), "HOME": str(programs)} | environment
    command = [shutil.which("make"), "-C", str(folder), "--no-print-directory", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)


@needs_make
@pytest.mark.parametrize(
    ("programs", "command"),
    [
        ({"apt-get", "sudo"}, "sudo apt install python3-venv"),
        ({"apt-get"}, "apt install python3-venv"),
        ({"dnf", "sudo"}, "sudo dnf install python3.12"),
        ({"dnf"}, "dnf install python3.12"),
        ((), UV_LINE),
    ],
)
def test_make_without_any_python_says_the_one_command(tmp_path, programs, command):
    for program in programs:
        script(tmp_path / program, "")
    answer = call_make(tmp_path, "lab")
    first, second = answer.stdout.splitlines()
    assert answer.returncode != 0 and first.startswith("fluxlite needs Python 3.11 or newer; none of these starts: ")
    assert second.strip().split("  (uv:")[0] == command


# --- What is installed, and when ---


@pytest.fixture
def project(monkeypatch, tmp_path):
    """A folder with a pyproject.toml, where installing only writes down that it was called."""

    class Project:
        root = tmp_path / "kit"
        venv = root / ".venv"
        calls: list = []
        interrupted = None

        def prepare(self, *extras, version=sys.version_info):
            """What `make` would do now."""
            self.calls.clear()
            prepare.prepare(self.root, set(extras), version)
            return list(self.calls)

    def create(venv):
        project.calls.append("create")
        shutil.rmtree(venv, ignore_errors=True)
        (venv / "bin").mkdir(parents=True)
        (venv / "bin" / "python").symlink_to(sys.executable)

    def pip_install(root, extras):
        project.calls.append("install " + ",".join(extras))
        if project.interrupted:
            raise project.interrupted

    project = Project()
    project.root.mkdir()
    shutil.copy(ROOT / "pyproject.toml", project.root)
    monkeypatch.setattr(prepare, "create", create)
    monkeypatch.setattr(prepare, "pip_install", pip_install)
    monkeypatch.setattr(prepare, "inside", lambda root: HERE if (root / ".venv/bin/python").exists() else "")
    return project


CREATED = ["create", "install lab"]


def change_pyproject(project):
    with (project.root / "pyproject.toml").open("a") as file:
        file.write("# one line more\n")


def lose_the_python(project):
    (project.venv / "bin" / "python").unlink()
    (project.venv / "bin" / "python").symlink_to(project.root / "uninstalled")


@pytest.mark.parametrize(
    ("happens", "done"),
    [
        (change_pyproject, ["install lab"]), (lose_the_python, CREATED),
    ],
)  # fmt: skip
def test_it_is_installed_once_and_again_only_if_something_happened(project, capsys, happens, done):
    assert project.prepare("lab") == CREATED
    said = capsys.readouterr().out
    assert said.startswith("Installing fluxlite[lab] into .venv (there is no .venv yet).\n")
    assert project.prepare("lab") == [] and capsys.readouterr().out == ""
    happens(project)
    assert project.prepare("lab") == done
    assert project.prepare("lab") == []


def test_extras_are_added_and_stay(project):
    project.prepare("lab")
    assert project.prepare("lab", "test") == ["install lab,test"]
    assert project.prepare("bench") == ["install bench,lab,test"]
    assert project.prepare("lab") == []
    with pytest.raises(SystemExit, match="no extra 'cuda11'. There are: bench, browser, cuda12"):
        project.prepare("lab", "cuda11")


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_install_starts_over(project, interruption, first):
    if not first:
        project.prepare("lab")
    project.interrupted = interruption
    with pytest.raises(interruption):
        project.prepare("lab", "test")
    project.interrupted = None
    # Half a package may be left, so it starts over with an empty .venv, and the extras that were wanted before.
    assert project.prepare("lab") == ["create", "install lab,test"]
    assert project.prepare("lab", "test") == []


def test_for_another_python_it_starts_over(project):
    project.prepare("lab")
    assert project.prepare("lab", version=(*sys.version_info[:2], 99)) == []
    assert project.prepare("lab", version=(3, 99, 0)) == CREATED


@pytest.mark.parametrize(
    ("programs", "command"),
    [
        ({"apt-get", "sudo"}, "sudo apt install python3.12-venv"),
        ({"apt-get"}, "apt install python3.12-venv"),
        ((), UV_LINE),
    ],
)
def test_without_venv_there_is_one_command_and_no_half_venv(project, monkeypatch, tmp_path, programs, command):
    for program in programs:
        script(tmp_path / "bin" / program, "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(prepare, "find_spec", lambda name: None if name == "ensurepip" else name)
    with pytest.raises(SystemExit, match="without ensurepip") as stop:
        project.prepare("lab", version=(3, 12, 1))
    assert str(stop.value).splitlines()[1].strip() == command and not project.venv.exists()


# --- What is then run ---


@pytest.fixture
def kit(tmp_path):
    """A copy of the commands with a finished .venv, whose Python only tells how it was started."""
    root = tmp_path / "kit"
    for name in ("Makefile", "pyproject.toml", "tools/bootstrap.py", "tools/prepare.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    for name in ("fluxlite/__pycache__/x.pyc", "my-course/00.ipynb", "notebooks/00-start-here.ipynb"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    told = 'echo "$*"; if [ "$3" = lab ]; then echo "$PATH$PYTHONHOME"; fi; if [ "$2" = "$FAILING" ]; then exit 3; fi'
    script(root / ".venv" / "bin" / "python", f'if [ "$1" = -c ]; then echo {HERE}; exit; fi\n{told}\n')
    stamp = {"state": "ready", "root": str(root), "extras": ["bench", "lab", "test"]}
    prepare.write_stamp(root, stamp | {"pyproject": prepare.fingerprint(root)})
    return root


def run_kit(kit, *arguments, **environment):
    answer = call_make(kit, *arguments, f"PYTHON={sys.executable}", folder=kit, **environment)
    assert "Installing" not in answer.stdout
    return answer.returncode, [line for line in answer.stdout.splitlines() if not line.startswith(".venv/")]


@needs_make
class TestWhatIsRun:
    def test_lab_opens_the_lessons_and_a_terminal_in_it_has_this_python(self, kit):
        path = f"{kit}/.venv/bin:{kit}"
        found = run_kit(kit, "lab", "ARGS=--no-browser --port=1", PYTHONHOME="/elsewhere")
        assert found == (0, ["-m fluxlite lab --no-browser --port=1", path])

    def test_arguments_are_handed_on(self, kit):
        ran = ["-m pytest -p no:nbval tests/test_x.py -k ties"]
        assert run_kit(kit, "test", "ARGS=tests/test_x.py -k ties") == (0, ran)
        assert run_kit(kit, "nbgrader", "ARGS=class-course") == (0, ["tools/grading.py class-course"])
        assert run_kit(kit, "wheelhouse", "ARGS=x linux-3.12") == (0, ["tools/wheelhouse.py x linux-3.12"])

    def test_test_runs_everything_in_order_and_stops_at_what_fails(self, kit):
        status, lines = run_kit(kit, "test")
        assert status == 0 and [line.split()[1] for line in lines] == ["ruff", "mypy", "pytest"]
        assert lines[2].endswith(" fluxlite simgpu fluxlite_course tests notebooks/00-start-here.ipynb")
        assert "--nbval " in lines[2] and "--dist loadfile" in lines[2]
        assert "--nbval " in run_kit(kit, "test", "ARGS=notebooks/00-start-here.ipynb")[1][0]
        for number, failing in enumerate(["ruff", "mypy", "pytest"], 1):
            status, lines = run_kit(kit, "test", FAILING=failing)
            assert status != 0 and len(lines) == number

    def test_clean_leaves_the_learners_work(self, kit):
        run_kit(kit, "clean", PATH=os.environ["PATH"])
        assert not (kit / ".venv").exists() and not (kit / "fluxlite" / "__pycache__").exists()
        assert (kit / "my-course" / "00.ipynb").exists() and (kit / "notebooks" / "00-start-here.ipynb").exists()


# --- What recipes and the README name ---


def test_conda_and_binder_install_what_there_is():
    text = (ROOT / "environment.yml").read_text()
    *_, pip = yaml.safe_load(text)["dependencies"]
    local, cupy = pip["pip"]
    assert local == "-e .[lab,test]" and Requirement(cupy).specifier == Requirement(EXTRAS["cuda12"][0]).specifier
    for path in re.findall(r"pytest (?:--nbval )?([^;\n]+)", text):
        assert all((ROOT / name).exists() for name in path.split())
    (settings,) = re.findall(r"^cp (\S+)", (ROOT / "binder" / "postBuild").read_text(), re.MULTILINE)
    assert "fetchNews" in (ROOT / settings).read_text()
    assert (ROOT / "binder" / "requirements.txt").read_text().splitlines() == ["-c ../constraints.txt", "-e .[lab]"]


def test_readme_names_only_extras_and_targets_that_there_are():
    readme = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/site/pages/install.md"))
    for extras in re.findall(r"(?:\.\[|EXTRAS=)([\w,]+)", readme):
        assert set(extras.split(",")) <= set(EXTRAS)
    assert set(re.findall(r"(?:^|`)make (\w+)", readme, re.MULTILINE)) <= set(TARGETS)
    assert bootstrap.UV.startswith(UV_LINE) and f"`{UV_LINE}`" in readme
