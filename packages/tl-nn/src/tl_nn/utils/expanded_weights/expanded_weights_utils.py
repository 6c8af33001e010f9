"""Helpers of functions that support `ExpandedWeight`: arguments as plain tensors, and a place for the gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tl_core import Tensor

from .expanded_weight import ExpandedWeight

__all__ = [
    "forward_helper",
    "is_batch_first",
    "set_grad_sample_if_exists",
    "standard_kwargs",
    "sum_over_all_but_batch_and_last_n",
    "unpack_expanded_weight_or_tensor",
]


def standard_kwargs(kwarg_names: Sequence[str], expanded_args: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
    """Arguments whose last ones belong to names, as positional and keyword arguments.

    Example:
        >>> from tl_nn.utils.expanded_weights import expanded_weights_utils
        >>> expanded_weights_utils.standard_kwargs(("bias",), (1, 2, 3))
        ((1, 2), {'bias': 3})
    """
    n = len(expanded_args) - len(kwarg_names)
    return expanded_args[:n], dict(zip(kwarg_names, expanded_args[n:], strict=True))


def is_batch_first(values: Sequence[Any]) -> bool:
    """Whether the samples are along the inputs' first dimension, by the expanded weights among the values.

    Raises:
        RuntimeError: If the weights differ in `batch_first`.
    """
    choices = {value.batch_first for value in values if isinstance(value, ExpandedWeight)}
    if len(choices) > 1:
        raise RuntimeError("Got conflicting batch_first arguments in the same layer")
    return choices.pop() if choices else True


def forward_helper(func: Callable[..., Any], expanded_args: Any, expanded_kwargs: dict[str, Any]) -> Any:
    """Calls a function on the weights themselves.

    Args:
        func (callable): The function.
        expanded_args (sequence): Its arguments. The first is the input, a batch of samples.
        expanded_kwargs (dict): Its keyword arguments.

    Raises:
        RuntimeError: If the first argument is no batch, or its size differs from the weights' batch size.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.utils.expanded_weights import ExpandedWeight, expanded_weights_utils
        >>> w = ExpandedWeight(tl_core.ones(1, 2, requires_grad=True), 3, "sum")
        >>> out = expanded_weights_utils.forward_helper(tl_nn.functional.linear, (tl_core.ones(3, 2), w), {})
        >>> out.shape
        torch.Size([3, 1])
    """
    check_batch(func, expanded_args[0], [*expanded_args[1:], *expanded_kwargs.values()])
    plain = {name: _plain(value) for name, value in expanded_kwargs.items()}
    return func(*map(_plain, expanded_args), **plain)


def _plain(value: Any) -> Any:
    return value.orig_weight if isinstance(value, ExpandedWeight) else value


def check_batch(func: Callable[..., Any], input: Any, arguments: Sequence[Any]) -> None:
    """RuntimeError unless the input is a batch of the size that the expanded weights among the arguments have."""
    name = getattr(func, "__name__", repr(func))
    if isinstance(input, ExpandedWeight):
        raise RuntimeError(
            f"Expanded Weights do not support inputs that are also ExpandedWeights: the first argument of {name} "
            "must be a Tensor"
        )
    if not isinstance(input, Tensor):
        raise RuntimeError(
            f"Expanded Weights requires a Tensor as the first input to get the batch dimension, got "
            f"{type(input).__name__} in function {name}"
        )
    if input.dim() == 0:
        raise RuntimeError(
            f"Expanded Weights requires a batch dimension but got an input of size 0 in function {name}"
        )
    if input.shape[0] == 0:
        raise RuntimeError(
            f"0 is not a valid batch size for Expanded Weights but got an input of shape {tuple(input.shape)} in "
            f"function {name}"
        )
    batch_first = is_batch_first(arguments)
    if not batch_first and input.dim() == 1:
        raise RuntimeError(
            f"Expanded Weights with batch_first=False requires an input of two dimensions at least, got one of shape "
            f"{tuple(input.shape)} in function {name}"
        )
    batch_size = input.shape[0 if batch_first else 1]
    for weight in arguments:
        if isinstance(weight, ExpandedWeight) and not _fits(weight, batch_size):
            raise RuntimeError(
                f"Expected ExpandedWeights to have batch size matching input but got input batch size of "
                f"{batch_size} with ExpandedWeight of batch size {weight.batch_size}"
            )


def _fits(weight: ExpandedWeight, batch_size: int) -> bool:
    return batch_size == weight.batch_size or (
        weight.allow_smaller_batches and batch_size <= weight.batch_size
    )


def set_grad_sample_if_exists(maybe_expanded_weight: Any, per_sample_grad_fn: Callable[[Any], Any]) -> None:
    """Adds the gradients of the samples, made by a function of the weight, to `grad_sample` of an expanded weight.

    Args:
        maybe_expanded_weight (any): The weight. Other values are ignored.
        per_sample_grad_fn (callable): Is given the weight itself and returns its gradients, the samples along the
            first dimension.

    Raises:
        RuntimeError: If it is a plain tensor that requires a gradient.
    """
    weight = unpack_expanded_weight_or_tensor(maybe_expanded_weight)
    if not isinstance(maybe_expanded_weight, ExpandedWeight):
        return
    grads = per_sample_grad_fn(weight)
    size = maybe_expanded_weight.batch_size
    if maybe_expanded_weight.loss_reduction == "mean":
        grads = grads * size
    if size > grads.shape[0] and maybe_expanded_weight.allow_smaller_batches:
        all_grads = grads.new_zeros(size, *grads.shape[1:])
        all_grads[: grads.shape[0]] = grads
        grads = all_grads
    before = getattr(weight, "grad_sample", None)
    weight.grad_sample = grads if before is None else before + grads


def unpack_expanded_weight_or_tensor(
    maybe_expanded_weight: Any, func: Callable[[Any], Any] = lambda x: x
) -> Any:
    """A function's value at the weight of an expanded weight, or at a tensor without gradient. None for all else.

    Raises:
        RuntimeError: If it is a plain tensor that requires a gradient.

    Example:
        >>> import tl_core
        >>> from tl_nn.utils.expanded_weights import expanded_weights_utils
        >>> expanded_weights_utils.unpack_expanded_weight_or_tensor(tl_core.ones(2), lambda x: x.shape)
        torch.Size([2])
    """
    if isinstance(maybe_expanded_weight, ExpandedWeight):
        return func(maybe_expanded_weight.orig_weight)
    if not isinstance(maybe_expanded_weight, Tensor):
        return None
    if maybe_expanded_weight.requires_grad:
        raise RuntimeError(
            "A call does not support a mixture of ExpandedWeight parameters and normal Parameters: got a Tensor that "
            "requires a gradient and is no ExpandedWeight"
        )
    return func(maybe_expanded_weight)


def sum_over_all_but_batch_and_last_n(tensor: Tensor, n_dims: int) -> Tensor:
    """The sum over all dimensions but the first and the last ones.

    Args:
        tensor (Tensor, shape (N, *, last n_dims dimensions)): The tensor to sum.
        n_dims (int): How many of the last dimensions stay.

    Example:
        >>> import tl_core
        >>> from tl_nn.utils.expanded_weights import expanded_weights_utils
        >>> expanded_weights_utils.sum_over_all_but_batch_and_last_n(tl_core.ones(2, 3, 4, 5), 1).shape
        torch.Size([2, 5])
    """
    between = tuple(range(1, tensor.dim() - n_dims))
    return tensor.sum(between) if between else tensor
