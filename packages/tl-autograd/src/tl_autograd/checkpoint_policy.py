"""What a selective checkpoint asks about each operator, and what it is told."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext"]


class CheckpointPolicy(enum.Enum):
    """What a selective checkpoint does with an operator's result: keep it, or compute it again."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a policy function is told: whether this is the second run."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None):
        self.is_recompute, self.op_output = is_recompute, op_output
