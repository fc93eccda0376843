"""What `make lab`, `make test` and `make bench` do: prepare `.venv`, then run something in it.

    python tools/bootstrap.py lab   [--extras=cuda12] [arguments of jupyter lab]
    python tools/bootstrap.py test  [--extras=bench]  [arguments of pytest]
    python tools/bootstrap.py bench                   [arguments of benchmarks]
    python tools/bootstrap.py exercises
    python tools/bootstrap.py nbgrader                [folder to be made]
    python tools/bootstrap.py wheelhouse              [folder, and for whom]
    python tools/bootstrap.py colab                   [numbers of lessons]

Standard library only. It is also started by Pythons too old for fluxlite, so that they can say what helps;
so no syntax newer than Python 2.7 here.
"""

from __future__ import print_function

import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
OLDEST = (3, 11)
UV = "uv run --python 3.12 --extra lab python -m fluxlite lab"

COMMANDS = {"lab": ("lab",), "test": ("lab", "test"), "bench": ("bench",), "exercises": ("lab",), "nbgrader": ("lab",),
            "wheelhouse": ("lab",), "colab": ("lab",)}

# Megabytes to download and on the disk, as measured on Linux with Python 3.11; the disk of rocm is a guess.
# For bench it is with PyTorch's CPU build.
BASE = (17, 90)
SIZES = {
    "lab": (74, 290),
    "test": (30, 100),
    "nbgrader": (30, 70),
    "browser": (45, 165),
    "nox": (8, 20),
    "bench": (340, 1430),
    "cuda12": (137, 300),
    "cuda13": (70, 210),
    "rocm": (74, 300),
    "metal": (11, 26),
}


class Stop(Exception):
    """Something the person at the keyboard has to do first; its text says what."""


# --- Is this Python fit? ----------------------------------------------------------------------------------


def which(name):
    """The path of a program, or None (shutil.which is younger than Python 2.7)."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def apt_pythons():
    """The packages that would bring a fitting Python to this Debian or Ubuntu, the oldest first."""
    command = ["apt-cache", "search", "--names-only", "^python3[.]1[1-9]-venv$"]
    try:
        listing = subprocess.check_output(command, stderr=subprocess.STDOUT).decode()
    except (OSError, subprocess.CalledProcessError):
        return []
    return sorted(line.split()[0] for line in listing.splitlines() if line.startswith("python3"))


def newer_python():
    """The one command that brings a fitting Python to this system."""
    if which("apt-get"):
        packages = apt_pythons()
        return "sudo apt install " + packages[-1] if packages else UV
    if which("dnf"):
        return "sudo dnf install python3.12"
    if which("brew"):
        return "brew install python@3.13"
    return UV


def check_version(version, found=""):
    """Stop unless version, such as sys.version_info, is new enough."""
    if tuple(version[:2]) >= OLDEST:
        return
    found = found or "this is Python %d.%d.%d" % tuple(version[:3])
    command = newer_python()
    hint = "  (uv is one program that brings its own Python: docs.astral.sh/uv)" if command == UV else ""
    raise Stop(
        "fluxlite needs Python %d.%d or newer; %s. This helps:\n    %s%s" % (OLDEST[0], OLDEST[1], found, command, hint)
    )


def missing_for_venv():
    """Which of the modules that make a virtual environment this Python lacks."""
    missing = []
    for name in ("venv", "ensurepip"):
        try:
            __import__(name)
        except ImportError:
            missing.append(name)
    return missing


def check_venv(version):
    """Stop when this Python cannot make a .venv: Debian's cannot until python3-venv is installed."""
    missing = missing_for_venv()
    if missing:
        command = "sudo apt install python%d.%d-venv" % tuple(version[:2]) if which("apt-get") else UV
        raise Stop(
            "This Python comes without %s, so it cannot make a .venv. This helps:\n    %s"
            % (" and ".join(missing), command)
        )


# --- What has to be done to .venv? ------------------------------------------------------------------------
# .venv/fluxlite.json says what was installed there, and "installing" for as long as that is not finished.


def python_of(venv):
    """The path of the Python inside a virtual environment."""
    return os.path.join(venv, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))


def ask(python, code):
    """What `python -c code` prints, or None if it does not start or fails."""
    try:
        return subprocess.check_output([python, "-c", code], stderr=subprocess.STDOUT).decode().strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def fingerprint(root):
    """A short hash of pyproject.toml."""
    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def read_stamp(venv):
    """What .venv/fluxlite.json says; empty when there is none."""
    try:
        with open(os.path.join(venv, "fluxlite.json")) as file:
            stamp = json.load(file)
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(venv, stamp):
    """Replace .venv/fluxlite.json in one go."""
    path = os.path.join(venv, "fluxlite.json")
    with open(path + ".new", "w") as file:
        json.dump(stamp, file, indent=1, sort_keys=True)
    os.replace(path + ".new", path)


