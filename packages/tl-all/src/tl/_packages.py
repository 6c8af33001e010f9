"""Which modules are there to be served. Nothing is imported to find out: only files are looked for."""

import sys
from importlib.machinery import ModuleSpec

from tl import _names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

# The specs of real modules as their own import made them, by name: an alias that is being imported hides them.
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
    """The spec of a real module; None if its package isn't there or has no such module."""
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
    # a module without a spec was made by its package, not by an import
    return spec or ModuleSpec(real, None, is_package=hasattr(sys.modules[real], "__path__"))


def ask_others(
    name: str, path: "Sequence[str] | None", target: "ModuleType | None" = None
) -> ModuleSpec | None:
    """What the finders other than the façade's say of a module."""
    others = (f.find_spec for f in sys.meta_path if hasattr(f, "find_spec") and not hasattr(f, "roots"))
    return next(filter(None, (find_spec(name, path, target) for find_spec in others)), None)


def remember_spec(module: "ModuleType", real: str) -> None:
    """Keeps the true spec of a module before an alias overwrites it."""
    # While another thread loads the same module under another name, the spec on it is that alias's.
    spec = module.__spec__
    if spec is None or spec.name == real or real not in _true_specs:
        _true_specs[real] = spec


def restore_spec(module: "ModuleType", real: str) -> None:
    """Gives a module its true spec back."""
    module.__spec__ = _true_specs[real]


def installed(real: str) -> bool:
    """Whether the package that a module belongs to is there."""
    return find_real(_names.package_of(real)) is not None


def refuse_missing(dotted: str | None) -> None:
    """Raises for a façade name whose package isn't installed."""
    if dotted and not installed(_names.missing_part(dotted)):
        raise MissingPackage(dotted)


def there(dotted: str) -> bool:
    """Whether what the table gives a façade name can be had: its module, or one below it."""
    modules = [_names.missing_part(name).partition(":")[0] for name in (dotted, *_names.below(dotted))]
    return dotted in _names.OWN or any(find_real(module) is not None for module in modules)


def served() -> set[str]:
    """The public names directly under `tl` that the table gives and that are there."""
    return {name for name in _names.TOPS if not name.startswith("_") and there(name)}
