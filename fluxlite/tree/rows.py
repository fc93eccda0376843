"""The rows of a model, as it's shown: what stands at each place. Layers print by them, and `explain` draws them."""

from dataclasses import dataclass
from typing import Any

from ..annotations import Tree
from .flat import Again, Flat, KeyPath, Made, flatten, path_steps


@dataclass(eq=False)
class Row:
    """What stands at one place of a model. It has the rows of its parts, even where it was met before."""

    flat: Flat
    number: int  # of the place
    path: KeyPath
    left_out_by: type | None = None  # the class on the way here that says what trains in it, and doesn't name this

    @property
    def x(self) -> Any:
        return self.flat.at(self.number)

    @property
    def leaf(self) -> int | None:
        """The number of the leaf that stands here, the same at all places of a tie; None for what has parts."""
        return self.flat.leaf_at(self.number)

    @property
    def first_place(self) -> int:
        """The number of the place where it was met first: this one's, if it's new."""
        return self.flat.first_place(self.number)

    @property
    def branch(self) -> Made | Again | None:
        """How it's made of its parts; None for a leaf."""
        if self.leaf is not None:
            return None
        branch: Any = self.flat.recipe[-1 - self.number]
        if not branch.parts:
            branch = self.flat.recipe[-1 - self.first_place]
        return branch

    def rows(self) -> "list[Row]":
        """The rows of its parts."""
        branch = self.branch
        if branch is None:
            return []
        trainable = branch.kind.trainable_names
        found = []
        for step, part in zip(path_steps(branch), branch.parts):
            left_out_by = self.left_out_by
            if left_out_by is None and trainable is not None and step not in trainable:
                left_out_by = type(self.x)
            found.append(Row(self.flat, part, self.path + (step,), left_out_by))
        return found


def root_row(model: Tree) -> Row:
    """The row of a whole model. `ValueError` on a cycle."""
    flat = flatten(model)
    return Row(flat, flat.root, KeyPath())
