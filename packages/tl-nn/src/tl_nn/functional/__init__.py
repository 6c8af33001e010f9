"""The computations of the layers as plain functions, without parameters of their own."""

# Each file lists its public names itself.

from . import (
    activations,
    affine,
    class_losses,
    convolutions,
    dropouts,
    elementwise_losses,
    normalization,
    sparse,
)
from .activations import *
from .affine import *
from .class_losses import *
from .convolutions import *
from .dropouts import *
from .elementwise_losses import *
from .normalization import *
from .sparse import *

__all__ = [
    *activations.__all__,
    *affine.__all__,
    *class_losses.__all__,
    *convolutions.__all__,
    *dropouts.__all__,
    *elementwise_losses.__all__,
    *normalization.__all__,
    *sparse.__all__,
]
