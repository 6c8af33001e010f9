"""Objects of a program as a pickle that PyTorch's reader of archives and tl's accept.

PyTorch's reader knows a part of the protocol 2. A list or a dictionary states its type, and a tensor names a range of a
storage, which the archive has as a file.
"""

from __future__ import annotations

import enum
import pickle
import struct
from collections.abc import Callable
from typing import Any

import tl_core
from tl_checkpoint import quantized
from tl_checkpoint.class_names import storage_name
from tl_core import Tensor
from tl_core.extensions.custom_classes import ScriptObject
from tl_core.storage import bytes_of, memory_of

from .classes import Declaration
from .dtype_codes import code_of
from .types import Type

__all__ = ["ObjectPickler"]

_BUILDERS = {"int": "build_intlist", "float": "build_doublelist", "bool": "build_boollist",
             "complex": "build_complexlist", "Tensor": "build_tensorlist"}  # fmt: skip
_CODED = (tl_core.dtype, tl_core.layout, tl_core.memory_format)


class ObjectPickler:
    """Writes one pickle and the storages that it names.

    Args:
        name_of_class: returns the dotted name that the archive gives to the class of an object, which another one owns.
        rename: returns a type whose names are those of the archive, for a type of a declaration.
        add_storage: adds the storage of a tensor to the archive and returns its key; by default `storages` has it.

    Example:
        >>> pickler = ObjectPickler(lambda value, owner: "__torch__.M", lambda owner, kind: kind)
        >>> pickler.dump((1, "a"), None, Type("Tuple", (Type("int"), Type("str"))))[:2]
        b'\\x80\\x02'
    """

    def __init__(
        self,
        name_of_class: Callable[[Any, Any], str],
        rename: Callable[[Any, Type], Type],
        add_storage: Callable[[Tensor], str] | None = None,
    ) -> None:
        self._name_of_class, self._rename, self._add_storage = name_of_class, rename, add_storage
        self._out = bytearray()
        self._memo: dict[int, tuple[Any, int]] = {}
        self._storages: dict[int, tuple[str, Any, int]] = {}  # the key, a tensor and the bytes, by identity

    def dump(self, value: Any, owner: Any, kind: Type) -> bytes:
        """Returns the pickle of a value.

        Args:
            value: the value.
            owner: the object whose class states the type, or None.
            kind: the type.

        Raises:
            RuntimeError: an archive can't hold the value.
        """
        self._out += pickle.PROTO + b"\x02"
        self._write(value, owner, kind)
        return bytes(self._out + pickle.STOP)

    def storages(self) -> dict[str, Any]:
        """The bytes of each storage by its key."""
        result = {}
        for key, tensor, nbytes in self._storages.values():
            part = bytes_of(tensor, 0, nbytes)
            result[key] = memoryview(part if part.is_cpu else part.cpu())
        return result

    # ---- values
    def _write(self, value: Any, owner: Any, kind: Type) -> None:
        kind = _narrow(value, kind)
        if value is None:
            self._out += pickle.NONE
        elif isinstance(value, Tensor):
            self._tensor(value)
        elif isinstance(value, bool):
            self._out += pickle.NEWTRUE if value else pickle.NEWFALSE
        elif isinstance(value, enum.Enum):
            self._enumeration(value, owner)
        elif isinstance(value, (int, float)):
            self._out += _real(value) if isinstance(value, float) else _integer(value)
        elif isinstance(value, str):
            self._text(value)
        elif isinstance(value, complex):
            self._global("builtins", "complex")
            self._out += pickle.MARK + _real(value.real) + _real(value.imag) + pickle.TUPLE + pickle.REDUCE
        elif isinstance(value, _CODED):
            self._out += _integer(code_of(value))
        elif isinstance(value, (tl_core.device, tl_core.Generator)):
            self._device(value)
        elif isinstance(value, (tuple, list, dict)):
            self._container(value, owner, kind)
        elif isinstance(value, ScriptObject):
            self._script_object(value, owner)
        else:
            self._object(value, owner)

    def _container(self, value: Any, owner: Any, kind: Type) -> None:
        if self._refer(value):
            return
        if isinstance(value, tuple):
            self._out += pickle.MARK
            for index, item in enumerate(value):
                self._write(item, owner, kind.element(index) or Type("Any"))
            self._out += pickle.TUPLE
        elif isinstance(value, dict):
            self._dictionary(value, owner, kind)
        else:
            self._list(value, owner, kind)

    def _list(self, values: list[Any], owner: Any, kind: Type) -> None:
        element = kind.element(None) or _type_of_first(values)
        builder = _BUILDERS.get(element.name)
        self._global("torch.jit._pickle", builder or "restore_type_tag")
        self._out += pickle.MARK + pickle.EMPTY_LIST + self._put(values) + pickle.MARK
        for item in values:
            self._write(item, owner, element)
        self._out += pickle.APPENDS
        if builder is None:
            self._text(str(self._rename(owner, Type("List", (element,)))))
        self._out += pickle.TUPLE + pickle.REDUCE

    def _dictionary(self, values: dict[Any, Any], owner: Any, kind: Type) -> None:
        inner = kind.inner
        first = inner.arguments[0] if len(inner.arguments) == 2 else _type_of_first(list(values))
        second = kind.element(None) or _type_of_first(list(values.values()))
        self._global("torch.jit._pickle", "restore_type_tag")
        self._out += pickle.MARK + pickle.EMPTY_DICT + self._put(values) + pickle.MARK
        for key, item in values.items():
            self._write(key, owner, first)
            self._write(item, owner, second)
        self._out += pickle.SETITEMS
        self._text(str(self._rename(owner, Type("Dict", (first, second)))))
        self._out += pickle.TUPLE + pickle.REDUCE

    def _device(self, value: Any) -> None:
        if not isinstance(value, tl_core.device):
            raise RuntimeError("an archive can't hold a Generator")
        self._global("torch", "device")
        self._out += pickle.MARK
        self._text(str(value))
        self._out += pickle.TUPLE + pickle.REDUCE

    def _enumeration(self, value: Any, owner: Any) -> None:
        self._class(self._name_of_class(value, owner))
        self._write(value.value, owner, Type("Any"))  # no tuple, as PyTorch's reader expects
        self._out += pickle.REDUCE

    # ---- objects
    def _script_object(self, value: ScriptObject, owner: Any) -> None:
        """An object of a class that is registered, such as a packed weight, and its state."""
        if self._refer(value):
            return
        self._class(value._qualified_name)
        self._out += pickle.EMPTY_TUPLE + pickle.NEWOBJ + self._put(value)
        self._write(value._state(), owner, Type("Any"))
        self._out += pickle.BUILD

    def _object(self, value: Any, owner: Any) -> None:
        if self._refer(value):
            return
        declaration = getattr(type(value), "_declaration", None)
        if not isinstance(declaration, Declaration):
            record = _record_of(value, owner)
            self._object(record, owner)
            self._memo[id(value)] = value, self._memo[id(record)][1]
            return
        self._class(self._name_of_class(value, value))
        self._out += pickle.EMPTY_TUPLE + pickle.NEWOBJ + self._put(value)
        if "__getstate__" in declaration.methods:
            method = type(value)._program.method(declaration.name, "__getstate__")
            returns = type(value)._program.result_type(f"{declaration.name}.__getstate__")
            self._write(method(value), value, returns or Type("Any"))
        else:
            self._state(value, declaration)
        self._out += pickle.BUILD

    def _state(self, value: Any, declaration: Declaration) -> None:
        self._out += pickle.EMPTY_DICT + pickle.MARK
        for name, kind in declaration.attributes.items():
            if name not in declaration.constants:
                self._text(name)
                holder = type(value)._program.holder(declaration, name)
                item = vars(value)[holder].get(name) if holder else getattr(value, name)
                self._write(item, value, kind)
        self._out += pickle.SETITEMS

    def _class(self, name: str) -> None:
        module, _, own = name.rpartition(".")
        self._global(module, own)

    # ---- tensors
    def _tensor(self, value: Tensor) -> None:
        if value.is_quantized:
            self._quantized_tensor(value)
            return
        self._global("torch._utils", "_rebuild_tensor_v2")
        self._out += pickle.MARK
        self._storage(value)
        self._out += _integer(value.storage_offset())
        for numbers in (value.shape, value.stride()):
            self._out += pickle.MARK + b"".join(map(_integer, numbers)) + pickle.TUPLE
        self._out += pickle.NEWTRUE if value.requires_grad else pickle.NEWFALSE
        self._global("collections", "OrderedDict")
        self._out += pickle.EMPTY_TUPLE + pickle.REDUCE + pickle.TUPLE + pickle.REDUCE

    def _quantized_tensor(self, value: Tensor) -> None:
        """The integers, and the scheme with its scales and zero points."""
        integers, path, (offset, size, stride, (scheme, *parameters), *_) = quantized.parts(value)
        self._global("torch._utils", "_rebuild_qtensor")
        self._out += pickle.MARK
        self._storage(integers, path)
        self._out += _integer(offset)
        for numbers in (size, stride):
            self._out += pickle.MARK + b"".join(map(_integer, numbers)) + pickle.TUPLE
        self._out += pickle.MARK
        self._global("torch", scheme.name)
        for parameter in parameters:
            self._write(parameter, value, Type("Any"))
        self._out += pickle.TUPLE + pickle.NEWFALSE
        self._global("collections", "OrderedDict")
        self._out += pickle.EMPTY_TUPLE + pickle.REDUCE + pickle.TUPLE + pickle.REDUCE

    def _storage(self, value: Tensor, path: str | None = None) -> None:
        path = path or storage_name(value.dtype)
        if path is None or value.layout is not tl_core.strided:
            raise RuntimeError(f"an archive can't hold a tensor of {value.dtype} and {value.layout}")
        value = value.detach()
        identity, nbytes, *_ = memory_of(value)
        if self._add_storage is not None:
            key = self._add_storage(value)
        else:
            key = self._storages.setdefault(identity, (str(len(self._storages)), value, nbytes))[0]
        self._out += pickle.MARK
        self._text("storage")
        self._class(path)
        for text in (key, str(value.device)):
            self._text(text)
        self._out += _integer(nbytes // value.itemsize) + pickle.TUPLE + pickle.BINPERSID

    # ---- opcodes
    def _global(self, module: str, name: str) -> None:
        self._out += pickle.GLOBAL + f"{module}\n{name}\n".encode()

    def _text(self, text: str) -> None:
        data = text.encode()
        self._out += pickle.BINUNICODE + struct.pack("<I", len(data)) + data

    def _refer(self, value: Any) -> bool:
        entry = self._memo.get(id(value))
        if entry is None:
            return False
        self._out += pickle.LONG_BINGET + struct.pack("<I", entry[1])
        return True

    def _put(self, value: Any) -> bytes:
        number = len(self._memo)
        self._memo[id(value)] = value, number
        return pickle.LONG_BINPUT + struct.pack("<I", number)


def _narrow(value: Any, kind: Type) -> Type:
    """The type of a value: the option of a union that has the value's container."""
    kind = kind.inner
    if kind.name == "Union":
        names: dict[Any, str] = {list: "List", dict: "Dict", tuple: "Tuple"}
        return next((k for k in kind.arguments if k.name == names.get(type(value))), kind)
    return kind


def _type_of_first(values: list[Any]) -> Type:
    """The type of the elements of a list without a stated type."""
    names = {bool: "bool", int: "int", float: "float", complex: "complex", str: "str"}
    if values and isinstance(values[0], Tensor):
        return Type("Tensor")
    return Type(names.get(type(values[0]), "Any")) if values else Type("Tensor")


def _integer(value: int) -> bytes:
    if 0 <= value < 256:
        return pickle.BININT1 + bytes((value,))
    if -(1 << 31) <= value < 1 << 31:
        return pickle.BININT + struct.pack("<i", value)
    data = value.to_bytes(8, "little", signed=True)
    return pickle.LONG1 + bytes((len(data),)) + data


def _real(value: float) -> bytes:
    return pickle.BINFLOAT + struct.pack(">d", value)


def _record_of(value: Any, owner: Any) -> Any:
    """The object of a program's class for an object of the class of Python that it was compiled from."""
    program: Any = getattr(type(owner), "_program", None)
    classes: dict[str, type] = {} if program is None else program.python_classes
    name = next((name for name, kind in classes.items() if kind is type(value)), None)
    if name is None:
        raise RuntimeError(f"an archive can't hold an object of {type(value).__name__!r}")
    result = object.__new__(program.class_of(name))
    for attribute in program.declaration(name).attributes:
        setattr(result, attribute, getattr(value, attribute))
    return result
