"""Layers with weights that are zero in blocks."""

from . import quantized

__all__ = ["quantized"]
