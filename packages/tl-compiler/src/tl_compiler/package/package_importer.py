"""Reading packages: their code in an environment of its own, their pickles, texts and bytes."""

from __future__ import annotations

import builtins
import io
import linecache
import os
import pickle
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

from tl_checkpoint.class_names import StorageType
from tl_checkpoint.locations import restore_location, target_of
from tl_checkpoint.storages import bytes_of
from tl_core.storage import TypedStorage, UntypedStorage

from ..fx.code_imports import external_module
from ._directory_reader import open_records
from ._importlib import calc_package, check_name, resolve_name
from ._mangling import PackageMangler, demangle
from ._package_unpickler import PackageUnpickler, check_pickle
from .file_structure_representation import Directory, _create_directory_from_file_list
from .glob_group import GlobPattern
from .importer import Importer

__all__ = ["PackageImporter"]

# What packages may import although they don't name it as external, as the names are only known when one is read.
IMPLICIT_IMPORT_ALLOWLIST = ("numpy", "numpy.core", "numpy.core._multiarray_umath", "builtins")
# The importers by the names of the modules that they made.
_imported: weakref.WeakValueDictionary[str, PackageImporter] = weakref.WeakValueDictionary()


class _Node:
    """A name below which a package has modules; a module itself if it has a source file."""

    def __init__(self, source_file: str | None = None, is_package: bool = True) -> None:
        self.source_file = source_file
        self.is_package = is_package
        self.is_extern = False
        self.children: dict[str, _Node] = {}


