"""The shapes by which an output and its gradient are compared."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

__all__: list[str] = []


def _shape(tensor: Tensor) -> Any:
    if tensor.is_nested:
        return tl_core.tensor([list(part.shape) for part in tensor.unbind()])
    return tensor.shape


def _calculate_shape(output: Any, grad: Tensor, is_grads_batched: bool) -> tuple[Any, Any]:
    """The shapes of an output and of its gradient, without the batch if there is one.

    Args:
        output: a tensor, or the edge that stands for one.
        grad: its gradient.
        is_grads_batched: whether the first dimension of the gradient is a batch.

    Returns:
        Two sizes; for nested tensors, a row of sizes for each component.

    Raises:
        RuntimeError: nested gradients come in a batch.
    """
    if is_grads_batched and grad.is_nested:
        raise RuntimeError("Batched grads are not supported with Nested Tensor.")
    shape = (
        _shape(output) if isinstance(output, Tensor) else output.node._input_metadata[output.output_nr].shape
    )
    return shape, grad.shape[1:] if is_grads_batched else _shape(grad)
