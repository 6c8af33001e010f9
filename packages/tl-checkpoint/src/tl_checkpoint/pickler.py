"""Writes pickles that the reference reads: its class paths, and storages by number instead of by value."""

from __future__ import annotations

import io
import pickle
import struct
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, ClassVar

import tl_core
from tl_core.storage import TypedStorage, UntypedStorage, tensor_on

from .class_names import reference, storage_name

__all__ = ["SavedStorage", "pickled"]


@dataclass
class SavedStorage:
    """A storage that a pickle refers to: its bytes as a tensor, and which of them are needed."""

    key: str
    tensor: Any
    dtypes: set[Any]
    begin: int
    end: int

    @property
    def is_compact(self) -> bool:
        """Whether all of its bytes are needed."""
        return self.begin == 0 and self.end == self.tensor.numel()

    @property
    def has_one_dtype(self) -> bool:
        """Whether every tensor on it has the same element type, and the reference has a class for it."""
        return len(self.dtypes) == 1 and storage_name(next(iter(self.dtypes))) is not None

    def need(self, begin: int, end: int) -> None:
        """Widens the part that is needed."""
        if self.end == 0:
            self.begin, self.end = begin, end
        elif end > begin:
            self.begin, self.end = min(self.begin, begin), max(self.end, end)

    def data(self) -> Any:
        """The needed bytes, on the CPU."""
        return memoryview(self.tensor[self.begin : self.end].cpu())


class _Named:
    """A global of the reference, which need not be importable here."""

    def __init__(self, path: str) -> None:
        self.module, _, self.name = path.rpartition(".")

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.module}.{self.name} is written, not called")


_names: dict[str, _Named] = {}


def _named(path: str) -> _Named:
    return _names.setdefault(path, _Named(path))


# The one in Python: that in C wants to import every global that it writes.
_PythonPickler: Any = pickle._Pickler