class PackageImporter(Importer):
    """Reads a package. Its code sees the modules of the package, and those that it names as external.

    **Code of the package is executed**, when modules are imported and when pickles are loaded: only read packages that
    you trust.

    Args:
        file_or_buffer: a path, or an object with `read`, `tell` and `seek`; the path of a folder that a package was
            unpacked to works, too.
        module_allowed: whether an external module may be imported; by default all may.

    Raises:
        ImportError: the package needs a module that isn't allowed.
        RuntimeError: the file is no package, or is damaged.

    Example:
        >>> PackageImporter("model.pt").load_pickle("model", "model.pkl")  # doctest: +SKIP
    """

    modules: dict[str, ModuleType]

    def __init__(
        self, file_or_buffer: Any, module_allowed: Callable[[str], bool] = lambda module_name: True
    ) -> None:
        self.zip_reader, self.filename = open_records(file_or_buffer)
        self.root = _Node()
        self.modules = {}
        self.extern_modules = self._read_extern()
        for extern_module in self.extern_modules:
            if not module_allowed(extern_module):
                raise ImportError(
                    f"package '{file_or_buffer}' needs the external module '{extern_module}' but that module has been "
                    "disallowed"
                )
            self._node(extern_module.split(".")).is_extern = True
        for name in self.zip_reader.names():
            self._add_file(name)
        self.patched_builtins = builtins.__dict__.copy()
        self.patched_builtins["__import__"] = self.__import__
        self.modules["torch_package_importer"] = self  # type: ignore[assignment]  # what packaged code imports
        self._mangler = PackageMangler()
        self.storage_context: dict[str, Any] = {}
        self.last_map_location: Any = None
        self._objects_of_reduce: dict[Any, Any] = {}

    # ---- what is in it
    def _read_extern(self) -> list[str]:
        if ".data/extern_modules" not in self.zip_reader:
            raise RuntimeError("the archive isn't a package: it has no list of external modules")
        try:
            return self.zip_reader.read(".data/extern_modules").decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise RuntimeError(f"the package's list of external modules is damaged: {error}") from None

    def _node(self, path: list[str]) -> _Node:
        node = self.root
        for part in path:
            node = node.children.setdefault(part, _Node())
        return node

    def _add_file(self, filename: str) -> None:
        *path, last = filename.split("/")
        if path[:1] == [".data"]:
            return
        if not last.endswith(".py"):
            self._node(path)
            return
        stem = last.removesuffix(".py")
        node = self._node(path if stem == "__init__" else [*path, stem])
        if stem == "__init__":
            node.source_file, node.is_package = filename, True
        elif node.source_file is None:
            node.source_file, node.is_package = filename, bool(node.children)

    def _find(self, name: str) -> _Node | None:
        """The node of a module; None if the package has none, an external one below an external one."""
        node = self.root
        for part in name.split("."):
            if node.is_extern:
                return node
            following = node.children.get(part)
            if following is None:
                return None
            node = following
        return node

    def id(self) -> str:
        """The name of this importer, which stands before the names of its modules.

        Returns:
            Such as `<torch_package_0>`.
        """
        return self._mangler.parent_name()

    def file_structure(self, *, include: GlobPattern = "**", exclude: GlobPattern = ()) -> Directory:
        """The files of the package.

        Args:
            include, exclude: patterns of those that count, with `/` between segments.

        Returns:
            A tree.
        """
        return _create_directory_from_file_list(self.filename, self.zip_reader.names(), include, exclude)

    def python_version(self) -> str | None:
        """The version of Python that wrote the package.

        Returns:
            The version, or None if the package doesn't say it.
        """
        path = ".data/python_version"
        return self.zip_reader.read(path).decode("utf-8").strip() if path in self.zip_reader else None

    # ---- data
    def load_binary(self, package: str, resource: str) -> bytes:
        """The bytes of a resource.

        Args:
            package: the package in which it stands.
            resource: its name.

        Returns:
            The bytes.
        """
        return self.zip_reader.read(self._zipfile_path(package, resource))

    def load_text(self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text of a resource.

        Args:
            package: the package in which it stands.
            resource: its name.
            encoding, errors: as for `bytes.decode`.

        Returns:
            The text.
        """
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """An object; modules that it needs are imported. **Executes what the package says.**

        Args:
            package: the package in which it stands.
            resource: its name.
            map_location: where storages go, as for `load`.

        Returns:
            The object.

        Raises:
            UnpicklingError: the pickle is damaged.
        """
        data = self.load_binary(package, resource)
        check_pickle(data)
        unpickler = PackageUnpickler(self, io.BytesIO(data), self._persistent_load)
        before, self.last_map_location = self.last_map_location, map_location
        try:
            return unpickler.load()
        except (EOFError, IndexError, KeyError, UnicodeDecodeError, RecursionError) as error:
            raise pickle.UnpicklingError(f"{package}/{resource} is damaged: {error!r}") from error
        finally:
            self.last_map_location = before
            self._objects_of_reduce = {}

    def _persistent_load(self, identifier: Any) -> Any:
        if not isinstance(identifier, tuple) or not identifier:
            raise pickle.UnpicklingError("the pickle refers to something that the package can't hold")
        if identifier[0] == "storage" and len(identifier) == 5:
            return self._storage(*identifier[1:])
        if identifier[0] == "reduce_package":
            if len(identifier) == 2:
                func, args = identifier[1]
                return func(self, *args)
            reduce_id, func, args = identifier[1:]
            if reduce_id not in self._objects_of_reduce:
                self._objects_of_reduce[reduce_id] = func(self, *args)
            return self._objects_of_reduce[reduce_id]
        raise pickle.UnpicklingError(
            f"Unknown typename for persistent_load, expected 'storage' or 'reduce_package' but got {identifier[0]!r}"
        )

    def _storage(self, kind: Any, key: Any, location: Any, count: Any) -> Any:
        if type(key) is int:
            key = str(key)
        if type(kind) is not StorageType or type(key) is not str or type(location) is not str:
            raise pickle.UnpicklingError("the pickle describes a storage by something else")
        if type(count) is not int or count < 0 or "/" in key:
            raise pickle.UnpicklingError(f"a storage can't have {count!r} elements")
        key = key.removesuffix(".storage")
        nbytes = count * kind.dtype.itemsize
        if key not in self.storage_context:
            record = f".data/{key}.storage"
            if self.zip_reader.size(record) != nbytes:
                raise RuntimeError(
                    f"storage {key} should have {nbytes} bytes, its record has another number: it is damaged"
                )
            self.storage_context[key] = self._read_storage(record, nbytes, location)
        untyped = self.storage_context[key]
        if untyped.nbytes() != nbytes:
            raise pickle.UnpicklingError(f"storage {key} has two sizes")
        return TypedStorage(wrap_storage=untyped, dtype=kind.dtype)

    def _read_storage(self, record: str, nbytes: int, location: str) -> Any:
        storage = UntypedStorage(nbytes)
        if nbytes:
            self.zip_reader.read_into(record, bytes_of(storage))
        if callable(self.last_map_location):
            moved = self.last_map_location(storage, location)
            return restore_location(storage, location) if moved is None else moved
        return restore_location(storage, target_of(self.last_map_location, location))

    # ---- modules
    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        """A module of the package, or an external one that it names. **Executes its code**, the first time.

        Args:
            name: the module's name.
            package: not used; `importlib.import_module` has it.

        Returns:
            The module.

        Raises:
            ModuleNotFoundError: the package has no such module.
        """
        return self._gcd_import(demangle(name) if name.startswith(self.id()) else name)

    def _gcd_import(self, name: str, package: str | None = None, level: int = 0) -> ModuleType:
        check_name(name, package, level)
        if level > 0:
            name = resolve_name(name, str(package), level)
        module = self.modules.get(name)
        if module is not None:
            return module
        if name in self.modules:
            raise ModuleNotFoundError(f"import of {name} halted; None in sys.modules", name=name)
        return self._do_find_and_load(name)

    def _do_find_and_load(self, name: str) -> ModuleType:
        parent, _, last = name.rpartition(".")
        if parent:
            outer = self._gcd_import(parent)
            if name in self.modules:
                return self.modules[name]
            node = self._find(parent)
            if not hasattr(outer, "__path__") and not (node is not None and node.is_extern):
                raise ModuleNotFoundError(f"No module named {name!r}; {parent!r} is not a package", name=name)
        module = self._load_module(name, parent)
        if parent:
            setattr(self.modules[parent], last, module)
        return module

    def _load_module(self, name: str, parent: str) -> ModuleType:
        node = self._find(name)
        if node is not None and node.is_extern:
            module = self.modules[name] = external_module(name)
            return module
        if node is None:
            if name in IMPLICIT_IMPORT_ALLOWLIST or name.partition(".")[0] == "builtins":
                module = self.modules[name] = external_module(name)
                return module
            raise ModuleNotFoundError(
                f"No module named '{name}' in self-contained archive '{self.filename}' and the module is also not in "
                f"the list of allowed external modules: {self.extern_modules}",
                name=name,
            )
        return self._make_module(name, node.source_file, node.is_package, parent)

    def _make_module(self, name: str, filename: str | None, is_package: bool, parent: str) -> ModuleType:
        mangled_filename = self._mangler.mangle(filename) if filename else None
        spec = ModuleSpec(name, self, origin=mangled_filename, is_package=is_package)  # type: ignore[arg-type]
        module = ModuleType(self._mangler.mangle(name))
        names = module.__dict__
        names["__spec__"], names["__loader__"] = spec, self
        names["__file__"], names["__cached__"] = mangled_filename, None
        names["__builtins__"] = self.patched_builtins
        names["__torch_package__"] = True
        spec.name = module.__name__
        names["__package__"] = (
            module.__name__ if is_package else self._mangler.mangle(parent) if parent else ""
        )
        if is_package:
            names["__path__"] = []
        _imported[module.__name__] = self
        self.modules[name] = module
        try:
            if filename is not None:
                assert mangled_filename is not None
                linecache.lazycache(mangled_filename, names)
                exec(self._compile_source(filename, mangled_filename), names)
        except BaseException:
            self.modules.pop(name, None)
            raise
        return self.modules[name]  # the code may have put another one there

    def _compile_source(self, fullpath: str, mangled_filename: str) -> CodeType:
        source = self.zip_reader.read(fullpath)
        return compile(source, mangled_filename, "exec", dont_inherit=True)

    def __import__(
        self,
        name: str,
        globals: dict[str, Any] | None = None,
        locals: dict[str, Any] | None = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> ModuleType:
        package = demangle(calc_package(globals or {})) if level else None
        module = self._gcd_import(name, package, level)
        if fromlist:
            return self._handle_fromlist(module, fromlist)
        if level == 0:
            return self._gcd_import(name.partition(".")[0])
        if not name:
            return module
        cut_off = len(name) - len(name.partition(".")[0])
        own = demangle(module.__name__)
        return self.modules[own[: len(own) - cut_off]]

    def _handle_fromlist(self, module: ModuleType, fromlist: Any) -> ModuleType:
        own = demangle(module.__name__)
        if not hasattr(module, "__path__") or self.modules.get(own) is not module:
            return module
        for item in fromlist:
            if item == "*":
                self._handle_fromlist(module, getattr(module, "__all__", ()))
            elif not hasattr(module, item):
                path = f"{own}.{item}"
                try:
                    self._gcd_import(path)
                except ModuleNotFoundError as error:
                    if error.name == path and self.modules.get(path) is None:
                        continue  # the import statement says that the name isn't there
                    raise
        return module

    # ---- what importlib and inspect ask of a loader
    def get_source(self, module_name: str) -> str:
        """The code of a module.

        Args:
            module_name: its name, with or without the prefix.

        Returns:
            The text.

        Raises:
            ImportError: it has none.
        """
        node = self._find(demangle(module_name))
        if node is None or node.source_file is None:
            raise ImportError(f"{module_name} has no source in the package", name=module_name)
        return str(self.zip_reader.read(node.source_file).decode("utf-8"))

    def get_resource_reader(self, fullname: str) -> Any:
        """What `importlib.resources` reads with.

        Args:
            fullname: the name of a package.

        Returns:
            The reader, or None for what is no package.
        """
        name = demangle(fullname)
        node = self._find(name)
        if node is None or node.is_extern or not node.is_package:
            return None
        return _ResourceReader(self, name)

    def _zipfile_path(self, package: str, resource: str | None = None) -> str:
        path = demangle(package).replace(".", "/")
        if resource is None:
            return path
        if os.path.basename(resource) != resource or resource in ("", ".", ".."):
            raise ValueError(f"{resource!r} must be only a file name")
        return f"{path}/{resource}"

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """The module in which an object is found, and its name there, both without the prefix.

        Args:
            obj: a class or function.
            name: its name, where it is known.

        Returns:
            Both.
        """
        return super().get_name(obj, name)

    @contextmanager
    def set_deserialization_storage_context(self) -> Iterator[None]:
        """Storages that are read inside are shared by the pickles that are."""
        before = self.storage_context
        self.storage_context = {}
        try:
            yield
        finally:
            self.storage_context = before


class _ResourceReader:
    """The resources of a package inside of a package file."""

    def __init__(self, importer: PackageImporter, fullname: str) -> None:
        self.importer = importer
        self.fullname = fullname

    def open_resource(self, resource: str) -> io.BytesIO:
        """A resource as a file.

        Args:
            resource: its name.

        Returns:
            The file.

        Raises:
            FileNotFoundError: there is none.
        """
        if not self.is_resource(resource):
            raise FileNotFoundError(resource)
        return io.BytesIO(self.importer.load_binary(self.fullname, resource))

    def resource_path(self, resource: str) -> str:
        """The path of a resource, which has one only in an unpacked package.

        Args:
            resource: its name.

        Returns:
            The path.

        Raises:
            FileNotFoundError: it has none.
        """
        root = getattr(self.importer.zip_reader, "_root", None)
        if root is None:
            raise FileNotFoundError(resource)
        return str(root / self.importer._zipfile_path(self.fullname, resource))

    def is_resource(self, name: str) -> bool:
        """Whether there is a resource.

        Args:
            name: its name.

        Returns:
            True if there is.
        """
        path = self.importer._zipfile_path(self.fullname, name)
        return path in self.importer.zip_reader

    def contents(self) -> Iterator[str]:
        """The names of what the package holds.

        Returns:
            Files and packages in it.
        """
        prefix = self.importer._zipfile_path(self.fullname) + "/"
        entries: dict[str, None] = {}
        for name in self.importer.zip_reader.names():
            if name.startswith(prefix):
                entries[name[len(prefix) :].partition("/")[0]] = None
        return iter(entries)
