"""Backend registry: by name, loaders of the packages above the core that it needs at run time.

>>> register("example", lambda: None)
>>> load("example")
True
"""

from __future__ import annotations

from collections.abc import Callable

_loaders: dict[str, Callable[[], object]] = {}


def register(name: str, loader: Callable[[], object]) -> None:
    """Says how the package that provides `name` is loaded when it is first needed."""
    _loaders[name] = loader


def load(name: str) -> bool:
    """Loads the provider of `name`; False if nobody registered one."""
    if name not in _loaders:
        return False
    _loaders[name]()
    return True
