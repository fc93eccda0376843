"""Lesson 09, a network that reads your digit: checks."""

import numpy as np

import fluxlite as fl

from ..kit.exercises import exercise, shown
from ..kit.vocabulary import described, is_number, on_cpu, refuse, same, wrong_if

# What's wrong with a shape, behind the number of its layer.
# Layer by layer: what's wrong with a shape, if it isn't the last axis, and if it is.
_WHY = (
    ("pad=1 puts a point of paper around each picture, so that its size stays",
     "one channel comes in; the layer has 4 filters, and each makes a channel"),
    ("the windows don't overlap: a 2 × 2 window goes on by 2",
     "pooling looks at each channel by itself, so all 4 stay"),
    ("there's no pad here: a 3 × 3 window has only 2 places along 4 points",
     "a filter sums over the channels that come in, so 6 filters make 6 channels"),
    ("flatten leaves the observations apart: only a picture's own numbers become one row",
     "flatten keeps all numbers of a picture: 2 × 2 places of 6 channels"),
    ("the 32 observations stay, each has its row", "Dense(24, 10) takes 24 numbers and gives 10"),
)  # fmt: skip


@exercise("09.1", "the shape after each layer", look_at="section 2; fl.outputsize(small[:1], (32, 8, 8, 1))")
def shapes(shapes):
    model = fl.Chain(fl.Conv((3, 3), 1, 4, fl.relu, pad=1), fl.MaxPool((2, 2)), fl.Conv((3, 3), 4, 6, fl.relu),
                     fl.flatten, fl.Dense(24, 10))  # fmt: skip
    right = [fl.outputsize(model[: i + 1], (32, 8, 8, 1)) for i in range(len(model))]
    tuples = isinstance(shapes, (list, tuple)) and all(isinstance(shape, (list, tuple)) for shape in shapes)
    wrong_if(not tuples, "shapes is a list with a tuple for each layer", f"{shapes!r:.80}", "[(32, 8, 8, …), …]")
    wrong_if(len(shapes) != 5, "the model has 5 layers, so there are 5 shapes", f"{len(shapes)} shapes")
    for number, (found, wanted, (others, last)) in enumerate(zip(map(tuple, shapes), right, _WHY)):
        refuse({} if found == wanted else {f"after layer {number}: {why}": made for why, made in {
            "the observations come first, and there are 32 of them": found == wanted[1:],
            "here the channels come last, as in (N, H, W, C)": sorted(found) == sorted(wanted),
            others: len(found) < len(wanted) or found[-1] == wanted[-1],
            f"{len(wanted)} axes, {'(N, H, W, C)' if len(wanted) == 4 else '(N, features)'}": len(found) > len(wanted),
            last: True,
        }.items()}, found)  # fmt: skip
    return " → ".join(map(str, right))


@exercise("09.2", "channels first", look_at="np.moveaxis(x, from, to) moves an axis; np.reshape doesn't")
def read_theirs(read_theirs):
    x = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    seen: list = []
    scores = fl.gpu(np.array([[1, 2], [3, 4]], np.float32))

    def model(pictures):
        seen.append(pictures)
        return scores

    found = read_theirs(model, fl.gpu(x))
    wrong_if(not seen, "the model wasn't called", None, "model(…) of the pictures, in the other order")
    wrong_if(found is not scores, "read_theirs returns what the model returns", shown(found), "the model's scores")
    got, wanted = seen[-1], np.moveaxis(x, 1, -1)
    shape, size = getattr(got, "shape", None), getattr(got, "size", 0)
    refuse({
        "the model takes an array": shape is None,
        "the pictures were on the GPU, and now they're on the CPU": on_cpu(got),
        "the channels are still in front": shape == x.shape,
        "all axes are turned round: the observations come last now": shape == x.shape[::-1],
        "height and width are swapped: the pictures lie on their sides": shape == (2, 5, 4, 3),
        f"{size} of {x.size} numbers are left: all channels of all pictures go to the model": size < x.size,
        "that's another order": shape != wanted.shape,
    }, described(got), f"shape {wanted.shape}, for x of shape {x.shape}")  # fmt: skip
    yours, right = (f"first point: {fl.cpu(pictures)[0, 0, 0].tolist()}" for pictures in (got, wanted))
    wrong_if(not same(got, wanted), "the shape is right, and the pictures are scrambled: reshape leaves the numbers in "
             "their order and cuts them into other rows", yours, f"{right}, one number of each channel")  # fmt: skip
    return "2 pictures of 3 channels, 4 × 5 points: (2, 3, 4, 5) becomes (2, 4, 5, 3), and each point keeps its place"


