"""The containers."""

from .fused import *
from .fused import __all__ as __all__
