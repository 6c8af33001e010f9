"""The memory that tensors are views of, as bytes."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NoReturn

from tl_core import _C
from tl_core._C import Tensor
from tl_core.dispatch.modes import mode_of_fakes, no_modes
from tl_core.memory import storage_numbers
from tl_core.memory.mapped_memory import MappedMemory, map_file, map_shared

__all__ = ["UntypedStorage", "bytes_of", "memory_of", "read_tensor", "tensor_on"]


class UntypedStorage:
    """A block of bytes that a tensor and its views share: the result of `tensor.untyped_storage()`.

    Two storages are equal if they are the same memory. Memory of another owner, of a file or of several processes has a
    fixed size. A write to read-only memory raises.

    Args:
        size: the number of bytes, which are not initialised, or a sequence of ints, whose low bytes are stored.
        device: the device of the memory.

    Example:
        >>> UntypedStorage([1, 2, 3]).nbytes()
        3
    """

    __module__ = "tl_core"
    _tensor: Tensor  # bytes over the whole block
    _typed: ClassVar[Any]  # TypedStorage, which is made of these
    _has_no_memory = False  # of a tensor that stands for others
    stands_for: Any = None  # where memory was that a fake's storage was read for
    is_sparse = False
    is_sparse_csr = False

    def __init__(self, size: Any = 0, *, device: Any = None) -> None:
        with no_modes():  # memory is no operator's result: nobody handles it
            if type(size) is int:
                self._tensor = _C.empty(_checked_size(size), dtype=_C.uint8, device=device)
            else:
                self._tensor = _bytes_of(size, device)
        _live[self._identity()] = self

    @classmethod
    def _of(cls, tensor: Tensor) -> UntypedStorage:
        number = _C._memory_of(tensor)[0]
        existing = _live.get(number)
        if existing is not None and type(existing) is cls:
            return existing
        storage = cls.__new__(cls)
        nbytes = _C._storage_facts(tensor)[1]
        storage._tensor = _C._with_storage(tensor, _C.uint8, (nbytes,), (1,), 0)
        storage._has_no_memory = _C._is_hollow(tensor)
        _live[number] = storage
        return storage

    # ---- where they come from

    @staticmethod
    def from_buffer(
        buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: Any
    ) -> UntypedStorage:
        """A copy of the elements in an object with the buffer protocol, in this machine's byte order.

        Args:
            buffer: the object, such as `bytes`.
            byte_order: "little", "big" or "native", the order of the buffer. Elements of several bytes require it.
            count: the number of elements; -1: all elements from `offset` on.
            offset: the first byte.
            dtype: the type of the elements.

        Raises:
            ValueError: the buffer is too short, or the byte order is another word.

        Example:
            >>> import tl_core
            >>> UntypedStorage.from_buffer(b"\\x01\\x02", "big", dtype=tl_core.int16).tolist()
            [2, 1]
        """
        with memoryview(buffer).cast("B") as memory:
            nbytes = _span(memory.nbytes, count, offset, dtype.itemsize)
            storage = _from_bytes(bytes(memory[offset : offset + nbytes]))
        if dtype is _C.bool:
            storage._tensor.copy_(storage._tensor != 0)
        elif _is_other_order(byte_order, dtype):
            storage.byteswap(dtype)
        return storage

    @staticmethod
    def from_file(filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file that is mapped into memory.

        Args:
            filename: the path of the file.
            shared: whether writes reach the file, which is created if it is missing; else they stay in memory.
            nbytes: the number of bytes, from the beginning.

        Raises:
            RuntimeError: the file can't be opened, or is too short and not shared.
        """
        if not _checked_size(nbytes):
            return UntypedStorage(0)
        return UntypedStorage._of(_C._from_buffer(map_file(os.fspath(filename), shared, nbytes)))

    @classmethod
    def _new_shared(cls, size: int, *, device: Any = "cpu") -> UntypedStorage:
        """Zeros that several processes see."""
        return UntypedStorage._of(_C.zeros(size, dtype=_C.uint8, device=device)).share_memory_()

    def new(self) -> UntypedStorage:
        """An empty storage on the same device."""
        return UntypedStorage(0, device=self.device)

    # ---- facts

    def data_ptr(self) -> int:
        """The address of the first byte."""
        if self._has_no_memory:
            raise RuntimeError("data_ptr(): the storage of a tensor that stands for others has no memory")
        return _C._storage_address(self._tensor)

    def nbytes(self) -> int:
        """The number of bytes."""
        return _C._storage_facts(self._tensor)[1]

    def size(self) -> int:
        """The number of bytes."""
        return self.nbytes()

    __len__ = nbytes

    def element_size(self) -> int:
        """One: a byte."""
        return 1

    @property
    def device(self) -> Any:
        """Where the memory lies."""
        return self._tensor.device

    def get_device(self) -> int:
        """The device's number; -1 on the CPU."""
        return self._tensor.get_device()

    @property
    def is_cuda(self) -> bool:
        """Whether the memory lies on a CUDA device."""
        return self._tensor.is_cuda

    @property
    def is_hpu(self) -> bool:
        """Whether the memory lies on an HPU."""
        return self.device.type == "hpu"

    @property
    def filename(self) -> str | None:
        """The file that writes reach, as `from_file(shared=True)` gives; else None."""
        mapped = self._mapped()
        return mapped.filename if mapped else None

    def resizable(self) -> bool:
        """Whether the memory is tl's own, so that it can be had in another size."""
        return _C._storage_facts(self._tensor)[4]

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        mapped = self._mapped()
        return mapped is not None and mapped.is_shared

    def is_pinned(self, device: Any = None) -> bool:
        """Whether a device can read the memory directly."""
        return self._tensor.is_pinned()

    def _mapped(self) -> MappedMemory | None:
        owner = _C._storage_owner(self._tensor)
        owner = owner.obj if isinstance(owner, memoryview) else owner
        return owner if isinstance(owner, MappedMemory) else None

    # ---- contents

    def _bytes(self) -> Tensor:
        return _C._with_storage(self._tensor, _C.uint8, (self.nbytes(),), (1,), 0)

    def __getitem__(self, index: Any) -> Any:
        check_has_values(self)
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(
                    f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
                )
            return UntypedStorage._of(_shared_part(self._bytes()[index]))
        return self._bytes()[checked_index(self, index, self.nbytes())].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(value) is not int:
            raise RuntimeError(
                f"can only set storage content with a int types, but got {type(value).__name__} instead"
            )
        at = index if isinstance(index, slice) else checked_index(self, index, self.nbytes())
        self._bytes()[at] = value & 0xFF

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as ints."""
        check_has_values(self)
        return self._bytes().tolist()

    def fill_(self, value: int) -> UntypedStorage:
        """Every byte set to a value, of which the low byte is taken."""
        self._bytes().fill_(value & 0xFF)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """The source's bytes written here. Raises RuntimeError if there are more or fewer."""
        check_same_size(self.nbytes(), source.nbytes())
        self._bytes().copy_(source._bytes())
        return self

    def byteswap(self, dtype: Any) -> None:
        """Turns the bytes of each element around, in place; those of both parts of a complex number.

        Raises RuntimeError if the storage doesn't hold whole elements.

        >>> import tl_core
        >>> storage = UntypedStorage([1, 2, 3, 4])
        >>> storage.byteswap(tl_core.int16)
        >>> storage.tolist()
        [2, 1, 4, 3]
        """
        size = dtype.itemsize // (2 if dtype.is_complex else 1)
        if self.nbytes() % size:
            raise RuntimeError(
                f"byteswap() needs whole elements of {size} bytes, the storage has {self.nbytes()}"
            )
        elements = self._bytes().view(-1, size) if self.nbytes() else self._bytes()
        if size > 1 and self.nbytes():
            elements.copy_(elements.flip(1))

    def resize_(self, size: int) -> UntypedStorage:
        """Another size in place; what fits is kept. Raises RuntimeError where memory isn't `resizable`."""
        _C._resize_storage(self._tensor, _checked_size(size))
        return self

    # ---- copies and other places

    def clone(self) -> UntypedStorage:
        """A copy with memory of its own."""
        return UntypedStorage._of(self._bytes().clone())

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a device; this storage if they lie there."""
        target = _C.device(device)
        if target == self.device:
            return self
        return UntypedStorage._of(self._bytes().to(target, non_blocking=non_blocking))

    def cpu(self) -> UntypedStorage:
        """The bytes on the CPU."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a CUDA device."""
        return self.to(device=_device_name("cuda", device), non_blocking=non_blocking)

    def hpu(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on an HPU."""
        return self.to(device=_device_name("hpu", device), non_blocking=non_blocking)

    def mps(self) -> UntypedStorage:
        """The bytes on an MPS device."""
        return self.to(device="mps")

    def pin_memory(self, device: Any = None) -> UntypedStorage:
        """A copy that a device can read directly; this storage if it is one."""
        if not self.is_pinned(device):
            raise RuntimeError("Cannot access accelerator device when none is available.")
        return self

    def share_memory_(self) -> UntypedStorage:
        """Moves the bytes, in place, into memory that other processes can see; it can't be resized then.

        Every tensor on the storage moves along: none may be in use by another thread meanwhile. The memory has no name,
        so that nothing is left behind whatever happens to the processes.
        """
        check_on_cpu(self, "share_memory_")
        if not self.is_shared() and self.nbytes():
            _C._move_storage(self._tensor, map_shared(self.nbytes()))
        return self

    def _share_fd_cpu_(self) -> tuple[int, int]:
        """A descriptor of the memory, shared as by `share_memory_`, for another process, and the number of bytes."""
        check_on_cpu(self, "_share_fd_cpu_")
        self.share_memory_()
        owner = _C._storage_owner(self._tensor)
        return os.dup(owner.descriptor), self.nbytes()

    def _write_file(self, f: Any, is_real_file: bool, save_size: bool, element_size: int) -> None:
        """Writes the bytes to an open file, in the form of PyTorch's oldest files.

        Args:
            f: a file that is open for writing bytes.
            is_real_file: whether the file has a descriptor; both kinds of files are written alike.
            save_size: whether the number of elements comes first, as eight bytes, the lowest first.
            element_size: the bytes of an element.

        Raises:
            NotImplementedError: the storage is on the device meta.
        """
        data = memoryview(self._bytes().cpu())
        if save_size:
            f.write((self.nbytes() // element_size).to_bytes(8, "little"))
        f.write(data)

    def _share_filename_cpu_(self) -> NoReturn:
        check_on_cpu(self, "_share_filename_cpu_")
        raise NotImplementedError("_share_filename_cpu_: shared memory has no name in tl: use _share_fd_cpu_")

    # ---- elements

    def _as_tensor(self, dtype: Any) -> Tensor:
        """What `tensor(storage)` copies."""
        element_type = dtype or _C.get_default_dtype()
        return tensor_on(self, element_type, (self.nbytes() // element_type.itemsize,), (1,))

    def untyped(self) -> UntypedStorage:
        """This storage."""
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the class; or the bytes, each as an element of a type (a dtype, storage class or its name)."""
        return "torch.storage.UntypedStorage" if dtype is None else self._as(_C.uint8).type(dtype)

    def _as(self, dtype: Any) -> Any:
        return self._typed(wrap_storage=UntypedStorage._of(self._bytes().to(dtype)), dtype=dtype)

    # ---- identity

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> int:
        return _C._memory_of(self._tensor)[0]

    @property
    def _cdata(self) -> int:
        """A number that no other storage has while this one lives."""
        return storage_numbers.number_of(self._tensor)

    @staticmethod
    def _use_count_of(number: int) -> int:
        """One more than the tensors that share the storage with a `_cdata`: PyTorch counts the storage's object.

        Raises:
            RuntimeError: no living storage whose `_cdata` a program has read has the number.
        """
        tensor = storage_numbers.tensor_of(number)
        if tensor is None:
            raise RuntimeError(f"no living storage has the number {number}: pass a storage's _cdata")
        n_tensors = _C._storage_use_count(tensor) - 1
        return n_tensors if number in _live else n_tensors + 1

    def _use_count(self) -> int:
        """How many tensors and other objects share the storage, this one left out."""
        return _C._storage_use_count(self._tensor) - 1

    def _weak_ref(self) -> int:
        """A number that stands for the storage and does not keep it; the caller gives it back to `_free_weak_ref`."""
        return _C._weak_storage(self._tensor)

    @staticmethod
    def _expired(number: int) -> bool:
        """Whether the storage of a number of `_weak_ref` is gone."""
        return _C._lock_weak_storage(number) is None

    @staticmethod
    def _new_with_weak_ptr(number: int) -> UntypedStorage | None:
        """The storage of a number of `_weak_ref`; None once it is gone."""
        memory = _C._lock_weak_storage(number)
        return None if memory is None else UntypedStorage._of(memory)

    @staticmethod
    def _free_weak_ref(number: int) -> None:
        """Gives a number of `_weak_ref` back."""
        _C._drop_weak_storage(number)

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        copies = memo.setdefault("tl_storages", {})
        key = self._identity()
        if key not in copies:
            copies[key] = self.clone()
        return copies[key]

    def __reduce__(self) -> Any:
        if self.device.type == "meta":
            return (_without_memory, (self.nbytes(),))
        return (_from_bytes, (bytes(memoryview(self._bytes().cpu())), str(self.device)))

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def __repr__(self) -> str:
        what = f"torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}"
        return listing(self, what)


# The object of each storage that has one: it keeps its storage, so that a number means one while it is here.
_live: weakref.WeakValueDictionary[int, UntypedStorage] = weakref.WeakValueDictionary()


def _shared_part(part: Tensor) -> Tensor:
    """A tensor whose storage is these bytes alone, on the same memory; a copy where another device has it."""
    if not part.is_cpu or not part.numel():
        return part.clone()
    return _C._from_buffer(memoryview(part))


def tensor_on(storage: UntypedStorage, dtype: Any, size: Any, stride: Any, offset: int = 0) -> Tensor:
    """A tensor on a storage's memory; offset and strides count elements. Raises RuntimeError if it reaches beyond.

    Args:
        storage: the storage.
        dtype: the type of the elements.
        size: the sizes.
        stride: the strides, in elements.
        offset: the first element, in elements from the storage's begin.

    >>> import tl_core
    >>> tensor_on(tl_core.arange(4).untyped_storage(), tl_core.int64, (2,), (2,), 1)
    tensor([1, 3])
    """
    return _C._with_storage(storage._tensor, dtype, tuple(size), tuple(stride), offset)


def read_tensor(storage: UntypedStorage, dtype: Any, size: Any, stride: Any, offset: int = 0) -> Tensor:
    """A tensor of a file or a pickle: as `tensor_on`, but a fake where a FakeTensorMode is on and there is no memory.

    Args:
        storage: the storage.
        dtype: the type of the elements.
        size: the sizes.
        stride: the strides, in elements.
        offset: the first element, in elements from the storage's begin.

    Example:
        >>> import tl_core
        >>> from tl_core.memory.untyped_storage import read_tensor
        >>> read_tensor(tl_core.arange(4.0).untyped_storage(), tl_core.float32, (2, 2), (2, 1))
        tensor([[0., 1.],
                [2., 3.]])
    """
    tensor = tensor_on(storage, dtype, size, stride, offset)
    mode = mode_of_fakes() if tensor.is_meta else None
    return tensor if mode is None else mode.claim_device(tensor, storage.stands_for or tensor.device)


def memory_of(tensor: Tensor) -> tuple[int, int, int, int]:
    """What tells a tensor's storage from others while it lives, its bytes, and which of them the tensor reaches.

    >>> import tl_core
    >>> x = tl_core.zeros(3)
    >>> memory_of(x)[1:], memory_of(x[1:])[1:], memory_of(x)[0] == memory_of(x[1:])[0]
    ((12, 0, 12), (12, 4, 12), True)
    """
    return _C._memory_of(tensor)


def bytes_of(tensor: Tensor, begin: int, end: int) -> Tensor:
    """Some bytes of a tensor's storage, as a tensor on the same memory.

    Args:
        tensor: the tensor.
        begin: the first byte of its storage.
        end: the byte behind the last.

    Example:
        >>> import tl_core
        >>> from tl_core.memory.untyped_storage import bytes_of
        >>> bytes_of(tl_core.tensor([1, 2], dtype=tl_core.int32), 4, 8)
        tensor([2, 0, 0, 0], dtype=torch.uint8)
    """
    return _C._with_storage(tensor, _C.uint8, (end - begin,), (1,), begin)


def check_has_values(storage: Any) -> None:
    """Raises NotImplementedError for a storage on the device meta."""
    if storage.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device type: its storages have no values")


def check_on_cpu(storage: Any, method: str) -> None:
    """Raises RuntimeError for a storage that isn't in the memory of the CPU."""
    if storage.device.type != "cpu":
        raise RuntimeError(f"{method}: only available on CPU, got a storage on {storage.device}")


def checked_index(storage: Any, index: Any, size: int) -> int:
    """An index into `size` elements, counted from the front. Raises IndexError outside of them."""
    if not hasattr(index, "__index__"):
        raise TypeError(f"can't index a torch.{type(storage).__name__} with {type(index).__name__}")
    at = index.__index__()
    if not -size <= at < size:
        raise IndexError(f"index {at} out of range for storage of size {size}")
    return at % size


def check_same_size(own: int, other: int) -> None:
    """Raises RuntimeError if two storages don't have equally many bytes."""
    if own != other:
        raise RuntimeError(f"size does not match, self was {own} bytes but src was {other} bytes")


def listing(storage: Any, what: str) -> str:
    """A storage's text: an element a line, then what it is."""
    on_meta = storage.device.type == "meta"
    lines = "...\n" if on_meta else "".join(f" {element}\n" for element in storage.tolist())
    return f"{lines}[{what}]"


def _checked_size(size: int) -> int:
    if size < 0:
        raise RuntimeError(f"the size of a storage must be 0 or more, got {size}")
    return size


def _bytes_of(values: Any, device: Any) -> Tensor:
    if isinstance(values, UntypedStorage):
        values = values.tolist()
    if not isinstance(values, Sequence):
        raise RuntimeError(
            f"torch.UntypedStorage(): Expected a sequence type, but got {type(values).__name__}"
        )
    for value in values:
        if type(value) is not int:
            raise RuntimeError(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(values).__name__}), but "
                f"one of the items was of type {type(value).__name__} instead of int"
            )
    return _from_bytes(bytes(value & 0xFF for value in values), str(device or "cpu"))._tensor


