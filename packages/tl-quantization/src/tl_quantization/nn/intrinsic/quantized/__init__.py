"""Fused layers of quantized tensors."""

from .modules import *
from .modules import __all__ as __all__
