"""Adagrad: steps scaled by the sum of all squared gradients so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor, set_grad_enabled

from .checks import check_unscaled
from .hyperparameters import takes_tensors
from .lists import add_to_each, as_real, clone_for_graph, count_steps, directions, with_values
from .optimizer import fusable
from .rule import Rule, RuleOptimizer, count, full, options_of

__all__ = ["Adagrad", "adagrad"]


@takes_tensors
def adagrad(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    state_sums: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Change `params` by `grads` with the rule of `Adagrad`, and the lists of its state too.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        state_sums: the sums of squares, a list.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        fused: whether one kernel does the step. None leaves the choice to tl.
        grad_scale: must be None: gradients are unscaled before.
        found_inf: must be None.
        has_sparse_grad: whether there are sparse gradients. tl checks it itself.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        differentiable: whether gradients flow through the step.
        has_complex: whether there are complex parameters. tl checks it itself.
        lr: the learning rate.
        weight_decay: the factor of the penalty on large parameters.
        lr_decay: how fast the learning rate falls with the step.
        eps: added to denominators.
        maximize: whether the steps go upward.

    Raises:
        NotImplementedError: If gradients are to be unscaled, which is the work of GradScaler here.
        RuntimeError: If `fused` or `weight_decay` is set with sparse gradients.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> state = [tl_core.zeros(2)], [tl_core.tensor(0.0)]
        >>> settings = {"lr": 0.1, "weight_decay": 0.0, "lr_decay": 0.0, "eps": 1e-10, "maximize": False}
        >>> adagrad([weight], [grad], *state, has_sparse_grad=False, **settings)
        >>> weight
        tensor([0.9000, 1.1000])
    """
    check_unscaled("adagrad", grad_scale, found_inf)
    if has_sparse_grad:
        if fused:
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        if weight_decay:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        rest = []
        for index, grad in enumerate(grads):
            if grad.is_sparse:
                rate = lr / (1 + (count_steps([state_steps[index]])[0] - 1) * lr_decay)
                _change_rows(params[index], -grad if maximize else grad, state_sums[index], rate, eps)
            else:
                rest.append(index)
        if not rest:
            return
        params, grads, state_sums, state_steps = (
            [values[index] for index in rest] for values in (params, grads, state_sums, state_steps)
        )
    if not differentiable and fused is not False and fusable(params):
        numbers: dict[str, Any] = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps}
        tl_core._foreach_add_(state_steps, 1)
        tl_core._fused_adagrad_(params, grads, state_sums, state_steps, maximize=maximize, **numbers)
        return
    rates = [lr / (1 + (steps - 1) * lr_decay) for steps in count_steps(state_steps)]
    grads = directions(params, grads, maximize, weight_decay)
    params, grads, sums = as_real(params, grads, state_sums)
    tl_core._foreach_addcmul_(sums, grads, grads)
    roots = add_to_each(tl_core._foreach_sqrt(clone_for_graph(sums, differentiable)), eps)
    updates = [update * rate for update, rate in zip(tl_core._foreach_div(grads, roots), rates, strict=True)]
    tl_core._foreach_sub_(params, updates)


def _change_rows(param: Tensor, grad: Tensor, total: Tensor, rate: Any, eps: float) -> None:
    """The rule for the rows that a sparse gradient has."""
    grad = grad.coalesce()
    values = grad._values()
    total.add_(with_values(grad, values * values))
    roots = total.sparse_mask(grad)._values().sqrt() + eps
    param.sub_(with_values(grad, values / roots * rate))


def _begin(group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    return {"step": count(), "sum": full(param, group["initial_accumulator_value"])}


class Adagrad(RuleOptimizer):
    r"""Adagrad: steps scaled by the sum of all squared gradients.

    Formula:
        .. math::

            s_t = s_{t-1} + g_t^{2}, \qquad
            \theta_t = \theta_{t-1} - \frac{\gamma}{1 +
            (t - 1) \, \mathrm{lr\_decay}} \cdot \frac{g_t}{\sqrt{s_t} + \mathrm{eps}}

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `g` is the gradient, with the
        opposite sign if `maximize`, plus `weight_decay * θ`. `s_0` is `initial_accumulator_value`.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The learning rate.
        lr_decay (float): How much the learning rate shrinks with the number of steps: `lr / (1 + steps *
            lr_decay)`.
        weight_decay (float): The factor of the penalty on large parameters.
        initial_accumulator_value (float): The initial sums of squares.
        eps (float): Added to the roots, against division by zero.
        foreach, maximize, differentiable, fused: See `Adam`.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - Steps only shrink, so rare features, whose gradient is mostly 0, keep larger steps than frequent ones.
        - Sparse gradients are accepted, without weight decay.
        - Source: Duchi, Hazan and Singer, Adaptive Subgradient Methods for Online Learning and Stochastic
          Optimization, 2011.

    Raises:
        ValueError: If a number is negative.
        RuntimeError: If `fused` is set together with `foreach` or `differentiable`.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.Adagrad([weight], lr=0.5)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.5000], requires_grad=True)
    """

    _rule: ClassVar[Rule] = Rule(adagrad, ("sum", "step"), _begin)

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, options_of(locals()))
        with set_grad_enabled(differentiable):
            for group in self.param_groups:
                for param in group["params"]:
                    self.state[param] = _begin(group, param)

    def share_memory(self) -> None:
        """Move the state to memory that other processes see too."""
        for state in self.state.values():
            state["sum"].share_memory_()
