"""Install a package that was built into a fresh environment, and try it there as a learner would.

    python tools/try_package.py dist/fluxlite-0.4.0-py3-none-any.whl
    python tools/try_package.py dist/fluxlite-0.4.0.tar.gz [tests …]      also runs these tests from the unpacked files

Neither this folder nor an environment variable of yours can help: everything has to be inside the package.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from environments import environment, pip  # noqa: E402

# What can be missing from a package: files that tests read, pages, tools, the workflows. It takes a minute.
TESTS = (
    *(f"tests/project/test_{name}.py" for name in ("packaging", "notebooks", "launch_links", "publishing")),
    *(f"tests/fluxlite/{name}" for name in ("test_rnn.py", "tree", "layers/test_layers.py")), "fluxlite/tree",
)  # fmt: skip
# In an empty folder: the command, the lessons, and that they're handed out.
TRY = """
import subprocess, sys
from pathlib import Path
from fluxlite_course.kit.copies import hand_out, learner_folder
assert sys.prefix in str(learner_folder()), f"the lessons are those of {learner_folder()}"
hand_out(Path("my-course"))
lessons = sorted(path.name for path in Path("my-course").glob("[0-9]*.ipynb"))
assert lessons[0].startswith("00-") and len(lessons) >= 17, lessons
program = "from fluxlite_course import start, check; start('01'); check('01.1', 1, 2, 3, 4)"
subprocess.run([sys.executable, "-c", program], cwd="my-course", check=True)
assert Path("my-course", "progress.json").exists(), "no progress was kept"
print(len(lessons), "lessons")
"""


def clean() -> dict[str, str]:
    """This shell's variables, without what it knows of fluxlite and Python."""
    ours = ("PYTHON", "FLUXLITE", "VIRTUAL_ENV", "COLAB", "KAGGLE", "BINDER")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def run(*command: object, folder: Path) -> str:
    """What a command prints, in `folder`, with the variables of `clean`. It has to succeed."""
    done = subprocess.run([*map(str, command)], cwd=folder, env=clean(), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(map(str, command))} failed")
    return done.stdout


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Try a built package in a fresh environment, as a learner would.")
    parser.add_argument("package", type=Path, help="a wheel, or a .tar.gz, whose own tests run too")
    parser.add_argument("tests", nargs="*", help="which of them, in place of the usual ones")
    given = parser.parse_args(arguments)
    if not given.package.is_file():
        parser.error(f"there's no file {given.package}")
    file, tests = given.package.resolve(), given.tests
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(temporary)
        python = environment(here / "venv", variables=clean())
        source = file.suffix == ".gz"
        extras = "test" if source else "lab"
        pip(python, "install", f"{file}[{extras}]", variables=clean())
        said = run(python.parent / "fluxlite", "check", folder=here).strip()
        if said.splitlines()[-1] != "READY":
            sys.exit(f"{file.name}: fluxlite check says {said}")
        print(f"{file.name}: READY, {run(python, '-c', TRY, folder=here).splitlines()[-1]}", flush=True)
        if source:
            with tarfile.open(file) as archive:
                archive.extractall(here, filter="data")
            unpacked = here / file.name.removesuffix(".tar.gz")
            said = run(python, "-m", "pytest", "-p", "no:nbval", "-q", *(tests or TESTS), folder=unpacked)
            print(f"{file.name}: its own tests: {said.splitlines()[-1]}", flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd)} failed; its own words are above")
