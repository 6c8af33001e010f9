"""Optimizers that are handed gradients, and can step with one parameter alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core import Tensor
from tl_nn.optim import Optimizer

__all__: list[str] = []


class FunctionalOptimizer:
    """An optimizer that is handed gradients, rather than looking for them at its parameters.

    Args:
        optimizer_class: the optimizer that knows the rule.
        params: the parameters.
        settings: the optimizer's other arguments.
    """

    def __init__(self, optimizer_class: type[Optimizer], params: Sequence[Tensor], **settings: Any):
        params = list(params)
        if not params:
            raise ValueError("optimizer got an empty parameter list")
        self._class = optimizer_class
        self._settings = settings
        self._params = params
        self._steppers: dict[int, Optimizer] = {}

    def _stepper(self, parameter: Tensor) -> Optimizer:
        found = self._steppers.get(id(parameter))
        if found is None:
            found = self._steppers[id(parameter)] = self._class([parameter], **self._settings)
        return found

    def step_param(self, param: Tensor, grad: Tensor | None) -> None:
        """Makes a step with one parameter.

        Args:
            param: the parameter, changed in place.
            grad: its gradient; None leaves it as it is.
        """
        if grad is None:
            return
        before, param.grad = param.grad, grad
        try:
            self._stepper(param).step()
        finally:
            param.grad = before

    def step(self, gradients: Sequence[Tensor | None]) -> None:
        """Makes a step with all parameters.

        Args:
            gradients: one for each parameter, None for one that has none.
        """
        if len(gradients) != len(self._params):
            raise ValueError(
                "the gradients passed in does not equal to the size of the parameters! "
                f"Params length: {len(self._params)}. Gradients length: {len(gradients)}"
            )
        for parameter, gradient in zip(self._params, gradients, strict=True):
            self.step_param(parameter, gradient)
