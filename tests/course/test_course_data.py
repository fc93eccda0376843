"""The handwritten digits: they're there, and their source is named."""

import zipfile
from pathlib import Path

import numpy as np

import fluxlite_course

FILE = Path(fluxlite_course.__file__).with_name("digits.npz")


def test_the_digits():
    found = fluxlite_course.digits()
    assert found.images.shape == (1797, 64) and found.labels.shape == (1797,)
    assert found.images.dtype == found.labels.dtype == np.uint8
    assert (found.images.min(), found.images.max()) == (0, 16)
    assert np.bincount(found.labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    found.images[:] = 0
    assert fluxlite_course.digits().images.any(), "new arrays at each call"
    assert "CC BY 4.0" in fluxlite_course.digits.__doc__


def test_the_file_says_where_it_comes_from_and_what_is_allowed():
    with np.load(FILE) as stored:
        assert "E. Alpaydin and C. Kaynak" in str(stored["source"]) and "10.24432/C50P49" in str(stored["source"])
        assert "CC BY 4.0" in str(stored["licence"])
    with zipfile.ZipFile(FILE) as file:
        assert {entry.date_time[0] for entry in file.infolist()} == {1980}, "the same bytes whenever it is made"
    assert FILE.stat().st_size < 50_000
