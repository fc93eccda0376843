"""Lesson 09, a network that reads your digit: checks."""

from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from ..kit.exercises import brief, exercise
from ..kit.vocabulary import function, is_number, listed, number, refuse, same, wrong_if
from ..kit.watching import unchanged

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
    rows = listed(shapes)
    tuples = [listed(row) for row in rows or []]
    are_shapes = rows is not None and all(row is not None and all(map(is_number, row)) for row in tuples)
    wrong_if(not are_shapes, "shapes is a list with a tuple for each layer", f"{shapes!r:.80}", "[(32, 8, 8, …), …]")
    wrong_if(len(tuples) != 5, "the model has 5 layers, so there are 5 shapes", f"{len(tuples)} shapes")
    for layer, (found, wanted, why) in enumerate(zip(map(tuple, tuples), right, _WHY)):
        same_numbers = sorted(found) == sorted(wanted)
        refuse({} if found == wanted else {f"after layer {layer}: {slip}": made for slip, made in {
            "the observations come first, and there are 32 of them":
                wanted[1:] in (found, found[1:]) or (same_numbers and found[0] != 32),
            "here the channels come last, as in (N, H, W, C)": same_numbers,
            why: True,
        }.items()}, found)  # fmt: skip
    return " → ".join(map(str, right))


class _Images:
    """Numbered images, what models learn from them and are asked about, and how many of the new ones they read."""

    def __init__(self, count: int) -> None:
        self.count, self.labels = count, np.arange(count) % 10
        self.X = np.zeros((count, 8, 8, 1), np.float32)
        self.X[:, 0, 0, 0] = np.arange(count)  # the image's number
        self.learned, self.asked, self.new = set[int](), set[int](), list[int]()  # `new` has those not learned
        self.models = 0

    def numbers(self, X: Any, name: str) -> list[int]:
        """Which images these are."""
        words = f"{name} takes a batch of images, of shape (N, 8, 8, 1)"
        wrong_if(np.shape(X)[1:] != (8, 8, 1), words, brief(X))
        first = fl.cpu(X)[:, 0, 0, 0]
        wrong_if(not np.isin(first, np.arange(self.count)).all(), f"the images that {name} gets aren't those of X")
        return [int(number) for number in first]

    def train(self, X: Any, labels: Any) -> Any:
        """A model that knows by heart what it has seen, and reads those below 25 of the others."""
        numbers, given = self.numbers(X, "train"), np.asarray(labels).tolist()
        words = "train gets labels that aren't those of its images: cut and shuffle both in the same way"
        wrong_if(given != [self.labels[number] for number in numbers], words)
        known = set(numbers)
        self.learned |= known
        self.models += 1

        def model(X: Any) -> Any:
            numbers = self.numbers(X, "model")
            self.asked.update(numbers)
            self.new += [number for number in numbers if number not in known]
            said = [self.labels[number] + (number not in known and not self.is_read(number)) for number in numbers]
            return fl.onehotbatch([int(digit) % 10 for digit in said], range(10)).astype(np.float32)

        return model

    def is_read(self, number: int) -> bool:
        return number < 25

    @property
    def share(self) -> float:
        """How many of the new images were read."""
        return sum(map(self.is_read, self.new)) / len(self.new)


@exercise("09.2", "an honest accuracy", look_at="which rows does train get, which ones does the model get?")
def accuracy_of(accuracy_of):
    function(accuracy_of, "accuracy_of")
    said = [_honest(accuracy_of, _Images(count), np.random.default_rng(15)) for count in (50, 70)]
    return said[0]


