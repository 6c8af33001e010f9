"""Layers that compute with quantized tensors: numbers are taken, computed with, and quantized again."""

from . import functional as functional
from .modules import *
from .modules import __all__ as __all__
