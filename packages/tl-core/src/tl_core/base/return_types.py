"""The named tuples that operators with several results return: `return_types.max` is the type of `max(x, 0)`."""

from __future__ import annotations

from typing import Any

from tl_core import _C

__all__ = _C._named_results()


def __getattr__(name: str) -> Any:
    result_type = _C._named_result(name)
    if result_type is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return result_type


def __dir__() -> list[str]:
    return list(__all__)
