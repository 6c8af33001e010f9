"""`torch.utils._foreach_utils`: which devices take lists of tensors at once, and tensors by device and type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from tl_core import Tensor, device

__all__ = ["group_tensors_by_device_and_dtype"]

TensorListList: TypeAlias = list[list[Tensor | None]]
Indices: TypeAlias = list[int]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices on which lists of tensors are worked on at once by default: accelerators, of which there are none."""
    return []


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices that have optimizers in one pass."""
    return ["cpu"]


def _device_has_foreach_support(device: device) -> bool:
    """Whether the device works on lists of tensors at once by default."""
    return device.type in _get_foreach_kernels_supported_devices()


def _has_foreach_support(tensors: Sequence[Tensor], device: device) -> bool:
    """Whether these tensors are worked on at once by default."""
    return _device_has_foreach_support(device) and all(t is None or type(t) is Tensor for t in tensors)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]]:
    """The lists' elements at the same index go to one group, by the device and type of those in the first list."""
    groups: dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]] = {}
    for i, entries in enumerate(
        zip(*(one or [None] * len(tensorlistlist[0]) for one in tensorlistlist), strict=True)
    ):
        first = entries[0]
        if first is None:
            raise RuntimeError("tensors of the first list must be there")
        lists, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for column, entry, source in zip(lists, entries, tensorlistlist, strict=True):
            if source:
                column.append(entry)
        if with_indices:
            indices.append(i)
    return groups


group_tensors_by_device_and_dtype = _group_tensors_by_device_and_dtype  # for other packages
