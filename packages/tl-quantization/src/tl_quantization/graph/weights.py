"""Layers with weights: the float layer becomes one that keeps the weight and how to quantize it."""

from __future__ import annotations

from typing import Any

import tl_nn as nn
from tl_nn.utils.parametrize import type_before_parametrizations

from ..backend_config import BackendConfig
from ..backend_config.utils import (
    get_qat_module_classes,
    get_root_module_to_quantized_reference_module,
)
from ..nn.intrinsic.modules.fused import _FusedModule
from ..utils import get_qparam_dict
from .observers import is_float
from .support import types_of_qconfig

__all__ = ["reference_layer", "weighted_classes"]


def weighted_classes(backend: BackendConfig) -> tuple[type, ...]:
    """The classes of layers with weights: alone, fused, and trained with rounding.

    Args:
        backend: the backend.
    """
    kinds = set(get_root_module_to_quantized_reference_module(backend))
    kinds |= set(get_qat_module_classes(backend))
    kinds |= {c.fused_module for c in backend.configs if c.fused_module is not None}
    return tuple(kinds)


def reference_layer(module: Any, qconfig: Any, backend: BackendConfig, is_decomposed: bool) -> Any:
    """The reference layer of an observed or trained layer, or the layer itself if its types aren't supported.

    Args:
        module: the layer, alone or fused.
        qconfig: its configuration.
        backend: the backend.
        is_decomposed: whether the graph has the operators of `quantized_decomposed`.
    """
    types = types_of_qconfig(qconfig)
    if is_float(types.weight) or not _is_supported(module, types, backend):
        return module
    is_trained = isinstance(module, get_qat_module_classes(backend))
    observer = module.weight_fake_quant if is_trained else None
    layer = module.to_float() if is_trained else module
    inner = layer[0] if isinstance(layer, _FusedModule) else layer
    table = get_root_module_to_quantized_reference_module(backend)
    kind: Any = table.get(type_before_parametrizations(inner))
    if kind is None:
        return module
    reference = kind.from_float(inner, _weight_qparams(inner, observer, qconfig, is_decomposed))
    if not isinstance(layer, _FusedModule):
        return reference
    layer[0] = reference
    return layer


def _is_supported(module: Any, types: Any, backend: BackendConfig) -> bool:
    for config in backend.configs:
        if config.pattern is not type_before_parametrizations(module):
            continue
        for target_type in config.dtype_configs:
            if (
                bool(target_type.is_dynamic) != types.is_dynamic
                or target_type.weight_dtype is not types.weight_dtype
            ):
                continue
            if target_type.input_dtype in (None, types.dtype):
                return True
    return False


def _weight_qparams(inner: Any, observer: Any, qconfig: Any, is_decomposed: bool) -> dict[str, Any]:
    if isinstance(inner, (nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell)):
        names = [name for name, _ in inner.named_parameters() if name.startswith("weight")]
        table: dict[str, Any] = {name: _watch_weight(qconfig, getattr(inner, name)) for name in names}
        return {**table, "is_decomposed": is_decomposed}
    if observer is None:
        qparams = _watch_weight(qconfig, inner.weight)
    elif is_decomposed:
        qparams = get_qparam_dict(observer)  # training has chosen the scales, as `convert_pt2e` takes them
    else:
        qparams = _learned_qparams(observer, inner.weight)
    return {**qparams, "is_decomposed": is_decomposed}


def _watch_weight(qconfig: Any, weight: Any) -> dict[str, Any]:
    observer = qconfig.weight()
    observer.to(weight.device)
    observer(weight.detach())
    return get_qparam_dict(observer)


def _learned_qparams(observer: Any, weight: Any) -> dict[str, Any]:
    """The scales of training, for the weight as it is now."""
    observer(weight.detach())
    return get_qparam_dict(observer)
