"""Affine maps."""

from math import prod

from tl_core import Tensor, matmul
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
    leading = input1.shape[:-1]
    if leading != input2.shape[:-1]:
        raise RuntimeError(
            "bilinear(): input batch dimensions do not match: "
            f"got {list(leading)} and {list(input2.shape[:-1])}"
        )
    if weight.dim() != 3 or (input1.shape[-1], input2.shape[-1]) != tuple(weight.shape[1:]):
        raise RuntimeError(
            f"bilinear(): weight of shape {list(weight.shape)} does not match inputs with "
            f"{input1.shape[-1]} and {input2.shape[-1]} features"
        )
    outputs, size1, size2 = weight.shape
    if bias is not None and bias.shape != (outputs,):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {list(bias.shape)} but expected [{outputs}]"
        )
    rows = prod(leading)
    left = input1.reshape(rows, size1)
    halfway = matmul(left, weight.transpose(0, 1).reshape(size1, outputs * size2))
    products = matmul(halfway.reshape(rows, outputs, size2), input2.reshape(rows, size2, 1))
    result = products.reshape(*leading, outputs)
    return result if bias is None else result + bias
