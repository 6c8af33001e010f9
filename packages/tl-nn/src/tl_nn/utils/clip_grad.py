"""Keeping gradients within bounds."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import tl_core
from tl_core import Tensor, linalg, no_grad, where

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


_tensor_or_tensors = Tensor | Iterable[Tensor]
_no_grad = no_grad()  # as a decorator


@_no_grad
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all tensors, as if they were one vector.

    Args:
        tensors (Tensor or iterable of them): Of floating-point types.
        norm_type (float): The exponent. `inf` is the largest absolute value.
        error_if_nonfinite (bool): Whether a norm that isn't finite is an error.
        foreach (bool, optional): Accepted for compatibility: there is one way to compute it.

    Raises:
        RuntimeError: If the norm isn't finite and `error_if_nonfinite` is set.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.utils.get_total_norm([tl_core.tensor([3.0]), tl_core.tensor([4.0])])
        tensor(5.)
    """
    tensor_list = _as_list(tensors)
    if not tensor_list:
        return tl_core.tensor(0.0)
    exponent = float(norm_type)
    norms = [_norm(tensor, exponent).to(tensor_list[0].device) for tensor in tensor_list]
    total = _norm(tl_core.stack(norms), exponent)
    if error_if_nonfinite and not abs(float(total)) < float("inf"):
        raise RuntimeError(
            f"The total norm of order {exponent} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
            "anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale the gradients, in place, by `max_norm / total_norm` where that is less than 1.

    Args:
        parameters: the parameters, or one.
        max_norm: the largest norm allowed.
        total_norm: the norm of all gradients, a tensor of one element.
        foreach: whether one call scales all gradients. None leaves the choice to tl.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_nn.Parameter(tl_core.zeros(2))
        >>> weight.grad = tl_core.tensor([3.0, 4.0])
        >>> tl_nn.utils.clip_grads_with_norm_(weight, 2.5, tl_core.tensor(5.0))
        >>> weight.grad
        tensor([1.5000, 2.0000])
    """
    factor = float(max_norm) / (total_norm + 1e-6)
    factor = where(factor > 1.0, 1.0, factor)
    for grad in _gradients(parameters):
        grad.mul_(factor.to(grad.device))


@no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients, in place, so that the norm of all of them together is at most `max_norm`.

    Args:
        parameters (Tensor or iterable of them): Parameters without a gradient are left out.
        max_norm (float): The largest norm allowed.
        norm_type, error_if_nonfinite, foreach: See `get_total_norm`.

    Returns:
        Tensor: The norm before.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.zeros(2, requires_grad=True)
        >>> weight.grad = tl_core.tensor([3.0, 4.0])
        >>> tl_nn.utils.clip_grad_norm_(weight, max_norm=1.0)
        tensor(5.)
        >>> weight.grad
        tensor([0.6000, 0.8000])
    """
    parameter_list = _as_list(parameters)
    total = get_total_norm(_gradients(parameter_list), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameter_list, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Older name of `clip_grad_norm_`.

    Args:
        parameters: the parameters, or one.
        max_norm: the largest norm allowed.
        norm_type: the exponent of the norm. Infinity is the largest element.
        error_if_nonfinite: whether an infinite or NaN norm raises RuntimeError.
        foreach: whether one call scales all gradients. None leaves the choice to tl.

    Example:
        >>> import tl_core, tl_nn
        >>> import warnings
        >>> weight = tl_nn.Parameter(tl_core.zeros(2))
        >>> weight.grad = tl_core.tensor([3.0, 4.0])
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     tl_nn.utils.clip_grad_norm(weight, max_norm=1.0)
        ...
        tensor(5.)
    """
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Move the elements of the gradients, in place, into `[-clip_value, clip_value]`.

    Args:
        parameters: the parameters, or one.
        clip_value: the largest absolute value allowed.
        foreach: whether one call scales all gradients. None leaves the choice to tl.

    Example:
        >>> import tl_core, tl_nn
        >>> weight = tl_core.zeros(2, requires_grad=True)
        >>> weight.grad = tl_core.tensor([-3.0, 0.5])
        >>> tl_nn.utils.clip_grad_value_(weight, 1.0)
        >>> weight.grad
        tensor([-1.0000,  0.5000])
    """
    bound = float(clip_value)
    for grad in _gradients(parameters):
        grad.clamp_(-bound, bound)


def _as_list(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Any) -> list[Tensor]:
    return [parameter.grad for parameter in _as_list(parameters) if parameter.grad is not None]


def _norm(tensor: Tensor, exponent: float) -> Tensor:
    """The norm of all elements. An empty tensor has the norm 0, of any exponent."""
    values = tensor.detach()
    return linalg.vector_norm(values, exponent) if values.numel() else values.abs().sum()
