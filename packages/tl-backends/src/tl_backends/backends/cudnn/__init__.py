"""cuDNN. tl doesn't have it: what is set is kept, and there is nothing to switch."""

from contextlib import AbstractContextManager
from typing import Any

from tl_backends.switch import Switch, assign, attach, overridden

__all__ = [
    "allow_tf32",
    "benchmark",
    "benchmark_limit",
    "deterministic",
    "enabled",
    "flags",
    "is_acceptable",
    "is_available",
    "set_flags",
    "version",
]

enabled: bool
"""Nothing to switch: cuDNN isn't there."""
benchmark: bool
"""Nothing to switch: algorithms are chosen by shape, never by measuring."""
benchmark_limit: int
"""Nothing to switch: algorithms are chosen by shape, never by measuring."""
deterministic: bool
"""Nothing to switch: every operator is deterministic."""
allow_tf32: bool
"""Nothing to switch: convolutions of float32 take all bits."""


def version() -> int | None:
    """The version of cuDNN: None, as it isn't there.

    Example:
        >>> from tl_backends.backends import cudnn
        >>> cudnn.version()
    """
    return None


def is_available() -> bool:
    """Whether cuDNN is there: False.

    Example:
        >>> from tl_backends.backends import cudnn
        >>> cudnn.is_available()
        False
    """
    return False


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN could take a tensor: False.

    Example:
        >>> import tl_core
        >>> from tl_backends.backends import cudnn
        >>> if cudnn.is_available():
        ...     cudnn.is_acceptable(tl_core.ones(4, device="cuda"))
    """
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple:
    """Sets the switches that are given, which decide nothing here; returns what all of them were, in this order.

    Example:
        >>> from tl_backends.backends import cudnn
        >>> cudnn.set_flags()
        (True, False, 10, False, True)
    """
    return assign(__name__, _values(_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32))


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> AbstractContextManager[None]:
    """Sets all switches for the time of a `with` block. They decide nothing here.

    Args:
        enabled: whether the library is used.
        benchmark: whether the fastest algorithm is looked for.
        benchmark_limit: how many algorithms are tried.
        deterministic: whether only deterministic algorithms are used.
        allow_tf32: whether products of float32 may be computed with TensorFloat-32.

    Example:
        >>> from tl_backends.backends import cudnn
        >>> with cudnn.flags():
        ...     pass
    """
    return overridden(__name__, _values(enabled, benchmark, benchmark_limit, deterministic, allow_tf32))


def _values(
    enabled: bool | None,
    benchmark: bool | None,
    benchmark_limit: int | None,
    deterministic: bool | None,
    allow_tf32: bool | None,
) -> dict[str, Any]:
    return {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }


attach(
    __name__,
    enabled=Switch("backends.cudnn.enabled", True),
    benchmark=Switch("backends.cudnn.benchmark", False),
    benchmark_limit=Switch("backends.cudnn.benchmark_limit", 10),
    deterministic=Switch("backends.cudnn.deterministic", False),
    allow_tf32=Switch("backends.cudnn.allow_tf32", True),
)
