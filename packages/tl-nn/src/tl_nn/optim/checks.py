"""Checks of the options that optimizers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core import Tensor

_AT_LEAST_ZERO = (
    "momentum",
    "weight_decay",
    "lr_decay",
    "initial_accumulator_value",
    "momentum_decay",
)


def check_options(options: dict[str, Any]) -> None:
    """Raise an error for numbers out of range and for switches that exclude one another."""
    if "lr" in options:
        check_lr(options["lr"])
    eps = options.get("eps", 0.0)
    if not isinstance(eps, tuple) and not eps >= 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}")
    if "betas" in options:
        _check_betas(options["betas"])
    for option in _AT_LEAST_ZERO:
        if option in options and not options[option] >= 0.0:
            raise ValueError(f"Invalid {option} value: {options[option]}")
    _check_ways(options)


def check_lr(lr: Any) -> None:
    """Refuse a learning rate that is negative or a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"Tensor lr must be 1-element, got {lr.numel()} elements")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def _check_betas(betas: tuple[Any, Any]) -> None:
    if isinstance(betas[0], Tensor) is not isinstance(betas[1], Tensor):
        raise ValueError("betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas):
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{index}] must be 1-element, got {beta.numel()} elements")
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def _check_ways(options: dict[str, Any]) -> None:
    fused, foreach = options.get("fused"), options.get("foreach")
    if fused and options.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_capturable(capturable: bool, params: Sequence[Tensor]) -> None:
    """Refuse to be recorded in a device's graph where there is none."""
    if capturable and any(param.is_cpu for param in params):
        raise AssertionError(
            "If capturable=True, params and state_steps must be on supported devices: not the CPU"
        )


def check_unscaled(name: str, grad_scale: Tensor | None, found_inf: Tensor | None) -> None:
    """Refuse gradients that are still scaled: unscaling is the work of GradScaler here.

    Args:
        name: the optimizer, for the error.
        grad_scale: the scale of the gradients, or None.
        found_inf: whether they hold an infinity, or None.
    """
    if grad_scale is not None or found_inf is not None:
        raise NotImplementedError(
            f"{name}: grad_scale and found_inf aren't supported, unscale the gradients first"
        )
