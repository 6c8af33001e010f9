"""Activations."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_nn as nn
from tl_nn import Module
from tl_nn import functional as F

from ...quantizable.modules.activation import MultiheadAttention as _Quantizable
from .utils import numbers_of, observed_qparams, program, requantize, with_parts_of

__all__ = ["ELU", "Hardswish", "LeakyReLU", "MultiheadAttention", "PReLU", "ReLU6", "Sigmoid", "Softmax"]


class ReLU6(nn.ReLU):
    """`min(max(x, 0), 6)` of quantized tensors. The result has the input's scale and zero point.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> q = tq.quantize_per_tensor(tl_core.tensor([-1.0, 2.0, 9.0]), 0.1, 100, tq.quint8)
        >>> ReLU6()(q).dequantize()
        tensor([0., 2., 6.])
    """

    _SCRIPT_SOURCE = program("input", "relu6(input, self.inplace)")

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace)

    def forward(self, input: Any) -> Any:
        """The activation of each element."""
        result = F.hardtanh(numbers_of(input), 0.0, 6.0)
        return input.copy_(result) if self.inplace else result

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """The layer for a float `ReLU6`."""
        return ReLU6(mod.inplace)


class Hardswish(nn.Hardswish):
    """`x * min(max(x + 3, 0), 6) / 6` of quantized tensors.

    Args:
        scale, zero_point (float, int): Of the result.
        device: the device of the buffers.
        dtype: the type of the buffers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0]), 0.5, 10, tq.quint8)
        >>> quantized.Hardswish(0.5, 10)(x).dequantize()
        tensor([-0.5000,  0.5000,  0.5000])
    """

    _SCRIPT_SOURCE = program("input", "hardswish(input, float(self.scale), int(self.zero_point))")

    def __init__(self, scale: float, zero_point: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.register_buffer("scale", tl_core.tensor(scale))
        self.register_buffer("zero_point", tl_core.tensor(zero_point))

    def forward(self, input: Any) -> Any:
        """The activation of each element."""
        x = numbers_of(input).dequantize()
        return requantize(F.hardswish(x), input, self.scale, self.zero_point)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Hardswish:
        """The layer for a float one that has been observed."""
        return Hardswish(*observed_qparams(mod))


class ELU(nn.ELU):
    """`x` where it is positive, else `alpha * (exp(x) - 1)`, of quantized tensors.

    Args:
        scale, zero_point (float, int): Of the result.
        alpha (float): The limit for negative numbers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0]), 0.5, 10, tq.quint8)
        >>> quantized.ELU(0.5, 10)(x).dequantize()
        tensor([-0.5000,  0.5000,  1.0000])
    """

    _SCRIPT_SOURCE = program("input", "elu(input, self.scale, self.zero_point, self.alpha, 1.0, 1.0)")

    def __init__(self, scale: float, zero_point: int, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input: Any) -> Any:
        """The activation of each element."""
        x = numbers_of(input).dequantize()
        return requantize(F.elu(x, self.alpha), input, self.scale, self.zero_point)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ELU:
        """The layer for a float one that has been observed."""
        return ELU(*observed_qparams(mod), mod.alpha)


class LeakyReLU(nn.LeakyReLU):
    """`x` where it is positive, else `x` times a slope, of quantized tensors.

    Args:
        scale, zero_point (float, int): Of the result.
        negative_slope (float): The slope.
        inplace (bool): Only shown in the representation. The result is a new tensor.
        device: the device of the buffers.
        dtype: the type of the buffers.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0]), 0.5, 10, tq.quint8)
        >>> quantized.LeakyReLU(0.5, 10, negative_slope=0.5)(x).dequantize()
        tensor([-0.5000,  0.5000,  1.0000])
    """

    _SCRIPT_SOURCE = program(
        "input",
        "leaky_relu(input, self.negative_slope, self.inplace, float(self.scale), int(self.zero_point))",
    )

    def __init__(
        self,
        scale: float,
        zero_point: int,
        negative_slope: float = 1e-2,
        inplace: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(negative_slope, inplace)
        self.register_buffer("scale", tl_core.tensor(scale))
        self.register_buffer("zero_point", tl_core.tensor(zero_point))

    def forward(self, input: Any) -> Any:
        """The activation of each element."""
        x = numbers_of(input).dequantize()
        return requantize(F.leaky_relu(x, self.negative_slope), input, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LeakyReLU:
        """The layer for a float one that has been observed."""
        return cls(*observed_qparams(mod), mod.negative_slope, mod.inplace)


class Sigmoid(nn.Sigmoid):
    """`1 / (1 + exp(-x))` of quantized tensors.

    Args:
        output_scale, output_zero_point (float, int): Of the result.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0]), 0.5, 10, tq.quint8)
        >>> quantized.Sigmoid(0.25, 0)(x).dequantize()
        tensor([0.2500, 0.5000, 0.7500])
    """

    _SCRIPT_SOURCE = program("input", "sigmoid(input, self.output_scale, self.output_zero_point)")

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input: Any) -> Any:
        """The activation of each element."""
        x = numbers_of(input).dequantize()
        return requantize(x.sigmoid(), input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Sigmoid:
        """The layer for a float one that has been observed."""
        return cls(*observed_qparams(mod))


class Softmax(Module):
    """Exponentials divided by their sum, of quantized tensors.

    Args:
        dim (int, optional): Over which the sum is.
        scale, zero_point (float, int): Of the result.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0]), 0.5, 10, tq.quint8)
        >>> quantized.Softmax(0, 0.25, 0)(x).dequantize().shape
        torch.Size([3])
    """

    _SCRIPT_SOURCE = """
