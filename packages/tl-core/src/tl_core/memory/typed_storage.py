"""The memory that tensors are views of, as elements of one type; the reference keeps it for old programs."""

from __future__ import annotations

import copy as _copy
import os
from collections.abc import Iterator, Sequence
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.memory.untyped_storage import (
    UntypedStorage,
    add_conversions,
    check_has_values,
    check_same_size,
    checked_index,
    listing,
)

__all__ = [
    "BFloat16Storage",
    "BoolStorage",
    "ByteStorage",
    "CharStorage",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "FloatStorage",
    "HalfStorage",
    "IntStorage",
    "LongStorage",
    "QInt8Storage",
    "QInt32Storage",
    "QUInt2x4Storage",
    "QUInt4x2Storage",
    "QUInt8Storage",
    "ShortStorage",
    "Storage",
    "TypedStorage",
]


class TypedStorage:
    """A block of memory read as elements of one type: what `tensor.storage()` gives.

    Args:
        args: one of: how many elements, which aren't initialized; or a sequence of them. None for no elements.
        wrap_storage: the untyped memory to be used instead of new one.
        dtype: the type of the elements; None for the default type.
        device: where new memory lies; None for the CPU.

    Example:
        >>> import tl_core
        >>> TypedStorage([1, 2], dtype=tl_core.int16).untyped().tolist()
        [1, 0, 2, 0]
    """

    __module__ = "tl_core"
    is_sparse = False
    is_sparse_csr = False
    dtype: Any = None

    def __init__(
        self,
        *args: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        if len(args) > 1 or (args and wrap_storage is not None):
            raise TypeError(
                f"{type(self).__name__}() takes a size, a sequence or wrap_storage, got {len(args)} arguments"
                f"{' and wrap_storage' if wrap_storage is not None else ''}"
            )
        self.dtype = dtype or _C.get_default_dtype()
        if wrap_storage is None:
            self._untyped_storage = _new_memory(args[0] if args else 0, self.dtype, device)
        elif isinstance(wrap_storage, UntypedStorage):
            self._untyped_storage = wrap_storage
        else:
            raise TypeError(
                f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage).__name__}"
            )

    @property
    def _tensor(self) -> Tensor:
        return self._untyped_storage._tensor

    def _like(self, untyped: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype)

    @classmethod
    def from_buffer(cls, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> TypedStorage:
        """A copy of the elements in a buffer; arguments are those of `UntypedStorage.from_buffer`."""
        element_type = _own_dtype(cls, "from_buffer") if cls.dtype else dtype or _C.get_default_dtype()
        untyped = UntypedStorage.from_buffer(*args, dtype=element_type, **kwargs)
        return TypedStorage(wrap_storage=untyped.to(device=device or "cpu"), dtype=element_type)

    _from_buffer = from_buffer  # the name that programs know for these classes

    @classmethod
    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, size: int = 0) -> TypedStorage:
        """`size` elements on a file mapped into memory, as `UntypedStorage.from_file` maps it; for derived classes."""
        dtype = _own_dtype(cls, "from_file")
        untyped = UntypedStorage.from_file(filename, shared, size * dtype.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=dtype)

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = None) -> TypedStorage:
        """Zeros that several processes see."""
        dtype = cls.dtype or _C.get_default_dtype()
        untyped = UntypedStorage._new_shared(size * dtype.itemsize, device=device or "cpu")
        return TypedStorage(wrap_storage=untyped, dtype=dtype)

    # ---- facts

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped_storage

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def device(self) -> Any:
        """Where the memory lies."""
        return self._untyped_storage.device

    def get_device(self) -> int:
        """The device's number; -1 on the CPU."""
        return self._untyped_storage.get_device()

    @property
    def is_cuda(self) -> bool:
        """Whether the memory lies on a CUDA device."""
        return self._untyped_storage.is_cuda

    @property
    def is_hpu(self) -> bool:
        """Whether the memory lies on an HPU."""
        return self._untyped_storage.is_hpu

    @property
    def filename(self) -> str | None:
        """The file that writes reach, as `from_file(shared=True)` gives; else None."""
        return self._untyped_storage.filename

    def resizable(self) -> bool:
        """Whether the memory can be had in another size."""
        return self._untyped_storage.resizable()

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return self._untyped_storage.is_shared()

    def is_pinned(self, device: Any = None) -> bool:
        """Whether a device can read the memory directly."""
        return self._untyped_storage.is_pinned(device)

    def pickle_storage_type(self) -> str:
        """The name of the class for this element type. Raises KeyError where the reference has none."""
        if self.dtype not in _NAMES:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return _NAMES[self.dtype]

    # ---- contents

    def _as_tensor(self, dtype: Any) -> Tensor:
        """What `tensor(storage)` copies."""
        if dtype not in (None, self.dtype):
            raise RuntimeError(
                f"Expected a Storage of type {dtype} or an UntypedStorage, but got type {self.dtype}"
            )
        return self._elements()

    def _share_fd_cpu_(self) -> tuple[int, int]:
        """As that of the untyped storage."""
        return self._untyped_storage._share_fd_cpu_()

    def _share_filename_cpu_(self) -> Any:
        """As that of the untyped storage, which refuses it."""
        return self._untyped_storage._share_filename_cpu_()

    def _elements(self) -> Tensor:
        return _C._with_storage(self._tensor, self.dtype, (self.size(),), (1,), 0)

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        check_has_values(self)
        return self._elements().tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        check_has_values(self)
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[checked_index(self, index, self.size())].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        at = index if isinstance(index, slice) else checked_index(self, index, self.size())
        self._elements()[at] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Every element set to a value."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: TypedStorage | UntypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """The source's bytes written here, whatever its type. Raises RuntimeError if there are more or fewer."""
        check_same_size(self.nbytes(), source.nbytes())
        self._untyped_storage.copy_(source.untyped())
        return self

    def resize_(self, size: int) -> None:
        """Another number of elements in place; what fits is kept."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    # ---- copies and other places

    def clone(self) -> TypedStorage:
        """A copy with memory of its own."""
        return self._like(self._untyped_storage.clone())

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """The elements on a device; this storage if they lie there."""
        return self._on(self._untyped_storage.to(device=device, non_blocking=non_blocking))

    def _on(self, untyped: UntypedStorage) -> TypedStorage:
        return self if untyped is self._untyped_storage else self._like(untyped)

    def cpu(self) -> TypedStorage:
        """The elements on the CPU."""
        return self._on(self._untyped_storage.cpu())

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """The elements on a CUDA device."""
        return self._on(self._untyped_storage.cuda(device, non_blocking))

    def hpu(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """The elements on an HPU."""
        return self._on(self._untyped_storage.hpu(device, non_blocking))

    def pin_memory(self, device: Any = None) -> TypedStorage:
        """A copy that a device can read directly; this storage if it is one."""
        return self._on(self._untyped_storage.pin_memory(device))

    def share_memory_(self) -> TypedStorage:
        """Moves the elements, in place, into memory that other processes can see."""
        self._untyped_storage.share_memory_()
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the class; or the elements as another type (a dtype, storage class or its name)."""
        if dtype is None:
            name = _NAMES.get(self.dtype)
            return f"torch.{name}" if name else "torch.storage.TypedStorage"
        target = dtype_named(dtype)
        return self if target is self.dtype else self._as(target)

    def _as(self, dtype: Any) -> TypedStorage:
        untyped = UntypedStorage._of(self._elements().to(dtype))
        return TypedStorage(wrap_storage=untyped, dtype=dtype)

    # ---- identity

    @property
    def _cdata(self) -> int:
        """As that of the untyped storage."""
        return self._untyped_storage._cdata

    def _weak_ref(self) -> int:
        """As that of the untyped storage."""
        return self._untyped_storage._weak_ref()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypedStorage):
            return NotImplemented
        return self.dtype is other.dtype and self._untyped_storage == other._untyped_storage

    def __hash__(self) -> int:
        return hash((self.dtype, self._untyped_storage))

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return self._like(_copy.deepcopy(self._untyped_storage, memo))

    def __reduce__(self) -> Any:
        return (_wrap, (self._untyped_storage, self.dtype))

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def __repr__(self) -> str:
        what = f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}"
        return listing(self, what)

    def _write_file(self, *args: Any) -> None:
        """As that of the untyped storage."""
        self._untyped_storage._write_file(*args)


