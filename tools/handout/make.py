"""What a class gets: the lessons, fluxlite, and a start page for each system, as one zip file or as a folder.

    python tools/handout/make.py                    build/fluxlite-course-VERSION.zip: to mail, or for your platform
    python tools/handout/make.py --folder DIR       the same as a folder, such as a repository for nbgitpuller
    python tools/handout/make.py 00-07              a course of these lessons
    python tools/handout/make.py --stick            with all wheels too, so that nobody needs a network
    python tools/handout/make.py --browser          with the edition that runs in a browser

The lessons in it have no outputs but printed text: Jupyter shows films only on the computer where they were made.
"""

from __future__ import annotations

import argparse
import html
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

import fluxlite  # noqa: E402
from fluxlite_course.kit import course  # noqa: E402
from fluxlite_course.kit.copies import FOLDER, hand_out  # noqa: E402
from fluxlite_course.kit.lab import first_lesson  # noqa: E402
from tools.links import on_hub_from  # noqa: E402
from tools.wheelhouse import fill, our_wheel  # noqa: E402

NAME = "fluxlite-course"  # of the folder inside the zip file
BROWSER = "browser"  # the folder of the edition that runs there
PACKED = {".whl", ".gz", ".png", ".zip"}  # packing these again only takes time


class System(NamedTuple):
    """What a start page says on one system."""

    name: str
    python: str  # how Python is called
    inside: str  # and the one that the course gets
    between: str  # the parts of a path
    terminal: str  # how to open one in a folder
    newer: str  # how to get a Python that's new enough


SYSTEMS = {
    "windows": System(
        "Windows", "py", r".venv\Scripts\python", "\\",
        "Unpack the zip file: right-click it, <b>Extract All</b>. Open the folder that you get, right-click an empty "
        "place in it, and choose <b>Open in Terminal</b>.",
        "download the installer from python.org",
    ),
    "macos": System(
        "macOS", "python3", ".venv/bin/python", "/",
        "Unpack the zip file with a double click. Open Terminal, type <code>cd</code> and a space, drag the folder "
        "that you got into the window, and press Return.",
        "download the installer from python.org; what macOS itself has is too old",
    ),
    "linux": System(
        "Linux", "python3", ".venv/bin/python", "/",
        "Unpack the zip file, and open a terminal in the folder that you get.",
        "your system's packages have one, such as <code>python3.12</code> and <code>python3.12-venv</code>",
    ),
}  # fmt: skip


def install_lines(system: System, wheel: str, with_all_wheels: bool) -> list[str]:
    """What to type for installing; the last line says READY."""
    check = f"{system.inside} -m fluxlite check"
    if with_all_wheels:
        return [f"{system.python} install_offline.py ."]  # which ends with that check
    ours = system.between.join(["wheels", wheel])
    return [
        f"{system.python} -m venv .venv",
        # Not by its name alone: then anyone who took that name on the package index could run code here.
        f'{system.inside} -m pip install -c constraints.txt "{ours}[lab]"',
        check,
    ]


def start_page(system: System, wheel: str, with_all_wheels: bool, with_browser: bool) -> str:
    """The three steps, as a page that needs nothing."""
    network = "You need no network." if with_all_wheels else "Step 2 needs a network."
    served = f"{system.python} -m http.server --directory {BROWSER}"
    elsewhere = (
        "<h2>Or in your browser</h2><p>Nothing gets installed, but Python has to send the pages. Instead of steps "
        f"2 and 3, type this line, and open <code>http://localhost:8000</code>.</p><pre>{served}</pre>"
    )
    install = install_lines(system, wheel, with_all_wheels)
    words = {
        "version": fluxlite.__version__,
        "system": system.name,
        "network": network,
        "terminal": system.terminal,
        "ask": f"{system.python} --version",
        "newer": system.newer,
        "install": "\n".join(f"<pre>{html.escape(line)}</pre>" for line in install),
        "lab": f"{system.inside} -m fluxlite lab",
        "elsewhere": elsewhere if with_browser else "",
    }
    page = (HERE / "start.html").read_text(encoding="utf-8")
    for word, value in words.items():
        page = page.replace(f"@{word}@", value)
    return page


