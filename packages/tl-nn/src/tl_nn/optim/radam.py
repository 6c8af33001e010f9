"""RAdam: Adam whose scaling sets in only when there is enough to estimate it from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tl_core import Tensor

from .checks import check_capturable
from .hyperparameters import square_root, takes_tensors
from .lists import as_real, clone_for_graph, count_steps, update_moments, with_decay
from .rule import Rule, RuleOptimizer, options_of

__all__ = ["RAdam", "radam"]


@takes_tensors
def radam(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
) -> None:
    """Change `params` by `grads` with the rule of `RAdam`, and the lists of its state too.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        exp_avgs: the running means, a list.
        exp_avg_sqs: the running mean squares, a list.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        decoupled_weight_decay: whether the decay acts on the parameters themselves instead of through the
            gradients.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        differentiable: whether gradients flow through the step.
        capturable: for devices that record graphs. Parameters on the CPU raise AssertionError.
        has_complex: whether there are complex parameters. tl checks it itself.
        maximize: whether the steps go upward.
        beta1: how much of the running mean is kept, from 0 to 1.
        beta2: how much of the running mean square is kept, from 0 to 1.
        lr: the learning rate.
        weight_decay: the factor of the penalty on large parameters.
        eps: added to denominators.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> state = [tl_core.zeros(2)], [tl_core.zeros(2)], [tl_core.tensor(0.0)]
        >>> radam([weight], [grad], *state, beta1=0.9, beta2=0.99, lr=0.1, weight_decay=0.0, eps=1e-8)
        >>> weight
        tensor([0.9500, 1.0500])
    """
    check_capturable(capturable, params)
    counts = count_steps(state_steps)
    grads = with_decay(params, grads, lr, weight_decay, decoupled_weight_decay, maximize)
    params, grads, exp_avgs, exp_avg_sqs = as_real(params, grads, exp_avgs, exp_avg_sqs)
    update_moments(exp_avgs, exp_avg_sqs, grads, beta1, beta2)
    means = clone_for_graph(exp_avgs, differentiable)
    squares = clone_for_graph(exp_avg_sqs, differentiable)
    for param, mean, square, steps in zip(params, means, squares, counts, strict=True):
        update = mean * (lr / (1 - beta1**steps))
        rectified = _rectification(beta2, steps)
        if rectified:
            update = update / (square.sqrt() + eps) * (rectified * square_root(1 - beta2**steps))
        param.sub_(update)


def _rectification(beta2: Any, steps: float) -> Any:
    """The factor that makes up for the variance of the scaling, or 0 while that is infinite."""
    most = 2 / (1 - beta2) - 1
    length = most - 2 * steps * beta2**steps / (1 - beta2**steps)
    if length <= 5.0:
        return 0.0
    return square_root((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))


class RAdam(RuleOptimizer):
    r"""Rectified Adam: Adam whose first steps aren't scaled, while the mean square is uncertain.

    Formula:
        .. math::

            m_t = \beta_1 m_{t-1} + (1 - \beta_1) \, g_t, \qquad v_t = \beta_2 v_{t-1} + (1 - \beta_2) \, g_t^{2}

        .. math::

            \rho_{\infty} = \frac{2}{1 - \beta_2} - 1, \qquad
            \rho_t = \rho_{\infty} - \frac{2 t \beta_2^{t}}{1 - \beta_2^{t}}, \qquad
            r_t = \sqrt{\frac{(\rho_t - 4) (\rho_t - 2) \, \rho_{\infty}}{(\rho_{\infty} - 4) (\rho_{\infty} - 2)
            \, \rho_t}} \\
            \theta_t = \theta_{t-1} - \gamma \, \frac{m_t}{1 - \beta_1^{t}} \cdot
            \begin{cases} r_t \sqrt{1 - \beta_2^{t}} \, / \, (\sqrt{v_t} + \mathrm{eps}) & \rho_t > 5 \\
            1 & \text{otherwise} \end{cases}

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `β` are the `betas`, and
        `m_0 = v_0 = 0`. `g` is the gradient, with the opposite sign if `maximize`. Weight decay adds
        `weight_decay * θ` to `g`, or with `decoupled_weight_decay` multiplies `θ` by `1 - lr * weight_decay` first.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The learning rate.
        betas ((float, float)): How slowly the running means of the gradient and of its square change.
        eps (float): Added to the root of the mean square, against division by zero.
        weight_decay (float): The factor of the penalty on large parameters.
        decoupled_weight_decay (bool): Whether weight decay acts on the parameters themselves, as in `AdamW`.
        foreach, maximize, capturable, differentiable: See `Adam`.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - With the default `betas` the first 5 steps are unscaled. The rectification takes the place of a warm-up of
          the learning rate.
        - Source: Liu et al., On the Variance of the Adaptive Learning Rate and Beyond, 2019.

    Raises:
        ValueError: If a number is out of range.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.RAdam([weight], lr=0.1)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.8000], requires_grad=True)
    """

    _rule: ClassVar[Rule] = Rule(radam, ("exp_avg", "exp_avg_sq", "step"))

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, options_of(locals()))
