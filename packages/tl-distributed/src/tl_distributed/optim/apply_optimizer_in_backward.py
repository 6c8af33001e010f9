"""Optimizers that step within the backward pass, parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tl_core import Tensor
from tl_nn.optim import Optimizer

__all__ = ["apply_optimizer_in_backward"]


def apply_optimizer_in_backward(
    optimizer_class: type[Optimizer],
    params: Iterable[Tensor],
    optimizer_kwargs: dict[str, Any],
    register_hook: bool = True,
) -> None:
    """Lets each parameter step as soon as its gradient is there, which is then dropped.

    Args:
        optimizer_class: the optimizer; each parameter gets one of its own.
        params: the parameters.
        optimizer_kwargs: the optimizer's other arguments.
        register_hook: False only makes the optimizers, for somebody who steps otherwise.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.Linear(2, 1, bias=False)
        >>> apply_optimizer_in_backward(tl_nn.optim.SGD, layer.parameters(), {"lr": 0.5})
        >>> _ = tl_nn.init.ones_(layer.weight)
        >>> layer(tl_core.ones(1, 2)).sum().backward()
        >>> layer.weight.tolist(), layer.weight.grad
        ([[0.5, 0.5]], None)
    """
    for parameter in params:
        optimizer = optimizer_class([parameter], **optimizer_kwargs)
        optimizers = parameter._in_backward_optimizers = [  # type: ignore[attr-defined]
            *getattr(parameter, "_in_backward_optimizers", ()),
            optimizer,
        ]
        first = len(optimizers) == 1
        if register_hook and first:
            parameter.register_post_accumulate_grad_hook(_step)


def _step(parameter: Any) -> None:
    for optimizer in parameter._in_backward_optimizers:
        optimizer.step()
    parameter.grad = None
