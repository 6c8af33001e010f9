"""`torch.distributed._state_dict_utils`: functions of all tensors in a nested state dict."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.pytree import tree_flatten, tree_map

from ..groups.process_groups import get_rank
from ..tensor.dtensor import DTensor

__all__: list[str] = []

_VALUES = (int, float, str, bytes, io.BytesIO, type(None))


class CompanionMismatch(Exception):
    """Two state dicts have different keys."""


def _convert(state_dict: Any, convert: Callable[[Tensor], Any], type_check: bool) -> Any:
    def leaf(value: Any) -> Any:
        if isinstance(value, Tensor):
            return convert(value)
        if isinstance(value, _VALUES):
            return value
        if type_check:
            raise ValueError(f"Unexpected value type {type(value)}")
        return copy.deepcopy(value)

    return tree_map(leaf, state_dict)


def _gather_state_dict(
    state_dict: dict[str, Any],
    *,
    pg: Any = None,
    device: Any = None,
    cpu_offload: bool = False,
    ranks_only: tuple[int, ...] = (),
    type_check: bool = True,
) -> dict[str, Any]:
    """The state dict with whole tensors in place of distributed ones.

    Args:
        state_dict: tensors, numbers, texts and bytes in dictionaries, lists and tuples.
        pg: the group whose ranks `ranks_only` has; distributed tensors have their own.
        device: accepted; distributed tensors have their own.
        cpu_offload: whether the tensors are moved to the CPU.
        ranks_only: the ranks that get the result, where others get an empty one; all if empty.
        type_check: whether other values raise; otherwise they are copied.

    Raises:
        ValueError: there is another value.
    """

    def gather(value: Tensor) -> Tensor:
        full = value.full_tensor() if isinstance(value, DTensor) else value
        return full.cpu() if cpu_offload else full

    result = _convert(state_dict, gather, type_check)
    return result if not ranks_only or get_rank(pg) in ranks_only else {}


def _offload_state_dict_to_cpu(
    state_dict: dict[str, Any], *, ranks_only: tuple[int, ...] = (), type_check: bool = True
) -> dict[str, Any]:
    """The state dict with all tensors on the CPU.

    Args:
        state_dict: as for `_gather_state_dict`, like the arguments that follow.
        ranks_only: the ranks that get the result.
        type_check: whether values of other types raise.

    Raises:
        ValueError: there is another value.
    """
    result = _convert(state_dict, lambda tensor: tensor.cpu(), type_check)
    return result if not ranks_only or get_rank() in ranks_only else {}


def _copy_state_dict(
    state_dict: dict[str, Any],
    copy_state_dict: dict[str, Any],
    non_blocking: bool = False,
    type_check: bool = True,
) -> dict[str, Any]:
    """Copies the tensors of a state dict into those of another one.

    Args:
        state_dict: the source.
        copy_state_dict: the target, which has the same keys.
        non_blocking: whether copies may run on.
        type_check: whether values of other types raise.

    Returns:
        The source with the tensors of the target.

    Raises:
        CompanionMismatch: the keys differ.
        ValueError: there is another value.
    """
    structure, target = tree_flatten(state_dict)[1], tree_flatten(copy_state_dict)
    if structure != target[1]:
        raise CompanionMismatch(f"the state dict has the structure {structure}, and its copy {target[1]}")
    leaves = iter(target[0])

    def fill(value: Tensor, own: Any) -> Any:
        parts = (own._local_tensor, value._local_tensor) if isinstance(value, DTensor) else (own, value)
        parts[0].copy_(parts[1], non_blocking=non_blocking)
        return own

    def leaf(value: Any) -> Any:
        own = next(leaves)
        return _convert(value, lambda tensor: fill(tensor, own), type_check)

    with tl_core.no_grad():
        return dict(tree_map(leaf, state_dict))


def _create_cpu_state_dict(
    state_dict: dict[str, Any], pin_memory: bool = False, share_memory: bool = False
) -> dict[str, Any]:
    """A state dict with new tensors on the CPU, whose elements are those of fresh memory.

    Args:
        state_dict: the model for it.
        pin_memory: whether the memory is pinned, for copies from a device.
        share_memory: whether other processes can map the memory.
    """

    def allocate(tensor: Tensor) -> Tensor:
        if isinstance(tensor, DTensor):
            return DTensor(allocate(tensor._local_tensor), tensor._spec, requires_grad=False)
        fresh = tl_core.empty(tensor.shape, dtype=tensor.dtype)
        if share_memory:
            fresh = fresh.share_memory_()
        return fresh.pin_memory() if pin_memory and not share_memory else fresh

    with tl_core.no_grad():
        return dict(_convert(state_dict, allocate, False))
