"""The configuration of models that are exported to TensorRT."""

from __future__ import annotations

from typing import Any

from . import operator_patterns as patterns
from .backend_config import BackendConfig, DTypeConfig
from .dtype_configs import BYTES_OF_FLOATS

__all__ = ["get_tensorrt_backend_config", "get_tensorrt_backend_config_dict"]


def get_tensorrt_backend_config() -> BackendConfig:
    """The configuration of models that are exported to TensorRT.

    Example:
        >>> get_tensorrt_backend_config().name
        'tensorrt'
    """
    weighted = [BYTES_OF_FLOATS]
    plain = [DTypeConfig(BYTES_OF_FLOATS.input_dtype, BYTES_OF_FLOATS.output_dtype)]
    return BackendConfig("tensorrt").set_backend_pattern_configs(
        [
            *patterns.conv_patterns(weighted),
            patterns.addmm_pattern(weighted),
            patterns.cat_pattern(plain),
            *patterns.linear_patterns(weighted),
            *patterns.binary_patterns(weighted),
            *patterns.shared_patterns(plain),
            *patterns.size_patterns(plain),
        ]
    )


def get_tensorrt_backend_config_dict() -> dict[str, Any]:
    """`get_tensorrt_backend_config` as a dictionary."""
    return get_tensorrt_backend_config().to_dict()
