"""Fused layers that round in training."""

from .modules import *
from .modules import __all__ as __all__
