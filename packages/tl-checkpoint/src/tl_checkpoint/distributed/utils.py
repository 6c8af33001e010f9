"""Lookup of entries and chunks of a state dict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tl_core

from .api import WRAPPED_EXCEPTION
from .api import CheckpointException as CheckpointException
from .api import _is_wrapped_exception as _is_wrapped_exception
from .api import _wrap_exception as _wrap_exception
from .dist_wrapper import _DistWrapper as _DistWrapper
from .metadata import MetadataIndex

__all__ = ["find_state_dict_object", "find_tensor_shard"]


def find_tensor_shard(tensor: Any, index: MetadataIndex) -> Any:
    """The chunk of a tensor at an index.

    Raises:
        ValueError: If the tensor has no such chunk.

    Example:
        >>> import tl_core
        >>> from tl_checkpoint.distributed.metadata import MetadataIndex
        >>> find_tensor_shard(tl_core.ones(2), MetadataIndex("weight"))
        tensor([1., 1.])
    """
    if hasattr(tensor, "__get_tensor_shard__"):
        return tensor.__get_tensor_shard__(index)
    if index.offset is not None and any(index.offset):
        raise ValueError(f"{index.fqn!r} isn't cut into chunks, one at {tuple(index.offset)} was asked for")
    return tensor


def find_state_dict_object(state_dict: Mapping[str, Any], index: MetadataIndex) -> Any:
    """The entry or chunk at an index.

    Raises:
        ValueError: If there is no such entry or chunk.

    Example:
        >>> from tl_checkpoint.distributed.metadata import MetadataIndex
        >>> find_state_dict_object({"step": 3}, MetadataIndex("step"))
        3
    """
    if index.fqn not in state_dict:
        raise ValueError(f"the state dict has no entry {index.fqn!r}")
    entry = state_dict[index.fqn]
    if isinstance(entry, tl_core.Tensor) or hasattr(entry, "__get_tensor_shard__"):
        return find_tensor_shard(entry, index)
    if index.offset is not None:
        raise ValueError(f"{index.fqn!r} is a {type(entry).__name__}, which has no chunk at {index.offset}")
    return entry


def _get_failure_dict(results: Sequence[Any]) -> dict[int, WRAPPED_EXCEPTION]:
    """The failures among the results of ranks, by rank."""
    return {rank: result for rank, result in enumerate(results) if _is_wrapped_exception(result)}
