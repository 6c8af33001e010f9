"""Names of before."""

from __future__ import annotations

import warnings

__all__ = ["worker_init_fn"]


def worker_init_fn(worker_id: int) -> None:
    """Does nothing: `ShardingFilter` finds out by itself which worker it is in."""
    warnings.warn("backward_compatibility.worker_init_fn does nothing and may be left out", stacklevel=2)
