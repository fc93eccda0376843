"""Every rule of derivatives, called in all the ways of its row: its value, its slope, the slope of that, its types."""

from unittest import mock

import numpy as np
import pytest
from gradcheck import check_call
from hypothesis import given
from hypothesis import strategies as st
from inside import convolve, convolve_back, convolve_kernel, windows
from operands import few_examples
from tables import ROWS, ids

CONVOLUTIONS = convolve, convolve_back, convolve_kernel


@pytest.mark.parametrize("table, function, calls_of", ROWS, ids=ids(ROWS))
@few_examples
@given(st.data())
def test_rule(table, function, calls_of, data):
    check_call(data.draw(calls_of(function)), tolerance=1e-5 if table in ("rarer", "windows") else 1e-6)


@pytest.mark.parametrize("function, calls_of", [row[1:] for row in ROWS if row[1] in CONVOLUTIONS])
@few_examples
@given(st.data())
def test_windows_copied_out_by_pieces_give_the_same(function, calls_of, data):
    """The pieces are as large as a processor's cache, so no other test's arrays need several."""
    call = data.draw(calls_of(function))
    expected = call(*call.operands)
    with mock.patch.object(windows, "_AT_ONCE", data.draw(st.integers(1, 400))):
        np.testing.assert_allclose(call(*call.operands), expected, atol=1e-12)