def plan(root, extras, version):
    """What to do, as ("ready" | "install" | "create", why, extras to install)."""
    venv = os.path.join(root, ".venv")
    wanted = sorted(extras)
    if not os.path.isdir(venv):
        return "create", "there is no .venv yet", wanted
    stamp = read_stamp(venv)
    everything = sorted(set(extras) | set(stamp.get("extras", ())))
    if stamp.get("state") == "installing":
        return "create", "the last install did not finish", everything
    if stamp and stamp.get("root") != root:
        return "create", "this folder was moved or copied", everything
    inside = ask(python_of(venv), "import sys; print('%d.%d' % sys.version_info[:2])")
    if inside is None:
        return "create", "the Python in .venv does not start", everything
    if not stamp:
        # Somebody made this .venv by hand or with uv. Keep it if it will do.
        if tuple(map(int, inside.split("."))) < OLDEST:
            return "create", ".venv holds Python " + inside, everything
        if ask(python_of(venv), "import pip") is None:
            return "create", ".venv has no pip", everything
        return "install", ".venv was made by other means", everything
    if stamp.get("ours") and inside != "%d.%d" % tuple(version[:2]):
        return "create", ".venv holds Python %s, this is %d.%d" % ((inside,) + tuple(version[:2])), everything
    if stamp.get("pyproject") != fingerprint(root):
        return "install", "pyproject.toml has changed", everything
    missing = sorted(set(extras) - set(stamp.get("extras", ())))
    if missing:
        return "install", "not installed yet: " + ", ".join(missing), everything
    return "ready", "nothing has changed", everything


# --- Doing it ---------------------------------------------------------------------------------------------


def check_extras(root, extras):
    """Stop at an extra that pyproject.toml does not have (pip would only warn)."""
    import tomllib

    with open(os.path.join(root, "pyproject.toml"), "rb") as file:
        known = tomllib.load(file)["project"]["optional-dependencies"]
    for extra in extras:
        if extra not in known:
            raise Stop("There is no extra %r. There are: %s." % (extra, ", ".join(sorted(known))))


def create(venv):
    """Make an empty virtual environment in a folder that exists."""
    # When this very Python lives in a .venv that was just removed, the one below it is still there.
    python = getattr(sys, "_base_executable", None) or sys.executable
    if subprocess.call([python, "-m", "venv", venv]):
        raise Stop("%s -m venv failed; its own words are above." % python)


