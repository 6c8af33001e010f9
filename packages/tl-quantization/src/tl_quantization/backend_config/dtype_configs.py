"""Sets of types that several backends support."""

from __future__ import annotations

from typing import Any

import tl_core

from ..dtypes import qint8, quint8
from .backend_config import DTypeConfig, DTypeWithConstraints

__all__ = [
    "BYTES",
    "BYTES_OF_FLOATS",
    "DYNAMIC",
    "DYNAMIC_HALF",
    "LAYER_NORM",
    "SIGNED",
    "SIGNED_DYNAMIC",
    "SIGNED_WEIGHTED",
    "WEIGHTED",
    "embedding_types",
]

_FLOAT = tl_core.float32

#: Input and result of `quint8`.
BYTES = DTypeConfig(quint8, quint8)
#: The same with a weight of `qint8`.
WEIGHTED = DTypeConfig(quint8, quint8, qint8, _FLOAT)
#: The input is quantized at each call.
DYNAMIC = DTypeConfig(quint8, _FLOAT, qint8, _FLOAT, is_dynamic=True)
#: The weight is halved.
DYNAMIC_HALF = DTypeConfig(tl_core.float16, _FLOAT, tl_core.float16, _FLOAT, is_dynamic=True)
#: The weight stays in floating numbers.
LAYER_NORM = DTypeConfig(quint8, quint8, _FLOAT, _FLOAT)
#: Input and result of `qint8`, any scale.
BYTES_OF_FLOATS = DTypeConfig(qint8, qint8, qint8, _FLOAT)

_ACTIVATION = DTypeWithConstraints(qint8, scale_min_lower_bound=2**-12)
_WEIGHT = DTypeWithConstraints(qint8, -127, 127, scale_min_lower_bound=2**-12)

#: Input and result of `qint8` whose scales are at least 2^-12, for kernels of QNNPACK's family.
SIGNED = DTypeConfig(_ACTIVATION, _ACTIVATION)
#: The same with a weight without -128.
SIGNED_WEIGHTED = DTypeConfig(_ACTIVATION, _ACTIVATION, _WEIGHT, _FLOAT)
#: The same with an input that is quantized at each call.
SIGNED_DYNAMIC = DTypeConfig(_ACTIVATION, _FLOAT, _WEIGHT, _FLOAT, is_dynamic=True)


def embedding_types(*weights: Any) -> list[DTypeConfig]:
    """The types of embeddings with weights of these types.

    Args:
        *weights: the types of the weights.
    """
    return [DTypeConfig(_FLOAT, _FLOAT, weight) for weight in weights]
