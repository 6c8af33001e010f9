"""Whether kernels in Triton can be run: they need a GPU, and tl has none."""

from __future__ import annotations

import importlib.util

__all__ = ["has_triton", "has_triton_package", "has_triton_tma"]


def has_triton_package() -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec("triton") is not None


def has_triton() -> bool:
    """Whether there is a device that it compiles for."""
    return False


def has_triton_tma() -> bool:
    """Whether there is one with a tensor memory accelerator."""
    return False
