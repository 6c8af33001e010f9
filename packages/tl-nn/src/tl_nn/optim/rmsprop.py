"""RMSprop: steps scaled by the running mean of the squared gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from .checks import check_capturable
from .hyperparameters import has_effect, takes_tensors
from .lists import (
    add_squares,
    add_to_each,
    approach,
    as_real,
    clone_for_graph,
    count_steps,
    directions,
    scale,
    subtract_scaled,
)
from .rule import Rule, RuleOptimizer, count, options_of, zeros

__all__ = ["RMSprop", "rmsprop"]


@takes_tensors
def rmsprop(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    square_avgs: Sequence[Tensor],
    grad_avgs: Sequence[Tensor],
    momentum_buffer_list: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """Change `params` by `grads` with the rule of `RMSprop`, and the lists of its state too.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        square_avgs: the running mean squares, a list.
        grad_avgs: the running means of the gradients, a list. Empty unless `centered`.
        momentum_buffer_list: the momenta, a list. None or empty without momentum.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        maximize: whether the steps go upward.
        differentiable: whether gradients flow through the step.
        capturable: for devices that record graphs. Parameters on the CPU raise AssertionError.
        has_complex: whether there are complex parameters. tl checks it itself.
        lr: the learning rate.
        alpha: the decay of the running mean square.
        eps: added to denominators.
        weight_decay: the factor of the penalty on large parameters.
        momentum: the factor of the momentum.
        centered: whether the gradients' mean is taken off their mean square.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> state = [tl_core.zeros(2)], [], [], [tl_core.tensor(0.0)]
        >>> settings = {"lr": 0.1, "alpha": 0.75, "eps": 1e-8, "weight_decay": 0.0}
        >>> rmsprop([weight], [grad], *state, momentum=0.0, centered=False, **settings)
        >>> weight
        tensor([0.8000, 1.2000])
    """
    check_capturable(capturable, params)
    count_steps(state_steps)
    grads = directions(params, grads, maximize, weight_decay)
    params, grads, squares, means, buffers = as_real(
        params, grads, square_avgs, grad_avgs, momentum_buffer_list
    )
    add_squares(squares, grads, alpha)
    variances = clone_for_graph(squares, differentiable)
    if centered:
        approach(means, grads, 1 - alpha)
        copies = clone_for_graph(means, differentiable)
        variances = tl_core._foreach_addcmul(variances, copies, copies, value=-1)
    steps: Sequence[Tensor] = tl_core._foreach_div(grads, add_to_each(tl_core._foreach_sqrt(variances), eps))
    if has_effect(momentum):
        scale(buffers, momentum)
        tl_core._foreach_add_(buffers, steps)
        steps = clone_for_graph(buffers, differentiable)
    subtract_scaled(params, steps, lr)


def _begin(group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    state = {"step": count(), "square_avg": zeros(param)}
    if has_effect(group["momentum"]):
        state["momentum_buffer"] = zeros(param)
    if group["centered"]:
        state["grad_avg"] = zeros(param)
    return state


class RMSprop(RuleOptimizer):
    r"""RMSprop: steps scaled by the running mean square of the gradient.

    Formula:
        .. math::

            v_t = \alpha \, v_{t-1} + (1 - \alpha) \, g_t^{2}, \qquad
            b_t = \mu \, b_{t-1} + \frac{g_t}{\sqrt{v_t} + \mathrm{eps}}, \qquad \theta_t =
            \theta_{t-1} - \gamma \, b_t

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `g` is the gradient, with the
        opposite sign if `maximize`, plus `weight_decay * θ`. `α` is `alpha`, `μ` is `momentum`, and
        `v_0 = b_0 = 0`. With `centered` the square of the running mean of the gradient is subtracted from `v_t`:
        the variance.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The learning rate.
        alpha (float): How slowly the running mean of the squared gradient changes.
        eps (float): Added to the root of the mean square, against division by zero.
        weight_decay (float): The factor of the penalty on large parameters.
        momentum (float): How much of the previous step is kept.
        centered (bool): Whether the step is scaled by the gradient's variance instead of its mean square.
        capturable, foreach, maximize, differentiable: See `Adam`.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - `eps` is outside of the root. Programs that put it inside need another value.
        - The start from 0 isn't corrected, so the first steps are larger: by `1 / sqrt(1 - alpha)`, ten times by
          default.
        - Source: Hinton, Lecture 6e of Neural Networks for Machine Learning, 2012. Graves, Generating Sequences
          with Recurrent Neural Networks, 2013, for `centered`.

    Raises:
        ValueError: If a number is negative.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.RMSprop([weight], lr=0.01)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.9000], requires_grad=True)
    """

    _rule: ClassVar[Rule] = Rule(rmsprop, ("square_avg", "grad_avg", "momentum_buffer", "step"), _begin)

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not alpha >= 0.0:
            raise ValueError(f"Invalid alpha value: {alpha}")
        super().__init__(params, options_of(locals()))
