"""Layers as functions of quantized tensors."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor
from tl_nn import functional as F

from ...dtypes import quint8
from ...operators import map_numbers
from ...tensor_quantizer import PerTensor
from .modules.utils import numbers_of, requantize

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool2d",
    "avg_pool3d",
    "celu",
    "clamp",
    "conv1d",
    "conv2d",
    "conv3d",
    "elu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "interpolate",
    "leaky_relu",
    "linear",
    "max_pool1d",
    "max_pool2d",
    "threshold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """`tl_nn.functional.avg_pool2d` of quantized tensors. The result has the input's scale and zero point.

    Args:
        input: the quantized tensor.
        kernel_size: the extent of the window.
        stride: the distance of its positions, by default its extent.
        padding: the number of positions added on both sides, at most half of the window.
        ceil_mode: whether windows may reach over the end.
        count_include_pad: whether added zeros count in the mean.
        divisor_override: the divisor of a window's sum, by default the window's size.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.avg_pool2d(x.reshape(1, 1, 2, 2), 2).dequantize()
        tensor([[[[0.5000]]]])
    """
    return F.avg_pool2d(
        numbers_of(input), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """`tl_nn.functional.avg_pool3d` of quantized tensors. The result has the input's scale and zero point.

    Args:
        input: the quantized tensor.
        kernel_size: the extent of the window.
        stride: the distance of its positions, by default its extent.
        padding: the number of positions added on both sides, at most half of the window.
        ceil_mode: whether windows may reach over the end.
        count_include_pad: whether added zeros count in the mean.
        divisor_override: the divisor of a window's sum, by default the window's size.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.avg_pool3d(x.reshape(1, 1, 1, 2, 2), (1, 2, 2)).dequantize()
        tensor([[[[[0.5000]]]]])
    """
    return F.avg_pool3d(
        numbers_of(input), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """`tl_nn.functional.adaptive_avg_pool2d` of quantized tensors. The result has the input's scale and zero point.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.adaptive_avg_pool2d(x.reshape(1, 1, 2, 2), 1).dequantize()
        tensor([[[[0.5000]]]])
    """
    return F.adaptive_avg_pool2d(numbers_of(input), output_size)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """`tl_nn.functional.adaptive_avg_pool3d` of quantized tensors. The result has the input's scale and zero point.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.adaptive_avg_pool3d(x.reshape(1, 1, 1, 2, 2), 1).dequantize()
        tensor([[[[[0.5000]]]]])
    """
    return F.adaptive_avg_pool3d(numbers_of(input), output_size)


def _convolve(
    function: Any,
    input: Any,
    weight: Any,
    bias: Any,
    settings: tuple[Any, ...],
    mode: str,
    qparams: Any,
    dtype: Any,
) -> Any:
    if mode != "zeros":
        raise NotImplementedError(f"padding_mode must be 'zeros', but got {mode!r}")
    if numbers_of(input).dtype is not dtype:
        raise NotImplementedError(f"input must be of {dtype}, but got {input.dtype}")
    return requantize(
        function(input.dequantize(), numbers_of(weight).dequantize(), bias, *settings), input, *qparams
    )


def conv1d(
    input: Any,
    weight: Any,
    bias: Tensor | None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: Any = quint8,
) -> Any:
    """`tl_nn.functional.conv1d` with a weight of integers. See `conv2d`.

    Args:
        input: the quantized tensor.
        weight: the weight, of qint8.
        bias: the bias, of float32, or None.
        stride: the distance of its positions, by default its extent.
        padding: the number of positions added on both sides, at most half of the window.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        padding_mode: "zeros".
        scale: the scale of the result.
        zero_point: the zero point of the result.
        dtype: the type of the result.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> weight = tq.quantize_per_tensor(tl_core.ones(1, 1, 2), 0.5, 0, tq.qint8)
        >>> qF.conv1d(x.reshape(1, 1, 4), weight, None, scale=0.5, zero_point=10).dequantize()
        tensor([[[-0.5000,  1.5000,  3.0000]]])
    """
    settings = (stride, padding, dilation, groups)
    return _convolve(F.conv1d, input, weight, bias, settings, padding_mode, (scale, zero_point), dtype)


def conv2d(
    input: Any,
    weight: Any,
    bias: Tensor | None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: Any = quint8,
) -> Any:
    """`tl_nn.functional.conv2d` with a weight of integers.

    Args:
        input (Tensor, shape (batch, channels, height, width)): Of the type `dtype`.
        weight (Tensor): Of `qint8`.
        bias (Tensor, optional): Of floating numbers.
        stride, padding, dilation, groups: As of the float function.
        padding_mode (str): "zeros".
        scale, zero_point (float, int): Of the result.
        dtype (quantized dtype): Of input and result.

    Raises:
        NotImplementedError: For another type or padding mode.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.ones(1, 1, 3, 3), 0.5, 0, tq.quint8)
        >>> w = tq.quantize_per_tensor(tl_core.ones(1, 1, 3, 3), 0.5, 0, tq.qint8)
        >>> conv2d(x, w, None, scale=0.5).dequantize().item()
        9.0
    """
    settings = (stride, padding, dilation, groups)
    return _convolve(F.conv2d, input, weight, bias, settings, padding_mode, (scale, zero_point), dtype)


def conv3d(
    input: Any,
    weight: Any,
    bias: Tensor | None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: Any = quint8,
) -> Any:
    """`tl_nn.functional.conv3d` with a weight of integers. See `conv2d`.

    Args:
        input: the quantized tensor.
        weight: the weight, of qint8.
        bias: the bias, of float32, or None.
        stride: the distance of its positions, by default its extent.
        padding: the number of positions added on both sides, at most half of the window.
        dilation: the distance of the elements under the kernel.
        groups: the number of groups that the channels are divided into.
        padding_mode: "zeros".
        scale: the scale of the result.
        zero_point: the zero point of the result.
        dtype: the type of the result.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> weight = tq.quantize_per_tensor(tl_core.ones(1, 1, 1, 2, 2), 0.5, 0, tq.qint8)
        >>> qF.conv3d(x.reshape(1, 1, 1, 2, 2), weight, None, scale=0.5, zero_point=10).dequantize()
        tensor([[[[[2.5000]]]]])
    """
    settings = (stride, padding, dilation, groups)
    return _convolve(F.conv3d, input, weight, bias, settings, padding_mode, (scale, zero_point), dtype)


def linear(
    input: Any,
    weight: Any,
    bias: Tensor | None = None,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Any:
    """`tl_nn.functional.linear` with a weight of integers.

    Args:
        input (Tensor, shape (..., in_features)): The input.
        weight (Tensor, shape (out_features, in_features)): Of `qint8`.
        bias (Tensor, optional): Of floating numbers.
        scale, zero_point (float, int, optional): Of the result, by default the input's.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> weight = tq.quantize_per_tensor(tl_core.ones(1, 4), 0.5, 0, tq.qint8)
        >>> qF.linear(x.reshape(1, 4), weight, scale=0.5, zero_point=10).dequantize()
        tensor([[2.5000]])
    """
    scale = numbers_of(input).q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    return requantize(
        F.linear(input.dequantize(), numbers_of(weight).dequantize(), bias), input, scale, zero_point
    )


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """`tl_nn.functional.interpolate` of quantized tensors. The result has the input's scale and zero point.

    Args:
        input: the quantized tensor.
        size: the spatial size of the result. Pass either this or `scale_factor`.
        scale_factor: the factor of each spatial size.
        mode: "nearest" or "bilinear", or "nearest-exact".
        align_corners: whether the corners keep their values.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.interpolate(x.reshape(1, 1, 2, 2), scale_factor=2).shape
        torch.Size([1, 1, 4, 4])
    """
    return F.interpolate(numbers_of(input), size, scale_factor, mode, align_corners)


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`tl_nn.functional.max_pool1d` of the integers. Raises NotImplementedError if `return_indices`.

    Args:
        input: the quantized tensor.
        kernel_size: the extent of the window.
        stride: the distance of its positions, by default its extent.
        padding: the number of positions added on both sides, at most half of the window.
        dilation: the distance of the elements under the kernel.
        ceil_mode: whether windows may reach over the end.
        return_indices: must be False.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.max_pool1d(x.reshape(1, 1, 4), 2).dequantize()
        tensor([[[0.5000, 2.0000]]])
    """
    _without_positions(return_indices)
    return F.max_pool1d(numbers_of(input), kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """`tl_nn.functional.max_pool2d` of the integers. Raises NotImplementedError if `return_indices`.

    Args:
        input: the quantized tensor.
        kernel_size: the extent of the window.
        stride: the distance of its positions, by default its extent.
        padding: the number of positions added on both sides, at most half of the window.
        dilation: the distance of the elements under the kernel.
        ceil_mode: whether windows may reach over the end.
        return_indices: must be False.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.max_pool2d(x.reshape(1, 1, 2, 2), 2).dequantize()
        tensor([[[[2.]]]])
    """
    _without_positions(return_indices)
    return F.max_pool2d(numbers_of(input), kernel_size, stride, padding, dilation, ceil_mode)


def _without_positions(return_indices: bool) -> None:
    if return_indices:
        raise NotImplementedError("return_indices must be False for quantized tensors")


def _result(input: Any, scale: Any, zero_point: Any) -> PerTensor:
    return PerTensor(float(scale), int(zero_point), input.dtype)


def celu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """`tl_nn.functional.celu` of quantized tensors. The result has `scale` and `zero_point`.

    Args:
        input: the quantized tensor.
        scale: the scale of the result.
        zero_point: the zero point of the result.
        alpha: the scale of the negative part.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.celu(x, 0.5, 10).dequantize()
        tensor([-0.5000,  0.5000,  1.0000,  2.0000])
    """
    return map_numbers(lambda x: F.celu(x, alpha), numbers_of(input), _result(input, scale, zero_point))


def leaky_relu(
    input: Any,
    negative_slope: float = 0.01,
    inplace: bool = False,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Any:
    """`tl_nn.functional.leaky_relu` of quantized tensors. `scale` and `zero_point` are by default the input's.

    Args:
        input: the quantized tensor.
        negative_slope: the factor of negative elements.
        inplace: whether the result is written into `input`.
        scale: the scale of the result.
        zero_point: the zero point of the result.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.leaky_relu(x, 0.5).dequantize()
        tensor([-0.5000,  0.5000,  1.0000,  2.0000])
    """
    scale = numbers_of(input).q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    quantizer = _result(input, scale, zero_point)
    result = map_numbers(lambda x: F.leaky_relu(x, negative_slope), input, quantizer)
    return input.copy_(result) if inplace else result


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """`tl_nn.functional.hardtanh` of quantized tensors. The result has the input's scale and zero point.

    Args:
        input: the quantized tensor.
        min_val: the lower bound.
        max_val: the upper bound.
        inplace: whether the result is written into `input`.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.hardtanh(x).dequantize()
        tensor([-1.0000,  0.5000,  1.0000,  1.0000])
    """
    result = F.hardtanh(numbers_of(input), min_val, max_val)
    return input.copy_(result) if inplace else result


def hardswish(input: Any, scale: float, zero_point: int) -> Any:
    """`tl_nn.functional.hardswish` of quantized tensors. The result has `scale` and `zero_point`.

    Args:
        input: the quantized tensor.
        scale: the scale of the result.
        zero_point: the zero point of the result.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.hardswish(x, 0.5, 10).dequantize()
        tensor([-0.5000,  0.5000,  0.5000,  1.5000])
    """
    return map_numbers(F.hardswish, numbers_of(input), _result(input, scale, zero_point))


def threshold(input: Any, threshold: float, value: float) -> Any:
    """`tl_nn.functional.threshold` of quantized tensors. The result has the input's scale and zero point.

    Args:
        input: the quantized tensor.
        threshold: the bound that elements must exceed.
        value: the replacement of the others.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.threshold(x, 0.75, 0.0).dequantize()
        tensor([0., 0., 1., 2.])
    """
    return F.threshold(numbers_of(input), threshold, value)


def elu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """`tl_nn.functional.elu` of quantized tensors. The result has `scale` and `zero_point`.

    Args:
        input: the quantized tensor.
        scale: the scale of the result.
        zero_point: the zero point of the result.
        alpha: the scale of the negative part.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.elu(x, 0.5, 10).dequantize()
        tensor([-0.5000,  0.5000,  1.0000,  2.0000])
    """
    return map_numbers(lambda x: F.elu(x, alpha), numbers_of(input), _result(input, scale, zero_point))


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """`tl_nn.functional.hardsigmoid` of quantized tensors. The result has 256 steps from 0 to 1.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.hardsigmoid(x).dequantize().shape
        torch.Size([4])
    """
    zero = 0 if numbers_of(input).dtype is quint8 else -128
    result = map_numbers(F.hardsigmoid, input, _result(input, 1 / 256, zero))
    return input.copy_(result) if inplace else result


def clamp(input: Any, min_: float, max_: float) -> Any:
    """Clamps numbers to [min_, max_]. The result has the input's scale and zero point.

    Args:
        input: the quantized tensor.
        min_: the lower bound.
        max_: the upper bound.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> from tl_quantization.nn.quantized import functional as qF
        >>> x = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.5, 1.0, 2.0]), 0.5, 10, tq.quint8)
        >>> qF.clamp(x, 0.0, 1.0).dequantize()
        tensor([0.0000, 0.5000, 1.0000, 1.0000])
    """
    return numbers_of(input).clamp(min_, max_)


def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """`interpolate` under its older name.

    Args:
        input: the quantized tensor.
        size: the spatial size of the result. Pass either this or `scale_factor`.
        scale_factor: the factor of each spatial size.
        mode: "nearest" or "bilinear", or "nearest-exact".
        align_corners: whether the corners keep their values.
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` with the mode "bilinear" and aligned corners.

    Args:
        input: the quantized tensor.
        size: the spatial size of the result. Pass either this or `scale_factor`.
        scale_factor: the factor of each spatial size.
    """
    return interpolate(input, size, scale_factor, "bilinear", True)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` with the mode "nearest".

    Args:
        input: the quantized tensor.
        size: the spatial size of the result. Pass either this or `scale_factor`.
        scale_factor: the factor of each spatial size.
    """
    return interpolate(input, size, scale_factor, "nearest")
