"""Linear layers with a ReLU."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from ......dtypes import qint8
from .....quantized.dynamic.modules.linear import Linear

__all__ = ["LinearReLU"]


class LinearReLU(Linear):
    """`quantized.dynamic.Linear` and a ReLU.

    Args:
        in_features: the features of the input.
        out_features: the features of the output.
        bias: whether there is a bias.
        dtype: the type of the weight.

    Example:
        >>> import tl_core
        >>> from tl_quantization.nn.intrinsic.quantized import dynamic
        >>> dynamic.LinearReLU(3, 8)(tl_core.ones(2, 3)).shape
        torch.Size([2, 8])
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: Any = qint8) -> None:
        super().__init__(in_features, out_features, bias, dtype)

    _SCRIPT_SOURCE = (
        "def forward(self, x: Tensor) -> Tensor:\n"
        "    return quantized.linear_relu_dynamic(x, self._packed_params._packed_params, True)\n"
    )

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU"

    def forward(self, x: Tensor) -> Tensor:
        """The layer's result, of floating numbers, with a ReLU."""
        return self._packed_params._packed_params.of_floats(x, relu=True)
