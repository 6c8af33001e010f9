"""What the reference's frame evaluation hands out; here modules are what they are."""

from __future__ import annotations

from typing import Any

import tl_nn

__all__ = ["OptimizedModule", "innermost_fn", "is_dynamo_supported"]


class OptimizedModule(tl_nn.Module):
    """Wraps a module that was compiled. Nothing makes one here; libraries ask for the class.

    Args:
        mod: the module.
        dynamo_ctx: accepted.
    """

    def __init__(self, mod: Any, dynamo_ctx: Any = None) -> None:
        super().__init__()
        self._orig_mod = mod

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module.

        Args:
            args, kwargs: what it is called with.
        """
        return self._orig_mod(*args, **kwargs)


def innermost_fn(fn: Any) -> Any:
    """The function that was given to `torch.compile`, below all that wraps it.

    Args:
        fn: the function, or what wraps it.
    """
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn


def is_dynamo_supported() -> bool:
    """Whether `torch.compile` may be called on this system: always, though it runs functions as they are."""
    return True
