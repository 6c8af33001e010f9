"""The layers, a file each."""

from .linear import Linear

__all__ = ["Linear"]
