"""Adam: steps scaled by running means of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from .checks import check_capturable, check_unscaled
from .hyperparameters import takes_tensors
from .lists import as_real, clone_for_graph, count_steps, update_moments, with_decay
from .optimizer import fusable
from .rule import Rule, RuleOptimizer, initial_state, options_of

__all__ = ["Adam", "adam"]


@takes_tensors
def adam(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Change `params` by `grads` with the rule of `Adam`, and the lists of its state too.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        exp_avgs: the running means, a list.
        exp_avg_sqs: the running mean squares, a list.
        max_exp_avg_sqs: the largest of these so far, a list. Empty unless `amsgrad`.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        capturable: for devices that record graphs. Parameters on the CPU raise AssertionError.
        differentiable: whether gradients flow through the step.
        fused: whether one kernel does the step. None leaves the choice to tl.
        grad_scale: must be None: gradients are unscaled before.
        found_inf: must be None.
        has_complex: whether there are complex parameters. tl checks it itself.
        decoupled_weight_decay: whether the decay acts on the parameters themselves instead of through the
            gradients.
        amsgrad: whether the largest of the running mean squares so far is used.
        beta1: how much of the running mean is kept, from 0 to 1.
        beta2: how much of the running mean square is kept, from 0 to 1.
        lr: the learning rate.
        weight_decay: the factor of the penalty on large parameters.
        eps: added to denominators.
        maximize: whether the steps go upward.

    Raises:
        AssertionError: If `capturable` is set with parameters on the CPU.
        NotImplementedError: If gradients are to be unscaled, which is the work of GradScaler here.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> averages, steps = ([tl_core.zeros(2)], [tl_core.zeros(2)], []), [tl_core.tensor(0.0)]
        >>> settings = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8}
        >>> adam([weight], [grad], *averages, steps, amsgrad=False, maximize=False, **settings)
        >>> weight
        tensor([0.9000, 1.1000])
    """
    check_unscaled("adam", grad_scale, found_inf)
    check_capturable(capturable, params)
    numbers: dict[str, Any] = {
        "lr": lr,
        "beta1": beta1,
        "beta2": beta2,
        "weight_decay": weight_decay,
        "eps": eps,
        "amsgrad": amsgrad,
        "maximize": maximize,
    }
    if not differentiable and fused is not False and fusable(params):
        state = (exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
        _update_fused(params, grads, *state, state_steps, decoupled_weight_decay, numbers)
        return
    _update_by_operators(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs,
        state_steps,
        differentiable,
        decoupled_weight_decay,
        **numbers,
    )


def _update_fused(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    max_exp_avg_sqs: Sequence[Tensor],
    steps: Sequence[Tensor],
    decoupled_weight_decay: bool,
    numbers: dict[str, Any],
) -> None:
    rule = tl_core._fused_adamw_ if decoupled_weight_decay else tl_core._fused_adam_
    tl_core._foreach_add_(steps, 1)
    rule(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, steps, **numbers)


def _update_by_operators(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    means: Sequence[Tensor],
    squares: Sequence[Tensor],
    largest: Sequence[Tensor],
    steps: Sequence[Tensor],
    differentiable: bool,
    decoupled_weight_decay: bool,
    *,
    lr: Any,
    beta1: Any,
    beta2: Any,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
) -> None:
    """The rule as a program of operators."""
    counts = count_steps(steps)
    grads = with_decay(params, grads, lr, weight_decay, decoupled_weight_decay, maximize)
    params, grads, means, squares, largest = as_real(params, grads, means, squares, largest)
    update_moments(means, squares, grads, beta1, beta2)
    if amsgrad:
        tl_core._foreach_copy_(
            largest,
            tl_core._foreach_maximum(
                clone_for_graph(largest, differentiable), clone_for_graph(squares, differentiable)
            ),
        )
    roots = tl_core._foreach_sqrt(clone_for_graph(largest if amsgrad else squares, differentiable))
    for param, mean, root, number in zip(
        params, clone_for_graph(means, differentiable), roots, counts, strict=True
    ):
        scale = root / (1 - beta2**number) ** 0.5 + eps
        param.sub_(mean / scale * (lr / (1 - beta1**number)))


def _begin(group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    return initial_state(param, names if group["amsgrad"] else names[:2])


class Adam(RuleOptimizer):
    r"""Adam: steps along the running mean of the gradient, scaled by its running mean square.

    Formula:
        .. math::

            m_t = \beta_1 m_{t-1} + (1 - \beta_1) \, g_t, \qquad v_t = \beta_2 v_{t-1} + (1 - \beta_2) \, g_t^{2}

        .. math::

            \theta_t = \theta_{t-1} - \gamma \, \frac{m_t / (1 - \beta_1^{t})}{\sqrt{v_t / (1 - \beta_2^{t})} +
            \mathrm{eps}}

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `β` are the `betas`, and
        `m_0 = v_0 = 0`. With `amsgrad` the largest `v` so far takes the place of `v_t`. `g` is the gradient, with
        the opposite sign if `maximize`. Weight decay adds `weight_decay * θ` to `g`, or with
        `decoupled_weight_decay` multiplies `θ` by `1 - lr * weight_decay` first.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The learning rate.
        betas ((float, float)): How slowly the running means of the gradient and of its square change.
        eps (float): Added to the root of the mean square, against division by zero.
        weight_decay (float): The factor of the penalty on large parameters.
        amsgrad (bool): Whether the largest mean square so far is taken instead of the present one.
        foreach (bool, optional): Accepted for compatibility.
        maximize (bool): Whether to go up instead of down.
        capturable (bool): For recording in a device's graph, not for parameters on the CPU.
        differentiable (bool): Whether gradients are recorded through the step.
        fused (bool, optional): Whether one operator updates all parameters, by default if possible.
        decoupled_weight_decay (bool): Whether weight decay acts on the parameters themselves, as in `AdamW`.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - A step is about `lr` in each element, whatever the scale of the gradient. The denominators correct the
          start from 0.
        - Where gradients are of the size of `eps` or less, the steps shrink.
        - The state has twice the size of the parameters, with `amsgrad` three times.
        - Source: Kingma and Ba, Adam, 2014. Reddi et al., On the Convergence of Adam and Beyond, 2018, for
          `amsgrad`.

    Raises:
        ValueError: If a number is out of range.
        RuntimeError: If `fused` is set together with `foreach` or `differentiable`.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.Adam([weight], lr=0.1)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.9000], requires_grad=True)
    """

    _rule: ClassVar[Rule] = Rule(adam, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"), _begin)

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if foreach and not capturable:
            _check_plain(lr=lr, **{"betas[0]": betas[0], "betas[1]": betas[1]})
        super().__init__(params, options_of(locals()))


def _check_plain(**options: Any) -> None:
    for name, value in options.items():
        if isinstance(value, Tensor):
            raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
