"""The configuration of the engine `x86`."""

from __future__ import annotations

from tl_core import quint4x2

from ..dtypes import quint8
from . import operator_patterns as patterns
from .backend_config import BackendConfig
from .dtype_configs import BYTES, DYNAMIC, DYNAMIC_HALF, WEIGHTED, embedding_types

__all__ = ["get_x86_backend_config"]


def get_x86_backend_config() -> BackendConfig:
    """The configuration of the engine `x86`.

    Example:
        >>> get_x86_backend_config().name
        'x86'
    """
    weighted, plain = [WEIGHTED], [BYTES]
    return BackendConfig("x86").set_backend_pattern_configs(
        [
            *patterns.conv_patterns(weighted),
            *patterns.linear_patterns([WEIGHTED, DYNAMIC, DYNAMIC_HALF]),
            *patterns.binary_patterns(weighted),
            patterns.cat_pattern(plain),
            *patterns.default_patterns(plain),
            *patterns.fixed_patterns(weighted),
            *patterns.shared_patterns(plain),
            *patterns.size_patterns(plain),
            *patterns.batch_norm_patterns(plain),
            *patterns.recurrent_patterns([DYNAMIC, DYNAMIC_HALF]),
            *patterns.embedding_patterns(embedding_types(quint8, quint4x2)),
        ]
    )