def write(folder: Path, stick: Path | None = None, browser: Path | None = None, lessons: Sequence[str] = ()) -> None:
    """Write all of it into a folder, over what an earlier time wrote there. Whatever else is there stays.

    `lessons` are those of a shorter course.
    """
    if lessons:
        course.keep(folder / FOLDER, lessons)
    for line in hand_out(folder / FOLDER):
        print(line)
    wheels = folder / "wheels"
    if stick is not None:
        copy_wheels(stick, folder)
    wheel = our_wheel(wheels).name
    for name in ("constraints.txt", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    if browser is not None:
        shutil.rmtree(folder / BROWSER, ignore_errors=True)
        shutil.copytree(browser, folder / BROWSER)
    for name, system in SYSTEMS.items():
        page = start_page(system, wheel, stick is not None, browser is not None)
        (folder / f"start-{name}.html").write_text(page, encoding="utf-8")


def copy_wheels(stick: Path, folder: Path) -> None:
    """Take what `make wheelhouse` made. Raises `ValueError` if a folder isn't that."""
    if not (stick / "wheels").is_dir():
        raise ValueError(f"{stick} has no folder 'wheels': name one that make wheelhouse has made, or none")
    shutil.copytree(stick / "wheels", folder / "wheels", dirs_exist_ok=True)
    shutil.copy(ROOT / "tools" / "install_offline.py", folder)


def zipped(folder: Path, file: Path) -> None:
    """Pack a folder into a zip file, in a folder of its own."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", strict_timestamps=False) as archive:
        for path in sorted(folder.rglob("*")):
            kind = zipfile.ZIP_STORED if path.suffix in PACKED else zipfile.ZIP_DEFLATED
            archive.write(path, Path(NAME, path.relative_to(folder)), kind)


def made_here(asked: argparse.Namespace) -> tuple[Path | None, Path | None]:
    """The folders with all wheels and with the browser's edition, made now unless named; None if not asked for."""
    stick, browser = asked.stick, asked.browser
    if stick is True:
        stick = ROOT / "wheelhouse"
        fill(stick)
    if browser is True:
        browser = ROOT / "build" / "lite"
        subprocess.run([sys.executable, ROOT / "tools" / "lite" / "make.py", browser], check=True)
    return stick, browser


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Make what a class gets: lessons, fluxlite and start pages.", allow_abbrev=False
    )
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="a course of these: 00-07, or 00 03 05")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="write a folder, in place of a zip file in build/")
    parser.add_argument(
        "--stick", nargs="?", type=Path, const=True, metavar="WHEELHOUSE",
        help="with all wheels, so that nobody needs a network; those of a folder that make wheelhouse has made",
    )  # fmt: skip
    parser.add_argument(
        "--browser", nargs="?", type=Path, const=True, metavar="SITE",
        help="with the edition that runs in a browser; that of a folder that make lite has made",
    )  # fmt: skip
    asked = parser.parse_args(arguments)
    for given, has in ((asked.stick, "wheels"), (asked.browser, "index.html")):
        if given not in (None, True) and not (given / has).exists():
            parser.error(f"there's no {has} in {given}")
    try:
        lessons = course.chosen(asked.lessons)
    except ValueError as error:
        parser.error(str(error))
    stick, browser = made_here(asked)
    if asked.folder is not None:
        write(asked.folder, stick, browser, lessons)
        print(f"{asked.folder} is what a class gets. As a repository for nbgitpuller, its link is")
        print(f"    {on_hub_from(asked.folder.absolute().name, f'{FOLDER}/{first_lesson(asked.folder / FOLDER)}')}")
        return 0
    file = ROOT / "build" / f"{NAME}-{fluxlite.__version__}.zip"
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), stick, browser, lessons)
        zipped(Path(folder), file)
    size = f"{file.stat().st_size / 1e6:,.1f} MB"
    print(f"{file.relative_to(ROOT)}: {size}. Learners unpack it, and open start-….html there.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (ValueError, RuntimeError) as error:
        sys.exit(str(error))