class _Heart:
    """Knows by heart what it has seen, reads those below 25 of the others, and remembers what it was asked."""

    def __init__(self) -> None:
        self.known: dict[int, int] = {}
        self.asked: list[int] = []

    def train(self, X, labels):
        sizes = f"{len(X)} pictures, {len(labels)} labels"
        wrong_if(len(X) != len(labels), "train gets a label for each picture", sizes)
        numbers = [int(x[0, 0, 0]) for x in X]
        others = any(int(label) != number % 10 for number, label in zip(numbers, labels))
        wrong_if(others, "train gets labels of other pictures: the same rows of X and of labels")
        self.known.update(zip(numbers, map(int, labels)))
        return self.model

    def model(self, X):
        numbers = [int(x[0, 0, 0]) for x in X]
        self.asked += numbers
        said = [self.known.get(number, (number + (number >= 25)) % 10) for number in numbers]
        return fl.onehotbatch(said, range(10)).astype(np.float32)


@exercise("09.3", "an honest accuracy", look_at="which rows does train get, which ones does the model get?")
def accuracy_of(accuracy_of):
    X = np.zeros((50, 8, 8, 1), np.float32)
    X[:, 0, 0, 0] = np.arange(50)  # the picture's number
    labels = np.arange(50) % 10
    heart = _Heart()
    found = accuracy_of(heart.train, X, labels, np.random.default_rng(15))
    known, asked = set(heart.known), set(heart.asked)
    both = known & asked
    refuse({
        "nothing was learned: train(X, labels) with a part of the data gives the model": not known,
        "the model wasn't asked anything: model(X) with the other part gives its scores": not asked,
        "it's asked about exactly what it learned from. By heart is enough for 1.00": asked == known,
        "it has learned from all that it's asked about: keep a part away from train": both == asked,
        "some of what it's asked about, it has learned from": both,
        "it learns from the small part and is tested on the large one: the other way round": len(known) < len(asked),
        "they aren't shuffled, by rng.permutation(…): data may be sorted, by writer for example":
            max(asked, default=0) - min(asked, default=0) < len(asked),
    }, f"{len(known)} learned, {len(asked)} asked, {len(both)} in both", "0 in both")  # fmt: skip
    wrong_if(not is_number(found), "accuracy_of returns a number, the share of right ones", shown(found))
    right = np.mean([number < 25 for number in heart.asked])
    words = "the model was asked about the right pictures, but the share is another one: are these their labels?"
    wrong_if(abs(float(found) - right) > 1e-6, words, f"{float(found):.2f}", f"{right:.2f}")
    return f"learned from {len(known)} pictures, asked about {len(asked)} others: {right:.2f}, not 1.00"


def _row(first: float, second: float, rest: float, digit: int) -> list[float]:
    scores = [rest] * 10
    scores[digit], scores[(digit + 1) % 10] = first, second
    return scores


# The largest score, the second, the others, and whose the largest is: sure, anything, 4 or 5, sure though all scores
# are negative, about 0.69.
_ROWS = [_row(*row) for row in ((12, 3, 0, 7), (0.4, 0.3, 0.2, 0), (12, 11.9, 0, 4), (-5, -14, -20, 2), (3, 0, 0, 9))]
_EXACT = [_row(60.0, 0.0, 0.0, 5), _row(0.4, 0.3, 0.2, 0)]  # the first share is 1, not a bit less
_NONE = "none of these"


@exercise("09.4", "none of these", look_at="fl.softmax(scores): shares of 1, a row for each picture")
def answers(answers):
    for least, scores in ((0.6, _ROWS), (0.9, _ROWS), (1.0, _EXACT)):
        rows = np.array(scores, np.float32)
        shares = np.asarray(fl.softmax(rows))
        right = [int(np.argmax(row)) if np.max(row) >= least else _NONE for row in shares]
        given = answers(rows.copy(), least)
        found = given.tolist() if isinstance(given, np.ndarray) else given
        one_each = isinstance(found, (list, tuple)) and len(found) == len(right)
        wrong_if(not one_each, "answers returns a list, with an answer for each picture", shown(given))
        for number, (one, wanted) in enumerate(zip(found, right)):
            if one != wanted or isinstance(one, bool):
                _wrong(one, wanted, shares[number].max(), rows[number].max(), least)
    return "sure of 3 pictures with 0.6, of 2 with 0.9; of the others it says that they're none of these"


def _wrong(one, wanted, share, score, least):
    case = f"the largest score is {score:g}, its share {share:.2f}, and least is {least:g}"
    is_digit = isinstance(one, (int, np.integer)) and not isinstance(one, bool) and 0 <= one <= 9
    refuse({
        "a digit is a number, 7 and not '7'": isinstance(one, str) and one.isdigit(),
        "an answer is a digit, or, if no share is large enough, these three words": not is_digit and one != _NONE,
        "that's another digit: the one with the largest score": is_digit and isinstance(wanted, int),
        f"{case}: compare the share with least, not the score": (score >= least) != (share >= least),
        f"{case}: enough for an answer, since at least {least:g} may be {least:g} itself":
            one == _NONE and share == least,
        f"{case}: {'too little' if wanted == _NONE else 'enough'} for an answer": True,
    }, repr(one), repr(wanted))  # fmt: skip
