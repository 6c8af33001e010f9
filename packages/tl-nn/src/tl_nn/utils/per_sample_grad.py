"""Modules called so that each parameter gets a gradient for each sample of the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import Tensor
from tl_core.pytree import tree_leaves

from ..func import functional_call
from ..modules.module import Module
from .expanded_weights import ExpandedWeight

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """A module's forward, after which backward leaves one gradient a sample in `grad_sample` of each parameter.

    The module's layers must compute each sample by itself, from the functions `linear`, `conv1d` to `conv3d`,
    `embedding`, `layer_norm`, `group_norm` and `instance_norm` where there are parameters.

    Args:
        module (Module): The module.
        batch_size (int, optional): The number of samples of the inputs, by default their common size along the batch's
            dimension.
        loss_reduction ({"sum", "mean"}): How the loss joins the samples. With "mean" the gradients are multiplied by
            the batch's size.
        batch_first (bool): Whether the samples lie along the first dimension of inputs, or along the second.

    Returns:
        callable: Takes the module's arguments.

    Raises:
        RuntimeError: If an argument is none of these; when called, if the inputs have no common batch size, a parameter
            has a `grad_sample` already, or a function is called that doesn't know expanded weights.

    Example:
        >>> import tl_core, tl_nn
        >>> layer = tl_nn.Linear(2, 1)
        >>> call_for_per_sample_grads(layer)(tl_core.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        >>> layer.weight.grad_sample.tolist()
        [[[1.0, 2.0]], [[3.0, 4.0]]]
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for parameter in module.parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError(
                f"Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls "
                f"without clearing gradients: clear grad_sample of the parameter of shape {tuple(parameter.shape)}"
            )

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        size = _common_batch_size((args, kwargs), batch_first) if batch_size is None else batch_size
        expanded = {
            name: _expand(parameter, size, loss_reduction, batch_first)
            for name, parameter in module.named_parameters()
        }
        return functional_call(module, expanded, args, kwargs)

    return wrapper


def _expand(parameter: Any, size: int, loss_reduction: str, batch_first: bool) -> Any:
    if not parameter.requires_grad:
        return parameter
    weight = ExpandedWeight(parameter, size, loss_reduction)
    weight.batch_first = batch_first
    return weight


def _common_batch_size(inputs: Any, batch_first: bool) -> int:
    """The size of all tensors among the inputs along the dimension of the batch."""
    batch_size = None
    for leaf in tree_leaves(inputs):
        if not isinstance(leaf, Tensor) or leaf.dim() <= (0 if batch_first else 1):
            continue
        size = leaf.shape[0 if batch_first else 1]
        if batch_size is not None and batch_size != size:
            raise RuntimeError(
                f"When computing batch size, found at least one input with batch size {batch_size} and one with batch "
                f"size {size}. Please specify it explicitly using the batch size kwarg in call_for_per_sample_grads"
            )
        batch_size = size
    if batch_size is None:
        raise RuntimeError(
            "ExpandedWeights cannot compute the batch size from the inputs: there is no tensor with a batch dimension "
            "among them. Please specify it explicitly using the batch size kwarg in call_for_per_sample_grads"
        )
    return batch_size
