"""The tests and the lessons as they run elsewhere: other processors, other Pythons, other versions of NumPy.

    make test EXTRAS=nox              once: brings nox into .venv
    .venv/bin/nox -l                  what there is
    .venv/bin/nox                     all of it; more than an hour
    .venv/bin/nox -s "processors(other digits)" -- notebooks/04-sine-wave-rnn.ipynb      a part: any arguments of pytest
    .venv/bin/nox -s kills            kill 200 programs while they save, and 200 while they train
    .venv/bin/nox -s races            compare the detector of data races with their definition: 10,000 random traces
    .venv/bin/nox -s random_programs -- 5000       gradients of random programs, compared with finite differences
    .venv/bin/nox -s replays -- 10000              random programs, captured: their replays are equal, bit for bit
    .venv/bin/nox -s cupy_tests -- ../cupy         CuPy's own tests with simgpu in place of cupy: how many pass
    .venv/bin/nox -s clients -- ../clients         other projects' tests for CuPy with simgpu in its place
    .venv/bin/nox -s without          the lessons without threads, processes, sockets, and with 1 GB: what a browser has
    .venv/bin/nox -s pyodide          the same in Pyodide, a browser's Python, on Node.js
    .venv/bin/nox -s lite             the lessons as a site that runs them in a browser: in Chromium and Firefox
    .venv/bin/nox -s alone            fluxlite and simgpu in an empty folder, with NumPy, safetensors and tqdm
    .venv/bin/nox -s package          build both packages, and try each in a fresh environment; the sdist's tests, too
    .venv/bin/nox -s constraints      choose the versions in constraints.txt again: for a class, its sticks, and Binder
    .venv/bin/nox -s hub              a class of five on a real JupyterHub: hub, proxy and a server get killed
    .venv/bin/nox -s hub_costs        what a learner costs on a hub, measured
    .venv/bin/nox -s site             make the site, then look at it in Chromium: links, folds, and what axe-core says
    .venv/bin/nox -s mutations        plant small changes in the library: does a test notice each? an hour

NumPy picks its code by the processor: OpenBLAS has a kernel for each family, NumPy's own loops one for each set of
instructions. They round differently. The environment can choose another one, as long as the processor can run it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from glob import glob
from pathlib import Path

import nox

nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True

# The project's own .venv, which has NumPy, is what runs this file.
from numpy._core._multiarray_umath import __cpu_features__ as CAN  # noqa: E402

from tools import wheelhouse  # noqa: E402
from tools.last_digits import kernels_too  # noqa: E402

# NumPy 2.4 gave the sets of instructions these names; before, each instruction had its own.
_V4 = "X86_V4 AVX512_ICL" if "X86_V4" in CAN else "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
_V3 = "X86_V3" if "X86_V3" in CAN else "AVX2 FMA3"

PROCESSORS = {
    "Nehalem": {"OPENBLAS_CORETYPE": "NEHALEM"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "SANDYBRIDGE"},
    "Haswell": {"OPENBLAS_CORETYPE": "HASWELL"},  # and AMD's Zen
    "SkylakeX": {"OPENBLAS_CORETYPE": "SKYLAKEX"},
    "loops without AVX512": {"NPY_DISABLE_CPU_FEATURES": _V4},
    "loops without AVX2": {"NPY_DISABLE_CPU_FEATURES": f"{_V4} {_V3}"},
    "of 2009": {"OPENBLAS_CORETYPE": "NEHALEM", "NPY_DISABLE_CPU_FEATURES": f"{_V4} {_V3}"},  # both in one run
    "1 thread": {"OPENBLAS_NUM_THREADS": "1"},
    "2 threads": {"OPENBLAS_NUM_THREADS": "2"},
    "4 threads": {"OPENBLAS_NUM_THREADS": "4"},
    "other digits": {},  # one that doesn't exist: tools/last_digits.py
}
NEEDS = {"Sandybridge": "AVX", "Haswell": "AVX2", "SkylakeX": "AVX512F"}
NOTEBOOKS = sorted(glob("notebooks/*.ipynb"))
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")  # several processes, one thread each: otherwise they get in each other's way
PYTEST = ["-m", "pytest", "-n", str(min(os.cpu_count() or 1, 4)), "--dist", "loadfile", "--color=no"]
NBVAL = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=120"]
EVERYTHING = ["fluxlite", "simgpu", "fluxlite_course", "tests", *NOTEBOOKS]


@nox.session(venv_backend="none")
@nox.parametrize("processor", [nox.param(name, id=name) for name in PROCESSORS])
def processors(session: nox.Session, processor: str) -> None:
    """This machine, with the last digits of another processor."""
    if not CAN.get(NEEDS.get(processor, ""), True):
        session.skip(f"this processor has no {NEEDS[processor]}")
    environment, plugin = PROCESSORS[processor], []
    if processor == "other digits":
        environment, plugin = kernels_too(Path(session.create_tmp(), "ipython")), ["-p", "tools.last_digits"]
    session.run(sys.executable, *PYTEST, *NBVAL, *plugin, *(session.posargs or EVERYTHING), env=environment)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def pythons(session: nox.Session) -> None:
    """Every Python that starts here, with the newest packages that it gets."""
    session.install("-e", ".[test]")
    # As Jupyter starts its kernels: since 3.13 Python colours what it says about an error.
    session.run("python", *PYTEST, *NBVAL, *(session.posargs or EVERYTHING), env={"FORCE_COLOR": "1"})


@nox.session(python="3.12")
@nox.parametrize("numpy", [nox.param("numpy==2.0.*", id="oldest"), nox.param("numpy", id="newest")])
def numpys(session: nox.Session, numpy: str) -> None:
    """The oldest NumPy that we support, and the newest."""
    session.install("-e", ".[test]", numpy)
    session.run("python", *PYTEST, *NBVAL, *(session.posargs or EVERYTHING))


# What `make test` leaves out, since it takes long and notices little more.
SLOW = {
    "copies": ["tests/course/test_lessons.py"],  # the learners' copies run to their ends
    "browser": ["tests/course/browser"],  # JupyterLab and Notebook 7 in Chromium
    "rest": ["tests", *map("--ignore=tests/{}".format, ("course/test_lessons.py", "course/browser", "project/hub"))],
}


@nox.session(venv_backend="none")
@nox.parametrize("part", [nox.param(name, id=name) for name in SLOW])
def slow(session: nox.Session, part: str) -> None:
    """The tests that are marked slow: the learners' copies, the browsers, the rest."""
    session.run(sys.executable, *PYTEST, "-p", "no:nbval", "--slow", "-m", "slow", *SLOW[part], *session.posargs)


