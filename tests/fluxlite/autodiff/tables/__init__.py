"""All rules of derivatives: a row is the name of its table, a function, and how calls of the function are drawn.

`OF_NUMPY` are those that other devices have too; `ROWS` are all. MLX, for Apple GPUs, lacks those `NOT_ON_METAL`.
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
NOT_ON_METAL = [
    *elementwise.NOT_ON_METAL,
    *products.NOT_ON_METAL,
    *rarer.NOT_ON_METAL,
    *shaping.NOT_ON_METAL,
]


def ids(rows: list[tuple]) -> list[str]:
    return [f"{name}-{getattr(function, '__name__', function)}" for name, function, _ in rows]