def forward(self, input: Tensor) -> Tensor:
    dim: Optional[int] = self.dim
    if dim is None:
        rank = input.dim()
        if rank == 0 or rank == 1 or rank == 3:
            dim = 0
        else:
            dim = 1
    return quantized.softmax(input, dim, self.scale, self.zero_point)
"""

    def __init__(self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__()
        self.dim, self.scale, self.zero_point = dim, scale, zero_point

    def forward(self, input: Any) -> Any:
        """The shares along the dimension."""
        x = numbers_of(input).dequantize()
        return requantize(nn.Softmax(self.dim)(x), input, self.scale, self.zero_point)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Softmax:
        """The layer for a float one that has been observed."""
        return Softmax(mod.dim, *observed_qparams(mod))


class PReLU(Module):
    """`x` where it is positive, else `x` times a learned slope, of quantized tensors.

    Args:
        output_scale, output_zero_point (float, int): Of the result.
        num_parameters (int): 1, or as many as channels.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn import quantized
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0]), 0.5, 10, tq.quint8)
        >>> quantized.PReLU(0.5, 10)(x).dequantize().shape
        torch.Size([3])
    """

    _SCRIPT_SOURCE = program("input", "prelu(input, self.weight, self.scale, self.zero_point)")

    def __init__(self, output_scale: float, output_zero_point: int, num_parameters: int = 1) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.scale, self.zero_point = output_scale, output_zero_point
        self.register_buffer("weight", tl_core.full((num_parameters,), 0.25))

    def set_weight(self, w: Any) -> None:
        """Replaces the coefficient of each channel."""
        self.weight = w.dequantize() if getattr(w, "is_quantized", False) else w.detach()

    def forward(self, input: Any) -> Any:
        """The activation of each element."""
        x = numbers_of(input).dequantize()
        return requantize(F.prelu(x, self.weight), input, self.scale, self.zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> PReLU:
        """The layer for a float one that has been observed."""
        module = cls(*observed_qparams(mod), mod.num_parameters)
        module.set_weight(mod.weight)
        return module


class MultiheadAttention(_Quantizable):
    """A `quantizable.MultiheadAttention` whose parts have been converted.

    Args:
        embed_dim: the size of queries and outputs.
        num_heads: the number of heads, which divides it.
        dropout: the probability of dropout of the weights.
        bias: whether the projections have biases.
        add_bias_kv: whether a learned key and value are added.
        add_zero_attn: whether a key and value of zeros are added.
        kdim: the size of keys, by default `embed_dim`.
        vdim: the size of values, by default `embed_dim`.
        batch_first: whether the batch is the first dimension.
        device: where the parameters are made.
        dtype: the type of the parameters.
    """

    def _get_name(self) -> str:
        return "QuantizedMultiheadAttention"

    @classmethod
    def from_observed(cls, other: Any) -> MultiheadAttention:
        """The layer on the parts of one whose parts have been converted."""
        return with_parts_of(cls, other)
