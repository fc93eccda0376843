"""The runner of CuPy's own tests: what counts, and what its page says."""

import pytest

from tools import cupy_tests

ENDS = {
    "cupy_tests/math_tests/test_sumprod.py::TestSum::test_sum[a]": ("passed", ""),
    "cupy_tests/math_tests/test_sumprod.py::TestSum::test_sum[b]": ("failed", "ValueError: no"),
    "cupy_tests/math_tests/test_sumprod.py::TestSum_param_0_{axis=1}::test_sum": ("failed", "ValueError: no"),
    "cupy_tests/core_tests/test_dlpack.py::test_it": ("fuse", ""),
    "cupy_tests/core_tests/test_flags.py::test_it": ("skipped", ""),
}


def test_the_table_counts_by_folder():
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in cupy_tests.table(ENDS).splitlines()[2:]]
    assert rows == [
        ["core_tests", "0", "0", "–", "1", "1"],
        ["math_tests", "1", "2", "33.3 %", "0", "0"],
        ["**all**", "1", "2", "33.3 %", "1", "1"],
    ]


def test_the_page_names_what_failed():
    page = cupy_tests.page(ENDS)
    assert "- `math_tests/test_sumprod.py`: `TestSum.test_sum` (2)" in page and "- fuse: 1" in page


def test_the_page_says_how_many_ran_on_several_cards():
    said = cupy_tests.on_several_cards(ENDS, [*ENDS, "not drawn"])
    assert said.startswith("3 of these tests need several cards, and ran on 4 simulated ones: 1 passed. 1 more")
    assert said in cupy_tests.page(ENDS, list(ENDS))


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("core_tests/test_dlpack.py::test_it", "", "addresses"),
        ("core_tests/test_core.py::test_it", "Skipped: does not apply: cupy._core._kernel", "CuPy's inside"),
        ("math_tests/test_sumprod.py::TestSum::test_sum", "ValueError: no", ""),
    ],
)
def test_what_does_not_apply(name, text, reason):
    assert cupy_tests.why_not(name, text).partition(":")[0] == reason