@nox.session(venv_backend="none", default=False)  # four minutes
def rehearsal(session: nox.Session) -> None:
    """The tests for NVIDIA GPUs, with the real CuPy on a fake driver, without a card."""
    session.run(sys.executable, "-m", "pytest", "-p", "no:nbval", "--color=no", "-m", "cuda", *session.posargs)


@nox.session(venv_backend="none")
def examples(session: nox.Session) -> None:
    """Each derivative rule with this many random examples (100), different ones each time."""
    count = session.posargs[0] if session.posargs else "100"
    tests = ["tests/fluxlite/autodiff", "tests/fluxlite/layers/test_activations.py"]
    session.run(sys.executable, *PYTEST, "-p", "no:nbval", *tests, env={"FLUXLITE_EXAMPLES": count})


@nox.session(venv_backend="none", default=False)  # ten minutes
def kills(session: nox.Session) -> None:
    """Programs that are killed while they save, or train with a checkpoint: nothing is torn, lost or left over."""
    files = ["tests/fluxlite/saving/test_checkpoint_files.py", "tests/fluxlite/training/test_training_kills.py"]
    command = ["-m", "pytest", "-p", "no:nbval", "--slow", "-s", "-k", "killed or kills", *files]
    times = os.environ.get("FLUXLITE_KILLS", "200")
    session.run(sys.executable, *command, *session.posargs, env={"FLUXLITE_KILLS": times})


