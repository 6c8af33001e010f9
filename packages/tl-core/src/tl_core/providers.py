"""What the core asks of packages above it, by name: whoever assembles them registers how to load one.

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
