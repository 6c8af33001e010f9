"""`torch.distributed._symmetric_memory`: answers of a machine without symmetric memory, products with collectives.

Symmetric memory is memory of accelerators that other accelerators write to. On the CPU, PyTorch has no such memory
either: a tensor of it, and a meeting of its owners, are errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import tl_core
from tl_core import Tensor

from ..collectives import product_operators
from ..groups.process_group import ProcessGroup
from ..groups.process_groups import group_named

__all__ = [
    "empty",
    "enable_symm_mem_for_group",
    "get_backend",
    "get_mem_pool",
    "get_mempool_allocator",
    "get_signal_pad_size",
    "get_symm_mem_workspace",
    "is_nvshmem_available",
    "is_symm_mem_enabled_for_group",
    "is_symm_mem_tensor",
    "rendezvous",
    "set_backend",
    "set_signal_pad_size",
]

_group_names: set[str] = set()
_test_groups: list[set[str] | None] = []
_signal_pad_size = 9216

_fused_all_gather_matmul = product_operators.fused_all_gather_matmul
_fused_all_gather_matmul_fallback = product_operators.fused_all_gather_matmul
_fused_matmul_reduce_scatter = product_operators.fused_matmul_reduce_scatter
_fused_matmul_reduce_scatter_fallback = product_operators.fused_matmul_reduce_scatter
_low_contention_all_gather = product_operators.low_contention_all_gather
_low_contention_reduce_scatter = product_operators.low_contention_reduce_scatter


def _refuse(device: Any) -> NoReturn:
    raise RuntimeError(f"SymmetricMemory does not support device type {tl_core.device(device).type}")


def empty(*size: Any, dtype: tl_core.dtype | None = None, device: Any = None) -> Tensor:
    """An error: no device here has symmetric memory.

    Args:
        size: the sizes of the tensor.
        dtype: its element type.
        device: its device; the default device by default.

    Raises:
        RuntimeError: always, with the kind of the device.
    """
    _refuse(tl_core.get_default_device() if device is None else device)


def rendezvous(tensor: Tensor, group: str | ProcessGroup) -> _SymmetricMemory:
    """An error: no tensor here is in symmetric memory.

    Args:
        tensor: the tensor.
        group: the group or its name.

    Raises:
        RuntimeError: always, with the kind of the device.
    """
    _refuse(tensor.device)


def is_symm_mem_tensor(tensor: Tensor) -> bool:
    """False: no tensor here is in symmetric memory.

    Args:
        tensor: the tensor.
    """
    return False


def is_nvshmem_available() -> bool:
    """False: NVSHMEM is for accelerators."""
    return False


def set_backend(name: str) -> None:
    """An error: there is no allocator of symmetric memory.

    Args:
        name: the name of the allocator.

    Raises:
        RuntimeError: always, with the name.
    """
    raise RuntimeError(f"SymmetricMemory does not find allocation backend {name}")


def get_backend(device: Any) -> str | None:
    """None: no device here has symmetric memory.

    Args:
        device: the device.
    """
    tl_core.device(device)
    return None


def get_mempool_allocator(device: Any) -> NoReturn:
    """An error: no device here has symmetric memory.

    Args:
        device: the device.

    Raises:
        RuntimeError: always, with the kind of the device.
    """
    kind = tl_core.device(device).type
    raise RuntimeError(f"SymmetricMemory MemPool did not find backend for device type {kind}")


def get_mem_pool(device: Any) -> NoReturn:
    """An error: no device here has symmetric memory.

    Args:
        device: the device.

    Raises:
        RuntimeError: always, with the kind of the device.
    """
    get_mempool_allocator(device)


def get_signal_pad_size() -> int:
    """The bytes for signals beside each tensor in symmetric memory."""
    return _signal_pad_size


def set_signal_pad_size(size: int) -> None:
    """Sets the bytes for signals beside each tensor in symmetric memory.

    Args:
        size: the number of bytes.
    """
    global _signal_pad_size
    _signal_pad_size = int(size)


def enable_symm_mem_for_group(group_name: str) -> None:
    """Marks a group as one that uses symmetric memory.

    Args:
        group_name: the group's name.

    Raises:
        ValueError: no group has this name.
    """
    warnings.warn(
        "`enable_symm_mem_for_group` is deprecated. There is no need to call this function anymore.",
        FutureWarning,
        stacklevel=2,
    )
    _group_names.add(group_named(group_name).group_name)


def is_symm_mem_enabled_for_group(group_name: str) -> bool:
    """Whether a group is marked as one that uses symmetric memory.

    Args:
        group_name: the group's name.
    """
    if _test_groups:
        names = _test_groups[-1]
        return names is None or group_name in names
    return group_name in _group_names


def get_symm_mem_workspace(group_name: str, min_size: int) -> _SymmetricMemory:
    """An error: no device here has symmetric memory.

    Args:
        group_name: the group's name.
        min_size: the number of bytes.

    Raises:
        RuntimeError: the group isn't marked, or always, as the workspace would be on an accelerator.
    """
    if not is_symm_mem_enabled_for_group(group_name):
        raise RuntimeError(
            f"get_symm_mem_workspace(): group {group_name!r} isn't enabled: call enable_symm_mem_for_group first"
        )
    _refuse("cpu")


@contextmanager
def _test_mode(group_names: set[str] | None = None) -> Iterator[None]:
    """Within the block, groups count as marked.

    Args:
        group_names: the names of the groups; None for all.
    """
    _test_groups.append(group_names)
    try:
        yield
    finally:
        _test_groups.pop()


def make_contiguous_for_perm(t: Tensor, perm: Sequence[int]) -> Tensor:
    """The tensor in a memory in which it is contiguous after a permutation.

    Args:
        t: the tensor.
        perm: the permutation.
    """
    inverse = sorted(range(len(perm)), key=lambda d: perm[d])
    return t.permute(list(perm)).contiguous().permute(inverse)


def restride_A_shard_for_fused_all_gather_matmul(t: Tensor, gather_dim: int) -> Tensor:
    """The tensor in a memory in which pieces along a dimension are contiguous.

    Args:
        t: the tensor.
        gather_dim: the dimension.
    """
    order = [gather_dim, *(d for d in range(t.dim()) if d != gather_dim)]
    return make_contiguous_for_perm(t, order)


restride_A_for_fused_matmul_reduce_scatter = restride_A_shard_for_fused_all_gather_matmul


class _SymmetricMemory:
    """A tensor in symmetric memory, which no device here has: no function returns one."""

    signal_pad_size = property(lambda self: _signal_pad_size)

    def __init__(self) -> None:
        raise TypeError("_SymmetricMemory: No constructor defined!")

    @staticmethod
    def set_group_info(group_name: str, rank: int, world_size: int, store: Any) -> None:
        """Marks a group as one that uses symmetric memory."""
        _group_names.add(group_name)

    @staticmethod
    def empty_strided_p2p(
        size: Sequence[int],
        stride: Sequence[int],
        dtype: tl_core.dtype,
        device: Any,
        group_name: str | None = None,
        alloc_id: int | None = None,
    ) -> Tensor:
        """An error: no device here has symmetric memory."""
        _refuse(device)

    @staticmethod
    def rendezvous(tensor: Tensor, group_name: str | None = None) -> _SymmetricMemory:
        """An error: no tensor here is in symmetric memory."""
        _refuse(tensor.device)

    @staticmethod
    def has_multicast_support(device_type: Any, device_idx: int) -> bool:
        """False: no device here has symmetric memory."""
        return False

    is_symm_mem_tensor = staticmethod(is_symm_mem_tensor)
    set_backend = staticmethod(set_backend)
    get_backend = staticmethod(get_backend)
    get_mempool_allocator = staticmethod(get_mempool_allocator)
