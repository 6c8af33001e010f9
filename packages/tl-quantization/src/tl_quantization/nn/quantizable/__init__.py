"""Layers made of parts that can be observed and quantized."""

from .modules import *
from .modules import __all__ as __all__
