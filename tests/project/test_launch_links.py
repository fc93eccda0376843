"""The links to Colab, Kaggle, Binder and GitHub, and what the learners' first cell installs: only from our own place.

That place is what pyproject.toml names. As long as it names none, there are no links, and nothing is fetched. Both
states are tested, whichever pyproject.toml is in.
"""

import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import nbformat
import pytest

import fluxlite
from tools import notebooks as tool
from tools.links import PLACE, not_to_be_released, published

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted(path.name for path in (ROOT / "notebooks" / "learner").glob("[0-9]*.ipynb"))
FIRST = "notebooks/learner/00-start-here.ipynb"
HOSTS = {"colab.research.google.com", "kaggle.com", "mybinder.org", "github.com", "YOUR-HUB"}
PICTURES = {"/assets/colab-badge.svg", "/badge_logo.svg", "/static/images/open-in-kaggle.svg"}
SETTINGS = {"repository": "a/b", "sha256": "0123456789abcdef" * 4, "tag": "v{version}", "lessons": "v{version}-x"}
OPENED, INSTALLED = f"v{fluxlite.__version__}-x", f"v{fluxlite.__version__}"


def made(place):
    """What `make exercises` makes for a place where the project is published, or for none: by path."""
    files = tool.learners(place) | tool.pages(place)
    return {path.relative_to(ROOT).as_posix(): text for path, text in files.items()}


@pytest.fixture(scope="module")
def pages():
    return made(published(SETTINGS))


@pytest.fixture(scope="module")
def unpublished():
    return made(None)


def written(name, text):
    """The text of a page, or of a notebook's cells."""
    if name.endswith(".md"):
        return text
    return "\n".join(cell.source for cell in nbformat.reads(text, as_version=4).cells)


def links(text):
    """The links in a text to Colab, Kaggle, Binder or GitHub."""
    found = map(urlsplit, re.findall(r"https?://[^\s)\"'<>`]+", text))
    return [link for link in found if link.netloc in HOSTS and link.path not in PICTURES]


# How each site's addresses name a repository, a tag, and a path in it; the path is missing for the whole repository.
SHAPES = [
    r"https://colab.research.google.com/github/(\w+/\w+)/blob/([^/]+)/(.+)",
    r"https://kaggle.com/kernels/welcome\?src=https://github.com/(\w+/\w+)/blob/([^/]+)/(.+)",
    r"https://mybinder.org/v2/gh/(\w+/\w+)/([^/?]+)\?urlpath=lab/tree/(.+)",
    r"https://YOUR-HUB/hub/user-redirect/git-pull\?repo=https://github.com/(\w+/(\w+))&.*&urlpath=lab/tree/\2/(.+)",
    r"https://github.com/(\w+/\w+)/archive/([^/]+)\.zip()",
    r"https://github.com/([\w.-]+/[\w.-]+)(?:/(?:blob|tree|raw)/([^/]+)/(.+))?(?:/.*)?",
]


def target(link):
    """Where a link leads: the repository, the tag, and the path in it, or None for the whole repository."""
    found = next(filter(None, (re.fullmatch(shape, unquote(link._replace(fragment="").geturl())) for shape in SHAPES)))
    repository, tag, path = found.groups()
    return repository, None if link.netloc == "YOUR-HUB" else tag, path or None


def wrong(text):
    """The links that lead elsewhere, or to something that doesn't exist."""
    found = []
    for link in links(text):
        repository, tag, path = target(link)
        if link.netloc == "github.com" and repository.partition("/")[2] not in ("b", "fluxlite"):
            continue  # a GitHub repository with any other name isn't ours
        right = INSTALLED if "/archive/" in link.path else OPENED
        if repository != "a/b" or tag not in (None, right) or not (ROOT / (path or "")).exists():
            found.append(link.geturl())
    return found


# -- while it's published nowhere -----------------------------------------------------------------------------------


def test_what_is_here_is_what_the_command_makes():
    for name, text in made(PLACE).items():
        assert text == (ROOT / name).read_text(encoding="utf-8"), name


def test_without_a_repository_nothing_leads_or_fetches_from_anywhere(unpublished):
    for name, text in unpublished.items():
        page = written(name, text)
        ours = [link for link in links(page) if "YOUR-SERVER" not in link.query]
        assert [link.geturl() for link in ours if "fluxlite" in link.geturl() or link.netloc != "github.com"] == []
        if name.endswith(".ipynb"):
            assert not re.search(r"^\s*[%!]\s*(pip|conda|uv)\b", page, re.MULTILINE), name


