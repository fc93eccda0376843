"""The README's picture: the race of lesson 00, with one wave and then with 65,536, filmed in Chromium.

python tools/picture.py
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # so that --help needs neither Pillow nor Playwright
    from PIL import Image
    from playwright.sync_api import Locator

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from fluxlite_course.lesson00.pictures import race  # noqa: E402

FRAME, END = 90, 2500  # how long each is shown, in milliseconds: a moment of the race, and how it ends
PAGE = '<!DOCTYPE html><meta charset="utf-8"><body style="margin: 12px; padding: 0 8px; font-family: sans-serif">'


def move(slider: Locator, at: int) -> None:
    slider.evaluate("(slider, at) => { slider.value = at; slider.dispatchEvent(new Event('input')); }", at)


def film() -> tuple[list[Image.Image], list[int]]:
    """The frames, and how long each is shown."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    scene = race()
    waves, times = (len(knob.options) for knob in scene.knobs)
    frames = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": 664, "height": 370}, device_scale_factor=1.25, reduced_motion="reduce"
        )
        page.set_content(PAGE + scene._repr_html_())
        of_waves, of_time = page.locator("input[type=range]").all()
        for number in (0, waves - 1):
            move(of_waves, number)
            for time in range(times):
                move(of_time, time)
                frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
        browser.close()
    return frames, 2 * [*[FRAME] * (times - 1), END]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Film the README's picture, docs/race.gif, in Chromium.")
    parser.parse_args(arguments)
    from PIL import Image

    frames, shown = film()
    # One palette for all, so that a frame is what changes in it; of a frame in which there are all colours.
    palette = frames[len(frames) // 4].quantize(32, dither=Image.Dither.NONE)
    first, *more = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first.save(ROOT / "docs" / "race.gif", save_all=True, append_images=more, duration=shown, loop=0, optimize=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
