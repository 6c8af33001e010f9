"""The computations of the layers as plain functions, without parameters of their own."""

# Each file lists its public names itself.
# ruff: noqa: F403

from . import activations, affine, dropouts, losses, sparse
from .activations import *
from .affine import *
from .dropouts import *
from .losses import *
from .sparse import *

__all__ = [
    *activations.__all__,
    *affine.__all__,
    *dropouts.__all__,
    *losses.__all__,
    *sparse.__all__,
]
