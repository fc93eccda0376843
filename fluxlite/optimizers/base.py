"""What an optimizer's rule is: what it remembers of a parameter, and by how much it changes it."""

import copy
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import fusing
from ..coming_from import KEYWORDS, sentence
from ..messages import check_bool, check_number, in_words


class Rule:
    """An optimizer's formula. One of your own has `change`, and `init` if it remembers something.

    >>> class Slower(Rule):
    ...     def init(self, x):
    ...         return {"steps": 0}
    ...
    ...     def change(self, memory, x, g):
    ...         memory["steps"] += 1
    ...         return 0.5 / memory["steps"] * g
    >>> w = np.ones(2)
    >>> fl.update(fl.setup(Slower(), w), w, np.ones(2))[1]
    array([0.5, 0.5])
    """

    # Of a rule for several workers: ``gathered(state, model, steps)`` gives the steps with the gradients of all.
    gathered: Any = None

    def __new__(cls, *args: Any, **fields: Any) -> Any:
        for name in fields:
            if name in KEYWORDS and name not in getattr(cls, "__dataclass_fields__", ()):
                raise TypeError(f"{cls.__name__} has no {name!r}. {sentence(KEYWORDS[name])}")
        return super().__new__(cls)

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


# A number has one name in all rules. It's at least 0, and below this.
_BELOW = dict.fromkeys(("eta", "epsilon", "decay", "delta", "omega", "ell", "gamma"), math.inf) | {"rho": 1, "beta": 1}


class Formula(Rule):
    """A rule of the library: its numbers are checked, and what it remembers begins at 0."""

    remembers = ""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            place = f"{type(self).__name__}: {'the learning rate eta' if name == 'eta' else name}"
            if name in ("centred", "couple"):
                check_bool(place, value)
            if name in ("beta", "ell", "gamma"):
                if not isinstance(value, (tuple, list)) or len(value) != 2:
                    raise TypeError(f"{place} is two numbers such as (0.9, 0.999), got {in_words(value)}")
                for number in value:
                    check_number(place, number, _BELOW[name])
            elif name in _BELOW:
                check_number(place, value, _BELOW[name])

    def init(self, x: Any) -> dict[str, Any]:
        return {name: 0 if name in ("steps", "count") else np.zeros_like(x) for name in self.remembers.split()}


class Fusible(Formula):
    """A rule that works on each element by itself: on a GPU, a parameter's step is one launch.

    ``formula(x, g, *remembered, *numbers)`` gives what to subtract from `x`, and changes what's remembered in place.
    What the host computes once for a step, such as ``1 - beta**steps``, is in `numbers`.
    """

    epsilon: float
    formula: Callable[..., Any]

    def numbers(self, memory: dict[str, Any]) -> tuple:
        """The numbers of this step, which is counted in `memory`. None is a number that isn't needed."""
        return ()

    def change(self, memory: dict[str, Any], x: Any, g: Any) -> Any:
        return self._compute(memory, x, g, False)

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        if type(self).change is not Fusible.change:  # one's own may do anything
            super().apply(memory, x, g)
        elif type(x) in fusing:
            self._compute(memory, x, g, True)
        else:
            x -= self._compute(memory, x, g, False)

    def _compute(self, memory: dict[str, Any], x: Any, g: Any, is_taken: bool) -> Any:
        rule = self.for_type_of(x)
        given = (*memory.values(), *self.numbers(memory))
        if type(x) not in fusing:
            return rule.formula(x, g, *given)
        names = tuple(name for name in vars(rule) if name in _BELOW)
        own = [y for name in names for y in (rule.beta if name == "beta" else [vars(rule)[name]])]
        launch: Any = _in_one_launch
        return launch(type(rule), names, is_taken)(x, g, *own, *given)

    def for_type_of(self, x: Any) -> Any:
        """The rule for parameters of this type: half precision takes an epsilon of 1e-8 for 0."""
        if x.dtype.itemsize > 2:
            return self
        coarser = copy.copy(self)
        vars(coarser)["epsilon"] = max(self.epsilon, 6e-5)
        return coarser


@functools.cache
def _in_one_launch(kind: type, names: tuple[str, ...], is_taken: bool) -> Any:
    """The formula of a rule of this `kind`; if it `is_taken`, the parameter is changed in the same launch.

    The rule's own numbers are arguments too: as constants in a kernel, each new rate would make a new one.
    """
    from ..fused.function import fuse

    def change(x: Any, g: Any, *given: Any) -> Any:
        rule: Any = object.__new__(kind)
        rest = iter(given)
        vars(rule).update({name: (next(rest), next(rest)) if name == "beta" else next(rest) for name in names})
        return rule.formula(x, g, *rest)

    def step(x: Any, *given: Any) -> None:
        x -= change(x, *given)

    return fuse(step if is_taken else change, kernel_name=kind.__name__.lower())
