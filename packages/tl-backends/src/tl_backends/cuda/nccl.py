"""NCCL, for collectives between CUDA devices. tl doesn't have it."""

from typing import Any

from tl_backends.absent_device import CUDA

__all__ = ["is_available", "version"]


def is_available(tensors: Any) -> bool:
    """Whether NCCL could take these tensors: False."""
    return False


def version() -> tuple[int, ...]:
    """The version of NCCL."""
    raise CUDA.error("nccl.version")