@nox.session(venv_backend="none", default=False)  # six minutes
def races(session: nox.Session) -> None:
    """Data races in this many random traces of kernels (10000): found where there's one, and nowhere else.

    And in 2,000 random programs: each that changes a value shows two outcomes.
    """
    script = "tests/simgpu/kernels/random_traces.py"
    where = os.pathsep.join([os.getcwd(), "tests/helpers"])
    session.run(sys.executable, script, *(session.posargs or ["10000"]), env={"PYTHONPATH": where})
    shuffled = ["-m", "pytest", "-p", "no:nbval", "tests/simgpu/kernels/test_kernels_shuffled.py"]
    session.run(sys.executable, *shuffled, env={"FLUXLITE_EXAMPLES": "2000"})


@nox.session(venv_backend="none", default=False)  # ten minutes
def random_programs(session: nox.Session) -> None:
    """Gradients of this many random programs (5000), by finite differences and in each style; others each time."""
    count = session.posargs[0] if session.posargs else "5000"
    tests = "tests/fluxlite/autodiff/test_random_programs.py"
    session.run(sys.executable, "-m", "pytest", "-p", "no:nbval", tests, env={"FLUXLITE_EXAMPLES": count})


@nox.session(venv_backend="none", default=False)  # six minutes
def replays(session: nox.Session) -> None:
    """Captured steps: this many random programs (10000) with views and calls in place, whose replays are equal."""
    count = session.posargs[0] if session.posargs else "10000"
    tests = "tests/fluxlite/capturing/test_random_steps.py"
    session.run(sys.executable, "-m", "pytest", "-p", "no:nbval", "--slow", tests, env={"FLUXLITE_EXAMPLES": count})


@nox.session(venv_backend="none", default=False)  # five minutes
def cupy_tests(session: nox.Session) -> None:
    """CuPy's own tests with simgpu in place of cupy, from a folder with CuPy's source; makes the site's page."""
    page = ["--page", "docs/site/pages/cupy-tests.md"] if len(session.posargs) == 1 else []
    session.run(sys.executable, "tools/cupy_tests.py", *session.posargs, *page, env={"PYTHONPATH": os.getcwd()})


@nox.session(default=False)  # fifteen minutes; the projects' sources aren't here
def clients(session: nox.Session) -> None:
    """Other projects' tests for CuPy with simgpu in its place, from a folder with their sources: -- ../clients dask."""
    session.install("pytest", "pytest-timeout", "hypothesis", "ndindex", "scipy", "scikit-learn", "dask", "opt_einsum")
    session.install("numba", "pywavelets", "sympy", "tqdm")  # for PyLops and sigpy
    session.install("thinc", "tensorly", "matplotlib", "scikit-image")  # the last two for glcm-cupy
    session.run("python", "tools/clients.py", *session.posargs)


