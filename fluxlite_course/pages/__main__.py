"""``python -m fluxlite_course.pages FOLDER``: write the pages to explore into a folder."""

import argparse

from . import write_pages

if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m fluxlite_course.pages", description="Writes four pages to explore.")
    parser.add_argument("folder", help="where to")
    parser.add_argument("--lessons", default="", help="the address of the lessons' folder, for a link in each page")
    parser.add_argument("--back", default="", help="the address of a page that lists them")
    asked = parser.parse_args()
    for path in write_pages(asked.folder, asked.lessons, asked.back):
        print(f"{path}: {path.stat().st_size:,} bytes")
