"""Communication hooks: other ways to reduce the gradients of data-parallel training."""

from . import debugging_hooks, default_hooks

__all__ = ["debugging_hooks", "default_hooks"]
