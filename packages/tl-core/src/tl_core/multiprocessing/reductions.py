"""How tensors go to other processes: by the descriptor of their memory."""

from __future__ import annotations

import hmac as hmac
import os
import weakref
from multiprocessing import resource_sharer as resource_sharer
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.memory.mapped_memory import MappedMemory, map_descriptor
from tl_core.storage import UntypedStorage
from tl_core.tensors.conj_neg_bits import conj_neg_bits_of, with_conj_neg_bits
from tl_core.tensors.named_tensor import check_serializing_named_tensor
from tl_core.tensors.parameter import Parameter

__all__ = [
    "StorageWeakRef",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "init_reductions",
    "set_sharing_strategy",
]

# `hmac` and `resource_sharer` are here for the threads that send descriptors: a thread that loads a module while the
# program forks leaves it locked in the child.

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"

# What has arrived, by the number of its file: memory that comes twice is mapped once.
_received: weakref.WeakValueDictionary[int, MappedMemory] = weakref.WeakValueDictionary()


class StorageWeakRef:
    """A reference to a storage that does not keep it. Two are equal if they are to the same storage.

    Args:
        storage: the storage.

    Example:
        >>> import tl_core
        >>> x, y = tl_core.ones(4), tl_core.ones(4)
        >>> reference = StorageWeakRef(x.untyped_storage())
        >>> reference == StorageWeakRef(x[1:].untyped_storage()), reference == StorageWeakRef(y.untyped_storage())
        (True, False)
        >>> del x
        >>> reference.expired()
        True
    """

    __slots__ = ("__weakref__", "cdata")

    def __init__(self, storage: Any) -> None:
        self.cdata: int = storage._weak_ref()

    @classmethod
    def from_weakref(cls, cdata: int) -> StorageWeakRef:
        """The reference that a number of `storage._weak_ref()` is; it gives the number back."""
        reference = cls.__new__(cls)
        reference.cdata = cdata
        return reference

    def expired(self) -> bool:
        """Whether the storage is gone."""
        return UntypedStorage._expired(self.cdata)

    def __del__(self) -> None:
        if hasattr(self, "cdata"):  # else its making failed
            UntypedStorage._free_weak_ref(self.cdata)

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageWeakRef) and self.cdata == other.cdata


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes.

    Example:
        >>> import tl_core
        >>> sorted(tl_core.multiprocessing.get_all_sharing_strategies())
        ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The name that was set last.

    Example:
        >>> import tl_core
        >>> tl_core.multiprocessing.get_sharing_strategy()
        'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepts a name: shared memory has no name here and is sent by its descriptor, whichever is set.

    Args:
        new_strategy: "file_descriptor" or "file_system".

    Example:
        >>> import tl_core
        >>> tl_core.multiprocessing.set_sharing_strategy(tl_core.multiprocessing.get_sharing_strategy())
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"the sharing strategy must be one of {sorted(_STRATEGIES)}, got {new_strategy!r}"
        )
    _strategy = new_strategy


def init_reductions() -> None:
    """Tells the standard module's pickler how to send tensors, parameters and storages.

    Example:
        >>> from tl_core.multiprocessing.reductions import init_reductions
        >>> init_reductions()
    """
    ForkingPickler.register(Tensor, _reduce_tensor)
    ForkingPickler.register(Parameter, _reduce_parameter)
    ForkingPickler.register(UntypedStorage, _reduce_storage)


def _reduce_tensor(tensor: Tensor) -> Any:
    check_serializing_named_tensor(tensor)
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "a tensor that requires a gradient (requires_grad is True) and is no leaf can't be sent to another "
            "process, because its graph stays here; send tensor.detach()"
        )
    if tensor.device.type == "meta":
        return _rebuild_meta, (tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.requires_grad)
    if tensor.device.type != "cpu" or not tensor.numel() or tensor.is_quantized:
        return tensor.__reduce_ex__(2)
    geometry = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
    return _rebuild_tensor, (
        tensor.untyped_storage(),
        tensor.dtype,
        geometry,
        conj_neg_bits_of(tensor),
        tensor.requires_grad,
    )


def _rebuild_tensor(
    storage: UntypedStorage,
    dtype: Any,
    geometry: tuple[Any, ...],
    bits: dict[str, bool],
    requires_grad: bool,
) -> Tensor:
    tensor = _C.empty(0, dtype=dtype).set_(storage, *geometry)
    tensor = with_conj_neg_bits(tensor, **bits)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_meta(size: Any, stride: Any, dtype: Any, requires_grad: bool) -> Tensor:
    tensor = _C.empty_strided(size, stride, dtype=dtype, device="meta")
    return tensor.requires_grad_() if requires_grad else tensor


def _reduce_parameter(parameter: Parameter) -> Any:
    return Parameter, (parameter.detach(), parameter.requires_grad)


def _reduce_storage(storage: UntypedStorage) -> Any:
    if not storage.nbytes():
        return UntypedStorage, (0,)
    storage.share_memory_()
    mapped = storage._mapped()
    if mapped is None or mapped.descriptor < 0:
        raise RuntimeError(f"a storage on the file {storage.filename!r} can't be sent to another process")
    return _rebuild_storage, (DupFd(mapped.descriptor), len(mapped))


def _rebuild_storage(handle: Any, nbytes: int) -> UntypedStorage:
    descriptor = handle.detach()
    number = os.fstat(descriptor).st_ino
    mapped = _received.get(number)
    if mapped is None:
        mapped = _received[number] = map_descriptor(descriptor, nbytes)
    else:
        os.close(descriptor)
    return UntypedStorage._of(_C._from_buffer(mapped))