def _honest(accuracy_of, images, rng):
    X, labels = images.X.copy(), images.labels.copy()
    with unchanged("accuracy_of", X=X, labels=labels):
        found = accuracy_of(images.train, X, labels, rng)
    found = number(found, "what accuracy_of returns")
    new, learned, asked = set(images.new), images.learned, images.asked
    is_right = bool(new) and abs(found - images.share) < 1e-6
    counts = f"{len(learned)} learned, {len(asked)} asked, {len(learned & asked)} in both"
    refuse({
        "train was never called: the model learns from a part of X": not learned,
        "the model was never asked: model(X) gives the scores of images": not asked,
        "it's asked about what it has learned. Learning by heart gives 1.00":
            not new or (len(new) < len(asked) and not is_right),
    }, counts, "0 in both")  # fmt: skip
    if not is_right:
        share = images.share
        refuse({
            "an accuracy is a share, from 0 to 1, and that's in percent": same(found, 100 * share),
            "that's how many are right; divide it by how many were asked": same(found, share * len(images.new)),
            "that's the share of the wrong answers": same(found, 1 - share),
            "that's the share, but rounded: return it as it is": abs(found - share) < 0.006,
            f"{images.models} models were trained, and what you return is more than they read on average. Picking the "
            "best by its test is a way to fool yourself, too": images.models > 1 and share < found <= 1,
            "the model was asked about the right images, but the share is wrong: are these their labels?": True,
        }, f"{found:.4g}", f"{share:.4g}")  # fmt: skip
    # In folds, each image is new to some model.
    in_order = new in ({*range(len(new))}, {*range(images.count - len(new), images.count)}) and len(new) < images.count
    refuse({
        f"it's asked about {many(len(new), 'new image')}, and that's too few to tell: keep a fifth of them":
            len(new) < images.count // 10,
        "most images are kept for asking, and few are left to learn from": len(learned) < images.count // 4,
        "the images are cut in their order, and those at one end may all be of one kind: shuffle them before":
            in_order,
    }, counts, f"{4 * images.count // 5} learned, {images.count // 5} others asked")  # fmt: skip
    told = f"learned from {len(learned)} images, asked about {len(new)} others: {images.share:.2f}"
    if learned & new:
        told = f"asked about {len(new)} images, each of them new to the model that's asked: {images.share:.2f}"
    return told + (", not 1.00" if images.share < 1 else "")


# One is sure, one could be anything, one is a 4 or a 5, one has a low score, but a share of 0.69. The last has 0.57,
# which is less than 0.6, unless it is rounded.
_SCORES = np.zeros((5, 10), np.float32)
_SCORES[0, 7], _SCORES[1, 0], _SCORES[2, 4:6], _SCORES[3, 9], _SCORES[4, 2] = 12, 0.4, (12, 11.9), 3, 2.48
# Its share is exactly 1, and one image alone is a batch, too.
_CERTAIN = np.zeros((1, 10), np.float32)
_CERTAIN[0, 3] = 60
_NONE = "none of these"


@exercise("09.3", "none of these", look_at="fl.softmax(scores): shares of 1, a row for each image")
def answers(answers):
    function(answers, "answers")
    cases = ((_SCORES, 0.6), (_SCORES, 0.9), (_CERTAIN, 1.0))
    lists = [_found(answers, scores.copy(), least) for scores, least in cases]
    # All lists, since one answer alone may be wrong for another reason.
    by_score = [[_answer(row, least) for row in scores] for scores, least in cases]
    compares_scores = repr(lists) == repr(by_score)
    for found, (given_scores, least) in zip(lists, cases):
        for one, scores, row in zip(found, given_scores, fl.softmax(given_scores)):
            _check_answer(one, scores, row, least, compares_scores)
    return "2 answers with 0.6, and 1 with 0.9; the others are none of these"


def _found(answers, scores, least):
    """A learner's answers, in a list. Raises `NotRight` unless there's one for each image."""
    with unchanged("answers", scores=scores):
        given = answers(scores, least)
        found = listed(fl.cpu(given) if hasattr(given, "dtype") else given)
    one_each = found is not None and len(found) == len(scores)
    wrong_if(not one_each, "answers returns a list, with an answer for each image", brief(given))
    return [fl.cpu(one).item() if getattr(one, "shape", None) == () else one for one in found]


def _answer(numbers, least):
    return int(np.argmax(numbers)) if np.max(numbers) >= least else _NONE


def _check_answer(one, scores, shares, least, compares_scores):
    wanted = _answer(shares, least)
    is_digit = is_number(one) and one in range(10)
    is_none = isinstance(one, str) and one == _NONE
    if (is_digit or is_none) and one == wanted:
        return
    case = f"the largest score is {scores.max():g}, its share {shares.max():.2f}, and least is {least:g}"
    refuse({
        "an answer is a digit, or, if no share is large enough, these three words": not is_digit and not is_none,
        "that's another digit: the one with the largest score": is_digit and wanted != _NONE,
        f"{case}: at least means that as much as least is enough": shares.max() == least,
        f"{case}: compare the share with least, not the score": compares_scores,
        f"{case}: {'too little' if wanted == _NONE else 'enough'} for an answer": True,
    }, repr(one), repr(wanted))  # fmt: skip
