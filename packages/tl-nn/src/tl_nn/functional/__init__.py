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
    adaptive_pooling,
    affine,
    attention,
    average_pooling,
    class_losses,
    convolutions,
    distances,
    dropouts,
    elementwise_losses,
    fractional_pooling,
    grouped_products,
    linear_losses,
    margin_losses,
    max_pooling,
    normalization,
    sampling,
    scaled_products,
    sequence_losses,
    sparse,
    vision,
)
from .activations import *
from .adaptive_pooling import *
from .affine import *
from .attention import *
from .average_pooling import *
from .class_losses import *
from .convolutions import *
from .distances import *
from .dropouts import *
from .elementwise_losses import *
from .fractional_pooling import *
from .grouped_products import *
from .linear_losses import *
from .margin_losses import *
from .max_pooling import *
from .normalization import *
from .sampling import *
from .scaled_products import *
from .sequence_losses import *
from .sparse import *
from .vision import *

__all__ = [
    *activations.__all__,
    *adaptive_pooling.__all__,
    *affine.__all__,
    *attention.__all__,
    *average_pooling.__all__,
    *class_losses.__all__,
    *convolutions.__all__,
    *distances.__all__,
    *dropouts.__all__,
    *elementwise_losses.__all__,
    *fractional_pooling.__all__,
    *grouped_products.__all__,
    *linear_losses.__all__,
    *margin_losses.__all__,
    *max_pooling.__all__,
    *normalization.__all__,
    *sampling.__all__,
    *scaled_products.__all__,
    *sequence_losses.__all__,
    *sparse.__all__,
    *vision.__all__,
]
