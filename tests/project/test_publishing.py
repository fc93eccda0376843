"""What others read and we can't run here: GitHub's workflows and forms, the citation, the hooks, the container.

Each is linted, and each thing that it names has to be there. `make test EXTRAS=publish` brings the linters.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import fluxlite
from tools.links import PLACE

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))


def read(path):
    """A YAML file. GitHub's word `on` is YAML 1.1's word for true."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in content.items()}


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def nowhere(command):
    """What a command names that isn't there: files, modules, extras of pyproject.toml, sessions of noxfile.py."""
    extras = {name for match in re.findall(r'"?\.\[([\w,$]+)\]', command) for name in match.split(",")} - {"$CUDA"}
    sessions = set(re.findall(r"-m nox -s (\w+)", command))
    modules = set(re.findall(r"python3? -m ([\w.]+)", command)) - {"nox"}  # which runs sessions, and is an extra
    files = set(re.findall(r"(?<=[ =])(?:tools|tests|notebooks|fluxlite|benchmarks)(?:/[\w./*-]*)?(?= |$)", command))
    kept = set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE))
    return [
        *(extras - set(PROJECT["optional-dependencies"])), *(sessions - kept),
        *(name for name in modules if importlib.util.find_spec(name) is None),
        *(name for name in files if not list(ROOT.glob(name))),
    ]  # fmt: skip


def lint(*command):
    """A linter's exit code and words; skipped where it isn't installed."""
    program = shutil.which(command[0], path=Path(sys.executable).parent)
    if program is None:
        pytest.skip(f"{command[0]} is not installed: make test EXTRAS=publish")
    ran = subprocess.run([program, *command[1:]], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
    return ran.returncode, ran.stdout + ran.stderr


# -- workflows --------------------------------------------------------------------------------------------------------


def test_what_the_workflows_commands_name_is_there():
    for path in WORKFLOWS:
        for step in steps(read(path)):
            assert nowhere(step.get("run", "")) == [], (path.name, step)


def test_workflows_may_do_no_more_than_they_have_to():
    allowed = {"site.yml": {"publish": {"pages", "id-token"}}, "release.yml": {"publish": {"id-token"}}}
    for path in WORKFLOWS:
        workflow = read(path)
        assert workflow["permissions"] == {"contents": "read"}
        more = {name: set(job["permissions"]) for name, job in workflow["jobs"].items() if "permissions" in job}
        assert more == allowed.get(path.name, {})
        # A job that may do more runs nothing of ours: what it publishes was built without these rights.
        assert not [step for name in more for step in workflow["jobs"][name]["steps"] if "run" in step]
        # Nobody's pull request runs on a computer of ours.
        own = any("self-hosted" in job["runs-on"] for job in workflow["jobs"].values())
        assert not own or list(workflow["on"]) == ["workflow_dispatch"]


def test_only_a_release_that_is_ready_gets_published():
    release = read(GITHUB / "workflows" / "release.yml")
    assert 'tools/links.py release "$GITHUB_REF_NAME"' in "\n".join(s.get("run", "") for s in steps(release))
    assert release["jobs"]["publish"]["needs"] == "build" and release["jobs"]["publish"]["environment"]
    (tags,) = [re.compile(tag.replace("*", ".*")) for tag in release["on"]["push"]["tags"]]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["fluxlite"]
    assert tags.fullmatch(settings["lessons"].format(version=fluxlite.__version__))
    assert not tags.fullmatch(settings["tag"].format(version=fluxlite.__version__))


SCHEMAS = {
    "github-workflows": WORKFLOWS, "dependabot": [GITHUB / "dependabot.yml"], "github-issue-forms": FORMS,
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"], "citation-file-format": [ROOT / "CITATION.cff"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCHEMAS)
def test_each_file_is_what_its_readers_expect(kind):
    code, said = lint("check-jsonschema", "--builtin-schema", f"vendor.{kind}", *SCHEMAS[kind])
    assert SCHEMAS[kind] and code == 0, said


@pytest.mark.slow
def test_nothing_in_the_workflows_can_be_abused():
    code, said = lint("zizmor", "--offline", "--quiet", GITHUB)
    assert code == 0, said


# -- what people read ------------------------------------------------------------------------------------------------


def test_the_citation_is_one():
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == fluxlite.__version__ and citation["license"] == PROJECT["license"]
    # As soon as there's an address, it belongs in here.
    assert citation.get("repository-code") == (f"https://github.com/{PLACE.repository}" if PLACE else None)
