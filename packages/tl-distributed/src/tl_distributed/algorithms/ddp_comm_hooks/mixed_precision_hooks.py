"""Gradients that are reduced in one type and given back in that of the parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.futures import Future

from ...base.grad_bucket import GradBucket
from ...groups.process_group import ProcessGroup
from .default_hooks import allreduce_hook

__all__: list[str] = []


@dataclass
class _AllreduceUpcastHookState:
    """In which type gradients travel.

    Attributes:
        process_group: the group; the world for None.
        reduce_dtype: the type on the way.
    """

    process_group: ProcessGroup | None = None
    reduce_dtype: tl_core.dtype = tl_core.float32


def _reducer_allreduce_and_upcast_hook(
    hook_state: _AllreduceUpcastHookState, bucket: GradBucket
) -> Future[Any]:
    """Averages gradients in the state's type, and converts them back.

    Args:
        hook_state: the group and the type.
        bucket: the gradients.
    """
    full: Tensor = bucket.buffer()
    bucket.set_buffer(full.to(hook_state.reduce_dtype))
    return allreduce_hook(hook_state.process_group, bucket).then(lambda done: full.copy_(done.value()))
