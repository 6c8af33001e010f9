"""The layers, a file a kind."""

from .linear_relu import LinearReLU

__all__ = ["LinearReLU"]
