"""Resilient backpropagation: steps that go by the gradient's sign only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor, where

from .checks import check_capturable
from .hyperparameters import takes_tensors
from .lists import as_real, clone_for_graph, count_steps, directions
from .rule import Rule, RuleOptimizer, count, full, options_of, zeros

__all__ = ["Rprop", "rprop"]


@takes_tensors
def rprop(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    prevs: Sequence[Tensor],
    step_sizes: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """Change `params` by `grads` with the rule of `Rprop`, and the lists of its state too.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        prevs: the gradients of the step before, a list.
        step_sizes: the step size of each element, a list.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        capturable: for devices that record graphs. Parameters on the CPU raise AssertionError.
        maximize: whether the steps go upward.
        differentiable: whether gradients flow through the step.
        has_complex: whether there are complex parameters. tl checks it itself.
        step_size_min: the smallest step size.
        step_size_max: the largest step size.
        etaminus: the factor where the gradient changes its sign.
        etaplus: the factor where the sign stays.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> state = [tl_core.zeros(2)], [tl_core.full((2,), 0.1)], [tl_core.tensor(0.0)]
        >>> rprop([weight], [grad], *state, step_size_min=1e-6, step_size_max=50.0, etaminus=0.5, etaplus=1.2)
        >>> weight
        tensor([0.9000, 1.1000])
    """
    check_capturable(capturable, params)
    count_steps(state_steps)
    grads = directions(params, grads, maximize)
    params, grads, prevs, step_sizes = as_real(params, grads, prevs, step_sizes)
    before = clone_for_graph(step_sizes, differentiable)
    for param, grad, prev, old, size in zip(params, grads, prevs, before, step_sizes, strict=True):
        agreement = grad * prev
        changed = where(agreement > 0, old * etaplus, where(agreement < 0, old * etaminus, old))
        size.copy_(_clamp(changed, step_size_min, step_size_max))
        direction = where(agreement < 0, 0.0, grad)
        param.sub_(direction.sign() * size.clone())
        prev.copy_(direction)


def _clamp(sizes: Tensor, least: Any, most: Any) -> Tensor:
    if isinstance(least, Tensor) or isinstance(most, Tensor):
        limits = (tl_core.as_tensor(limit, dtype=sizes.dtype) for limit in (least, most))
        return sizes.maximum(next(limits)).minimum(next(limits))
    return sizes.clamp(least, most)


def _begin(group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    return {"step": count(), "prev": zeros(param), "step_size": full(param, group["lr"])}


class Rprop(RuleOptimizer):
    r"""Resilient backpropagation: each element has a step size, which depends on the signs of its gradient alone.

    Formula:
        .. math::

            s_t = \mathrm{clamp}\left( s_{t-1} \cdot \begin{cases} \eta^{+} & g_t \, g_{t-1} > 0 \\
            \eta^{-} & g_t \, g_{t-1} < 0 \\
            1 & \text{otherwise} \end{cases} \right), \qquad \theta_t = \theta_{t-1} - s_t \, \mathrm{sign}(g_t)

        `θ` is a parameter, `η⁻` and `η⁺` are the `etas`, `clamp` bounds by `step_sizes`, and `s_0` is `lr`. `g` is
        the gradient, with the opposite sign if `maximize`. Where the sign changes, the step is left out and `g_t`
        counts as 0 in the next step.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters. See `Optimizer`.
        lr (float or Tensor): The first step size.
        etas ((float, float)): The factors by which a step size shrinks and grows.
        step_sizes ((float, float)): The smallest and the largest step size.
        capturable, foreach, maximize, differentiable: See `Adam`.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - The rule suits full batches: the noise of small batches changes signs.
        - Source: Riedmiller and Braun, A Direct Adaptive Method for Faster Backpropagation Learning, 1993.

    Raises:
        ValueError: If `lr` is negative, or the factors aren't below and above 1.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.tensor([1.0], requires_grad=True)
        >>> optimizer = tl_nn.optim.Rprop([weight], lr=0.1)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([0.9000], requires_grad=True)
    """

    _rule: ClassVar[Rule] = Rule(rprop, ("prev", "step_size", "step"), _begin)

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, options_of(locals()))
