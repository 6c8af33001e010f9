"""The computations of the layers as plain functions, without parameters of their own."""

# Each file lists its public names itself.

# Whether arguments ask for `__torch_function__`: symbolic tracing records the functions here only where they do.
from tl_core.overrides import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)

from . import (
    activations,
    affine,
    attention,
    class_losses,
    convolutions,
    distances,
    dropouts,
    elementwise_losses,
    grouped_products,
    linear_losses,
    margin_losses,
    normalization,
    pooling,
    sampling,
    scaled_products,
    sequence_losses,
    sparse,
    vision,
)
from .activations import *
from .affine import *
from .attention import *
from .class_losses import *
from .convolutions import *
from .distances import *
from .dropouts import *
from .elementwise_losses import *
from .grouped_products import *
from .linear_losses import *
from .margin_losses import *
from .normalization import *
from .pooling import *
from .sampling import *
from .scaled_products import *
from .sequence_losses import *
from .sparse import *
from .vision import *

__all__ = [
    *activations.__all__,
    *affine.__all__,
    *attention.__all__,
    *class_losses.__all__,
    *convolutions.__all__,
    *distances.__all__,
    *dropouts.__all__,
    *elementwise_losses.__all__,
    *grouped_products.__all__,
    *linear_losses.__all__,
    *margin_losses.__all__,
    *normalization.__all__,
    *pooling.__all__,
    *sampling.__all__,
    *scaled_products.__all__,
    *sequence_losses.__all__,
    *sparse.__all__,
    *vision.__all__,
]
