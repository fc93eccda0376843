"""The links to Colab, Binder and GitHub: all lead to the place that pyproject.toml names, and to existing files."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest

import fluxlite

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["fluxlite"]
PLACE = (PUBLISHED["repository"], PUBLISHED["tag"].format(version=fluxlite.__version__))
LEARNERS = sorted((ROOT / "notebooks" / "learner").glob("*.ipynb"))
TEACHING = ROOT / "notebooks" / "TEACHING.md"
HOSTS = {"colab.research.google.com", "mybinder.org", "github.com", "YOUR-HUB"}
PICTURES = {"/assets/colab-badge.svg", "/badge_logo.svg"}
OURS = {"fluxlite", PLACE[0].partition("/")[2]}  # a GitHub repository with any other name isn't ours


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "tools" / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(path):
    """The text of a page, or of a notebook's cells."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    return "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)


def links(text):
    """The links in a text to Colab, Binder or GitHub."""
    found = map(urlsplit, re.findall(r"https?://[^\s)\"'<>`]+", text))
    return [link for link in found if link.netloc in HOSTS and link.path not in PICTURES]


def target(link):
    """Where a link leads: the repository, the tag, and the path in it, or None for the whole repository."""
    parts = link.path.strip("/").split("/")
    if link.netloc == "mybinder.org":
        assert parts[:2] == ["v2", "gh"]
        path = parse_qs(link.query)["urlpath"][0].removeprefix("lab/tree/")
        return "/".join(parts[2:4]), "/".join(parts[4:]), path
    if link.netloc == "YOUR-HUB":  # a teacher's own branch, in a folder named like the repository
        asked = parse_qs(link.query)
        repository = asked["repo"][0].removeprefix("https://github.com/")
        folder, _, path = asked["urlpath"][0].removeprefix("lab/tree/").partition("/")
        return repository if folder == repository.partition("/")[2] else folder, None, path
    if link.netloc == "colab.research.google.com":
        assert parts.pop(0) == "github"
    repository, kind, rest = "/".join(parts[:2]), parts[2] if len(parts) > 2 else "", parts[3:]
    if kind == "archive":
        return repository, rest[0].removesuffix(".zip"), None
    if kind in ("blob", "tree"):
        return repository, rest[0], "/".join(rest[1:])
    return repository, None, None


def wrong(text):
    """The links that lead elsewhere, or to something that doesn't exist."""
    found = []
    for link in links(text):
        repository, tag, path = target(link)
        if link.netloc == "github.com" and repository.partition("/")[2] not in OURS:
            continue
        if repository != PLACE[0] or tag not in (None, PLACE[1]) or not (ROOT / (path or "")).exists():
            found.append(link.geturl())
    return found


@pytest.mark.parametrize("path", [ROOT / "README.md", TEACHING, *LEARNERS], ids=lambda path: path.name)
def test_every_link_leads_to_the_published_place_and_to_what_is_there(path):
    assert wrong(written(path)) == []


@pytest.mark.parametrize("path", LEARNERS, ids=lambda path: path.stem)
def test_a_copy_can_be_opened_on_colab_and_binder_and_installs_the_same_version(path):
    colab, binder, archive, *_ = links(written(path))
    own = f"notebooks/learner/{path.name}"
    assert [target(link) for link in (colab, binder)] == [(*PLACE, own)] * 2
    assert target(archive) == (*PLACE, None)


def test_on_colab_each_lesson_leads_to_the_next():
    for path, after in zip(LEARNERS, [*LEARNERS[1:], None]):
        found = [target(link)[2] for link in links(written(path)) if link.netloc == "colab.research.google.com"]
        assert found[1:] == ([f"notebooks/learner/{after.name}"] if after else []), path.name


def test_the_readme_opens_the_first_lesson():
    first = "notebooks/learner/00-start-here.ipynb"
    opened = {link.netloc: target(link)[2] for link in links(written(ROOT / "README.md")) if target(link)[2] == first}
    assert {"colab.research.google.com", "mybinder.org"} <= set(opened)


def test_the_hub_opens_the_first_lesson_of_a_teachers_branch():
    (link,) = [link for link in links(written(TEACHING)) if link.netloc == "YOUR-HUB"]
    assert target(link) == (PLACE[0], None, "notebooks/learner/00-start-here.ipynb")
    assert parse_qs(link.query)["branch"] == ["YOUR-BRANCH"]


def test_the_pages_are_what_the_command_makes(tool):
    assert tool.readme() == (ROOT / "README.md").read_text(encoding="utf-8")
    assert tool.teaching() == TEACHING.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "link",
    [
        "https://github.com/somebody/fluxlite",
        "https://github.com/{}/blob/v0.0.1/README.md",
        "https://github.com/{}/blob/{}/notebooks/learner/99-nothing.ipynb",
        "https://colab.research.google.com/github/{}/blob/main/notebooks/learner/00-start-here.ipynb",
        "https://mybinder.org/v2/gh/{}/{}?urlpath=lab%2Ftree%2Fnotebooks%2Flearner%2F99.ipynb",
        "https://YOUR-HUB/hub/user-redirect/git-pull?repo=https%3A%2F%2Fgithub.com%2Fa%2Fb&urlpath=lab%2Ftree%2Fb%2FREADME.md",
        "https://YOUR-HUB/hub/user-redirect/git-pull?repo=https%3A%2F%2Fgithub.com%2F{}&urlpath=lab%2Ftree%2Fx%2FREADME.md",
    ],
)
def test_a_wrong_link_is_noticed(link):
    assert wrong(f"[see]({link.format(*PLACE)})") == [link.format(*PLACE)]


def test_one_line_moves_every_link(tool, monkeypatch, tmp_path):
    (tmp_path / "notebooks").mkdir()
    for name in ("README.md", "pyproject.toml", "notebooks/TEACHING.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "REPOSITORY", "a/b")
    assert {target(link)[0] for page in (tool.readme(), tool.teaching()) for link in links(page)} == {"a/b"}
    (tmp_path / "README.md").write_text("# nothing here\n")
    with pytest.raises(ValueError, match="needs the two lines"):
        tool.readme()


def test_where_installing_fails_one_line_says_so():
    """Instead of a bare ModuleNotFoundError in the cell below."""
    (cell,) = [cell for cell in nbformat.read(LEARNERS[3], as_version=4).cells if cell.id == "install"]
    program = f"""
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="NoColor")
sys.modules["fluxlite"] = None  # it is not to be found, before and after
shell.register_magic_function(lambda line: print("ERROR: no network"), "line", "pip")
print("RAISED", type(shell.run_cell({cell.source!r}).error_in_exec).__name__)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0 and "RAISED SystemExit" in ran.stdout, ran.stderr
    assert "fluxlite could not be installed; the lines above say why." in ran.stdout + ran.stderr
    assert "ERROR: no network" in ran.stdout and "ModuleNotFoundError" not in ran.stdout + ran.stderr
