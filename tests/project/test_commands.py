"""`make lab`, `make test`, conda and Binder: what they do besides installing. No network is used."""

import ast
import fcntl
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
UV_LINE = "uv run --python 3.12 --extra lab python -m fluxlite lab"
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bootstrap():
    return tool("bootstrap")


@pytest.fixture
def prepare(bootstrap, monkeypatch):
    monkeypatch.setitem(sys.modules, "bootstrap", bootstrap)
    return tool("prepare")


def script(path, text):
    """A program that is a shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


# --- Which Python ---


@pytest.mark.parametrize(
    "programs, in_apt, command",
    [
        ({"apt-get"}, ["python3.11-venv", "python3.12-venv"], "sudo apt install python3.12-venv"),
        ({"apt-get"}, ["python3.11-venv"], "sudo apt install python3.11-venv"),
        ({"apt-get"}, [], UV_LINE),
        ({"dnf"}, [], "sudo dnf install python3.12"),
        ({"brew"}, [], "brew install python@3.13"),
        (set(), [], UV_LINE),
    ],
)
def test_an_old_python_is_refused_with_the_one_command(bootstrap, monkeypatch, programs, in_apt, command):
    monkeypatch.setattr(bootstrap, "there", lambda program: program in programs)
    monkeypatch.setattr(bootstrap, "apt_pythons", lambda: in_apt)
    first, second = bootstrap.too_old((3, 9, 18), "python3 is 3.9.18").splitlines()
    assert first == "fluxlite needs Python 3.11 or newer; python3 is 3.9.18. This helps:"
    assert second.strip().split("  (uv is")[0] == command


@pytest.mark.parametrize("version, fits", [((2, 7, 18), 0), ((3, 10, 99), 0), ((3, 11, 0), 1), ((4, 0, 0), 1)])
def test_the_oldest_python_is_the_one_in_pyproject(bootstrap, monkeypatch, version, fits):
    monkeypatch.setenv("PATH", "")
    assert PROJECT["requires-python"] == ">=" + ".".join(map(str, bootstrap.OLDEST))
    problem = bootstrap.too_old(version)
    assert not problem if fits else "this is Python " + ".".join(map(str, version)) in problem


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


def fake_python(path, version):
    """A Python that knows only its version, and otherwise reports how it was started."""
    script(path, f'if [ "$1" = -c ]; then echo {version}; else echo "{path.name} $* [$FLUXLITE_FOUND]"; fi\n')


@needs_make
class TestMakeFindsAPython:
    def test_it_passes_over_names_that_do_not_start_or_are_too_old(self, tmp_path):
        script(tmp_path / "python3.14", "echo pyenv: python3.14: command not found >&2; exit 127\n")
        fake_python(tmp_path / "python3.13", "3.9.1")
        fake_python(tmp_path / "python3", "3.12.1")
        answer = call_make(tmp_path, "exercises", "EXTRAS=cuda12,nox")
        assert answer.stdout == "python3 tools/bootstrap.py lab cuda12,nox []\n"

    def test_the_newest_comes_first(self, tmp_path):
        for name in ("python", "python3", "python3.11", "python3.12"):
            fake_python(tmp_path / name, "3.11.0" if name == "python3.11" else "3.12.1")
        assert call_make(tmp_path, "bench").stdout.startswith("python3.12 tools/bootstrap.py bench")

    @pytest.mark.parametrize(
        "version, fits", [("3.10.13", 0), ("3.11.0", 1), ("3.20.0", 1), ("4.0.0", 1), ("2.7.18", 0)]
    )
    def test_which_versions_fit(self, tmp_path, version, fits):
        fake_python(tmp_path / "python", version)
        found = "" if fits else f"python is {version}"
        assert call_make(tmp_path, "bench").stdout == f"python tools/bootstrap.py bench [{found}]\n"

    def test_the_given_python_is_the_only_one_tried(self, tmp_path):
        fake_python(tmp_path / "python3.12", "3.12.1")
        fake_python(tmp_path / "mine", "3.8.0")
        assert call_make(tmp_path, "lab", "PYTHON=mine").stdout == "mine tools/bootstrap.py lab [mine is 3.8.0]\n"

    def test_all_that_was_found_is_told(self, tmp_path):
        fake_python(tmp_path / "python3", "3.9.18")
        fake_python(tmp_path / "python", "2.7.18")
        assert "[python3 is 3.9.18, python is 2.7.18]" in call_make(tmp_path, "lab").stdout

    @pytest.mark.parametrize(
        "program, command",
        [
            ("apt-get", "sudo apt install python3-venv"),
            ("dnf", "sudo dnf install python3.12"),
            (None, UV_LINE),
        ],
    )
    def test_none_at_all(self, tmp_path, program, command):
        if program:
            script(tmp_path / program, "")
        answer = call_make(tmp_path, "lab")
        assert answer.returncode != 0
        first, second = answer.stdout.splitlines()
        assert first.startswith("fluxlite needs Python 3.11 or newer; none of these starts: python3.14 ")
        assert second.strip().split("  (uv:")[0] == command

    def test_help_needs_none(self, tmp_path):
        script(tmp_path / "echo", 'echo "$@"\n')
        answer = call_make(tmp_path)
        assert answer.returncode == 0
        targets = re.search(r"^\.PHONY: help (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
        assert sorted(re.findall(r"^make (\w+) ", answer.stdout, re.MULTILINE)) == sorted(targets)


# --- What is installed, and when ---


@pytest.fixture
def project(prepare, monkeypatch, tmp_path):
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


def test_nothing_is_installed_twice(project, capsys):
    assert project.prepare("lab") == CREATED
    said = capsys.readouterr().out
    assert said.startswith("Installing fluxlite[lab] into .venv (there is no .venv yet).\n")
    assert project.prepare("lab") == []
    assert capsys.readouterr().out == ""


def test_another_pyproject_is_installed_again(project):
    project.prepare("lab")
    with (project.root / "pyproject.toml").open("a") as file:
        file.write("# one line more\n")
    assert project.prepare("lab") == ["install lab"]
    assert project.prepare("lab") == []


def test_extras_are_added_and_stay(project):
    project.prepare("lab")
    assert project.prepare("lab", "test") == ["install lab,test"]
    assert project.prepare("bench") == ["install bench,lab,test"]
    assert project.prepare("lab") == []


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_install_is_done_anew(project, interruption, first):
    if not first:
        project.prepare("lab")
    project.interrupted = interruption
    with pytest.raises(interruption):
        project.prepare("lab", "test")
    project.interrupted = None
    # Half a package may be left, so it starts over with an empty .venv, and the extras that were wanted before.
    assert project.prepare("lab") == ["create", "install lab,test"]
    assert project.prepare("lab", "test") == []


def test_a_moved_folder_is_installed_anew(project):
    project.prepare("lab")
    project.root = project.root.rename(project.root.parent / "elsewhere")
    assert project.prepare("lab") == CREATED
    assert project.prepare("lab") == []


def test_another_python_is_installed_anew(project):
    project.prepare("lab")
    assert project.prepare("lab", version=(*sys.version_info[:2], 99)) == []
    assert project.prepare("lab", version=(3, 99, 0)) == CREATED


def test_a_python_that_is_gone_is_installed_anew(project):
    project.prepare("lab")
    (project.venv / "bin" / "python").unlink()
    (project.venv / "bin" / "python").symlink_to(project.root / "uninstalled")
    assert project.prepare("lab") == CREATED


@pytest.mark.parametrize("stamp", ["", "{", "[]", '{"state": "ready"}'])
def test_a_spoiled_stamp_does_not_count(project, stamp):
    project.prepare("lab")
    (project.venv / "fluxlite.json").write_text(stamp)
    assert project.prepare("lab")[-1:] == ["install lab"]


def test_a_venv_made_by_hand_is_kept(project, prepare, monkeypatch):
    monkeypatch.setattr(prepare, "inside", lambda root: HERE)
    project.venv.mkdir(parents=True)
    (project.venv / "mine").touch()
    assert project.prepare("lab") == ["install lab"]
    assert project.prepare("lab", version=(3, 99, 0)) == []
    assert (project.venv / "mine").exists()


@pytest.mark.parametrize("inside", ["3.9", ""], ids=["too old", "without pip"])
def test_a_venv_made_by_hand_that_will_not_do_is_replaced(project, prepare, monkeypatch, inside):
    monkeypatch.setattr(prepare, "inside", lambda root: inside)
    project.venv.mkdir(parents=True)
    assert project.prepare("lab") == CREATED


def test_apt_is_asked_for_the_newest(bootstrap, monkeypatch, tmp_path):
    listing = "printf '%s - x\\n' python3.12-venv python3.11-venv; exit $STATUS\n"
    script(tmp_path / "apt-cache", listing)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("STATUS", "0")
    assert bootstrap.apt_pythons() == ["python3.11-venv", "python3.12-venv"]
    monkeypatch.setenv("STATUS", "1")
    assert bootstrap.apt_pythons() == []


@pytest.mark.parametrize("apt", [True, False])
def test_without_venv_there_is_one_command_and_no_half_venv(project, prepare, monkeypatch, apt):
    monkeypatch.setattr(prepare, "find_spec", lambda name: None if name == "ensurepip" else name)
    monkeypatch.setattr(prepare.shutil, "which", lambda name: name if apt else None)
    with pytest.raises(SystemExit, match="without ensurepip") as stop:
        project.prepare("lab", version=(3, 12, 1))
    (command,) = str(stop.value).splitlines()[1:]
    assert command.strip().split("  (uv is")[0] == ("sudo apt install python3.12-venv" if apt else UV_LINE)
    assert not project.venv.exists()


def test_an_extra_that_does_not_exist_is_refused(project):
    with pytest.raises(SystemExit, match="no extra 'cuda11'. There are: bench, browser, cuda12"):
        project.prepare("lab", "cuda11")
    assert not project.venv.exists()


def test_a_link_in_place_of_the_venv_goes_and_what_it_leads_to_stays(prepare, monkeypatch, tmp_path):
    asked, venv, elsewhere = [], tmp_path / ".venv", tmp_path / "elsewhere"
    (elsewhere / "bin").mkdir(parents=True)
    venv.symlink_to(elsewhere)
    run = lambda command: asked.append(command[1:]) or subprocess.CompletedProcess(command, len(asked) - 1)  # noqa: E731
    monkeypatch.setattr(prepare.subprocess, "run", run)
    prepare.create(venv)
    assert not os.path.lexists(venv) and os.listdir(elsewhere) == ["bin"]
    assert asked == [["-m", "venv", "--clear", venv]]
    with pytest.raises(SystemExit, match="venv failed"):
        prepare.create(venv)


def test_what_is_installed(prepare, monkeypatch, tmp_path):
    """pip is started in the folder; if it fails, that's said."""
    script(tmp_path / ".venv" / "bin" / "python", 'echo "$PWD $*" > asked\nexit $STATUS\n')
    monkeypatch.setenv("STATUS", "0")
    prepare.pip_install(tmp_path, ["lab", "test"])
    said = (tmp_path / "asked").read_text()
    assert said.startswith(f"{tmp_path} -m pip install ") and said.endswith(" -e .[lab,test]\n")
    monkeypatch.setenv("STATUS", "1")
    with pytest.raises(SystemExit, match="The install did not finish"):
        prepare.pip_install(tmp_path, ["lab"])


