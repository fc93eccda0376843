"""``make lesson ARGS=17`` makes a lesson as a skeleton whose tests pass. A title may follow: ``ARGS="17 My title"``.

Its parts are in lesson.txt. Also, the lesson before links to it, TEACHING.md gets its section, the site its page, and
the lessons' table a row.
"""

import argparse
import re
import sys
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fluxlite_course.kit.course import LAST  # noqa: E402
from tools import notebooks  # noqa: E402


def make(number: str, title: str = "New lesson") -> None:
    """Write a lesson's files. Raises `ValueError` for a number with a lesson, or without one before it."""
    before = [path for path in notebooks.lessons() if path.name < number][-1:]
    if not re.fullmatch(r"\d\d", number) or notebooks.lessons([number]) or not before:
        raise ValueError(f"a new lesson's number has two digits, and none has it yet; got {number!r}")
    file = f"{number}-{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')}.ipynb"
    after = [path for path in notebooks.lessons() if path.name > number][:1]
    link = f"**Next: [{notebooks.title(after[0].name)}]({after[0].name})**." if after else LAST
    words = {"NN": number, "TITLE": title, "FILE": file, "LINK": link}
    text = Path(__file__).with_suffix(".txt").read_text("utf-8")
    text = re.sub("|".join(words), lambda match: words[match[0]], text)
    _, *parts = re.split(r"^=== (.*)\n", text, flags=re.MULTILINE)
    for name, part in zip(parts[::2], parts[1::2]):
        path = notebooks.ROOT / name
        path.parent.mkdir(exist_ok=True)
        if path.suffix == ".md":  # below the section of the lesson before
            of_before = rf"(^### {before[0].name[:2]} · .*?)(?=^##)"
            head, section, rest = re.split(of_before, path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
            part = head + section + part + rest
        path.write_text(notebook(part) if path.suffix == ".ipynb" else part, encoding="utf-8")
        print(name)
    earlier = notebooks.read(before[0])
    last, now = earlier["cells"][-1], f"**Next: [{number} {title}]({file})**."
    last["source"] = last["source"].replace(LAST, now) if LAST in last["source"] else f"{last['source']}\n\n{now}"
    before[0].write_text(notebooks.text(earlier), encoding="utf-8")
    index, entry = notebooks.ROOT / "docs" / "site" / "pages" / "index.md", f"lessons/{before[0].stem}\n"
    index.write_text(index.read_text("utf-8").replace(entry, f"{entry}lessons/{file[:-6]}\n"), encoding="utf-8")
    table, row = notebooks.NOTEBOOKS / "README.md", f"| [{number} {title}]({file}) | 10 | what it's for |\n"
    of_before = rf"^\| \[{before[0].name[:2]} .*\n"
    listed = re.sub(of_before, lambda line: line[0] + row, table.read_text("utf-8"), flags=re.MULTILINE)
    table.write_text(listed, encoding="utf-8")


def notebook(part: str) -> str:
    """A notebook from the text of its cells."""
    made = nbformat.v4.new_notebook()
    for kind, tags, source in re.findall(r"^--- (\w+)(.*)\n((?:(?!--- ).*\n)*)", part, re.MULTILINE):
        new = getattr(nbformat.v4, f"new_{kind}_cell")
        made.cells.append(new(source.rstrip("\n"), metadata={"tags": tags.split()}))
    return notebooks.text(made)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make a new lesson, as a skeleton whose tests pass.")
    parser.add_argument("number", help="its number, two digits: 17")
    parser.add_argument("title", nargs="*", default=["New", "lesson"], help="its title")
    given = parser.parse_args(arguments)
    try:
        make(given.number, " ".join(given.title))
    except ValueError as error:
        parser.error(str(error))
    return notebooks.main(["run", given.number]) or notebooks.main(["exercises"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
