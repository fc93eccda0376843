"""Lesson 09, a network that reads your digit: checks."""

import numpy as np

import fluxlite as fl

from ..kit.exercises import brief, exercise
from ..kit.vocabulary import is_number, refuse, wrong_if

_WHY = (
    "pad=1 keeps all 8 × 8 places, and each of the 4 filters makes a channel",
    "a 2 × 2 window goes on by 2, and pooling leaves the 4 channels alone",
    "without a pad, a 3 × 3 window has 2 places along 4 points; 6 filters make 6 channels",
    "flatten turns each image into a row: 2 × 2 places of 6 channels",
    "Dense(24, 10) makes 10 numbers from each row of 24",
)


@exercise("09.1", "the shape after each layer", look_at="section 3; fl.outputsize(small[:1], (32, 8, 8, 1))")
def shapes(shapes):
    right = [(32, 8, 8, 4), (32, 4, 4, 4), (32, 2, 2, 6), (32, 24), (32, 10)]
    tuples = isinstance(shapes, (list, tuple)) and all(isinstance(shape, (list, tuple)) for shape in shapes)
    wrong_if(not tuples, "shapes is a list with a tuple for each layer", f"{shapes!r:.80}", "[(32, 8, 8, …), …]")
    wrong_if(len(shapes) != 5, "the model has 5 layers, so there are 5 shapes", f"{len(shapes)} shapes")
    for number, (found, wanted, why) in enumerate(zip(map(tuple, shapes), right, _WHY)):
        refuse({} if found == wanted else {f"after layer {number}: {slip}": made for slip, made in {
            "the observations come first, and there are 32 of them": found == wanted[1:],
            "here the channels come last, as in (N, H, W, C)": sorted(found) == sorted(wanted),
            why: True,
        }.items()}, found)  # fmt: skip
    return " → ".join(map(str, right))


@exercise("09.2", "an honest accuracy", look_at="which rows does train get, which ones does the model get?")
def accuracy_of(accuracy_of):
    X, labels = np.zeros((50, 8, 8, 1), np.float32), np.arange(50) % 10
    X[:, 0, 0, 0] = np.arange(50)  # the image's number
    known, asked = dict[int, int](), list[int]()

    def model(X):
        """Knows by heart what it has seen, and reads those below 25 of the others."""
        numbers = [int(x[0, 0, 0]) for x in X]
        asked.extend(numbers)
        said = [known.get(number, (number + (number >= 25)) % 10) for number in numbers]
        return fl.onehotbatch(said, range(10)).astype(np.float32)

    def train(X, labels):
        known.update((int(x[0, 0, 0]), int(label)) for x, label in zip(X, labels))
        return model

    found = accuracy_of(train, X, labels, np.random.default_rng(15))
    both = known.keys() & set(asked)
    seen = f"{len(known)} learned, {len(set(asked))} asked, {len(both)} in both"
    wrong_if(both, "it's asked about what it has learned. Learning by heart gives 1.00", seen, "0 in both")
    right = sum(number < 25 for number in asked) / max(1, len(asked))
    words = "the model was asked about the right images, but the share is wrong: are these their labels?"
    wrong_if(abs(float(found) - right) > 1e-6, words, f"{float(found):.2f}", f"{right:.2f}")
    return f"learned from {len(known)} images, asked about {len(asked)} others: {right:.2f}, not 1.00"


# One is sure, one could be anything, one is a 4 or a 5, and one has a low score, but a share of 0.69.
_SCORES = np.zeros((4, 10), np.float32)
_SCORES[0, 7], _SCORES[1, 0], _SCORES[2, 4:6], _SCORES[3, 9] = 12, 0.4, (12, 11.9), 3
_NONE = "none of these"


@exercise("09.3", "none of these", look_at="fl.softmax(scores): shares of 1, a row for each image")
def answers(answers):
    shares = fl.softmax(_SCORES)
    for least in (0.6, 0.9):
        given = answers(_SCORES.copy(), least)
        found = given.tolist() if isinstance(given, np.ndarray) else given
        one_each = isinstance(found, (list, tuple)) and len(found) == len(shares)
        wrong_if(not one_each, "answers returns a list, with an answer for each image", brief(given))
        for one, scores, row in zip(found, _SCORES, shares):
            wanted = int(np.argmax(row)) if np.max(row) >= least else _NONE
            case = f"the largest score is {scores.max():g}, its share {row.max():.2f}, and least is {least:g}"
            refuse({} if one == wanted else {
                "an answer is a digit, or, if no share is large enough, these three words":
                    one != _NONE and not (is_number(one) and 0 <= one <= 9),
                "that's another digit: the one with the largest score": one != _NONE and wanted != _NONE,
                f"{case}: compare the share with least, not the score": (scores.max() >= least) != (row.max() >= least),
                f"{case}: {'too little' if wanted == _NONE else 'enough'} for an answer": True,
            }, repr(one), repr(wanted))  # fmt: skip
    return "2 answers with 0.6, and 1 with 0.9; the others are none of these"
