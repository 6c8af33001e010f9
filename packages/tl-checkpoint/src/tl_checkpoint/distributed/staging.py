"""How `async_save` takes a copy of a state dict, so that training can go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import tl_core

from .chunked import ChunkedTensor

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "SharedStager", "StagingOptions"]


@runtime_checkable
class AsyncStager(Protocol):
    """What `async_save` needs to take its copy."""

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

    Parameters:
        cache_staged_state_dict : bool
            Whether the copy's memory is kept for the next one. Only for saves of which one ends before the next begins.
        type_check : bool
            Whether objects that can't be copied safely are refused.
    """

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False) -> None:
        self.cache_staged_state_dict = cache_staged_state_dict
        self.type_check = type_check
        self._cache: dict[tuple[Any, ...], Any] = {}

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        """A copy of the state dict on the CPU; tensors that share memory share the copy's."""
        copies = _Copies(self._cache if self.cache_staged_state_dict else {}, self.type_check)
        staged: dict[str, Any] = copies.of((), state_dict)
        return staged

    def synchronize_staging(self) -> None:
        """Nothing: the copy is complete when `stage` returns."""

    def close(self) -> None:
        """Gives back the memory of the last copy."""
        self._cache.clear()


@dataclass
class StagingOptions:
    """How DefaultStager copies; a CPU's memory needs neither pinning nor other streams, so that all are taken alike."""

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class DefaultStager(BlockingAsyncStager):
    """Copies tensors into memory that it keeps for the next copy.

    Parameters:
        config : StagingOptions
    """

    def __init__(self, config: StagingOptions | None = None) -> None:
        super().__init__(cache_staged_state_dict=True)
        self._config = config or StagingOptions()

    def stage(self, state_dict: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """A copy of the state dict on the CPU."""
        return super().stage(state_dict)


class SharedStager(BlockingAsyncStager):
    """Copies only what a copy of the process would share: memory of devices, and memory shared between processes."""

    def stage(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        """The state dict, with the CPU's copy of such tensors."""
        staged: dict[str, Any] = _SharedCopies({}, False).of((), state_dict)
        return staged


class _Copies:
    """One copy of a state dict: containers are made anew, tensors copied once, other objects by their own means."""

    def __init__(self, cache: dict[tuple[Any, ...], Any], type_check: bool) -> None:
        self._cache, self._type_check = cache, type_check
        self._made: dict[int, Any] = {}

    def of(self, path: tuple[Any, ...], value: Any) -> Any:
        if isinstance(value, tl_core.Tensor):
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
        if id(tensor) not in self._made:
            self._made[id(tensor)] = self._copied(path, tensor.detach())
        return self._made[id(tensor)]

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


class _SharedCopies(_Copies):
    def _copied(self, path: tuple[Any, ...], tensor: Any) -> Any:
        private = tensor.device.type == "cpu" and not tensor.is_shared()
        return tensor if private else super()._copied(path, tensor)

    def _other(self, path: tuple[Any, ...], value: Any) -> Any:
        return value
