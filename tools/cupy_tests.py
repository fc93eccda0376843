"""CuPy's own tests, with simgpu in place of cupy: how many pass, by folder, and which don't.

    .venv/bin/python tools/cupy_tests.py ../cupy                       CuPy's source, of its public repository
    .venv/bin/python tools/cupy_tests.py ../cupy math_tests/test_sumprod.py         one folder or file, in seconds
    .venv/bin/python tools/cupy_tests.py ../cupy --page docs/site/pages/cupy-tests.md       all of it, into the page

Of each test's parametrizations it draws at most six, with a fixed seed. `DOES_NOT_APPLY` says what isn't counted, and
why: most of it is what no simulation can have, such as an address, or what only CuPy's inside knows. Tests that need
several cards get four simulated ones.
"""

import argparse
import collections
import importlib
import math
import os
import random
import re
import resource
import signal
import sys
import types
from collections.abc import Collection
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDERS = [
    "core", "creation", "manipulation", "indexing", "math", "logic", "binary", "sorting", "statistics", "linalg", "fft",
    "padding", "functional", "lib", "misc", "../cupyx_tests/jit",
    *[f"../cupyx_tests/scipy_tests/{name}" for name in ("sparse", "signal", "fft", "linalg", "special", "ndimage")],
    *[f"../cupyx_tests/scipy_tests/{name}" for name in ("fftpack", "stats", "interpolate", "spatial")],
]  # fmt: skip
DRAWN, SEED, SECONDS = 6, 0, 60
CARDS, CARD = 4, "NVIDIA A100"  # simulated, for tests that need several
MEMORY = 6 * 2**30  # bytes that this process may have
# What simgpu may have of cupy's submodules.
HERE = {"linalg", "fft", "random", "cuda", "lib", "polynomial", "exceptions"}
# CUDA's libraries and the compiler, which tests import to ask whether they're used.
INSIDE = {"compiler", "cub", "cublas", "cufft", "cusolver", "cusparse", "cutensor", "driver", "function", "thrust"}
ALSO_IN_CORE = {"array", "concatenate", "ndarray", "ufunc"}  # names that tests take from cupy._core
# Some of CuPy's inside that has one right value everywhere. cupy.testing makes its arrays with `prod`.
KNOWN = {"prod": math.prod, "_get_warpsize": lambda: 32, "_full_mask": lambda: 0xFFFFFFFF}
# A file of tests from which others take a helper: to read it takes CUDA's compiler.
NOT_READ = {"cupy_tests.core_tests.test_raw"}

# Why a test says nothing about simgpu, and a pattern that's searched in its name (the file, the class, the function).
DOES_NOT_APPLY = {
    "addresses: DLPack, CUDA's array interface, other libraries' memory": "dlpack|DLPack|cuda_array_interface|"
    "CudaArrayInterface|mdspan|numpy_interop|cupy_like|CuPyLike|memptr|byte_bounds|NdarrayDeepCopy|test_ndarray_strides(\\[|$)|ThrustWorkspaceOOM|memory_access|test_gufuncs.py::TestGUFuncOut::test_supports_out|cupy_get_ndarray|strides_is_given|int_with_strides",
    "records, and types that NumPy gets elsewhere": "test_structured|bfloat16|Structured|structured|void|Void",
    "C and CUDA: kernels as text, headers, compilers": "core_tests/test_raw|jit_tests/test_(thrust|cub|cooperative)|"
    "jit_tests/test_raw.py::TestRaw::test_(cached_code|range)|test_include|test_carray|userkernel|test_function.py|"
    "RawKernel|test_elementwise.py::TestElementwise(Invalid|Raises|Type)|fft_tests/test_callback",
    "CuPy's inside: CUB, cuTENSOR, plans, caches, flags": "cub_reduction|[Cc]ub[A-Z_]|[Cc]utensor|test_internal|"
    "fft_tests/test_cache|test_scan|FusionKernelName|FusionCompile|Plan|GpuFft|MultiGpu|accelerator|BatchedGesv|test_core.py::TestGetTypename|test_docstring",
    "values of random numbers": "cupy_random|test_random",
    "classes of one's own, made of cupy.ndarray": "[Ss]ubclass|test_slots|subok",
    "several threads or streams": "multithreading|[Ss]tream",
}


