"""Linear layers with weights that are zero in blocks, which quantize their input at each call."""

from .linear import Linear

__all__ = ["Linear"]
