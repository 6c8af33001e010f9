"""Layers for training towards dynamic quantization."""

from .modules import *
from .modules import __all__ as __all__
