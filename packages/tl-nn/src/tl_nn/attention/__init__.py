"""Kernels of scaled dot product attention."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from tl_core.settings import operators as operator_switches
from tl_core.settings import switches

from .flash_implementations import (
    activate_flash_attention_impl,
    current_flash_attention_impl,
    list_flash_attention_impls,
    register_flash_attention_impl,
    restore_flash_attention_impl,
)

__all__ = [
    "SDPBackend",
    "activate_flash_attention_impl",
    "current_flash_attention_impl",
    "list_flash_attention_impls",
    "register_flash_attention_impl",
    "restore_flash_attention_impl",
    "sdpa_kernel",
]


class SDPBackend(Enum):
    """Ways of computing scaled dot product attention.

    On the CPU there is one, which counts as both FLASH_ATTENTION and MATH: it never holds the matrix of all scores, and
    it takes all masks and types.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.attention import SDPBackend, sdpa_kernel
        >>> with sdpa_kernel(SDPBackend.MATH):
        ...     result = tl_nn.functional.scaled_dot_product_attention(*[tl_core.zeros(1, 2, 3, 4)] * 3)
        ...
        >>> result.shape
        torch.Size([1, 2, 3, 4])
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    @property
    def name(self) -> str:
        """The name of the way."""
        return self._name_

    def __int__(self) -> int:
        return int(self.value)

    __index__ = __int__  # a member is no int, but `int()` accepts it


_SWITCHES = {
    SDPBackend.MATH: "backends.cuda.math_sdp",
    SDPBackend.FLASH_ATTENTION: "backends.cuda.flash_sdp",
    SDPBackend.EFFICIENT_ATTENTION: "backends.cuda.mem_efficient_sdp",
    SDPBackend.CUDNN_ATTENTION: "backends.cuda.cudnn_sdp",
}
for _name in _SWITCHES.values():
    if _name not in operator_switches.ATTENTION:
        switches.declare(_name, True, bool)


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Within this context, attention is computed in one of these ways, or raises.

    Args:
        backends (SDPBackend or list of them): The ways allowed. On the CPU, attention raises RuntimeError unless
            FLASH_ATTENTION or MATH is among them.
        set_priority (bool): Whether the order of the backends is their priority. The CPU has one backend.

    Raises:
        AssertionError: If it is neither a way nor a list of them.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_nn.attention import SDPBackend, sdpa_kernel
        >>> with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        ...     tl_nn.functional.scaled_dot_product_attention(*[tl_core.ones(1, 2, 2)] * 3).shape
        torch.Size([1, 2, 2])
    """
    allowed: Any = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(allowed, list) or not all(isinstance(each, SDPBackend) for each in allowed):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    before = {name: switches.set(name, kind in allowed) for kind, name in _SWITCHES.items()}
    try:
        yield
    finally:
        for name, value in before.items():
            switches.set(name, value)
