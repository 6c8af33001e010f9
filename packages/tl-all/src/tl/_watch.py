"""Watchers: functions that are called with modules after their loading."""

from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Watcher = Callable[[ModuleType], None]

# Watchers by the name of a module, or of a package for all its modules.
watchers: "dict[str, Watcher]" = {}

# Watchers of all modules.
everywhere: "list[Watcher]" = []

# Functions that are called with each object that an access adds to a module, and with the module's façade name.
objects: "list[Callable[[Any, str], None]]" = []


def watcher_of(name: str) -> "Watcher | None":
    """The watcher of a module: its own, that of its package, or both."""
    package = name.partition(".")[0]
    own, above = watchers.get(name), watchers.get(package) if package != name else None
    if own is None or above is None:
        return own or above

    def both(module: ModuleType) -> None:
        own(module)
        above(module)

    return both


def watch(spec: ModuleSpec, watcher: "Watcher") -> ModuleSpec:
    """Changes a spec so that its loader calls the watcher. Returns the spec."""
    if spec.loader is not None:
        spec.loader = WatchedLoader(spec.loader, watcher)  # type: ignore[assignment]
    return spec


class WatchedLoader:
    """A loader that calls a watcher after another loader."""

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
