"""The Python example in the README is run as it stands."""

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_example_learns_and_prints_a_receipt(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict = {}
    exec(compile(example, "README.md", "exec"), names)
    loss, receipt = capsys.readouterr().out.split("launches", 1)
    assert float(loss.split()[-1]) < 0.002
    assert names["r"].launches is None or names["r"].launches > 0
    assert "host to device" in receipt
