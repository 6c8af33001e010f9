"""The test for named tuples, as the functions of data parallelism have it."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["is_namedtuple"]


def _is_namedtuple(obj: Any) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def is_namedtuple(obj: Any) -> bool:
    """Whether an object is a named tuple. Retired in PyTorch.

    Args:
        obj (Any): The object.

    Returns:
        True for a tuple with fields.

    Example:
        >>> from typing import NamedTuple
        >>> is_namedtuple(NamedTuple("Point", [("x", int)])(1)), is_namedtuple((1,))
        (True, False)
    """
    warnings.warn(
        "`is_namedtuple` is deprecated, please use the python checks instead", FutureWarning, stacklevel=2
    )
    return _is_namedtuple(obj)