class NotThere(types.ModuleType):
    """A module, or a name in one, that only CuPy's inside has. A test that asks for it doesn't apply."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        if name == "PerformanceWarning":
            return importlib.import_module("simgpu.places").PerformanceWarning
        if name.endswith("Warning"):
            return UserWarning
        if self.__name__.startswith("cupy._core") and name in KNOWN:
            return KNOWN[name]
        if self.__name__ in ("cupy._core", "cupy._core.core") and name in ALSO_IN_CORE:
            return getattr(sys.modules["cupy"], name)
        return NotThere(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if NotThere.is_test_running:
            pytest.skip(f"does not apply: {self.__name__}")
        return args[0] if len(args) == 1 and callable(args[0]) else self  # while a file is read: a decorator, a version

    def __mro_entries__(self, bases: tuple) -> tuple:
        return ()

    def __bool__(self) -> bool:
        return False

    def __lt__(self, other: Any) -> bool:
        return False

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __mod__ = __add__
    __le__ = __gt__ = __ge__ = __contains__ = __lt__
    __enter__ = __exit__ = __getitem__ = __iter__ = __call__
    is_test_running = False


class Finder:
    """Finds what a test imports: cupy's parts in simgpu, cupy.testing in CuPy's source, and nothing of its inside."""

    def __init__(self, source: Path) -> None:
        self.source = source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        first, _, rest = name.partition(".")
        if first not in ("cupy", "cupyx", "cupy_backends") or not rest and first == "cupy":
            return None
        if name.startswith("cupy.testing"):
            found = self.source.joinpath(*name.split("."))
            file = found / "__init__.py" if found.is_dir() else found.with_suffix(".py")
            return spec_from_file_location(
                name, file, submodule_search_locations=[str(found)] if found.is_dir() else None
            )
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return ours(spec.name) or NotThere(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


_known: set[str] = set()  # those of ours that were found


def ours(name: str) -> types.ModuleType | None:
    """simgpu's module for this one of cupy's, if there is one."""
    import simgpu

    first, *rest = name.split(".")
    try:
        if first == "cupy" and rest[0] in HERE:
            found = getattr(simgpu, rest[0])
            for part in rest[1:]:
                found = getattr(found, part)
            return found if isinstance(found, types.ModuleType) else None
        if first == "cupyx":
            found = importlib.import_module(".".join(["simgpu.cupyx", *rest]))
            if rest[:1] == ["scipy"] and found.__name__ not in _known:
                _known.add(found.__name__)
                vars(found).setdefault("_scipy_available", True)  # tests ask for it
                _without_an_inside(found)
            return found
    except (ImportError, AttributeError, NotImplementedError):
        pass
    return None


def _without_an_inside(module: types.ModuleType) -> None:
    """What begins with _ in this module of CuPy's, and isn't ours, is none of its names; nor are CUDA's libraries."""
    known = module.__dict__.get("__getattr__")

    def found(name: str) -> Any:
        if name[:1] == "_" and name[:2] != "__" or name in INSIDE:
            return NotThere(f"{module.__name__}.{name}")
        if known is None:
            raise AttributeError(name)
        return known(name)

    module.__getattr__ = found  # type: ignore[method-assign]


