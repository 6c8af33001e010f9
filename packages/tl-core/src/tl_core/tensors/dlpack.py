"""Tensors exchanged with other libraries through DLPack: the same memory, no copy."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor

_CPU = (1, 0)
_VERSION = (1, 0)


def _dlpack(self: Tensor, *, stream: Any = None, max_version: tuple[int, int] | None = None,
            dl_device: tuple[Any, int] | None = None, copy: bool | None = None) -> Any:  # fmt: skip
    """A DLPack capsule of the tensor's memory, for another library's ``from_dlpack``.

    ``max_version`` is the newest version the reader knows; from (1, 0) on, read-only memory can be exported. ``copy``
    says whether the capsule must, may (None) or must not hold a copy.

    Raises BufferError for what the protocol cannot say: a tensor that requires grad, a device without memory.
    """
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream not in (None, -1) and self.device.type == "cpu":
        raise BufferError(f"stream must be None for a tensor on the CPU, got {stream}")
    source = _on_device(self, dl_device, copy)
    copied = source is not self
    if copy and not copied:
        source, copied = self.clone(), True
    return _C._to_dlpack(source, max_version is not None and max_version[0] >= 1, copied)


def _on_device(tensor: Tensor, target: Any, copy: bool | None) -> Tensor:
    if target is None or tuple(map(int, target)) == tensor.__dlpack_device__():
        return tensor
    if tuple(map(int, target)) != _CPU:
        raise BufferError(f"cannot export a tensor on '{tensor.device}' to the DLPack device {target}")
    if copy is False:
        raise BufferError(f"cannot move a tensor from '{tensor.device}' to the CPU without a copy")
    return tensor.cpu()


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    """The DLPack type and the index of the tensor's device."""
    if self.device.type != "cpu":
        raise BufferError(f"DLPack has no code for the device '{self.device}'")
    return _CPU


def to_dlpack(tensor: Tensor) -> Any:
    """The tensor's memory as a capsule of the protocol before version 1; a capsule can be read once.

    >>> from_dlpack(to_dlpack(tensor([1, 2])))
    tensor([1, 2])
    """
    if not hasattr(tensor, "__dlpack__"):
        raise TypeError(f"to_dlpack(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    return tensor.__dlpack__()


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, or of a DLPack capsule.

    Args:
        ext_tensor: an object with ``__dlpack__``, or a capsule, which can be read once.
        device: where the result must lie; its own device by default.
        copy: whether it must, may (None) or must not be a copy.

    Raises BufferError for memory that no tensor can describe, ValueError for ``device`` or ``copy`` with a capsule.
    What the array declares read-only stays so: writing to the tensor raises RuntimeError.

    >>> x = tensor([1, 2])
    >>> from_dlpack(x).data_ptr() == x.data_ptr()
    True
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise ValueError(
                "device and copy need an object with __dlpack__, not a capsule: nobody is left to make a copy"
            )
        return _C._from_dlpack(ext_tensor)
    options: dict[str, Any] = {}
    if copy is not None:
        options["copy"] = copy
    if device is not None:
        options["dl_device"] = _device_code(device)
    return _C._from_dlpack(_capsule(ext_tensor, options))


def _device_code(device: Any) -> tuple[int, int]:
    target = _C.device(device)
    if target.type != "cpu":
        raise BufferError(f"from_dlpack: DLPack has no code for the device '{target}'")
    return _CPU


def _capsule(array: Any, options: dict[str, Any]) -> Any:
    try:
        return array.__dlpack__(max_version=_VERSION, **options)
    except TypeError:  # a library from before version 1 does not know the keyword
        return array.__dlpack__(**options)


for _name, _method in (("__dlpack__", _dlpack), ("__dlpack_device__", _dlpack_device)):
    _method.__name__, _method.__qualname__ = _name, f"Tensor.{_name}"
    setattr(Tensor, _name, _C.overridable(_method))
