"""The integer layers of reference layers, and the operators that take quantized tensors as they are."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import tl_core
import tl_nn as nn
from tl_core import Tensor

from ..backend_config.operator_patterns import SHARED_NAMES, SYMMETRIC, UNIT
from ..nn import intrinsic as nni
from ..nn import quantized as nnq
from ..nn.intrinsic import quantized as nniq
from ..nn.intrinsic.quantized import dynamic as nniqd
from ..nn.quantized import dynamic as nnqd
from ..nn.quantized import reference as nnqr
from ..quantization_mappings import DEFAULT_STATIC_QUANT_MODULE_MAPPINGS

__all__ = ["DYNAMIC", "FUSED", "STATIC", "WEIGHT_ONLY", "dynamic_layer", "keeps_scale", "static_layer"]

#: Reference layers to integer layers, with static scales.
STATIC: dict[Any, Any] = {
    nnqr.Linear: nnq.Linear,
    nnqr.Conv1d: nnq.Conv1d,
    nnqr.Conv2d: nnq.Conv2d,
    nnqr.Conv3d: nnq.Conv3d,
    nnqr.ConvTranspose1d: nnq.ConvTranspose1d,
    nnqr.ConvTranspose2d: nnq.ConvTranspose2d,
    nnqr.ConvTranspose3d: nnq.ConvTranspose3d,
}
#: Fused layers whose first part is a reference layer.
FUSED: dict[Any, Any] = {
    kind: DEFAULT_STATIC_QUANT_MODULE_MAPPINGS[kind]
    for kind in (
        nni.LinearReLU,
        nni.LinearLeakyReLU,
        nni.LinearTanh,
        nni.ConvReLU1d,
        nni.ConvReLU2d,
        nni.ConvReLU3d,
        nni.ConvAdd2d,
        nni.ConvAddReLU2d,
    )
}
#: Layers with a scale of their own and no integer weight.
SCALED: dict[Any, Any] = {
    kind: DEFAULT_STATIC_QUANT_MODULE_MAPPINGS[kind]
    for kind in (
        nn.BatchNorm2d,
        nn.BatchNorm3d,
        nn.Dropout,
        nn.ELU,
        nn.GroupNorm,
        nn.Hardswish,
        nn.InstanceNorm1d,
        nn.InstanceNorm2d,
        nn.InstanceNorm3d,
        nn.LayerNorm,
        nn.LeakyReLU,
        nn.PReLU,
        nn.Softmax,
        nni.BNReLU2d,
        nni.BNReLU3d,
    )
}
#: Reference layers to layers that quantize at each call.
DYNAMIC: dict[Any, Any] = {
    nnqr.Linear: nnqd.Linear,
    nnqr.LSTM: nnqd.LSTM,
    nnqr.GRU: nnqd.GRU,
    nnqr.LSTMCell: nnqd.LSTMCell,
    nnqr.GRUCell: nnqd.GRUCell,
    nnqr.RNNCell: nnqd.RNNCell,
}
#: Reference layers to layers whose weights alone are integers.
WEIGHT_ONLY: dict[Any, Any] = {nnqr.Embedding: nnq.Embedding, nnqr.EmbeddingBag: nnq.EmbeddingBag}

# Operators with quantized tensors as arguments: the result has the input's scale or one that is known.
_KEPT = {*SHARED_NAMES, *UNIT, *SYMMETRIC, tl_core.cat, tl_core.permute} - {nn.Softmax}


def keeps_scale(target: Any, module: Any) -> bool:
    """Whether an operator takes quantized tensors as they are.

    Args:
        target: the function or the method's name.
        module: the module that the node calls, or None.
    """
    return (type(module) if module is not None else target) in _KEPT


class _Known:
    """Stands for an observer with a scale and a zero point."""

    def __init__(self, scale: float, zero_point: int) -> None:
        self._qparams = scale, zero_point

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """The scale and the zero point."""
        scale, zero_point = self._qparams
        return tl_core.tensor([scale]), tl_core.tensor([zero_point])


def _with_observer(module: Any, scale: float, zero_point: int) -> Any:
    """A layer that shares everything with another and has an observer."""
    twin = copy(module)
    vars(twin)["activation_post_process"] = _Known(scale, zero_point)
    return twin


def static_layer(module: Any) -> Callable[[float, int], Any] | None:
    """The function from scale and zero point to the integer layer, or None.

    Args:
        module: a reference layer, a fused layer with one, or a layer with a scale.
    """
    kind = STATIC.get(type(module))
    if kind is not None:
        return lambda scale, zero: kind.from_reference(module, scale, zero)
    fused = FUSED.get(type(module))
    if fused is not None and type(module[0]) in STATIC:
        return lambda scale, zero: _fused_layer(fused, module, scale, zero)
    scaled = SCALED.get(type(module))
    if scaled is not None:
        return lambda scale, zero: scaled.from_float(_with_observer(module, scale, zero))
    return None


def _fused_layer(kind: Any, module: Any, scale: float, zero_point: int) -> Any:
    if kind is nniq.LinearLeakyReLU:
        return kind.from_reference(module[0], module[1], scale, zero_point)
    return kind.from_reference(module[0], scale, zero_point)


def dynamic_layer(module: Any) -> Any:
    """The layer that quantizes at each call, or None.

    Args:
        module: a reference layer, or a fused layer with one.
    """
    if type(module) is nni.LinearReLU and type(module[0]) is nnqr.Linear:
        return nniqd.LinearReLU.from_reference(module[0])
    kind = DYNAMIC.get(type(module))
    return None if kind is None else kind.from_reference(module)
