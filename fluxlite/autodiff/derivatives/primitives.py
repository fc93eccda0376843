"""Our own operations: indexing, another dtype, another device."""

from ...arrays import add_at, astype, device_of, getitem, move, scatter_add
from ..rules import rule
from ..tracked import plain
from .elementwise import fit


def add_part(total, g, out, x, index):
    add_at(total, index, g)


rule(getitem, lambda g, out, x, index: scatter_add(plain(x), index, g), add_into=add_part)
rule(scatter_add, None, None, lambda g, out, like, index, values: fit(getitem(g, index), values))
rule(astype, lambda g, out, x, dtype: astype(g, x.dtype))
rule(move, lambda g, out, x, device, dtype=None: move(g, device_of(plain(x)), x.dtype))
