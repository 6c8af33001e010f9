"""The group of processes of sharded tensors that name none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from ...groups.process_groups import default_group, is_initialized

__all__ = ["current_process_group", "load_with_process_group"]

_group: ContextVar[Any] = ContextVar("group of sharded tensors", default=None)


def current_process_group() -> Any:
    """The group of the innermost region, or that of all processes."""
    group = _group.get()
    return default_group() if group is None else group


@contextlib.contextmanager
def load_with_process_group(process_group: Any) -> Iterator[Any]:
    """A region in which sharded tensors that are loaded belong to a group.

    Args:
        process_group: the group.

    Raises:
        RuntimeError: a region is open already, or there is no group of all processes.
    """
    if not is_initialized():
        raise RuntimeError("load_with_process_group(): call init_process_group first")
    if _group.get() is not None:
        raise RuntimeError('ProcessGroup already set by previous "load_with_process_group" context manager')
    token = _group.set(process_group)
    try:
        yield process_group
    finally:
        _group.reset(token)
