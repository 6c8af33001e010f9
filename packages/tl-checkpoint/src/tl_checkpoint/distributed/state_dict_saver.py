"""`save` and `async_save`: a state dict into a checkpoint."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tl_core.base import recording

from .background import background
from .coordinator import Ranks, ranks_of
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .former_order import accept_former_order
from .future import Future, outcome
from .logger import log
from .metadata import Metadata
from .planner import SavePlanner
from .staging import AsyncStager, BlockingAsyncStager, frozen
from .stateful import stateful_keys
from .storage import StorageWriter

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]

_Path = str | os.PathLike[str]


class AsyncCheckpointerType(Enum):
    """The writer of an asynchronous checkpoint: a thread of this process for both values.

    Example:
        >>> AsyncCheckpointerType.THREAD.name
        'THREAD'
    """

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """Two futures: the copy is complete, the checkpoint is complete. For stagers that copy while training goes on.

    Example:
        >>> from concurrent.futures import Future
        >>> AsyncSaveResponse(Future(), Future()).upload_completion.done()
        False
    """

    staging_completion: Any
    upload_completion: Future[Any]


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """Deprecated: `save` takes the same arguments by name.

    Args:
        state_dict: the entries, by name.
        storage_writer: where the checkpoint goes.
        process_group: the group of the ranks; None for all.
        coordinator_rank: the rank that writes the metadata.
        no_dist: whether this process is alone.
        planner: how entries are read or written; None for the default.

    Example:
        >>> import tempfile, tl_checkpoint.distributed as dcp
        >>> dcp.save_state_dict(state, dcp.FileSystemWriter("checkpoint"))  # doctest: +SKIP
    """
    warnings.warn(
        "'save_state_dict' is deprecated and will be removed in future versions. Please use 'save' instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_writer.reset()
    states = _with_states(state_dict)
    return _save_state_dict(states, storage_writer, process_group, coordinator_rank, no_dist, planner)


def _save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
    use_collectives: bool = True,
) -> Metadata:
    """Saves a state dict as it is by a writer that has been reset: what programs with writers of their own call."""
    _need_collectives(use_collectives)
    return _save(state_dict, storage_writer, planner, ranks_of(process_group, no_dist, coordinator_rank))


@accept_former_order("storage_writer")
def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: _Path | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Save a state dict as a checkpoint, which is complete or not there.

    Args:
        state_dict (dict): Tensors, nested dicts and lists, anything that pickle takes, and objects with
            `state_dict`, whose state is saved.
        checkpoint_id (str or path, optional): The directory.
        storage_writer (StorageWriter, optional): Where to; by default files in the directory.
        planner (SavePlanner, optional): What of it, and how; by default DefaultSavePlanner.
        process_group (optional): The ranks that save together; needs tl-distributed. By default this process
            saves alone.
        no_dist (bool): Whether this process saves alone in any case.
        use_collectives: must be True: ranks that save without agreeing aren't supported.

    Returns:
        Metadata: What was saved.

    Raises:
        CheckpointException: If it failed; its cause says why. An older checkpoint in the directory is as it was.
            Or if an `async_save` before failed, and nobody has looked at its future.

    Example:
        >>> import tempfile, tl_core
        >>> from tl_checkpoint.distributed import load
        >>> state = {"step": 0, "weight": tl_core.zeros(2)}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = save({"step": 3, "weight": tl_core.ones(2)}, checkpoint_id=folder)
        ...     load(state, checkpoint_id=folder)
        >>> state
        {'step': 3, 'weight': tensor([1., 1.])}
    """
    background.raise_failure()
    ranks = ranks_of(process_group, no_dist)
    _need_collectives(use_collectives)
    with recording.EventRange("checkpoint.distributed.save"):
        return _save(_with_states(state_dict), _writer(storage_writer, checkpoint_id), planner, ranks)


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: _Path | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: AsyncStager | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Metadata] | AsyncSaveResponse:
    """Save a state dict as it is now, while the program goes on and changes it.

    A large state is copied afterwards, from a copy of the process, which the system makes in milliseconds; until then
    it copies the pages that the program writes to. A small one, and memory of devices, of files and of several
    processes, is copied before this call returns.

    Saves are written one after another. One that fails says so through its future, or, if nobody looks at that, at the
    next `save` or `async_save`. A program that ends waits for its saves.

    Args:
        state_dict, checkpoint_id, storage_writer, planner, process_group, no_dist: As `save` takes them.
        async_checkpointer_type (AsyncCheckpointerType): What writes; a thread of this process in either case.
        async_stager (AsyncStager, optional): What copies instead, such as BlockingAsyncStager, before this call
            returns; by default the storage writer, if it has a way of its own.
        use_collectives: must be True: ranks that save without agreeing aren't supported.

    Returns:
        Future: The metadata, once the checkpoint is complete. With a stager whose `stage` returns a future, an
        AsyncSaveResponse.

    Raises:
        CheckpointException: If an `async_save` before failed, and nobody has looked at its future.

    Example:
        >>> import tempfile, tl_checkpoint.distributed as dcp
        >>> future = dcp.async_save(state, checkpoint_id="checkpoint")  # doctest: +SKIP
        >>> future.result()  # doctest: +SKIP
    """
    background.raise_failure()
    _need_collectives(use_collectives)
    ranks = ranks_of(process_group, no_dist, background=True)
    writer = _writer(storage_writer, checkpoint_id)
    stager = async_stager or _own_stager(writer)
    if stager is None:
        copied = frozen(_with_states(state_dict))
        return background.submit(lambda: _save(copied(), writer, planner, ranks))
    if getattr(stager, "cache_staged_state_dict", False):
        background.wait()  # the copy before lies in the same memory
    staged = stager.stage(_with_states(state_dict))
    later = not isinstance(staged, dict)
    future = background.submit(lambda: _save(outcome(staged) if later else staged, writer, planner, ranks))
    if stager.should_synchronize_after_execute:
        stager.synchronize_staging()
    return AsyncSaveResponse(staged, future) if later else future


