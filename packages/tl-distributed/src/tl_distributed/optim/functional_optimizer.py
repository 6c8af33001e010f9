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
        stepper = self._steppers.get(id(parameter))
        if stepper is None:
            stepper = self._steppers[id(parameter)] = self._class([parameter], **self._settings)
        return stepper

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

    def state_dict(self) -> dict[str, Any]:
        """The state of the parameters by their numbers, as an optimizer gives it."""
        state: dict[int, Any] = {}
        for number, parameter in enumerate(self._params):
            if (stepper := self._steppers.get(id(parameter))) is not None:
                state[number] = stepper.state_dict()["state"].get(0, {})
        group = self._class(self._params, **self._settings).state_dict()["param_groups"][0]
        return {"state": state, "param_groups": [group]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave, settings too."""
        (group,) = state_dict["param_groups"]
        for number, parameter in enumerate(self._params):
            state = state_dict["state"].get(number)
            own = {"state": {} if state is None else {0: state}, "param_groups": [{**group, "params": [0]}]}
            self._stepper(parameter).load_state_dict(own)

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
