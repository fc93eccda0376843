"""What `nox -s mutations` is told: are the files and tests that it names there?"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_file_and_each_test_in_the_settings_is_there():
    settings = ROOT / "tests" / "project" / "mutations" / "settings.toml"
    tests = tomllib.loads(settings.read_text(encoding="utf-8"))["tests"]
    for name in {*tests, *[test for each in tests.values() for test in each]}:
        path, _, function = name.partition("[")[0].partition("::")
        assert (ROOT / path).exists(), name
        if function:
            assert re.search(rf"^def {function}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name
