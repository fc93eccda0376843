"""Filters whose function is a kernel of the program's: it's called as a function for each window, or each line.

CuPy writes a kernel in CUDA C around it. So do we: each thread has one window, or one line, in arrays of its own, and
what's outside of them raises, with the line of the program's text. In a RawKernel, ``__global__`` becomes
``__device__``; a ReductionKernel's pieces become a function.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...kernels import ReductionKernel
from ...kernels.parse import c_name
from ...raw import RawKernel

_THREADS = 128
_FOR_WINDOWS = """
extern "C" __global__ void {kernel}(const {given}* windows, {result}* results, long long count)
{{
    {given} window[{size}];
    {value} value;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    for (int k = 0; k < {size}; ++k) window[k] = windows[i * {size} + k];
    {name}(window, {size}, &value);
    results[i] = ({result})value;
}}
"""
_FOR_LINES = """
extern "C" __global__ void {kernel}(const double* lines, {result}* results, long long count)
{{
    double input_line[{size}], output_line[{length}];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    for (int k = 0; k < {size}; ++k) input_line[k] = lines[i * {size} + k];
    {name}(input_line, (ptrdiff_t){size}, output_line, (ptrdiff_t){length});
    for (int k = 0; k < {length}; ++k) results[i * {length} + k] = ({result})output_line[k];
}}
"""
_REDUCTION = """{preamble}
__device__ void {name}(const {given}* _raw_{x}, int _size, {value}* _raw_{y})
{{
    {reduced} _sum = {identity};
    for (int _j = 0; _j < _size; ++_j) {{
        const {given} {x} = _raw_{x}[_j];
        {reduced} a = _sum, b = {mapping};
        _sum = {reduction};
    }}
    {reduced} a = _sum;
    {value}& {y} = _raw_{y}[0];
    {ending};
}}
"""


def of_windows(function: Any, windows: np.ndarray, dtype: np.dtype, device: Any) -> Any:
    """For each row of `windows`, the one number that the kernel makes of it."""
    size = windows.shape[1]
    if isinstance(function, ReductionKernel):
        text, value = _reduction(function, windows.dtype, dtype)
    else:
        text, value, windows = _as_a_function(function), "double", windows.astype(np.float64)
    names = {"given": c_name(windows.dtype), "value": value, "kernel": f"generic_{size}_{function.name}"}
    return _launched(function, text, _FOR_WINDOWS, windows, 1, dtype, device, names)


def of_lines(function: RawKernel, lines: np.ndarray, length: int, dtype: np.dtype, device: Any) -> Any:
    """For each row of `lines`, the `length` numbers that the kernel makes of it."""
    names = {"kernel": f"generic1d_{length}_{lines.shape[1] - length + 1}_{function.name}"}
    text = _as_a_function(function)
    return _launched(function, text, _FOR_LINES, lines.astype(np.float64), length, dtype, device, names)


def _as_a_function(function: RawKernel) -> str:
    return function.code.replace("__global__", "__device__")


def _reduction(function: ReductionKernel, given: np.dtype, dtype: np.dtype) -> tuple[str, str]:
    """A ReductionKernel as a function, and the type of what it writes."""
    if function.nin != 1 or function.nout != 1:
        raise TypeError("ReductionKernel must have 1 input and output")
    (x,), (y,) = function.in_params, function.out_params
    types = {y.type: dtype, x.type: given}  # one letter may stand for both
    value = c_name(types.get(y.type, y.type))
    names = {kind: c_name(types[kind]) for kind in types if isinstance(kind, str)}
    parts = {name: _with_types(text, names) for name, text in function.parts.items()}
    text = _REDUCTION.format(
        preamble=parts["preamble"], name=function.name, x=x.name, y=y.name, given=c_name(given), value=value,
        reduced=_with_types(function.reduce_type or value, names), identity=parts["identity"],
        mapping=parts["map_expr"], reduction=parts["reduce_expr"], ending=parts["post_map_expr"],
    )  # fmt: skip
    return text, value


def _with_types(text: str, names: dict[str, str]) -> str:
    """A piece of C with types in the place of its letters, and the window's size in that of ``_in_ind.size()``."""
    for letter, name in names.items():
        text = re.sub(rf"\b{letter}\b", name, text)
    return re.sub(r"\b_in_ind\s*\.\s*size\(\)", "_size", text)


def _launched(
    function: Any, text: str, around: str, rows: np.ndarray, length: int, dtype: np.dtype, device: Any, names: dict
) -> Any:
    count, size = rows.shape
    text += around.format(name=function.name, size=size, length=length, result=c_name(dtype), **names)
    made = device.new(np.empty((count, length), dtype))
    given = device.new(np.ascontiguousarray(rows))
    kernel = RawKernel(text, names["kernel"], function.options)
    kernel((-(-count // _THREADS),), (_THREADS,), (given, made, count))
    return made