# What programs call to be spared PyTorch's warning that typed storages are deprecated; tl gives none.
_UNWARNED = (
    "data_ptr",
    "element_size",
    "is_shared",
    "nbytes",
    "pickle_storage_type",
    "resize_",
    "share_memory_",
)
for _name in (*_UNWARNED, "size"):
    setattr(TypedStorage, f"_{_name}", getattr(TypedStorage, _name))
for _name in ("deepcopy", "getitem", "setitem"):
    setattr(TypedStorage, f"_{_name}", getattr(TypedStorage, f"__{_name}__"))

add_conversions(TypedStorage)
UntypedStorage._typed = TypedStorage


def _wrap(untyped: UntypedStorage, dtype: Any) -> TypedStorage:
    return TypedStorage(wrap_storage=untyped, dtype=dtype)


def _new_memory(size: Any, dtype: Any, device: Any) -> UntypedStorage:
    if type(size) is int:
        return UntypedStorage(size * dtype.itemsize, device=device)
    if not isinstance(size, Sequence) or isinstance(size, (str, bytes)):
        raise TypeError(f"a storage is made of a size or a sequence of numbers, got {type(size).__name__}")
    return UntypedStorage._of(_C.tensor(size, dtype=dtype, device=device))


def _own_dtype(cls: Any, method: str) -> Any:
    if cls.dtype is None:
        raise RuntimeError(f"{method} can only be called on derived classes")
    return cls.dtype


