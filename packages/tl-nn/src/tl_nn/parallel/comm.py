"""Tensors sent to several devices, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor

__all__ = [
    "broadcast",
    "broadcast_coalesced",
    "gather",
    "reduce_add",
    "reduce_add_coalesced",
    "scatter",
]


def broadcast(tensor: Tensor, devices: Any = None, *, out: Any = None) -> tuple[Tensor, ...]:
    """A tensor on each of some devices, or written into each of some tensors.

    Args:
        tensor: the tensor.
        devices: the devices, as `device` or index.
        out: tensors that take the result instead of new ones.

    Raises:
        RuntimeError: If not one of `devices` and `out` is given.

    Example:
        >>> import tl_core
        >>> from tl_nn.parallel import comm
        >>> comm.broadcast(tl_core.ones(2), ["cpu", "cpu"])
        (tensor([1., 1.]), tensor([1., 1.]))
    """
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )
    if devices is not None:
        return tuple(tensor.to(_device(device)) for device in devices)
    return tuple(target.copy_(tensor) for target in out)


def broadcast_coalesced(
    tensors: Sequence[Tensor], devices: Any, buffer_size: int = 10485760
) -> list[tuple[Tensor, ...]]:
    """Several tensors on each of some devices. `buffer_size` is accepted for compatibility.

    Args:
        tensors: the tensors.
        devices: the devices, as `device` or index.
        buffer_size: bytes, accepted for compatibility.

    Example:
        >>> import tl_core
        >>> from tl_nn.parallel import comm
        >>> comm.broadcast_coalesced([tl_core.ones(2)], ["cpu", "cpu"])
        [(tensor([1., 1.]),), (tensor([1., 1.]),)]
    """
    return [tuple(tensor.to(_device(device)) for tensor in tensors) for device in devices]


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of one shape, on a device, by default the first tensor's.

    Raises:
        ValueError: If the shapes differ.

    Example:
        >>> import tl_core
        >>> from tl_nn.parallel import comm
        >>> comm.reduce_add([tl_core.tensor([1.0]), tl_core.tensor([2.0])], "cpu")
        tensor([3.])
    """
    if any(each.shape != inputs[0].shape for each in inputs):
        raise ValueError(f"inputs have different shapes: {[tuple(each.shape) for each in inputs]}")
    device = inputs[0].device if destination is None else _device(destination)
    total = inputs[0].to(device)
    for each in inputs[1:]:
        total = total + each.to(device)
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]], destination: Any = None, buffer_size: int = 10485760
) -> tuple[Tensor, ...]:
    """The sums of several tensors, each given once for each device.

    Args:
        inputs: a list of tensors of each device.
        destination: the device of the result. None selects the first tensor's.
        buffer_size: bytes, accepted for compatibility.

    Example:
        >>> import tl_core
        >>> from tl_nn.parallel import comm
        >>> comm.reduce_add_coalesced([[tl_core.tensor([1.0])], [tl_core.tensor([2.0])]], "cpu")
        (tensor([3.]),)
    """
    return tuple(reduce_add(each, destination) for each in zip(*inputs, strict=True))


def scatter(
    tensor: Tensor,
    devices: Any = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Any = None,
) -> tuple[Tensor, ...]:
    """Parts of a tensor, each on a device, or written into each of some tensors.

    Args:
        tensor (Tensor): The tensor to divide.
        devices (sequence of devices): Where the parts go.
        chunk_sizes (sequence of int, optional): The sizes of the parts, by default as equal as possible.
        dim (int): The dimension along which it is divided.
        streams: Accepted for compatibility.
        out (sequence of Tensor): Written into instead of `devices`.

    Example:
        >>> import tl_core
        >>> from tl_nn.parallel import comm
        >>> comm.scatter(tl_core.arange(3), ["cpu", "cpu"])
        (tensor([0, 1]), tensor([2]))
    """
    if out is not None:
        parts = tensor.split([each.size(dim) for each in out], dim)
        return tuple(target.copy_(part) for target, part in zip(out, parts, strict=True))
    parts = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple(part.to(_device(device)) for part, device in zip(parts, devices, strict=False))


def gather(
    tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """Tensors from several devices as one, along a dimension.

    Args:
        tensors: the tensors.
        dim: the dimension along which tensors are divided or joined.
        destination: the device of the result. None selects the first tensor's.
        out: tensors that take the result instead of new ones.

    Raises:
        RuntimeError: If both `destination` and `out` are given.

    Example:
        >>> import tl_core
        >>> from tl_nn.parallel import comm
        >>> comm.gather([tl_core.tensor([1.0]), tl_core.tensor([2.0])], destination="cpu")
        tensor([1., 2.])
    """
    if out is not None and destination is not None:
        raise RuntimeError(
            f"'destination' must not be specified when 'out' is specified, but got {destination}"
        )
    device = (
        out.device if out is not None else tensors[0].device if destination is None else _device(destination)
    )
    joined = tl_core.cat([each.to(device) for each in tensors], dim)
    return joined if out is None else out.copy_(joined)


def _device(device: Any) -> Any:
    """A device, for whose number an accelerator is meant."""
    return f"cuda:{device}" if isinstance(device, int) else device
