"""A model is a tree: what it's made of, which arrays in it are one parameter, and the walks over it.

Read `contract.py` first, then `flat.py`: how each type comes apart, and the one walk. `walks.py` stands on it.
"""
