"""The configuration of all kernels of this package."""

from __future__ import annotations

from typing import Any

from tl_core import quint4x2

from ..dtypes import quint8
from . import operator_patterns as patterns
from .backend_config import BackendConfig, DTypeConfig
from .dtype_configs import BYTES, DYNAMIC, DYNAMIC_HALF, LAYER_NORM, WEIGHTED, embedding_types

__all__ = [
    "default_op_quint8_dtype_config",
    "get_native_backend_config",
    "get_native_backend_config_dict",
    "get_test_only_legacy_native_backend_config",
    "get_test_only_legacy_native_backend_config_dict",
    "weighted_op_quint8_dtype_config",
]

#: The types of a layer with a weight, and of an operator without.
weighted_op_quint8_dtype_config = WEIGHTED
default_op_quint8_dtype_config = BYTES


def get_native_backend_config() -> BackendConfig:
    """The configuration of all kernels of this package.

    Example:
        >>> get_native_backend_config().name
        'native'
    """
    linear = [WEIGHTED, DYNAMIC, DYNAMIC_HALF]
    return _native("native", [WEIGHTED], linear, [BYTES], [LAYER_NORM])


def _native(name: str, conv: Any, linear: Any, plain: list[DTypeConfig], norm: Any) -> BackendConfig:
    return BackendConfig(name).set_backend_pattern_configs(
        [
            *patterns.conv_patterns(conv),
            *patterns.linear_patterns(linear),
            *patterns.binary_patterns(plain),
            patterns.cat_pattern(plain),
            *patterns.default_patterns(plain),
            *patterns.fixed_patterns(plain),
            *patterns.shared_patterns(plain),
            *patterns.size_patterns(plain),
            *patterns.batch_norm_patterns(plain),
            *patterns.layer_norm_patterns(norm),
            *patterns.recurrent_patterns([DYNAMIC, DYNAMIC_HALF]),
            *patterns.embedding_patterns(embedding_types(quint8, quint4x2)),
        ]
    )


def get_native_backend_config_dict() -> dict[str, Any]:
    """`get_native_backend_config` as a dictionary."""
    return get_native_backend_config().to_dict()


def get_test_only_legacy_native_backend_config() -> BackendConfig:
    """The native configuration with float16 for activations, for programs that test converters.

    Example:
        >>> get_test_only_legacy_native_backend_config().name
        '_native_and_fp16'
    """
    import tl_core

    half, single = tl_core.float16, tl_core.float32
    weighted, plain = DTypeConfig(half, half, half, half), DTypeConfig(half, half)
    conv, linear = [WEIGHTED, weighted], [WEIGHTED, DYNAMIC, DYNAMIC_HALF, weighted]
    norm = [LAYER_NORM, DTypeConfig(half, half, single, half)]
    return _native("_native_and_fp16", conv, linear, [BYTES, plain], norm)


def get_test_only_legacy_native_backend_config_dict() -> dict[str, Any]:
    """`get_test_only_legacy_native_backend_config` as a dictionary."""
    return get_test_only_legacy_native_backend_config().to_dict()
