"""The files for a hub, as far as that can be checked without one: names, versions, links, figures.

`test_hub.py` runs a hub.
"""

import asyncio
import copy
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import pytest
import yaml

import fluxlite
from tools import hub_costs
from tools.links import on_hub, published

ROOT = Path(__file__).parents[3]
HUB = ROOT / "hub"
PAGE = (HUB / "README.md").read_text(encoding="utf-8")
VALUES = (HUB / "values.yaml").read_text(encoding="utf-8")
DOCKERFILE = (HUB / "Dockerfile").read_text(encoding="utf-8")
REQUIREMENTS = (HUB / "requirements.txt").read_text(encoding="utf-8")
COSTS = hub_costs.read()


def changed(old, new, text=VALUES):
    assert text.count(old) >= 1
    return text.replace(old, new)


# -- values.yaml ------------------------------------------------------------------------------------------------------


def test_the_chart_takes_the_values():
    """With the chart itself: helm pull jupyterhub/jupyterhub --version 4.4.0 --untar; FLUXLITE_CHART=jupyterhub."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    chart = os.environ.get("FLUXLITE_CHART")
    if not chart:
        pytest.skip("FLUXLITE_CHART names no folder with the chart")
    (schema,) = Path(chart).glob("values.schema.*")  # JSON in a package, YAML in the repository; and JSON is YAML
    defaults = yaml.safe_load(Path(chart, "values.yaml").read_text(encoding="utf-8"))
    asked = jsonschema.Draft7Validator(yaml.safe_load(schema.read_text(encoding="utf-8")))
    wrong = asked.iter_errors(_merged(defaults, yaml.safe_load(VALUES)))
    assert [(list(one.absolute_path), one.message[:200]) for one in wrong] == []


def _merged(defaults, ours):
    """As helm puts values over the chart's own."""
    if not (isinstance(defaults, dict) and isinstance(ours, dict)):
        return ours
    return {**defaults, **{name: _merged(defaults.get(name), value) for name, value in ours.items()}}


def test_both_hubs_give_learners_the_same():
    values, littlest = yaml.safe_load(VALUES)["singleuser"], littlest_settings()
    assert littlest.cmd == values["cmd"] == ["fluxlite", "lab", "--hub"]
    assert littlest.default_url == values["defaultUrl"]
    assert (ROOT / "notebooks" / "learner" / values["defaultUrl"].rpartition("/")[2]).is_file()
    learner = SimpleNamespace(user=SimpleNamespace(escaped_name="ada"))
    known = {name: value(learner) if callable(value) else value for name, value in littlest.environment.items()}
    assert known == {"FLUXLITE_HAND_INS": "/srv/hand-ins/ada", "OPENBLAS_NUM_THREADS": "1"}
    assert set(values["extraEnv"]) == set(known) and values["extraEnv"]["OPENBLAS_NUM_THREADS"] == "1"
    assert all(name in (ROOT / "fluxlite" / "course" / "classroom.py").read_text() for name in known if "FLUX" in name)


def littlest_settings():
    spawner = SimpleNamespace(environment={})
    exec((HUB / "littlest.py").read_text(encoding="utf-8"), {"get_config": lambda: SimpleNamespace(Spawner=spawner)})
    return spawner


def test_hand_ins_are_one_volume_and_each_learner_sees_a_folder_of_it():
    values = yaml.safe_load(VALUES)["singleuser"]
    claim = yaml.safe_load((HUB / "hand-ins.yaml").read_text(encoding="utf-8"))
    assert claim["kind"] == "PersistentVolumeClaim" and claim["spec"]["accessModes"] == ["ReadWriteMany"]
    (volume,) = values["storage"]["extraVolumes"].values()
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    (mount,), (prepared,) = values["storage"]["extraVolumeMounts"].values(), values["initContainers"]
    assert mount["name"] == volume["name"] and mount["mountPath"] == values["extraEnv"]["FLUXLITE_HAND_INS"]
    assert mount["subPath"] == "{username}" and prepared["volumeMounts"] == [mount]
    assert prepared["image"] == f"{values['image']['name']}:{values['image']['tag']}"


