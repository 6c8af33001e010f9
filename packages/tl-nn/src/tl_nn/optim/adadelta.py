"""Adadelta: steps scaled by running means of squared gradients and squared steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from .checks import check_capturable
from .hyperparameters import takes_tensors
from .lists import (
    add_squares,
    add_to_each,
    as_real,
    clone_for_graph,
    count_steps,
    directions,
    subtract_scaled,
)
from .rule import Rule, RuleOptimizer, options_of

__all__ = ["Adadelta", "adadelta"]


@takes_tensors
def adadelta(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    square_avgs: Sequence[Tensor],
    acc_deltas: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Change `params` by `grads` with the rule of `Adadelta`, and the lists of its state too.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        square_avgs: the running mean squares, a list.
        acc_deltas: the running mean squares of the changes, a list.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        capturable: for devices that record graphs. Parameters on the CPU raise AssertionError.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        differentiable: whether gradients flow through the step.
        has_complex: whether there are complex parameters. tl checks it itself.
        lr: the learning rate.
        rho: how much of the running means is kept.
        eps: added to denominators.
        weight_decay: the factor of the penalty on large parameters.
        maximize: whether the steps go upward.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> state = [tl_core.zeros(2)], [tl_core.zeros(2)], [tl_core.tensor(0.0)]
        >>> adadelta([weight], [grad], *state, lr=1.0, rho=0.9, eps=1e-2, weight_decay=0.0, maximize=False)
        >>> weight
        tensor([0.7327, 1.2673])
    """
    check_capturable(capturable, params)
    count_steps(state_steps)
    grads = directions(params, grads, maximize, weight_decay)
    params, grads, square_avgs, acc_deltas = as_real(params, grads, square_avgs, acc_deltas)
    add_squares(square_avgs, grads, rho)
    roots = tl_core._foreach_sqrt(add_to_each(square_avgs, eps))
    sizes = tl_core._foreach_sqrt(add_to_each(acc_deltas, eps))
    deltas = tl_core._foreach_mul(tl_core._foreach_div(sizes, roots), clone_for_graph(grads, differentiable))
    add_squares(acc_deltas, deltas, rho)
    subtract_scaled(params, deltas, lr)


class Adadelta(RuleOptimizer):
    r"""Adadelta: steps scaled by the ratio of the running mean squares of past steps and of gradients.

    Formula:
        .. math::

            v_t = \rho \, v_{t-1} + (1 - \rho) \, g_t^{2}, \qquad
            d_t = \sqrt{\frac{u_{t-1} + \mathrm{eps}}{v_t + \mathrm{eps}}} \; g_t \\
            u_t = \rho \, u_{t-1} + (1 - \rho) \, d_t^{2}, \qquad \theta_t = \theta_{t-1} - \gamma \, d_t

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `g` is the gradient, with the
        opposite sign if `maximize`, plus `weight_decay * θ`. `ρ` is `rho`, and `u_0 = v_0 = 0`.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The factor of the step that the rule finds.
        rho (float): How slowly the running means of squared gradients and squared steps change, from 0 to 1.
        eps (float): Added under the roots.
        weight_decay (float): The factor of the penalty on large parameters.
        foreach, capturable, maximize, differentiable: See `Adam`.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - The step has the unit of the parameter, so the default `lr` is 1. `eps` sets the first steps.
        - Source: Zeiler, ADADELTA, 2012.

    Raises:
        ValueError: If a number is out of range.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.Adadelta([weight], lr=10.0)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.9684], requires_grad=True)
    """

    _rule: ClassVar[Rule] = Rule(adadelta, ("square_avg", "acc_delta", "step"))

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, options_of(locals()))
