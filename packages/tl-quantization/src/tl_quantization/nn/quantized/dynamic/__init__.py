"""Layers with weights of integers that take floating numbers, and quantize them at each call."""

from .modules import *
from .modules import __all__ as __all__
