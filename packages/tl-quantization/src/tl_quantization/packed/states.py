"""Packed weights of files: the classes under the names of PyTorch's, and the objects of their states.

A file is data that anybody may have written, so each state is checked before a weight is packed.
"""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.extensions.custom_classes import ScriptObject, register

from ..tensor import is_quantized_tensor
from .cell import CellMatrices, CellWeights
from .embedding import PackedEmbedding
from .half import HalfLinear
from .linear import PackedLinear
from .windows import ConvolutionWindows

__all__ = ["LinearPackedParamsBase"]

_SPACE = "__torch__.torch.classes."


def _need(condition: bool, kind: str, what: str) -> None:
    if not condition:
        raise RuntimeError(f"the state of {kind} must have {what}")


def _is_bias(value: Any) -> bool:
    return value is None or (
        isinstance(value, Tensor)
        and not is_quantized_tensor(value)
        and value.is_floating_point()
        and value.dim() == 1
    )


def _number_list(values: Any) -> bool:
    return type(values) is list and all(type(value) is int for value in values)


@register
class LinearPackedParamsBase(ScriptObject):
    """The weight of a linear layer in a file: of integers, or of float16."""

    _qualified_name = f"{_SPACE}quantized.LinearPackedParamsBase"

    @classmethod
    def _of_state(cls, state: Any) -> ScriptObject:
        kind = "a packed linear layer"
        _need(type(state) is tuple and len(state) == 2, kind, "a weight and a bias")
        weight, bias = state
        _need(isinstance(weight, Tensor) and weight.dim() == 2, kind, "a matrix as its weight")
        _need(_is_bias(bias), kind, "a vector of floating numbers or None as its bias")
        if is_quantized_tensor(weight):
            return PackedLinear(weight, bias)
        _need(weight.is_floating_point(), kind, "a weight of integers or of floating numbers")
        _need(bias is None or len(bias) == len(weight), kind, f"a bias of {len(weight)} numbers")
        return HalfLinear(weight.to(tl_core.float16), bias)


class _ConvolutionPackedParams(ScriptObject):
    """The weight, the bias and the windows of a convolution in a file."""

    axes = 2

    @classmethod
    def _of_state(cls, state: Any) -> ScriptObject:
        n, kind = cls.axes, f"a packed convolution of {cls.axes} axes"
        numbers, weight, bias = _parts_of_convolution(state, n, kind)
        _need(len(numbers) == 4 * n + 3 and numbers[0] == n, kind, f"{4 * n + 3} numbers for its windows")
        stride, padding, dilation, ends = (tuple(numbers[1 + n * i : 1 + n * (i + 1)]) for i in range(4))
        groups, is_transposed = numbers[-2:]
        _need(
            min(*stride, *dilation, groups) > 0 <= min(*padding, *ends), kind, "windows of positive numbers"
        )
        _need(is_transposed in (0, 1), kind, "0 or 1 for its direction")
        _need(
            is_quantized_tensor(weight) and weight.dim() == n + 2,
            kind,
            f"a quantized weight of {n + 2} axes",
        )
        channels = weight.shape[1] * groups if is_transposed else weight.shape[0]
        _need(weight.shape[0] % groups == 0, kind, "as many channels in each group")
        _need(
            _is_bias(bias) and (bias is None or len(bias) == channels),
            kind,
            f"a bias of {channels} numbers or None",
        )
        return ConvolutionWindows(
            weight, bias, stride, padding, dilation, groups, ends if is_transposed else None
        )


def _parts_of_convolution(state: Any, axes: int, kind: str) -> tuple[list[int], Any, Any]:
    """The numbers of the windows, the weight and the bias, of a state of PyTorch's versions 1 to 3."""
    _need(type(state) is tuple and len(state) in (3, 6), kind, "three parts, or six in the first version")
    if len(state) == 6:
        weight, bias, *windows, groups = state
        lists = [_numbers_of(part, kind) for part in windows]
        _need(all(len(part) == axes for part in lists), kind, f"{axes} numbers for each of its windows")
        numbers = [number for part in lists for number in part]
        return [axes, *numbers, *[0] * axes, *_numbers_of([groups], kind), 0], weight, bias
    version, first, second = state
    _need(type(first) is list and type(second) is list, kind, "two lists")
    if version == 3:
        _need(_number_list(first) and len(second) == 3, kind, "a list of integers, a weight and a bias")
        return first, *second[1:]
    _need(version == "2", kind, 'the version "2" or 3')
    _need(len(first) == 2 and len(second) == 1, kind, "windows, a weight and a bias")
    windows, weight = first
    _need(isinstance(windows, Tensor) and windows.dtype is tl_core.int16, kind, "windows of int16")
    return windows.flatten().tolist(), weight, second[0]


