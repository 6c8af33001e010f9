"""The memory that tensors are views of."""

from __future__ import annotations

import copy as _copy
from typing import Any

from tl_core import _C
from tl_core._C import Tensor


class UntypedStorage:
    """A block of bytes. It holds a tensor of bytes over the whole block.

    >>> UntypedStorage(4).nbytes()
    4
    """

    __module__ = "tl_core"
    _tensor: Tensor

    def __init__(self, size: Any = 0, *, device: Any = None) -> None:
        if isinstance(size, int):
            self._tensor = _C.empty(size, dtype=_C.uint8, device=device)
        else:
            self._tensor = _C.tensor(list(size), dtype=_C.uint8, device=device)

    @classmethod
    def _of(cls, tensor: Tensor) -> UntypedStorage:
        made = cls.__new__(cls)
        nbytes = _C._storage_facts(tensor)[1]
        made._tensor = _C._with_storage(tensor, _C.uint8, (nbytes,), (1,), 0)
        return made

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return _C._storage_facts(self._tensor)[0]

    def nbytes(self) -> int:
        """The number of bytes."""
        return _C._storage_facts(self._tensor)[1]

    size = nbytes
    __len__ = nbytes

    @property
    def device(self) -> Any:
        """Where the memory lies."""
        return self._tensor.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory lies on a CUDA device."""
        return self._tensor.is_cuda

    def element_size(self) -> int:
        """One: a byte."""
        return 1

    def _bytes(self) -> Tensor:
        return _C._with_storage(self._tensor, _C.uint8, (self.nbytes(),), (1,), 0)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return UntypedStorage._of(self._bytes()[index].clone())
        return self._bytes()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bytes()[index] = value

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as ints."""
        return self._bytes().tolist()

    def fill_(self, value: int) -> UntypedStorage:
        """Every byte set to a value."""
        self._bytes().fill_(value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """The source's bytes written here."""
        self._bytes().copy_(source._bytes())
        return self

    def clone(self) -> UntypedStorage:
        """A copy with memory of its own."""
        return UntypedStorage._of(self._bytes().clone())

    def resize_(self, size: int) -> UntypedStorage:
        """Another size in place; what fits is kept."""
        _C._resize_storage(self._tensor, size)
        return self

    def cpu(self) -> UntypedStorage:
        """The bytes on the CPU."""
        return self if self.device.type == "cpu" else UntypedStorage._of(self._bytes().cpu())

    def is_shared(self) -> bool:
        """Whether other processes see the memory."""
        return False

    def is_pinned(self, device: Any = None) -> bool:
        """False: no accelerator is present."""
        return False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UntypedStorage)
            and _C._storage_facts(self._tensor)[5] == _C._storage_facts(other._tensor)[5]
        )

    def __hash__(self) -> int:
        return hash(_C._storage_facts(self._tensor)[5])

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        known = memo.setdefault("tl_storages", {})
        key = _C._storage_facts(self._tensor)[5]
        if key not in known:
            known[key] = self.clone()
        return known[key]

    def __reduce__(self) -> Any:
        if self.device.type == "meta":
            return (_without_memory, (self.nbytes(),))
        return (_from_bytes, (bytes(memoryview(self._bytes().cpu())), str(self.device)))

    def __repr__(self) -> str:
        lines = "".join(f" {byte}\n" for byte in self.tolist())
        return f"{lines}[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def tensor_on(storage: UntypedStorage, dtype: Any, size: Any, stride: Any, offset: int = 0) -> Tensor:
    """A tensor on a storage's memory; offset and strides count elements. Raises RuntimeError if it reaches beyond.

    >>> import tl_core
    >>> tensor_on(tl_core.arange(4).untyped_storage(), tl_core.int64, (2,), (2,), 1)
    tensor([1, 3])
    """
    return _C._with_storage(storage._tensor, dtype, tuple(size), tuple(stride), offset)


def _from_bytes(data: bytes, device: str = "cpu") -> UntypedStorage:
    made = UntypedStorage(len(data))
    if data:
        memoryview(made._tensor)[:] = data
    return made if device == "cpu" else UntypedStorage._of(made._bytes().to(device))


def _without_memory(nbytes: int) -> UntypedStorage:
    return UntypedStorage(nbytes, device="meta")


class TypedStorage:
    """A block of memory read as elements of one type."""

    __module__ = "tl_core"

    def __init__(self, source: Any = None, *, dtype: Any = None) -> None:
        if isinstance(source, Tensor):
            self.dtype, self._untyped = source.dtype, UntypedStorage._of(source)
        else:
            self.dtype = dtype or _C.get_default_dtype()
            self._untyped = source or UntypedStorage(0)

    @property
    def _tensor(self) -> Tensor:
        return self._untyped._tensor

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped

    def _elements(self) -> Tensor:
        return _C._with_storage(self._tensor, self.dtype, (self.size(),), (1,), 0)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped.data_ptr()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped.nbytes()

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
        return self._untyped.device

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._elements().tolist()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[index].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value

    def fill_(self, value: Any) -> TypedStorage:
        """Every element set to a value."""
        self._elements().fill_(value)
        return self

    def clone(self) -> TypedStorage:
        """A copy with memory of its own."""
        return TypedStorage(self._untyped.clone(), dtype=self.dtype)

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return TypedStorage(_copy.deepcopy(self._untyped, memo), dtype=self.dtype)

    def __reduce__(self) -> Any:
        return (_typed, (self._untyped, self.dtype))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TypedStorage) and self.dtype is other.dtype and self._untyped == other._untyped
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self._untyped))

    def __repr__(self) -> str:
        lines = "".join(f" {element}\n" for element in self.tolist())
        return f"{lines}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"


def _typed(untyped: UntypedStorage, dtype: Any) -> TypedStorage:
    return TypedStorage(untyped, dtype=dtype)
