"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from .checks import check_capturable
from .hyperparameters import as_number, takes_tensors
from .lists import as_real, clone_for_graph, count_steps, directions, scale_each
from .rule import Rule, RuleOptimizer, count, options_of, zeros

__all__ = ["ASGD", "asgd"]


@takes_tensors
def asgd(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    axs: Sequence[Tensor],
    mus: Sequence[Tensor],
    etas: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float | Tensor,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """Change `params` by `grads` with the rule of `ASGD`, and the lists of its state too.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        axs: the averages of the parameters, a list.
        mus: the weights of these averages, a list.
        etas: the learning rates, a list.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        maximize: whether the steps go upward.
        differentiable: whether gradients flow through the step.
        capturable: for devices that record graphs. Parameters on the CPU raise AssertionError.
        has_complex: whether there are complex parameters. tl checks it itself.
        lambd: how fast the learning rate decays.
        lr: the learning rate.
        t0: the step from which on parameters are averaged.
        alpha: the exponent of the decay of the learning rate.
        weight_decay: the factor of the penalty on large parameters.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> state = [tl_core.zeros(2)], [tl_core.tensor(1.0)], [tl_core.tensor(0.1)], [tl_core.tensor(0.0)]
        >>> asgd([weight], [grad], *state, lambd=0.0, lr=0.1, t0=1e6, alpha=0.75, weight_decay=0.0)
        >>> weight
        tensor([0.9500, 1.0500])
    """
    check_capturable(capturable, params)
    counts = count_steps(state_steps)
    grads = directions(params, grads, maximize, weight_decay)
    params, grads, axs = as_real(params, grads, axs)
    rates = [as_number(eta) for eta in clone_for_graph(etas, differentiable)]
    scale_each(params, [1 - lambd * rate for rate in rates])
    scaled = tl_core._foreach_clone(grads)
    scale_each(scaled, rates)
    tl_core._foreach_sub_(params, scaled)
    steps_of_mean = tl_core._foreach_sub(params, axs)
    scale_each(steps_of_mean, [as_number(mu) for mu in clone_for_graph(mus, differentiable)])
    tl_core._foreach_add_(axs, steps_of_mean)
    for eta, mu, steps in zip(etas, mus, counts, strict=True):
        _set(eta, lr / (1 + lambd * lr * steps) ** alpha)
        _set(mu, 1 / max(1, steps - t0))


def _set(target: Tensor, value: Any) -> None:
    if isinstance(value, Tensor):
        target.copy_(value)
    else:
        target.fill_(value)


def _begin(group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    return {"step": count(), "eta": count(group["lr"]), "mu": count(1.0), "ax": zeros(param)}


class ASGD(RuleOptimizer):
    r"""Averaged stochastic gradient descent: the mean of the parameters over the steps is in the state as "ax".

    Formula:
        .. math::

            \theta_t = (1 - \lambda \eta_{t}) \, \theta_{t-1} - \eta_{t} \, g_t, \qquad
            a_t = a_{t-1} + \mu_{t} (\theta_t - a_{t-1}) \\
            \eta_{t+1} = \frac{\gamma}{(1 + \lambda \gamma t)^{\alpha}}, \qquad \mu_{t+1} =
            \frac{1}{\max(1, \; t - t_0)}

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `g` is the gradient, with the
        opposite sign if `maximize`, plus `weight_decay * θ`. `λ` is `lambd`, `α` is `alpha`, `η_1 = γ` and
        `μ_1 = 1`. `a` is the mean.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The learning rate of the first step.
        lambd (float): How much the parameters, and with the number of steps the learning rate, shrink.
        alpha (float): The power with which the learning rate shrinks.
        t0 (float): The step from which on parameters are averaged.
        weight_decay (float): The factor of the penalty on large parameters.
        foreach, maximize, differentiable, capturable: See `Adam`.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - Until step `t0` the mean is a copy of the parameters. The default, a million steps, is more than most
          trainings have.
        - The model uses `θ`, not the mean: copy "ax" into it for evaluation. `swa_utils.AveragedModel` averages for
          any optimizer.
        - Source: Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, 1992.

    Raises:
        ValueError: If a number is negative.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.ASGD([weight], lr=0.1)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.8000], requires_grad=True)
    """

    _rule: ClassVar[Rule] = Rule(asgd, ("ax", "mu", "eta", "step"), _begin)

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, options_of(locals()))
