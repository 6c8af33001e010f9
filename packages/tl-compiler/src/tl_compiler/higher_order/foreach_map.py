"""`foreach_map`: a function of tensors, for each element of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["foreach_map"]


def foreach_map(op: Callable[..., Any], *operands: Any, **kwargs: Any) -> Any:
    """Calls a function with the first elements of lists, then with the second, and so on.

    Args:
        op: the function.
        operands: lists or tuples of one length; everything else is an argument of every call.
        kwargs: further arguments of every call.

    Returns:
        The list of results.

    Raises:
        ValueError: no operand is a list, or the lengths differ.

    Example:
        >>> import tl_core
        >>> foreach_map(tl_core.add, [tl_core.ones(1), tl_core.zeros(2)], 2)
        [tensor([3.]), tensor([2., 2.])]
    """
    lengths = {len(o) for o in operands if isinstance(o, (list, tuple))}
    if len(lengths) != 1:
        raise ValueError(
            f"foreach_map(): expected lists of one length among the operands, got lengths {sorted(lengths)}"
        )
    (count,) = lengths
    rows = zip(*(o if isinstance(o, (list, tuple)) else [o] * count for o in operands), strict=True)
    return [op(*row, **kwargs) for row in rows]