@pytest.mark.skipif(importlib.util.find_spec("kubespawner") is None, reason="kubespawner is not installed")
@pytest.mark.parametrize(("name", "admin"), [("ada", False), ("eve@school.example", False), ("teacher", True)])
def test_kubespawner_makes_the_pods_that_we_mean(name, admin, monkeypatch):
    """On paper: it asks no cluster for that, and reads nobody's settings of one."""
    from kubespawner import KubeSpawner
    from traitlets.config import Config

    monkeypatch.setattr("kubespawner.spawner.load_config", lambda **given: None)
    values, config = yaml.safe_load(VALUES), Config()
    exec(values["hub"]["extraConfig"]["teacher"], {"c": config})
    ours = values["singleuser"]
    user = SimpleNamespace(name=name, admin=admin, escaped_name=quote(name), url=f"/user/{name}", id=1)
    hub = SimpleNamespace(api_url="http://h/hub/api", base_url="/hub/", public_host="")

    async def pod():
        spawner = KubeSpawner(
            config=config, _mock=True, user=user, hub=hub, image="x", cmd=ours["cmd"], namespace="n",
            volumes=ours["storage"]["extraVolumes"], volume_mounts=ours["storage"]["extraVolumeMounts"],
            init_containers=copy.deepcopy(ours["initContainers"]),
        )  # fmt: skip
        spawner.pre_spawn_hook(spawner)
        return await spawner.get_pod_manifest()

    made = asyncio.run(pod())
    (server,), (before,) = made.spec.containers, made.spec.init_containers
    mounts = {one.mount_path: (one.sub_path, one.read_only) for one in server.volume_mounts}
    folder = mounts["/srv/hand-in"][0]
    assert folder and "{" not in folder and "/" not in folder and server.args == ["fluxlite", "lab", "--hub"]
    (prepared,) = before.volume_mounts
    assert (prepared["mountPath"], prepared["subPath"]) == ("/srv/hand-in", folder)
    assert mounts.get("/srv/hand-ins") == ((None, True) if admin else None)


# -- the image --------------------------------------------------------------------------------------------------------


def complaints(dockerfile, requirements=REQUIREMENTS):
    """What's wrong with the image: what isn't pinned, isn't there, or runs as root."""
    lines = [line.split(maxsplit=1) for line in dockerfile.replace("\\\n", " ").splitlines()]
    steps = [(line[0], line[1]) for line in lines if line and not line[0].startswith("#")]
    found = [
        f"{word}?" for word, _ in steps if word not in {"FROM", "RUN", "COPY", "WORKDIR", "USER", "ENTRYPOINT", "CMD"}
    ]
    python = (ROOT / "binder" / "runtime.txt").read_text().strip().replace("-", ":")
    found += [f"{what} is not Binder's {python}" for word, what in steps
              if word == "FROM" and not re.fullmatch(rf"{python}-slim-[a-z]+", what)]  # fmt: skip
    for word, what in steps:
        if word == "COPY":
            found += [f"there is no {one}" for one in what.split()[:-1] if not (ROOT / one).exists()]
        if word == "RUN" and "pip install" in what and "-c constraints.txt" not in what:
            found.append("versions aren't those of constraints.txt")
    users = [what for word, what in steps if word == "USER"]
    found += [] if users[-1:] == ["1000"] else ["it runs as root"]
    pinned = [line for line in requirements.splitlines() if line and not line.startswith("#")]
    return found + [f"{line} is not pinned" for line in pinned if not re.fullmatch(r"[\w-]+==[\d.]+", line)]


def test_the_image_is_pinned_and_needs_only_what_is_there():
    assert complaints(DOCKERFILE) == []


def test_what_the_image_copies_is_enough_for_the_package(tmp_path):
    """And no lesson with its solutions is in it."""
    pytest.importorskip("hatchling")
    for what in re.findall(r"^COPY (.*)$", DOCKERFILE, re.MULTILINE):
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
    assert "fluxlite/course/notebooks/05-sine-wave-rnn.ipynb" in names and "fluxlite/__main__.py" in names
    assert not list(tmp_path.glob("notebooks/*.ipynb"))


# -- versions ---------------------------------------------------------------------------------------------------------


