"""Each layer and function that takes an array, with a shape that it would take.

A new layer gets a row in `LAYERS`, and one in `FORMULAS` if a line of NumPy says what it computes. A row uses `fl`,
`np` and `scored` alone: a test runs it with a copy of the layer, too.
"""

import numpy as np

import fluxlite as fl

PICTURES, SEQUENCES, ROWS = (2, 4, 4, 2), (2, 5, 2), (4, 2)


def scored():
    return fl.Dense(2, 2)


LAYERS = {
    "Dense": (lambda: fl.Dense(2, 3), ROWS),
    "Chain": (lambda: fl.Chain(np.tanh, fl.relu), ROWS),
    "Scale": (lambda: fl.Scale(2), ROWS),
    "Conv": (lambda: fl.Conv((3, 3), 2, 2), PICTURES),
    "CrossCor": (lambda: fl.CrossCor((3, 3), 2, 2), PICTURES),
    "ConvTranspose": (lambda: fl.ConvTranspose((3, 3), 2, 2), PICTURES),
    "DepthwiseConv": (lambda: fl.DepthwiseConv((3, 3), 2, 2), PICTURES),
    "Conv, strided": (lambda: fl.Conv((2, 3), 2, 4, np.tanh, stride=(2, 1), pad=1, dilation=2, groups=2), PICTURES),
    "ConvTranspose, strided": (lambda: fl.ConvTranspose((2, 2), 2, 4, stride=2, pad=1, groups=2), PICTURES),
    "MaxPool, padded": (lambda: fl.MaxPool((3, 3), stride=2, pad=1), PICTURES),
    "MeanPool, padded": (lambda: fl.MeanPool((2, 2), pad=1), PICTURES),
    "Upsample, bilinear": (lambda: fl.Upsample("bilinear", scale=2), PICTURES),
    "InstanceNorm, all": (lambda: fl.InstanceNorm(2, affine=True, track_stats=True), SEQUENCES),
    "GroupNorm, sequences": (lambda: fl.GroupNorm(2, 2), SEQUENCES),
    "MaxPool": (lambda: fl.MaxPool((2, 2)), PICTURES),
    "MeanPool": (lambda: fl.MeanPool((2, 2)), PICTURES),
    "AdaptiveMaxPool": (lambda: fl.AdaptiveMaxPool((2, 2)), PICTURES),
    "AdaptiveMeanPool": (lambda: fl.AdaptiveMeanPool((2, 2)), PICTURES),
    "GlobalMaxPool": (lambda: fl.GlobalMaxPool(), PICTURES),
    "GlobalMeanPool": (lambda: fl.GlobalMeanPool(), PICTURES),
    "Upsample": (lambda: fl.Upsample("nearest", scale=2), PICTURES),
    "LayerNorm": (lambda: fl.LayerNorm(2), ROWS),
    "BatchNorm": (lambda: fl.BatchNorm(2), ROWS),
    "InstanceNorm": (lambda: fl.InstanceNorm(2), SEQUENCES),
    "GroupNorm": (lambda: fl.GroupNorm(2, 1), ROWS),
    "Dropout": (lambda: fl.Dropout(0.5), ROWS),
    "MultiHeadAttention": (lambda: fl.MultiHeadAttention(2, nheads=1), SEQUENCES),
    "RNN": (lambda: fl.RNN(2, 3), SEQUENCES),
    "LSTM": (lambda: fl.LSTM(2, 3), SEQUENCES),
    "GRU": (lambda: fl.GRU(2, 3), SEQUENCES),
    "Recurrence": (lambda: fl.Recurrence(fl.LSTMCell(2, 3)), SEQUENCES),
    "RNNCell": (lambda: fl.RNNCell(2, 3), ROWS),
    "LSTMCell": (lambda: fl.LSTMCell(2, 3), ROWS),
    "GRUCell": (lambda: fl.GRUCell(2, 3), ROWS),
    "SkipConnection": (lambda: fl.SkipConnection(scored(), np.add), ROWS),
    "Parallel": (lambda: fl.Parallel(np.add, scored(), scored()), ROWS),
    "PairwiseFusion": (lambda: fl.PairwiseFusion(np.add, scored(), scored()), ROWS),
    "Maxout": (lambda: fl.Maxout(scored(), scored()), ROWS),
    "flatten": (lambda: fl.flatten, PICTURES),
    "Embedding": (lambda: fl.Embedding(4, 2), (3,)),
}

# What comes out, in plain NumPy and from the layer's own arrays; only for those of which one line says it.
FORMULAS = {
    "Dense": lambda m, x: x @ m.weight.T + m.bias,
    "Scale": lambda m, x: x * m.scale + m.bias,
    "LayerNorm": lambda m, x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + m.eps),
    "Embedding": lambda m, x: m.weight[x],
    "flatten": lambda m, x: x.reshape(len(x), -1),
}
