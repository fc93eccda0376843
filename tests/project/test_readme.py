"""The README's code runs as it is, and what it names exists."""

import re
from pathlib import Path

import fluxlite as fl

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_stands_below_it(capsys):
    ((example, printed),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
    with fl.pretend():  # as on a machine without a GPU
        exec(compile(example, "README.md", "exec"), {})
    said = capsys.readouterr()
    assert said.err + said.out == printed  # a terminal shows both


def test_every_file_that_it_links_to_is_there():
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if not target.startswith("http")]
    assert targets and [target for target in targets if not (ROOT / target).exists()] == []


def test_the_picture_can_be_read_aloud():
    ((alternative, file),) = re.findall(r"!\[([^]]{100,})\]\((notebooks/[^)]+\.png)\)", README)
    assert "recorded" in alternative and "simulated" in alternative and (ROOT / file).exists()


def test_minutes_are_those_of_the_lessons():
    for names, minutes in re.findall(r"^\| (\[\d\d .*?) \| (\d+) \|", README, re.MULTILINE):
        files = re.findall(r"\(([^)]+ipynb)\)", names)
        stated = [re.search(r"(\d+) minutes", (ROOT / file).read_text(encoding="utf-8"))[1] for file in files]
        assert sum(map(int, stated)) == int(minutes), f"{names}: {stated}"
