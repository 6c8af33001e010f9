"""AdamW: Adam with weight decay that acts on the parameters themselves."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .adam import Adam, adam

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    r"""Adam with weight decay that acts on the parameters instead of the gradient.

    Formula:
        .. math::

            \theta \leftarrow (1 - \gamma \lambda) \, \theta_{t-1}

        .. math::

            m_t = \beta_1 m_{t-1} + (1 - \beta_1) \, g_t, \qquad v_t = \beta_2 v_{t-1} + (1 - \beta_2) \, g_t^{2}

        .. math::

            \theta_t = \theta - \gamma \, \frac{m_t / (1 - \beta_1^{t})}{\sqrt{v_t / (1 - \beta_2^{t})} +
            \mathrm{eps}}

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `λ` is `weight_decay`, `g` is the
        gradient, with the opposite sign if `maximize`, `β` are the `betas`, and `m_0 = v_0 = 0`. With `amsgrad` the
        largest `v` so far takes the place of `v_t`.

    Args:
        params: the parameters, or dictionaries of groups of them with options of their own.
        lr: the learning rate.
        betas: how much of the running means of gradients and squares is kept.
        eps: added to denominators.
        weight_decay: the factor of the penalty on large parameters.
        amsgrad: whether the largest of the running mean squares so far is used.
        maximize: whether the steps go upward.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        capturable: for devices that record graphs. Parameters on the CPU raise AssertionError.
        differentiable: whether gradients flow through the step.
        fused: whether one kernel does the step. None leaves the choice to tl.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - The decay doesn't pass through the scaling by `v`, so it is equal for all elements. Its default is 0.01,
          not 0 as in `Adam`.
        - The class is `Adam` with `decoupled_weight_decay=True`.
        - Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2017.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.AdamW([weight], lr=0.1, weight_decay=0.5)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.8500], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def adamw(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    **options: Any,
) -> None:
    """Change `params` by `grads` with the rule of `AdamW`. See `adam` for the options.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        exp_avgs: the running means, a list.
        exp_avg_sqs: the running mean squares, a list.
        max_exp_avg_sqs: the largest of these so far, a list. Empty unless `amsgrad`.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        options: the keyword arguments of `adam`.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> averages, steps = ([tl_core.zeros(2)], [tl_core.zeros(2)], []), [tl_core.tensor(0.0)]
        >>> settings = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.5, "eps": 1e-8}
        >>> adamw([weight], [grad], *averages, steps, amsgrad=False, maximize=False, **settings)
        >>> weight
        tensor([0.8500, 1.0500])
    """
    lists = (params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps)
    adam(*lists, decoupled_weight_decay=True, **options)