def _span(available: int, count: int, offset: int, itemsize: int) -> int:
    """The bytes that `count` elements of a buffer have, from `offset` on."""
    if not 0 <= offset <= available:
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({available}), but got {offset}"
        )
    left = available - offset
    if count < 0 and left % itemsize:
        raise ValueError(f"buffer size ({left}) must be a multiple of element size ({itemsize})")
    if count >= 0 and count * itemsize > left:
        raise ValueError(
            f"buffer has only {left // itemsize} elements after offset {offset}, but specified a size of {count}"
        )
    return left if count < 0 else count * itemsize


def _is_other_order(byte_order: str | None, dtype: Any) -> bool:
    if byte_order is None and dtype.itemsize > 1:
        raise TypeError(
            "from_buffer() needs byte_order for elements of more than a byte: 'little', 'big' or 'native'"
        )
    if byte_order not in (None, "little", "big", "native"):
        raise ValueError(f"byte_order must be 'little', 'big' or 'native', got {byte_order!r}")
    return byte_order not in (None, "native", sys.byteorder)


def _device_name(kind: str, device: Any) -> Any:
    if device is None:
        return kind
    return f"{kind}:{device}" if isinstance(device, int) else device


def _from_bytes(data: bytes, device: str = "cpu") -> UntypedStorage:
    if mode_of_fakes() is not None:
        return _without_memory(len(data))
    storage = UntypedStorage(len(data), device="cpu")
    if data:
        memoryview(storage._tensor)[:] = data
    return storage.to(device=device)


def _without_memory(nbytes: int) -> UntypedStorage:
    return UntypedStorage(nbytes, device="meta")


_CONVERSIONS = {
    "bfloat16": "bfloat16", "bool": "bool", "byte": "uint8", "char": "int8", "complex_double": "complex128",
    "complex_float": "complex64", "double": "float64", "float": "float32", "float8_e4m3fn": "float8_e4m3fn",
    "float8_e4m3fnuz": "float8_e4m3fnuz", "float8_e5m2": "float8_e5m2", "float8_e5m2fnuz": "float8_e5m2fnuz",
    "half": "float16", "int": "int32", "long": "int64", "short": "int16",
}  # fmt: skip


def add_conversions(cls: type) -> None:
    """Gives a storage class its methods `float()`, `int()` and so on."""
    for name, dtype in _CONVERSIONS.items():
        setattr(cls, name, _converter(name, dtype))


def _converter(name: str, dtype: str) -> Any:
    def convert(self: Any) -> Any:
        return self._as(getattr(_C, dtype))

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The elements as {dtype}."
    return convert


add_conversions(UntypedStorage)
