"""The page *Coming from PyTorch, JAX, Keras*, made from the tables of `fluxlite/coming_from.py`.

``python tools/coming_from_page.py`` prints it as Markdown.
"""

from __future__ import annotations

import argparse
import re
import sys

from fluxlite import coming_from
from fluxlite.coming_from import sentence

BEGIN = """# Coming from PyTorch, JAX, Keras

If you type a name that you know from another library, the error says what it's called here. This page has all of them.
Three differences are behind most of the rest:

- **A model is plain data.** Its arrays are NumPy's, or those of the GPU's library. There's no tensor type, and
  `gpu(model)` gives you a copy on the GPU.
- **Gradients are asked for.** `fl.gradient(f, model)` differentiates `f`; nothing is recorded anywhere else, and
  nothing has to be set to zero.
- **The observation comes first, the features last.** Pictures are `(N, H, W, C)`, sequences `(N, T, features)`.

A tensor of another library isn't an array: `np.from_dlpack(tensor)` makes one, without a copy.
"""

# Each section: its heading, the table, and what stands before a name.
SECTIONS = [
    ("Names of the library", coming_from.NAMES, ""),
    ("Asked of a layer", coming_from.OF_A_MODEL, "model."),
    ("Keywords", coming_from.KEYWORDS, ""),
]

# Where code begins: a name with a dot or a bracket behind it, a shape, an operation, a keyword by itself.
_CODE = re.compile(
    r"(?<![\w.])(?:(?:model|state) = |rng=|@)?(?:fl|np|model|state|device|rule|loss|x|print|[A-Z]\w+)(?=[.\[(]\S)"
    r"|(?=\(N, )|x @ y|__\w+__|^[a-z_]+(?:=\w+)?(?=[,;]|$)"
)


def page() -> str:
    """The page, as Markdown."""
    return "\n".join([BEGIN, *(_section(*section) for section in SECTIONS)])


def _section(heading: str, table: dict[str, str], before: str) -> str:
    after = "=" if table is coming_from.KEYWORDS else ""
    rows = [
        f"| `{before}{name}{after}` | {marked(here).replace('|', chr(92) + '|')} |"
        for name, here in sorted(table.items(), key=lambda row: row[0].lower())
    ]
    return "\n".join([f"## {heading}", "", "| you know | here |", "|---|---|", *rows, ""])


def marked(here: str) -> str:
    """An entry of a table as Markdown, with its code marked.

    >>> marked("fl.Descent(eta), or with momentum fl.Momentum(eta, rho)")
    '`fl.Descent(eta)`, or with momentum `fl.Momentum(eta, rho)`'
    >>> marked("nothing: the model goes to fl.setup(rule, model)")
    'Not needed here: the model goes to `fl.setup(rule, model)`'
    """
    text = sentence(here).removeprefix("Here it is ")
    done, at = "", 0
    while (found := _CODE.search(text, at)) is not None:
        end = _end_of_code(text, found.end())
        done += f"{text[at : found.start()]}`{text[found.start() : end]}`"
        at = end
    return done + text[at:]


def _end_of_code(text: str, at: int) -> int:
    """Where the code that `at` is in ends: at a space or a sign that isn't within brackets."""
    depth = 0
    while at < len(text):
        if depth == 0 and re.match(r"[,;:.]?(?:\s|$)|\)", text[at:]):
            break
        depth += (text[at] in "([") - (text[at] in ")]")
        at += 1
    return at


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser(description="Print the page Coming from PyTorch, JAX, Keras.").parse_args(arguments)
    print(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
