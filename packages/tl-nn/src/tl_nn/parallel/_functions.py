"""`torch.nn.parallel._functions`: copies between devices under the names that older programs call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core import Tensor
from tl_nn.parallel import comm

__all__: list[str] = []


class Broadcast:
    """Tensors on each of some devices."""

    @staticmethod
    def apply(target_gpus: Sequence[Any], *inputs: Tensor) -> tuple[Tensor, ...]:
        """The tensors on the first device, then those on the second, and so on."""
        return tuple(
            tensor for copies in zip(*comm.broadcast_coalesced(inputs, target_gpus)) for tensor in copies
        )


class ReduceAddCoalesced:
    """Sums of tensors of several devices."""

    @staticmethod
    def apply(destination: Any, num_inputs: int, *grads: Tensor) -> tuple[Tensor, ...]:
        """The sum over the devices for each of `num_inputs` tensors, which come device by device."""
        return tuple(comm.reduce_add(grads[i::num_inputs], destination) for i in range(num_inputs))


class Gather:
    """Tensors of several devices joined on one."""

    @staticmethod
    def apply(target_device: Any, dim: int, *inputs: Tensor) -> Tensor:
        """The tensors, one after the other along a dimension. Tensors without dimensions become a vector."""
        joined = [t.unsqueeze(0) if t.dim() == 0 else t for t in inputs]
        return comm.gather(joined, dim, target_device)


class Scatter:
    """The parts of a tensor on several devices."""

    @staticmethod
    def apply(target_gpus: Sequence[Any], chunk_sizes: Sequence[int] | None, dim: int, input: Tensor) -> Any:
        """A part of the tensor on each device."""
        return comm.scatter(input, target_gpus, chunk_sizes, dim)
