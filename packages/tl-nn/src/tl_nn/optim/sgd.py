"""Stochastic gradient descent, optionally with momentum."""

from __future__ import annotations

from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from .checks import check_unscaled
from .hyperparameters import has_effect, takes_tensors
from .lists import add_scaled, directions, subtract_scaled
from .optimizer import fusable
from .rule import Rule, RuleOptimizer, options_of

__all__ = ["SGD", "sgd"]


@takes_tensors
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

    Args:
        params: the parameters, a list of tensors, changed in place.
        d_p_list: their gradients, a list as long.
        momentum_buffer_list: the momenta, a list. None or empty without momentum.
        has_sparse_grad: whether there are sparse gradients. tl checks it itself.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        fused: whether one kernel does the step. None leaves the choice to tl.
        grad_scale: must be None: gradients are unscaled before.
        found_inf: must be None.
        weight_decay: the factor of the penalty on large parameters.
        momentum: the factor of the momentum.
        lr: the learning rate.
        dampening: how much of the gradient doesn't enter the momentum.
        nesterov: whether Nesterov's momentum is used.
        maximize: whether the steps go upward.

    Raises:
        NotImplementedError: If gradients are to be unscaled, which is the work of GradScaler here.
        RuntimeError: If `fused` is set with sparse gradients.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> settings = {"lr": 0.1, "weight_decay": 0.0, "momentum": 0.0, "dampening": 0.0}
        >>> sgd([weight], [grad], [None], nesterov=False, maximize=False, **settings)
        >>> weight
        tensor([0.9500, 1.0500])
    """
    check_unscaled("sgd", grad_scale, found_inf)
    options: dict[str, Any] = {
        "weight_decay": weight_decay,
        "momentum": momentum,
        "lr": lr,
        "dampening": dampening,
        "nesterov": nesterov,
        "maximize": maximize,
    }
    if fused and has_sparse_grad:
        raise RuntimeError("`_fused_sgd` does not support sparse gradients")
    if fused is not False and not has_sparse_grad and fusable(params):
        _update_fused(params, d_p_list, momentum_buffer_list, **options)
        return
    _update_by_operators(params, d_p_list, momentum_buffer_list, **options)


def _update_fused(
    params: list[Tensor],
    grads: list[Tensor],
    buffers: list[Any],
    *,
    momentum: float,
    **options: Any,
) -> None:
    numbers = {"momentum": momentum, **options}
    first = [buffer is None for buffer in buffers]
    if not (momentum and any(first)):
        tl_core._fused_sgd_(params, grads, buffers if momentum else [], is_first_step=False, **numbers)
        return
    for is_first in (True, False):
        indices = [index for index, is_new in enumerate(first) if is_new is is_first]
        for index in indices if is_first else ():
            buffers[index] = tl_core.empty_like(grads[index])
        if indices:
            lists = [[values[index] for index in indices] for values in (params, grads, buffers)]
            tl_core._fused_sgd_(*lists, is_first_step=is_first, **numbers)


def _update_by_operators(
    params: list[Tensor],
    grads: list[Tensor],
    buffers: list[Any],
    *,
    weight_decay: float | Tensor,
    momentum: float,
    lr: float | Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """The rule as a program of operators."""
    steps = directions(params, grads, maximize, weight_decay)
    if has_effect(momentum):
        for index, (step, buffer) in enumerate(zip(steps, buffers, strict=True)):
            if buffer is None:
                buffers[index] = step.clone()
            else:
                _follow(buffer, step, momentum, dampening)
        steps = add_scaled(steps, buffers, momentum) if nesterov else buffers
    subtract_scaled(params, steps, lr)


def _follow(buffer: Tensor, step: Tensor, momentum: Any, dampening: Any) -> None:
    """Let a step enter its momentum, in place."""
    if isinstance(momentum, Tensor) or isinstance(dampening, Tensor):
        buffer.copy_(buffer.clone() * momentum + step.clone() * (1 - dampening))
    else:
        buffer.mul_(momentum).add_(step, alpha=1 - dampening)


def _begin(group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    return {"momentum_buffer": None} if has_effect(group["momentum"]) else {}


class SGD(RuleOptimizer):
    r"""Stochastic gradient descent, with momentum and Nesterov momentum.

    Formula:
        .. math::

            b_t = \mu \, b_{t-1} + (1 - \tau) \, g_t, \qquad \theta_t = \theta_{t-1} - \gamma \, b_t

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `g` is the gradient, with the
        opposite sign if `maximize`, plus `weight_decay * θ`. `μ` is `momentum`, `τ` is `dampening`, and
        `b_1 = g_1`. With `nesterov` the step is `g_t + μ b_t` instead of `b_t`, without momentum it is `g_t`.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The learning rate.
        momentum (float): How much of the previous direction is kept.
        dampening (float): How much of the gradient is left out of the direction.
        weight_decay (float): The factor of the penalty on large parameters.
        nesterov (bool): Whether the gradient is looked up ahead: Nesterov momentum.
        maximize (bool): Whether to go up instead of down.
        foreach (bool, optional): Accepted for compatibility.
        differentiable (bool): Whether gradients are recorded through the step.
        fused (bool, optional): Whether one operator updates all parameters, by default if possible.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - The learning rate multiplies the momentum when it is used, so a change of `lr` acts at once. Sutskever et
          al. put it inside.
        - Weight decay is an L2 penalty.
        - Sparse gradients are accepted.
        - Source: Robbins and Monro, 1951. Sutskever et al., On the Importance of Initialization and Momentum in
          Deep Learning, 2013.

    Raises:
        ValueError: If a number is negative, or Nesterov momentum is wanted without momentum or with dampening.
        RuntimeError: If `fused` is set together with `foreach` or `differentiable`.

    Example:
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

    _rule: ClassVar[Rule] = Rule(sgd, ("momentum_buffer",), _begin, replaces=True)

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
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, options_of(locals()))
