"""The site as it's made: every name, no dead link, nothing from elsewhere, and what Chromium and axe-core say.

FLUXLITE_SITE names the folder of one that was made already; without it, one is made here.
"""

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import browsers
import pytest

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "docs" / "site"), str(ROOT)]

from making import check, reference  # noqa: E402

MISSING = [name for name in ("sphinx", "myst_nb", "sphinx_book_theme") if find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not installed: the extra is site"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site's HTML."""
    if os.environ.get("FLUXLITE_SITE"):
        return Path(os.environ["FLUXLITE_SITE"]).resolve()
    folder = tmp_path_factory.mktemp("site") / "made"
    nowhere = dict.fromkeys(["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"], "http://127.0.0.1:9")
    command = [sys.executable, str(ROOT / "docs" / "site" / "make.py"), str(folder)]
    environment = {**os.environ, **nowhere, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


# -- what's there -------------------------------------------------------------------------------------------------


def test_every_public_name_is_in_the_reference(site):
    anchors = {anchor for page, html in check.pages(site).items() if page.startswith("api/") for anchor in html.anchors}
    names = [f"{module}.{name}" for module, name in reference.every_name()]
    assert len(names) > 280 and [name for name in names if name not in anchors] == []


def test_no_backticks_or_markup_are_left_over(site):
    for path in (site / "api").glob("*.html"):
        text = re.sub(r"<[^>]+>", "", re.sub(r"<(pre|script|style)\b.*?</\1>", "", path.read_text("utf-8"), flags=re.S))
        assert not re.search(r"`|:py:obj:", text), f"{path.name}: {re.search(r'.{0,60}(`|:py:obj:).{0,60}', text)[0]}"


def test_no_link_is_dead_and_nothing_comes_from_elsewhere(site):
    assert list(check.complaints(site)) == []


def test_planted_links_are_noticed(tmp_path):
    (tmp_path / "b.html").write_text('<p id="here">')
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#gone">2</a><a href="gone.html">3</a><a href="https://fluxml.ai">4'
        '</a><script src="https://cdn.example/x.js"></script><style>@import "//fonts.example/a.css";</style>'
    )
    (tmp_path / "c.css").write_text("a { background: url(data:image/png,A) } b { src: url(https://f.example/f) }")
    dead = ["b.html#gone, and b.html has no #gone", "gone.html"]
    loaded = ["a.html: https://cdn.example/x.js", "a.html: //fonts.example/a.css", "c.css: https://f.example/f"]
    assert list(check.complaints(tmp_path)) == [
        *(f"leads nowhere: a.html: {link}" for link in dead), *(f"from another computer: {load}" for load in loaded),
    ]  # fmt: skip


def test_lessons_keep_their_pictures_and_fold_their_answers(site):
    lessons = sorted((site / "lessons").glob("[0-9]*.html"))
    assert len(lessons) == len(list((ROOT / "notebooks").glob("[0-9]*.ipynb")))
    for path in lessons:
        text = path.read_text(encoding="utf-8")
        assert text.count('<details class="folded">') > 0 and "BEGIN SOLUTION" not in text
        open_text = re.sub(r'<details class="folded">.*?\n</details>', "", text, flags=re.S)
        assert "right       " not in open_text and "</strong> is right:" not in open_text
        assert "model_id" not in text
    assert (site / "lessons" / "01-arrays-on-a-gpu.html").read_text(encoding="utf-8").count("<img alt=") >= 2


# -- in a browser -------------------------------------------------------------------------------------------------

SHAPES = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
LOOKED_AT = ["index.html", "lessons/00-start-here.html", "lessons/02-models-that-move.html", "api/gradients.html",
             "api/fluxlite.cuda.jit.html", "teaching.html", "explore/index.html"]  # fmt: skip


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(site):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def opened(address):
    """Open a page: in which shape and theme. It says what the page asked of others, and its errors."""

    def open_page(page, shape="desktop", theme="light"):
        tab = chromium.new_context(viewport=SHAPES[shape], color_scheme=theme).new_page()
        tab.elsewhere, tab.errors = [], []
        away = lambda request: request.url.startswith((address, "data:")) or tab.elsewhere.append(request.url)  # noqa: E731
        tab.on("request", away)
        tab.on("requestfailed", lambda request: tab.errors.append(request.url))
        tab.on("pageerror", lambda error: tab.errors.append(str(error)))
        tab.goto(f"{address}/{page}", wait_until="load")
        return tab

    with browsers.chromium() as starter:
        chromium = starter.launch(executable_path=browsers.CHROMIUM, args=browsers.OPTIONS)
        yield open_page
        chromium.close()


@pytest.mark.parametrize(("shape", "theme"), [("desktop", "light"), ("phone", "dark")])
def test_axe_finds_nothing_serious(opened, shape, theme):
    found = []
    for page in LOOKED_AT:
        tab = opened(page, shape, theme)
        assert tab.evaluate("document.documentElement.dataset.theme") == theme
        tab.evaluate("document.querySelectorAll('main details').forEach(d => { d.open = true })")
        found += [(page, *one) for one in browsers.serious(tab)]
        if (page, shape, theme) == ("index.html", "desktop", "light"):  # a planted one is noticed
            tab.evaluate("document.querySelector('main p').innerHTML = '<img src=\"favicon.svg\"><button></button>'")
            assert {id for id, _ in browsers.serious(tab)} == {"image-alt", "button-name"}
    assert found == []


@pytest.mark.parametrize("shape", SHAPES)
def test_pages_fit_the_screen_and_load_only_from_here(opened, shape):
    for page in LOOKED_AT:
        tab = opened(page, shape)
        wide = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert (page, wide, tab.elsewhere, tab.errors) == (page, 0, [], [])


def test_the_search_finds_names_of_ours_and_of_flux(opened):
    for word, found in (("gelu", "fluxlite.gelu"), ("fleaves", "A model is a tree"), ("hardswish", "hardswish")):
        tab = opened(f"search.html?q={word}")
        tab.wait_for_function("document.querySelectorAll('#search-results li').length > 0")
        assert found in tab.inner_text("#search-results")


def test_an_answer_opens_by_keyboard(opened):
    tab = opened("lessons/02-models-that-move.html")
    answer = tab.locator("details.folded", has_text="The answer to 02-C")
    inside = answer.get_by_text("functor lets later moves in")
    assert not inside.is_visible()
    answer.locator("summary").focus()
    tab.keyboard.press("Enter")
    assert inside.is_visible()
