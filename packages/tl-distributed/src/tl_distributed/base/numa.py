"""`torch.numa.binding`: how a launcher binds workers to processors. The launcher refuses these options so far."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["AffinityMode", "NumaOptions"]


class AffinityMode(StrEnum):
    """The processors of a machine that a worker gets."""

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """The binding of workers to processors.

    Args:
        affinity_mode: which of them a worker gets.
        should_fall_back_if_binding_fails: whether a worker that can't be bound runs all the same.

    Example:
        >>> NumaOptions(AffinityMode.NODE).should_fall_back_if_binding_fails
        False
    """

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False
