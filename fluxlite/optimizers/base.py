"""What an optimizer's rule is: what it remembers of a parameter, and by how much it changes it."""

from __future__ import annotations

import functools
import math
from typing import Any

from ..arguments import check_bool, in_words
from ..arrays import fusing
from ..coming_from import KEYWORDS, hint
from ..errors import check_number
from ..tree.ties import is_array


class Rule:
    """An optimizer's formula. One of your own has `change`, and `init` if it remembers something.

    >>> class Slower(Rule):
    ...     def init(self, x):
    ...         return {"steps": 0}
    ...
    ...     def change(self, memory, x, g):
    ...         memory["steps"] += 1
    ...         return 0.5 / memory["steps"] * g
    >>> model = [np.ones(2)]
    >>> state = fl.setup(Slower(), model)
    >>> for _ in range(2):
    ...     state, model = fl.update(state, model, [np.ones(2)])
    >>> model
    [array([0.25, 0.25])]
    """

    def __new__(cls, *args: Any, **fields: Any) -> Any:
        for name in fields:
            if name in KEYWORDS and name not in getattr(cls, "__dataclass_fields__", ()):
                raise TypeError(f"{cls.__name__} has no {name!r}{hint(name, KEYWORDS)}")
        cls.check_order(*args)
        return super().__new__(cls)

    @classmethod
    def check_order(cls, *args: Any) -> None:
        """Raises `TypeError` for a value whose place doesn't say what it is."""
        own = getattr(cls, "__dataclass_fields__", {})
        named = [name for name in own if own[name].kw_only]
        if named and len(args) > len(own) - len(named):
            raise TypeError(f"{cls.__name__} takes {' and '.join(named)} by name: {named[0]}={in_words(args[-1])}")

    # Of a rule for several workers: ``gathered(state, model, steps)`` gives the steps with the gradients of all.
    gathered: Any = None

    def init(self, x: Any) -> dict[str, Any]:
        """What is remembered about the parameter `x` before the first step: arrays made from `x`, and numbers."""
        return {}

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        """What to subtract from the parameter `x`, whose gradient is `g`; None for no step (Optimisers.jl: ``apply!``).

        It changes `memory` in place, and neither `x` nor `g`.
        """
        raise NotImplementedError(f"{type(self).__name__} says by how much a parameter changes: change(memory, x, g)")

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        """Take one step: change `x`, and `memory`, in place."""
        change = self.change(memory, x, g)
        if change is not None:
            x -= change


class Formula(Rule):
    """A rule of the library. A number has one name in all of them, by which it's checked."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            below = 1 if name in ("rho", "beta") else math.inf  # the share that a running mean keeps
            if name in ("beta", "ell", "gamma"):
                if not isinstance(value, (tuple, list)) or len(value) != 2:
                    raise TypeError(f"{name} is two numbers such as (0.9, 0.999), got {in_words(value)}")
                for number in value:
                    check_number(name, number, below)
            elif name in ("eta", "rho", "epsilon", "decay", "delta", "omega"):
                check_number("the learning rate eta" if name == "eta" else name, value, below)
            elif name in ("centred", "couple"):
                check_bool(name, value)


class Fusible(Formula):
    """A formula that works on each element by itself: on a GPU, a parameter's step is one launch.

    What the host computes for a step, such as ``1 - beta**steps``, is in `numbers`; what's computed for each element
    is in `formula`, which gets these numbers.
    """

    def numbers(self, memory: dict[str, Any], x: Any) -> tuple:
        """The numbers of this step, which is counted in `memory`. None is a number that isn't needed."""
        raise NotImplementedError

    @staticmethod
    def formula(memory: Any, x: Any, g: Any, *numbers: Any) -> Any:
        """What to subtract from `x`. It changes the arrays in `memory` in place."""
        raise NotImplementedError

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        numbers = self.numbers(memory, x)
        if type(x) not in fusing:
            return self.formula(memory, x, g, *numbers)
        return self._at_once(memory, x, g, numbers, False)

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        if type(self).change is not Fusible.change:  # one's own may do anything
            super().apply(memory, x, g)
        elif type(x) in fusing:
            self._at_once(memory, x, g, self.numbers(memory, x), True)
        else:
            x -= self.formula(memory, x, g, *self.numbers(memory, x))

    def _at_once(self, memory: dict[str, Any], x: Any, g: Any, numbers: tuple, is_taken: bool) -> Any:
        arrays = {name: y for name, y in memory.items() if is_array(y)}
        name = type(self).__name__.lower()
        return _fused(self.formula, tuple(arrays), name, is_taken)(x, g, *arrays.values(), *numbers)


@functools.cache
def _fused(formula: Any, names: tuple[str, ...], name: str, is_taken: bool) -> Any:
    """One launch for the step, and, if it `is_taken`, for changing the parameter too."""
    from ..fused.function import fuse

    def change(x: Any, g: Any, *rest: Any) -> Any:
        return formula(dict(zip(names, rest)), x, g, *rest[len(names) :])

    def step(*given: Any) -> None:
        x = given[0]
        x -= change(*given)

    return fuse(step if is_taken else change, kernel_name=name)
