"""Writing packages: code with all that it imports, pickles, texts and bytes."""

from __future__ import annotations

import importlib.machinery
import io
import linecache
import os
import pickle
import pickletools
import platform
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from tl_autograd.hooks import RemovableHandle
from tl_checkpoint.archive_writer import ArchiveWriter
from tl_checkpoint.atomic import ScratchFile, replacing
from tl_core.memory.files import crc32

from ._digraph import DiGraph
from ._mangling import demangle, is_mangled
from ._package_pickler import PackagePickler, SavedStorage
from .find_file_dependencies import find_files_source_depends_on
from .glob_group import GlobGroup, GlobPattern
from .importer import Importer, OrderedImporter, sys_importer

__all__ = ["EmptyMatchError", "PackageExporter", "PackagingError", "PackagingErrorReason"]

ActionHook = Callable[["PackageExporter", str], None]

# Part of the standard library that has too much of the machine in it to be taken from where a package is loaded.
_DISALLOWED_MODULES = ("sys", "io")
# The library: what loads a package has it.
_LIBRARY = ("torch", "tl")
_VERSION = b"6\n"


class _ModuleProviderAction(Enum):
    """What is done about a module."""

    INTERN = 1
    EXTERN = 2
    MOCK = 3
    DENY = 4
    REPACKAGED_MOCK_MODULE = 5  # the one that mocked modules use, in a package that is packaged again
    SKIP = 6


class PackagingErrorReason(Enum):
    """Why a module can't be packaged."""

    IS_EXTENSION_MODULE = "Module is a C extension module. torch.package supports Python modules only."
    NO_DUNDER_FILE = "Module had no __file__ defined."
    SOURCE_FILE_NOT_FOUND = "Module had a __file__, but we could not find it in your filesystem."
    DEPENDENCY_RESOLUTION_FAILED = "Dependency resolution failed."
    NO_ACTION = "Module did not match against any action pattern. Extern, mock, or intern it."
    DENIED = "Module was denied by a pattern."
    MOCKED_BUT_STILL_USED = "Module was mocked out, but a pickled object needs it. Intern or extern it."

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}>"


@dataclass
class _PatternInfo:
    """What is done about modules that fit a pattern."""

    action: _ModuleProviderAction
    allow_empty: bool
    was_matched: bool = False


class EmptyMatchError(Exception):
    """No module fit a pattern that was given with `allow_empty=False`."""


class PackagingError(Exception):
    """A package can't be written: names every module that is in the way, and why.

    Args:
        dependency_graph: the modules and what they depend on.
        debug: whether the message has the ways on which they are reached.
    """

    def __init__(self, dependency_graph: DiGraph, debug: bool = False) -> None:
        broken: dict[PackagingErrorReason, list[str]] = defaultdict(list)
        for name, attrs in dependency_graph.nodes.items():
            if attrs.get("error") is not None:
                broken[attrs["error"]].append(name)
        lines = [""]
        for reason, names in broken.items():
            lines.append(f"* {reason.value}")
            for name in names:
                lines.append(f"    {name}")
                if name in _DISALLOWED_MODULES:
                    lines.append(
                        f"      Note: {name} is of the standard library, but is not taken from where a package"
                    )
                    lines.append("      is loaded unless it is named as external")
                context = dependency_graph.nodes[name].get("error_context")
                if context is not None:
                    lines.append(f"      Context: {context}")
                if debug:
                    way = " -> ".join(map(str, dependency_graph.first_path(name)))
                    lines.append(f"      A path to {name}: {way}")
        if not debug:
            hint = "Set debug=True when invoking PackageExporter for a visualization of where broken modules are "
            lines += ["", f"{hint}coming from!"]
        super().__init__("\n".join(lines) + "\n")
        self.dependency_graph = dependency_graph


