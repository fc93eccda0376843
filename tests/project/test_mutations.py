"""What `nox -s mutations` is told: are the files and tests that it names there, and which files does a name mean?"""

import re
import tomllib
from pathlib import Path

from tools.mutations import is_in

ROOT = Path(__file__).resolve().parents[2]


def test_each_file_and_each_test_in_the_settings_is_there():
    settings = ROOT / "tests" / "project" / "mutations" / "settings.toml"
    tests = tomllib.loads(settings.read_text(encoding="utf-8"))["tests"]
    for name in {*tests, *[test for each in tests.values() for test in each]}:
        path, _, function = name.partition("[")[0].partition("::")
        assert (ROOT / path).exists(), name
        if function:
            assert re.search(rf"^def {function}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name


def test_a_folders_name_means_what_is_in_it():
    """And not what else begins with the same letters."""
    for name in ("simgpu/jit/c", "simgpu/jit/c/", "simgpu/jit/c/calls.py"):
        assert is_in(Path("simgpu/jit/c/calls.py"), ["fluxlite/tree", name])
        assert not is_in(Path("simgpu/jit/compiled.py"), ["fluxlite/tree", name])
