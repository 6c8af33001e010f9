"""The configuration of models that are exported to ExecuTorch."""

from __future__ import annotations

import operator
from typing import Any

import tl_core
import tl_nn as nn
from tl_nn import functional as F

from ..dtypes import quint8
from . import operator_patterns as patterns
from .backend_config import BackendConfig
from .dtype_configs import (
    BYTES,
    DYNAMIC,
    DYNAMIC_HALF,
    SIGNED,
    SIGNED_DYNAMIC,
    SIGNED_WEIGHTED,
    WEIGHTED,
    embedding_types,
)

__all__ = ["get_executorch_backend_config"]

_BINARY = (operator.add, tl_core.add, operator.sub, tl_core.sub, operator.mul, tl_core.mul)
_SHARED: tuple[Any, ...] = (
    nn.Flatten, F.adaptive_avg_pool2d, F.elu, F.hardtanh, F.max_pool2d, F.pad, F.relu, F.relu6, F.leaky_relu,
    F.leaky_relu_, nn.AdaptiveAvgPool2d, nn.ConstantPad2d, nn.ELU, nn.MaxPool2d, nn.ReLU6, nn.Hardtanh, nn.LeakyReLU,
    tl_core.clamp, tl_core.flatten, tl_core.mean, tl_core.permute, tl_core.permute_copy, tl_core.squeeze, "clamp",
    "mean", "permute", "reshape", "relu", "relu_", "squeeze", "squeeze_", "leaky_relu",
)  # fmt: skip


def get_executorch_backend_config() -> BackendConfig:
    """The configuration of models that are exported to ExecuTorch.

    Example:
        >>> get_executorch_backend_config().name
        'executorch'
    """
    plain, linear = [SIGNED, BYTES], [SIGNED_WEIGHTED, WEIGHTED, DYNAMIC, SIGNED_DYNAMIC, DYNAMIC_HALF]
    return BackendConfig("executorch").set_backend_pattern_configs(
        [
            *patterns.linear_patterns(linear, fused=False),
            *patterns.conv_patterns([SIGNED_WEIGHTED, WEIGHTED], (2,), transposed=False),
            *patterns.binary_patterns([SIGNED, WEIGHTED], _BINARY),
            *patterns.shared_patterns(plain, _SHARED),
            *patterns.batch_norm_patterns(plain, (nn.BatchNorm2d,), fused=False),
            *patterns.shared_patterns(plain, (tl_core.cat, tl_core.concat, tl_core.concatenate)),
            *patterns.embedding_patterns(embedding_types(quint8), function=True),
        ]
    )
