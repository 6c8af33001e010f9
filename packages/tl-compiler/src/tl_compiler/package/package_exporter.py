"""Writing packages: code with all that it imports, pickles, texts and bytes."""

from __future__ import annotations

import io
import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tl_autograd.hooks import RemovableHandle

from ._digraph import DiGraph
from ._mangling import demangle
from ._package_pickler import PackagePickler, SavedStorage
from .glob_group import GlobPattern
from .importer import Importer, OrderedImporter, sys_importer
from .module_dependencies import REFUSED_MODULES, ModuleAction, ModuleDependencies, PackagingErrorReason
from .package_records import PackageRecords
from .script_records import ScriptRecords

__all__ = ["EmptyMatchError", "PackageExporter", "PackagingError", "PackagingErrorReason"]

ActionHook = Callable[["PackageExporter", str], None]


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
                if name in REFUSED_MODULES:
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
        self._records = PackageRecords()
        self._scripts = ScriptRecords(self._records)
        self._unique_id = 0
        self._hooks: dict[ModuleAction, dict[int, ActionHook]] = {
            action: RemovableDict() for action in ModuleAction
        }
        self._reduced: dict[int, tuple[Any, Any]] = {}  # by id: the object, and its reduction
        if isinstance(importer, Importer):
            self.importer = importer
        elif isinstance(importer, Sequence):
            self.importer = OrderedImporter(*importer)
        else:
            raise TypeError(
                f"importer must be an Importer or a sequence of them, got {type(importer).__name__}"
            )
        self._modules = ModuleDependencies(self.importer)
        self.dependency_graph, self.patterns = self._modules.graph, self._modules.patterns

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
        self._modules.add_source(module_name, src, is_package, dependencies)

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
        self._modules.add_importable(demangle(module_name), dependencies)

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Has a module taken care of, as the patterns say.

        Args:
            module_name: its name.
            dependencies: whether what it imports is needed, too.
        """
        self._modules.add(module_name, dependencies)

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
        self._modules.add_pickle(f"<{package}.{resource}>", data, dependencies)
        self._records.add(filename, data)

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
        self._records.add(self._filename(package, resource), bytes(binary))

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

    def _reduce_script_module(self, module: Any) -> tuple[Any, tuple[str]]:
        return self._scripts.reduce(module)

    def _saved_storage(self, storage: Any) -> SavedStorage:
        return self._records.add_storage(storage)

    @staticmethod
    def _filename(package: str, resource: str) -> str:
        if os.path.basename(resource) != resource or resource in ("", ".", ".."):
            raise ValueError(f"{resource!r} must be only a file name")
        return f"{demangle(package).replace('.', '/')}/{resource}"

    # ---- patterns
    def intern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules of these names are put into the package, with all that they need.

        Args:
            include: a pattern, or several; see `GlobGroup`.
            exclude: patterns of names that don't count.
            allow_empty: whether it may be that no module fits; else closing raises `EmptyMatchError`.
        """
        self._modules.add_pattern(include, exclude, ModuleAction.INTERN, allow_empty)

    def mock(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules of these names are replaced by stand-ins: what is imported from them raises when it is used.

        Args:
            include: a pattern, or several.
            exclude: patterns of names that don't count.
            allow_empty: whether it may be that no module fits; else closing raises `EmptyMatchError`.
        """
        self._modules.add_pattern(include, exclude, ModuleAction.MOCK, allow_empty)

    def extern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules of these names are imported where the package is loaded, and must be there.

        Args:
            include: a pattern, or several.
            exclude: patterns of names that don't count.
            allow_empty: whether it may be that no module fits; else closing raises `EmptyMatchError`.
        """
        self._modules.add_pattern(include, exclude, ModuleAction.EXTERN, allow_empty)

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """If a module of these names is needed, closing raises `PackagingError`.

        Args:
            include: a pattern, or several.
            exclude: patterns of names that don't count.
        """
        self._modules.add_pattern(include, exclude, ModuleAction.DENY, True)

    # ---- hooks
    def _register(self, action: ModuleAction, hook: ActionHook) -> RemovableHandle:
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
        return self._register(ModuleAction.EXTERN, hook)

    def register_mock_hook(self, hook: ActionHook) -> RemovableHandle:
        """Has a function called with the exporter and the name of each mocked module.

        Args:
            hook: the function.

        Returns:
            A handle, whose `remove` takes it back.
        """
        return self._register(ModuleAction.MOCK, hook)

    def register_intern_hook(self, hook: ActionHook) -> RemovableHandle:
        """Has a function called with the exporter and the name of each module that is put into the package.

        Args:
            hook: the function.

        Returns:
            A handle, whose `remove` takes it back.
        """
        return self._register(ModuleAction.INTERN, hook)

    # ---- looking at it
    def interned_modules(self) -> list[str]:
        """The modules that are put into the package.

        Returns:
            Their names.
        """
        return self._modules.with_action(ModuleAction.INTERN)

    def externed_modules(self) -> list[str]:
        """The external modules.

        Returns:
            Their names.
        """
        return self._modules.with_action(ModuleAction.EXTERN)

    def mocked_modules(self) -> list[str]:
        """The mocked modules.

        Returns:
            Their names.
        """
        return self._modules.with_action(ModuleAction.MOCK)

    def denied_modules(self) -> list[str]:
        """The modules that are needed and denied.

        Returns:
            Their names.
        """
        return self._modules.with_action(ModuleAction.DENY)

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
        self._records.is_closed = True

    def close(self) -> None:
        """Writes the package. Nothing can be added afterwards; as a context, the exporter does it at its end.

        Raises:
            PackagingError: modules are needed that can't be packaged.
            EmptyMatchError: no module fits a pattern that says that one has to.
        """
        if self._records.is_closed:
            return
        if self._modules.has_error():
            raise PackagingError(self.dependency_graph, debug=self.debug)
        pattern = self._modules.empty_pattern()
        if pattern is not None:
            raise EmptyMatchError(
                f"Exporter did not match any modules to {pattern}, which was marked as allow_empty=False"
            )
        self._write_modules()
        self._scripts.write()
        self._records.write(self._target, self._modules.with_action(ModuleAction.EXTERN))

    def _write_modules(self) -> None:
        """Calls the hooks of each module, and adds the code of interned and mocked modules to the records."""
        for name, attrs in list(self.dependency_graph.nodes.items()):
            action = attrs.get("action")
            if attrs.get("is_pickle") or action is None:
                continue
            for hook in list(self._hooks[action].values()):
                hook(self, name)
            if action is ModuleAction.MOCK:
                self._records.add_mock(name, self._modules.is_package(name))
            elif action is ModuleAction.INTERN:
                self._records.add_source(name, attrs["source"], attrs["is_package"])
            elif action is ModuleAction.REPACKAGED_MOCK_MODULE:
                self._records.add_mock_support()


class RemovableDict(dict[int, ActionHook]):
    """Hooks by number, which handles can refer to weakly."""
