"""Linear layers that keep a float weight."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_core import Tensor
from tl_nn import functional as F

from .utils import ReferenceQuantizedModule

__all__ = ["Linear"]


class Linear(ReferenceQuantizedModule, nn.Linear):
    """`tl_nn.Linear` that computes with the rounded weight.

    Args:
        in_features: the number of inputs.
        out_features: the number of outputs.
        bias_: whether there is a bias.
        device: the device of the parameters.
        dtype: the type of the parameters.
        weight_qparams: `dtype`, `qscheme`, `scale`, `zero_point` and `axis` of the weight.

    Example:
        >>> import tl_core, tl_nn, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import reference
        >>> qparams = {"dtype": tq.qint8, "qscheme": tq.per_tensor_affine, "scale": 0.5, "zero_point": 0}
        >>> layer = reference.Linear.from_float(tl_nn.Linear(2, 1), qparams)
        >>> layer.get_quantized_weight().q_scale()
        0.5
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias_: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_qparams: dict[str, Any] | None = None,
    ) -> None:
        nn.Linear.__init__(self, in_features, out_features, bias_, device, dtype)
        self._init_weight_qparams(weight_qparams, device)

    def _get_name(self) -> str:
        return "QuantizedLinear(Reference)"

    def forward(self, x: Tensor) -> Tensor:
        """The float layer's result with the rounded weight."""
        return F.linear(x, self.get_weight(), self.bias)

    @classmethod
    def from_float(cls, float_linear: Any, weight_qparams: dict[str, Any]) -> Linear:
        """The layer for a float one, with its parameters.

        Args:
            float_linear: the float layer.
            weight_qparams: how the weight is quantized.
        """
        layer = cls(
            float_linear.in_features,
            float_linear.out_features,
            float_linear.bias is not None,
            weight_qparams=weight_qparams,
        )
        return with_parameters(layer, float_linear)


def with_parameters(layer: Any, float_layer: Any) -> Any:
    """The layer itself with the weight and the bias of another, detached.

    Args:
        layer: the layer.
        float_layer: the layer with the parameters.
    """
    layer.weight = nn.Parameter(float_layer.weight.detach())
    if float_layer.bias is not None:
        layer.bias = nn.Parameter(float_layer.bias.detach())
    return layer
