"""How many words a lesson has: in its text cells, its questions and its pictures, without HTML.

A picture's numbers, such as those of a warp's 32 lanes, are looked at, not read: there, a word has a letter.

    python tools/words.py

The story, 00 to 07, has at most 13,500 words, and each other lesson 1,800. 16 is for looking things up.
"""

import argparse
import base64
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORY, STORY_AT_MOST, LESSON_AT_MOST, REFERENCE = 8, 13_500, 1_800, 16


def words(text: str) -> int:
    """Words in Markdown or HTML: what's between tags, and no comment.

    >>> words("**Two** words<!-- not these -->"), words('<svg><style>.a {}</style><text x="1">one</text></svg>')
    (2, 1)
    """
    text = re.sub(r"<!--.*?-->|<(style|script|template)\b.*?</\1>", "", text, flags=re.DOTALL)
    return sum(any(map(str.isalnum, word)) for word in re.sub(r"<[^>]*>", " ", text).split())


def in_questions(path: Path) -> int:
    """All that a learner may read of a lesson's questions: each question, its options and its replies."""

    def said(value: Any) -> int:
        if isinstance(value, dict):
            return sum(said(each) for key, each in value.items() if key != "right")
        return words(value) if isinstance(value, str) else 0

    return said(tomllib.loads(path.read_text(encoding="utf-8")))


def counted(path: Path) -> tuple[int, int, int]:
    """A lesson's words: in text cells, in questions, and in the stills of its pictures."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = sum(words("".join(cell["source"])) for cell in cells if cell["cell_type"] == "markdown")
    outputs = [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]
    pages = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    stills = [still for page in pages for still in re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", page)]
    drawn = sum(words(re.sub(r"\b[\d,.]+\b", "", base64.b64decode(still).decode())) for still in stills)
    questions = in_questions(ROOT / "fluxlite_course" / f"lesson{path.name[:2]}" / "questions.toml")
    return text, questions, drawn


def lessons() -> dict[int, tuple[int, int, int]]:
    """Each lesson's words, by its number."""
    return {int(path.name[:2]): counted(path) for path in sorted(ROOT.glob("notebooks/[0-9]*.ipynb"))}


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser(description="Count the words of each lesson.").parse_args(arguments)
    found = lessons()
    print(f"{'lesson':<8}{'text':>7}{'questions':>11}{'pictures':>10}{'together':>10}")
    for number, (text, questions, drawn) in found.items():
        print(f"{number:02}{text:>13,}{questions:>11,}{drawn:>10,}{text + questions + drawn:>10,}")
    print(f"story{sum(sum(found[number]) for number in range(STORY)):>41,}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
