"""Stochastic gradient descent, optionally with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor

from .checks import check_at_least_zero, check_lr, check_ways
from .optimizer import Optimizer, _use_grad_for_differentiable, evaluated, fusable

__all__ = ["SGD", "sgd"]


class SGD(Optimizer):
    """Stochastic gradient descent.

    Parameters:
        params : iterable of Tensor, of (str, Tensor), or of dict
            What to optimize, see `Optimizer`.
        lr : float or Tensor
            The learning rate.
        momentum : float
            How much of the previous direction is kept.
        dampening : float
            How much of the gradient is left out of the direction.
        weight_decay : float
            The factor of the penalty on large parameters.
        nesterov : bool
            Whether the gradient is looked up ahead: Nesterov momentum.
        maximize : bool
            Whether to go up instead of down.
        foreach : bool, optional
            Accepted for compatibility.
        differentiable : bool
            Whether gradients are recorded through the step.
        fused : bool, optional
            Whether one operator updates all parameters; by default wherever it can.

    Raises:
        ValueError
            If a number is negative, or Nesterov momentum is wanted without momentum or with dampening.
        RuntimeError
            If `fused` is asked for together with `foreach` or `differentiable`.

    Examples:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.SGD([weight], lr=0.1, momentum=0.9)
        >>> for _ in range(2):
        ...     optimizer.zero_grad()
        ...     (weight * weight).sum().backward()
        ...     optimizer.step()
        >>> weight
        tensor([0.4600], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_at_least_zero("momentum", momentum)
        check_at_least_zero("weight_decay", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_ways(fused, foreach, differentiable)
        options = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for option, value in _LATER_OPTIONS.items():
                group.setdefault(option, value)

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; see `Optimizer.step`."""
        loss = evaluated(closure)
        for group in self.param_groups:
            _update(self.state, group)
        return loss


_LATER_OPTIONS = {
    "nesterov": False,
    "maximize": False,
    "foreach": None,
    "differentiable": False,
    "fused": None,
}


def _update(kept: Any, group: dict[str, Any]) -> None:
    params = [param for param in group["params"] if param.grad is not None]
    if not params:
        return
    grads = [param.grad for param in params]
    with_momentum = group["momentum"] != 0
    states = [kept[param] for param in params] if with_momentum else []
    buffers = [state.get("momentum_buffer") for state in states]
    sgd(
        params,
        grads,
        buffers,
        foreach=group["foreach"],
        fused=False if group["differentiable"] else group["fused"],
        weight_decay=group["weight_decay"],
        momentum=group["momentum"],
        lr=group["lr"],
        dampening=group["dampening"],
        nesterov=group["nesterov"],
        maximize=group["maximize"],
    )
    for state, buffer in zip(states, buffers, strict=True):
        state["momentum_buffer"] = buffer


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float | Tensor,
    momentum: float,
    lr: float | Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Change `params` by the gradients `d_p_list` with the rule of `SGD`.

    `momentum_buffer_list` is changed too: entries that are None, at the first step, are filled in.

    Raises:
        NotImplementedError
            If gradients are to be unscaled, which is the work of GradScaler here.
    """
    if grad_scale is not None or found_inf is not None:
        raise NotImplementedError(
            "sgd: grad_scale and found_inf aren't supported, unscale the gradients first"
        )
    options: dict[str, Any] = {
        "weight_decay": weight_decay,
        "momentum": momentum,
        "lr": lr,
        "dampening": dampening,
        "nesterov": nesterov,
        "maximize": maximize,
    }
    if fused is not False and fusable(params):
        _fused(params, d_p_list, momentum_buffer_list, **options)
        return
    for place, (param, grad) in enumerate(zip(params, d_p_list, strict=True)):
        buffer = momentum_buffer_list[place] if momentum else None
        buffer = _update_one(param, grad, buffer, **options)
        if momentum:
            momentum_buffer_list[place] = buffer


def _fused(
    params: list[Tensor],
    grads: list[Tensor],
    buffers: list[Any],
    *,
    lr: float | Tensor,
    momentum: float,
    weight_decay: float | Tensor,
    **options: Any,
) -> None:
    numbers = {"lr": float(lr), "momentum": momentum, "weight_decay": float(weight_decay), **options}
    first = [buffer is None for buffer in buffers]
    if not (momentum and any(first)):
        tl_core._fused_sgd_(params, grads, buffers if momentum else [], is_first_step=False, **numbers)
        return
    for is_first in (True, False):
        places = [place for place, is_new in enumerate(first) if is_new is is_first]
        for place in places if is_first else ():
            buffers[place] = tl_core.empty_like(grads[place])
        if places:
            chosen = [[values[place] for place in places] for values in (params, grads, buffers)]
            tl_core._fused_sgd_(*chosen, is_first_step=is_first, **numbers)


def _update_one(
    param: Tensor,
    grad: Tensor,
    buffer: Tensor | None,
    *,
    weight_decay: float | Tensor,
    momentum: float,
    lr: float | Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> Tensor | None:
    """The rule for one parameter; gives its new momentum buffer."""
    if maximize:
        grad = -grad
    if isinstance(weight_decay, Tensor) or weight_decay:
        grad = grad + param * weight_decay
    if momentum:
        if buffer is None:
            buffer = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
    if isinstance(lr, Tensor):
        param.add_(-(grad * lr.to(param.device)))
    else:
        param.add_(grad, alpha=-lr)
    return buffer
