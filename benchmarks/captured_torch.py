"""The networks of `captured.py` in PyTorch, eager and compiled."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np

from .harness import Run, going_on


def network(name: str) -> Any:
    """The network with this name, with weights of its own."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(64)
            self.dense = nn.Sequential(nn.Linear(64, 256), nn.GELU(approximate="tanh"), nn.Linear(256, 64))

        def forward(self, x: Any) -> Any:
            x = self.norm(x)
            return x + self.dense(x)

    class Sequence(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(64, 128, batch_first=True)
            self.dense = nn.Linear(128, 8)
            with torch.no_grad():
                self.lstm.bias_hh_l0.zero_().requires_grad_(False)  # one of two biases that are added up

        def forward(self, x: Any) -> Any:
            return self.dense(self.lstm(x)[0])

    def makemore() -> Any:
        hidden = nn.Linear(30, 200, bias=False), nn.BatchNorm1d(200), nn.Tanh()
        return nn.Sequential(nn.Embedding(27, 10), nn.Flatten(), *hidden, nn.Linear(200, 27))

    def dense(*widths: int) -> list:
        found: list = []
        for inputs, outputs in zip(widths, widths[1:]):
            found += [nn.Linear(inputs, outputs), nn.ReLU()]
        return found[:-1]

    def lenet() -> Any:
        first = nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2)
        second = nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
        return nn.Sequential(*first, *second, *dense(256, 120, 84, 10))

    made: dict[str, Callable[[], Any]] = {
        "makemore": makemore,
        "MLP 784-128-64-10": lambda: nn.Sequential(*dense(784, 128, 64, 10)),
        "LayerNorm + Dense 64-256-64": Block,
        "Dropout MLP": lambda: nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Dropout(0.3), nn.Linear(30, 2)),
        "LeNet": lenet,
        "LSTM 64-128, 50 steps": Sequence,
    }
    return made[name]()


def as_pytorch_has_it(w: np.ndarray, name: str) -> np.ndarray:
    """One of fluxlite's weights, with PyTorch's order of dimensions."""
    if w.ndim == 4:  # a convolution's: (height, width, in, out)
        return w.transpose(3, 2, 0, 1)
    if name == "LeNet" and w.shape == (120, 256):  # it reads pixels by channel, where fluxlite reads them by place
        return w.reshape(120, 4, 4, 16).transpose(0, 3, 1, 2).reshape(120, 256)
    return w


def training(problem: Any, weights: list[np.ndarray], compiled: bool) -> Callable:
    """The step, which gives the loss."""
    import torch

    torch.set_num_threads(1)
    model = network(problem.name)
    parameters = [p for p in model.parameters() if p.requires_grad]
    with torch.no_grad():
        for parameter, w in zip(parameters, weights, strict=True):
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(as_pytorch_has_it(w, problem.name))))
    if problem.rule == "Descent":
        optimizer: Any = torch.optim.SGD(parameters, lr=problem.rate)
    elif problem.rule == "AdamW":
        optimizer = torch.optim.AdamW(parameters, lr=problem.rate, weight_decay=0.01)
    else:
        optimizer = torch.optim.Adam(parameters, lr=problem.rate)
    loss: Any = torch.nn.MSELoss()
    if problem.is_classes():
        loss = torch.nn.CrossEntropyLoss()

    def forward(x: Any, y: Any) -> Any:
        return loss(model(x), y)

    return torch_step(forward, optimizer, compiled)


def torch_step(forward: Callable, optimizer: Any, compiled: bool) -> Callable:
    """A whole step, which gives the loss: forward, backward and update."""
    import torch

    compute: Any = forward
    if compiled:
        need_a_compiler()
        compute = torch.compile(forward)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        value = compute(x, y)
        value.backward()
        optimizer.step()
        return value.detach()

    return step


def batches_of(problem: Any) -> list[tuple]:
    import torch

    found = []
    for x, y in problem.batches():
        if problem.name == "LeNet":
            x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
        found.append((torch.from_numpy(x), torch.from_numpy(y)))
    return found


def torch_eager(problem: Any, weights: list[np.ndarray]) -> Run:
    step = training(problem, weights, compiled=False)
    return going_on(step, batches_of(problem), problem.steps, problem.expected)


def torch_compiled(problem: Any, weights: list[np.ndarray]) -> Run:
    step = training(problem, weights, compiled=True)
    return going_on(step, batches_of(problem), problem.steps, problem.expected)


def need_a_compiler() -> None:
    """`torch.compile` writes C++. Without a compiler, its rows stay empty."""
    import torch  # noqa: F401  (if it isn't there, it's what is named)

    if shutil.which(os.environ.get("CXX", "g++")) is None:
        raise ModuleNotFoundError("torch.compile needs a C++ compiler", name="a C++ compiler")
