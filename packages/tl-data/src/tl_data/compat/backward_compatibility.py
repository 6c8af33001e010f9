"""Names of earlier versions."""

from __future__ import annotations

import warnings

__all__ = ["worker_init_fn"]


def worker_init_fn(worker_id: int) -> None:
    """Does nothing: `ShardingFilter` reads the number of the worker itself."""
    warnings.warn("backward_compatibility.worker_init_fn does nothing and may be left out", stacklevel=2)
