"""The words that `random_programs.py` makes programs of: each in NumPy, in PyTorch, and where it may be used.

``{x}``, ``{y}``, ``{z}`` are earlier values of the program; the other names in braces are drawn by `DRAWN`. The third
text, if there is one, has to hold for every element: it keeps a program away from corners, where NumPy and PyTorch may
both be right, and from places where a derivative is too large to be compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ELEMENTWISE = [
    ("-{x}", "-{x}"),
    ("+{x}", "+{x}"),
    ("abs({x})", "abs({x})", "apart(x)"),
    ("np.fabs({x})", "torch.abs({x})", "apart(x)"),
    ("np.square({x})", "torch.square({x})"),
    ("np.sqrt({x})", "torch.sqrt({x})", "x > 0.1"),
    ("np.cbrt({x})", "torch.sign({x}) * torch.abs({x}) ** (1 / 3)", "abs(x) > 0.1"),
    ("np.reciprocal({x})", "torch.reciprocal({x})", "abs(x) > 0.3"),
    ("np.exp({x})", "torch.exp({x})", "x < 3"),
    ("np.exp2({x})", "torch.exp2({x})", "x < 4"),
    ("np.expm1({x})", "torch.expm1({x})", "x < 3"),
    ("np.log({x})", "torch.log({x})", "x > 0.1"),
    ("np.log2({x})", "torch.log2({x})", "x > 0.1"),
    ("np.log10({x})", "torch.log10({x})", "x > 0.1"),
    ("np.log1p({x})", "torch.log1p({x})", "x > -0.8"),
    ("np.sin({x})", "torch.sin({x})"),
    ("np.cos({x})", "torch.cos({x})"),
    ("np.tan({x})", "torch.tan({x})", "abs(np.cos(x)) > 0.4"),
    ("np.arcsin({x})", "torch.asin({x})", "abs(x) < 0.9"),
    ("np.arccos({x})", "torch.acos({x})", "abs(x) < 0.9"),
    ("np.arctan({x})", "torch.atan({x})"),
    ("np.sinh({x})", "torch.sinh({x})", "abs(x) < 3"),
    ("np.cosh({x})", "torch.cosh({x})", "abs(x) < 3"),
    ("np.tanh({x})", "torch.tanh({x})"),
    ("np.arcsinh({x})", "torch.asinh({x})"),
    ("np.arccosh({x})", "torch.acosh({x})", "x > 1.2"),
    ("np.arctanh({x})", "torch.atanh({x})", "abs(x) < 0.9"),
    ("np.sinc({x})", "torch.sinc({x})", "abs(x) > 0.1"),
    ("np.deg2rad({x})", "torch.deg2rad({x})"),
    ("np.degrees({x})", "torch.rad2deg({x})", "abs(x) < 0.5"),
    ("np.sign({x})", "torch.sign({x})", "apart(x)"),
    ("np.floor({x})", "torch.floor({x})", "apart(x - np.rint(x))"),
    ("np.ceil({x})", "torch.ceil({x})", "apart(x - np.rint(x))"),
    ("np.trunc({x})", "torch.trunc({x})", "apart(x - np.rint(x))"),
    ("np.rint({x})", "torch.round({x})", "apart(x - np.floor(x) - 0.5)"),
    ("np.round({x}, 1)", "torch.round({x}, decimals=1)", "apart(10 * x - np.floor(10 * x) - 0.5)"),
    ("np.nan_to_num({x})", "torch.nan_to_num({x})"),
    ("{x} ** 2", "{x} ** 2"),
    ("{x} ** 3", "{x} ** 3", "abs(x) < 4"),
    ("{x} ** 0", "{x} ** 0"),
    ("{x} ** -1", "{x} ** -1", "abs(x) > 0.3"),
    ("{x} ** 1.5", "{x} ** 1.5", "x > 0.1"),
    ("2.5 ** {x}", "2.5 ** {x}", "x < 3"),
    ("1 / {x}", "1 / {x}", "abs(x) > 0.3"),
    ("3 - {x}", "3 - {x}"),
    ("{x} % 2", "{x} % 2", "apart(x / 2 - np.rint(x / 2))"),
    ("np.clip({x}, -1, 1.5)", "torch.clamp({x}, -1, 1.5)", "apart(x + 1) & apart(x - 1.5)"),
    ("{x}.clip(0)", "torch.clamp({x}, min=0)", "apart(x)"),
    ("{x}.copy()", "{x}.clone()"),
    ("{x}.astype(single)", "{x}.clone()"),
    ("{x}.astype(double)", "{x}.clone()"),
    ("np.sum({x}, axis=0, dtype=double)", "torch.sum({x}, 0)"),
    ("np.zeros_like({x}) + {x}", "torch.zeros_like({x}) + {x}"),
]

ACTIVATIONS = [
    ("fl.relu({x})", "F.relu({x})", "apart(x)"),
    ("fl.relu6({x})", "F.relu6({x})", "apart(x) & apart(x - 6)"),
    ("fl.leakyrelu({x}, 0.2)", "F.leaky_relu({x}, 0.2)", "apart(x)"),
    ("fl.hardtanh({x})", "F.hardtanh({x})", "apart(x + 1) & apart(x - 1)"),
    ("fl.hardsigmoid({x})", "torch.clamp({x} / 6 + 0.5, 0, 1)", "apart(x + 3) & apart(x - 3)"),
    ("fl.hardswish({x})", "{x} * torch.clamp({x} / 6 + 0.5, 0, 1)", "apart(x + 3) & apart(x - 3)"),
    ("fl.softshrink({x})", "F.softshrink({x})", "apart(x + 0.5) & apart(x - 0.5)"),
    ("fl.sigmoid({x})", "torch.sigmoid({x})"),
    ("fl.sigmoid_fast({x})", "torch.sigmoid({x})"),
    ("fl.softsign({x})", "F.softsign({x})", "apart(x)"),
    ("fl.softplus({x})", "F.softplus({x})"),
    ("fl.logsigmoid({x})", "F.logsigmoid({x})"),
    ("fl.elu({x}, 0.7)", "F.elu({x}, 0.7)", "apart(x)"),
    ("fl.celu({x}, 0.5)", "F.celu({x}, 0.5)", "apart(x)"),
    ("fl.selu({x})", "F.selu({x})", "apart(x)"),
    ("fl.swish({x})", "F.silu({x})"),
    ("fl.mish({x})", "F.mish({x})"),
    ("fl.gelu({x})", "F.gelu({x}, approximate='tanh')"),
    ("fl.lisht({x})", "{x} * torch.tanh({x})"),
    ("fl.tanhshrink({x})", "F.tanhshrink({x})"),
    ("fl.logcosh({x})", "torch.log(torch.cosh({x}))", "apart(x)"),
    ("fl.softmax({x})", "torch.softmax({x}, -1)"),
    ("fl.softmax({x}, axis={axis})", "torch.softmax({x}, {axis})"),
    ("fl.logsoftmax({x}, axis={axis})", "torch.log_softmax({x}, {axis})"),
]

TWO_OPERANDS = [
    ("{x} + {y}", "{x} + {y}"),
    ("{y} + {x}", "{y} + {x}"),
    ("{x} - {y}", "{x} - {y}"),
    ("{y} - {x}", "{y} - {x}"),
    ("{x} * {y}", "{x} * {y}"),
    ("{y} * {x}", "{y} * {x}"),
    ("{x} * {x}", "{x} * {x}"),
    ("np.multiply({x}, {y})", "{x} * {y}"),
    ("{x} / {y}", "{x} / {y}", "abs(y) > 0.3"),
    ("{y} / {x}", "{y} / {x}", "abs(x) > 0.3"),
    ("{x} ** {y}", "{x} ** {y}", "np.all(x > 0.2) and np.all(abs(y) < 3)"),
    ("np.power({y}, {x})", "torch.pow({y}, {x})", "np.all(y > 0.2) and np.all(abs(x) < 3)"),
    ("np.float_power({x}, {y})", "torch.pow({x}, {y})", "np.all(x > 0.2) and np.all(abs(y) < 3)"),
    ("{x} // {y}", "torch.floor({x} / {y})", "(abs(y) > 0.3) & apart(x / y - np.rint(x / y))"),
    ("np.remainder({x}, {y})", "torch.remainder({x}, {y})", "(abs(y) > 0.3) & apart(x / y - np.rint(x / y))"),
    ("np.fmod({x}, {y})", "torch.fmod({x}, {y})", "(abs(y) > 0.3) & apart(x / y - np.rint(x / y))"),
    ("np.maximum({x}, {y})", "torch.maximum({x}, {y})", "apart(x - y)"),
    ("np.minimum({x}, {y})", "torch.minimum({x}, {y})", "apart(x - y)"),
    ("np.fmax({x}, {y})", "torch.fmax({x}, {y})", "apart(x - y)"),
    ("np.fmin({x}, {y})", "torch.fmin({x}, {y})", "apart(x - y)"),
    ("np.arctan2({x}, {y})", "torch.atan2({x}, {y})", "(np.hypot(x, y) > 0.3) & (apart(x) | (y > 0))"),
    ("np.hypot({x}, {y})", "torch.hypot({x}, {y})", "np.hypot(x, y) > 0.3"),
    ("np.logaddexp({x}, {y})", "torch.logaddexp({x}, {y})"),
    ("np.logaddexp2({x}, {y})", "torch.logaddexp2({x}, {y})"),
    ("np.copysign({x}, {y})", "torch.copysign({x}, {y})", "apart(x) & apart(y)"),
    ("np.heaviside({x}, {y})", "({x} > 0) + 0 * ({x} + {y})", "apart(x)"),
    ("np.where({x} > 0.5, {x}, {y})", "torch.where({x} > 0.5, {x}, {y})", "apart(x - 0.5)"),
    ("np.where({x} > {y}, 0.5, {y})", "torch.where({x} > {y}, 0.5, {y})", "apart(x - y)"),
    ("np.clip({x}, -9, {y})", "torch.minimum(torch.clamp({x}, min=-9), {y})", "apart(x - y) & (y > -8) & apart(x + 9)"),
    ("np.add.outer({x}, {y})", "{x}.reshape({x}.shape + (1,) * {y}.ndim) + {y}", "hasattr(y, 'dtype')"),
    ("np.select([{x} > 1, {x} < 0], [{x}, {y}], 2.0)",
     "torch.where({x} > 1, {x}, torch.where({x} < 0, {y}, 2.0))", "apart(x) & apart(x - 1)"),
    ("fl.gradient(lambda t: np.sum(np.sin(t) * {y}), {x})[0] * {y}",
     "(torch.cos({x}) * {y} ** 2).sum_to_size({x}.shape) if {y}.ndim == 0 else torch.cos({x}) * {y} * {y}",
     "np.shape(y) in ((), np.shape(x))"),
    ("fl.withgradient(lambda t: (np.sum(t ** 3), t), {x})[1][0]", "3 * {x} ** 2", "abs(x) < 4"),
]  # fmt: skip

REDUCTIONS = [
    ("np.sum({x})", "torch.sum({x})"),
    ("{x}.sum(axis={axis})", "torch.sum({x}, {axis})"),
    ("np.sum({x}, axis={axes}, keepdims=True)", "over(torch.sum, {x}, {axes}, keepdim=True)"),
    ("np.add.reduce({x}, {axis})", "torch.sum({x}, {axis})"),
    ("np.mean({x})", "torch.mean({x})"),
    ("np.mean({x}, axis={axis}, keepdims=True)", "torch.mean({x}, {axis}, keepdim=True)"),
    ("{x}.mean({axes})", "over(torch.mean, {x}, {axes})"),
    ("np.prod({x})", "torch.prod({x})"),
    ("np.prod({x}, axis={axis})", "torch.prod({x}, {axis})"),
    ("np.max({x})", "torch.amax({x})", "distinct(x, None)"),
    ("{x}.max(axis={axis})", "torch.amax({x}, {axis})", "distinct(x, axis)"),
    ("np.min({x}, axis={axis}, keepdims=True)", "torch.amin({x}, {axis}, keepdim=True)", "distinct(x, axis)"),
    ("np.max({x}, axis={axis}, initial=0.0)", "torch.clamp(torch.amax({x}, {axis}), min=0)",
     "distinct(x, axis) & apart(np.max(x, axis))"),
    ("np.ptp({x}, axis={axis})", "torch.amax({x}, {axis}) - torch.amin({x}, {axis})", "distinct(x, axis)"),
    ("np.var({x}, axis={axis})", "torch.var({x}, {axis}, correction=0)"),
    ("{x}.var(ddof=1)", "torch.var({x})", "np.size(x) > 1"),
    ("np.std({x}, axis={axis})", "torch.std({x}, {axis}, correction=0)", "np.std(x, axis) > 0.1"),
    ("np.std({x}, ddof=1, keepdims=True)", "torch.std({x}).reshape((1,) * {x}.ndim)",
     "(np.size(x) > 1) and (np.std(x) > 0.1)"),
    ("np.average({x}, axis=0, weights={y})", "({x} * {y}).sum(0) / {y}.sum(0)",
     "(np.shape(x) == np.shape(y)) and (abs(np.sum(y, 0)) > 0.3)"),
    ("np.sum({x}, where={x} > 0.5)", "torch.sum(torch.where({x} > 0.5, {x}, 0.0))", "apart(x - 0.5)"),
    ("np.cumsum({x}, axis={axis})", "torch.cumsum({x}, {axis})"),
    ("np.cumsum({x})", "torch.cumsum({x}.flatten(), 0)"),
    ("np.cumprod({x}, axis={axis})", "torch.cumprod({x}, {axis})"),
    ("np.nansum({x}, axis={axis})", "torch.nansum({x}, {axis})"),
    ("np.nanmean({x}, axis={axis})", "torch.nanmean({x}, {axis})"),
    ("np.median({x}, axis={axis})", "torch.quantile({x}, 0.5, {axis})", "np.size(x) and distinct(x, axis)"),
    ("np.quantile({x}, 0.3, axis={axis})", "torch.quantile({x}, 0.3, {axis})", "np.size(x) and distinct(x, axis)"),
    ("np.linalg.norm({x})", "torch.linalg.vector_norm({x})", "np.linalg.norm(x) > 0.3"),
    ("np.linalg.norm({x}, axis={axis})", "torch.linalg.vector_norm({x}, dim={axis})",
     "np.linalg.norm(x, axis=axis) > 0.3"),
    ("np.linalg.norm({x}, 3, axis={axis}, keepdims=True)", "torch.linalg.vector_norm({x}, 3, {axis}, keepdim=True)",
     "abs(x) > 0.1"),
    ("np.linalg.norm({x}, 1, {axis})", "torch.linalg.vector_norm({x}, 1, {axis})", "apart(x)"),
    ("np.trace({x}, {k})", "torch.diagonal({x}, {k}).sum(-1)", "np.ndim(x) == 2"),
    ("np.trapezoid({x}, dx=0.5, axis={axis})", "torch.trapezoid({x}, dx=0.5, dim={axis})"),
    ("np.cov({x})", "torch.cov({x})", "np.ndim(x) == 2"),
    ("np.corrcoef({x})", "torch.corrcoef({x})",
     "np.ndim(x) == 2 and np.all(np.std(x, 1) > 0.2) and abs(np.corrcoef(x) - np.eye(len(x))) < 0.9"),
]  # fmt: skip

SHAPING = [
    ("{x}.T", "reversed_axes({x})"),
    ("np.transpose({x}, {order})", "{x}.permute({order})"),
    ("np.swapaxes({x}, {axis}, {axis2})", "torch.swapaxes({x}, {axis}, {axis2})"),
    ("np.moveaxis({x}, {axis}, {axis2})", "torch.movedim({x}, {axis}, {axis2})"),
    ("np.rollaxis({x}, -1)", "torch.movedim({x}, -1, 0)"),
    ("np.rot90({x}, {k})", "torch.rot90({x}, {k})"),
    ("np.expand_dims({x}, {axis})", "inserted({x}, {axis})"),
    ("np.squeeze({x})", "torch.squeeze({x})"),
    ("np.ravel({x})", "torch.flatten({x})"),
    ("np.ravel({x}, order='F')", "torch.flatten(reversed_axes({x}))"),
    ("{x}.flatten()", "torch.flatten({x})"),
    ("{x}.reshape(-1, 1)", "{x}.reshape({x}.numel(), 1)"),
    ("np.reshape({x}, {shape})", "{x}.reshape({shape})"),
    ("np.reshape({x}, {shape}, order='F')", "reversed_axes(reversed_axes({x}).reshape({shape}[::-1]))"),
    ("np.broadcast_to({x}, (2,) + {x}.shape)", "torch.broadcast_to({x}, (2,) + {x}.shape)"),
    ("np.broadcast_arrays({x}, {y})[0]", "torch.broadcast_tensors({x}, {y})[0]"),
    ("np.broadcast_arrays({x}, {y})[1]", "torch.broadcast_tensors({x}, {y})[1]", "np.ndim(y) > 0"),
    ("np.atleast_2d({x})", "torch.atleast_2d({x})"),
    ("np.flip({x}, {axis})", "torch.flip({x}, ({axis},))"),
    ("np.flip({x})", "torch.flip({x}, tuple(range({x}.ndim)))"),
    ("{x}[::-1]", "torch.flip({x}, (0,))"),
    ("{x}[..., ::-2]", "torch.flip({x}, (-1,))[..., ::2]"),
    ("np.roll({x}, {k}, {axis})", "torch.roll({x}, {k}, {axis})"),
    ("np.roll({x}, {k})", "torch.roll({x}, {k})"),
    ("np.concatenate([{x}, {y}])", "torch.cat([{x}, {y}])"),
    ("np.concatenate([{x}, {y}, {x}], axis=-1)", "torch.cat([{x}, {y}, {x}], -1)"),
    ("np.concatenate([{x}, {y}], axis=None)", "torch.cat([{x}.flatten(), {y}.flatten()])", "hasattr(y, 'dtype')"),
    ("np.stack([{x}, {y}], axis={axis})", "torch.stack([{x}, {y}], {axis} if {axis} >= 0 else {axis})",
     "np.shape(x) == np.shape(y)"),
    ("np.vstack([{x}, {y}])", "torch.vstack([{x}, {y}])"),
    ("np.hstack([{x}, {y}])", "torch.hstack([{x}, {y}])"),
    ("np.append({x}, 2.0)", "torch.cat([{x}.flatten(), T([2.0])])"),
    ("np.array_split({x}, 2)[1]", "torch.tensor_split({x}, 2)[1]"),
    ("np.split({x}, [1], axis={axis})[0]", "torch.tensor_split({x}, [1], {axis})[0]"),
    ("np.tile({x}, (2, 2))", "torch.tile({x}, (2, 2))"),
    ("np.repeat({x}, 2, {axis})", "torch.repeat_interleave({x}, 2, {axis})"),
    ("np.repeat({x}, 2)", "torch.repeat_interleave({x}, 2)"),
    ("np.pad({x}, 1)", "F.pad({x}, (1, 1) * {x}.ndim)"),
    ("np.diff({x}, axis={axis})", "torch.diff({x}, dim={axis})"),
    ("np.gradient({x}, axis={axis})", "torch.gradient({x}, dim={axis})[0]"),
    ("np.tril({x}, {k})", "torch.tril({x}, {k})", "np.ndim(x) > 1"),
    ("np.triu({x})", "torch.triu({x})", "np.ndim(x) > 1"),
    ("np.diag({x})", "torch.diag({x})"),
    ("np.diagonal({x}, {k})", "torch.diagonal({x}, {k})", "np.ndim(x) == 2"),
    ("np.sort({x}, axis={axis})", "torch.sort({x}, {axis})[0]", "distinct(x, axis)"),
    ("np.meshgrid({x}, {y})[1]", "torch.meshgrid({x}, {y}, indexing='xy')[1]",
     "np.ndim(x) == np.ndim(y) == 1"),
    ("np.insert({x}, 1, 0.5, axis={axis})", "inserted_half({x}, {axis})"),
    ("np.delete({x}, 0, axis={axis})", "torch.narrow({x}, {axis}, 1, {x}.shape[{axis}] - 1)"),
    ("np.vander({x}, 3)", "torch.stack([{x} ** 2, {x}, 1 + 0 * {x}], -1)", "abs(x) < 4"),
]  # fmt: skip

INDEXING = [
    ("{x}[{i}]", "{x}[{i}]"),
    ("{x}[..., {i}]", "{x}[..., {i}]"),
    ("{x}[1:]", "{x}[1:]"),
    ("{x}[:-1]", "{x}[:-1]"),
    ("{x}[..., ::2]", "{x}[..., ::2]"),
    ("{x}[None]", "{x}[None]"),
    ("{x}[..., None, :]", "{x}[..., None, :]"),
    ("{x}[:, {i}:]", "{x}[:, {i}:]"),
    ("{x}[[{i}, {j}, {i}]]", "{x}[[{i}, {j}, {i}]]"),
    ("{x}[..., [{j}, {j}]]", "{x}[..., [{j}, {j}]]"),
    ("{x}[[{i}, {j}, {i}], [{j}, {i}, {j}]]", "{x}[[{i}, {j}, {i}], [{j}, {i}, {j}]]"),
    ("{x}[{x} > 0.5]", "{x}[{x} > 0.5]", "apart(x - 0.5)"),
    ("{x}[...]", "{x}[...]"),
    ("np.take({x}, [{i}, {j}, {j}], axis={axis})",
     "torch.movedim(torch.movedim({x}, {axis}, 0)[[{i}, {j}, {j}]], 0, {axis})"),
    ("np.take_along_axis({x}, np.argsort({x}, axis={axis}), {axis})", "torch.sort({x}, {axis})[0]",
     "distinct(x, axis)"),
    ("np.compress({x}[..., 0].ravel() > 0.5, {x}, axis=0)", "{x}[{x}[..., 0] > 0.5]",
     "(np.ndim(x) == 2) and apart(x[..., 0] - 0.5)"),
    ("np.stack([row for row in {x}])", "torch.stack([row for row in {x}])"),
    ("{x}[len({x}) // 2]", "{x}[len({x}) // 2]"),
]  # fmt: skip

PRODUCTS = [
    ("{x} @ {y}", "{x} @ {y}"),
    ("{x} @ {x}.T", "{x} @ {x}.T", "np.ndim(x) == 2"),
    ("np.matmul({x}, {y}.T)", "{x} @ {y}.T", "np.ndim(y) == 2"),
    ("np.dot({x}, {y})", "{x} @ {y}", "0 < np.ndim(x) <= 2 and 0 < np.ndim(y) <= 2"),
    ("{x}.dot({y})", "{x} * {y}", "np.ndim(x) * np.ndim(y) == 0"),
    ("np.inner({x}, {y})", "torch.inner({x}, {y})"),
    ("np.outer({x}, {y})", "torch.outer({x}.flatten(), {y}.flatten())"),
    ("np.vdot({x}, {y})", "torch.sum({x}.flatten() * {y}.flatten())", "np.size(x) == np.size(y)"),
    ("np.tensordot({x}, {y}, axes=1)", "torch.tensordot({x}, {y}, 1)"),
    ("np.kron({x}, {y})", "torch.kron({x}.contiguous(), {y}.contiguous())"),
    ("np.einsum('ij,kj->ik', {x}, {y})", "torch.einsum('ij,kj->ik', {x}, {y})", "np.shape(x)[-1] == np.shape(y)[-1]"),
    ("np.einsum('ij,jk', {x}, {y})", "torch.einsum('ij,jk', {x}, {y})", "np.shape(x)[1] == np.shape(y)[0]"),
    ("np.einsum('...i,...i->...', {x}, {y})", "torch.einsum('...i,...i->...', {x}, {y})",
     "np.shape(x)[-1] == np.shape(y)[-1]"),
    ("np.einsum('ii->i', {x})", "torch.einsum('ii->i', {x})", "np.shape(x) == np.shape(x.T)"),
    ("np.einsum('ij,ij->j', {x}, {x})", "torch.einsum('ij,ij->j', {x}, {x})"),
    ("np.cross({x}, {y})", "torch.linalg.cross({x}, {y})", "np.shape(x) == np.shape(y) and np.shape(x)[-1] == 3"),
    ("np.vecdot({x}, {y})", "({x} * {y}).sum(-1)", "np.shape(x)[-1] == np.shape(y)[-1]"),
    ("np.convolve({x}, {y})", "F.conv1d({x}[None], {y}.flip(0)[None, None], padding=len({y}) - 1)[0]",
     "np.ndim(x) == np.ndim(y) == 1"),
    ("np.linalg.multi_dot([{x}, {x}.T, {x}])", "{x} @ {x}.T @ {x}", "np.ndim(x) == 2"),
    ("np.linalg.matrix_power({x}, 3)", "torch.linalg.matrix_power({x}, 3)"),
    ("np.linalg.inv(definite({x}))", "torch.linalg.inv(definite({x}))", "np.ndim(x) > 1"),
    ("np.linalg.det(definite({x}))", "torch.linalg.det(definite({x}))", "(np.ndim(x) > 1) & (abs(x) < 2)"),
    ("np.linalg.slogdet(definite({x}))[1]", "torch.linalg.slogdet(definite({x}))[1]", "np.ndim(x) > 1"),
    ("np.linalg.cholesky(definite({x}))", "torch.linalg.cholesky(definite({x}))", "np.ndim(x) > 1"),
    ("np.linalg.solve(definite({x}), {y})", "torch.linalg.solve(definite({x}), {y})",
     "np.ndim(x) == np.ndim(y) == 2"),
    ("np.polyval({y}, {x})", "({y}[0] * {x} + {y}[1]) * {x} + {y}[2]", "np.shape(y) == (3,)"),
]  # fmt: skip

OPERATIONS = [*ELEMENTWISE, *ACTIVATIONS, *TWO_OPERANDS, *REDUCTIONS, *SHAPING, *INDEXING, *PRODUCTS]

# -- what is drawn besides operands; ValueError where the operand leaves no choice -----------------------------------


def some_axis(rng: np.random.Generator, x: Any) -> int:
    return int(rng.integers(-np.ndim(x), np.ndim(x)))


def some_shape(rng: np.random.Generator, x: Any) -> tuple[int, ...]:
    """Another shape for as many elements: two axes become one, or one two."""
    shape = list(np.shape(x))
    if len(shape) > 1 and rng.random() < 0.5:
        i = int(rng.integers(len(shape) - 1))
        return (*shape[:i], shape[i] * shape[i + 1], *shape[i + 2 :])
    i = int(rng.integers(len(shape)))
    parts = [n for n in (1, 2, 3) if shape[i] % n == 0]
    part = int(rng.choice(parts))
    return (*shape[:i], part, shape[i] // part, *shape[i + 1 :])


def some_place(rng: np.random.Generator, x: Any) -> int:
    return int(rng.integers(-min(np.shape(x)), min(np.shape(x))))


DRAWN = {
    "axis": some_axis,
    "axis2": some_axis,
    "axes": lambda rng, x: tuple(i for i in range(np.ndim(x)) if rng.random() < 0.6),
    "order": lambda rng, x: tuple(rng.permutation(np.ndim(x)).tolist()),
    "shape": some_shape,
    "i": some_place,
    "j": some_place,
    "k": lambda rng, x: int(rng.integers(-2, 3)),
}

# -- conditions ----------------------------------------------------------------------------------------------------


def apart(difference: Any) -> Any:
    """Far enough from a corner, for the rounding of float32 and for a step of finite differences."""
    return abs(difference) > 0.01


def distinct(x: Any, axis: int | None) -> bool:
    """No two numbers along the axis are close to each other."""
    return bool(np.all(apart(np.diff(np.sort(x, axis=axis), axis=-1 if axis is None else axis))))


def definite(x: Any) -> Any:
    """A matrix that can be inverted, made of any."""
    return x @ np.swapaxes(x, -1, -2) + np.eye(x.shape[-2], dtype=x.dtype)
