"""The functions of C of the engine, for packages that record calls of them and call them again."""

from __future__ import annotations

from ._C import has_saved_hooks, run_backward

__all__ = ["has_saved_hooks", "run_backward"]