def test_two_makes_in_one_folder_wait_for_each_other(prepare, monkeypatch, tmp_path, capsys):
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(prepare, "ROOT", tmp_path)
    monkeypatch.setattr(prepare, "prepare", lambda root, extras, version: print(sorted(extras)))
    with (tmp_path / "pyproject.toml").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        second = threading.Thread(target=prepare.main, args=[["lab", "cuda12,test"]])
        second.start()
        while "waiting for it" not in (said := capsys.readouterr().out):
            second.join(0.01)
        assert second.is_alive() and "lab" not in said
    second.join()
    assert capsys.readouterr().out == "['cuda12', 'lab', 'test']\n"


# --- What is then run ---


@pytest.fixture
def kit(prepare, tmp_path):
    """A copy of the commands with a finished .venv, whose Python only tells how it was started."""
    root = tmp_path / "kit"
    for name in ("Makefile", "pyproject.toml", "tools/bootstrap.py", "tools/prepare.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    notebooks = ["notebooks/00-start-here.ipynb", "notebooks/learner/00-start-here.ipynb"]
    for name in ["fluxlite/__init__.py", "tests/test_x.py", *notebooks]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    python = f"""
if [ "$1" = -c ]; then echo {HERE}; exit; fi
echo "$*"
if [ "$2" = "$FAILING" ]; then exit 3; fi
"""
    script(root / ".venv" / "bin" / "python", python)
    stamp = {"state": "ready", "root": str(root), "extras": ["bench", "lab", "test"]}
    prepare.write_stamp(root, stamp | {"pyproject": prepare.fingerprint(root)})
    return root


def run_kit(kit, *arguments, **environment):
    answer = call_make(kit, *arguments, f"PYTHON={sys.executable}", folder=kit, **environment)
    assert "Installing" not in answer.stdout
    return answer.returncode, [line for line in answer.stdout.splitlines() if not line.startswith(".venv/")]


@needs_make
class TestWhatIsRun:
    def test_lab_hands_out_the_lessons_and_opens_the_first(self, kit):
        assert run_kit(kit, "lab", "ARGS=--no-browser --port=1") == (0, ["-m fluxlite lab --no-browser --port=1"])

    def test_a_terminal_in_the_lab_has_this_python(self, kit):
        script(kit / ".venv/bin/python", f'if [ "$1" = -c ]; then echo {HERE}; else echo "$PATH$PYTHONHOME"; fi\n')
        _, (path,) = run_kit(kit, "lab", PYTHONHOME="/elsewhere")
        assert path == f"{kit}/.venv/bin:{kit}"

    @pytest.mark.parametrize(
        ("target", "arguments", "command"),
        [
            ("nbgrader", "", "tools/notebooks.py nbgrader nbgrader-course"),
            ("nbgrader", "x", "tools/notebooks.py nbgrader x"),
            ("wheelhouse", "", "tools/wheelhouse.py wheelhouse"),
            ("colab", "03 05", "tools/colab.py 03 05"),
            ("exercises", "", "tools/notebooks.py exercises"),
            ("bench", "rnn", "-m benchmarks rnn"),
            ("stress", "", "-m pytest -p no:nbval tests/fluxlite/checkpoint/test_checkpoint_files.py -k killed -s"),
        ],
    )
    def test_what_needs_one_command(self, kit, target, arguments, command):
        assert run_kit(kit, target, f"ARGS={arguments}") == (0, [command])

    def test_test_runs_everything_in_order(self, kit):
        status, lines = run_kit(kit, "test")
        assert status == 0
        assert [line.split()[1] for line in lines] == ["ruff", "mypy", "pytest"]
        assert lines[0] == "-m ruff check ."
        assert lines[2].endswith(" fluxlite tests notebooks/00-start-here.ipynb")
        assert "--nbval " in lines[2] and "--dist loadfile" in lines[2]

    @pytest.mark.parametrize("failing, ran", [("ruff", 1), ("mypy", 2), ("pytest", 3)])
    def test_test_stops_at_what_fails(self, kit, failing, ran):
        status, lines = run_kit(kit, "test", FAILING=failing)
        assert status != 0
        assert len(lines) == ran

    def test_test_can_be_narrowed(self, kit):
        assert run_kit(kit, "test", "ARGS=tests/test_x.py -k ties")[1] == [
            "-m pytest -p no:nbval tests/test_x.py -k ties"
        ]
        (line,) = run_kit(kit, "test", "ARGS=notebooks/00-start-here.ipynb")[1]
        assert "--nbval " in line

    def test_clean_leaves_the_learners_work(self, kit):
        (kit / "my-course").mkdir()
        (kit / "my-course" / "00.ipynb").touch()
        (kit / "fluxlite" / "__pycache__").mkdir()
        run_kit(kit, "clean", PATH=os.environ["PATH"])
        assert not (kit / ".venv").exists() and not (kit / "fluxlite" / "__pycache__").exists()
        assert (kit / "my-course" / "00.ipynb").exists() and (kit / "notebooks" / "00-start-here.ipynb").exists()


def test_ci_is_a_script_that_can_be_started():
    run = ROOT / ".ci" / "run"
    assert os.access(run, os.X_OK)
    assert subprocess.run(["bash", "-n", str(run)]).returncode == 0
    extras = re.search(r"EXTRAS=([\w,]+)", run.read_text())[1].split(",")
    assert set(extras) <= set(EXTRAS)


# --- What we promise about packages ---


def names(requirements):
    """The requested packages, including those of the extras named among them."""
    result = set()
    for requirement in map(Requirement, requirements):
        if requirement.name == "fluxlite":
            result |= names(sum((EXTRAS[extra] for extra in requirement.extras), []))
        else:
            result.add(requirement.name)
    return result


def test_little_is_needed():
    assert names(PROJECT["dependencies"]) == {"numpy", "safetensors", "tqdm"}
    assert "2.0" in Requirement(PROJECT["dependencies"][0]).specifier


def local_extras(line):
    """The extras of a line like `-e .[lab]`, or None for any other line."""
    match = re.fullmatch(r"(?:-e )?\.(?:\[([\w,]+)\])?", line)
    return match and set(filter(None, (match[1] or "").split(",")))


def test_conda_and_binder_install_what_there_is():
    text = (ROOT / "environment.yml").read_text()
    *_, pip = yaml.safe_load(text)["dependencies"]
    local, cupy = pip["pip"]
    assert local_extras(local) == {"lab", "test"}
    assert Requirement(cupy).specifier == Requirement(EXTRAS["cuda12"][0]).specifier
    for path in re.findall(r"pytest (?:--nbval )?([^;\n]+)", text):
        assert all((ROOT / name).exists() for name in path.split())
    versions, ours = (ROOT / "binder" / "requirements.txt").read_text().splitlines()
    assert (ROOT / "binder" / versions.removeprefix("-c ")).resolve() == ROOT / "constraints.txt"
    assert local_extras(ours) == {"lab"}


@pytest.fixture
def repository(tmp_path):
    """A copy of the files that Binder's build reads."""
    shutil.copytree(ROOT / "binder", tmp_path / "binder")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "fluxlite" / "course" / "jupyterlab", tmp_path / "fluxlite" / "course" / "jupyterlab")
    return tmp_path


def test_binder_gets_the_courses_settings(repository):
    """Uses a Python that claims to live elsewhere, so nothing changes here."""
    script(repository / "bin" / "python", f"echo {repository / 'env'}\n")
    environment = dict(os.environ, PATH=f"{repository / 'bin'}{os.pathsep}{os.environ['PATH']}")
    subprocess.run([str(repository / "binder" / "postBuild")], cwd=repository, env=environment, check=True)
    settings = repository / "env" / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    assert json.loads(settings.read_text())["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


# --- What the README says ---


@pytest.fixture(scope="module")
def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_names_only_what_there_is(readme, bootstrap):
    for extras in re.findall(r"\.\[([\w,]+)\]", readme) + re.findall(r"EXTRAS=([\w,]+)", readme):
        assert set(extras.split(",")) <= set(EXTRAS)
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    for target in re.findall(r"(?:^|`)make (\w+)", readme, re.MULTILINE):
        assert target in targets
    assert bootstrap.UV.startswith(UV_LINE) and f"`{UV_LINE}`" in readme
