"""Checks of the options that optimizers share."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor


def check_lr(lr: Any) -> None:
    """Refuse a learning rate that is negative or a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"Tensor lr must be 1-element, got {lr.numel()} elements")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_at_least_zero(option: str, value: Any) -> None:
    """Refuse a negative option."""
    if not value >= 0.0:
        raise ValueError(f"Invalid {option} value: {value}")


def check_ways(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Refuse ways of computing the step that exclude one another."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
