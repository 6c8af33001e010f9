"""Muon: steps of matrices along the nearest matrix with orthonormal rows or columns."""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor

from .rule import Rule, RuleOptimizer, options_of

__all__ = ["Muon", "muon"]

_ADJUSTMENTS = ("original", "match_rms_adamw")


def muon(
    params: list[Tensor],
    grads: list[Tensor],
    muon_momentum_bufs: list[Tensor],
    *,
    foreach: bool | None = None,
    lr: float | Tensor,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool = False,
) -> None:
    """Change `params` by `grads` with the rule of `Muon`, and the lists of its state too.

    Args:
        params: the parameters, matrices, changed in place.
        grads: their gradients, a list as long.
        muon_momentum_bufs: the running means of the gradients, a list as long, changed in place.
        foreach: must not be True.
        lr: the learning rate.
        weight_decay: the factor of the penalty on large parameters.
        momentum: the weight of earlier gradients.
        nesterov: whether the mean is looked up one step ahead.
        ns_coefficients: the coefficients of the Newton-Schulz polynomial.
        ns_steps: the number of its iterations.
        eps: the least norm of a gradient.
        adjust_lr_fn: the dependence of the learning rate on the sizes of a matrix. None is "original".
        has_complex: must be False.

    Raises:
        RuntimeError: If `foreach` is True.
        ValueError: If there are complex parameters.
    """
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueError("Complex parameters are not supported")
    for param, grad, mean in zip(params, grads, muon_momentum_bufs, strict=True):
        mean.lerp_(grad, 1 - momentum)
        step = _orthogonal(grad.lerp(mean, momentum) if nesterov else mean, ns_coefficients, ns_steps, eps)
        param.mul_(1 - lr * weight_decay)
        param.add_(step, alpha=-float(lr) * _scale(tuple(param.shape), adjust_lr_fn))


def _orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Newton-Schulz iteration of a quintic towards the polar factor of a matrix, in bfloat16.

    The singular values end near 1, not at 1: the coefficients trade that for the slope at 0 (Jordan et al. 2024,
    *Muon: an optimizer for hidden layers in neural networks*).
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.to(tl_core.bfloat16)
    x = x.T if is_tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        polynomial = tl_core.addmm(gram, gram, gram, beta=b, alpha=c)
        x = tl_core.addmm(x, polynomial, x, beta=a)
    return x.T if is_tall else x


def _scale(shape: tuple[int, ...], adjustment: str | None) -> float:
    """The factor of the learning rate of a matrix."""
    rows, columns = shape
    if adjustment in (None, "original"):
        return sqrt(max(1, rows / columns))
    return 0.2 * sqrt(max(rows, columns))


def _begin(group: dict[str, Any], param: Tensor) -> dict[str, Any]:
    return {"momentum_buffer": tl_core.zeros_like(param, memory_format=tl_core.preserve_format)}


class Muon(RuleOptimizer):
    r"""Muon: the running mean of the gradient, with all singular values near 1, is the step.

    Muon accepts matrices, the weights of hidden layers. Another optimizer, such as `AdamW`, trains embeddings,
    biases and the weights of the last layer.

    Formula:
        .. math::

            m_t = \mu \, m_{t-1} + (1 - \mu) \, g_t, \qquad
            \theta_t = (1 - \gamma \lambda) \, \theta_{t-1} - \gamma \, s \, \mathrm{NS}(\mu \, m_t +
            (1 - \mu) \, g_t)

        `θ` is a parameter, `γ` is `lr` and `t` the number of the step, from 1. `g` is the gradient, `μ` is
        `momentum`, `λ` is `weight_decay`, `s` the factor of `adjust_lr_fn`, and `m_0 = 0`. Without `nesterov` the
        argument of `NS` is `m_t`. `NS` divides a matrix by its norm and applies `ns_steps` times

        .. math::

            X \leftarrow a X + b \, (X X^{\mathsf{T}}) X + c \, (X X^{\mathsf{T}})^{2} X

        with the coefficients `a`, `b` and `c` of `ns_coefficients`.

    Args:
        params (iterable of Tensor, of (str, Tensor), or of dict): The parameters, all matrices. See `Optimizer`.
        lr (float or Tensor): The learning rate.
        weight_decay (float): How much the parameters shrink in each step, relative to `lr`.
        momentum (float): The weight of earlier gradients.
        nesterov (bool): Whether the mean is looked up one step ahead.
        ns_coefficients ((float, float, float)): The coefficients of the Newton-Schulz polynomial.
        eps (float): The least norm of a gradient.
        ns_steps (int): The number of Newton-Schulz iterations.
        adjust_lr_fn (str, optional): "original" multiplies `lr` by `sqrt(max(1, rows / columns))`,
            "match_rms_adamw" by `0.2 * sqrt(max(rows, columns))` (Liu et al. 2025, *Muon is scalable for LLM
            training*). None is "original".

    Notes:
        - A parameter whose `grad` is None is left out: neither the parameter nor its state changes.
        - The iteration is in bfloat16. Singular values end near 1, not at 1, because the coefficients favour the
          fast growth of small ones.
        - Source: Jordan et al., Muon: An Optimizer for Hidden Layers in Neural Networks, 2024. Liu et al., Muon is
          Scalable for LLM Training, 2025, for "match_rms_adamw".

    Raises:
        ValueError: If a number is out of range, or a parameter is no matrix.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.eye(2).requires_grad_()
        >>> optimizer = tl_nn.optim.Muon([weight], lr=0.1, weight_decay=0.0)
        >>> (weight * weight).sum().backward()
        >>> optimizer.step()
        >>> bool((weight.diag() < 1).all())
        True
    """

    _rule: ClassVar[Rule] = Rule(muon, ("momentum_buffer",), _begin)

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        options = options_of(locals())
        _check(options)
        super().__init__(params, options)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )


def _check(options: dict[str, Any]) -> None:
    rate = options["lr"]
    if isinstance(rate, Tensor) and rate.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    names = {"lr": "Learning rate", "momentum": "momentum", "weight_decay": "weight decay"}
    for name, text in names.items():
        if not options[name] >= 0:
            raise ValueError(f"{text} should be >= 0 but is: {options[name]}")
    adjustment = options["adjust_lr_fn"]
    if adjustment is not None and adjustment not in _ADJUSTMENTS:
        raise ValueError(f"Adjust learning rate function {adjustment} is not supported")
