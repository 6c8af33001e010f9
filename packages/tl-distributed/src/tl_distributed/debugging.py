"""A debugger in one of several processes, and how much is checked and told."""

from __future__ import annotations

import enum
import os

from .collectives import barrier
from .process_groups import get_rank


class DebugLevel(enum.Enum):
    """How much is checked and told."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """How much is checked and told."""
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Sets how much is checked and told."""
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Sets it from the environment variable TORCH_DISTRIBUTED_DEBUG: OFF, INFO or DETAIL."""
    text = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if text not in DebugLevel.__members__:
        raise RuntimeError(f"TORCH_DISTRIBUTED_DEBUG must be OFF, INFO or DETAIL, got {text!r}")
    set_debug_level(DebugLevel[text])


_passed = 0


def breakpoint(rank: int = 0, skip: int = 0) -> None:
    """Stops in the debugger on one process, while the others wait for it to continue; its caller is one frame `up`.

    Args:
        rank: which one.
        skip: how many calls to let pass first.
    """
    global _passed
    _passed += 1
    if _passed <= skip:
        return
    if get_rank() == rank:
        import pdb  # noqa: T100 - the debugger is what this function is for

        pdb.Pdb().set_trace()
    barrier()
