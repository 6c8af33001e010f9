"""Pickler for files that PyTorch reads: with PyTorch's class paths, and storages by number instead of by value."""

from __future__ import annotations

import copyreg
import functools
import itertools
import pickle
import struct
import sys
from collections import OrderedDict
from types import FunctionType, TracebackType
from typing import Any, ClassVar

import tl_core
from tl_core.storage import TypedStorage, UntypedStorage, bytes_of, memory_of, tensor_on
from tl_core.subclasses import wrappers as wrapper_subclasses
from tl_core.tensors.named_tensor import check_serializing_named_tensor

from . import nested
from .class_names import own_path, reference, storage_name
from .quantized import is_script_object, parts

__all__ = ["SavedStorage", "pickle_object"]


class SavedStorage:
    """A storage that a pickle refers to: a tensor on it, and the range of its bytes in use.

    Args:
        key: name of the record in the archive.
        tensor: a tensor on the storage.
        dtype: element type of the first tensor.
        nbytes: size of the storage in bytes.
        begin: the first byte in use.
        end: the byte behind the last one in use.
    """

    __slots__ = ("begin", "dtypes", "end", "key", "nbytes", "tensor")

    def __init__(self, key: str, tensor: Any, dtype: Any, nbytes: int, begin: int, end: int) -> None:
        self.key, self.tensor, self.dtypes = key, tensor, {dtype}
        self.nbytes, self.begin, self.end = nbytes, begin, end

    def need(self, dtype: Any, begin: int, end: int) -> None:
        """Widens the range in use by the range of a tensor of a type."""
        self.dtypes.add(dtype)
        if self.end == 0:
            self.begin, self.end = begin, end
        elif end > begin:
            self.begin, self.end = min(self.begin, begin), max(self.end, end)

    def data(self) -> Any:
        """The bytes in use, on the CPU."""
        part = bytes_of(self.tensor, self.begin, self.end)
        return memoryview(part if part.is_cpu else part.cpu())


class _Named:
    """A global of PyTorch, which need not be importable."""

    def __init__(self, path: str) -> None:
        self.module, _, self.name = path.rpartition(".")

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.module}.{self.name} is written, not called")


@functools.cache
def _torch_global(path: str) -> _Named:
    return _Named(path)


_REDUCED = (
    tl_core.Tensor.__reduce_ex__,
    tl_core.Parameter.__reduce_ex__,
)  # a class without its own __reduce_ex__ has one of these

_CALLED = pickle.TUPLE + pickle.REDUCE
_PUTS = [pickle.BINPUT + bytes((index,)) for index in range(256)]

# The pickler in Python: the one in C imports every global that it writes.
_PythonPickler: Any = pickle._Pickler


class _Reducers(dict[type, Any]):
    """Reducers of classes without an entry of their own: subclasses of tensors."""

    def get(self, kind: type, default: Any = None) -> Any:
        if not issubclass(kind, tl_core.Tensor):
            return (
                _reduce_script_object if is_script_object(kind) else copyreg.dispatch_table.get(kind, default)
            )
        if nested.is_nested(kind):
            return _reduce_nested
        return _of_type if kind.__reduce_ex__ in _REDUCED else default


class _Integers:
    """The storage of a quantized tensor."""

    def __init__(self, tensor: Any, path: str) -> None:
        self.tensor, self.path = tensor, path


class _Parts(list[Any]):
    """A file of parts, which are many and short."""

    write = list.append


