"""Pickles in packages: tensors by their storages, classes by the names that the exporter's importer gives them."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any

import tl_core
from tl_checkpoint.class_names import reference, storage_name
from tl_checkpoint.storages import bytes_of

from .importer import Importer, ObjMismatchError, ObjNotFoundError, _SysImporter

__all__ = ["PackagePickler", "SavedStorage"]

_PythonPickler: Any = pickle._Pickler  # in Python: it is changed by methods


class _Global:
    """A name of the library, under which other versions of it find the same."""

    def __init__(self, path: str) -> None:
        self.module, _, self.name = path.rpartition(".")

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.module}.{self.name} is written, not called")


class SavedStorage:
    """A storage that a pickle refers to.

    Args:
        key: its name in the package.
        storage: the storage.
    """

    def __init__(self, key: str, storage: Any) -> None:
        self.key, self.storage = key, storage

    def data(self) -> bytes:
        """Its bytes.

        Returns:
            A copy.
        """
        storage = self.storage if self.storage.device.type == "cpu" else self.storage.cpu()
        return bytes(bytes_of(storage)) if storage.nbytes() else b""


class _Referred:
    """A storage as elements of a type, for `persistent_id`."""

    def __init__(self, saved: SavedStorage, dtype: Any) -> None:
        self.saved, self.dtype = saved, dtype

    def description(self) -> tuple[Any, ...]:
        """What the pickle says of it."""
        kind = storage_name(self.dtype)
        storage = self.saved.storage
        count = storage.nbytes() // (self.dtype.itemsize if kind else 1)
        named = _Global(kind or "torch.storage.UntypedStorage")
        return "storage", named, int(self.saved.key), str(storage.device), count


class PackagePickler(_PythonPickler):
    """Pickles an object for a package.

    Args:
        importer: says under which name a class or function is found.
        file: where to.
        protocol: pickle's.
        exporter: the package; None: tensors and `__reduce_package__` can't be pickled.
    """

    dispatch = _PythonPickler.dispatch.copy()

    def __init__(self, importer: Importer, file: Any, protocol: int, exporter: Any = None) -> None:
        super().__init__(file, protocol=protocol)
        self.importer = importer
        self._exporter = exporter

    def persistent_id(self, obj: Any) -> Any:
        """What stands for an object that the package holds beside the pickle.

        Args:
            obj: the object.

        Returns:
            The description, or None.
        """
        if isinstance(obj, _Referred):
            return obj.description()
        return None if self._exporter is None else self._exporter._persistent_id(obj)

    def reducer_override(self, obj: Any) -> Any:
        """How the library's objects are written.

        Args:
            obj: the object.

        Returns:
            What `__reduce__` returns, or NotImplemented for others.
        """
        kind = type(obj)
        if kind is tl_core.device:
            return _Global("torch.device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        if kind is tl_core.Size:
            return _Global("torch.Size"), (tuple(obj),)
        if self._exporter is not None and isinstance(obj, tl_core.Tensor):
            return self._reduce_tensor(obj)
        return NotImplemented

    def _reduce_tensor(self, t: Any) -> Any:
        kind = type(t)
        if isinstance(t, tl_core.Parameter) and kind is tl_core.Parameter and not t.__dict__:
            return _Global("torch._utils._rebuild_parameter"), (t.detach(), t.requires_grad, OrderedDict())
        if (
            kind is not tl_core.Tensor
            or getattr(t, "__dict__", None)
            or t.layout is not tl_core.strided
            or t.is_meta
        ):
            return NotImplemented
        if t.is_quantized or t.is_neg() or (t.is_complex() and t.is_conj()):
            if t.is_quantized:
                return NotImplemented
            t = t.resolve_neg().resolve_conj()
        saved = self._exporter._saved_storage(t.untyped_storage())
        version = 2 if storage_name(t.dtype) else 3
        facts: list[Any] = [_Referred(saved, t.dtype), t.storage_offset(), tuple(t.shape), t.stride()]
        facts += [t.requires_grad, OrderedDict()] + ([t.dtype] if version == 3 else [])
        return _Global(f"torch._utils._rebuild_tensor_v{version}"), tuple(facts)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Writes the name of a class or function.

        Args:
            obj: the object.
            name: its name, where it is known.

        Raises:
            PicklingError: the importer doesn't find it.
        """
        own_name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", "")
        path = f"{getattr(obj, '__module__', None)}.{name or own_name}"
        translated = reference(path)
        if translated != path:
            module_name, global_name = translated.rsplit(".", 1)
        else:
            try:
                module_name, global_name = self.importer.get_name(obj, name)
            except (ObjNotFoundError, ObjMismatchError) as error:
                text = f"Can't pickle {obj}: {error}"
                if isinstance(self.importer, _SysImporter):
                    text += " (the exporter was given no importer of another package)"
                raise pickle.PicklingError(text) from None
        self._write_name(module_name, global_name)
        self.memoize(obj)

    def _write_name(self, module: str, name: str) -> None:
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
            return
        if "." in name and not module.startswith("torch"):
            # Older protocols have no names inside of classes: they are asked for.
            outer, _, inner = name.rpartition(".")
            self._write_name("builtins", "getattr")
            self.write(pickle.MARK)
            self._write_name(module, outer)
            self.save(inner)
            self.write(pickle.TUPLE + pickle.REDUCE)
            return
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def save_type(self, obj: Any) -> None:
        """Writes a class.

        Args:
            obj: the class.
        """
        if obj is type(None):
            self.save_reduce(type, (None,), obj=obj)
        elif obj in (type(NotImplemented), type(...)):
            self.save_reduce(type, (NotImplemented if obj is type(NotImplemented) else ...,), obj=obj)
        else:
            self.save_global(obj)

    def _save_named(self, obj: _Global) -> None:
        self._write_name(obj.module, obj.name)

    def _save_dtype(self, obj: Any) -> None:
        self._write_name("torch", str(obj).removeprefix("torch."))
        self.memoize(obj)

    dispatch[type] = save_type
    dispatch[tl_core.dtype] = _save_dtype
    dispatch[_Global] = _save_named
    dispatch[type(lambda: None)] = save_global
