"""The site: its pages are written, then Sphinx makes HTML of them. It takes no network, and runs no lesson.

make site                          into build/site/html
python docs/site/make.py FOLDER    into FOLDER/html
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OURS = ".made-by-make-site"  # a folder with this file may be emptied
sys.path[:0] = [str(HERE), str(ROOT)]


def make(folder: Path) -> int:
    """Make the site in `folder`: its pages in `pages`, the site in `html`. Returns 0 if there is no complaint."""
    from making import check, pages
    from sphinx.cmd.build import main as sphinx

    for old in ("pages", "doctrees", "html"):  # nothing is left from an earlier site
        shutil.rmtree(folder / old, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / OURS).touch()
    pages.write(folder / "pages")
    # -W: a warning, such as a dead link, is an error.
    told = ["-b", "html", "-c", str(HERE), "-d", str(folder / "doctrees"), "-q", "-W", "--keep-going"]
    done = sphinx([*told, str(folder / "pages"), str(folder / "html")])
    wrong = list(check.complaints(folder / "html"))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return done or (1 if wrong else 0)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make the site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site", help="where; build/site")
    folder = parser.parse_args(arguments).folder.resolve()
    missing = [name for name in ("sphinx", "myst_nb", "sphinx_book_theme") if find_spec(name) is None]
    if missing:
        print(f"{', '.join(missing)} isn't installed. This installs it: make site, or pip install -e '.[site]'")
        return 2
    os.environ.pop("FLUXLITE_GPU_BACKEND", None)  # a page says what's so on any computer
    if folder.exists() and any(folder.iterdir()) and not (folder / OURS).exists():
        print(f"{folder} has other files in it. Name a new folder, so that nothing is lost.")
        return 1
    done = make(folder)
    print(f"Open {folder / 'html' / 'index.html'}" if done == 0 else "The lines above say what's wrong.")
    return done


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
