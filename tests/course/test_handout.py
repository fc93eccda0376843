"""make handout: what a class gets. Its start pages name only what's there, and its lessons hold nothing to distrust."""

import html
import json
import re
import zipfile
from pathlib import Path

import pytest

from fluxlite_course.kit.copies import learner_folder
from tools.handout import make

WHEEL = "fluxlite-1.0-py3-none-any.whl"


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """pip would ask for what builds our wheel."""

    def our_wheel(wheels):
        wheels.mkdir(parents=True, exist_ok=True)
        (wheels / WHEEL).write_text("a wheel")
        return wheels / WHEEL

    monkeypatch.setattr(make, "our_wheel", our_wheel)


@pytest.fixture
def stick(tmp_path):
    """What make wheelhouse makes."""
    folder = tmp_path / "wheelhouse"
    (folder / "wheels").mkdir(parents=True)
    (folder / "wheels" / "numpy-2.4-cp311-cp311-win_amd64.whl").write_text("a wheel")
    return folder


def lines(page):
    """What a start page tells to type."""
    blocks = re.findall(r"<pre>(.*?)</pre>", page.read_text(encoding="utf-8"), re.DOTALL)
    assert all("\n" not in block for block in blocks), "each line has a box of its own: a long one goes on below"
    return [html.unescape(block) for block in blocks]


@pytest.mark.parametrize("system", make.SYSTEMS)
@pytest.mark.parametrize("with_all_wheels", [False, True])
def test_a_start_page_names_only_what_is_there(system, with_all_wheels, stick, tmp_path):
    folder = tmp_path / "course"
    make.write(folder, stick if with_all_wheels else None)
    typed = " \n".join(lines(folder / f"start-{system}.html")).replace("\\", "/")
    named = re.findall(r"(?:wheels/[^\[\s]+|\S+\.py|constraints\.txt)(?=[\[\s])", typed)
    expected = ["install_offline.py"] if with_all_wheels else ["constraints.txt", f"wheels/{WHEEL}"]
    assert named == expected and all((folder / name).is_file() for name in named)
    assert typed.rpartition("-m fluxlite lab")[1] and "@" not in typed
    assert (".venv/Scripts/python" in typed) == (system == "windows")


def test_nobody_has_to_ask_a_package_index_for_fluxlite():
    """Who takes that name there could run code on the learners' computers."""
    for system in make.SYSTEMS.values():
        (install,) = [line for line in make.install_lines(system, WHEEL, False) if " install " in line]
        assert f'{WHEEL}[lab]"' in install and install.count("fluxlite") == 1


def test_the_zip_file_has_the_copies_and_no_output_that_jupyter_would_have_to_trust(
    stick, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(make, "ROOT", tmp_path)
    for name in ("constraints.txt", "LICENSE", "tools/install_offline.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    site = tmp_path / "site"
    (site / "static").mkdir(parents=True)
    (site / "index.html").write_text("start")
    assert make.main(["--stick", str(stick), "--browser", str(site)]) == 0
    (file,) = (tmp_path / "build").iterdir()
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        copies = {name: archive.read(name) for name in names if name.endswith(".ipynb")}
    assert {name.partition("/")[0] for name in names} == {"fluxlite-course"}
    assert {"browser/index.html", "install_offline.py", "start-linux.html", f"wheels/{WHEEL}"} <= {
        name.partition("/")[2] for name in names
    }
    ours = {f"fluxlite-course/my-course/{path.name}": path.read_bytes() for path in learner_folder().glob("*.ipynb")}
    assert copies == ours
    outputs = [
        output["output_type"] for copy in copies.values() for cell in json.loads(copy)["cells"]
        for output in cell.get("outputs", [])
    ]  # fmt: skip
    assert set(outputs) == {"stream"} and file.name in capsys.readouterr().out


def test_a_folder_for_a_hub_is_written_again_over_itself(tmp_path, capsys):
    folder = tmp_path / "our-course"
    (folder / ".git").mkdir(parents=True)
    (folder / "README.md").write_text("ours")
    for _ in range(2):
        assert make.main(["--folder", str(folder)]) == 0
        assert "urlpath=lab%2Ftree%2Four-course%2Fmy-course%2F00-start-here.ipynb" in capsys.readouterr().out
    assert (folder / "README.md").read_text() == "ours" and (folder / ".git").is_dir()
    assert len(list(Path(folder, "my-course").glob("*.ipynb"))) == len(list(learner_folder().glob("*.ipynb")))
