"""Sharded training module by module: not there yet; its names are, as programs ask whether a module is sharded."""

from __future__ import annotations

from typing import Any

from .api import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, missing

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]


class FSDPModule:
    """The additional class of a module that `fully_shard` has sharded.

    Example:
        >>> import tl_nn
        >>> from tl_distributed import fsdp
        >>> isinstance(tl_nn.Linear(1, 1), fsdp.FSDPModule)
        False
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        missing("FSDPModule")


class UnshardHandle:
    """The result of `FSDPModule.unshard` where it doesn't wait."""

    def wait(self) -> None:
        """Waits until the parameters are there."""
        missing("UnshardHandle.wait")


def fully_shard(module: Any, **options: Any) -> Any:
    """Would shard a module's parameters.

    Args:
        module: the module.
        options: as in PyTorch.

    Raises:
        NotImplementedError: always.

    Example:
        >>> import tl_nn
        >>> from tl_distributed import fsdp
        >>> fsdp.fully_shard(tl_nn.Linear(1, 1))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        NotImplementedError: fully_shard: ...
    """
    missing("fully_shard")


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Says that a method computes as `forward` does; nothing for a module that isn't sharded.

    Args:
        module: the module.
        method_name: the method.

    Example:
        >>> import tl_nn
        >>> from tl_distributed import fsdp
        >>> fsdp.register_fsdp_forward_method(tl_nn.Linear(1, 1), "extra_repr")
    """
    if isinstance(module, FSDPModule):
        missing("register_fsdp_forward_method")
