"""Switches of TorchScript's code generators, of which there are none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from warnings import warn

__all__ = [
    "enable_onednn_fusion",
    "fuser",
    "onednn_fusion_enabled",
    "optimized_execution",
    "set_fusion_strategy",
    "strict_fusion",
]


class strict_fusion:
    """A region of TorchScript in which everything has to be fused. In Python it changes nothing, and warns so.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     with strict_fusion():
        ...         1 + 1
        2
    """

    def __init__(self) -> None:
        warn("strict_fusion works in TorchScript only: nothing is fused here", UserWarning, stacklevel=2)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A region in which TorchScript is optimized or not. There is none, so nothing to switch.

    Args:
        should_optimize: accepted.

    Example:
        >>> from tl_compiler import jit
        >>> with jit.optimized_execution(True):
        ...     pass
    """
    yield


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """A region with one of TorchScript's code generators. There is none, so nothing to switch.

    Args:
        name: "fuser0" to "fuser3".

    Raises:
        Exception: another name.

    Example:
        >>> from tl_compiler import jit
        >>> with jit.fuser("fuser1"):
        ...     pass
    """
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


def onednn_fusion_enabled() -> bool:
    """Whether TorchScript is fused by oneDNN: False.

    Example:
        >>> from tl_compiler import jit
        >>> jit.onednn_fusion_enabled()
        False
    """
    return False


def enable_onednn_fusion(enabled: bool) -> None:
    """Switches the fusing of TorchScript by oneDNN, which isn't there.

    Args:
        enabled: False.

    Raises:
        RuntimeError: it is to be switched on.

    Example:
        >>> from tl_compiler import jit
        >>> jit.enable_onednn_fusion(False)
    """
    if enabled:
        raise RuntimeError("enable_onednn_fusion(True): tl has neither TorchScript nor oneDNN")


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Says how often TorchScript is specialized to sizes. There is none, so nothing to switch.

    Args:
        strategy: pairs of "STATIC" or "DYNAMIC" and a number.

    Returns:
        What was set before: nothing.

    Raises:
        RuntimeError: another word.

    Example:
        >>> from tl_compiler import jit
        >>> strategy = jit.set_fusion_strategy([("STATIC", 2)])
    """
    for kind, _ in strategy:
        if kind not in ("STATIC", "DYNAMIC"):
            raise RuntimeError(f"unknown fusion strategy {kind!r}; it is STATIC or DYNAMIC")
    return []
