"""What ``help()`` prints: short, and without addresses."""

import pydoc
import re

import pytest

import fluxlite as fl

# Where more belongs: modules list their functions, a device its methods.
LONGER = {"Device": 70, "cuda": 90, "distributed": 100}


@pytest.mark.parametrize("name", [name for name in fl.__all__ if name != "GPU_BACKEND"])
def test_help_is_short(name):
    text = pydoc.render_doc(getattr(fl, name), renderer=pydoc.plaintext)
    text = re.sub(r"\(\n.*?\n[ |]*\)", "(…)", text, flags=re.DOTALL)  # since 3.13, each parameter may have a line
    assert len(text.splitlines()) <= LONGER.get(name, 40) and " at 0x" not in text
