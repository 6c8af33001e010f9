"""Whether libraries that some tools take are installed."""

from __future__ import annotations

import functools
import importlib.util
from types import ModuleType

__all__ = ["dill_available", "import_dill"]


@functools.cache
def dill_available() -> bool:
    """Whether the library `dill`, which pickles functions, can be imported."""
    return importlib.util.find_spec("dill") is not None


@functools.cache
def import_dill() -> ModuleType | None:
    """The library `dill`, or None."""
    return importlib.import_module("dill") if dill_available() else None