@nox.session(default=False)  # two minutes
def alone(session: nox.Session) -> None:
    """Copies of fluxlite, simgpu and their tests, with what pyproject.toml says they need: no course, no Jupyter."""
    needed = nox.project.load_toml("pyproject.toml")["project"]["dependencies"]
    session.install(*needed, "pytest", "pytest-xdist", "hypothesis")
    folder = Path(session.virtualenv.location, "alone").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    tests = ["tests/fluxlite", "tests/simgpu"]
    for name in ("fluxlite", "simgpu", *tests, "tests/helpers"):
        shutil.copytree(name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    pages = ["docs/adding.md", "docs/site/pages/cupy-without-a-gpu.md"]  # whose programs tests run
    for name in ("conftest.py", "pyproject.toml", "benchmarks/launch_table.py", *pages):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(name, folder / name)
    with session.chdir(folder):
        session.run("python", *PYTEST, *(session.posargs or tests), env={"PYTHONPATH": str(folder)})


@nox.session(venv_backend="none", default=False)  # ten minutes
def without(session: nox.Session) -> None:
    """The lessons and the learners' copies, with nothing that a browser lacks; or those that you name: -- 00 05.

    Which cells do otherwise, and how much longer they take: compared with a run that has everything in place.
    """
    session.run(sys.executable, "tools/without.py", "--compare", *session.posargs)


# A NumPy for Pyodide is on no package index: this folder has its wheel.
WASM = Path(os.environ.get("FLUXLITE_WASM", "../shared/wasm"))
# What IPython and widgets need besides NumPy. constraints.txt has their versions.
IN_PYODIDE = [
    "anywidget", "asttokens", "comm", "executing", "ipython", "ipython-pygments-lexers", "ipywidgets",
    "matplotlib-inline", "prompt-toolkit", "psygnal", "pure-eval", "pygments", "stack-data", "tqdm", "traitlets",
    "typing-extensions", "wcwidth",
]  # fmt: skip
PURE = ["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none", "--python-version=3.12"]


@nox.session(venv_backend="none", default=False)  # an hour
def pyodide(session: nox.Session) -> None:
    """The lessons in node's Pyodide; or those that you name: -- 00 05. Matplotlib is a stand-in that draws nothing.

    It takes Node.js, and a NumPy for Pyodide 0.27 in the folder that FLUXLITE_WASM names.
    """
    numpy = sorted(WASM.glob("numpy-*-cp312-*wasm32.whl"))
    if not numpy:
        session.skip(f"there's no NumPy for Pyodide in {WASM}; FLUXLITE_WASM names a folder that has one")
    if shutil.which("npm") is None:
        session.skip("Pyodide needs Node.js with npm: nodejs.org")
    folder = Path(session.create_tmp())
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(Path("tools", "pyodide", name), folder / name)
    session.run("npm", "ci", "--no-fund", "--no-audit", f"--prefix={folder}", external=True)
    download = ["download", "--quiet", "--no-deps", *PURE, "-c", str(wheelhouse.CONSTRAINTS), f"--dest={wheels}"]
    session.run(sys.executable, "-m", "pip", *download, *IN_PYODIDE)
    session.run(sys.executable, "-m", "hatchling", "build", "--target=wheel", f"--directory={wheels.absolute()}")
    shutil.copy(numpy[-1], wheels)
    planted = ["-m", "pytest", "-p", "no:nbval", "-k", "pyodide", "tests/project/test_without.py"]
    session.run(sys.executable, *planted, env={"FLUXLITE_PYODIDE": str(folder.absolute())})
    session.run(sys.executable, "tools/without.py", "--compare", "--jobs=2", f"--pyodide={folder}", *session.posargs)


@nox.session(default=False)  # six minutes; it needs Chromium
def lite(session: nox.Session) -> None:
    """The site that runs the lessons in a browser, in build/lite, and what a learner does there: Chromium, Firefox.

    It takes Node.js, and a NumPy for Pyodide 0.27 in the folder that FLUXLITE_WASM names: no test asks another host.
    """
    if not list(WASM.glob("numpy-*-cp312-*wasm32.whl")):
        session.skip(f"there's no NumPy for Pyodide in {WASM}; FLUXLITE_WASM names a folder that has one")
    if shutil.which("npm") is None:
        session.skip("Pyodide needs Node.js with npm: nodejs.org")
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        session.skip("there's no Chromium here")
    # Later ones ask Firefox ESR 153 for a command that it hasn't got yet.
    session.install("-e", ".[test,lite,browser]", "playwright==1.60.0")
    session.run("python", "tools/lite/make.py", "build/lite", f"--local={WASM.absolute()}")
    tests = ["-m", "pytest", "-p", "no:nbval", "-rs", "tests/project/lite"]
    session.run("python", *tests, *session.posargs, env={"FLUXLITE_LITE": "build/lite"})


@nox.session(default=False)  # three minutes
def package(session: nox.Session) -> None:
    """Build dist/, and install what's there into fresh environments: READY, lessons found, the sdist's own tests pass.

    Arguments are pytest's, for the tests that are run from the unpacked sdist.
    """
    session.install("build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--quiet")
    (wheel,), (source,) = map(glob, ("dist/*.whl", "dist/*.tar.gz"))
    session.run("twine", "check", "--strict", wheel, source)
    for file in (wheel, source):
        session.run("python", "tools/try_package.py", file, *session.posargs)


@nox.session(default=False)  # it changes a file
def constraints(session: nox.Session) -> None:
    """Choose the versions in constraints.txt again: the newest that have wheels for every computer in a class."""
    session.install("uv")
    oldest, newest = wheelhouse.PYTHONS[0], int(wheelhouse.PYTHONS[-1].partition(".")[2])
    pythons = f"python_version < '3.{newest + 1}'"
    systems = [f"{pythons} and sys_platform == '{sys}' and platform_machine == '{machine}'"
               for sys, _, _, machine in wheelhouse.SYSTEMS.values()]  # fmt: skip
    # uv takes these two from a pyproject.toml only. In ours they would also bind `uv run`.
    settings = f"[tool.uv]\nenvironments = {json.dumps([pythons])}\nrequired-environments = {json.dumps(systems)}\n"
    project = Path("pyproject.toml").read_text(encoding="utf-8").replace("[tool.uv]\n", settings)
    with session.chdir(session.create_tmp()):
        Path("pyproject.toml").write_text(project, encoding="utf-8")
        session.run(
            "uv", "pip", "compile", "--quiet", "--upgrade", "pyproject.toml", "--extra=lab", "--universal",
            f"--python-version={oldest}", "--only-binary=:all:", "--no-annotate",
            "--custom-compile-command=nox -s constraints", f"--output-file={wheelhouse.CONSTRAINTS}",
        )  # fmt: skip


# The proxy comes from npm. Its version 5.3 is the one in the chart for Kubernetes.
PROXY = "configurable-http-proxy@5.3.0"


def proxy(session: nox.Session) -> dict[str, str]:
    """Bring JupyterHub's proxy into the session's own folder; the environment that says where it is."""
    if shutil.which("npm") is None:
        session.skip("the hub's proxy needs Node.js with npm: nodejs.org")
    folder = Path(session.virtualenv.location, "npm")
    folder.mkdir(exist_ok=True)
    session.run("npm", "install", "--no-fund", "--no-audit", f"--prefix={folder}", PROXY, external=True)
    return {"FLUXLITE_HUB_PROXY": str(folder)}


@nox.session(default=False)  # five minutes
@nox.parametrize("hub", [nox.param("-rdocs/hub/requirements.txt", id="chart"), nox.param("jupyterhub", id="newest")])
def hub(session: nox.Session, hub: str) -> None:
    """A class of five on a real JupyterHub, in the version of the chart for Kubernetes and in the newest."""
    session.install("-e", ".[test,hub,browser]", hub)
    tests = ["-m", "pytest", "-p", "no:nbval", "-rs", "--slow", "tests/project/hub"]
    session.run("python", *tests, *session.posargs, env=proxy(session))


@nox.session(default=False)  # six minutes
def hub_costs(session: nox.Session) -> None:
    """What a learner on a hub costs in memory and processor time: every lesson, or those that you name: -- 05 14."""
    session.install("-c", "constraints.txt", "-r", "docs/hub/requirements.txt", "-e", ".[lab,hub]")
    where = {"PYTHONPATH": os.pathsep.join([os.getcwd(), str(Path("tests", "project", "hub").absolute())])}
    session.run("python", "tests/project/hub/measure.py", *session.posargs, env={**where, **proxy(session)})


@nox.session(default=False)  # two minutes; it needs Chromium
def site(session: nox.Session) -> None:
    """The site, in build/site, and its tests: every name is there, no link is dead, axe-core finds nothing serious."""
    session.install("-e", ".[test,site,browser]")
    session.run("python", "docs/site/make.py")
    tests = ["-m", "pytest", "-p", "no:nbval", "-rs", "--slow", "tests/project/site"]
    session.run("python", *tests, *session.posargs, env={"FLUXLITE_SITE": "build/site/html"})


@nox.session(default=False)  # it says how good the tests are, not whether they pass
def mutations(session: nox.Session) -> None:
    """Small changes, planted in copies of the library one at a time: does a test notice each?"""
    session.install("cosmic-ray==8.7.0")  # another version finds other changes
    folder = session.virtualenv.location  # report.txt goes there
    session.run("python", "tools/mutations.py", f"--python={sys.executable}", f"--session={folder}", *session.posargs)
