"""Operators that take functions: branches, loops, scans."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["load_all"]

_MODULES = {
    "autograd_function_apply": "autograd_function",
    "tag_activation_checkpoint": "activation_checkpoint",
    "associative_scan": "loops",
    "cond": "cond",
    "flex_attention": "flex_attention",
    "flex_attention_backward": "flex_attention",
    "foreach_map": "foreach_map",
    "hints_wrapper": "hints_wrap",
    "invoke_subgraph": "invoke_subgraph",
    "map": "loops",
    "out_dtype": "out_dtype",
    "scan": "loops",
    "strict_mode": "strict_mode",
    "while_loop": "while_loop",
}

_WITH_OPERATORS = (
    "activation_checkpoint",
    "autograd_function",
    "auto_functionalize",
    "cond",
    "effects",
    "flex_attention",
    "hints_wrap",
    "invoke_subgraph",
    "loops",
    "out_dtype",
    "strict_mode",
    "while_loop",
    "wrap",
)


def load_all() -> None:
    """Loads every higher-order operator, so that they are found by name."""
    for name in _WITH_OPERATORS:
        import_module(f"tl_compiler.higher_order.{name}")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


class _Package(ModuleType):
    """`from … import cond` gives the function, though a module of that name is imported, too."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in _MODULES:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
