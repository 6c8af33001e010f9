"""Operators that take functions: branches, loops, scans."""

from __future__ import annotations

__all__ = ["load_all"]


def load_all() -> None:
    """Loads every higher-order operator, so that they are found by name."""
    from importlib import import_module

    for name in ("cond", "loops", "hints_wrap", "wrap", "effects", "auto_functionalize"):
        import_module(f"tl_compiler.higher_order.{name}")
