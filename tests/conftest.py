"""Shared by all tests. What examples in docstrings may use is set in the conftest.py beside fluxlite/."""

from hypothesis import settings

# A time limit for one example says more about the machine than about the code.
settings.register_profile("fluxlite", deadline=None, max_examples=60)
settings.load_profile("fluxlite")
