"""Functions that are called with modules when they have been loaded."""

from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Watcher = Callable[[ModuleType], None]

# The name of a module, or of a package for all its modules, and what is called with each that is loaded from then on.
watchers: "dict[str, Watcher]" = {}

# What is called with all of them.
everywhere: "list[Watcher]" = []

# What is called with objects that a module gets when they are asked for, and with the module's façade name.
objects: "list[Callable[[Any, str], None]]" = []


def watcher_of(name: str) -> "Watcher | None":
    """What waits for a module: the function for it, the one for its package, or both."""
    package = name.partition(".")[0]
    own, above = watchers.get(name), watchers.get(package) if package != name else None
    if own is None or above is None:
        return own or above

    def both(module: ModuleType) -> None:
        own(module)
        above(module)

    return both


def watched(spec: ModuleSpec, watcher: "Watcher") -> ModuleSpec:
    """The spec, changed so that the function is called when the module has been loaded."""
    if spec.loader is not None:
        spec.loader = WatchedLoader(spec.loader, watcher)  # type: ignore[assignment]
    return spec


class WatchedLoader:
    """Another loader, and a function called with what it has loaded."""

    def __init__(self, loader: "Any", watcher: "Watcher"):
        self.loader, self.watcher = loader, watcher

    def __getattr__(self, name: str) -> "Any":
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.watcher(module)
        for watcher in everywhere:
            watcher(module)
