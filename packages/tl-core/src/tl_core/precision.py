"""How exactly float32 products are computed.

>>> get_float32_matmul_precision()
'highest'
"""

from __future__ import annotations

import warnings

from tl_core import switches

_PRECISIONS = ("highest", "high", "medium")

switches.declare("float32_matmul_precision", "highest", str)


def set_float32_matmul_precision(precision: str) -> None:
    """Allows float32 products to be computed with fewer bits: "highest", "high" (TensorFloat32) or "medium" (bfloat16).

    It is remembered and changes nothing on a CPU, whose products of float32 are computed in float32. Another word is
    warned of and ignored.
    """
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision!r} is not one of 'highest', 'high' and 'medium': the precision of float32 products stays "
            f"{get_float32_matmul_precision()!r}",
            stacklevel=2,
        )
        return
    switches.set("float32_matmul_precision", precision)


def get_float32_matmul_precision() -> str:
    """The word that `set_float32_matmul_precision` was given last, or "highest"."""
    precision: str = switches.get("float32_matmul_precision")
    return precision
