"""Fused layers that quantize their input at each call."""

from .modules import *
from .modules import __all__ as __all__
