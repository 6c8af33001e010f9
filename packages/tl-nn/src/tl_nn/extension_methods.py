"""Methods that are named after a plug-in's device: `tensor.npu()`, `module.npu()`, `tensor.is_npu`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tl_core
from tl_core import Tensor, UntypedStorage
from tl_core.settings.extension_devices import privateuse1_backend_name
from tl_core.storage import TypedStorage

from .modules.module import Module
from .utils.rnn import PackedSequence

__all__ = ["generate_methods_for_privateuse1_backend"]


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True,
    for_module: bool = True,
    for_packed_sequence: bool = True,
    for_storage: bool = False,
    unsupported_dtype: Sequence[Any] | None = None,
) -> None:
    """Gives tensors, modules, packed sequences and storages methods that move them to a plug-in's device.

    They have the name that `rename_privateuse1_backend` was given: for `npu`, `Tensor.npu()`, `Tensor.is_npu`,
    `Module.npu()` and so on.

    Args:
        for_tensor: whether tensors get them.
        for_module: whether modules get the methods. It requires the methods of tensors.
        for_packed_sequence: whether packed sequences get the methods. It requires the methods of tensors.
        for_storage: whether storages do.
        unsupported_dtype: element types that the device has no storages of.

    Raises:
        RuntimeError: a class has such a method already, or tensors lack those that others need.
    """
    name = privateuse1_backend_name()
    if for_tensor:
        _add(Tensor, f"is_{name}", property(_is_on(name)))
        _add(Tensor, name, _mover(name, "tensor"))
    if for_module:
        _check_tensors(name, "modules")
        _add(Module, name, _module_mover(name))
    if for_packed_sequence:
        _check_tensors(name, "packed sequences")
        _add(PackedSequence, f"is_{name}", property(lambda self: self.data.device.type == name))
        _add(PackedSequence, name, _mover(name, "packed sequence"))
    if for_storage:
        for kind in (UntypedStorage, TypedStorage):
            _add(kind, f"is_{name}", property(_is_on(name)))
            _add(kind, name, _storage_mover(name, tuple(unsupported_dtype or ())))


def _add(cls: type, name: str, member: Any) -> None:
    if hasattr(cls, name):
        raise RuntimeError(
            f"Can not automatically generate {name}() or is_{name} method for {cls.__name__}: it has one already"
        )
    if not isinstance(member, property):
        member.__name__, member.__qualname__ = name, f"{cls.__name__}.{name}"
    setattr(cls, name, member)


def _check_tensors(name: str, what: str) -> None:
    if not hasattr(Tensor, name):
        raise RuntimeError(
            f"Can not automatically generate {name}() method for {what}: tensors have none yet"
        )


def _is_on(name: str) -> Any:
    def is_on(self: Any) -> bool:
        return self.device.type == name

    return is_on


def _target(name: str, device: Any) -> Any:
    """The device that `x.npu(device)` means: an index, a device, or the current one."""
    if device is None:
        return tl_core.device(name)
    if isinstance(device, int):
        return tl_core.device(name, device)
    target = tl_core.device(device)
    if target.type != name:
        raise RuntimeError(f"Invalid device, must be {name} device, got {target}")
    return target


def _mover(name: str, what: str) -> Any:
    def move(self: Any, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        return self.to(_target(name, device), non_blocking=non_blocking, **kwargs)

    move.__doc__ = f"The {what} on the device {name}."
    return move


def _module_mover(name: str) -> Any:
    def move(self: Module, device: Any = None) -> Module:
        target = _target(name, device)
        return self._apply(lambda t: t.to(target))

    move.__doc__ = f"Moves parameters and buffers to the device {name}."
    return move


def _storage_mover(name: str, unsupported: tuple[Any, ...]) -> Any:
    def move(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        dtype = getattr(self, "dtype", None)
        if dtype in unsupported:
            raise RuntimeError(f"Cannot copy a storage of {dtype} to the device {name}: it has no such type")
        tensor = self._tensor if isinstance(self, UntypedStorage) else self.untyped()._tensor
        moved = tensor.to(_target(name, device), non_blocking=non_blocking).untyped_storage()
        return moved if dtype is None else TypedStorage(wrap_storage=moved, dtype=dtype)

    move.__doc__ = f"A copy of the storage on the device {name}."
    return move
