"""Linear layers with an activation."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import functional as F

from .....dtypes import qint8
from ....quantized.modules.linear import Linear
from ....quantized.modules.utils import numbers_of, requantize

__all__ = ["LinearLeakyReLU", "LinearReLU", "LinearTanh"]


def float_result(layer: Linear, x: Any) -> Tensor:
    """A linear layer's result as floating numbers, for activations that the integer kernels lack.

    Args:
        layer: the layer.
        x: the quantized input.
    """
    return F.linear(numbers_of(x).dequantize(), layer.weight().dequantize(), layer.bias())


class LinearReLU(Linear):
    """`quantized.Linear` and a ReLU.

    Args:
        in_features: the features of the input.
        out_features: the features of the output.
        bias: whether there is a bias.
        dtype: the type of the weight.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import quantized
        >>> x = tq.quantize_per_tensor(tl_core.ones(2, 3), 0.5, 10, tq.quint8)
        >>> quantized.LinearReLU(3, 8)(x).shape
        torch.Size([2, 8])
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: Any = qint8) -> None:
        super().__init__(in_features, out_features, bias, dtype)

    _SCRIPT_SOURCE = (
        "def forward(self, x: Tensor) -> Tensor:\n"
        "    return quantized.linear_relu(x, self._packed_params._packed_params, self.scale, self.zero_point)\n"
    )

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"

    def forward(self, x: Any) -> Any:
        """The layer's result, with its scale and zero point."""
        return self._packed_params._packed_params.of_bytes(
            numbers_of(x), self.scale, self.zero_point, relu=True
        )


class LinearLeakyReLU(Linear):
    """`quantized.Linear` and a leaky ReLU.

    Args:
        in_features, out_features, bias, dtype: As of `quantized.Linear`.
        negative_slope (float): The slope.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import quantized
        >>> x = tq.quantize_per_tensor(tl_core.ones(2, 3), 0.5, 10, tq.quint8)
        >>> quantized.LinearLeakyReLU(3, 8, 0.1)(x).shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        negative_slope: float,
        bias: bool = True,
        dtype: Any = qint8,
    ) -> None:
        super().__init__(in_features, out_features, bias, dtype)
        self.negative_slope = negative_slope

    _SCRIPT_SOURCE = (
        "def forward(self, x: Tensor) -> Tensor:\n"
        "    packed = self._packed_params._packed_params\n"
        "    return quantized.linear_leaky_relu(x, packed, self.scale, self.zero_point, self.negative_slope)\n"
    )

    def _get_name(self) -> str:
        return "QuantizedLinearLeakyReLU"

    def forward(self, x: Any) -> Any:
        """The layer's result, with its scale and zero point."""
        y = F.leaky_relu(float_result(self, x), self.negative_slope)
        return requantize(y, x, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer for a fused float one that has been observed."""
        plain = Linear.from_float(mod, use_precomputed_fake_quant)
        module = cls(plain.in_features, plain.out_features, mod[1].negative_slope)
        module.set_weight_bias(plain.weight(), plain.bias())
        module.scale, module.zero_point = plain.scale, plain.zero_point
        return module

    @classmethod
    def from_reference(  # type: ignore[override]  # LeakyReLU has a layer more
        cls, ref_mod: Any, leaky_relu: Any, output_scale: Any, output_zero_point: Any
    ) -> Any:
        """The layer for one that keeps a float weight and how to quantize it (`get_quantized_weight()`).

        Args:
            ref_mod: the linear layer.
            leaky_relu: the layer behind it.
            output_scale: the scale of the result.
            output_zero_point: the zero point of the result.
        """
        module = cls(ref_mod.in_features, ref_mod.out_features, leaky_relu.negative_slope)
        module.set_weight_bias(ref_mod.get_quantized_weight(), ref_mod.bias)
        module.scale, module.zero_point = float(output_scale), int(output_zero_point)
        return module


class LinearTanh(Linear):
    """`quantized.Linear` and a hyperbolic tangent.

    Args:
        in_features: the features of the input.
        out_features: the features of the output.
        bias: whether there is a bias.
        dtype: the type of the weight.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.intrinsic import quantized
        >>> x = tq.quantize_per_tensor(tl_core.ones(2, 3), 0.5, 10, tq.quint8)
        >>> quantized.LinearTanh(3, 8)(x).shape
        torch.Size([2, 8])
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: Any = qint8) -> None:
        super().__init__(in_features, out_features, bias, dtype)

    _SCRIPT_SOURCE = (
        "def forward(self, x: Tensor) -> Tensor:\n"
        "    return quantized.linear_tanh(x, self._packed_params._packed_params, self.scale, self.zero_point)\n"
    )

    def _get_name(self) -> str:
        return "QuantizedLinearTanh"

    def forward(self, x: Any) -> Any:
        """The layer's result, with its scale and zero point."""
        return requantize(float_result(self, x).tanh(), x, self.scale, self.zero_point)
