"""Lesson 13's network, its files, and a picture of one: what's where in it, and what a single bit does."""

import json
import tempfile
from pathlib import Path

import numpy as np

from fluxlite import Adam, Chain, DataLoader, Dense, gpu, logitcrossentropy, onecold, onehotbatch, relu, setup, train

from .. import digits
from ..scenes import Each, Knob, Part, Scene, drawing, label

_images, _labels = digits()
_X = _images.astype(np.float32) / 8 - 1
ten = _X[10:20]  # pictures of 0, 1, …, 9
_folder = tempfile.TemporaryDirectory()  # deleted when Python ends
# A pickle. It says: call `print` with these words.
strangers_file = b"cbuiltins\nprint\n(VI'm running! I could be deleting your files now.\ntR."
BITS = ["sign", *(f"exponent {n}" for n in range(1, 9)), *(f"fraction {n}" for n in range(1, 24))]


def here(name):
    """A path for a file of this lesson, in a folder of its own."""
    return Path(_folder.name, name)


path = here("digits.safetensors")


def network(hidden=32, seed=0):
    """64 inputs, ten outputs, and `hidden` units between them."""
    rng = np.random.default_rng(seed)
    return Chain(Dense(64, hidden, relu, rng=rng), Dense(hidden, 10, rng=rng))


def new_run(seed):
    """What a training needs: a model on the GPU, Adam's memory of it, and a loader that shuffles."""
    model = gpu(network(seed=seed))
    data = DataLoader((_X, onehotbatch(_labels, range(10))), batchsize=64, shuffle=True, rng=seed)
    return {"model": model, "opt_state": setup(Adam(0.003), model), "loader": gpu(data)}


def go_on(run, epochs):
    """Train for so many more epochs, and return the run."""
    model, opt_state, loader = run.values()
    train(lambda m, x, y: logitcrossentropy(m(x), y), model, loader, opt_state, epochs, progress=False)
    return run


def flip(path, model, pictures):
    """The file of a model of `Dense` layers, and what the model reads if one bit of an array's last number flips."""
    data = Path(path).read_bytes()
    text = 8 + int.from_bytes(data[:8], "little")  # the first 8 bytes say how long the text is
    about = {name: each for name, each in json.loads(data[8:text]).items() if name != "__metadata__"}
    names = [name.removeprefix("model.") for name in about]
    flipped = [_flip_bit(model, name, bit, pictures) for name in names for bit in range(32)]
    rows = [("names, checksums", -text, 0)]
    rows += [(f"{name} {each['shape']}", *each["data_offsets"]) for name, each in zip(names, about.values())]
    parts = []
    for y, (words, start, end) in zip(range(0, 200, 26), rows):
        x, wide = 4 + (text + start) / len(data) * 200, max(1.5, (end - start) / len(data) * 200)
        parts.append(Part("rect", class_="rest" if end == 0 else "host", x=x, y=y, width=wide, height=20))
        parts += [label(220, y + 16, words), label(632, y + 16, f"{end - start:,} bytes", "end")]
    parts.append(label(4, 174, Each(f"{old:.4g}, with this bit flipped: {new:.4g}" for old, new, *_ in flipped)))
    for bit in range(32):
        x, look = 4 + 19.7 * bit, "host" if 0 < bit < 9 else "rest"
        looks = Each("gpu" if state % 32 == bit else look for state in range(len(flipped)))
        parts.append(Part("rect", class_=looks, x=x, y=186, width=17, height=26, data_pick=f"1:{bit}"))
        parts.append(label(x + 8.5, 204, Each(bits[bit] for *_, bits, _ in flipped), "middle inside"))
    parts.append(label(4, 248, "without checks, it reads"))
    for digit in range(10):
        looks = Each("middle" if read[digit] == digit else "middle bold" for *_, read in flipped)
        parts.append(label(270 + 26 * digit, 248, Each(read[digit] for *_, read in flipped), looks))
    parts.append(label(4, 276, "load: refused, the file is damaged", "bold"))
    said = [f"{old:.4g} becomes {new:.4g}. A reader that doesn't check reads {read}." for old, new, _, read in flipped]
    picture = drawing(640, 286, "A file, its parts, and the bits of one number", *parts)
    return Scene(picture, [Knob("last number of", names), Knob("bit", BITS, slider=True)], said, [len(names) - 1, 9])


def _flip_bit(model, name, bit, pictures):
    """The number before and after, its bits after, and what the model reads with it."""
    number = getattr(model[int(name[7])], name.split(".")[1]).reshape(-1)[-1:]  # in the array itself
    old = number.copy()
    number.view(np.uint32)[0] ^= np.uint32(1 << 31 - bit)
    new, bits = float(number[0]), f"{number.view(np.uint32)[0]:032b}"
    with np.errstate(all="ignore"):
        read = onecold(model(pictures)).tolist()
    number[...] = old
    return float(old[0]), new, bits, read
