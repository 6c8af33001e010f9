"""Uninitialized-memory fill, `tl.utils.deterministic`: a switch that is read and assigned as an attribute.

>>> import sys
>>> sys.modules[__name__].fill_uninitialized_memory
True
"""

from __future__ import annotations

import sys
from types import ModuleType

from tl_core.settings import determinism

# True: while deterministic algorithms are asked for, memory that nobody has written holds NaN or the largest integer.
fill_uninitialized_memory: bool


class _Module(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        return determinism.fills_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, fill: bool) -> None:
        determinism.set_fills_uninitialized_memory(fill)


sys.modules[__name__].__class__ = _Module