def _own_stager(writer: StorageWriter) -> AsyncStager | None:
    """A writer that has a way of its own to copy a state dict, or a place of its own for it."""
    if not isinstance(writer, AsyncStager):
        return None
    as_usual = type(writer).stage is BlockingAsyncStager.stage
    return None if as_usual and not getattr(writer, "cache_staged_state_dict", False) else writer


def _need_collectives(use_collectives: bool) -> None:
    if not use_collectives:
        raise NotImplementedError(
            "use_collectives=False, where each rank writes metadata of its own, isn't supported"
        )


def _writer(storage_writer: StorageWriter | None, checkpoint_id: _Path | None) -> StorageWriter:
    if storage_writer is None:
        if not checkpoint_id:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
        if not FileSystemWriter.validate_checkpoint_id(checkpoint_id):
            raise RuntimeError(
                f"no storage of tl writes to {checkpoint_id!r}: give a directory, or a storage_writer that does"
            )
        storage_writer = FileSystemWriter(checkpoint_id)
    storage_writer.reset(checkpoint_id)
    return storage_writer


def _with_states(state_dict: dict[str, Any]) -> dict[str, Any]:
    states = {key: state_dict[key].state_dict() for key in stateful_keys(state_dict)}
    return {key: states.get(key, value) for key, value in state_dict.items()}


def _save(
    state_dict: dict[str, Any], writer: StorageWriter, planner: SavePlanner | None, ranks: Ranks
) -> Metadata:
    planner = planner or DefaultSavePlanner()
    metadata: Metadata | None = None

    def local_plan() -> Any:
        planner.set_up_planner(state_dict, writer.storage_meta(), ranks.is_coordinator)
        writer.set_up_storage_writer(ranks.is_coordinator)
        return writer.prepare_local_plan(planner.create_local_plan())

    def global_plan(plans: list[Any]) -> list[Any]:
        nonlocal metadata
        plans, metadata = planner.create_global_plan(plans)
        return writer.prepare_global_plan(plans)

    def write(plan: Any) -> Any:
        return outcome(writer.write_data(planner.finish_plan(plan), planner))

    def finish(results: list[Any]) -> Metadata:
        assert metadata is not None
        writer.finish(metadata=metadata, results=results)
        return metadata

    plan = ranks.reduce_scatter("plan", local_plan, global_plan)
    saved = ranks.all_reduce("write", lambda: write(plan), finish)
    log.info("saved %d entries", len(saved.state_dict_metadata))
    return saved
