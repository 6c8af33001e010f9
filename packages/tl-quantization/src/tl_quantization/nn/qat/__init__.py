"""Layers whose weights are rounded in training as they will be when quantized."""

from .modules import *
from .modules import __all__ as __all__