def pip_install(venv, extras):
    """Install this folder, editable, with its extras; one line every ten seconds or so."""
    command = [
        python_of(venv),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar=off",
        "-e",
        ".[%s]" % ",".join(extras),
    ]
    environment = dict(os.environ, PYTHONUNBUFFERED="1", PIP_USER="0")
    pip = subprocess.Popen(
        command,
        cwd=os.path.dirname(venv),
        env=environment,
        universal_newlines=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    lines, packages, unpacking, said = [], 0, False, time.time()
    try:
        for line in pip.stdout:
            lines.append(line)
            packages += line.startswith(("Collecting ", "Processing "))
            news = ""
            if line.startswith("Installing collected packages"):
                unpacking = True
                news = "unpacking %d packages" % (line.count(",") + 1)
            elif time.time() - said > 10 and not unpacking:
                late = line.startswith("WARNING: Retrying")
                news = "the network does not answer" if late else "%d packages found" % packages
            if news:
                print("  ... " + news, flush=True)
                said = time.time()
        status = pip.wait()
    finally:
        if pip.poll() is None:  # Ctrl-C: leave nothing behind that still writes to .venv
            pip.terminate()
            pip.wait()
    if status:
        sys.stdout.write("".join(lines[-15:]))
        raise Stop("The install did not finish. If the network was the cause, give the same command again.")


def megabytes(folder):
    """The size of all files below a folder."""
    total = 0
    for parent, _, files in os.walk(folder):
        total += sum(os.lstat(os.path.join(parent, name)).st_size for name in files)
    return total // 1000000


def size(extras, base):
    """About how much is downloaded for some extras and how much of the disk that takes."""
    parts = [SIZES.get(extra, (0, 0)) for extra in extras] + [BASE] * base
    return "about %d MB to download, %d MB on the disk" % tuple(round(sum(part), -1) for part in zip(*parts))


def prepare(root, extras, version):
    """Bring .venv to where it has the extras; say what is done, how big it is and how long it took."""
    check_extras(root, extras)
    todo, why, everything = plan(root, extras, version)
    venv = os.path.join(root, ".venv")
    if todo == "ready":
        return python_of(venv)
    check_venv(version)
    began = time.time()
    print("Installing fluxlite and [%s] into .venv (%s)." % (",".join(everything), why), flush=True)
    before = {} if todo == "create" else read_stamp(venv)
    new = [extra for extra in everything if extra not in before.get("extras", ())]
    if new:
        print("That is %s; one to three minutes. No root needed." % size(new, todo == "create"), flush=True)
    stamp = {
        "state": "installing",
        "ours": todo == "create" or before.get("ours", False),
        "root": root,
        "extras": everything,
        "pyproject": fingerprint(root),
    }
    if todo == "create":
        if os.path.lexists(venv):
            remove(venv)
        os.mkdir(venv)
        write_stamp(venv, stamp)
        try:
            create(venv)
        except Stop:
            remove(venv)
            raise
    write_stamp(venv, stamp)
    pip_install(venv, everything)
    write_stamp(venv, dict(stamp, state="ready"))
    print("Done in %d s; .venv takes %d MB." % (time.time() - began, megabytes(venv)), flush=True)
    return python_of(venv)


def remove(venv):
    """Delete a .venv, be it a folder or a link to one."""
    if os.path.islink(venv):
        os.remove(venv)
    else:
        # Its Python first: should this be interrupted, what is left does not pass for a .venv.
        shutil.rmtree(os.path.dirname(python_of(venv)), ignore_errors=True)
        shutil.rmtree(venv)


def prepare_alone(root, *arguments):
    """prepare, while no other `make` in this folder does the same."""
    with open(os.path.join(root, "pyproject.toml")) as file:
        try:
            import fcntl
        except ImportError:  # Windows
            pass
        else:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                print("Something is being installed in this folder already; waiting for it.", flush=True)
                fcntl.flock(file, fcntl.LOCK_EX)
        return prepare(root, *arguments)


# --- The commands -----------------------------------------------------------------------------------------


def run(*command):
    """Run a program in the project's folder with .venv first on the PATH; its exit status."""
    folder = os.path.dirname(command[0])
    environment = dict(
        os.environ, VIRTUAL_ENV=os.path.dirname(folder), PATH=folder + os.pathsep + os.environ.get("PATH", "")
    )
    environment.pop("PYTHONHOME", None)
    try:
        return subprocess.call(command, cwd=ROOT, env=environment)
    except KeyboardInterrupt:
        return 130


def lab(python, arguments):
    """Hand out the lessons and open JupyterLab at the first one."""
    return run(python, "-m", "fluxlite", "lab", *arguments)


def exercises(python, arguments):
    """Make what is made from the lessons."""
    return run(python, os.path.join("tools", "notebooks.py"), "exercises", *arguments)


def nbgrader(python, arguments):
    """Make an nbgrader course of the lessons."""
    return run(python, os.path.join("tools", "notebooks.py"), "nbgrader", *(arguments or ["nbgrader-course"]))


def wheelhouse(python, arguments):
    """Download what a class needs to install the course without a network."""
    return run(python, os.path.join("tools", "wheelhouse.py"), *(arguments or ["wheelhouse"]))


def colab(python, arguments):
    """Run the learners' lessons with Colab's versions."""
    return run(python, os.path.join("tools", "colab.py"), *arguments)


def stages(arguments):
    """The modules to run for `make test`, in order, with their arguments."""
    found = glob.glob(os.path.join(ROOT, "notebooks", "*.ipynb"))
    notebooks = sorted(os.path.relpath(path, ROOT) for path in found)
    # The kernel of this .venv, whatever kernels the machine knows; two minutes a cell, not nbval's 33.
    nbval = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=120"]
    if arguments:
        some_notebook = any("ipynb" in argument or "notebooks" in argument for argument in arguments)
        # Where no notebook is asked for, pytest starts a second sooner without nbval.
        return [["pytest"] + (nbval if some_notebook else ["-p", "no:nbval"]) + arguments]
    checked = ["fluxlite", "tests", "benchmarks", "notebooks", "tools", "conftest.py", "noxfile.py"]
    checked = [name for name in checked if os.path.exists(os.path.join(ROOT, name))]
    # Cells are separate tests to nbval: loadfile keeps those of one notebook in one process.
    # Without notebooks more processes were slower: each of them first has to find all the tests.
    workers = ["-n", str(min(os.cpu_count() or 1, 4)), "--dist", "loadfile"]
    return [
        ["ruff", "check"] + checked,
        ["mypy"],
        ["pytest"] + (workers + nbval if notebooks else []) + ["fluxlite", "tests"] + notebooks,
    ]


def test(python, arguments):
    """Check the style and the types, then run every test, doctest and notebook."""
    todo = stages(arguments)
    if not arguments and "--nbval" not in todo[-1]:
        print("There are no notebooks yet, so none are run.")
    for stage in todo:
        print("== " + " ".join(stage), flush=True)
        status = run(python, "-m", *stage)
        if status:
            return status
    return 0


def bench(python, arguments):
    """Compare the speed with the other libraries."""
    return run(python, "-m", "benchmarks", *arguments)


def main(arguments):
    """Run one of the commands; the exit status."""
    check_version(sys.version_info, os.environ.get("FLUXLITE_FOUND", ""))
    if not arguments or arguments[0] not in COMMANDS:
        raise Stop(__doc__.strip())
    command, arguments = arguments[0], arguments[1:]
    extras = set(COMMANDS[command])
    if arguments and arguments[0].startswith("--extras="):
        extras |= set(filter(None, arguments.pop(0)[len("--extras=") :].replace(" ", ",").split(",")))
    python = prepare_alone(ROOT, extras, sys.version_info)
    commands = {"lab": lab, "test": test, "bench": bench, "exercises": exercises, "nbgrader": nbgrader,
                "wheelhouse": wheelhouse, "colab": colab}
    return commands[command](python, arguments)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as stop:
        print(stop)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\nStopped. Give the same command again to go on.")
        sys.exit(130)
