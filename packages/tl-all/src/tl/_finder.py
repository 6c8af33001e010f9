"""The finder: every form of `import tl.nn.functional` returns the module `tl_nn.functional` itself.

A module under two names must stay one object through `from … import`, reload, pickles and concurrent threads. So an
alias is imported like any module, but its loader returns the real module instead of a new one.

A finder must not import: up to Python 3.12 it runs under a lock that other threads need to finish their own imports.
The finder only looks for files. The loaders import.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from tl import _grafts, _names, _packages, _plugins, _watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from importlib.metadata import Distribution, DistributionFinder
    from types import CodeType
    from typing import Any


class AliasLoader:
    """Loads a façade name by an import of its real module."""

    def __init__(self, real: str):
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        # From the package down: a module imported together with its package, by two threads, can deadlock.
        parts = self.real.split(".")
        for depth in range(1, len(parts) + 1):
            module = import_module(".".join(parts[:depth]))
        _packages.remember_spec(module, self.real)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # the import machinery has just written the alias's spec over the module's own
        if module.__spec__ is not None:
            _grafts.keep_object(module.__spec__.name)
        _packages.restore_spec(module, self.real)
        _grafts.adopt(_names.package_of(self.real))
        _grafts.list_names(module, _names.facade_of(self.real))

    def get_code(self, fullname: str) -> "CodeType | None":
        """For `python -m`: the code of the real module."""
        return self._real_loader().get_code(self.real)

    def get_source(self, fullname: str) -> str | None:
        return self._real_loader().get_source(self.real)

    def get_filename(self, fullname: str) -> str:
        return self._real_loader().get_filename(self.real)

    def _real_loader(self) -> "Any":
        spec = _packages.find_real(self.real)
        return spec and spec.loader


class NamespaceLoader:
    """Loads the middle of a dotted name that no installed package has, such as `utils` in `utils.data`."""

    def __init__(self, dotted: str):
        self.dotted = dotted
        self.native: ModuleType | None = None

    def create_module(self, spec: ModuleSpec) -> "ModuleType | None":
        """A namespace of native functions, such as `_C._nn`, is the module that tl-core calls, with more names."""
        parent, _, name = spec.name.rpartition(".")
        value = vars(sys.modules[parent]).get(name)
        self.native = value if isinstance(value, ModuleType) else None
        return self.native

    def exec_module(self, module: ModuleType) -> None:
        if module is self.native:
            return
        module.__doc__ = f"The names of `torch.{self.dotted}`, which several packages of tl define."
        _grafts.extend(module, self.dotted)
        _grafts.list_names(module, self.dotted)


class Finder:
    """The first finder in `sys.meta_path`, for every name under its roots.

    `distributions` holds functions that return the distributions for `importlib.metadata`, by name.
    """

    def __init__(self) -> None:
        self.roots = {"tl"}
        self.aliases: dict[str, str] = {}  # names of whole modules that stand for others
        self.distributions: dict[str, Callable[[], Distribution]] = {}
        self.absent: Callable[[str], ModuleSpec | None] | None = None  # asked for modules that aren't there

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, _, dotted = fullname.partition(".")
        if root in self.roots:
            return self._alias(fullname, root, dotted)
        if fullname in self.aliases:
            return alias_spec(fullname, self.aliases[fullname])
        watcher = _watch.watcher_of(fullname)
        if watcher is None:
            return None
        spec = _packages.ask_others(fullname, path, target)
        if spec is None:
            _packages.refuse_missing(_names.facade_of(fullname))
            return None
        return _watch.watch(spec, watcher)

    def find_distributions(self, context: "DistributionFinder.Context") -> "Iterable[Distribution]":
        makers = self.distributions
        return [make() for name, make in makers.items() if context.name in (None, name)]

    def _alias(self, fullname: str, root: str, dotted: str) -> ModuleSpec | None:
        if not dotted or dotted.partition(".")[0] in _names.OWN:
            # the other finders find the modules of `tl` itself; another root is an alias of `tl`
            return None if root == "tl" else alias_spec(fullname, f"tl.{dotted}".rstrip("."))
        own = alias_spec(fullname, _names.module_of(dotted))
        spec = own or third_party(fullname, dotted)
        if spec is None and self.absent is not None and root != "tl":
            spec = self.absent(fullname)
        return spec or bare(fullname, dotted)


def alias_spec(fullname: str, real: str) -> ModuleSpec | None:
    """The spec of a façade name for a real module; None without such a module."""
    real_spec = _packages.find_real(real)
    if real_spec is None:
        return None
    # A loader need not derive from importlib.abc.Loader, whose module is slow to import.
    spec = ModuleSpec(fullname, AliasLoader(real), origin=real_spec.origin)  # type: ignore[arg-type]
    spec.submodule_search_locations = real_spec.submodule_search_locations
    spec.cached = real_spec.cached
    return spec


def third_party(fullname: str, dotted: str) -> ModuleSpec | None:
    """The spec of a plug-in's module at this name; None without one."""
    if dotted in _names.MODULES or dotted.startswith("_") or "._" in dotted:
        return None
    real = _plugins.modules().get(dotted)
    return alias_spec(fullname, real) if real else None


def bare(fullname: str, dotted: str) -> ModuleSpec | None:
    """The spec of a namespace, for a name without a module, if its package or that of a name below it is installed."""
    below = _names.below(dotted)
    owners = [_names.module_of(dotted), *map(_names.missing_part, below)]
    if below and any(map(_packages.is_installed, owners)):
        return ModuleSpec(fullname, NamespaceLoader(dotted), is_package=True)  # type: ignore[arg-type]
    _packages.refuse_missing(dotted)
    reason = _names.unbuilt(dotted)
    if reason is not None:
        raise ModuleNotFoundError(f"No module named {fullname!r}: {reason}", name=fullname)
    return None


finder = Finder()


def install_finder() -> None:
    """Puts the finder first in `sys.meta_path`, once."""
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
