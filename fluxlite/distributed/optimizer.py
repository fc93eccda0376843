"""`DistributedOptimizer`: a rule whose gradients are first averaged over all workers, for loops of one's own."""

from __future__ import annotations

from typing import Any

from ..arguments import in_words
from ..optimizers import OptimiserChain, Rule
from .buckets import Buckets
from .world import everyone


class DistributedOptimizer(OptimiserChain):
    """`rule`, with the gradients of all workers averaged before each step (Flux: ``DistributedOptimizer``).

    ``state = setup(DistributedOptimizer(Adam()), synchronize(model))``, then `update` as ever, which every worker has
    to call. All workers count the same: for the mean over all observations, give each the same number of them.
    ``train(…, distributed=True)`` weighs them by itself, and takes plain rules.

    Raises `TypeError` for what isn't a rule.

    >>> model = {"w": np.ones(1)}
    >>> state = fl.setup(fl.distributed.DistributedOptimizer(fl.Descent(0.5)), model)
    >>> fl.update(state, model, {"w": np.ones(1)})[1]
    {'w': array([0.5])}
    """

    def __init__(self, rule: Rule) -> None:
        if not isinstance(rule, Rule):
            raise TypeError(f"DistributedOptimizer(rule) takes a rule such as Adam(), got {in_words(rule)}")
        super().__init__(rule)
        self._buckets: Buckets | None = None

    def apply(self, memory: dict[str, Any], x: Any, g: Any) -> None:
        self.rules[0].apply(memory["0"], x, g)

    def gathered(self, state: Any, model: Any, steps: list) -> list:
        """The same steps with the means of all workers' gradients."""
        group = everyone()
        if group.size == 1:
            return steps
        if self._buckets is None or self._buckets.state is not state:
            self._buckets = Buckets(group, state, model)
            self._buckets.weight = 1 / group.size
        self._buckets.start(steps)
        self._buckets.exchange()
        return self._buckets.finish(steps)

    def __repr__(self) -> str:
        return f"DistributedOptimizer({self.rules[0]})"