def test_nobodys_repository_and_no_package_index_is_named():
    """Who takes a name that we don't own could run code on the computers of those who follow what we say."""
    mine = Path(__file__).name
    folders = ("fluxlite", "notebooks", "tools", "tests", "benchmarks", "binder", "docs", ".github", ".devcontainer")
    no_text = {".png", ".gif", ".npz", ".pyc", ".safetensors", ".zip"}
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix not in no_text]
    files += [path for path in ROOT.iterdir() if path.suffix in (".md", ".py", ".toml", ".txt", ".yml", "")]
    said = re.compile(r"""fluxlite/fluxlite\b(?![/.]\w)|pip3? install (-\S+ )*["']?fluxlite\b(?! *@)""")
    for path in files:
        if path.is_file() and path.name != mine:
            assert not said.search(path.read_text(encoding="utf-8")), path
    for text in ("https://github.com/fluxlite/fluxlite", "pip install fluxlite", 'pip install -q "fluxlite[lab]"'):
        assert said.search(text), "it would not be noticed"


# -- when it's published --------------------------------------------------------------------------------------------


def test_one_setting_makes_every_link_and_all_lead_to_what_is_there(pages):
    assert {name: wrong(written(name, text)) for name, text in pages.items()} == dict.fromkeys(pages, [])
    opened = {link.netloc for link in links(pages["README.md"]) if target(link)[2] == FIRST}
    assert opened == {"colab.research.google.com", "kaggle.com", "mybinder.org"}
    for name in ("notebooks/TEACHING.md", "docs/hub/README.md"):
        (link,) = [link for link in links(pages[name]) if link.netloc == "YOUR-HUB"]
        assert target(link) == ("a/b", None, FIRST) and parse_qs(link.query)["branch"] == ["YOUR-BRANCH"]


@pytest.mark.parametrize("host", ["colab.research.google.com", "kaggle.com"])
def test_each_copy_can_be_opened_elsewhere_and_so_can_what_it_links_to(host, pages):
    """On Colab and on Kaggle a path leads nowhere. So the next lesson, the words and all others have an address."""
    for name in [*LESSONS, "words.ipynb"]:
        own = f"notebooks/learner/{name}"
        text = written(name, pages[own])
        if name in LESSONS:
            colab, kaggle, binder, archive, *_ = links(text)
            assert [target(link) for link in (colab, kaggle, binder)] == [("a/b", OPENED, own)] * 3
            assert target(archive) == ("a/b", INSTALLED, None) and archive.fragment == f"sha256={SETTINGS['sha256']}"
        paths = {f"notebooks/learner/{path}" for path in re.findall(r"\]\(([\w-]+\.ipynb)", text)}
        twins = {target(link)[2] for link in links(text) if link.netloc == host} - {own}
        after = dict(zip(LESSONS, LESSONS[1:])).get(name)
        assert paths and twins == paths and (after is None or f"notebooks/learner/{after}" in twins), name


@pytest.mark.parametrize("sha256", ["", "x" * 64])
def test_without_the_archives_hash_nothing_is_made(sha256):
    with pytest.raises(ValueError, match="needs sha256, the 64 digits of sha256sum for https://github.com/a/b/arch"):
        published({**SETTINGS, "sha256": sha256})
    assert published({**SETTINGS, "repository": "", "sha256": sha256}) is None


# -- a package index -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "old", "new", "why"),
    [
        ("CHANGELOG.md", "", "", ""),
        ("pyproject.toml", "a/b", "", "names no repository"),
        ("pyproject.toml", SETTINGS["sha256"], "abc", "needs sha256"),
        ("fluxlite/__init__.py", "3.0.0", "3.1.0", "is made of the tag v3.1.0-x, which has the links in it; this"),
        ("CHANGELOG.md", "3.0.0", "2.0.0", "CHANGELOG.md has no heading '## 3.0.0"),
        ("CHANGELOG.md", "2027-01-01", "unreleased", "says that 3.0.0 is unreleased"),
    ],
)
def test_what_is_missing_for_a_release_is_named(tmp_path, file, old, new, why):
    table = "\n".join(f'{name} = "{value}"' for name, value in SETTINGS.items())
    project = {
        "fluxlite/__init__.py": '__version__ = "3.0.0"\n', "CHANGELOG.md": "# Changelog\n\n## 3.0.0 (2027-01-01)\n",
        "pyproject.toml": f"[tool.fluxlite]\n{table}\n",
    }  # fmt: skip
    (tmp_path / "fluxlite").mkdir()
    for name, text in project.items():
        (tmp_path / name).write_text(text.replace(old, new) if name == file and old else text)
    said = not_to_be_released("v3.0.0-x", tmp_path)
    assert why in said if why else not said