def other_versions(texts):
    """Versions of fluxlite's image, the chart and JupyterHub that aren't the same everywhere."""
    (hub,) = re.findall(r"^jupyterhub==(.+)$", texts["requirements.txt"], re.MULTILINE)
    (chart,) = set(re.findall(r"jupyterhub/jupyterhub --version (\S+)", texts["values.yaml"]))
    found = []
    for name, text in texts.items():
        tags = re.findall(r"YOUR-REGISTRY/fluxlite:(\S+)", text) + re.findall(r'^ +tag: "(.+)"$', text, re.MULTILINE)
        found += [(name, tag) for tag in tags if tag != fluxlite.__version__]
        charts = re.findall(r"(?:--version|chart|of its chart\.?|version) (\d+\.\d+\.\d+)", text)
        found += [(name, one) for one in charts if one != chart]
        hubs = re.findall(r"(?:has|says) (\d+\.\d+\.\d+)", text)
        found += [(name, one) for one in hubs if one != hub]
    return found


TEXTS = {path.name: path.read_text(encoding="utf-8") for path in HUB.iterdir() if path.suffix != ".json"}


def test_versions_are_the_same_everywhere():
    assert other_versions(TEXTS) == []


def test_the_extra_allows_what_the_image_has():
    from packaging.requirements import Requirement

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    allowed = {one.name: one.specifier for one in map(Requirement, extras["hub"])}
    for line in re.findall(r"^[\w-]+==.*$", TEXTS["requirements.txt"], re.MULTILINE):
        pinned = Requirement(line)
        assert str(pinned.specifier).removeprefix("==") in allowed[pinned.name]


# -- the page ---------------------------------------------------------------------------------------------------------


def by_hand(page, place):
    """Links for a hub that tools/links.py doesn't make, and links into a repository."""
    found = re.findall(r"https?://\S*(?:git-pull|YOUR-)\S*|https?://github\.com/\S+", page)
    return [link for link in found if link != on_hub(place)]


def test_its_link_is_made_in_the_one_place_of_links():
    place = published(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["fluxlite"])
    assert PAGE.count(on_hub(place)) == 1 and by_hand(PAGE, place) == []
    assert by_hand(PAGE.replace("branch=YOUR-BRANCH", "branch=main"), place)
    assert by_hand(PAGE + "https://github.com/a/fluxlite", place) == ["https://github.com/a/fluxlite"]


@pytest.mark.parametrize("name", hub_costs.PAGES)
def test_the_figures_are_those_that_were_measured(name):
    page = (ROOT / name).read_text(encoding="utf-8")
    assert hub_costs.with_figures(name, page, COSTS) == page, "python tools/hub_costs.py"
    other = copy.deepcopy(COSTS)
    for lesson in other["lessons"].values():
        lesson["kernel"]["peak"] += 1000
    assert hub_costs.with_figures(name, page, other) != page
    with pytest.raises(ValueError, match="needs the two lines"):
        hub_costs.with_figures(name, "# nothing here\n", COSTS)


def limits(values, page):
    """The limits and guarantees in the files, in MB."""
    memory = yaml.safe_load(values)["singleuser"]["memory"]
    (littlest,) = re.findall(r"limits\.memory (\d+M)$", page, re.MULTILINE)
    return [int(each.removesuffix("M")) for each in (memory["guarantee"], memory["limit"], littlest)]


def test_the_limits_are_those_that_follow_from_the_figures():
    expected = [hub_costs.guarantee(COSTS), hub_costs.limit(COSTS), hub_costs.limit(COSTS)]
    assert limits(VALUES, PAGE) == expected
    assert limits(changed(f"limit: {expected[1]}M", "limit: 100M"), PAGE) != expected


def test_every_lesson_was_measured():
    numbers = {path.name[:2] for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    assert set(COSTS["lessons"]) == numbers and COSTS["machine"]["fluxlite"] == fluxlite.__version__
    for number, one in COSTS["lessons"].items():
        assert 0 < one["kernel"]["own"] <= one["kernel"]["resident"] <= one["kernel"]["peak"], number
        assert 0 < one["longest cell"] <= one["seconds"], number


def test_what_the_page_names_is_there():
    for path in re.findall(r"hub/[\w.-]+\.\w+", PAGE + VALUES):
        assert (ROOT / path).is_file(), path
    command = ["sudo", "install", "-m", "644", "hub/littlest.py", "/opt/tljh/config/jupyterhub_config.d/fluxlite.py"]
    assert " ".join(command) in PAGE and command[-1] in (HUB / "littlest.py").read_text(encoding="utf-8")
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert all(f"def {name}(session" in noxfile for name in re.findall(r"nox -s (\w+)", PAGE))
