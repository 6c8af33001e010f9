"""Copies of state dicts for `async_save`, so that training can continue."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import tl_core
from tl_core.memory.snapshot import Snapshot, can_snapshot
from tl_core.memory.usage import get_memory_limit

from .chunked import ChunkedTensor

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions", "frozen"]

_LARGE = 1 << 25  # bytes; less is copied as quickly as the process
_MEMORY = "/proc/self/statm"


@runtime_checkable
class AsyncStager(Protocol):
    """The protocol of objects that copy a state dict for `async_save`.

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
        """A copy of the state dict, or a future of it."""
        ...

    def synchronize_staging(self) -> None:
        """Wait until the copy is complete; then the original may change."""
        ...

    def close(self) -> None:
        """Free the memory of the stager."""
        ...


class BlockingAsyncStager(AsyncStager):
    """Copies tensors in memory, synchronously.

    Args:
        cache_staged_state_dict (bool): Whether the copy's memory is reused for the next copy. A save must end
            before the next one begins.
        type_check (bool): Whether bare storages raise TypeError.

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
        """A copy of the state dict on the CPU; a tensor that occurs several times is copied once."""
        copies = _Copies(self._cache if self.cache_staged_state_dict else None, self.type_check)
        staged: dict[str, Any] = copies.of((), state_dict)
        return staged

    def synchronize_staging(self) -> None:
        """Does nothing: the copy is complete when `stage` returns."""

    def close(self) -> None:
        """Frees the memory of the last copy."""
        self._cache.clear()


@dataclass
class StagingOptions:
    """Options of DefaultStager. They have no effect on a CPU, which needs neither pinning nor streams.

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
    """Copies tensors into memory that it reuses for the next copy.

    Args:
        config (StagingOptions): Options of copies; without effect on a CPU.

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
    """Freezes a state dict; returns a function that waits for its copy on the CPU and returns the copy.

    A forked process copies large state dicts while the program continues; small ones are copied at once.

    Example:
        >>> import tl_core
        >>> weight = tl_core.ones(2)
        >>> copy = frozen({"weight": weight})
        >>> copy()["weight"]
        tensor([1., 1.])
    """
    search = _Search()
    search.of((), state_dict)
    snapshot = _snapshot(search.tensors)
    copies = _Copies()
    if snapshot is not None:
        copies.by_id = {id(t): copy for t, copy in zip(search.tensors, snapshot.copies, strict=True)}
    staged = copies.of((), state_dict)

    def wait() -> dict[str, Any]:
        if snapshot is not None:
            snapshot.fill()
        return staged

    return wait


def _snapshot(tensors: list[Any]) -> Snapshot | None:
    if _is_quicker(sum(tensor.numel() * tensor.itemsize for tensor in tensors)):
        with contextlib.suppress(OSError):  # the system may lack fork, or limit processes or memory
            return Snapshot(tensors)
    return None


def _is_quicker(nbytes: int) -> bool:
    """Whether forking the process takes less time than copying so many bytes, and memory suffices.

    The time grows with all memory of the process. Pages that it writes meanwhile are duplicated.
    """
    if nbytes < _LARGE or not os.path.exists(_MEMORY):
        return False
    with open(_MEMORY) as file:
        resident = int(file.read().split()[1]) * mmap.PAGESIZE
    limit = get_memory_limit()
    return resident < 8 * nbytes and (limit is None or resident + 2 * nbytes <= limit)


class _Copies:
    """One copy of a state dict: new containers, each tensor copied once, deep copies of other objects."""

    def __init__(self, cache: dict[tuple[Any, ...], Any] | None = None, type_check: bool = False) -> None:
        self._cache, self._type_check = {} if cache is None else cache, type_check
        self.by_id: dict[int, Any] = {}

    def of(self, path: tuple[Any, ...], value: Any) -> Any:
        if isinstance(value, tl_core.Tensor) and not value.is_quantized:
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
        if id(tensor) not in self.by_id:
            self.by_id[id(tensor)] = self._copy(path, tensor.detach())
        return self.by_id[id(tensor)]

    def _copy(self, path: tuple[Any, ...], tensor: Any) -> Any:
        target = self._cache.get(path)
        if target is None or _layout(target) != _layout(tensor):
            is_plain = type(tensor) is tl_core.Tensor
            target = (
                tl_core.empty(tensor.shape, dtype=tensor.dtype) if is_plain else tl_core.empty_like(tensor)
            )
            self._cache[path] = target
        return target.copy_(tensor)

    def _other(self, path: tuple[Any, ...], value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return value
        if self._type_check and isinstance(value, tl_core.storage.UntypedStorage):
            raise TypeError(f"a bare storage can't be staged: {path}")
        import copy

        return copy.deepcopy(value)


def _layout(tensor: Any) -> tuple[Any, ...]:
    """What a tensor has in common with a copy: a distributed one also the ranks that have its pieces."""
    distribution = (getattr(tensor, name, None) for name in ("device_mesh", "placements"))
    return (type(tensor), tensor.shape, tensor.dtype, *distribution)


class _Search(_Copies):
    """Search for the tensors that a forked process can copy."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors: list[Any] = []  # keeps the tensors alive, so ids stay unique

    def _copy(self, path: tuple[Any, ...], tensor: Any) -> Any:
        return tensor

    def _tensor(self, path: tuple[Any, ...], tensor: Any) -> Any:
        if id(tensor) not in self.by_id and can_snapshot(tensor):
            self.tensors.append(tensor)
        return super()._tensor(path, tensor)

    def _other(self, path: tuple[Any, ...], value: Any) -> Any:
        return value
