"""AdamW: Adam with weight decay that acts on the parameters themselves."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .adam import Adam, adam

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    """AdamW, of Loshchilov and Hutter, 2017.

    See `Adam` for the arguments. `weight_decay` shrinks the parameters by
    `lr * weight_decay` at each step and doesn't enter the running means.

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
