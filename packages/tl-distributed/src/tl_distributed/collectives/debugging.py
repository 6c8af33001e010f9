"""A debugger in one of several processes."""

from __future__ import annotations

from ..groups.process_groups import get_rank
from .tensor_collectives import barrier

_passed = 0


def breakpoint(rank: int = 0, skip: int = 0) -> None:
    """Stops in the debugger on one process, while the others wait for it to continue; its caller is one frame `up`.

    Args:
        rank: which one.
        skip: how many calls to let pass first.

    Example:
        >>> import tl_distributed as dist
        >>> dist.breakpoint(rank=0)  # doctest: +SKIP
    """
    global _passed
    _passed += 1
    if _passed <= skip:
        return
    if get_rank() == rank:
        import pdb  # noqa: T100 - the debugger is what this function is for

        pdb.Pdb().set_trace()
    barrier()
