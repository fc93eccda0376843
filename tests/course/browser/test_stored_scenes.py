"""Every scene as the notebooks store it: unpacked, moved, light and dark, without a host; axe-core reads it, too.

Set FLUXLITE_SCREENSHOTS to a folder, and its pictures lie there for you to look at.
"""

import json
import os
from pathlib import Path

import pytest
from browsers import serious
from front_ends import ROOT

pytestmark = pytest.mark.slow

SHOTS = os.environ.get("FLUXLITE_SCREENSHOTS")
THEMES = {"light": ("#fff", "#111"), "dark": ("#111", "#eee")}

# Letters outside of their scene, or too small to be read; what's shown in no state has no size.
CROOKED = """all => all.flatMap(scene => {
  const box = scene.getBoundingClientRect();
  return [...scene.querySelectorAll("text")].filter(text => {
    const r = text.getBoundingClientRect();
    return r.width && (r.left < box.left - 2 || r.right > box.right + 2 || r.height < 9);
  }).map(text => text.textContent);
})"""
# Each knob of each scene to this share of its way.
TURNED = """share => document.querySelectorAll(".fluxlite-scene form").forEach(form => {
  for (const input of form.querySelectorAll("input[type=range]")) {
    input.value = Math.round(share * input.max);
    input.dispatchEvent(new Event("input"));
  }
  for (const group of form.querySelectorAll("fieldset")) {
    const options = group.querySelectorAll("input");
    options[Math.round(share * (options.length - 1))].click();
  }
})"""


def scenes():
    """The scenes of each notebook, as HTML."""
    found = {}
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        pages = ["".join(o.get("data", {}).get("text/html", "")) for c in cells for o in c.get("outputs", [])]
        found[path.stem] = [page for page in pages if page.startswith('<div class="fluxlite-packed"')]
    return {name: pages for name, pages in found.items() if pages}


SCENES = scenes()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", SCENES)
def test_each_scene_of_a_notebook_moves_and_can_be_read(browser, tmp_path, name, theme):
    ground, ink = THEMES[theme]
    look = f"--jp-layout-color0:{ground};background:{ground};color:{ink};font-family:sans-serif"
    file, wrong = tmp_path / "scenes.html", []
    file.write_text(
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{name}</title><body style="{look}"><main>'
        f"<h1>{name}</h1>{'<hr>'.join(SCENES[name])}</main></body></html>", encoding="utf-8",
    )  # fmt: skip
    page = browser.new_page(viewport={"width": 1024, "height": 700}, color_scheme=theme)
    page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text))
    page.goto(file.as_uri())
    page.wait_for_function(f"document.querySelectorAll('.fluxlite-scene[data-on]').length == {len(SCENES[name])}")
    before = page.inner_html("main")
    for share in (1, 0.5, 0):
        page.evaluate(TURNED, share)
        page.wait_for_timeout(400)  # until all has glided to its place
        if SHOTS:
            page.screenshot(path=Path(SHOTS) / f"scenes-{name}-{theme}-{share}.png", full_page=True)
        assert page.eval_on_selector_all(".fluxlite-picture", CROOKED) == []
        moves = page.locator(".fluxlite-scene form > *").count()
        assert share < 1 or not moves or page.inner_html("main") != before, "nothing moves"
    assert serious(page) == []
    assert wrong == []
    page.close()
