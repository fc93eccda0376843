"""The files for a hub, as far as that can be checked without one: names, versions, limits. `test_hub.py` runs a hub."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace

import measure
import pytest
import yaml

import fluxlite

ROOT = Path(__file__).parents[3]
HUB = ROOT / "docs" / "hub"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in HUB.iterdir()}
VALUES = yaml.safe_load(TEXTS["values.yaml"])
LEARNERS = VALUES["singleuser"]


def test_both_hubs_give_learners_the_same():
    littlest = SimpleNamespace(environment={})
    exec(TEXTS["littlest.py"], {"get_config": lambda: SimpleNamespace(Spawner=littlest)})
    assert littlest.cmd == LEARNERS["cmd"] == ["fluxlite", "lab", "--hub"]
    assert littlest.default_url == LEARNERS["defaultUrl"]
    assert (ROOT / "notebooks" / "learner" / LEARNERS["defaultUrl"].rpartition("/")[2]).is_file()
    ada = SimpleNamespace(user=SimpleNamespace(escaped_name="ada"))
    assert littlest.environment.pop("FLUXLITE_HAND_INS")(ada) == "/srv/hand-ins/ada"
    assert LEARNERS["extraEnv"] == {"FLUXLITE_HAND_INS": "/srv/hand-in", **littlest.environment}
    assert '"FLUXLITE_HAND_INS"' in (ROOT / "fluxlite_course" / "kit" / "classroom.py").read_text(encoding="utf-8")


def test_what_the_image_copies_is_there_and_enough_for_the_package(tmp_path):
    """And no lesson with its solutions is in it."""
    pytest.importorskip("hatchling")
    for what in re.findall(r"^COPY (.*)$", TEXTS["Dockerfile"], re.MULTILINE):
        *sources, target = what.split()
        for source in sources:
            place = tmp_path / target / (source if target == "./" else "")
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / source, place)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "made"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    (wheel,) = (tmp_path / "made").iterdir()
    names = zipfile.ZipFile(wheel).namelist()
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert {f"{package}/__init__.py" for package in build["targets"]["wheel"]["packages"]} <= set(names)
    assert "fluxlite_course/notebooks/04-sine-wave-rnn.ipynb" in names and "fluxlite/__main__.py" in names
    assert not list(tmp_path.glob("notebooks/*.ipynb"))


def test_versions_are_the_same_everywhere():
    every = "\n".join(TEXTS.values())
    images = re.findall(r"YOUR-REGISTRY/fluxlite:(\S+)", every) + [LEARNERS["image"]["tag"]]
    assert len(images) >= 4 and set(images) == {fluxlite.__version__}
    (chart,) = set(re.findall(r"(?:--version|chart|version) (\d+\.\d+\.\d+)", every))
    (hub,) = re.findall(r"^jupyterhub==(.+)$", TEXTS["requirements.txt"], re.MULTILINE)
    assert f"says {hub}, as chart {chart} has" in TEXTS["README.md"]


def test_the_limits_are_those_that_follow_from_the_figures():
    page = TEXTS["README.md"]
    rows = re.findall(r"^\| (\d\d) \| (\d+) \| (\d+) \| (\d+) s \| ([\d.]+) s \|$", page, re.MULTILINE)
    server, *parts = map(
        int, re.search(r"a server of (\d+) MB. The hub takes (\d+) MB and the proxy (\d+)", page).groups()
    )
    assert [row[0] for row in rows] == sorted(path.name[:2] for path in ROOT.glob("notebooks/[0-9]*.ipynb"))
    advice = measure.advice({name: tuple(map(float, row)) for name, *row in rows}, server, sum(parts))
    teaching = (ROOT / "notebooks" / "TEACHING.md").read_text(encoding="utf-8")
    for line in advice:
        line = line.replace(".0 MB", " MB")
        assert all(line in " ".join(text.split()) for text in (page, teaching)), line
    guarantee, limit = re.search(r"Guarantee (\d+) MB to each, and limit each to (\d+) MB", advice[1]).groups()
    assert LEARNERS["memory"] == {"guarantee": f"{guarantee}M", "limit": f"{limit}M"}
    assert f"limits.memory {limit}M" in page
