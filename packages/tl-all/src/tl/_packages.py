"""The modules that the façade can serve. The search looks for files and imports no module."""

import sys
from importlib.machinery import ModuleSpec

from tl import _names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

# The specs of real modules from their own imports, by name. The import of an alias overwrites `__spec__`.
_true_specs: dict[str, ModuleSpec | None] = {}


class MissingPackage(ModuleNotFoundError):
    """A name of the façade whose package isn't installed."""

    def __init__(self, dotted: str):
        real = _names.missing_part(dotted)
        dist = _names.distribution_of(real)
        planned = _names.package_of(real) in _names.PLANNED
        lacks = "does not exist yet" if planned else f"is not installed (pip install {dist})"
        super().__init__(
            f"tl.{dotted} is part of the package {dist}, which {lacks}", name=_names.package_of(real)
        )


def find_real(real: str) -> ModuleSpec | None:
    """The spec of a real module; None if its package is missing or has no such module."""
    if real in sys.modules:
        return _loaded_spec(real)
    parent = real.rpartition(".")[0]
    if not parent:
        return ask_others(real, None)
    above = find_real(parent)
    if above is None or above.submodule_search_locations is None:
        return None
    return ask_others(real, above.submodule_search_locations)


def _loaded_spec(real: str) -> ModuleSpec:
    spec = _true_specs.get(real) or sys.modules[real].__spec__
    # A module without a spec comes from its package, not from an import.
    return spec or ModuleSpec(real, None, is_package=hasattr(sys.modules[real], "__path__"))


def ask_others(
    name: str, path: "Sequence[str] | None", target: "ModuleType | None" = None
) -> ModuleSpec | None:
    """The spec of a module from the finders other than the façade's."""
    finders = (f.find_spec for f in sys.meta_path if hasattr(f, "find_spec") and not hasattr(f, "roots"))
    return next(filter(None, (find_spec(name, path, target) for find_spec in finders)), None)


def remember_spec(module: "ModuleType", real: str) -> None:
    """Stores the true spec of a module before an alias overwrites it."""
    # While another thread loads the same module under another name, the spec on it is that alias's.
    spec = module.__spec__
    if spec is None or spec.name == real or real not in _true_specs:
        _true_specs[real] = spec


def restore_spec(module: "ModuleType", real: str) -> None:
    """Restores the true spec of a module."""
    module.__spec__ = _true_specs[real]


def is_installed(real: str) -> bool:
    """Whether the package of a module is installed."""
    return find_real(_names.package_of(real)) is not None


def refuse_missing(dotted: str | None) -> None:
    """Raises for a façade name whose package isn't installed."""
    if dotted and not is_installed(_names.missing_part(dotted)):
        raise MissingPackage(dotted)


def there(dotted: str) -> bool:
    """Whether the module of a façade name in the table, or a module below it, is available."""
    modules = [_names.missing_part(name).partition(":")[0] for name in (dotted, *_names.below(dotted))]
    return dotted in _names.OWN or any(find_real(module) is not None for module in modules)


def public_names() -> set[str]:
    """The available public names directly under `tl`."""
    return {name for name in _names.TOPS if not name.startswith("_") and there(name)}
