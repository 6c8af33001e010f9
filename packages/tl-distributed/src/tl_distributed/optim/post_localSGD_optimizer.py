"""An optimizer after whose steps models are averaged when it is time."""

from __future__ import annotations

import warnings
from typing import Any

from tl_nn.optim import Optimizer

from ..algorithms.model_averaging.averagers import ModelAverager

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Steps as another optimizer, then averages models; for use with `post_localSGD_hook`.

    Args:
        optim: the other optimizer.
        averager: what averages, and when.
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager):
        self.optim = optim
        self.averager = averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The other optimizer's state."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The other optimizer's, with the averager's step."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where a state dict was taken.

        Args:
            state_dict: of this class, or of the other optimizer: then the averager begins again.
        """
        self.optim.load_state_dict(state_dict)
        if "step" not in state_dict:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.",
                stacklevel=2,
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self, closure: Any = None) -> Any:
        """Makes a step, and averages if it is time."""
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Gives the other optimizer more parameters."""
        self.optim.add_param_group(param_group)
