"""The policies of a selective checkpoint, and the context that a policy function receives."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext"]


class CheckpointPolicy(enum.Enum):
    """The choice of a selective checkpoint: store an operator's result, or recompute it.

    Example:
        >>> CheckpointPolicy.MUST_SAVE.name
        'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """The context of a policy function: whether this is the second run.

    Example:
        >>> SelectiveCheckpointContext(is_recompute=True).is_recompute
        True
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None):
        self.is_recompute, self.op_output = is_recompute, op_output
