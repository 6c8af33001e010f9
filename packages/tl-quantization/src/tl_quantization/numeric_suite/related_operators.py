"""Operators that are the same layer in other numbers, and the numbers that operators take and return."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import tl_core
import tl_nn as nn
from tl_core.operators import packets
from tl_nn import functional as F

from ..backend_config import get_native_backend_config
from ..functions import quantize_per_tensor
from ..graph import lowered_layers
from ..nn import intrinsic as nni
from ..nn import qat as nnqat
from ..nn import quantized as nnq
from ..nn.intrinsic import qat as nniqat
from ..nn.intrinsic import quantized as nniq
from ..nn.intrinsic.quantized import dynamic as nniqd
from ..nn.qat import dynamic as nnqatd
from ..nn.quantized import dynamic as nnqd
from ..quantization_mappings import DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS
from .results import NSNodeTargetType

__all__ = [
    "add_op_to_sets_of_related_ops",
    "get_base_name_for_op",
    "get_base_name_to_sets_of_related_ops",
    "get_node_type_to_io_type_map",
    "get_unmatchable_types_map",
]

NonDynamicallyQuantizableLinear: Any = nn.modules.linear.NonDynamicallyQuantizableLinear
Targets = set[Any]  # of functions, classes of modules, and names of methods


def _families() -> list[Targets]:
    """The sets of operators of float models, one for each layer."""
    single: list[Any] = [
        nn.Conv1d, nn.Conv2d, nn.Conv3d, F.conv1d, F.conv2d, F.conv3d, nn.Linear, F.linear, nn.LSTM, tl_core.cat,
        nn.BatchNorm2d, nn.BatchNorm3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d,
        F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d, nn.ELU, nn.Embedding, nn.EmbeddingBag,
        nn.GroupNorm, nn.Hardswish, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.LayerNorm,
        nn.LeakyReLU, F.elu, F.hardswish, F.group_norm, F.instance_norm, F.layer_norm, F.leaky_relu,
        operator.floordiv, tl_core.unsqueeze, tl_core.stack, tl_core.squeeze, tl_core.sort,
        tl_core.repeat_interleave, tl_core.min, tl_core.mean, tl_core.max, tl_core.transpose, tl_core.flatten,
        tl_core.clamp, tl_core.chunk, F.interpolate, nn.Dropout, F.dropout, tl_core.matmul, nn.Softmax,
        nn.PixelShuffle, F.pixel_shuffle, nn.PixelUnshuffle, F.pixel_unshuffle, tl_core.narrow,
    ]  # fmt: skip
    quantized = packets.quantized
    several: list[Targets] = [
        {nn.AvgPool1d, F.avg_pool1d, tl_core.avg_pool1d},
        {nn.AvgPool2d, F.avg_pool2d},
        {nn.AvgPool3d, F.avg_pool3d},
        {nn.AdaptiveAvgPool1d, F.adaptive_avg_pool1d, tl_core.adaptive_avg_pool1d},
        {nn.AdaptiveAvgPool2d, F.adaptive_avg_pool2d},
        {nn.AdaptiveAvgPool3d, F.adaptive_avg_pool3d},
        {tl_core.add, operator.add},
        {tl_core.mul, operator.mul},
        {F.relu, nn.ReLU, "relu", "relu_", tl_core.relu},
        {nn.MaxPool1d, F.max_pool1d, tl_core.max_pool1d},
        {nn.MaxPool2d, F.max_pool2d, tl_core.max_pool2d},
        {nn.MaxPool3d, F.max_pool3d, tl_core.max_pool3d},
        {tl_core.sigmoid, "sigmoid", "sigmoid_", nn.Sigmoid, nnq.Sigmoid, F.sigmoid},
        {nn.ReLU6, F.relu6},
        {nn.SiLU, F.silu},
        {nn.Mish, F.mish},
        {nn.Tanh, F.tanh, tl_core.tanh, "tanh_", "tanh"},
        {"hardsigmoid_", "hardsigmoid", F.hardsigmoid, nn.Hardsigmoid},
        {nn.Hardtanh, F.hardtanh, F.hardtanh_},
        {nn.PReLU, nnq.PReLU},
        {F.prelu, quantized.prelu},
    ]
    return [*({each} for each in single), *several]


def _first(pattern: Any) -> Any:
    while isinstance(pattern, (list, tuple)):
        pattern = pattern[-1]
    return pattern


def _connections() -> Iterator[tuple[Any, Any]]:
    """Pairs of an operator and the one that takes its place in a mode of quantization."""
    yield nn.Linear, NonDynamicallyQuantizableLinear
    for pattern, config in get_native_backend_config()._pattern_complex_format_to_config.items():
        for kind in (config.fused_module, config.qat_module, config.reference_quantized_module):
            if kind is not None:
                yield _first(pattern), kind
    tables: tuple[Any, ...] = (
        lowered_layers.STATIC,
        lowered_layers.DYNAMIC,
        lowered_layers.WEIGHT_ONLY,
        lowered_layers.SCALED,
        lowered_layers.FUSED,
        DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    )
    for table in tables:
        yield from table.items()
    yield from _function_connections()


def _function_connections() -> Iterator[tuple[Any, Any]]:
    quantized = packets.quantized
    convs = (F.conv1d, F.conv2d, F.conv3d)
    for function, name in zip((F.linear, *convs), ("linear", "conv1d", "conv2d", "conv3d"), strict=True):
        yield function, getattr(quantized, name)
        yield function, getattr(quantized, f"{name}_relu")
    yield F.linear, quantized.linear_dynamic
    for functions, name in (((operator.add, tl_core.add), "add"), ((operator.mul, tl_core.mul), "mul")):
        for function in functions:
            yield function, getattr(quantized, name)
            yield function, getattr(quantized, f"{name}_relu")
    for function, name in (
        (F.elu, "elu"),
        (F.hardswish, "hardswish"),
        (F.instance_norm, "instance_norm"),
        (F.group_norm, "group_norm"),
        (F.layer_norm, "layer_norm"),
        (F.leaky_relu, "leaky_relu"),
        (F.dropout, "dropout"),
        (tl_core.matmul, "matmul"),
        (tl_core.cat, "cat"),
    ):
        if hasattr(quantized, name):
            yield function, getattr(quantized, name)


def get_base_name_to_sets_of_related_ops() -> dict[str, Targets]:
    """The sets of operators that are one layer in several kinds of numbers, by a name.

    Example:
        >>> import tl_nn as nn
        >>> from tl_quantization.nn import quantized as nnq
        >>> sets = get_base_name_to_sets_of_related_ops()
        >>> any({nn.Conv2d, nnq.Conv2d} <= each for each in sets.values())
        True
    """
    families = _families()
    for one, other in _connections():
        for family in families:
            if one in family or other in family:
                family.update((one, other))
                break
    return {str(number): family for number, family in enumerate(families)}


def get_base_name_for_op(
    base_name_to_sets_of_related_ops: dict[str, Targets], op: NSNodeTargetType
) -> str | None:
    """The name of the set with an operator, or None.

    Args:
        base_name_to_sets_of_related_ops: the sets by name.
        op: the operator.
    """
    return next((name for name, each in base_name_to_sets_of_related_ops.items() if op in each), None)


def add_op_to_sets_of_related_ops(
    base_name_to_sets_of_related_ops: dict[str, Targets],
    op: NSNodeTargetType,
    related_op: NSNodeTargetType | None,
) -> None:
    """Adds an operator to the set of another one, or as a new set.

    Args:
        base_name_to_sets_of_related_ops: the sets by name, which are changed.
        op: the operator.
        related_op: the operator whose set it joins, or None.

    Raises:
        AssertionError: no set has `related_op`.
    """
    if related_op is None:
        number = 0
        while str(number) in base_name_to_sets_of_related_ops:
            number += 1
        base_name_to_sets_of_related_ops[str(number)] = {op}
        return
    name = get_base_name_for_op(base_name_to_sets_of_related_ops, related_op)
    if name is None:
        raise AssertionError(f"{related_op} was not found")
    base_name_to_sets_of_related_ops[name].add(op)


def _classes(module: Any, names: str) -> Targets:
    return {getattr(module, name) for name in names.split()}


def _float_modules() -> Targets:
    return {
        NonDynamicallyQuantizableLinear,
        nnqatd.Linear,
        nniqd.LinearReLU,
        *_classes(
            nn,
            "Linear Conv1d Conv2d Conv3d LSTM BatchNorm2d BatchNorm3d Dropout ConvTranspose1d ConvTranspose2d "
            "ConvTranspose3d ELU GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm Hardswish LeakyReLU "
            "ReLU6 SiLU Mish Sigmoid Softmax PReLU",
        ),
        *_classes(nnqat, "Linear Conv1d Conv2d Conv3d Embedding EmbeddingBag"),
        *_classes(nnqd, "Linear LSTM"),
        *_classes(
            nni,
            "BNReLU2d BNReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearReLU LinearBn1d ConvBn1d ConvBn2d ConvBn3d "
            "LinearLeakyReLU LinearTanh ConvAdd2d ConvAddReLU2d",
        ),
        *_classes(
            nniqat,
            "ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d ConvReLU1d ConvReLU2d ConvReLU3d "
            "LinearReLU LinearBn1d",
        ),
    }


def _integer_modules() -> Targets:
    return {
        *_classes(
            nnq,
            "Linear Conv1d Conv2d Conv3d BatchNorm2d BatchNorm3d Dropout ConvTranspose1d ConvTranspose2d ELU "
            "InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm Hardswish LeakyReLU Embedding EmbeddingBag Sigmoid "
            "Softmax PReLU",
        ),
        *_classes(
            nniq,
            "BNReLU2d BNReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearReLU LinearLeakyReLU LinearTanh ConvAdd2d "
            "ConvAddReLU2d",
        ),
    }


def _float_functions() -> Targets:
    return {
        F.linear, F.conv1d, F.conv2d, F.conv3d, tl_core.cat, F.elu, F.hardswish, F.instance_norm, F.layer_norm,
        F.leaky_relu, F.dropout, F.silu, F.mish, operator.add, tl_core.add, operator.mul, tl_core.mul, tl_core.sum,
        F.prelu,
    }  # fmt: skip


def _functions_of_both() -> Targets:
    return {
        F.relu, tl_core.relu, F.tanh, tl_core.tanh, F.sigmoid, tl_core.sigmoid, F.hardsigmoid, operator.floordiv,
        tl_core.adaptive_avg_pool1d, F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.dropout,
        F.hardtanh, F.hardtanh_, F.interpolate, F.max_pool1d, F.max_pool2d, F.max_pool3d, F.relu6, F.pixel_shuffle,
        F.pixel_unshuffle, tl_core.avg_pool1d, F.avg_pool1d, F.avg_pool2d, F.avg_pool3d, tl_core.cat, tl_core.chunk,
        tl_core.clamp, tl_core.flatten, tl_core.transpose, tl_core.max, tl_core.mean, tl_core.min, tl_core.narrow,
        tl_core.repeat_interleave, tl_core.sort, tl_core.squeeze, tl_core.stack, tl_core.unsqueeze, operator.add,
    }  # fmt: skip


def get_node_type_to_io_type_map() -> dict[str, Targets]:
    """The operators by the numbers that they take and return: floating numbers, halves, integers, or either.

    Example:
        >>> import tl_nn as nn
        >>> nn.Linear in get_node_type_to_io_type_map()["mods_io_type_fp32"]
        True
    """
    quantized = packets.quantized
    names = (
        "linear linear_relu conv1d conv1d_relu conv2d conv2d_relu conv3d conv3d_relu cat elu hardswish instance_norm "
        "layer_norm leaky_relu dropout prelu"
    )
    return {
        "funs_io_type_fp32": _float_functions(),
        "funs_io_type_fp16": set(),
        "funs_io_type_int8": {getattr(quantized, n) for n in names.split() if hasattr(quantized, n)},
        "funs_io_type_fp32_or_int8": _functions_of_both(),
        "mods_io_type_fp32": _float_modules(),
        "mods_io_type_int8": _integer_modules(),
        "mods_io_type_fp32_or_int8": _classes(
            nn,
            "ReLU Tanh Sigmoid Hardsigmoid AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AvgPool1d AvgPool2d "
            "AvgPool3d Dropout Hardtanh Identity MaxPool1d MaxPool2d MaxPool3d PixelShuffle PixelUnshuffle ReLU6",
        ),
        "meths_io_type_fp32_or_int8": {
            *(["sigmoid_", "sigmoid", "tanh_", "tanh", "hardsigmoid_", "hardsigmoid", "relu_", "relu"])
        },
    }


def get_unmatchable_types_map() -> dict[str, Targets]:
    """The operators that no comparison needs, such as those that move numbers or quantize them.

    Example:
        >>> "view" in get_unmatchable_types_map()["meths_unmatchable"]
        True
    """
    names = (
        "to dequantize reshape view unsqueeze_ unsqueeze transpose squeeze_ squeeze size shape resize_ "
        "repeat_interleave repeat permute numel mean detach_ detach contiguous clamp chunk"
    )
    return {
        "funs_unmatchable": {quantize_per_tensor, operator.getitem},
        "mods_unmatchable": {nn.Identity},
        "meths_unmatchable": {*names.split()},
    }
