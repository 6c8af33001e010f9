"""Patterns of operators, for the configurations of the backends."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NamedTuple

import tl_core
import tl_nn as nn
from tl_nn import functional as F

from ..fuser_method_mappings import (
    fuse_conv_bn,
    fuse_conv_bn_relu,
    fuse_convtranspose_bn,
    fuse_linear_bn,
    sequential_fuser,
)
from ..nn import intrinsic as nni
from ..nn import qat as nnqat
from ..nn.intrinsic import qat as nniqat
from ..nn.quantized import reference as nnqr
from .backend_config import BackendPatternConfig, DTypeConfig, DTypeWithConstraints, ObservationType

__all__ = [
    "BINARY",
    "RELUS",
    "SHARED_NAMES",
    "UNIT",
    "SYMMETRIC",
    "addmm_pattern",
    "batch_norm_patterns",
    "binary_patterns",
    "cat_pattern",
    "pattern_of",
    "conv_patterns",
    "default_patterns",
    "embedding_patterns",
    "fixed_patterns",
    "layer_norm_patterns",
    "linear_patterns",
    "recurrent_patterns",
    "shared_patterns",
    "size_patterns",
]

Types = list[DTypeConfig]

OWN = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
SHARED = ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT

#: What follows a layer in a fused one: the module, and the function of the same name.
RELUS: tuple[Any, ...] = (nn.ReLU, F.relu)


def pattern_of(pattern: Any, types: Types, kind: ObservationType = OWN) -> BackendPatternConfig:
    """A pattern with its types and its kind of observation.

    Args:
        pattern: a class, a function, a method's name, or a tuple of them.
        types: the sets of types.
        kind: how the result is observed.
    """
    return BackendPatternConfig(pattern).set_observation_type(kind).set_dtype_configs(types)


def _with_root(kind: Any, types: Types, root: Any, reference: Any) -> BackendPatternConfig:
    config = pattern_of(kind, types).set_root_module(root)
    return config.set_reference_quantized_module(reference) if reference is not None else config


def _fusion(pattern: Any, types: Types, kind: Any, fuse: Any) -> BackendPatternConfig:
    return pattern_of(pattern, types).set_fuser_method(fuse).set_fused_module(kind)


class _Conv(NamedTuple):
    """The layers of a convolution over some axes."""

    root: Any
    transposed: Any
    norm: Any
    function: Any
    transposed_function: Any
    qat: Any
    reference: Any
    transposed_reference: Any
    relu: Any
    norm_layer: Any
    norm_relu: Any
    relu_qat: Any
    norm_qat: Any
    norm_relu_qat: Any


def _conv(axes: int) -> _Conv:
    n = f"{axes}d"
    return _Conv(
        getattr(nn, f"Conv{n}"), getattr(nn, f"ConvTranspose{n}"), getattr(nn, f"BatchNorm{n}"),
        getattr(F, f"conv{n}"), getattr(F, f"conv_transpose{n}"), getattr(nnqat, f"Conv{n}"),
        getattr(nnqr, f"Conv{n}"), getattr(nnqr, f"ConvTranspose{n}"), getattr(nni, f"ConvReLU{n}"),
        getattr(nni, f"ConvBn{n}"), getattr(nni, f"ConvBnReLU{n}"), getattr(nniqat, f"ConvReLU{n}"),
        getattr(nniqat, f"ConvBn{n}"), getattr(nniqat, f"ConvBnReLU{n}"),
    )  # fmt: skip


def conv_patterns(
    types: Types, axes: Iterable[int] = (1, 2, 3), transposed: bool = True
) -> list[BackendPatternConfig]:
    """Convolutions, alone and with a normalization, a ReLU or both.

    Args:
        types: the sets of types.
        axes: the numbers of axes.
        transposed: whether transposed convolutions belong to them.
    """
    configs = []
    for n in axes:
        layers = _conv(n)
        configs += _conv_patterns(layers, types)
        if transposed:
            configs += _transposed_patterns(layers, types)
    return configs


def _transposed_patterns(c: _Conv, types: Types) -> list[BackendPatternConfig]:
    root, reference = c.transposed, c.transposed_reference
    return [
        _with_root(root, types, root, reference),
        _with_root((root, c.norm), types, root, reference).set_fuser_method(fuse_convtranspose_bn),
        pattern_of(c.transposed_function, types)._set_input_type_to_index({"weight": 1, "bias": 2}),
    ]


def _conv_patterns(c: _Conv, types: Types) -> list[BackendPatternConfig]:
    indices = {"weight": 1, "bias": 2}
    fuse_relu = sequential_fuser(c.relu)
    return [
        _with_root(c.root, types, c.root, c.reference).set_qat_module(c.qat),
        _with_root(c.qat, types, c.root, c.reference),
        pattern_of(c.function, types)._set_input_type_to_index(indices),
        *(_fusion((c.root, relu), types, c.relu, fuse_relu) for relu in RELUS),
        pattern_of(c.relu, types).set_qat_module(c.relu_qat),
        _with_root(c.relu_qat, types, c.root, c.reference),
        *(pattern_of((c.function, relu), types) for relu in RELUS),
        _fusion((c.root, c.norm), types, c.norm_layer, fuse_conv_bn),
        _fusion((c.root, c.norm, nn.ReLU), types, c.norm_relu, fuse_conv_bn_relu),
        _fusion((c.root, c.norm, F.relu), types, c.norm_relu, fuse_conv_bn_relu).set_root_module(c.root),
        pattern_of(c.norm_layer, types).set_qat_module(c.norm_qat),
        pattern_of(c.norm_relu, types).set_qat_module(c.norm_relu_qat),
        _with_root(c.norm_qat, types, c.root, c.reference),
        _with_root(c.norm_relu_qat, types, c.root, c.reference),
    ]


def linear_patterns(types: Types, fused: bool = True) -> list[BackendPatternConfig]:
    """Linear layers, alone and with a normalization or a ReLU.

    Args:
        types: the sets of types.
        fused: whether the fused layers belong to them.
    """
    linear, reference = nn.Linear, nnqr.Linear
    alone = [
        _with_root(linear, types, linear, reference).set_qat_module(nnqat.Linear),
        _with_root(nnqat.Linear, types, linear, reference),
        pattern_of(F.linear, types)._set_input_type_to_index({"weight": 1, "bias": 2}),
    ]
    if not fused:
        return alone
    fuse_relu = sequential_fuser(nni.LinearReLU)
    return [
        *alone,
        *(_fusion((linear, relu), types, nni.LinearReLU, fuse_relu) for relu in RELUS),
        _with_root(nni.LinearReLU, types, linear, reference).set_qat_module(nniqat.LinearReLU),
        _with_root(nniqat.LinearReLU, types, linear, reference),
        *(pattern_of((F.linear, relu), types) for relu in RELUS),
        _fusion((linear, nn.BatchNorm1d), types, nni.LinearBn1d, fuse_linear_bn),
        _with_root(nni.LinearBn1d, types, linear, reference).set_qat_module(nniqat.LinearBn1d),
        _with_root(nniqat.LinearBn1d, types, linear, reference),
    ]


# By the number of tensors: with one, a number is added, and the result may have the input's scale.
_BY_TENSORS = {0: OWN, 1: SHARED, 2: OWN}


#: Sums and products, as operators of Python and as functions.
BINARY = (operator.add, tl_core.add, operator.mul, tl_core.mul)


def binary_patterns(types: Types, functions: tuple[Any, ...] = BINARY) -> list[BackendPatternConfig]:
    """Functions of two numbers, alone and with a ReLU, and products of matrices.

    Args:
        types: the sets of types.
        functions: the functions of two numbers.
    """
    configs = []
    for function in functions:
        for pattern in (*((function, relu) for relu in (*RELUS, tl_core.relu)), function):
            config = pattern_of(pattern, types)
            configs.append(config._set_num_tensor_args_to_observation_type(_BY_TENSORS))
    return [*configs, pattern_of(tl_core.matmul, types)] if functions is BINARY else configs


def cat_pattern(types: Types) -> BackendPatternConfig:
    """`cat`, whose inputs and result have one scale.

    Args:
        types: the sets of types.
    """
    return pattern_of(tl_core.cat, types, SHARED)


_DEFAULT = (
    nn.ELU, nn.LeakyReLU, nn.Hardswish, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.Dropout,
    nn.PReLU, F.elu, F.hardswish, F.leaky_relu, F.dropout,
)  # fmt: skip


def default_patterns(types: Types) -> list[BackendPatternConfig]:
    """Activations and normalizations whose results have a scale of their own.

    Args:
        types: the sets of types.
    """
    return [
        *(pattern_of(kind, types) for kind in _DEFAULT),
        pattern_of(F.group_norm, types)._set_input_type_to_index({"weight": 2, "bias": 3}),
        pattern_of(F.instance_norm, types)._set_input_type_to_index({"weight": 3, "bias": 4}),
    ]


#: Operators with results from 0 to 1, and from -1 to 1.
UNIT: tuple[Any, ...] = (
    nn.Hardsigmoid, F.hardsigmoid, "hardsigmoid", "hardsigmoid_", nn.Sigmoid, tl_core.sigmoid, "sigmoid", "sigmoid_",
    nn.Softmax,
)  # fmt: skip
SYMMETRIC: tuple[Any, ...] = (nn.Tanh, tl_core.tanh, "tanh", "tanh_")


def fixed_patterns(types: Types) -> list[BackendPatternConfig]:
    """Operators whose results have a known range.

    Types of `quint8` get the one scale and zero point that fit this range.

    Args:
        types: the sets of types.
    """
    configs = []
    for patterns, scale, zero in ((UNIT, 1 / 256, 0), (SYMMETRIC, 2 / 256, 128)):
        exact = [_with_exact_scale(config, scale, zero) for config in types]
        configs += [pattern_of(pattern, exact) for pattern in patterns]
    return configs


def _with_exact_scale(config: DTypeConfig, scale: float, zero_point: int) -> DTypeConfig:
    from ..dtypes import quint8

    def exact(constrained: DTypeWithConstraints) -> DTypeWithConstraints:
        if constrained.dtype is not quint8:
            return constrained
        return DTypeWithConstraints(
            quint8, 0, 255, scale_exact_match=scale, zero_point_exact_match=zero_point
        )

    return DTypeConfig(
        exact(config.input_dtype_with_constraints),
        exact(config.output_dtype_with_constraints),
        config.weight_dtype_with_constraints,
        config.bias_dtype,
        config.is_dynamic,
    )


#: Operators whose results have the scale of the input.
SHARED_NAMES: tuple[Any, ...] = (
    nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d,
    nn.Hardtanh, nn.Identity, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.PixelShuffle, nn.PixelUnshuffle, nn.ReLU,
    nn.ReLU6, tl_core.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.hardtanh, F.hardtanh_,
    F.interpolate, F.max_pool1d, F.max_pool2d, F.max_pool3d, tl_core.pixel_shuffle, tl_core.pixel_unshuffle, F.relu,
    F.relu6, tl_core.avg_pool1d, F.avg_pool2d, F.avg_pool3d, tl_core.clamp, tl_core.flatten, tl_core.mean,
    tl_core.narrow, tl_core.repeat_interleave, tl_core.transpose, tl_core.squeeze, tl_core.stack, tl_core.unsqueeze,
    operator.floordiv, "contiguous", "clamp", "detach", "detach_", "mean", "permute", "repeat", "repeat_interleave",
    "reshape", "resize_", "relu", "relu_", "squeeze", "squeeze_", "transpose", "unsqueeze", "unsqueeze_", "view",
)  # fmt: skip


def shared_patterns(types: Types, names: Iterable[Any] = SHARED_NAMES) -> list[BackendPatternConfig]:
    """Operators whose results have the scale of the input.

    Args:
        types: the sets of types.
        names: the operators.
    """
    return [pattern_of(name, types, SHARED) for name in names]


def size_patterns(types: Types) -> list[BackendPatternConfig]:
    """`x.shape` and `x.size()`, which observe nothing.

    Args:
        types: the sets of types.
    """
    kind = ObservationType.INPUT_OUTPUT_NOT_OBSERVED
    return [pattern_of(name, types, kind) for name in ("shape", "size")]


def batch_norm_patterns(
    types: Types, alone: Iterable[Any] = (nn.BatchNorm2d, nn.BatchNorm3d), fused: bool = True
) -> list[BackendPatternConfig]:
    """Normalizations without a convolution.

    Args:
        types: the sets of types.
        alone: the classes.
        fused: whether layers with a ReLU belong to them.
    """
    layers = {nn.BatchNorm2d: nni.BNReLU2d, nn.BatchNorm3d: nni.BNReLU3d}
    configs = []
    for norm in alone:
        if fused:
            kind = layers[norm]
            configs += [_fusion((norm, relu), types, kind, sequential_fuser(kind)) for relu in RELUS]
        configs.append(pattern_of(norm, types))
    return [*configs, *(pattern_of(layers[norm], types) for norm in alone if fused)]


def layer_norm_patterns(types: Types) -> list[BackendPatternConfig]:
    """Layer normalizations, whose weights stay in floating numbers.

    Args:
        types: the sets of types.
    """
    function = pattern_of(F.layer_norm, types)._set_input_type_to_index({"weight": 2, "bias": 3})
    return [pattern_of(nn.LayerNorm, types), function]


def recurrent_patterns(types: Types) -> list[BackendPatternConfig]:
    """Recurrent layers, quantized at each call.

    Args:
        types: the sets of types.
    """
    pairs = (
        (nn.GRUCell, nnqr.GRUCell),
        (nn.LSTMCell, nnqr.LSTMCell),
        (nn.RNNCell, nnqr.RNNCell),
        (nn.LSTM, nnqr.LSTM),
        (nn.GRU, nnqr.GRU),
    )
    return [_with_root(kind, types, kind, reference) for kind, reference in pairs]


def embedding_patterns(types: Types, function: bool = False) -> list[BackendPatternConfig]:
    """Embeddings, whose weights alone are quantized.

    Args:
        types: the sets of types.
        function: whether `F.embedding` belongs to them.
    """
    configs = []
    for kind, qat, reference in (
        (nn.Embedding, nnqat.Embedding, nnqr.Embedding),
        (nn.EmbeddingBag, nnqat.EmbeddingBag, nnqr.EmbeddingBag),
    ):
        configs.append(_with_root(kind, types, kind, reference).set_qat_module(qat))
        configs.append(_with_root(qat, types, kind, reference))
        if function and kind is nn.Embedding:
            configs.append(pattern_of(F.embedding, types)._set_input_type_to_index({"weight": 1}))
    return configs


def addmm_pattern(types: Types) -> BackendPatternConfig:
    """`addmm` with a weight of integers.

    Args:
        types: the sets of types.
    """
    return pattern_of(tl_core.addmm, types)._set_input_type_to_index({"bias": 0, "input": 1, "weight": 2})
