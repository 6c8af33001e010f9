"""The default planners."""

from __future__ import annotations

import difflib
import io
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import tl_core

from .. import quantized, serialization
from .flatten import flatten_state_dict, set_element, stored_path, unflatten_state_dict
from .metadata import (
    BytesStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem, WriteItemType
from .planner_helpers import create_read_items, create_write_items
from .resharding import check_partition, volume
from .utils import find_state_dict_object

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "WholeLoadPlanner",
    "create_default_global_load_plan",
    "create_default_global_save_plan",
    "create_default_local_load_plan",
    "create_default_local_save_plan",
]


class DefaultSavePlanner(SavePlanner):
    """Saves every entry of a nested state dict; one rank writes an entry that several ranks hold.

    Args:
        flatten_state_dict (bool): Whether entries of nested dicts and lists are saved separately, so that each can
            be loaded alone.
        flatten_sharded_tensors (bool): Without effect: no tensor of tl holds others.
        dedup_replicated_tensors (bool, optional): Without effect: replicated entries are always written once.
        dedup_save_to_lowest_rank (bool): Whether the lowest rank writes a replicated entry; else the rank with the
            least bytes to write.
        enable_plan_caching (bool): Without effect: each save makes new plans.

    Example:
        >>> DefaultSavePlanner().flatten_state_dict
        True
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings: dict[str, tuple[Any, ...]] = {}

    def set_up_planner(
        self,
        state_dict: dict[str, Any],
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Set the state dict to save."""
        if self.flatten_state_dict:
            flat, paths = flatten_state_dict(state_dict)
            self.mappings = {name: stored_path(state_dict, path) for name, path in paths.items()}
            # Of an empty dict only the path is saved: PyTorch reads an entry as an older format.
            state_dict = {name: value for name, value in flat.items() if not _is_empty_dict(value)}
        self.state_dict = state_dict
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> SavePlan:
        """The plan of all entries of this rank."""
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """The plans of all ranks without duplicates, and the metadata.

        Raises:
            ValueError: If the chunks of a tensor don't cover it.
        """
        plans = _deduplicate(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(plans)
        if self.flatten_state_dict:
            merged: dict[str, Any] = {}
            for plan in plans:
                merged.update(plan.planner_data or {})
            metadata = replace(metadata, planner_data=merged)
        _check_chunks(metadata)
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """This rank's part."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Any:
        """An item's tensor, or its pickle."""
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The value of an item; subclasses may override it."""
        return find_state_dict_object(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """The tensor or the pickle to write for a value; subclasses may override it."""
        if write_item.type != WriteItemType.BYTE_IO:
            return object
        buffer = io.BytesIO()
        serialization.save(object, buffer)
        return buffer


class DefaultLoadPlanner(LoadPlanner):
    """Fills the entries of a nested state dict.

    Args:
        flatten_state_dict (bool): Whether the checkpoint was saved entry by entry.
        flatten_sharded_tensors (bool): Without effect: no tensor of tl holds others.
        allow_partial_load (bool): Whether entries that the checkpoint lacks are left as they are.

    Example:
        >>> import tl_checkpoint.distributed as dcp
        >>> DefaultLoadPlanner(allow_partial_load=True).allow_partial_load
        True
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict: dict[str, Any] = {}
        self.mappings: dict[str, tuple[Any, ...]] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Set the state dict to fill."""
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict, _pickled_whole(metadata))
        self.state_dict = state_dict
        self.metadata = metadata
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """The plan of all entries of the state dict."""
        if self.metadata is None:
            raise RuntimeError("the checkpoint's metadata is needed to plan what is read: it wasn't found")
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """The plans of all ranks, unchanged."""
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, new_plan: LoadPlan) -> LoadPlan:
        """This rank's part."""
        return new_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Puts a value into the state dict; it is read as data, as `load` reads files."""
        name = read_item.dest_index.fqn
        entry = serialization.load(value)
        self.state_dict[name] = entry
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], entry)

    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """The box of an entry that an item fills."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """Does nothing: the item was read into the entry's own memory."""

    def lookup_tensor(self, index: MetadataIndex) -> Any:
        """The chunk of an entry; subclasses may override it."""
        return find_state_dict_object(self.state_dict, index)

    def transform_tensor(self, read_item: ReadItem, tensor: Any) -> Any:
        """The box of a chunk that an item fills; subclasses may override it."""
        for axis, (offset, length) in enumerate(zip(read_item.dest_offsets, read_item.lengths, strict=True)):
            if offset or length != tensor.shape[axis]:
                tensor = tensor.narrow(axis, offset, length)
        return tensor


def _is_empty_dict(value: Any) -> bool:
    return isinstance(value, Mapping) and not value


def _pickled_whole(metadata: Metadata | None) -> set[str]:
    """The entries that aren't tensors: some writers put lists and dicts into one."""
    entries = metadata.state_dict_metadata if metadata else {}
    return {name for name, entry in entries.items() if isinstance(entry, BytesStorageMetadata)}


class WholeLoadPlanner(DefaultLoadPlanner):
    """Loads a checkpoint into an empty dict, nested as it was saved.

    Args:
        keys (set of str, optional): Names or dotted prefixes of entries; by default all are loaded.
        args: positional arguments of `DefaultLoadPlanner`.
        kwargs: keyword arguments of `DefaultLoadPlanner`.

    Example:
        >>> issubclass(WholeLoadPlanner, DefaultLoadPlanner)
        True
    """

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Fill the dict with empty tensors, and with slots for the other values."""
        if state_dict:
            raise ValueError(
                f"a whole checkpoint is loaded into an empty dict, this one has {len(state_dict)} entries"
            )
        if metadata is None:
            raise RuntimeError("the checkpoint's metadata is needed to know what is in it: it wasn't found")
        entries = {n: entry for n, entry in metadata.state_dict_metadata.items() if self._is_wanted(n)}
        flat = {name: _empty(entry) for name, entry in entries.items()}
        paths = metadata.planner_data if isinstance(metadata.planner_data, dict) else {}
        empty: dict[str, Any] = {name: {} for name in paths if name not in flat and self._is_wanted(name)}
        try:
            state_dict.update(unflatten_state_dict({**flat, **empty}, paths))
        except (TypeError, IndexError) as error:
            raise RuntimeError(f"the checkpoint's paths contradict each other: {error}") from error
        self.original_state_dict, self.state_dict = state_dict, flat
        self.mappings = {name: paths.get(name, (name,)) for name in flat}
        self.metadata, self.is_coordinator = metadata, is_coordinator

    def _is_wanted(self, name: str) -> bool:
        return self.keys is None or any(name == key or name.startswith(f"{key}.") for key in self.keys)


_EmptyStateDictLoadPlanner = WholeLoadPlanner  # PyTorch's name, for programs that convert checkpoints


def _empty(entry: Any) -> Any:
    if isinstance(entry, BytesStorageMetadata):
        return None
    dtype = entry.properties.dtype
    if quantized.is_quantized_dtype(dtype):
        return quantized.new(entry.size, dtype)
    return tl_core.empty(entry.size, dtype=dtype)


def create_default_local_save_plan(state_dict: Mapping[str, Any], is_coordinator: bool) -> SavePlan:
    """Items for all entries of a flat state dict.

    Example:
        >>> import tl_core
        >>> [item.index.fqn for item in create_default_local_save_plan({"weight": tl_core.ones(2)}, True).items]
        ['weight']
    """
    return SavePlan([item for name, value in state_dict.items() for item in create_write_items(name, value)])


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The ranks' plans, and the metadata of the checkpoint; each entry may be written only once.

    Example:
        >>> import tl_core
        >>> plan = create_default_local_save_plan({"weight": tl_core.ones(2)}, True)
        >>> plans, metadata = create_default_global_save_plan([plan])
        >>> metadata.state_dict_metadata["weight"].size
        torch.Size([2])
    """
    entries: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            at = _enter(entries, item)
            if rewrite_index_hints and at is not None:
                item = replace(item, index=replace_hint(item.index, at))
            items.append(item)
        plans.append(replace(plan, items=items))
    return plans, Metadata(entries)


def replace_hint(index: MetadataIndex, hint: int) -> MetadataIndex:
    """A copy of an index with another hint."""
    return MetadataIndex(index.fqn, index.offset, hint)


def _enter(entries: dict[str, Any], item: WriteItem) -> int | None:
    """Adds an item to the metadata; returns the number of its chunk."""
    name, data = item.index.fqn, item.tensor_data
    if item.type == WriteItemType.BYTE_IO or data is None:
        if name in entries:
            raise ValueError(f"{name!r} is written twice")
        entries[name] = BytesStorageMetadata()
        return None
    entry = entries.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
    if not isinstance(entry, TensorStorageMetadata) or tuple(entry.size) != tuple(data.size):
        raise ValueError(f"{name!r} is written as tensors of two sizes, or as a tensor and something else")
    entry.chunks.append(data.chunk)
    return len(entry.chunks) - 1


def _deduplicate(plans: list[SavePlan], to_lowest_rank: bool) -> list[SavePlan]:
    """The plans with each item in one plan only, without empty chunks."""
    plans = [replace(p, items=[item for item in p.items if not _is_void(item)]) for p in plans]
    holders: defaultdict[MetadataIndex, list[int]] = defaultdict(list)
    for rank, plan in enumerate(plans):
        for item in plan.items:
            holders[item.index].append(rank)
    load = [0] * len(plans)
    writer: dict[MetadataIndex, int] = {}
    for plan in plans:
        for item in plan.items:
            if item.index not in writer:
                ranks = holders[item.index]
                owner = ranks[0] if to_lowest_rank else min(ranks, key=lambda rank: load[rank])
                writer[item.index] = owner
                load[owner] += _bytes_of(item)
    return [
        replace(plan, items=[item for item in plan.items if writer[item.index] == rank])
        for rank, plan in enumerate(plans)
    ]


def _is_void(item: WriteItem) -> bool:
    data = item.tensor_data
    return data is not None and not volume(data.chunk) and math.prod(data.size) > 0


def _bytes_of(item: WriteItem) -> int:
    if item.tensor_data is None:
        return item.bytes_io_data.nbytes if item.bytes_io_data else 0
    itemsize: int = item.tensor_data.properties.dtype.itemsize
    return volume(item.tensor_data.chunk) * itemsize


def _check_chunks(metadata: Metadata) -> None:
    for name, entry in metadata.state_dict_metadata.items():
        if isinstance(entry, TensorStorageMetadata):
            wrong = check_partition(entry.chunks, entry.size)
            if wrong:
                raise ValueError(f"Failed to validate global plan: {name}: {wrong}")


def create_default_local_load_plan(
    state_dict: Mapping[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """Items for all entries of a flat state dict.

    Args:
        state_dict: the entries to be filled, by name.
        metadata: the metadata of the checkpoint.
        strict: whether a missing entry is an error.

    Raises:
        RuntimeError: If the checkpoint lacks an entry, and `strict` is set.
        ValueError: If a tensor has another size.

    Example:
        >>> import tl_core
        >>> plan = create_default_local_save_plan({"weight": tl_core.ones(2)}, True)
        >>> _, metadata = create_default_global_save_plan([plan])
        >>> wanted = create_default_local_load_plan({"weight": tl_core.empty(2)}, metadata)
        >>> [item.dest_index.fqn for item in wanted.items]
        ['weight']
    """
    items: list[ReadItem] = []
    for name, value in state_dict.items():
        entry = metadata.state_dict_metadata.get(name)
        if entry is not None:
            items += create_read_items(name, entry, value)
        elif strict and not _is_empty_dict(value):
            near = difflib.get_close_matches(name, metadata.state_dict_metadata, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.{hint}")
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: Sequence[LoadPlan]) -> list[LoadPlan]:
    """The plans of all ranks, unchanged.

    Example:
        >>> create_default_global_load_plan([])
        []
    """
    return list(all_plans)
