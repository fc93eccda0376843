"""Every rule of derivatives, called in all the ways of its row: its value, its slope, the slope of that, its types."""

import pytest
from gradcheck import check_call
from hypothesis import given
from hypothesis import strategies as st
from operands import few_examples
from tables import ROWS, ids


@pytest.mark.parametrize("table, function, calls_of", ROWS, ids=ids(ROWS))
@few_examples
@given(st.data())
def test_rule(table, function, calls_of, data):
    check_call(data.draw(calls_of(function)), tolerance=1e-5 if table in ("rarer", "windows") else 1e-6)
