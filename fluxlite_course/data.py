"""What the lessons learn from: handwritten digits, and a story. They come with fluxlite, so there's no download."""

from importlib.resources import files
from typing import NamedTuple

import numpy as np


class Digits(NamedTuple):
    """`images`, uint8 of shape ``(1797, 64)``, and `labels`, uint8 of shape ``(1797,)``."""

    images: np.ndarray
    labels: np.ndarray


def digits() -> Digits:
    """1,797 digits written by 13 people: 8 x 8 images and their labels. Each call returns new arrays.

    A pixel is the number of black dots among the 4 x 4 that it stands for, from 0 (paper) to 16 (all ink). Shuffle
    before you split: in file order, the last part is harder.

    Source: Optical Recognition of Handwritten Digits, the test part, by E. Alpaydin and C. Kaynak (1998), UCI Machine
    Learning Repository, https://doi.org/10.24432/C50P49, as shipped with scikit-learn. Licence: CC BY 4.0,
    https://creativecommons.org/licenses/by/4.0/. Changed: stored as uint8.

    >>> images, labels = digits()
    >>> images.shape, images.dtype, int(images.max()), labels[:5]
    ((1797, 64), dtype('uint8'), 16, array([0, 1, 2, 3, 4], dtype=uint8))
    """
    with (files(__package__) / "digits.npz").open("rb") as file, np.load(file) as stored:
        return Digits(stored["images"], stored["labels"])


def island() -> str:
    """A story of 10,000 letters for lesson 10, about an island, a ferry and a dog.

    Plain text, one line for each paragraph. It was written for fluxlite, and has the library's licence.

    >>> story = island()
    >>> story[:20], len(story.splitlines())
    ('The island is small.', 24)
    """
    return (files(__package__) / "island.txt").read_text(encoding="utf-8")
