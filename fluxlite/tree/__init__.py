"""A model is a tree: what it is made of, which arrays in it are one parameter, and the walks over it.

Read `contract.py` first: how each type comes apart and is built again. `walks.py` stands on it.
"""

from . import closures  # noqa: F401  (enters functions and methods into the contract)
