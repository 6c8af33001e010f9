"""The mean of the ranks' gradients, exchanged in their own type or in a type of 16 bits."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

from ...collectives.tensor_collectives import all_reduce, reduce_scatter_tensor
from ...groups.process_groups import get_world_size

__all__ = [
    "DefaultState",
    "LowPrecisionState",
    "allreduce_hook",
    "bf16_compress_hook",
    "fp16_compress_hook",
    "reduce_scatter_hook",
]


class DefaultState:
    """The ranks, and the two factors by which gradients are divided: before the sum and after it.

    Args:
        process_group: the ranks.

    Raises:
        ValueError: there are none.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> DefaultState(dist.group.WORLD).gradient_predivide_factor
        1.0
        >>> dist.destroy_process_group()
    """

    def __init__(self, process_group: Any):
        if process_group is None:
            raise ValueError(f"Expected to pass in an explicit ProcessGroup to {type(self).__name__}.")
        self.process_group = process_group
        self.world_size = get_world_size(process_group)
        factor = 1
        while self.world_size % factor == 0 and self.world_size / factor > factor:
            factor *= 2
        self.gradient_predivide_factor = float(factor)
        self.gradient_postdivide_factor = self.world_size / self.gradient_predivide_factor


class LowPrecisionState(DefaultState):
    """The ranks, and the type to which gradients of 16 bits are converted after the exchange.

    Args:
        process_group: the ranks.
        parameter_type: the type.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> LowPrecisionState(dist.group.WORLD).parameter_type
        torch.float32
        >>> dist.destroy_process_group()
    """

    def __init__(self, process_group: Any, parameter_type: tl_core.dtype = tl_core.float32):
        super().__init__(process_group)
        self.parameter_type = parameter_type


def allreduce_hook(state: DefaultState, grad: Tensor) -> None:
    """Replaces a gradient by the mean of all ranks' gradients.

    Args:
        state: the ranks.
        grad: the gradient.
    """
    if state.gradient_predivide_factor > 1:
        grad.div_(state.gradient_predivide_factor)
    all_reduce(grad, group=state.process_group)
    if state.gradient_postdivide_factor > 1:
        grad.div_(state.gradient_postdivide_factor)


def reduce_scatter_hook(state: DefaultState, grad: Tensor, output: Tensor) -> None:
    """Writes this rank's piece of the mean of all ranks' gradients.

    Args:
        state: the ranks.
        grad: the whole gradient.
        output: the piece.
    """
    if state.gradient_predivide_factor > 1:
        grad.div_(state.gradient_predivide_factor)
    reduce_scatter_tensor(output, grad, group=state.process_group)
    if state.gradient_postdivide_factor > 1:
        output.div_(state.gradient_postdivide_factor)


def fp16_compress_hook(state: LowPrecisionState, grad: Tensor, output: Tensor | None = None) -> None:
    """The mean of gradients, exchanged as float16.

    Args:
        state: the ranks.
        grad: the whole gradient.
        output: this rank's piece of the mean; without one, the mean replaces the gradient.
    """
    _exchange(tl_core.float16, state, grad, output)


def bf16_compress_hook(state: LowPrecisionState, grad: Tensor, output: Tensor | None = None) -> None:
    """The mean of gradients, exchanged as bfloat16.

    Args:
        state: the ranks.
        grad: the whole gradient.
        output: this rank's piece of the mean; without one, the mean replaces the gradient.
    """
    _exchange(tl_core.bfloat16, state, grad, output)


def _exchange(dtype: tl_core.dtype, state: LowPrecisionState, grad: Tensor, output: Tensor | None) -> None:
    low = grad.to(dtype)
    if output is None:
        allreduce_hook(state, low)
        grad.data = low.to(state.parameter_type)
    else:
        piece = output.to(dtype)
        reduce_scatter_hook(state, low, piece)
        output.data = piece.to(state.parameter_type)
