"""Affine maps."""

from tl_core import Tensor
from tl_core.dispatch.autocast_inputs import in_own_type
from tl_core.functions import nn as nn_functions
from tl_core.overrides import overridable

__all__ = ["bilinear", "linear"]

linear = nn_functions.linear


@overridable
@in_own_type
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2 + bias[k]` for each output feature k.

    Args:
        input1 (Tensor, shape (*, in1_features)): Any number of leading dimensions, none included.
        input2 (Tensor, shape (*, in2_features)): With the same leading dimensions.
        weight (Tensor, shape (out_features, in1_features, in2_features)): One matrix for each output feature.
        bias (Tensor, shape (out_features,), optional): Added to every result.

    Returns:
        Tensor, shape (*, out_features)

    Raises:
        RuntimeError: If the sizes don't fit.

    Example:
        >>> import tl_core, tl_nn
        >>> ones = tl_core.ones
        >>> tl_nn.functional.bilinear(ones(2, 3), ones(2, 4), ones(5, 3, 4)).shape
        torch.Size([2, 5])
    """
    return nn_functions.bilinear(input1, input2, weight, bias)
