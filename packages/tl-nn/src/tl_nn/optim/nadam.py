"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from .checks import check_capturable
from .hyperparameters import as_number, square_root, takes_tensors
from .lists import as_real, clone_for_graph, count_steps, scale, update_moments, with_decay
from .rule import Rule, RuleOptimizer, count, options_of, zeros

__all__ = ["NAdam", "nadam"]


@takes_tensors
def nadam(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    mu_products: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """Change `params` by `grads` with the rule of `NAdam`, and the lists of its state too.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        exp_avgs: the running means, a list.
        exp_avg_sqs: the running mean squares, a list.
        mu_products: the products of the momenta so far, a list.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        decoupled_weight_decay: whether the decay acts on the parameters themselves instead of through the
            gradients.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        capturable: for devices that record graphs. Parameters on the CPU raise AssertionError.
        differentiable: whether gradients flow through the step.
        has_complex: whether there are complex parameters. tl checks it itself.
        maximize: whether the steps go upward.
        beta1: how much of the running mean is kept, from 0 to 1.
        beta2: how much of the running mean square is kept, from 0 to 1.
        lr: the learning rate.
        weight_decay: the factor of the penalty on large parameters.
        momentum_decay: how fast the momentum grows towards its limit.
        eps: added to denominators.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> state = [tl_core.zeros(2)], [tl_core.zeros(2)], [tl_core.tensor(1.0)], [tl_core.tensor(0.0)]
        >>> settings = {"lr": 0.1, "weight_decay": 0.0, "momentum_decay": 4e-3, "eps": 1e-8}
        >>> nadam([weight], [grad], *state, beta1=0.9, beta2=0.99, **settings)
        >>> weight
        tensor([0.8944, 1.1056])
    """
    check_capturable(capturable, params)
    counts = count_steps(state_steps)
    grads = with_decay(params, grads, lr, weight_decay, decoupled_weight_decay, maximize)
    params, grads, exp_avgs, exp_avg_sqs = as_real(params, grads, exp_avgs, exp_avg_sqs)
    update_moments(exp_avgs, exp_avg_sqs, grads, beta1, beta2)
    roots = tl_core._foreach_sqrt(clone_for_graph(exp_avg_sqs, differentiable))
    means = clone_for_graph(exp_avgs, differentiable)
    for index, steps in enumerate(counts):
        now = _momentum(beta1, steps, momentum_decay)
        soon = _momentum(beta1, steps + 1, momentum_decay)
        scale(mu_products[index : index + 1], now)
        product = as_number(clone_for_graph(mu_products[index : index + 1], differentiable)[0])
        denominator = roots[index] / square_root(1 - beta2**steps) + eps
        step = grads[index] * ((1 - now) / (1 - product)) + means[index] * (soon / (1 - product * soon))
        params[index].sub_(step / denominator * lr)


def _momentum(beta1: Any, steps: float, decay: Any) -> Any:
    return beta1 * (1 - 0.5 * 0.96 ** (steps * decay))


def _begin(group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    return {"step": count(), "mu_product": count(1.0), "exp_avg": zeros(param), "exp_avg_sq": zeros(param)}


class NAdam(RuleOptimizer):
    r"""NAdam: Adam with Nesterov momentum.

    Formula:
        .. math::

            m_t = \beta_1 m_{t-1} + (1 - \beta_1) \, g_t, \qquad v_t = \beta_2 v_{t-1} + (1 - \beta_2) \, g_t^{2}

        .. math::

            \mu_t = \beta_1 \bigl(1 - \tfrac{1}{2} \, 0.96^{\, t \psi}\bigr), \qquad
            \hat{m}_t = \frac{\mu_{t+1} \, m_t}{1 - \prod_{i=1}^{t+1} \mu_i} +
            \frac{(1 - \mu_t) \, g_t}{1 - \prod_{i=1}^{t} \mu_i} \\
            \theta_t = \theta_{t-1} - \gamma \, \frac{\hat{m}_t}{\sqrt{v_t / (1 - \beta_2^{t})} + \mathrm{eps}}

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `β` are the `betas`, `ψ` is
        `momentum_decay`, and `m_0 = v_0 = 0`. `g` is the gradient, with the opposite sign if `maximize`. Weight
        decay adds `weight_decay * θ` to `g`, or with `decoupled_weight_decay` multiplies `θ` by
        `1 - lr * weight_decay` first.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The learning rate.
        betas ((float, float)): How slowly the running means of the gradient and of its square change.
        eps (float): Added to the root of the mean square, against division by zero.
        weight_decay (float): The factor of the penalty on large parameters.
        momentum_decay (float): How fast the momentum grows to its full size.
        decoupled_weight_decay (bool): Whether weight decay acts on the parameters themselves, as in `AdamW`.
        foreach, maximize, capturable, differentiable: See `Adam`.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - Source: Dozat, Incorporating Nesterov Momentum into Adam, 2016.

    Raises:
        ValueError: If a number is out of range.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.NAdam([weight], lr=0.1)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.8944], requires_grad=True)
    """

    _rule: ClassVar[Rule] = Rule(nadam, ("exp_avg", "exp_avg_sq", "mu_product", "step"), _begin)

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options_of(locals()))
