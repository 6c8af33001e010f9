"""Adamax: Adam with the largest gradient in the place of the mean square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from .checks import check_capturable
from .hyperparameters import takes_tensors
from .lists import add_to_each, approach, as_real, clone_for_graph, count_steps, directions, scale
from .rule import Rule, RuleOptimizer, options_of

__all__ = ["Adamax", "adamax"]


@takes_tensors
def adamax(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_infs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
) -> None:
    """Change `params` by `grads` with the rule of `Adamax`, and the lists of its state too.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        exp_avgs: the running means, a list.
        exp_infs: the running maxima of the absolute values, a list.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        maximize: whether the steps go upward.
        differentiable: whether gradients flow through the step.
        capturable: for devices that record graphs. Parameters on the CPU raise AssertionError.
        has_complex: whether there are complex parameters. tl checks it itself.
        eps: added to denominators.
        beta1: how much of the running mean is kept, from 0 to 1.
        beta2: how much of the running mean square is kept, from 0 to 1.
        lr: the learning rate.
        weight_decay: the factor of the penalty on large parameters.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> state = [tl_core.zeros(2)], [tl_core.zeros(2)], [tl_core.tensor(0.0)]
        >>> adamax([weight], [grad], *state, lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-8)
        >>> weight
        tensor([0.9000, 1.1000])
    """
    check_capturable(capturable, params)
    rates = [lr / (1 - beta1**steps) for steps in count_steps(state_steps)]
    grads = directions(params, grads, maximize, weight_decay)
    params, grads, exp_avgs, exp_infs = as_real(params, grads, exp_avgs, exp_infs)
    approach(exp_avgs, grads, 1 - beta1)
    sizes = add_to_each(tl_core._foreach_abs(grads), eps)
    scale(exp_infs, beta2)
    largest = tl_core._foreach_maximum(clone_for_graph(exp_infs, differentiable), sizes)
    tl_core._foreach_copy_(exp_infs, largest)
    means = clone_for_graph(exp_avgs, differentiable)
    updates = [mean / top * rate for mean, top, rate in zip(means, largest, rates, strict=True)]
    tl_core._foreach_sub_(params, updates)


class Adamax(RuleOptimizer):
    r"""Adamax: Adam with the largest gradient, which decays, instead of the mean square.

    Formula:
        .. math::

            m_t = \beta_1 m_{t-1} + (1 - \beta_1) \, g_t, \qquad u_t =
            \max(\beta_2 u_{t-1}, \; |g_t| + \mathrm{eps}) \\
            \theta_t = \theta_{t-1} - \frac{\gamma}{1 - \beta_1^{t}} \cdot \frac{m_t}{u_t}

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `g` is the gradient, with the
        opposite sign if `maximize`, plus `weight_decay * θ`. `β` are the `betas`, and `m_0 = u_0 = 0`.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The learning rate.
        betas ((float, float)): How slowly the running mean of the gradient and its largest size change.
        eps (float): Added to the size of the gradient, against division by zero.
        weight_decay (float): The factor of the penalty on large parameters.
        foreach, maximize, differentiable, capturable: See `Adam`.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - A step is at most about `lr` in each element. `u` needs no correction for the start from 0.
        - Source: Kingma and Ba, Adam, 2014, section 7.

    Raises:
        ValueError: If a number is out of range.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.Adamax([weight], lr=0.1)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.9000], requires_grad=True)
    """

    _rule: ClassVar[Rule] = Rule(adamax, ("exp_avg", "exp_inf", "step"))

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, options_of(locals()))
