"""The finder: `import tl.nn.functional` gives the module `tl_nn.functional` itself, whichever way it is said.

A module under two names must stay one object through `from … import`, reload, pickles and threads that race for it.
So an alias is imported like any module, but its loader hands out the real one in place of a new one.

Nothing may be imported while a finder is asked: up to Python 3.12 that happens under a lock which other threads need to
finish their own imports. Here, only files are looked for; the loaders import.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

from tl import _names, _plugins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class MissingPackage(ModuleNotFoundError):
    """A name of the façade whose package isn't installed."""

    def __init__(self, dotted: str):
        real = _names.missing_part(dotted)
        dist = _names.distribution_of(real)
        text = f"tl.{dotted} is part of the package {dist}, which is not installed (pip install {dist})"
        super().__init__(text, name=_names.package_of(real))


# The specs of real modules as their own import made them, by name.
_true_specs: dict[str, ModuleSpec | None] = {}


class AliasLoader:
    """Loads a façade name by importing the module it stands for."""

    def __init__(self, real: str):
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        # From the package down: a module imported together with its package, by two threads, can deadlock.
        parts = self.real.split(".")
        for depth in range(1, len(parts) + 1):
            module = import_module(".".join(parts[:depth]))
        self._remember(module)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # the import machinery has just written the alias's spec over the module's own
        module.__spec__ = _true_specs[self.real]
        from tl._grafts import adopt

        adopt(_names.package_of(self.real))

    def _remember(self, module: ModuleType) -> None:
        # While another thread loads the same module under another name, the spec on it is that alias's.
        spec = module.__spec__
        if spec is None or spec.name == self.real or self.real not in _true_specs:
            _true_specs[self.real] = spec

    def _real_loader(self):
        return find_real(self.real).loader

    def get_code(self, fullname: str):
        """For `python -m`: the code of the real module."""
        return self._real_loader().get_code(self.real)

    def get_source(self, fullname: str):
        return self._real_loader().get_source(self.real)

    def get_filename(self, fullname: str):
        return self._real_loader().get_filename(self.real)


class NamespaceLoader:
    """Makes the middle of a dotted name that no installed package answers for, such as `utils` in `utils.data`."""

    def __init__(self, dotted: str):
        self.dotted = dotted

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from tl._grafts import extend

        extend(module, self.dotted)


def find_real(real: str) -> ModuleSpec | None:
    """The spec of a real module, without an import; None if its package isn't there or has no such module."""
    if real in sys.modules:
        return _loaded_spec(real)
    parent = real.rpartition(".")[0]
    if not parent:
        return _ask_others(real, None)
    above = find_real(parent)
    if above is None or above.submodule_search_locations is None:
        return None
    return _ask_others(real, above.submodule_search_locations)


def _loaded_spec(real: str) -> ModuleSpec:
    spec = _true_specs.get(real) or sys.modules[real].__spec__
    # a module without a spec was made by its package, not by an import
    return spec or ModuleSpec(real, None, is_package=hasattr(sys.modules[real], "__path__"))


def _ask_others(real: str, path, target=None) -> ModuleSpec | None:
    others = (f for f in sys.meta_path if f is not finder and hasattr(f, "find_spec"))
    return next(filter(None, (f.find_spec(real, path, target) for f in others)), None)


def installed(real: str) -> bool:
    """Whether the package that a module belongs to is there."""
    return find_real(_names.package_of(real)) is not None


def served() -> set[str]:
    """The public names directly under `tl` that the table gives and whose package is there."""
    public = {name for name in _names.TOPS if not name.startswith("_")}
    return {name for name in public if name in _names.OWN or installed(_names.missing_part(name))}


class Finder:
    """Stands first in `sys.meta_path` and answers for every name under its roots.

    `after` maps the name of a module, or of a package for all its modules, to a function called with each module
    that is loaded under it from then on.
    """

    def __init__(self) -> None:
        self.roots = {"tl"}
        self.after: dict[str, Callable[[ModuleType], None]] = {}

    def find_spec(self, fullname, path=None, target=None):
        root, _, dotted = fullname.partition(".")
        if root in self.roots:
            return self._alias(fullname, root, dotted)
        after = self.after.get(fullname) or self.after.get(root)
        return self._watched(fullname, path, target, after) if after else None

    def find_distributions(self, context):
        """Says that a distribution `torch` is installed, while the alias `torch` is (see `tl.torch`)."""
        if "torch" not in self.roots or context.name not in (None, "torch"):
            return []
        from tl.torch import distribution

        return [distribution()]

    def _alias(self, fullname, root, dotted):
        if not dotted:
            return None if root == "tl" else alias_spec(fullname, "tl")
        if dotted.partition(".")[0] in _names.OWN:
            return None if root == "tl" else alias_spec(fullname, f"tl.{dotted}")
        own = alias_spec(fullname, _names.module_of(dotted))
        return own or third_party(fullname, dotted) or bare(fullname, dotted)

    def _watched(self, fullname, path, target, after):
        spec = _ask_others(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = WatchedLoader(spec.loader, after)
        if spec is None:
            refuse_missing(_names.facade_of(fullname))
        return spec


class WatchedLoader:
    """Another loader, and a function called with what it has loaded."""

    def __init__(self, loader, after):
        self.loader, self.after = loader, after

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.after(module)


def alias_spec(fullname: str, real: str) -> ModuleSpec | None:
    """The spec under which a real module is imported by its façade name; None if there is no such module."""
    found = find_real(real)
    if found is None:
        return None
    # A loader need not derive from importlib.abc.Loader, whose module is slow to import.
    spec = ModuleSpec(fullname, AliasLoader(real), origin=found.origin)  # type: ignore[arg-type]
    spec.submodule_search_locations = found.submodule_search_locations
    spec.cached = found.cached
    return spec


def third_party(fullname: str, dotted: str) -> ModuleSpec | None:
    """The spec of a module that somebody's plug-in puts at this name."""
    if dotted in _names.MODULES or dotted.startswith("_") or "._" in dotted:
        return None
    real = _plugins.modules().get(dotted)
    return alias_spec(fullname, real) if real else None


def bare(fullname: str, dotted: str) -> ModuleSpec | None:
    """For a name without a module: a namespace if its own package or that of a name below it is installed."""
    below = _names.below(dotted)
    if below and any(map(installed, [_names.module_of(dotted), *map(_names.missing_part, below)])):
        return ModuleSpec(fullname, NamespaceLoader(dotted), is_package=True)  # type: ignore[arg-type]
    refuse_missing(dotted)
    return None


def refuse_missing(dotted: str | None) -> None:
    """Raises for a name whose package isn't installed."""
    if dotted and not installed(_names.missing_part(dotted)):
        raise MissingPackage(dotted)


finder = Finder()


def install_finder() -> None:
    """Puts the finder first in `sys.meta_path`, once."""
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
