"""`torch._dynamo.eval_frame`: what `compile` hands out."""

from __future__ import annotations

from typing import Any

from tl_nn.optimized_module import OptimizedModule

__all__ = ["OptimizedModule", "innermost_fn", "is_dynamo_supported"]


def innermost_fn(fn: Any) -> Any:
    """The function that was given to `torch.compile`, below all that wraps it.

    Args:
        fn: the function, or what wraps it.
    """
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn


def is_dynamo_supported() -> bool:
    """Whether `torch.compile` may be called on this system: always."""
    return True
