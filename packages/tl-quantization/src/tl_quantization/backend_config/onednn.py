"""The configuration of the engine `onednn`: layers with an addend, LeakyReLU or Tanh are fused."""

from __future__ import annotations

import operator
from typing import Any

import tl_core
import tl_nn as nn
from tl_nn import functional as F
from tl_nn.utils.fusion import fuse_linear_bn_eval

from ..dtypes import qint8
from ..fuser_method_mappings import fuse_conv_bn, sequential_fuser
from ..nn import intrinsic as nni
from ..nn.quantized import reference as nnqr
from . import operator_patterns as patterns
from .backend_config import BackendConfig, BackendPatternConfig
from .dtype_configs import BYTES, DYNAMIC, LAYER_NORM, WEIGHTED, embedding_types
from .wildcard import MatchAllNode

__all__ = ["get_onednn_backend_config"]


def get_onednn_backend_config() -> BackendConfig:
    """The configuration of the engine `onednn`.

    Example:
        >>> get_onednn_backend_config().name
        'onednn'
    """
    plain, linear = [BYTES], [WEIGHTED, DYNAMIC]
    return BackendConfig("onednn").set_backend_pattern_configs(
        [
            *patterns.conv_patterns([WEIGHTED]),
            *patterns.linear_patterns(linear),
            *patterns.binary_patterns(plain),
            patterns.cat_pattern(plain),
            *patterns.default_patterns(plain),
            *patterns.fixed_patterns(plain),
            *patterns.shared_patterns(plain),
            *patterns.batch_norm_patterns(plain),
            *patterns.layer_norm_patterns([LAYER_NORM]),
            *patterns.recurrent_patterns([DYNAMIC]),
            *patterns.embedding_patterns(embedding_types(qint8)),
            *_addends(),
            *_activations(linear),
        ]
    )


def _addends() -> list[BackendPatternConfig]:
    """A convolution, or with a normalization, whose result is added to another tensor, or rectified then."""
    configs = []
    for layer, kind in ((None, nni.ConvAdd2d), (nn.ReLU, nni.ConvAddReLU2d)):
        for conv in ((nn.BatchNorm2d, nn.Conv2d), nn.Conv2d):
            for is_left in (True, False):
                adds = (tl_core.add, operator.add)
                configs += [_addend(add, conv, is_left, layer, kind) for add in adds]
        root = BackendPatternConfig(kind).set_dtype_configs([WEIGHTED]).set_root_module(nn.Conv2d)
        configs.append(root.set_reference_quantized_module(nnqr.Conv2d))
    return configs


def _addend(add: Any, conv: Any, is_left: bool, layer: Any, kind: Any) -> BackendPatternConfig:
    operands = (conv, MatchAllNode) if is_left else (MatchAllNode, conv)
    has_relu, has_norm = layer is not None, isinstance(conv, tuple)
    total = (add, *operands)

    def parts(pattern: Any) -> tuple[Any, Any, Any]:
        """The ReLU, the convolution's part and the other addend of a match."""
        relu, (_, first, second) = pattern if has_relu else (None, pattern)
        return relu, *((first, second) if is_left else (second, first))

    def root(pattern: Any) -> Any:
        own = parts(pattern)[1]
        return own[1] if has_norm else own

    def further_inputs(pattern: Any) -> list[Any]:
        return [parts(pattern)[2]]

    def fuse(is_qat: bool, *layers: Any) -> Any:
        """Called with the match's modules, nested as the pattern: `(relu, (add, …))` or `(add, …)`."""
        match = layers if len(layers) > 1 else layers[0]
        relu, own, _ = parts(match)
        total_of = match[1][0] if has_relu else match[0]
        module = fuse_conv_bn(is_qat, own[1], own[0]) if has_norm else own
        return kind(module, total_of, relu) if has_relu else kind(module, total_of)

    config = BackendPatternConfig()._set_pattern_complex_format((layer, total) if has_relu else total)
    config = config.set_dtype_configs([WEIGHTED]).set_fuser_method(fuse).set_fused_module(kind)
    return config._set_root_node_getter(root)._set_extra_inputs_getter(further_inputs)


def _fuse_linear_bn_leaky_relu(is_qat: bool, linear: Any, bn: Any, leaky_relu: Any) -> Any:
    if len({layer.training for layer in (linear, bn, leaky_relu)}) != 1:
        raise AssertionError("Linear, BN and LeakyReLU all must be in the same mode (train or eval).")
    if is_qat:
        raise NotImplementedError(
            "a linear layer with a normalization and LeakyReLU is fused in evaluation only"
        )
    return nni.LinearLeakyReLU(fuse_linear_bn_eval(linear, bn), leaky_relu)


def _activations(types: Any) -> list[BackendPatternConfig]:
    """A linear layer with LeakyReLU or Tanh."""
    configs = []
    for kind, modules in (
        (nni.LinearLeakyReLU, (nn.LeakyReLU, F.leaky_relu)),
        (nni.LinearTanh, (nn.Tanh, tl_core.tanh)),
    ):
        fuse = sequential_fuser(kind)
        for module in modules:
            config = patterns.pattern_of((nn.Linear, module), types).set_fuser_method(fuse)
            configs.append(config.set_fused_module(kind))
        root = patterns.pattern_of(kind, types).set_root_module(nn.Linear)
        configs.append(root.set_reference_quantized_module(nnqr.Linear))
        configs += [patterns.pattern_of((F.linear, module), types) for module in modules]
    pattern = (nn.Linear, nn.BatchNorm1d, nn.LeakyReLU)
    normalized = patterns.pattern_of(pattern, types).set_fuser_method(_fuse_linear_bn_leaky_relu)
    return [*configs, normalized.set_fused_module(nni.LinearLeakyReLU)]
