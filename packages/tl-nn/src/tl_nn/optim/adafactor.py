"""Adafactor: Adam that keeps sums of rows and columns instead of a mean square of each element."""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from .hyperparameters import takes_tensors
from .lists import count_steps
from .rule import Rule, RuleOptimizer, count, options_of

__all__ = ["Adafactor", "adafactor"]


@takes_tensors
def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Tensor | None],
    col_vars: list[Tensor | None],
    variances: list[Tensor | None],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps: tuple[float | None, float],
    maximize: bool,
) -> None:
    """Change `params` by `grads` with the rule of `Adafactor`, and the lists of its state too.

    Matrices have a row and a column of running means, other parameters a variance. The other entries are None.

    Args:
        params: the parameters, a list of tensors, changed in place.
        grads: their gradients, a list as long.
        row_vars: the factors of the mean squares by row, a list.
        col_vars: the factors by column, a list.
        variances: the mean squares of vectors, a list.
        state_steps: the numbers of steps done, tensors of one element, changed in place.
        foreach: whether one call updates all tensors. None leaves the choice to tl, without a change of
            results.
        grad_scale: must be None: gradients are unscaled before.
        found_inf: must be None.
        has_complex: whether there are complex parameters. tl checks it itself.
        d: the root mean square at which changes are clipped.
        lr: the learning rate.
        beta2_decay: the exponent with which `1 - beta2` falls with the step.
        weight_decay: the factor of the penalty on large parameters.
        eps: the summand of the squares, and the least scale of a parameter.
        maximize: whether the steps go upward.

    Example:
        >>> import tl_core
        >>> weight, grad = tl_core.ones(2), tl_core.tensor([0.5, -0.5])
        >>> state = [None], [None], [tl_core.zeros(2)], [tl_core.tensor(0.0)]
        >>> settings = {"d": 1.0, "lr": 0.1, "beta2_decay": -0.8, "weight_decay": 0.0, "eps": (None, 1e-3)}
        >>> adafactor([weight], [grad], *state, maximize=False, **settings)
        >>> weight
        tensor([0.9000, 1.1000])
    """
    counts = count_steps(state_steps)
    lists = (params, grads, row_vars, col_vars, variances, counts)
    for param, grad, rows, columns, variance, steps in zip(*lists, strict=True):
        grad = -grad if maximize else grad
        smallest = tl_core.finfo(param.dtype).eps if eps[0] is None else eps[0]
        rate = max(eps[1], _root_mean_square(param)) * min(float(lr), 1 / sqrt(steps))
        if weight_decay:
            param.mul_(1 - lr * weight_decay)
        estimate = _estimate(grad, rows, columns, variance, steps**beta2_decay, smallest)
        update = estimate.clamp(min=smallest * smallest).rsqrt() * grad
        param.sub_(update * (rate / max(1.0, _root_mean_square(update) / d)))


def _estimate(grad: Tensor, rows: Any, columns: Any, variance: Any, weight: float, smallest: float) -> Tensor:
    """The running mean of the squared gradient, after this one has entered it with a weight."""
    squares = grad * grad
    if variance is not None:
        return variance.lerp_(squares, weight).clone()
    rows.lerp_(squares.mean(-1, keepdim=True), weight)
    columns.lerp_(squares.mean(-2, keepdim=True), weight)
    return rows @ columns / rows.mean(-2, keepdim=True).clamp(min=smallest)


def _root_mean_square(values: Tensor) -> float:
    return float((values * values).mean().sqrt())


def _begin(group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    if param.dim() < 2:
        return {"step": count(), "variance": tl_core.zeros_like(param)}
    *leading, height, width = param.shape
    return {
        "step": count(),
        "row_var": param.new_zeros((*leading, height, 1)),
        "col_var": param.new_zeros((*leading, 1, width)),
    }


class Adafactor(RuleOptimizer):
    r"""Adafactor: steps scaled by a mean square of rank one, which takes little memory.

    Formula:
        .. math::

            R_t = (1 - w_t) R_{t-1} + w_t \, \mathrm{rowmean}(g_t^{2}), \qquad
            C_t = (1 - w_t) C_{t-1} + w_t \, \mathrm{colmean}(g_t^{2}), \qquad w_t = t^{\, \mathrm{beta2\_decay}} \\
            \hat{v}_t = \frac{R_t C_t}{\max(\mathrm{mean}(R_t), \epsilon_1)}, \qquad
            u_t = \frac{g_t}{\sqrt{\max(\hat{v}_t, \epsilon_1^{2})}} \\
            \theta_t = (1 - \gamma \lambda) \, \theta_{t-1} - \max(\epsilon_2, \mathrm{RMS}(\theta_{t-1})) \,
            \min(\gamma, 1 / \sqrt{t}) \, \frac{u_t}{\max(1, \mathrm{RMS}(u_t) / d)}

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `λ` is `weight_decay`, `ε` are
        `eps`, `RMS` is the root mean square, and `g` the gradient, with the opposite sign if `maximize`. A vector
        has its full mean square as `v`.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters, see `Optimizer`. They are of real
            types.
        lr (float or Tensor): The largest step relative to the size of a parameter.
        beta2_decay (float): The power, at most 0, of the number of steps with which the weight of a new squared
            gradient falls.
        eps ((float or None, float)): The smallest divisor, by default the type's resolution, and the smallest
            size of a parameter.
        d (float): The root mean square from which on a step is scaled down, at least 1.
        weight_decay (float): How much the parameters shrink in each step, relative to `lr`.
        foreach (bool, optional): Accepted for compatibility.
        maximize (bool): Whether to go up instead of down.

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - The state of a matrix has the size of a row and a column, instead of twice the matrix in `Adam`.
        - Steps are relative to the size of the parameter, at least `eps[1]`.
        - Source: Shazeer and Stern, Adafactor, 2018.

    Raises:
        ValueError: If a number is out of range.
        RuntimeError: If a parameter is complex.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.ones(2, 2, requires_grad=True)
        >>> optimizer = tl_nn.optim.Adafactor([weight], lr=0.1)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> weight
        tensor([[0.9000, 0.9000],
                [0.9000, 0.9000]], requires_grad=True)
    """

    _rule: ClassVar[Rule] = Rule(adafactor, ("row_var", "col_var", "variance", "step"), _begin, partial=True)

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        _check(lr, beta2_decay, eps, d, weight_decay)
        super().__init__(params, options_of(locals()))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        if any(param.is_complex() for param in self.param_groups[-1]["params"]):
            del self.param_groups[-1]
            raise RuntimeError("Adafactor does not support complex parameters")


def _check(lr: Any, beta2_decay: float, eps: tuple[Any, float], d: float, weight_decay: float) -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"Tensor lr must be 1-element, got {lr.numel()} elements")
    for name, value, low in (
        ("Learning rate", lr, 0.0),
        ("epsilon2", eps[1], 0.0),
        ("Clipping threshold d", d, 1.0),
        ("weight_decay", weight_decay, 0.0),
    ):
        if not value >= low:
            raise ValueError(f"{name} should be >= {low:g} but is: {value}")
    if not beta2_decay <= 0.0:
        raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
    if eps[0] is not None and not eps[0] >= 0.0:
        raise ValueError(f"epsilon1 should be either None or >= 0 but is: {eps[0]}")
