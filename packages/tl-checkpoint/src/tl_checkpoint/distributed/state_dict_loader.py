"""`load`: a checkpoint into a state dict, in place."""

from __future__ import annotations

import os
import warnings
from typing import Any

from .coordinator import Ranks, ranks_of
from .default_planner import DefaultLoadPlanner, WholeLoadPlanner
from .filesystem import FileSystemReader
from .former_order import accept_former_order
from .future import outcome
from .logger import log
from .planner import LoadPlanner
from .stateful import stateful_keys
from .storage import StorageReader

__all__ = ["load", "load_state_dict"]

_Path = str | os.PathLike[str]


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """Deprecated: `load` takes the same arguments by name.

    Args:
        state_dict: the entries to fill, by name.
        storage_reader: the reader of the checkpoint.
        process_group: the process group; None for all ranks.
        coordinator_rank: the rank that combines the plans.
        no_dist: whether this process works alone.
        planner: the planner; None for DefaultLoadPlanner.

    Example:
        >>> import tempfile, tl_checkpoint.distributed as dcp
        >>> dcp.load_state_dict(state, dcp.FileSystemReader("checkpoint"))  # doctest: +SKIP
    """
    warnings.warn(
        "'load_state_dict' is deprecated and will be removed in future versions. Please use 'load' instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


@accept_former_order("storage_reader")
def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: _Path | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Load a checkpoint into a state dict: its tensors are filled, its other values replaced.

    Only the entries of the state dict are read, and only the local chunks of distributed tensors. Everything is read as
    data and compared with its checksums. An error leaves the entries before it filled.

    Args:
        state_dict (dict): The entries to fill. The states of objects with `state_dict` are filled and passed to their
            `load_state_dict`.
        checkpoint_id (str or path, optional): The directory.
        storage_reader (StorageReader, optional): The reader; by default one of files in the directory.
        planner (LoadPlanner, optional): The planner; by default DefaultLoadPlanner.
        process_group (optional): The ranks that load together; needs tl-distributed. By default this process
            loads alone.
        no_dist (bool): Whether this process loads alone in any case.

    Raises:
        CheckpointException: If there is no complete checkpoint, an entry is missing, a tensor has another size, or
            the checkpoint is damaged; its cause has the details.

    Example:
        >>> import tl_core
        >>> import tempfile, tl_checkpoint.distributed as dcp
        >>> state = {"weight": tl_core.zeros(2)}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = dcp.save({"weight": tl_core.ones(2)}, checkpoint_id=folder, no_dist=True)
        ...     dcp.load(state, checkpoint_id=folder, no_dist=True)
        ...
        >>> state["weight"]
        tensor([1., 1.])
    """
    ranks = ranks_of(process_group, no_dist)
    reader = _reader(storage_reader, checkpoint_id)
    keys = stateful_keys(state_dict)
    states = {**state_dict, **{key: state_dict[key].state_dict() for key in keys}}
    _load(states, reader, planner, ranks)
    for key in keys:
        state_dict[key].load_state_dict(states.pop(key))
    state_dict.update(states)


def _reader(storage_reader: StorageReader | None, checkpoint_id: _Path | None) -> StorageReader:
    if storage_reader is None:
        if not checkpoint_id:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        if not FileSystemReader.validate_checkpoint_id(checkpoint_id):
            raise RuntimeError(
                f"no storage of tl reads from {checkpoint_id!r}: give a directory, or a storage_reader that does"
            )
        storage_reader = FileSystemReader(checkpoint_id)
    storage_reader.reset(checkpoint_id)
    return storage_reader


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """PyTorch's function for programs that convert checkpoints, with a planner that needs no state dict."""
    _load(state_dict, storage_reader, planner, ranks_of(process_group, no_dist, coordinator_rank))


def _load_state_dict_from_keys(
    keys: set[str] | str | None = None,
    *,
    checkpoint_id: _Path | None = None,
    storage_reader: StorageReader | None = None,
    process_group: Any = None,
) -> dict[str, Any]:
    """The entries with these names or dotted prefixes, in a new state dict."""
    state_dict: dict[str, Any] = {}
    names = {keys} if isinstance(keys, str) else keys
    reader = _reader(storage_reader, checkpoint_id)
    _load(state_dict, reader, WholeLoadPlanner(names), ranks_of(process_group))
    return state_dict


def _load(
    state_dict: dict[str, Any], reader: StorageReader, planner: LoadPlanner | None, ranks: Ranks
) -> None:
    planner = planner or DefaultLoadPlanner()

    def local_plan() -> Any:
        metadata = reader.read_metadata()
        planner.set_up_planner(state_dict, metadata, ranks.is_coordinator)
        reader.set_up_storage_reader(metadata, ranks.is_coordinator)
        return reader.prepare_local_plan(planner.create_local_plan())

    def global_plan(plans: list[Any]) -> list[Any]:
        return reader.prepare_global_plan(planner.create_global_plan(plans))

    def read(plan: Any) -> None:
        outcome(reader.read_data(planner.finish_plan(plan), planner))

    plan = ranks.reduce_scatter("plan", local_plan, global_plan)
    ranks.all_gather("read", lambda: read(plan))
    log.info("loaded %s", getattr(reader, "checkpoint_id", "a checkpoint"))
