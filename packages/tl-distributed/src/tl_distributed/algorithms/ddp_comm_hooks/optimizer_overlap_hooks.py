"""Optimizers that step as soon as a bucket has been reduced, rather than when all have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tl_core import Tensor, no_grad
from tl_core.futures import Future

from ...base.grad_bucket import GradBucket

__all__: list[str] = []

Hook = Callable[[Any, GradBucket], Future[Tensor]]


class _OptimizerHookState:
    """The optimizer of each step, and its parameters.

    Args:
        functional_optim: an object whose `step_param(parameter, gradient)` changes one parameter.
        params: the parameters; None for all.
    """

    def __init__(self, functional_optim: Any, params: Iterable[Tensor] | None = None):
        if not hasattr(functional_optim, "step_param"):
            raise ValueError(
                f"the optimizer {type(functional_optim).__name__} must have a step_param method to step with its bucket"
            )
        self.functional_optimizer = functional_optim
        self.params_to_optimize = None if params is None else set(params)

    def _should(self, parameter: Tensor) -> bool:
        return self.params_to_optimize is None or parameter in self.params_to_optimize


def _hook_then_optimizer(hook: Hook, optimizer_state: _OptimizerHookState) -> Hook:
    """A hook that reduces as `hook` does, and then steps with the bucket's parameters.

    Args:
        hook: what reduces.
        optimizer_state: what steps.
    """

    def reduced_then_stepped(state: Any, bucket: GradBucket) -> Future[Tensor]:
        def step(done: Future[Tensor]) -> Tensor:
            result = done.value()
            reduced = GradBucket(bucket.index(), result, bucket.parameters(), bucket.is_last())
            with no_grad():
                for parameter, gradient in zip(bucket.parameters(), reduced.gradients(), strict=True):
                    if optimizer_state._should(parameter):
                        optimizer_state.functional_optimizer.step_param(parameter, gradient)
            return result

        return hook(state, bucket).then(step)

    return reduced_then_stepped