class PackageExporter:
    """Writes a package.

    Of each module that saved code and objects need, the exporter must know what to do: `intern` puts its code into
    the package, `extern` leaves it to where the package is loaded, `mock` puts a stand-in in its place, `deny`
    refuses. The first pattern that fits decides. The standard library and this library are external by themselves.

    Args:
        f: a path, or an object with `write`.
        importer: where modules are found, one or several in order.
        debug: whether errors say on which way a module is reached.

    Example:
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("work", "import json, math")
        >>> exporter.externed_modules()
        ['json', 'math']
    """

    importer: Importer

    def __init__(
        self, f: Any, importer: Importer | Sequence[Importer] = sys_importer, debug: bool = False
    ) -> None:
        self.debug = debug
        self._target = f
        if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "write"):
            raise TypeError(f"a package is written to a path or an object with write, got {type(f).__name__}")
        self._records: dict[str, bytes] = {}
        self._storages: dict[Any, SavedStorage] = {}
        self._is_closed = False
        self._unique_id = 0
        self.dependency_graph = DiGraph()
        self.patterns: dict[GlobGroup, _PatternInfo] = {}
        self._hooks: dict[_ModuleProviderAction, dict[int, ActionHook]] = {
            action: RemovableDict() for action in _ModuleProviderAction
        }
        self._reduced: dict[
            int, tuple[Any, Any]
        ] = {}  # by id: the object, which is kept alive, and what stands for it
        if isinstance(importer, Importer):
            self.importer = importer
        elif isinstance(importer, Sequence):
            self.importer = OrderedImporter(*importer)
        else:
            raise TypeError(
                f"importer must be an Importer or a sequence of them, got {type(importer).__name__}"
            )

    # ---- code
    def save_source_file(self, module_name: str, file_or_directory: str, dependencies: bool = True) -> None:
        """Saves a source file as a module, or all those of a folder.

        Args:
            module_name: the name of the module.
            file_or_directory: the path.
            dependencies: whether what it imports is needed, too.
        """
        path = Path(file_or_directory)
        if not path.is_dir():
            is_package = path.name == "__init__.py"
            self.save_source_string(module_name, path.read_text(encoding="utf-8"), is_package, dependencies)
            return
        sources = []
        for file in sorted(path.rglob("*.py")):
            parts = [module_name, *file.relative_to(path).with_suffix("").parts]
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            sources.append((name, file.read_text(encoding="utf-8"), is_package))
        for name, text, is_package in sources:
            self.save_source_string(name, text, is_package, dependencies)

    def get_unique_id(self) -> str:
        """A number that is given only once for this package.

        Returns:
            The number, as text.
        """
        identifier = str(self._unique_id)
        self._unique_id += 1
        return identifier

    def save_source_string(
        self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True
    ) -> None:
        """Saves a text as the code of a module.

        Args:
            module_name: the name of the module.
            src: the code.
            is_package: whether the module is a package, which has modules in it.
            dependencies: whether what it imports is needed, too.
        """
        self.dependency_graph.add_node(
            module_name, source=src, is_package=is_package, provided=True, action=_ModuleProviderAction.INTERN
        )
        if dependencies:
            for needed in self._get_dependencies(src, module_name, is_package):
                self.dependency_graph.add_edge(module_name, needed)
                self.add_dependency(needed)

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Saves the code of a module that can be imported.

        Args:
            module_name: its name.
            dependencies: whether what it imports is needed, too.

        Raises:
            ModuleNotFoundError: it can't be imported.
        """
        if not isinstance(module_name, str):
            raise TypeError("save_module() expects a string input, did you perhaps mean to pass `__name__`?")
        self._intern_module(demangle(module_name), dependencies)

    def _intern_module(self, module_name: str, dependencies: bool) -> None:
        module = self.importer.import_module(module_name)
        is_package = hasattr(module, "__path__")
        source = _source_of(module)
        if source is None:
            reason, context = _why_no_source(module)
            self.dependency_graph.add_node(
                module_name,
                action=_ModuleProviderAction.INTERN,
                is_package=is_package,
                error=reason,
                error_context=context,
                provided=True,
            )
            return
        self.save_source_string(module_name, source, is_package, dependencies)

    def _module_exists(self, module_name: str) -> bool:
        try:
            self.importer.import_module(module_name)
        except Exception:  # whatever its code raises, it is no module that can be packaged
            return False
        return True

    def _get_dependencies(self, src: str, module_name: str, is_package: bool) -> list[str]:
        package = module_name if is_package else module_name.rpartition(".")[0]
        try:
            imports = find_files_source_depends_on(src, package)
        except (ImportError, SyntaxError, ValueError, RecursionError) as error:
            self.dependency_graph.add_node(
                module_name,
                error=PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED,
                error_context=str(error),
            )
            return []
        needed: dict[str, None] = {}
        for module, name in imports:
            if name is not None and self._module_exists(f"{module}.{name}"):
                needed[f"{module}.{name}"] = None
            elif self._module_exists(module):
                needed[module] = None
        return list(needed)

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Has a module taken care of, as the patterns say.

        Args:
            module_name: its name.
            dependencies: whether what it imports is needed, too.
        """
        if module_name in self.dependency_graph and self.dependency_graph.nodes[module_name].get("provided"):
            return
        add = self.dependency_graph.add_node
        if module_name == "torch_package_importer":
            add(module_name, action=_ModuleProviderAction.SKIP, provided=True)
            return
        if module_name == "_mock":
            add(module_name, action=_ModuleProviderAction.REPACKAGED_MOCK_MODULE, provided=True)
            return
        if self._can_implicitly_extern(module_name):
            add(module_name, action=_ModuleProviderAction.EXTERN, provided=True)
            return
        for pattern, info in self.patterns.items():
            if not pattern.matches(module_name):
                continue
            info.was_matched = True
            add(module_name, action=info.action, provided=True)
            if info.action is _ModuleProviderAction.DENY:
                add(module_name, error=PackagingErrorReason.DENIED)
            if info.action is _ModuleProviderAction.INTERN:
                self._intern_module(module_name, dependencies)
            return
        add(module_name, error=PackagingErrorReason.NO_ACTION)

    @staticmethod
    def _can_implicitly_extern(module_name: str) -> bool:
        top = module_name.partition(".")[0]
        if top in _LIBRARY or top.startswith("tl_"):
            return True
        return top not in _DISALLOWED_MODULES and (top in sys.stdlib_module_names or top == "builtins")

    # ---- data
    def save_pickle(
        self, package: str, resource: str, obj: Any, dependencies: bool = True, pickle_protocol: int = 3
    ) -> None:
        """Pickles an object into the package.

        Args:
            package: the package in which it stands.
            resource: its name, unique in the package.
            obj: the object. If its class has a method `__reduce_package__`, that is called with the exporter and
                returns a function and arguments; loading calls the function with the importer and the arguments.
            dependencies: whether the modules of the classes in it are needed, too.
            pickle_protocol: 2 to 5.

        Raises:
            PicklingError: it, or something in it, can't be pickled.
        """
        if pickle_protocol not in (2, 3, 4, 5):
            raise ValueError(f"pickle_protocol must be 2 to 5, got {pickle_protocol}")
        filename = self._filename(package, resource)
        out = io.BytesIO()
        PackagePickler(self.importer, out, pickle_protocol, self).dump(obj)
        data = out.getvalue()
        node = f"<{package}.{resource}>"
        self.dependency_graph.add_node(
            node, action=_ModuleProviderAction.INTERN, provided=True, is_pickle=True
        )
        if dependencies:
            for module in _modules_of(data):
                self.dependency_graph.add_edge(node, module)
                self.add_dependency(module)
                if self.dependency_graph.nodes[module].get("action") is _ModuleProviderAction.MOCK:
                    self.dependency_graph.add_node(module, error=PackagingErrorReason.MOCKED_BUT_STILL_USED)
        self._write(filename, data)

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Saves a text.

        Args:
            package: the package in which it stands.
            resource: its name.
            text: the text.
        """
        self.save_binary(package, resource, text.encode("utf-8"))

    def save_binary(self, package: str, resource: str, binary: bytes) -> None:
        """Saves bytes.

        Args:
            package: the package in which they stand.
            resource: their name.
            binary: the bytes.
        """
        self._write(self._filename(package, resource), bytes(binary))

    def _persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, type) or not hasattr(obj, "__reduce_package__"):
            return None
        if id(obj) not in self._reduced:
            reduced = obj.__reduce_package__(self)
            if not isinstance(reduced, tuple) or len(reduced) != 2:
                raise pickle.PicklingError(
                    f"{type(obj).__name__}.__reduce_package__ must return a function and arguments"
                )
            self._reduced[id(obj)] = obj, ("reduce_package", len(self._reduced), *reduced)
        return self._reduced[id(obj)][1]

    def _saved_storage(self, storage: Any) -> SavedStorage:
        if storage not in self._storages:
            self._storages[storage] = SavedStorage(str(len(self._storages)), storage)
        return self._storages[storage]

    @staticmethod
    def _filename(package: str, resource: str) -> str:
        if os.path.basename(resource) != resource or resource in ("", ".", ".."):
            raise ValueError(f"{resource!r} must be only a file name")
        return f"{demangle(package).replace('.', '/')}/{resource}"

    def _write(self, filename: str, data: bytes) -> None:
        if is_mangled(filename):
            raise AssertionError(f"{filename} is the name of a file of another package")
        if self._is_closed:
            raise RuntimeError("the package has been written already: nothing can be added")
        self._records[filename] = data

    # ---- patterns
    def _add_pattern(
        self, include: GlobPattern, exclude: GlobPattern, action: _ModuleProviderAction, allow_empty: bool
    ) -> None:
        self.patterns[GlobGroup(include, exclude=exclude)] = _PatternInfo(action, allow_empty)

    def intern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules of these names are put into the package, with all that they need.

        Args:
            include: a pattern, or several; see `GlobGroup`.
            exclude: patterns of names that don't count.
            allow_empty: whether it may be that no module fits; else closing raises `EmptyMatchError`.
        """
        self._add_pattern(include, exclude, _ModuleProviderAction.INTERN, allow_empty)

    def mock(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules of these names are replaced by stand-ins: what is imported from them raises when it is used.

        Args:
            include: a pattern, or several.
            exclude: patterns of names that don't count.
            allow_empty: whether it may be that no module fits; else closing raises `EmptyMatchError`.
        """
        self._add_pattern(include, exclude, _ModuleProviderAction.MOCK, allow_empty)

    def extern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules of these names are imported where the package is loaded, and must be there.

        Args:
            include: a pattern, or several.
            exclude: patterns of names that don't count.
            allow_empty: whether it may be that no module fits; else closing raises `EmptyMatchError`.
        """
        self._add_pattern(include, exclude, _ModuleProviderAction.EXTERN, allow_empty)

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """If a module of these names is needed, closing raises `PackagingError`.

        Args:
            include: a pattern, or several.
            exclude: patterns of names that don't count.
        """
        self._add_pattern(include, exclude, _ModuleProviderAction.DENY, True)

    # ---- hooks
    def _register(self, action: _ModuleProviderAction, hook: ActionHook) -> RemovableHandle:
        handle = RemovableHandle(self._hooks[action])
        self._hooks[action][handle.id] = hook
        return handle

    def register_extern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Has a function called with the exporter and the name of each external module.

        Args:
            hook: the function.

        Returns:
            A handle, whose `remove` takes it back.
        """
        return self._register(_ModuleProviderAction.EXTERN, hook)

    def register_mock_hook(self, hook: ActionHook) -> RemovableHandle:
        """Has a function called with the exporter and the name of each mocked module.

        Args:
            hook: the function.

        Returns:
            A handle, whose `remove` takes it back.
        """
        return self._register(_ModuleProviderAction.MOCK, hook)

    def register_intern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Has a function called with the exporter and the name of each module that is put into the package.

        Args:
            hook: the function.

        Returns:
            A handle, whose `remove` takes it back.
        """
        return self._register(_ModuleProviderAction.INTERN, hook)

    # ---- looking at it
    def _nodes_with_action_type(self, action: _ModuleProviderAction) -> list[str]:
        return [
            name
            for name, attrs in self.dependency_graph.nodes.items()
            if attrs.get("action") is action and not attrs.get("is_pickle")
        ]

    def interned_modules(self) -> list[str]:
        """The modules that are put into the package.

        Returns:
            Their names.
        """
        return self._nodes_with_action_type(_ModuleProviderAction.INTERN)

    def externed_modules(self) -> list[str]:
        """The external modules.

        Returns:
            Their names.
        """
        return self._nodes_with_action_type(_ModuleProviderAction.EXTERN)

    def mocked_modules(self) -> list[str]:
        """The mocked modules.

        Returns:
            Their names.
        """
        return self._nodes_with_action_type(_ModuleProviderAction.MOCK)

    def denied_modules(self) -> list[str]:
        """The modules that are needed and denied.

        Returns:
            Their names.
        """
        return self._nodes_with_action_type(_ModuleProviderAction.DENY)

    def get_rdeps(self, module_name: str) -> list[str]:
        """What needs a module.

        Args:
            module_name: the module.

        Returns:
            The names of modules and pickles.
        """
        if module_name not in self.dependency_graph:
            return []
        return list(self.dependency_graph.predecessors(module_name))

    def all_paths(self, src: str, dst: str) -> str:
        """All ways on which a module needs another one, in the language of Graphviz.

        Args:
            src, dst: the modules.

        Returns:
            The text.
        """
        return self.dependency_graph.all_paths(src, dst)

    def dependency_graph_string(self) -> str:
        """What needs what, in the language of Graphviz.

        Returns:
            The text.
        """
        return self.dependency_graph.to_dot()

    # ---- writing it
    def __enter__(self) -> PackageExporter:
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if exc_type is None:
            self.close()
        self._is_closed = True

    def close(self) -> None:
        """Writes the package. Nothing can be added afterwards; as a context, the exporter does it at its end.

        Raises:
            PackagingError: modules are needed that can't be packaged.
            EmptyMatchError: no module fits a pattern that says that one has to.
        """
        if self._is_closed:
            return
        self._execute_dependency_graph()
        self._records[".data/python_version"] = platform.python_version().encode()
        self._records[".data/version"] = _VERSION
        self._records["byteorder"] = sys.byteorder.encode()
        self._is_closed = True
        if isinstance(self._target, (str, os.PathLike)):
            name = os.path.splitext(os.path.basename(os.fspath(self._target)))[0] or "archive"
            with replacing(self._target) as file:
                self._write_archive(file, name)
        else:
            self._write_archive(self._target.write, "archive")

    def _write_archive(self, output: ScratchFile | Callable[[Any], Any], name: str) -> None:
        archive = ArchiveWriter(output, name)
        total = 0
        for record in sorted(self._records):
            archive.add(record, self._records[record])
            total = crc32(self._records[record], total)
        for storage in self._storages.values():
            archive.add(f".data/{storage.key}.storage", storage.data())
        archive.add(".data/serialization_id", f"{total:020d}{len(self._records):020d}".encode())
        archive.close()

    def _execute_dependency_graph(self) -> None:
        nodes = self.dependency_graph.nodes
        if any(attrs.get("error") is not None for attrs in nodes.values()):
            raise PackagingError(self.dependency_graph, debug=self.debug)
        for pattern, info in self.patterns.items():
            if not info.allow_empty and not info.was_matched:
                raise EmptyMatchError(
                    f"Exporter did not match any modules to {pattern}, which was marked as allow_empty=False"
                )
        external: list[str] = []
        for name, attrs in list(nodes.items()):
            action = attrs.get("action")
            if attrs.get("is_pickle") or action is None:
                continue
            for hook in list(self._hooks[action].values()):
                hook(self, name)
            if action is _ModuleProviderAction.EXTERN:
                external.append(name)
            elif action is _ModuleProviderAction.MOCK:
                self._write_mock_file()
                text = "from _mock import MockedObject\n\n\ndef __getattr__(attr: str):\n"
                text += "    return MockedObject(__name__ + '.' + attr, _suppress_err=True)\n"
                is_package = (
                    hasattr(self.importer.import_module(name), "__path__")
                    if self._module_exists(name)
                    else False
                )
                self._write_source(name, text, is_package)
            elif action is _ModuleProviderAction.INTERN:
                self._write_source(name, attrs["source"], attrs["is_package"])
            elif action is _ModuleProviderAction.REPACKAGED_MOCK_MODULE:
                self._write_mock_file()
        self._records[".data/extern_modules"] = ("\n".join(external) + "\n" if external else "").encode(
            "utf-8"
        )

    def _write_mock_file(self) -> None:
        if "_mock.py" not in self._records:
            self._write("_mock.py", (Path(__file__).parent / "_mock.py").read_bytes())

    def _write_source(self, name: str, text: str, is_package: bool) -> None:
        path = name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
        self._write(path, text.encode("utf-8"))


class RemovableDict(dict[int, ActionHook]):
    """Hooks by number, which handles can refer to weakly."""


def _source_of(module: ModuleType) -> str | None:
    """The code of a module; None if it has none."""
    loader = getattr(module, "__loader__", None)
    name = getattr(module, "__name__", "")
    filename = getattr(module, "__file__", None)
    if loader is not None and hasattr(loader, "get_source"):
        try:
            text = loader.get_source(name)
        except ImportError:
            text = None
        if text is not None:
            return str(text)
    if filename is None:
        return None
    lines = linecache.getlines(str(filename), module.__dict__)
    return (
        "".join(lines) if lines or (str(filename).endswith(".py") and os.path.exists(str(filename))) else None
    )


def _why_no_source(module: ModuleType) -> tuple[PackagingErrorReason, str | None]:
    filename = getattr(module, "__file__", None)
    if filename is None:
        return PackagingErrorReason.NO_DUNDER_FILE, None
    if str(filename).endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
        return PackagingErrorReason.IS_EXTENSION_MODULE, None
    return PackagingErrorReason.SOURCE_FILE_NOT_FOUND, f"filename: {filename}"


def _modules_of(data: bytes) -> Iterator[str]:
    """The modules that a pickle names, each once."""
    texts: list[str] = []
    memo: dict[int, Any] = {}
    modules: dict[str, None] = {}
    last: Any = None
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            modules[str(argument).partition(" ")[0]] = None
        elif opcode.name == "STACK_GLOBAL":
            modules[texts[-2]] = None
        elif isinstance(argument, str) and "UNICODE" in opcode.name:
            texts.append(argument)
            last = argument
            continue
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = last
            continue
        elif opcode.name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[int(argument or 0)] = last
            continue
        elif opcode.name in ("BINGET", "LONG_BINGET", "GET"):
            last = memo.get(int(argument or 0))
            if isinstance(last, str):
                texts.append(last)
            continue
        last = None
    return iter(modules)
