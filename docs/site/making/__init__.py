"""What the pages of the site are made from: the lessons, the library's docstrings, the repository's own pages."""