def stand_in(source: Path) -> None:
    """From now on, `cupy` is simgpu."""
    import simgpu

    sys.modules["cupy"] = simgpu
    sys.meta_path.insert(0, Finder(source))  # type: ignore[arg-type]
    sys.modules.update({name: NotThere(name) for name in NOT_READ})
    runtime = importlib.import_module("simgpu.cuda.runtime")  # tests of fuse ask whether a card's blocks can wait
    vars(runtime).update(cudaDevAttrCooperativeLaunch=0, deviceGetAttribute=lambda attribute, device: 1)
    for name in HERE:
        found = ours(f"cupy.{name}") or NotThere(f"cupy.{name}")
        sys.modules[f"cupy.{name}"] = found
        setattr(simgpu, name, found)
        _without_an_inside(found)
        found.__dict__.setdefault("__path__", [])
    for module in (simgpu, importlib.import_module("simgpu.cupyx")):
        _without_an_inside(module)
    simgpu.testing = importlib.import_module("cupy.testing")  # type: ignore[attr-defined]
    # Each test has its seed: `Counted`.
    simgpu.testing.fix_random = lambda: lambda target: target
    simgpu.testing.generate_seed = lambda: SEED


class Counted:
    """A plugin of pytest: draws parametrizations, and notes how each test ends."""

    def __init__(self) -> None:
        self.ends: dict[str, tuple[str, str]] = {}  # passed, failed, skipped or why it doesn't apply; and the last line
        self.on_several: set[str] = set()  # the tests that need several cards

    def pytest_collection_modifyitems(self, items: list) -> None:
        groups = collections.defaultdict(list)
        for item in items:
            groups[unparametrized(item.nodeid)].append(item)
        items[:] = []
        for name, group in groups.items():
            draw = random.Random(f"{SEED} {name.rpartition('/')[2]}")  # whatever other tests there are
            items += draw.sample(group, min(DRAWN, len(group)))
        self.on_several = {item.nodeid for item in items if item.get_closest_marker("multi_gpu")}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        def late(*_: Any) -> None:
            raise TimeoutError(f"it took more than {SECONDS} seconds")

        signal.signal(signal.SIGALRM, late)
        signal.alarm(SECONDS)
        NotThere.is_test_running = True
        random.seed(SEED)
        np.random.seed(SEED)
        yield
        NotThere.is_test_running = False
        signal.alarm(0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        name, text = report.nodeid, str(report.longrepr or "")
        if report.outcome == "passed" and (report.when != "call" or name in self.ends):
            return
        lines = [line for line in text.splitlines() if line.startswith("E  ")]
        last = (lines[-1] if lines else text)[:200].removeprefix("E").strip()
        outcome = "skipped" if hasattr(report, "wasxfail") else report.outcome
        if reason := why_not(name, text):
            outcome = reason
        if self.ends.get(name, ("passed",))[0] == "passed":
            self.ends[name] = outcome, last

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            lines = str(report.longrepr).strip().splitlines()
            self.ends[report.nodeid] = why_not(report.nodeid, "") or "failed", lines[-1]


def unparametrized(name: str) -> str:
    """A test's name without its parameters, whether pytest or CuPy's own decorator put them there."""
    return re.sub(r"_param_\d+_\{.*?\}(?=::|$)|\[.*", "", name, flags=re.DOTALL)


def why_not(name: str, text: str) -> str:
    """Why this test, which ended with this text, doesn't apply. Empty if it does."""
    for reason, pattern in DOES_NOT_APPLY.items():
        if re.search(pattern, name):
            return reason
    return "CuPy's inside: CUB, cuTENSOR, plans, caches, flags" if "does not apply: " in text else ""


def folder_of(name: str) -> str:
    """The folder that a test counts for: ``math_tests``, or ``scipy_tests/linalg_tests``."""
    parts = [part for part in name.split("/") if part.endswith("_tests") and part[:4] != "cupy"]
    if parts[:1] == ["scipy_tests"]:
        return "/".join(parts[:2])
    return next(iter(parts), name)


def table(ends: dict[str, tuple[str, str]]) -> str:
    """What passed and what failed, by folder, as a table of Markdown."""
    rows = ["| folder | passed | failed | of what applies | doesn't apply | skipped |", "|---|---|---|---|---|---|"]
    folders: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for name, (end, _) in ends.items():
        folders[folder_of(name)][end if end in ("passed", "failed", "skipped") else "not"] += 1
    total = sum(folders.values(), collections.Counter())
    for folder, counts in [*sorted(folders.items()), ("**all**", total)]:
        applies = counts["passed"] + counts["failed"]
        share = f"{100 * counts['passed'] / applies:.1f} %" if applies else "–"
        cells = (folder, counts["passed"], counts["failed"], share, counts["not"], counts["skipped"])
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


PAGE = """# CuPy's own tests

`simgpu` has CuPy's names, so CuPy's own tests can say how far it behaves like it. `nox -s cupy_tests -- FOLDER`
runs them from a folder with CuPy's source, with simgpu in place of cupy, and makes this page. Of each test's
parametrizations, at most {drawn} are drawn, with a fixed seed. NumPy computes both sides, so equal values say little;
shapes, types, memory order, views, errors, and values that CuPy's tests know by themselves say more.

{table}

{several}

## What doesn't apply

{reasons}

## What fails

{failed}
"""


def on_several_cards(ends: dict[str, tuple[str, str]], names: Collection[str]) -> str:
    """How those ended that need several cards, as a sentence."""
    found = collections.Counter(ends[name][0] for name in names if name in ends)
    ran = found["passed"] + found["failed"]
    return (
        f"{ran} of these tests need several cards, and ran on {CARDS} simulated ones: {found['passed']} passed. "
        f"{found['skipped']} more were skipped, since they need other cards than these."
    )


def page(ends: dict[str, tuple[str, str]], several: Collection[str] = ()) -> str:
    """The page: the table, why tests don't apply, and which fail. `several` names those that need several cards."""
    reasons = collections.Counter(end for end, _ in ends.values() if end not in ("passed", "failed", "skipped"))
    failed: dict[str, list[str]] = collections.defaultdict(list)
    for name, (end, _) in ends.items():
        if end == "failed":
            file, _, test = unparametrized(name).partition("::")
            failed[re.sub(".*cupyx?_tests/", "", file)].append(test.replace("::", "."))
    lines = []
    for file, tests in sorted(failed.items()):
        counts = collections.Counter(tests)
        named = [f"`{test}`" + f" ({n})" * (n > 1) if test else "can't be read" for test, n in counts.items()]
        lines.append(f"- `{file}`: {', '.join(named)}")
    return PAGE.format(
        drawn=DRAWN, table=table(ends), several=on_several_cards(ends, several), failed="\n".join(lines) or "Nothing.",
        reasons="\n".join(f"- {reason}: {count}" for reason, count in reasons.most_common()),
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, help="a folder with CuPy's source")
    parser.add_argument("parts", nargs="*", help="folders or files of its tests; all folders if there are none")
    parser.add_argument("--page", type=Path, help="write the result to this page")
    parser.add_argument("--list", action="store_true", help="print each test that didn't pass, and why")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.environ.setdefault("CUPY_TEST_GPU_LIMIT", str(CARDS))
    source = given.source.resolve()
    stand_in(source)
    importlib.import_module("simgpu.device").devices(CARDS, CARD)
    tests = source / "tests" / "cupy_tests"
    paths = [str(tests / part) for part in given.parts or (f"{folder}_tests" for folder in FOLDERS)]
    counted = Counted()
    options = ["-q", "-q", "-p", "no:cacheprovider", "-p", "no:nbval", "-m", "not slow", "--tb=short"]
    options += ["-W", "ignore", "-W", "error::numpy.exceptions.ComplexWarning"]  # as CuPy's own settings have it
    options += ["-c", os.devnull, "--rootdir", str(source / "tests"), "--show-capture=no", "--no-summary"]
    options += ["--continue-on-collection-errors"]
    ended = pytest.main([*options, *paths], plugins=[counted])
    print(f"\n{table(counted.ends)}\n\n{on_several_cards(counted.ends, counted.on_several)}")
    if given.list:
        for name, (end, last) in counted.ends.items():
            if end != "passed":
                print(f"{end.partition(':')[0]} | {name.rpartition('cupy_tests/')[2]} | {last}")
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        print("pytest broke off, so these aren't all of them, and the page stays as it was")
        return int(ended)
    if given.page:
        given.page.write_text(page(counted.ends, counted.on_several), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
