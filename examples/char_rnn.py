"""A network that writes, letter by letter, after it has read this project's README.

An LSTM reads a piece of text and guesses at each letter which one comes next. After the Flux model zoo's char-rnn.
"""

import sys
from pathlib import Path

import numpy as np

import fluxlite as fl

epochs = int(sys.argv[1]) if sys.argv[1:] else 20
LENGTH, HIDDEN = 50, 128
fl.seed(1)

text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
letters = sorted(set(text))
number = {letter: i for i, letter in enumerate(letters)}
numbers = np.array([number[letter] for letter in text])

# Pieces of 50 letters, each with the same piece one letter later: what to guess. Both have shape (N, T).
count = (len(numbers) - 1) // LENGTH
x = numbers[: count * LENGTH].reshape(count, LENGTH)
y = numbers[1 : count * LENGTH + 1].reshape(count, LENGTH)
loader = fl.DataLoader(fl.gpu((x, y)), batchsize=32, shuffle=True)

model = fl.gpu(
    fl.Chain(
        fl.Embedding(len(letters), 32),
        fl.LSTM(32, HIDDEN),
        fl.Dense(HIDDEN, len(letters)),
    )
)
print(model)
state = fl.setup(fl.OptimiserChain(fl.ClipNorm(1.0), fl.Adam(0.01)), model)
history = fl.train(
    lambda model, x, y: fl.logitcrossentropy(model(x), y), model, loader, state, epochs=epochs, progress=False
)
first, *_, last = history.epoch_losses
print(f"loss {first:.2f} -> {last:.2f}, on {fl.device_of(model)}; blind guesses have {np.log(len(letters)):.2f}")


def write(model, start, length):
    """Goes on from `start`: draws a letter from the probabilities, reads it, draws the next one."""
    embedding, lstm, scores = model
    steps = fl.Recurrence(lstm.cell, return_state=True)
    written, memory, rng = start, None, np.random.default_rng(1)
    read = [number[letter] for letter in start]
    for _ in range(length):
        outputs, memory = steps(embedding(read), memory)
        probability = fl.softmax(scores(outputs[-1]))
        read = [rng.choice(len(letters), p=probability)]
        written += letters[read[0]]
    return written


print(write(fl.cpu(model), "The ", 200))
