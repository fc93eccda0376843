"""What the examples in docstrings may use without importing it."""

import numpy as np
import pytest

import fluxlite


@pytest.fixture(autouse=True)
def examples_know_numpy(doctest_namespace):
    doctest_namespace["np"] = np
    doctest_namespace["fl"] = fluxlite
