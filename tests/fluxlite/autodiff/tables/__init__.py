"""All rules of derivatives: a row is the name of its table, a function, and how calls of the function are drawn.

`OF_NUMPY` are those that other devices have too; `ROWS` are all.
"""

from . import elementwise, indexing, keywords, products, rarer, reductions, shaping, windows


def named(name: str, table: list) -> list[tuple]:
    return [(name, *row) for row in table]


OF_NUMPY = [
    *named("elementwise", elementwise.TABLE),
    *named("products", products.TABLE),
    *named("rarer", rarer.TABLE),
    *named("reductions", reductions.TABLE),
    *named("shaping", shaping.TABLE),
    *named("windows", windows.TABLE),
]
ROWS = [
    *OF_NUMPY,
    *named("einsum", products.EINSUM_TABLE),
    *named("indexing", indexing.TABLE),
    *named("keywords", keywords.TABLE),
]


def ids(rows: list[tuple]) -> list[str]:
    return [f"{name}-{getattr(function, '__name__', function)}" for name, function, _ in rows]