class _Pickler(_PythonPickler):
    dispatch: ClassVar[dict[type, Any]] = _PythonPickler.dispatch.copy()
    dispatch_table: ClassVar[dict[type, Any]] = _Reducers()

    def __init__(self, file: Any, protocol: int, planned: dict[int, SavedStorage], legacy: bool) -> None:
        super().__init__(file, protocol)
        self.planned = planned
        # In the format from before 2020 a storage may be a view of another; tl writes none.
        self._referred = (pickle.NONE if legacy else b"") + pickle.TUPLE + pickle.BINPERSID
        self.storages: dict[int, SavedStorage] = {}
        self._alike: dict[tuple[Any, ...], tuple[bytes, bytes]] = {}
        if protocol < 4:
            self.write = file.write  # there are no frames

    # ---- storages

    def storage(
        self, tensor: Any, dtype: Any, identity: int, nbytes: int, begin: int, end: int
    ) -> SavedStorage:
        """The storage of a tensor that uses these bytes; storages are numbered in order of first use."""
        entry = self.storages.get(identity)
        if entry is None:
            key = str(len(self.storages))
            entry = self.storages[identity] = SavedStorage(key, tensor, dtype, nbytes, begin, end)
        else:
            entry.need(dtype, begin, end)
        return entry

    def _save_storage(self, obj: Any) -> None:
        typed = isinstance(obj, TypedStorage)
        tensor = tensor_on(obj.untyped(), tl_core.uint8, (obj.nbytes(),), (1,))
        identity, *memory = memory_of(tensor)
        storage = self.storage(tensor, obj.dtype if typed else tl_core.uint8, identity, *memory)
        path = storage_name(obj.dtype) if typed else "torch.storage.UntypedStorage"
        self._refer(storage, identity, path, obj.dtype.itemsize if typed else 1)
        self.memoize(obj)

    def _save_integers(self, obj: _Integers) -> None:
        identity, nbytes, *_ = memory_of(obj.tensor)
        storage = self.storage(obj.tensor, obj.tensor.dtype, identity, nbytes, 0, nbytes)
        self._refer(storage, identity, obj.path, obj.tensor.itemsize)

    def _refer(self, storage: SavedStorage, identity: int, path: str | None, itemsize: int) -> None:
        """Writes the description of a storage: its class, key, place, and number of elements."""
        plan = self.planned.get(identity)
        nbytes = plan.end - plan.begin if plan else storage.nbytes
        opening = self._global_of(path)
        location = self._text(str(storage.tensor.device))
        count = _integer(nbytes // itemsize)
        start = pickle.MARK + self._text("storage")
        self.write(start + opening + _plain_text(storage.key) + location + count + self._referred)

    # ---- opcodes, which refer to earlier objects by number

    def _text(self, text: str) -> bytes:
        entry = self.memo.get(id(text))
        return self.get(entry[0]) if entry else _plain_text(text) + self._memoize(text)

    def _global_of(self, path: str | None) -> bytes:
        assert path is not None
        target = _torch_global(path)
        entry = self.memo.get(id(target))
        if entry:
            return self.get(entry[0])
        return self._global_opcodes(target.module, target.name) + self._memoize(target)

    def _memoize(self, obj: Any) -> bytes:
        index = len(self.memo)
        self.memo[id(obj)] = index, obj
        if self.proto >= 4:
            return pickle.MEMOIZE
        return _PUTS[index] if index < 256 else pickle.LONG_BINPUT + index.to_bytes(4, "little")

    def _global_opcodes(self, module: str, name: str) -> bytes:
        if self.proto >= 4:
            return _plain_text(module) + _plain_text(name) + pickle.STACK_GLOBAL
        return pickle.GLOBAL + f"{module}\n{name}\n".encode()

    # ---- tensors

    def _save_parameter(self, t: Any) -> None:
        state = dict(t.__dict__)
        parts: tuple[Any, ...] = (t.detach(), t.requires_grad, OrderedDict())
        path = "torch._utils._rebuild_parameter"
        if state:
            parts, path = (*parts, state), path + "_with_state"
        self.save_reduce(_torch_global(path), parts, obj=t)

    def _save_tensor(self, t: Any) -> None:
        check_serializing_named_tensor(t)
        if t.is_quantized:
            return self.save_reduce(*_reduce_quantized(t), obj=t)
        if getattr(t, "__dict__", None):
            return self.save_reduce(*_of_type(t), obj=t)
        if t.is_meta:
            parts = (t.dtype, tuple(t.shape), t.stride(), t.requires_grad)
            return self.save_reduce(
                _torch_global("torch._utils._rebuild_meta_tensor_no_storage"), parts, obj=t
            )
        if t.layout is not tl_core.strided:
            return self.save_reduce(
                _torch_global("torch._utils._rebuild_sparse_tensor"), _parts_of_sparse(t), obj=t
            )
        self._write_tensor(t)

    def _write_tensor(self, t: Any) -> None:
        """Writes the opcodes of the call that rebuilds a tensor from storage and geometry."""
        dtype, offset = t.dtype, t.storage_offset()
        identity, nbytes, begin, end = memory_of(t)
        storage = self.storage(t, dtype, identity, nbytes, begin, end)
        plan, mixed = self.planned.get(identity), False
        if plan:
            nbytes, mixed = plan.end - plan.begin, len(plan.dtypes) > 1
            offset -= plan.begin // dtype.itemsize
        location = "cpu" if t.is_cpu else _location(t)
        bits = _conj_neg_bits(t) if t.is_neg() or (dtype.is_complex and t.is_conj()) else b""
        offset = offset if end else 0  # an empty tensor uses no bytes
        facts = (dtype, mixed, location, nbytes, offset, t.shape, t.stride(), t.requires_grad, bits)
        before, after = self._alike.get(facts) or self._around_key(facts)
        write = self.write
        write(before)
        write(_name(storage.key))
        write(after)
        write(self._memoize(t))

    def _around_key(self, facts: tuple[Any, ...]) -> tuple[bytes, bytes]:
        """The opcodes before and behind the key of a tensor's storage, which many tensors share."""
        first = self._opcodes_around_key(*facts)
        self._alike[facts] = self._opcodes_around_key(*facts)  # now with references to memoized names
        return first

    def _opcodes_around_key(
        self,
        dtype: Any,
        mixed: bool,
        location: str,
        nbytes: int,
        offset: int,
        shape: Any,
        stride: Any,
        grad: bool,
        bits: bytes,
    ) -> tuple[bytes, bytes]:
        kind = None if mixed else storage_name(dtype)
        function = self._global_of(f"torch._utils._rebuild_tensor_v{2 if kind else 3}")
        storage = self._text("storage") + self._global_of(kind or "torch.storage.UntypedStorage")
        after = [
            self._text(location),
            _integer(nbytes // (dtype.itemsize if kind else 1)),
            self._referred,
            _integer(offset),
            _tuple(shape),
            _tuple(stride),
            pickle.NEWTRUE if grad else pickle.NEWFALSE,
            self._global_of("collections.OrderedDict"),
            pickle.EMPTY_TUPLE + pickle.REDUCE,
        ]
        if not kind:
            after.append(self._global_of(f"torch.{_name_of(dtype)}"))
        return function + pickle.MARK + pickle.MARK + storage, b"".join((*after, bits, _CALLED))

    def _batch_setitems(self, items: Any, *context: Any) -> None:
        """Writes the items of a dict, with a fast path for tensors by name."""
        batch, memo, write = iter(items), self.memo, self.write
        while part := list(itertools.islice(batch, 1000)):
            write(pickle.MARK)
            for key, value in part:
                if type(key) is str and id(key) not in memo and len(key) < 256:
                    write(_name(key))
                    write(self._memoize(key))
                else:
                    self.save(key)
                if type(value) is tl_core.Tensor and id(value) not in memo:
                    self._save_tensor(value)
                else:
                    self.save(value)
            write(pickle.SETITEMS)

    def _save_size(self, obj: Any) -> None:
        self.save_reduce(_torch_global("torch.Size"), (tuple(obj),), obj=obj)

    def _save_device(self, obj: Any) -> None:
        arguments = (obj.type,) if obj.index is None else (obj.type, obj.index)
        self.save_reduce(_torch_global("torch.device"), arguments, obj=obj)

    def _save_layout(self, obj: Any) -> None:
        self.save_reduce(_torch_global("torch.serialization._get_layout"), (str(obj),), obj=obj)

    # ---- objects of classes in schemas

    def save_reduce(self, func: Any, args: Any, *rest: Any, obj: Any = None, **more: Any) -> None:
        """Writes the call that rebuilds an object."""
        if func is not _new_script_object:
            return super().save_reduce(func, args, *rest, obj=obj, **more)
        # Files name one class for all such objects, and the class in schemas beside the state.
        self.write(
            self._global_of("torch.ScriptObject") + pickle.EMPTY_TUPLE + pickle.NEWOBJ + self._memoize(obj)
        )
        self.save(args[0])
        self.write(pickle.BUILD)

    # ---- globals

    def save_global(self, obj: Any, name: str | None = None) -> None:
        own: Any = getattr(obj, "__module__", None)
        own = getattr(own, "own", own)  # under the name torch, classes show PyTorch's modules
        outer, *inner = (name or getattr(obj, "__qualname__", obj.__name__)).split(".")
        translated = reference(f"{own}.{outer}")
        if translated == f"{own}.{outer}":
            super().save_global(obj, name)
        elif inner and self.proto < 4:  # protocols below 4 have no dotted names
            parent = functools.reduce(getattr, inner[:-1], getattr(sys.modules[own], outer))
            self.save_reduce(getattr, (parent, inner[-1]), obj=obj)
        else:
            module, first = translated.rsplit(".", 1)
            self._write_global(obj, module, ".".join((first, *inner)))

    def _save_function(self, obj: Any) -> None:
        """Writes a function under PyTorch's name if that name resolves to the function."""
        module, name = own_path(reference(f"{obj.__module__}.{obj.__qualname__}")).rsplit(".", 1)
        if getattr(sys.modules.get(module), name, None) is obj:
            self.save_global(obj)
        else:
            super().save_global(obj)

    def _save_named(self, obj: _Named) -> None:
        self._write_global(obj, obj.module, obj.name)

    def _save_dtype(self, obj: Any) -> None:
        self._write_global(obj, "torch", _name_of(obj))

    def _write_global(self, obj: Any, module: str, name: str) -> None:
        self.write(self._global_opcodes(module, name) + self._memoize(obj))

    def _save_type(self, obj: Any) -> None:
        if obj in (type(None), type(NotImplemented), type(...)):
            self.save_reduce(type, ({type(None): None, type(...): ...}.get(obj, NotImplemented),), obj=obj)
        else:
            self.save_global(obj)

    dispatch[_Named] = _save_named
    dispatch[_Integers] = _save_integers
    dispatch[type] = _save_type
    dispatch[FunctionType] = _save_function
    dispatch[tl_core.dtype] = _save_dtype
    dispatch[tl_core.device] = _save_device
    dispatch[tl_core.layout] = _save_layout
    dispatch[tl_core.Size] = _save_size
    dispatch[tl_core.Tensor] = _save_tensor
    dispatch[tl_core.Parameter] = _save_parameter
    dispatch[TypedStorage] = _save_storage
    dispatch[UntypedStorage] = _save_storage


def _of_type(t: Any) -> tuple[Any, Any]:
    """Reduces a tensor with attributes, or of a subclass, to a plain tensor. Its whole storage is written."""
    if wrapper_subclasses.has_no_elements(t):
        return _of_elements_elsewhere(t)
    plain = t.detach().as_subclass(tl_core.Tensor)
    geometry: tuple[Any, ...] = (
        t.storage_offset(),
        tuple(t.shape),
        t.stride(),
        t.requires_grad,
        OrderedDict(),
    )
    if storage_name(t.dtype) is None:
        function = _torch_global("torch._utils._rebuild_tensor_v3")
        args: tuple[Any, ...] = (plain.untyped_storage(), *geometry, t.dtype)
    else:
        function = _torch_global("torch._utils._rebuild_tensor_v2")
        args = (plain._typed_storage(), *geometry)
    return _torch_global("torch._tensor._rebuild_from_type_v2"), (function, type(t), args, dict(t.__dict__))


def _of_elements_elsewhere(t: Any) -> tuple[Any, Any]:
    """Reduces a tensor without memory, whose attributes hold the elements."""
    maker = _torch_global("torch._utils._rebuild_wrapper_subclass")
    parts = (maker, type(t), wrapper_subclasses.reduced(t), dict(t.__dict__))
    return _torch_global("torch._tensor._rebuild_from_type_v2"), parts


def _parts_of_sparse(t: Any) -> tuple[Any, Any]:
    if t.is_sparse:
        return t.layout, (t._indices(), t._values(), t.shape, t.is_coalesced())
    by_rows = t.layout in (tl_core.sparse_csr, tl_core.sparse_bsr)
    indices = (t.crow_indices(), t.col_indices()) if by_rows else (t.ccol_indices(), t.row_indices())
    return t.layout, (*indices, t._values(), t.shape)


def _reduce_quantized(t: Any) -> tuple[Any, Any]:
    """Reduces a quantized tensor to its integers, which are written whole."""
    integers, path, rest = parts(t)
    return _torch_global("torch._utils._rebuild_qtensor"), (_Integers(integers, path), *rest)


def _new_script_object(state: Any) -> Any:
    raise TypeError("torch.ScriptObject is written, not called")


def _reduce_script_object(obj: Any) -> tuple[Any, Any]:
    """Reduces an object of a class in schemas to its state and the name of its class."""
    return _new_script_object, (obj.__getstate__(),)


def _reduce_nested(t: Any) -> tuple[Any, Any]:
    """Reduces a nested tensor to its values and the positions of its components."""
    path, args = nested.parts(t)
    return _torch_global(path), args


def _integer(n: int) -> bytes:
    """The opcodes of an integer."""
    if 0 <= n < 256:
        return pickle.BININT1 + bytes((n,))
    if -(2**31) <= n < 2**31:
        return pickle.BININT + struct.pack("<i", n)
    return pickle.LONG1 + b"\x08" + struct.pack("<q", n)


@functools.lru_cache(1024)
def _tuple(numbers: tuple[int, ...]) -> bytes:
    """The opcodes of a tuple of integers."""
    parts = b"".join(map(_integer, numbers))
    if len(numbers) > 3:
        return pickle.MARK + parts + pickle.TUPLE
    return parts + (pickle.EMPTY_TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)[len(numbers)]


def _plain_text(text: str) -> bytes:
    """The opcodes of a text."""
    data = text.encode("utf-8", "surrogatepass")
    return pickle.BINUNICODE + len(data).to_bytes(4, "little") + data


_name = functools.lru_cache(4096)(_plain_text)  # for short texts that the next save writes again
_LOCATIONS = {"cpu": "cpu"}


def _location(t: Any) -> str:
    """The device of a tensor as an interned text."""
    text = str(t.device)
    return _LOCATIONS.setdefault(text, text)


def _name_of(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _conj_neg_bits(t: Any) -> bytes:
    """The opcodes of the conjugate and negative bits of a tensor."""
    bits = ["conj"] if t.is_complex() and t.is_conj() else []
    bits += ["neg"] if t.is_neg() else []
    items = b"".join(_plain_text(name) + pickle.NEWTRUE for name in bits)
    return pickle.EMPTY_DICT + pickle.MARK + items + pickle.SETITEMS


def pickle_object(obj: Any, protocol: int, legacy: bool = False) -> tuple[bytes, list[SavedStorage]]:
    """The pickle of an object, and the storages that it refers to.

    Only the range in use of a storage is written. The range is known only at the end and changes offsets, so an object
    with a partly used storage is pickled twice.

    Args:
        obj: any object that pickle supports.
        protocol: pickle protocol, 2 to 5.
        legacy: whether storages are described as in files from before 2020.
    """
    data, storages = _dump(obj, protocol, {}, legacy)
    if all(s.begin == 0 and s.end == s.nbytes and len(s.dtypes) < 2 for s in storages.values()):
        return data, list(storages.values())
    for storage in storages.values():
        _align(storage)
    data, again = _dump(obj, protocol, storages, legacy)
    assert [s.key for s in again.values()] == [s.key for s in storages.values()]
    return data, list(storages.values())


def _align(storage: SavedStorage) -> None:
    """Aligns the begin of the range in use to elements of every type."""
    step = max((dtype.itemsize for dtype in storage.dtypes), default=1)
    storage.begin -= storage.begin % step


def _dump(
    obj: Any, protocol: int, planned: dict[int, SavedStorage], legacy: bool
) -> tuple[bytes, dict[int, SavedStorage]]:
    parts = _Parts()
    pickler = _Pickler(parts, protocol, planned, legacy)
    try:
        pickler.dump(obj)
    except Exception as error:
        if _is_of_pickler(error.__traceback__):  # several frames for each level of the containers say nothing
            error.__traceback__ = None
        raise
    return b"".join(parts), pickler.storages


def _is_of_pickler(traceback: TracebackType | None) -> bool:
    """Whether all frames are of the pickler, none of a class that reduces its objects."""
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename not in (__file__, pickle.__file__):
            return False
        traceback = traceback.tb_next
    return True
