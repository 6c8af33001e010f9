"""How exactly float32 products are computed.

>>> get_float32_matmul_precision()
'highest'
"""

from __future__ import annotations

import warnings

from tl_core import _C
from tl_core.settings import switches

_PRECISIONS = ("highest", "high", "medium")

switches.declare("float32_matmul_precision", "highest", str)


def set_float32_matmul_precision(precision: str) -> None:
    """Allows float32 products to be computed with fewer bits of their factors, and faster.

    "highest" takes all 24, "high" those of two bfloat16 (16 bits), "medium" those of one (8 bits). Sums are float32
    in any case. It holds for products of matrices (`mm`, `matmul`, `linear` and the like) on processors that have
    instructions for tiles of bfloat16 (AMX); others, and small matrices, go on with all bits. Another word is warned
    of and ignored.

    >>> set_float32_matmul_precision("high")
    >>> get_float32_matmul_precision()
    'high'
    >>> set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision!r} is not one of 'highest', 'high' and 'medium': the precision of float32 products stays "
            f"{get_float32_matmul_precision()!r}",
            stacklevel=2,
        )
        return
    switches.set("float32_matmul_precision", precision)
    _C._set_float32_matmul_precision(_PRECISIONS.index(precision))


def get_float32_matmul_precision() -> str:
    """The word that `set_float32_matmul_precision` was given last, or "highest".

    Example:
        >>> import tl_core
        >>> tl_core.get_float32_matmul_precision()
        'highest'
    """
    precision: str = switches.get("float32_matmul_precision")
    return precision
