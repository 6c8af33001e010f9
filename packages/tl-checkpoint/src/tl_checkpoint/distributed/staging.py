"""How `async_save` takes a copy of a state dict, so that training can go on."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import tl_core
from tl_core.memory import get_memory_limit
from tl_core.snapshot import Snapshot, can_snapshot

from ..quantized import is_quantized
from .chunked import ChunkedTensor

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions", "frozen"]

_LARGE = 1 << 25  # bytes; less is copied as quickly as the process
_MEMORY = "/proc/self/statm"


@runtime_checkable
class AsyncStager(Protocol):
    """What `async_save` needs to take its copy.

    Example:
        >>> isinstance(BlockingAsyncStager(), AsyncStager)
        True
    """

    _synchronize_after_execute: bool = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether `async_save` calls `synchronize_staging` before it returns."""
        return self._synchronize_after_execute

    def stage(self, state_dict: dict[str, Any]) -> Any:
        """A state dict, or a future of one, that training no longer changes."""
        ...

    def synchronize_staging(self) -> None:
        """Wait until the copy is complete, and the original may be changed."""
        ...

    def close(self) -> None:
        """Give back what the stager holds."""
        ...


class BlockingAsyncStager(AsyncStager):
    """Copies tensors into memory, and returns when all are copied.

    Args:
        cache_staged_state_dict (bool): Whether the copy's memory is kept for the next one. Only for saves of
            which one ends before the next begins.
        type_check (bool): Whether objects that can't be copied safely are refused.

    Example:
        >>> import tl_core
        >>> weight = tl_core.ones(2)
        >>> copy = BlockingAsyncStager().stage({"weight": weight})
        >>> _ = weight.zero_()
        >>> copy["weight"]
        tensor([1., 1.])
    """

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False) -> None:
        self.cache_staged_state_dict = cache_staged_state_dict
        self.type_check = type_check
        self._cache: dict[tuple[Any, ...], Any] = {}

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        """A copy of the state dict on the CPU; tensors that share memory share the copy's."""
        copies = _Copies(self._cache if self.cache_staged_state_dict else None, self.type_check)
        staged: dict[str, Any] = copies.of((), state_dict)
        return staged

    def synchronize_staging(self) -> None:
        """Nothing: the copy is complete when `stage` returns."""

    def close(self) -> None:
        """Gives back the memory of the last copy."""
        self._cache.clear()


@dataclass
class StagingOptions:
    """How DefaultStager copies; a CPU's memory needs neither pinning nor other streams, so that all are taken alike.

    Args:
        use_pinned_memory: whether copies go to pinned memory.
        use_shared_memory: whether copies go to shared memory.
        use_async_staging: whether copies are made beside the program.
        use_non_blocking_copy: whether copies from devices don't wait.

    Example:
        >>> StagingOptions(use_async_staging=False).use_async_staging
        False
    """

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class DefaultStager(BlockingAsyncStager):
    """Copies tensors into memory that it keeps for the next copy.

    Args:
        config (StagingOptions): How copies are made.

    Example:
        >>> import tl_core
        >>> stager = DefaultStager(StagingOptions(use_async_staging=False))
        >>> stager.stage({"weight": tl_core.ones(2)})
        {'weight': tensor([1., 1.])}
        >>> stager.close()
    """

    def __init__(self, config: StagingOptions | None = None) -> None:
        super().__init__(cache_staged_state_dict=True)
        self._config = config or StagingOptions()

    def stage(self, state_dict: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """A copy of the state dict on the CPU."""
        return super().stage(state_dict)


def frozen(state_dict: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    """Freezes a state dict. What it returns waits until there is a copy on the CPU, and gives that.

    Large ones are copied by a copy of the process while the program goes on, others at once.

    Example:
        >>> import tl_core
        >>> weight = tl_core.ones(2)
        >>> copy = frozen({"weight": weight})
        >>> copy()["weight"]
        tensor([1., 1.])
    """
    search = _Search()
    search.of((), state_dict)
    snapshot = _snapshot(search.found)
    copies = _Copies()
    if snapshot is not None:
        copies.made = {id(t): copy for t, copy in zip(search.found, snapshot.copies, strict=True)}
    staged = copies.of((), state_dict)

    def wait() -> dict[str, Any]:
        if snapshot is not None:
            snapshot.fill()
        return staged

    return wait


def _snapshot(tensors: list[Any]) -> Snapshot | None:
    if _is_quicker(sum(tensor.numel() * tensor.itemsize for tensor in tensors)):
        with contextlib.suppress(OSError):  # there are systems without, and limits on processes and memory
            return Snapshot(tensors)
    return None


def _is_quicker(nbytes: int) -> bool:
    """Whether copying the process takes less time than copying so many bytes, and memory suffices.

    For the time all memory of the process counts; and what it writes to meanwhile needs room a second time.
    """
    if nbytes < _LARGE or not os.path.exists(_MEMORY):
        return False
    with open(_MEMORY) as file:
        resident = int(file.read().split()[1]) * mmap.PAGESIZE
    limit = get_memory_limit()
    return resident < 8 * nbytes and (limit is None or resident + 2 * nbytes <= limit)


class _Copies:
    """One copy of a state dict: containers are made anew, tensors copied once, other objects by their own means."""

    def __init__(self, cache: dict[tuple[Any, ...], Any] | None = None, type_check: bool = False) -> None:
        self._cache, self._type_check = {} if cache is None else cache, type_check
        self.made: dict[int, Any] = {}

    def of(self, path: tuple[Any, ...], value: Any) -> Any:
        if isinstance(value, tl_core.Tensor) and not is_quantized(type(value)):
            return self._tensor(path, value)
        if isinstance(value, ChunkedTensor):
            chunks = ((offsets, self._tensor((*path, offsets), tensor)) for offsets, tensor in value.chunks)
            return ChunkedTensor(value.shape, chunks)
        if isinstance(value, Mapping):
            return {key: self.of((*path, key), entry) for key, entry in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self.of((*path, at), entry) for at, entry in enumerate(value))
        return self._other(path, value)

    def _tensor(self, path: tuple[Any, ...], tensor: Any) -> Any:
        if id(tensor) not in self.made:
            self.made[id(tensor)] = self._copied(path, tensor.detach())
        return self.made[id(tensor)]

    def _copied(self, path: tuple[Any, ...], tensor: Any) -> Any:
        kept = self._cache.get(path)
        if kept is None or kept.shape != tensor.shape or kept.dtype != tensor.dtype:
            kept = tl_core.empty(tensor.shape, dtype=tensor.dtype)
            self._cache[path] = kept
        return kept.copy_(tensor)

    def _other(self, path: tuple[Any, ...], value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return value
        if self._type_check and isinstance(value, tl_core.storage.UntypedStorage):
            raise TypeError(f"a bare storage can't be staged: {path}")
        import copy

        return copy.deepcopy(value)


class _Search(_Copies):
    """Finds the tensors of which a copy of the process has a copy."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []  # which also keeps their ids from being given to others

    def _copied(self, path: tuple[Any, ...], tensor: Any) -> Any:
        return tensor

    def _tensor(self, path: tuple[Any, ...], tensor: Any) -> Any:
        if id(tensor) not in self.made and can_snapshot(tensor):
            self.found.append(tensor)
        return super()._tensor(path, tensor)

    def _other(self, path: tuple[Any, ...], value: Any) -> Any:
        return value