# ---- the classes named after element types ---------------------------------------------------------------------------
class _OfOneType(type):
    """A class that is never instantiated: its calls make TypedStorages, which count as its instances."""

    _dtype: Any

    @property
    def dtype(cls) -> Any:
        return cls._dtype

    def __call__(
        cls,
        *args: Any,
        wrap_storage: Any = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> Any:
        keyword = "dtype" if dtype is not None else "device" if device is not None else None
        if keyword:
            raise RuntimeError(
                f"{cls.__name__}() takes a size, a sequence or wrap_storage. Keyword argument {keyword!r} cannot be "
                "specified"
            )
        return cls._make(*args, wrap_storage=wrap_storage)

    def _make(cls, *args: Any, wrap_storage: Any) -> Any:
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance) is TypedStorage and instance.dtype is cls.dtype


class _OfDefaultType(_OfOneType):
    @property
    def dtype(cls) -> Any:
        return _C.get_default_dtype()


def _class(name: str, dtype: Any) -> Any:
    doc = f"""Makes a TypedStorage of {dtype}.

Args:
    args: one of: how many elements, which aren't initialized; or a sequence of them. None for no elements.
    wrap_storage: the untyped memory to be used instead of new one.
    dtype: must be None: the class says the type.
    device: where new memory lies; None for the CPU.

Example:
    >>> import tl_core
    >>> len(tl_core.{name}(3))
    3
"""
    return _OfOneType(name, (TypedStorage,), {"__module__": "tl_core", "__doc__": doc, "_dtype": dtype})


BFloat16Storage = _class("BFloat16Storage", _C.bfloat16)
BoolStorage = _class("BoolStorage", _C.bool)
ByteStorage = _class("ByteStorage", _C.uint8)
CharStorage = _class("CharStorage", _C.int8)
ComplexDoubleStorage = _class("ComplexDoubleStorage", _C.complex128)
ComplexFloatStorage = _class("ComplexFloatStorage", _C.complex64)
DoubleStorage = _class("DoubleStorage", _C.float64)
FloatStorage = _class("FloatStorage", _C.float32)
HalfStorage = _class("HalfStorage", _C.float16)
IntStorage = _class("IntStorage", _C.int32)
LongStorage = _class("LongStorage", _C.int64)
ShortStorage = _class("ShortStorage", _C.int16)
QInt32Storage = _class("QInt32Storage", _C.qint32)
QInt8Storage = _class("QInt8Storage", _C.qint8)
QUInt2x4Storage = _class("QUInt2x4Storage", _C.quint2x4)
QUInt4x2Storage = _class("QUInt4x2Storage", _C.quint4x2)
QUInt8Storage = _class("QUInt8Storage", _C.quint8)


class Storage(TypedStorage, metaclass=_OfDefaultType):
    """Makes a TypedStorage of the default type.

    Example:
        >>> import tl_core
        >>> len(tl_core.Storage(3))
        3
    """

    __module__ = "tl_core"


_CLASSES = {kind.__name__: kind for kind in list(globals().values()) if isinstance(kind, _OfOneType)}
_NAMES = {kind.dtype: name for name, kind in _CLASSES.items() if type(kind) is _OfOneType}


def _dtype_to_storage_type_map() -> dict[Any, str]:
    return dict(_NAMES)


def _storage_type_to_dtype_map() -> dict[str, Any]:
    return {name: dtype for dtype, name in _NAMES.items()}


def dtype_named(kind: Any) -> Any:
    """The element type that a dtype, a storage class, or the name of one says.

    >>> dtype_named("torch.IntStorage")
    torch.int32
    """
    if isinstance(kind, _C.dtype):
        return kind
    storage_class = _CLASSES.get(kind.removeprefix("torch.")) if isinstance(kind, str) else kind
    if not isinstance(storage_class, _OfOneType) or storage_class.dtype is None:
        raise TypeError(f"expected a dtype, a storage class or its name, got {kind!r}")
    return storage_class.dtype
