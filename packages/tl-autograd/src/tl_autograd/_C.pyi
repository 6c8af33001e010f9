"""The engine; private to this package."""

from typing import Any

def __getattr__(name: str) -> Any: ...
