"""The configuration of the engine `qnnpack`."""

from __future__ import annotations

from tl_core import quint4x2

from ..dtypes import quint8
from . import operator_patterns as patterns
from .backend_config import BackendConfig
from .dtype_configs import BYTES, DYNAMIC, DYNAMIC_HALF, SIGNED, SIGNED_WEIGHTED, WEIGHTED, embedding_types

__all__ = ["get_qnnpack_backend_config"]


def get_qnnpack_backend_config() -> BackendConfig:
    """The configuration of the engine `qnnpack`, with signed activations first.

    Example:
        >>> get_qnnpack_backend_config().name
        'qnnpack'
    """
    plain = [SIGNED, BYTES]
    return BackendConfig("qnnpack").set_backend_pattern_configs(
        [
            *patterns.conv_patterns([SIGNED_WEIGHTED, WEIGHTED]),
            *patterns.linear_patterns([SIGNED_WEIGHTED, WEIGHTED, DYNAMIC, DYNAMIC_HALF]),
            *patterns.binary_patterns(plain),
            patterns.cat_pattern(plain),
            *patterns.default_patterns(plain),
            *patterns.fixed_patterns(plain),
            *patterns.shared_patterns(plain),
            *patterns.batch_norm_patterns(plain),
            *patterns.recurrent_patterns([DYNAMIC, DYNAMIC_HALF]),
            *patterns.embedding_patterns(embedding_types(quint8, quint4x2)),
        ]
    )
