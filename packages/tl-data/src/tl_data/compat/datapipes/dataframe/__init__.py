"""Data frames in pipes, which trace operations on columns, are absent: PyTorch never finished them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


def missing(module: str) -> Callable[[str], NoReturn]:
    """A module's `__getattr__` whose error names the alternative."""

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(
            f"{module} has no {name!r}: data frames in pipes are left out; tl_data.sources.Table reads columns"
        )

    return __getattr__


__getattr__ = missing(__name__)
