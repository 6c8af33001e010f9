"""The modules that a package needs: what each one imports, and the action that the patterns choose for it."""

from __future__ import annotations

import importlib.machinery
import linecache
import os
import pickletools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any

from ._digraph import DiGraph
from .find_file_dependencies import find_files_source_depends_on
from .glob_group import GlobGroup, GlobPattern
from .importer import Importer

__all__ = ["REFUSED_MODULES", "ModuleAction", "ModuleDependencies", "PackagingErrorReason", "Pattern"]

# Modules of the standard library whose state belongs to the machine. A pattern must name them as external.
REFUSED_MODULES = ("sys", "io")
# The library itself, which a process that loads a package has.
_LIBRARY = ("torch", "tl")


class ModuleAction(Enum):
    """The treatment of a module."""

    INTERN = 1
    EXTERN = 2
    MOCK = 3
    DENY = 4
    REPACKAGED_MOCK_MODULE = 5  # the module of mocked modules, in a package that is packaged again
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
class Pattern:
    """The action of a pattern of names.

    Args:
        action: the action.
        allow_empty: whether no module has to match.
        was_matched: whether a module matched.
    """

    action: ModuleAction
    allow_empty: bool
    was_matched: bool = False


class ModuleDependencies:
    """The graph of a package's modules and pickles, and the patterns that choose an action for each module.

    Args:
        importer: finds the modules.
    """

    def __init__(self, importer: Importer) -> None:
        self.importer = importer
        self.graph = DiGraph()
        self.patterns: dict[GlobGroup, Pattern] = {}

    # ---- modules
    def add_source(self, name: str, source: str, is_package: bool, dependencies: bool) -> None:
        """Adds a module with its code.

        Args:
            name: the name of the module.
            source: the code.
            is_package: whether the module contains modules.
            dependencies: whether the imported modules are added, too.
        """
        self.graph.add_node(
            name, source=source, is_package=is_package, provided=True, action=ModuleAction.INTERN
        )
        if dependencies:
            for module in self._imports_of(source, name, is_package):
                self.graph.add_edge(name, module)
                self.add(module)

    def add_importable(self, name: str, dependencies: bool) -> None:
        """Adds a module whose code the importer finds.

        Args:
            name: the name of the module.
            dependencies: whether the imported modules are added, too.

        Raises:
            ModuleNotFoundError: the importer doesn't find the module.
        """
        module = self.importer.import_module(name)
        is_package = hasattr(module, "__path__")
        source = _source_of(module)
        if source is not None:
            self.add_source(name, source, is_package, dependencies)
            return
        reason, context = _why_no_source(module)
        self.graph.add_node(
            name,
            action=ModuleAction.INTERN,
            is_package=is_package,
            error=reason,
            error_context=context,
            provided=True,
        )

    def add(self, name: str, dependencies: bool = True) -> None:
        """Adds a module with the action that the patterns choose.

        Args:
            name: the name of the module.
            dependencies: whether the modules that it imports are added, too.
        """
        if name in self.graph and self.graph.nodes[name].get("provided"):
            return
        add = self.graph.add_node
        if name == "torch_package_importer":
            add(name, action=ModuleAction.SKIP, provided=True)
            return
        if name == "_mock":
            add(name, action=ModuleAction.REPACKAGED_MOCK_MODULE, provided=True)
            return
        if is_external(name):
            add(name, action=ModuleAction.EXTERN, provided=True)
            return
        for group, pattern in self.patterns.items():
            if not group.matches(name):
                continue
            pattern.was_matched = True
            add(name, action=pattern.action, provided=True)
            if pattern.action is ModuleAction.DENY:
                add(name, error=PackagingErrorReason.DENIED)
            if pattern.action is ModuleAction.INTERN:
                self.add_importable(name, dependencies)
            return
        add(name, error=PackagingErrorReason.NO_ACTION)

    def add_pickle(self, node: str, data: bytes, dependencies: bool) -> None:
        """Adds a pickle.

        Args:
            node: the name of its node.
            data: the pickle.
            dependencies: whether the modules of its classes are added, too.
        """
        self.graph.add_node(node, action=ModuleAction.INTERN, provided=True, is_pickle=True)
        for module in _modules_of(data) if dependencies else ():
            self.graph.add_edge(node, module)
            self.add(module)
            if self.graph.nodes[module].get("action") is ModuleAction.MOCK:
                self.graph.add_node(module, error=PackagingErrorReason.MOCKED_BUT_STILL_USED)

    def add_pattern(
        self, include: GlobPattern, exclude: GlobPattern, action: ModuleAction, allow_empty: bool
    ) -> None:
        """Adds a pattern. The first pattern that matches a module decides.

        Args:
            include: the names.
            exclude: exceptions.
            action: the action.
            allow_empty: whether no module has to match.
        """
        self.patterns[GlobGroup(include, exclude=exclude)] = Pattern(action, allow_empty)

    # ---- facts
    def with_action(self, action: ModuleAction) -> list[str]:
        """The names of the modules of an action.

        Args:
            action: the action.
        """
        return [
            name
            for name, attrs in self.graph.nodes.items()
            if attrs.get("action") is action and not attrs.get("is_pickle")
        ]

    def has_error(self) -> bool:
        """Whether a module can't be packaged."""
        return any(attrs.get("error") is not None for attrs in self.graph.nodes.values())

    def empty_pattern(self) -> GlobGroup | None:
        """The first pattern that has to match a module and matches no module; None if there is no such pattern."""
        return next(
            (
                g
                for g, pattern in self.patterns.items()
                if not pattern.allow_empty and not pattern.was_matched
            ),
            None,
        )

    def is_package(self, name: str) -> bool:
        """Whether the importer finds a module that contains modules.

        Args:
            name: the name of the module.
        """
        return self._exists(name) and hasattr(self.importer.import_module(name), "__path__")

    def _exists(self, name: str) -> bool:
        try:
            self.importer.import_module(name)
        except Exception:  # a module whose code raises can't be packaged
            return False
        return True

    def _imports_of(self, source: str, name: str, is_package: bool) -> list[str]:
        """The modules that a module's code imports."""
        package = name if is_package else name.rpartition(".")[0]
        try:
            imports = find_files_source_depends_on(source, package)
        except (ImportError, SyntaxError, ValueError, RecursionError) as error:
            self.graph.add_node(
                name,
                error=PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED,
                error_context=str(error),
            )
            return []
        modules: dict[str, None] = {}
        for module, attribute in imports:
            if attribute is not None and self._exists(f"{module}.{attribute}"):
                modules[f"{module}.{attribute}"] = None
            elif self._exists(module):
                modules[module] = None
        return list(modules)


def is_external(name: str) -> bool:
    """Whether a module is external without a pattern: a module of the library or of the standard library.

    Args:
        name: the name of the module.

    Example:
        >>> is_external("math"), is_external("torch.nn"), is_external("numpy")
        (True, True, False)
    """
    top = name.partition(".")[0]
    if top in _LIBRARY or top.startswith("tl_"):
        return True
    return top not in REFUSED_MODULES and (top in sys.stdlib_module_names or top == "builtins")


def _source_of(module: ModuleType) -> str | None:
    """The code of a module; None if it has none."""
    loader = getattr(module, "__loader__", None)
    name = getattr(module, "__name__", "")
    filename = getattr(module, "__file__", None)
    if loader is not None and hasattr(loader, "get_source"):
        try:
            text = loader.get_source(name)
        except ImportError:  # the loader has no code: the file may
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