class _Pickler(_PythonPickler):
    dispatch: ClassVar[dict[type, Any]] = _PythonPickler.dispatch.copy()

    def __init__(self, file: Any, protocol: int, planned: dict[UntypedStorage, SavedStorage]) -> None:
        super().__init__(file, protocol)
        self.planned = planned
        self.storages: dict[UntypedStorage, SavedStorage] = {}

    # ---- storages

    def storage(self, untyped: UntypedStorage) -> SavedStorage:
        """What is known of a storage; storages are numbered as they come."""
        if untyped not in self.storages:
            whole = tensor_on(untyped, tl_core.uint8, (untyped.nbytes(),), (1,))
            self.storages[untyped] = SavedStorage(str(len(self.storages)), whole, set(), 0, 0)
        return self.storages[untyped]

    def _save_storage(self, obj: Any) -> None:
        typed = isinstance(obj, TypedStorage)
        untyped = obj.untyped() if typed else obj
        storage = self.storage(untyped)
        storage.need(0, obj.nbytes())
        storage.dtypes.add(obj.dtype if typed else tl_core.uint8)
        self._refer(untyped, obj.dtype if typed else None)
        self.memoize(obj)

    def _refer(self, untyped: UntypedStorage, dtype: Any) -> None:
        """Writes the description of a storage: its class, key, place, and number of elements."""
        storage, plan = self.storage(untyped), self.planned.get(untyped)
        nbytes = plan.end - plan.begin if plan else untyped.nbytes()
        path = storage_name(dtype) if dtype else "torch.storage.UntypedStorage"
        assert path is not None
        self.write(pickle.MARK)
        self.save("storage")
        self.save(_named(path))
        self.save(storage.key)
        self.save(str(storage.tensor.device))
        self.save(nbytes // (dtype.itemsize if dtype else 1))
        self.write(pickle.TUPLE + pickle.BINPERSID)

    # ---- tensors

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, tl_core.Tensor) and type(obj) not in self.dispatch:
            return _of_type(obj)
        return NotImplemented

    def _save_parameter(self, t: Any) -> None:
        state = dict(t.__dict__)
        parts: tuple[Any, ...] = (t.detach(), t.requires_grad, OrderedDict())
        path = "torch._utils._rebuild_parameter"
        if state:
            parts, path = (*parts, state), path + "_with_state"
        self.save_reduce(_named(path), parts, obj=t)

    def _save_tensor(self, t: Any) -> None:
        if getattr(t, "__dict__", None):
            return self.save_reduce(*_of_type(t), obj=t)
        if t.device.type == "meta":
            parts = (t.dtype, tuple(t.shape), t.stride(), t.requires_grad)
            return self.save_reduce(_named("torch._utils._rebuild_meta_tensor_no_storage"), parts, obj=t)
        self._write_tensor(t)
        self.memoize(t)

    def _write_tensor(self, t: Any) -> None:
        """A call of the function that makes a tensor of storage and geometry, opcode by opcode."""
        untyped = t.untyped_storage()
        storage, plan = self.storage(untyped), self.planned.get(untyped)
        storage.dtypes.add(t.dtype)
        storage.need(*_span(t))
        typed = plan.has_one_dtype if plan else storage_name(t.dtype) is not None
        offset = t.storage_offset() - (plan.begin // t.dtype.itemsize if plan else 0)
        write = self.write
        self.save(_named(f"torch._utils._rebuild_tensor_v{2 if typed else 3}"))
        write(pickle.MARK)
        self._refer(untyped, t.dtype if typed else None)
        write(_whole(offset if t.numel() else 0) + _tuple(t.shape) + _tuple(t.stride()))
        write(pickle.NEWTRUE if t.requires_grad else pickle.NEWFALSE)
        self.save(OrderedDict)
        write(pickle.EMPTY_TUPLE + pickle.REDUCE)
        if not typed:
            self.save(t.dtype)
        if marks := _marks(t):
            self.save(marks)
        write(pickle.TUPLE + pickle.REDUCE)

    def _save_size(self, obj: Any) -> None:
        self.save_reduce(_named("torch.Size"), (tuple(obj),), obj=obj)

    def _save_device(self, obj: Any) -> None:
        arguments = (obj.type,) if obj.index is None else (obj.type, obj.index)
        self.save_reduce(_named("torch.device"), arguments, obj=obj)

    def _save_layout(self, obj: Any) -> None:
        self.save_reduce(_named("torch.serialization._get_layout"), (str(obj),), obj=obj)

    # ---- globals

    def save_global(self, obj: Any, name: str | None = None) -> None:
        path = f"{getattr(obj, '__module__', None)}.{name or getattr(obj, '__qualname__', obj.__name__)}"
        translated = reference(path)
        if translated == path:
            super().save_global(obj, name)
        else:
            self._write_global(obj, *translated.rsplit(".", 1))

    def _save_named(self, obj: _Named) -> None:
        self._write_global(obj, obj.module, obj.name)

    def _save_dtype(self, obj: Any) -> None:
        self._write_global(obj, "torch", str(obj).removeprefix("torch."))

    def _write_global(self, obj: Any, module: str, name: str) -> None:
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def _save_type(self, obj: Any) -> None:
        if obj in (type(None), type(NotImplemented), type(...)):
            self.save_reduce(type, ({type(None): None, type(...): ...}.get(obj, NotImplemented),), obj=obj)
        else:
            self.save_global(obj)

    dispatch[_Named] = _save_named
    dispatch[type] = _save_type
    dispatch[tl_core.dtype] = _save_dtype
    dispatch[tl_core.device] = _save_device
    dispatch[tl_core.layout] = _save_layout
    dispatch[tl_core.Size] = _save_size
    dispatch[tl_core.Tensor] = _save_tensor
    dispatch[tl_core.Parameter] = _save_parameter
    dispatch[TypedStorage] = _save_storage
    dispatch[UntypedStorage] = _save_storage


def _of_type(t: Any) -> tuple[Any, Any]:
    """How a tensor with attributes, or of a subclass, is made: a plain one first. Its storage is written whole."""
    plain = t.detach().as_subclass(tl_core.Tensor)
    geometry: tuple[Any, ...] = (
        t.storage_offset(),
        tuple(t.shape),
        t.stride(),
        t.requires_grad,
        OrderedDict(),
    )
    if storage_name(t.dtype) is None:
        function = _named("torch._utils._rebuild_tensor_v3")
        args: tuple[Any, ...] = (plain.untyped_storage(), *geometry, t.dtype)
    else:
        function = _named("torch._utils._rebuild_tensor_v2")
        args = (TypedStorage(plain), *geometry)
    return _named("torch._tensor._rebuild_from_type_v2"), (function, type(t), args, dict(t.__dict__))


def _whole(n: int) -> bytes:
    """A whole number as opcodes."""
    if 0 <= n < 256:
        return pickle.BININT1 + bytes((n,))
    if -(2**31) <= n < 2**31:
        return pickle.BININT + struct.pack("<i", n)
    return pickle.LONG1 + b"\x08" + struct.pack("<q", n)


def _tuple(numbers: Any) -> bytes:
    """A tuple of whole numbers as opcodes."""
    parts = b"".join(map(_whole, numbers))
    if len(numbers) > 3:
        return pickle.MARK + parts + pickle.TUPLE
    return parts + (pickle.EMPTY_TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)[len(numbers)]


def _span(t: Any) -> tuple[int, int]:
    """The bytes of its storage that a tensor reaches."""
    if not t.numel():
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(t.shape, t.stride(), strict=True))
    begin = t.storage_offset() * t.dtype.itemsize
    return begin, begin + (last + 1) * t.dtype.itemsize


def _marks(t: Any) -> dict[str, bool]:
    marks = {"conj": t.is_complex() and t.is_conj(), "neg": t.is_neg()}
    return {name: True for name, marked in marks.items() if marked}


def pickled(obj: Any, protocol: int) -> tuple[bytes, list[SavedStorage]]:
    """The pickle of an object, and the storages that it refers to.

    A storage of which only a part is needed is written without the rest. As that is known only at the end, and moves
    offsets, such objects are pickled twice.
    """
    data, storages = _pickled(obj, protocol, {})
    if all(s.is_compact and (s.has_one_dtype or not _needs_type(s)) for s in storages.values()):
        return data, list(storages.values())
    for storage in storages.values():
        _align(storage)
    data, again = _pickled(obj, protocol, storages)
    assert [s.key for s in again.values()] == [s.key for s in storages.values()]
    return data, list(storages.values())


def _needs_type(storage: SavedStorage) -> bool:
    return len(storage.dtypes) > 1


def _align(storage: SavedStorage) -> None:
    """Lets the needed part begin at a whole element of every type."""
    step = max((dtype.itemsize for dtype in storage.dtypes), default=1)
    storage.begin -= storage.begin % step


def _pickled(
    obj: Any, protocol: int, planned: dict[UntypedStorage, SavedStorage]
) -> tuple[bytes, dict[UntypedStorage, SavedStorage]]:
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, protocol, planned)
    pickler.dump(obj)
    return buffer.getvalue(), pickler.storages
