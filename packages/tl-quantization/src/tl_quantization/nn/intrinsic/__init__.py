"""Layers that belong together, so that they are observed and quantized as one."""

from .modules import *
from .modules import __all__ as __all__
