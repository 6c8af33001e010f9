"""Layers that keep a float weight and how to quantize it: float layers compute with the rounded weight."""

from .modules import *
from .modules import __all__ as __all__