def _numbers_of(tensors: Any, kind: str) -> list[int]:
    """The integers of tensors of one element."""
    is_list = type(tensors) is list
    _need(
        is_list and all(type(t) is Tensor and t.dtype is tl_core.int64 and t.numel() == 1 for t in tensors),
        kind,
        "integers for its windows",
    )
    return [int(t) for t in tensors]


@register
class Conv2dPackedParamsBase(_ConvolutionPackedParams):
    """A convolution of one or two axes in a file."""

    _qualified_name = f"{_SPACE}quantized.Conv2dPackedParamsBase"


@register
class Conv3dPackedParamsBase(_ConvolutionPackedParams):
    """A convolution of three axes in a file."""

    _qualified_name = f"{_SPACE}quantized.Conv3dPackedParamsBase"
    axes = 3


@register
class EmbeddingPackedParamsBase(ScriptObject):
    """The table of an embedding in a file."""

    _qualified_name = f"{_SPACE}quantized.EmbeddingPackedParamsBase"

    @classmethod
    def _of_state(cls, state: Any) -> ScriptObject:
        kind = "a packed embedding"
        fits = type(state) is tuple and len(state) == 4 and state[0] == 1 and type(state[1]) is list
        _need(fits and len(state[1]) == 1 and state[2] == [], kind, "the version 1 and one table")
        table = PackedEmbedding(state[1][0])
        _need(
            _number_list(state[3]) and state[3] == [table.bits], kind, f"the {table.bits} bits of its table"
        )
        return table


@register
class CellParamsBase(ScriptObject):
    """The weights of a recurrent cell in a file."""

    _qualified_name = CellWeights._qualified_name

    @classmethod
    def _of_state(cls, state: Any) -> ScriptObject:
        kind = "the weights of a recurrent cell"
        fits = type(state) is tuple and len(state) == 5 and all(type(part) is list for part in state[1:])
        _need(fits, kind, "a kind and four lists")
        name, tensors, numbers, settings, weights = state
        if name == "quantized":
            return cls._matrices(tensors, numbers, settings, weights)
        if name not in ("quantized_dynamic", "quantized_fp16"):
            raise RuntimeError(
                "the weights of a recurrent cell must be of the kind 'quantized_dynamic', 'quantized_fp16' or "
                f"'quantized', but got {name!r}"
            )
        is_dynamic = name == "quantized_dynamic"
        # older files have no setting, and a whole range
        _need(not numbers and _number_list(settings) and len(settings) <= is_dynamic, kind, "its settings")
        expected = PackedLinear if is_dynamic else HalfLinear
        fits = len(weights) == 2 and all(type(weight) is expected for weight in weights)
        _need(fits, kind, f"two weights of {'integers' if is_dynamic else 'float16'}")
        return CellWeights(weights[0], weights[1], any(settings) if is_dynamic else True)

    @classmethod
    def _matrices(cls, tensors: Any, scales: Any, zero_points: Any, rest: Any) -> ScriptObject:
        kind = "the weights of a recurrent cell"
        dtypes = [tl_core.int8] * 2 + [tl_core.float32] * 2 + [tl_core.int32] * 2
        fits = not rest and len(tensors) == 6 and all(type(t) in (Tensor, tl_core.Parameter) for t in tensors)
        _need(
            fits and [t.dtype for t in tensors] == dtypes,
            kind,
            "two weights of int8, biases and sums of columns",
        )
        _need([t.dim() for t in tensors] == [2, 2, 1, 1, 1, 1], kind, "two matrices and four vectors")
        _need(len({t.shape[0] for t in tensors}) == 1, kind, "equally many rows")
        _need(_number_list(zero_points) and len(zero_points) == 2, kind, "two zero points")
        _need(len(scales) == 2 and all(type(scale) is float for scale in scales), kind, "two scales")
        return CellMatrices(tensors[:2], tensors[2:4], tensors[4:], scales, zero_points)
